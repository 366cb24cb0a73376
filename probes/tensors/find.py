"""Find the dumps below a path: which formats lie there, each dump with what was passed over."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from ..files import RunFile, walk
from . import msprobe
from .model import Dump

MAX_FILES = 400_000  # one file per tensor: a dump of a large model has more files than a run

Finder = Callable[[Mapping[str, RunFile]], Iterator[Dump]]
FINDERS: tuple[Finder, ...] = (msprobe.find,)


def detect(path: Path) -> list[Dump]:
    """Return every dump below `path` (a directory or one file), each step and rank by itself.

    Raises RunUnreadable when the path cannot be read at all. An empty list: nothing here is a dump.
    """
    files, notes = walk(path, limit=MAX_FILES)
    return dumps_of({f.path: f for f in files}, tuple(notes))


def dumps_of(files: Mapping[str, RunFile], notes: tuple[str, ...] = ()) -> list[Dump]:
    """Return every dump among these files (path relative to one root -> file)."""
    found = [dump for finder in FINDERS for dump in finder(files)]
    del notes
    return sorted(found, key=lambda d: (d.label, -1 if d.step is None else d.step, d.rank or 0, d.path))
