"""Checks of training scripts: a package for each part of a program, a module for each question.

What stands in `loss/` is called `code.loss.function` in the rules, whichever module holds it. `shared/` holds
what all of them use; `against/` holds the run's script against the benchmark's.
"""
