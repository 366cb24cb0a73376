"""Scaling of inputs in scripts: ranges, normalisation, on one side or twice."""
