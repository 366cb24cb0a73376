"""The run's script against the benchmark's: edits between them, and edits that come to the same."""
