"""Calls of a framework in scripts that do something else than was meant."""
