"""Samples in scripts: where they come from, in which order, how many, and what is drawn at random."""
