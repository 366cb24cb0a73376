"""Stretches of lines that were written anew: both sides have other code there, and no number that is new.

What such a stretch changes cannot be told by comparing it line by line; a small edit can be named.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Protocol

from .align import Alignment, their_term
from .lines import Line, Unit
from .terms import Term

LEAST_LINES = 2  # of the longer side
LEAST_OTHER = 2  # calls, operators, attributes of either side that the other has not
HUGE = 1e4  # from here on a number stands for infinity: scores that are masked
ORDINARY = (0.0, 1.0, 2.0)  # numbers that a rewriting may add: counts, axes, ends of slices


class _Edit(Protocol):
    @property
    def kind(self) -> str: ...


def rewritten_lines(aligned: Alignment, edits: Iterable[tuple[Line, _Edit]]) -> frozenset[Line]:
    """The lines of both programs that stand in a stretch that was written anew."""
    kinds: dict[Line, set[str]] = defaultdict(set)
    for line, edit in edits:
        kinds[line].add(edit.kind)
    found: set[Line] = set()
    every = (_numbers(aligned.mine.lines), _numbers(aligned.theirs.lines))
    for mine, theirs in _stretches(aligned):
        if not mine or not theirs or max(len(mine), len(theirs)) < LEAST_LINES:
            continue
        told = {k for line in (*mine, *theirs) for k in kinds.get(line, ())}
        if "expression" not in told and not {"added", "removed"} <= told:
            continue
        here = sum((structure_of(line.term) for line in mine), Counter())
        there = sum((structure_of(their_term(aligned, line)) for line in theirs), Counter())
        if min((here - there).total(), (there - here).total()) < LEAST_OTHER:
            continue
        if _numbers(mine) <= every[1] and _numbers(theirs) <= every[0]:
            found.update(mine, theirs)
    return frozenset(found)


def _stretches(aligned: Alignment) -> list[tuple[list[Line], list[Line]]]:
    """Lines of both sides that follow the same unchanged line of one function."""
    back = {b: a for table in (aligned.same, aligned.moved) for a, b in table.items()}
    found: dict[tuple[Unit, Line | None], tuple[list[Line], list[Line]]] = defaultdict(lambda: ([], []))
    for unit, other in aligned.units.items():
        last: Line | None = None
        for line in unit.lines:
            if line in aligned.same or line in aligned.moved:
                last = line
            else:
                found[unit, last][0].append(line)
        last = None
        for line in other.lines:
            if line in back:
                last = back[line]
            else:
                found[unit, last][1].append(line)
    return list(found.values())


_STRUCTURE = (
    "call",
    "operation",
    "attribute",
    "key",
    "comprehension",
    "item",
    "slice",
    "choice",
    "lambda",
    "for",
    "if",
)


def structure_of(term: Term) -> Counter[tuple[str, str]]:
    """How often each call, operator, attribute, ... stands in a term, by kind and label."""
    return Counter((t.kind, t.label) for t in term.walk() if t.kind in _STRUCTURE)


def _numbers(lines: Iterable[Line]) -> frozenset[float]:
    return frozenset(
        abs(float(t.label))
        for line in lines
        for t in line.term.walk()
        if t.kind == "number" and abs(float(t.label)) not in ORDINARY and abs(float(t.label)) < HUGE
    )
