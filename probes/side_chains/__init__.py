"""What one script does to its training data against what it does to its held-out data, step by step."""
