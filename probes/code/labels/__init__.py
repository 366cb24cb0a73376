"""Labels in scripts: their numbers, positions without one, and whether they stay with their inputs."""
