"""The optimizer in scripts: which parameters it holds, and which stay as they are."""
