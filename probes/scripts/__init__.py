"""What a training script does, as far as its text tells: syntax, flow of values, its modules."""
