"""A program's losses and figures on a few made numbers, to hold two programs against each other."""
