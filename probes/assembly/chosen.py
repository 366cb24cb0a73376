"""Which of several homes of curves is the run to look at, and which belong to one run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace

import numpy as np

from ..run import Series
from . import layout, names
from .contents import Read
from .context import MIN_POINTS

CLOSING = 2  # further evaluations of a trained model, which only one of two logs has
PRINTED = 1e-3  # relative, and of small numbers absolute: what printing leaves of a number
_LOSSES = ("train/loss", "eval/loss")
_MEASURED = ("train/", "eval/", "test/")


def choose(units: Mapping[str, list[Read]]) -> str:
    """The run to look at: of those with a training loss worth judging, the one at the top, else the latest.

    Where none has one, another measure that was followed stands for it (`mse`, which is a loss of its own).
    Latest by the last wall time where every candidate records one, else by name (version_10 after version_9).
    """

    def worth(unit: str) -> int:
        losses, measured = (_longest(units[unit], kinds) for kinds in (_LOSSES, _MEASURED))
        return 3 if losses >= MIN_POINTS else 2 if measured >= MIN_POINTS else 1 if losses else 0

    best = max(worth(u) for u in units)
    candidates = [u for u in units if worth(u) == best]
    if "" in candidates:
        return ""
    ends = {u: _last_wall(units[u]) for u in candidates}
    if all(ends.values()):
        return max(candidates, key=lambda u: (ends[u], layout.natural(u)))
    return max(candidates, key=layout.natural)


def printed(
    units: Mapping[str, list[Read]], kept: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, frozenset[str]]]:
    """The homes of a run below what it printed, as part of that home; of its files, the curves told again.

    `stdout.txt` beside `exp/log.csv`: a user who names an output folder has one run and two homes of it. What
    was printed are closing figures alone, or the curves of the run once more.
    """
    found: dict[str, str] = {}
    again: dict[str, frozenset[str]] = {}
    for parent in units:
        below = {kept[u] for u in units if u != parent and (not parent or u.startswith(parent + "/"))}
        if len(below) != 1 or kept[parent] != parent or parent in below:
            continue
        child = below.pop()
        theirs = [r for u, at in kept.items() if at == child for r in units[u]]
        retold = _retold(units[parent], theirs)
        if retold or (_longest(units[parent]) <= 1 and _longest(theirs) >= MIN_POINTS):
            found |= {u: parent for u, at in kept.items() if at == child}
            again |= {r.path: retold for r in units[parent]}
    return found, again


def without(read: Read, told: Set[str]) -> Read:
    """A file's content without the curves of these names."""
    kept = tuple(s for s in read.content.series if names.canonical(s.raw, s.split) not in told)
    return replace(read, content=replace(read.content, series=kept))


def _retold(mine: Sequence[Read], theirs: Sequence[Read]) -> frozenset[str]:
    """The curves of both that are the same numbers, point by point, as far as they were printed.

    None where one of about the same length is not, or where fewer than two of them move.
    """
    if {r.content.format for r in mine} & {r.content.format for r in theirs if r.content.series}:
        return frozenset()  # a repetition, written as the first one was
    one, other = (
        {name: s.values for name, s in sorted(_curves(side), key=lambda named: len(named[1].values))}
        for side in (mine, theirs)
    )
    pairs = {}
    for name in one.keys() & other.keys():
        both = min(len(one[name]), len(other[name]))
        if both >= MIN_POINTS and max(len(one[name]), len(other[name])) <= both + CLOSING:
            pairs[name] = one[name][:both], other[name][:both]
    moving = [a for a, _ in pairs.values() if np.isfinite(a).all() and np.ptp(a) > 0]
    same = all(np.allclose(a, b, PRINTED, PRINTED, equal_nan=True) for a, b in pairs.values())
    return frozenset(pairs) if len(moving) >= 2 and same else frozenset()


def _curves(reads: Sequence[Read]) -> Iterator[tuple[str, Series]]:
    for read in reads:
        for series in read.content.series:
            if (name := names.canonical(series.raw, series.split)) is not None:
                yield name, series


def _longest(reads: Sequence[Read], kinds: tuple[str, ...] = ("",)) -> int:
    """The points of the longest curve of these kinds."""
    return max((len(s.values) for name, s in _curves(reads) if name.startswith(kinds)), default=0)


def _last_wall(reads: list[Read]) -> float:
    walls = [
        float(np.nanmax(s.walls))
        for r in reads
        for s in r.content.series
        if s.walls is not None and len(s.walls)
    ]
    return max(walls, default=0.0)
