"""Evaluation in scripts: metrics, sums over batches, and the choice of the best model."""
