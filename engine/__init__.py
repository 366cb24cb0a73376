"""The expert system: rules in, evidence in, ranked hypotheses out. Knows nothing of files or training."""
