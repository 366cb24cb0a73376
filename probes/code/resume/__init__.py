"""Checkpoints in scripts: what is kept, what is given back, and from where training goes on."""
