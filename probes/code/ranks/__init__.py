"""Several processes in scripts: shards, seeds, replicas, and what they do together."""
