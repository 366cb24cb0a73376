"""Diagnosis in, text out: terminal, markdown with charts, JSON. Nothing here reads a file of the run."""
