"""What checkpoints say when they are put in order: how weights are, and how far they move.

Values are read block by block; weights of very large checkpoints are sampled, and that is said.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..assembly import layout
from .checkpoints import Checkpoint, Found, Weight

SAMPLE_ABOVE = 1024**3  # bytes of the checkpoints that are looked at; beyond, weights are sampled
SAMPLE = 1 << 18  # elements of one weight that are looked at then


@dataclass(frozen=True, slots=True)
class Figures:
    """What the elements of one weight are like; `low`, `high`, `size` (mean of |w|) of the finite ones."""

    seen: int
    bad: int  # NaN or infinite
    zero: int
    low: float
    high: float
    size: float

    @property
    def constant(self) -> bool:
        """Whether all elements are one number."""
        return self.bad == 0 and self.seen > 1 and self.low == self.high


@dataclass(frozen=True, slots=True)
class Change:
    """How far a weight moved: elements that differ, and mean |after - before| over mean |before|."""

    seen: int
    moved: int
    ratio: float
    finite: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class History:
    """The checkpoints of one training in order, what other ranks saved, and how much of them is looked at."""

    line: tuple[Checkpoint, ...]  # of one rank, each at a place of its own
    ranks: tuple[tuple[Checkpoint, ...], ...]  # of several ranks, each group at one place
    every: tuple[Checkpoint, ...]
    refused: tuple[tuple[str, str], ...] = ()

    @property
    def most(self) -> int | None:
        """Elements of a weight that are looked at; None: all."""
        ends = [c.bytes for c in (self.line[:1] + self.line[-2:])] + [
            c.bytes for g in self.ranks for c in g[:2]
        ]
        return SAMPLE if sum(ends) > SAMPLE_ABOVE else None

    @property
    def sampled(self) -> str:
        """A remark where only a sample was read."""
        return f" (in {SAMPLE:,} elements of each weight: the files are large)" if self.most else ""


def history_of(found: Found) -> History:
    """Put checkpoints in order: the training with the most of them, and groups of ranks."""
    lines: dict[tuple[frozenset[str], int | None, str], dict[tuple[str, float], Checkpoint]] = defaultdict(
        dict
    )
    groups: dict[tuple[object, ...], dict[int, Checkpoint]] = defaultdict(dict)
    for one in found.checkpoints:
        names = frozenset(one.trained)
        if not names:
            continue
        if one.rank is not None:
            groups[(names, one.unit, one.at)].setdefault(one.rank, one)
        if one.at is not None and not one.sharded:
            lines[(names, one.rank, layout.home(one.path))].setdefault((one.unit, one.at), one)
    line: tuple[Checkpoint, ...] = ()
    for (names, rank, _), places in lines.items():
        units = [unit for unit, _ in places]
        unit = max(sorted(set(units)), key=units.count)
        own = {at: c for (u, at), c in places.items() if u == unit or at == 0}
        for (other, where, _), more in lines.items():  # the initial weights may lie in a folder of their own
            if other == names and where == rank:
                own |= {at: c for (_, at), c in more.items() if at == 0 and 0 not in own}
        ordered = tuple(own[at] for at in sorted(own))
        if (len(ordered), -(rank or 0)) > (len(line), -((line[0].rank or 0) if line else 0)):
            line = ordered
    ranks = tuple(tuple(by[r] for r in sorted(by)) for by in groups.values() if len(by) > 1)
    return History(line, ranks, found.checkpoints, found.refused)


@lru_cache(maxsize=4096)
def figures(weight: Weight, most: int | None) -> Figures | None:
    """Measure one weight; None when its values cannot be read."""
    seen = bad = zero = 0
    low, high, total = np.inf, -np.inf, 0.0
    try:
        for start, length in weight.windows(most):
            values = weight.values(start, length)
            good = np.isfinite(values)
            seen += values.size
            if not good.all():
                bad += int(values.size - np.count_nonzero(good))
                values = values[good]
            if values.size:
                zero += int(values.size - np.count_nonzero(values))
                low, high = min(low, float(values.min())), max(high, float(values.max()))
                total += float(np.abs(values).sum(dtype=np.float64))
    except (OSError, ValueError):
        return None
    if not seen:
        return None
    return Figures(seen, bad, zero, low, high, total / max(1, seen - bad))


@lru_cache(maxsize=4096)
def change(before: Weight, after: Weight, most: int | None) -> Change | None:
    """Measure how far a weight moved; None when shapes or shards differ or values cannot be read."""
    if before.count != after.count or before.shape != after.shape or before.layout != after.layout:
        return None
    seen = moved = 0
    difference = size = 0.0
    finite = True
    try:
        for start, length in before.windows(most):
            old, new = before.values(start, length), after.values(start, length)
            good = np.isfinite(old) & np.isfinite(new)
            moved += int(np.count_nonzero((old != new) & ~(np.isnan(old) & np.isnan(new))))
            if not good.all():
                finite = False
                old, new = old[good], new[good]
            difference += float(np.abs(np.subtract(new, old, dtype=np.float64)).sum())
            size += float(np.abs(old).sum(dtype=np.float64))
            seen += length
    except (OSError, ValueError):
        return None
    if not seen:
        return None
    return Change(seen, moved, difference / size if size > 0 else float("inf") if difference else 0.0, finite)


def changes(before: Checkpoint, after: Checkpoint, most: int | None) -> dict[str, Change]:
    """How far the weights that both hold moved, by name; buffers left out."""
    theirs = after.trained
    pairs = ((n, w, theirs[n]) for n, w in before.trained.items() if n in theirs)
    return {n: c for n, a, b in pairs if (c := change(a, b, most)) is not None}
