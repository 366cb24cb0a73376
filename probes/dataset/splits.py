"""A column that names the split of each row: one file then holds several parts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from . import naming
from .model import Split

if TYPE_CHECKING:
    from .rows import TableGather

_NAMES = frozenset({"split", "splits", "set", "subset", "partition", "phase", "usage", "fold", "data_split"})


def column(names: Sequence[str], rows: Sequence[Sequence[str]]) -> int | None:
    """Return which column names splits in all of these rows; None where none does."""
    for at, name in enumerate(names):
        if name.strip().lower().replace("dataset_", "") not in _NAMES:
            continue
        cells = {r[at].strip() for r in rows if len(r) == len(names)}
        if cells and all(c and naming.split_of(c) for c in cells):
            return at
    return None


class Divided:
    """The tables of the splits that one column names."""

    def __init__(self, at: int, make: Callable[[], TableGather]) -> None:
        self.at = at
        self.make = make
        self.tables: dict[Split, TableGather] = {}

    def of(self, split: Split) -> TableGather:
        """Return the table of a split."""
        if split not in self.tables:
            self.tables[split] = self.make()
        return self.tables[split]

    def dealt(self, rows: Sequence[Sequence[str]]) -> dict[Split, list[int]]:
        """Return which rows belong to which split; a row that names none stands by itself."""
        found: dict[Split, list[int]] = defaultdict(list)
        known: dict[str, Split] = {}
        for i, row in enumerate(rows):
            cell = row[self.at]
            if cell not in known:
                known[cell] = naming.split_of(cell)
            found[known[cell]].append(i)
        return found
