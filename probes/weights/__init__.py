"""Checkpoints and logged histograms: whether weights move, are finite, and alike where they must be."""
