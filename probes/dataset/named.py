"""Files that a table names, one per row: are they there?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..files import RunFile
from .media import AUDIO, IMAGES
from .model import LIMIT, Listed

_CALLED = """
path file filename file_name filepath file_path image image_path image_file image_name image_id img img_path
img_name audio audio_path audio_file audio_filepath wav wav_path recording
"""
_COLUMNS = frozenset(_CALLED.split())
_SHOWN = 20
_MOSTLY = 0.5  # share that must be there: else the files lie elsewhere


def of(names: Sequence[str]) -> Named | None:
    """Return what gathers the names of files in a table; None where no column is called so."""
    at = next((i for i, n in enumerate(names) if n.strip().lower() in _COLUMNS), None)
    return Named(at) if at is not None else None


class Named:
    """The first column that names files."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.lines: dict[str, int] = {}

    def add(self, found: Sequence[Sequence[str]], numbers: Sequence[int], file: int) -> None:
        """Take the next rows, by columns."""
        del file
        if len(self.lines) < LIMIT:
            for cell, line in zip(found[self.at], numbers, strict=True):
                self.lines.setdefault(cell.strip().replace("\\", "/"), line)

    def found(self) -> dict[str, int]:
        """Return name -> the first line that has it."""
        return {n: line for n, line in self.lines.items() if n}


def listed(file: str, lines: Mapping[str, int], files: Mapping[str, RunFile]) -> Listed | None:
    """Hold the names against the pictures and recordings that are there, with or without their endings."""
    media = [p.rpartition("/")[2] for p, f in files.items() if f.suffix in IMAGES | AUDIO]
    there = {*media, *(m.rpartition(".")[0] for m in media)}
    gone = [(n, line) for n, line in lines.items() if n.rpartition("/")[2] not in there]
    met = len(lines) - len(gone)
    if not media or met < _MOSTLY * len(lines) or not met:
        return None
    return Listed(file, len(lines), tuple(gone[:_SHOWN]), len(gone), checked=met)
