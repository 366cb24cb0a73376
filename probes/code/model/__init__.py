"""The model in scripts: how it is built, wired and started."""
