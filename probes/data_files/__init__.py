"""What the data files themselves say: those in the run directory, or those that the user names; a file each.

Tables on disk are raw: the script may still clean, scale and shuffle them. Arrays dumped as batches are what
the model receives. The probes keep the two apart.
"""
