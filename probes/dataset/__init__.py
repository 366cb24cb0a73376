"""Data files as plain numbers: what lies below a path, read by parts within a bound, and measured.

`measure.measure` makes a `model.DataSet` of a directory; `batches.compare` holds two folders of dumped
batches against each other; `manifest.Manifest` is what a user's loader writes. Nothing here judges.
"""
