"""A run held against its benchmark: settings, curves, learning rates, what the numbers say of each other."""
