"""Tensors that a run left on disk: an index of dumps, with values loaded on demand, block by block."""
