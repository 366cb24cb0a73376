"""Training and held-out data in scripts: how they are parted, and what is done to one side alone."""
