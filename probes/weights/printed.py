"""Figures of the first weights that logs print, of two sides or of two ranks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ...engine.model import Place
from ..readers.text.first_weights import DATA
from ..registry import Finding, absent, present, unknown
from ..run import Event, Run

SAME = 1e-3  # relative: what printing and another order of summation leave
SCALES = frozenset(
    {"norm", "std", "abs_mean", "absmean", "abs_sum", "abssum"}
)  # of what sign does not cancel
# Scales and offsets of norms, and biases: equal wherever they start.
STARTS_EQUAL = re.compile(r"(?i)norm|bias|(?:^|[._/])(?:bn|ln)\d*(?:[._/]|$)|gamma|beta")
NONE = "no figures of the first weights were printed on both sides"
_Figures = Mapping[tuple[str, str], Event]


def figures(run: Run, rank: int | None = None) -> _Figures:
    """(of which weights, which figure) -> what the log says; of one rank, or of the first that tells."""
    found: dict[tuple[str, str], Event] = {}
    for event in run.events_of("worked-out"):
        kind, _, of = event.data.partition("|")
        if kind == DATA and (rank is None or event.rank == rank):
            name, _, figure = of.rpartition("|")
            found.setdefault((name, figure), event)
    return found


def pairs(mine: _Figures, theirs: _Figures) -> Iterator[tuple[str, str, Event, Event]]:
    """What both sides say of the same weights."""
    for (name, figure), event in mine.items():
        other = theirs.get((name, figure))
        if other is not None and event.value is not None and other.value is not None:
            yield name, figure, event, other


def off(a: Event, b: Event) -> float:
    """How far two figures lie apart, as a share of the larger."""
    x, y = a.value or 0.0, b.value or 0.0
    return abs(x - y) / max(abs(x), abs(y), 1e-12)


def apart(mine: _Figures, theirs: _Figures, whose: str, side: str | None = None) -> Finding:
    """Whether figures of the same weights differ; `whose`: "the benchmark's"."""
    both = list(pairs(mine, theirs))
    if not both:
        return unknown(NONE)
    differ = [p for p in both if off(p[2], p[3]) > SAME]
    names = {p[0] for p in both}
    if not differ:
        return absent(f"the printed figures of {len(names)} first weights are {whose}")
    name, figure, a, b = max(differ, key=lambda p: off(p[2], p[3]))
    other = Place(b.file, b.line, side="benchmark") if side else Place(b.file, b.line)
    return present(
        f"{len({p[0] for p in differ})} of {len(names)} first weights are not {whose}, as it is printed: "
        f"{figure} of {name or 'all'} is {a.value:.6g} and {b.value:.6g}",
        value=len({p[0] for p in differ}),
        where=(Place(a.file, a.line), other),
    )
