"""Half precision and loss scaling in scripts."""
