"""The training step in scripts: clearing, stepping, modes, schedule, accumulation; a file for each."""
