"""Find the dumps below a path: which formats lie there, each dump with what was passed over."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from ..files import RunFile, walk
from . import arrays, atb, mindspore, msprobe, precision_tool, ptdbg, torch_h5
from .model import Dump

MAX_FILES = 400_000  # one file per tensor: a dump of a large model has more files than a run

Finder = Callable[[Mapping[str, RunFile]], Iterator[Dump]]
FINDERS: tuple[Finder, ...] = (
    msprobe.find,
    mindspore.find,
    precision_tool.find,
    torch_h5.find,
    ptdbg.find,
    atb.find,
)


def detect(path: Path) -> list[Dump]:
    """Return every dump below `path` (a directory or one file), each step and rank by itself.

    A plain folder of arrays counts only where no tool's dump is. Raises RunUnreadable when the path cannot be
    read at all. An empty list: nothing here is a dump.
    """
    files, notes = walk(path, limit=MAX_FILES)
    by_path = {f.path: f for f in files}
    found = dumps_of(by_path)
    if not any(d.operators for d in found):
        found = _sorted(list(arrays.find(by_path))) or found
    if notes and found:
        found[0] = replace(found[0], notes=(*found[0].notes, *notes))
    return found


def dumps_of(files: Mapping[str, RunFile]) -> list[Dump]:
    """Return every tool's dump among these files (path relative to one root -> file), by step and rank."""
    return _sorted([dump for finder in FINDERS for dump in finder(files)])


def _sorted(dumps: list[Dump]) -> list[Dump]:
    return sorted(dumps, key=lambda d: (d.label, -1 if d.step is None else d.step, d.rank or 0, d.path))
