"""The training step in scripts: clearing, stepping, clipping, accumulation; a file for each."""
