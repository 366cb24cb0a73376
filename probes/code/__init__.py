"""Checks of training scripts: a module for each question, called `code.module.function` in the rules.

`checks` holds what they share; `step/` is a package of the training step, called `code.step.function`.
"""
