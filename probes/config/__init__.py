"""What the configuration alone tells: each probe judges one setting, or two that must fit; a file each.

A setting that nobody wrote down is unknown, not absent: a framework's default may be in force.
"""
