"""The learning-rate schedule in scripts: its length, its unit, and whether it is moved."""
