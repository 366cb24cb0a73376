"""From a directory to one run: its files, the names of its quantities, its restarts."""
