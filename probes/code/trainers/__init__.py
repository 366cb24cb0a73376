"""Trainers that run the step themselves (Lightning, Hugging Face, DeepSpeed): what they are told."""
