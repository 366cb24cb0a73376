"""Columns that are empty in all rows of some classes and filled in all others: gaps that tell the label."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

MOST_CLASSES = 20
LEAST = 20  # rows on either side
NEARLY = 0.01  # share of rows that may be otherwise


class Gaps:
    """Counts, for each column, the rows of each class in which it is empty."""

    def __init__(self) -> None:
        self.classes: Counter[str] = Counter()
        self.empty: dict[str, Counter[str]] = defaultdict(Counter)

    def add(self, labels: Sequence[str], empty: dict[str, Sequence[int]]) -> None:
        """Take the labels of the next rows, and which of these rows each column is empty in."""
        if len(self.classes) > MOST_CLASSES:
            return
        self.classes.update(labels)
        for name, rows in empty.items():
            self.empty[name].update(labels[i] for i in rows)

    def found(self) -> dict[str, tuple[str, ...]]:
        """Return column -> the classes in whose rows it is empty, of columns that part the classes so."""
        if not 2 <= len(self.classes) <= MOST_CLASSES:
            return {}
        told = {}
        for name, empty in self.empty.items():
            shares = {c: empty[c] / n for c, n in self.classes.items()}
            gone = tuple(sorted(c for c, s in shares.items() if s >= 1 - NEARLY))
            there = [c for c, s in shares.items() if s <= NEARLY]
            rows = [sum(self.classes[c] for c in some) for some in (gone, there)]
            if len(gone) + len(there) == len(shares) and min(rows) >= LEAST:
                told[name] = gone
        return told
