"""The knowledge base: YAML files only. `root()` says where they are."""

from pathlib import Path


def root() -> Path:
    """Return the folder that holds the rule files."""
    return Path(__file__).parent
