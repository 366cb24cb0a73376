"""A training script against another one: what differs in meaning, and which part of training it touches."""
