"""Operators that write one fault each into a training script that somebody published."""
