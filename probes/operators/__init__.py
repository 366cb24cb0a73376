"""Operator dumps and overflow records in the directory of a run, and the search for a guilty fusion rule."""
