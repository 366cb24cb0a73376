"""The curves of the run held against its benchmark's, on one grid; a file for each stretch of training.

Curves count as different only beyond the size asked for *and* beyond their noise, so that two seeds of one
healthy recipe are equal. What a first step tells is used only where both sides logged it.
"""
