"""Samples of named features, as TFRecord and MindRecord hold them: rows of a table where they are short."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...engine.model import Place
from . import naming
from .gather import ColumnGather, HashGather, LabelGather, Problems
from .model import UNIQUE, Part, Split
from .rows import TableGather
from .tables import label_of

MOST_FEATURES = 2000
TRIED = 64  # samples by which it is told whether they are rows of a table
WIDE = 128  # numbers and texts of a row
LONG = 2000  # bytes of a text
BLOCK = 2048
_TARGET = 5000

Sample = Mapping[str, Any]  # name -> float64 array [n] or list of bytes


class Examples:
    """Samples in the order of their files: a table of short ones, else a column per feature."""

    def __init__(self, files: Sequence[str], seed: int, label: str = "") -> None:
        self.files = files
        self.seed = seed
        self.label = label  # the feature of labels, where a user names it
        self.waiting: list[tuple[Sample, int, int, int]] = []
        self.decided = False
        self.table: TableGather | None = None
        self.widths: dict[str, int] = {}
        self.rows: list[list[str]] = []
        self.numbers: list[int] = []
        self.file = 0
        self.columns: dict[str, ColumnGather] = {}
        self.labels: LabelGather | None = None
        self.hashes = HashGather()
        self.looked = 0

    def add(self, sample: Sample, file: int, at: int, digest: int) -> None:
        """Take sample `at` (from 1) of file number `file`; `digest` is a hash of all its bytes."""
        self.looked += 1
        if not self.decided:
            self.waiting.append((sample, file, at, digest))
            if len(self.waiting) >= TRIED:
                self._decide()
        else:
            self._take(sample, file, at, digest)

    def unread(self, file: int, at: int, digest: int) -> None:
        """Count a sample that could not be taken apart."""
        self.looked += 1
        self.hashes.add([digest], file, [at])

    def cut(self) -> None:
        """What follows is not the neighbour of what came last."""
        self._flush()
        if self.labels is not None:
            self.labels.cut()
        if self.table is not None:
            self.table.cut()

    def _decide(self) -> None:
        self.decided = True
        first = self.waiting[0][0] if self.waiting else {}
        if first and all(_widths(s) == _widths(first) for s, *_ in self.waiting):
            self.widths = _widths(first)
            if sum(self.widths.values()) <= WIDE and all(_short(s) for s, *_ in self.waiting):
                names = [n for k, w in self.widths.items() for n in _names(k, w)]
                self.table = TableGather(names, self.seed, label_of(names, self.label), _TARGET)
                self.table.files = list(self.files)
        for one in self.waiting:
            self._take(*one)
        self.waiting.clear()

    def _take(self, sample: Sample, file: int, at: int, digest: int) -> None:
        if self.table is None:
            self._columns(sample, file, at, digest)
            return
        if file != self.file or len(self.rows) >= BLOCK:
            self._flush()
        self.file = file
        self.rows.append([c for k, w in self.widths.items() for c in _cells(sample.get(k), w)])
        self.numbers.append(at)

    def _flush(self) -> None:
        if self.table is not None and self.rows:
            self.table.add(self.rows, self.numbers, self.file)
            self.rows, self.numbers = [], []

    def _columns(self, sample: Sample, file: int, at: int, digest: int) -> None:
        self.hashes.add([digest], file, [at])
        place = Place(self.files[file], at)
        for name, values in sample.items():
            if len(self.columns) >= MOST_FEATURES and name not in self.columns:
                continue
            gather = self.columns.setdefault(name, ColumnGather(name, len(self.columns)))
            _add(gather, values, place)
            if naming.is_label(name) and len(values) == 1:
                self.labels = self.labels or LabelGather(name)
                if isinstance(values, np.ndarray):
                    self.labels.add_numbers(values, lambda _, place=place: place)
                else:
                    self.labels.add_texts([values[0].decode("utf-8", "replace")])

    def part(
        self,
        split: Split,
        form: str,
        rows: int | None,
        exact: bool,
        problems: Problems,
        notes: tuple[str, ...],
    ) -> Part:
        """Return what was gathered."""
        if not self.decided:
            self._decide()
        self._flush()
        if self.table is not None and self.table.rows:
            (found,) = self.table.parts(split or "train", form, rows, exact, notes)
            return replace(
                found,
                split=split,
                kind="records",
                problems=tuple(problems.found),
                problem_count=problems.count,
            )
        hashes, file_of, row_of = self.hashes.arrays()
        return Part(
            split,
            "records",
            form,
            tuple(self.files),
            rows,
            exact,
            self.looked,
            tuple(c.column() for c in self.columns.values()),
            self.labels.labels() if self.labels is not None else None,
            hashes=hashes,
            file_of=file_of,
            row_of=row_of,
            problems=tuple(problems.found),
            problem_count=problems.count,
            notes=notes,
            bits=UNIQUE,  # pictures, long arrays and texts are not equal by chance
            hashed="rows" if len(hashes) else "",
        )


def _widths(sample: Sample) -> dict[str, int]:
    return {k: len(v) for k, v in sorted(sample.items())}


def _short(sample: Sample) -> bool:
    """Whether its texts are texts: short, and nothing but characters."""
    for values in sample.values():
        if not isinstance(values, np.ndarray):
            for one in values:
                if len(one) > LONG or not _is_text(one):
                    return False
    return True


def _is_text(data: bytes) -> bool:
    try:
        return data.decode("utf-8").isprintable() or b"\n" in data
    except UnicodeDecodeError:
        return False


def _names(name: str, width: int) -> list[str]:
    return [name] if width == 1 else [f"{name}[{i}]" for i in range(width)]


def _cells(values: Any, width: int) -> list[str]:
    """The cells of one feature; what is not there is empty."""
    if values is None:
        return [""] * width
    if isinstance(values, np.ndarray):
        found = [repr(v) if v == v else "" for v in values[:width].tolist()]
    else:
        found = [v[:LONG].decode("utf-8", "replace").strip() for v in values[:width]]
    return found + [""] * (width - len(found))


def _add(gather: ColumnGather, values: Any, place: Place) -> None:
    if isinstance(values, np.ndarray):
        if len(values):
            gather.add_numbers(values, lambda _: place)
            gather.dtype = gather.dtype or ("int64" if gather.integral else "float32")
        else:
            gather.add_texts([""], lambda _: place)
    else:
        gather.add_texts([f"{len(v)}:{hash(v)}" if v else "" for v in values] or [""], lambda _: place)
