"""Files that a table names, one per row, and lists of the files of each split."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from ..files import RunFile
from . import naming
from .gather import Budget
from .media import AUDIO, IMAGES
from .model import LIMIT, UNIQUE, Listed, Part

_CALLED = """
path file filename file_name filepath file_path image image_path image_file image_name image_id img img_path
img_name audio audio_path audio_file audio_filepath wav wav_path recording
"""
COLUMNS = frozenset(_CALLED.split())
_SHOWN = 20
_LISTS = 200
_MOST_TEXT = 64 * 1024**2
_MOSTLY = 0.5  # share that must be there: else the files lie elsewhere
_NEARLY = 0.8  # of identifiers: else they are no names of files
_WORD = re.compile(r"[A-Za-z]")


def of(names: Sequence[str]) -> Named | None:
    """Return what gathers the names of files in a table; None where no column is called so."""
    at = next((i for i, n in enumerate(names) if n.strip().lower() in COLUMNS), None)
    if at is not None:
        return Named(at)
    at = next((i for i, n in enumerate(names) if n.strip().lower() == "id"), None)
    return Named(at, identifiers=True) if at is not None else None


class Named:
    """The first column that names files, or one of identifiers, which may name files too (Kaggle)."""

    def __init__(self, at: int, *, identifiers: bool = False) -> None:
        self.at = at
        self.identifiers = identifiers
        self.lines: dict[str, int] = {}

    def add(self, found: Sequence[Sequence[str]], numbers: Sequence[int], file: int) -> None:
        """Take the next rows, by columns."""
        del file
        if self.identifiers and self.lines and not self._worded():
            return
        if len(self.lines) < LIMIT:
            for cell, line in zip(found[self.at], numbers, strict=True):
                self.lines.setdefault(cell.strip().replace("\\", "/"), line)

    def _worded(self) -> bool:
        return sum(_WORD.search(n) is not None for n in self.lines) >= _NEARLY * len(self.lines)

    def found(self) -> dict[str, int]:
        """Return name -> the first line that has it; of identifiers only where all are words, not numbers."""
        if self.identifiers and not self._worded():
            return {}
        return {n: line for n, line in self.lines.items() if n}


def listed(
    file: str, lines: Mapping[str, int], files: Mapping[str, RunFile], *, identifiers: bool = False
) -> Listed | None:
    """Hold the names against the pictures and recordings that are there, with or without their endings."""
    there = _media(files)
    gone = [(n, line) for n, line in lines.items() if n.rpartition("/")[2] not in there]
    met = len(lines) - len(gone)
    if met < (_NEARLY if identifiers else _MOSTLY) * len(lines) or not met:
        return None
    return Listed(file, len(lines), tuple(gone[:_SHOWN]), len(gone), checked=met)


def _media(files: Mapping[str, RunFile]) -> set[str]:
    """The names of pictures and recordings, with and without their endings."""
    media = [p.rpartition("/")[2] for p, f in files.items() if f.suffix in IMAGES | AUDIO]
    return {*media, *(m.rpartition(".")[0] for m in media)}


def split_lists(files: Mapping[str, RunFile], budget: Budget) -> list[Part]:
    """Return a part for each list of a split's files ("ImageSets/Main/val.txt"); nothing for one split alone.

    A list is a text file called like a split whose lines begin with names of files that are there.
    """
    texts = [f for f in files.values() if f.suffix == ".txt" and f.size and naming.split_of(f.name)]
    there = _media(files) if texts else set()
    found: list[Part] = []
    for file in sorted(texts, key=lambda f: f.path)[:_LISTS] if there else ():
        if not budget.take(file.size):
            break
        lines = file.read_text(_MOST_TEXT).splitlines()[: budget.bounds.samples]
        rows = [
            (n, words[0].replace("\\", "/")) for n, line in enumerate(lines, 1) if (words := line.split())
        ]
        met = sum(name.rpartition("/")[2] in there for _, name in rows)
        if not rows or met < _MOSTLY * len(rows):
            continue
        hashes = np.array(
            [hash(name.rpartition("/")[2].partition(".")[0]) for _, name in rows], dtype=np.int64
        )
        found.append(
            Part(
                naming.split_of(file.name),
                "records",
                "list of files",
                (file.path,),
                len(rows),
                looked=len(rows),
                hashes=hashes,
                file_of=np.zeros(len(rows), dtype=np.int32),
                row_of=np.array([n for n, _ in rows], dtype=np.int64),
                bits=UNIQUE,
                hashed="names",
            )
        )
    return found if len({p.split for p in found}) > 1 else []
