"""Which lines of two programs do the same, however they are written: by symbolic runs of both.

The whole programs are held against each other first, then classes and functions by themselves. Lines are said
to do the same only where a run passed through them and no event differed under any guess of the shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from .align import Alignment
from .events import MAX_STEPS
from .lines import Line, Unit
from .machine import Enough, Machine, TooLong
from .terms import Term

# ranks of the tensors that are assumed; a guess that does not fit says nothing
GUESSES = ((2, 3), (3, 2, 4, 5), (2, 3, 4), (3,), (3, 2), (3, 4), (2, 5), (2, 4, 3, 3), (3, 3))
# where none of these fits: every value has all of these axes, or all but the last
PLAIN = ((4, 3), (3, 4), (5, 3), (4, 5)) * 2
MIXED = PLAIN + ((2, 3, 4), (3, 2, 4), (2, 4, 3), (3, 4, 2), (2, 3, 5), (3, 2, 5), (4, 3, 2), (4, 2, 3)) * 2
# what a program that does odd things to its values may raise: then nothing is said of it
_ODD = (RecursionError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError, MemoryError)
MAX_UNITS = 60  # units that are held against each other one by one
NO_END = MAX_STEPS + 1  # events that no run has
MAX_MIXED = 110_000  # steps of all runs so far, from which on no mixed shapes are guessed
ASKED, ASKED_UNSURE = 2, 8  # further runs that must agree; and where an unknown value decides something
MARGIN = 20  # events by which runs under another guess may part later


_Part = Callable[[Machine], None]  # what of a program is run
_Runs = tuple[Machine, Machine]
_Lines = tuple[frozenset[Line], frozenset[Line]]


class Same:
    """Lines of either program that do what the other program does."""

    def __init__(self, mine: frozenset[Line] = frozenset(), theirs: frozenset[Line] = frozenset()) -> None:
        self.pairs = [(mine, theirs)] if mine or theirs else []

    def add(self, mine: frozenset[Line], theirs: frozenset[Line]) -> None:
        """Note that these lines together do the same."""
        self.pairs.append((mine, theirs))

    def holds(self, mine: Iterable[Line], theirs: Iterable[Line]) -> bool:
        """Whether all these lines were run through in one comparison that found no difference."""
        mine, theirs = frozenset(mine), frozenset(theirs)
        return any(mine <= here and theirs <= there for here, there in self.pairs)


def same_meaning(aligned: Alignment) -> Same:
    """Compare what two programs do."""
    found = Same()
    back = dict(aligned.attributes)
    for unit, other in aligned.units.items():
        if unit.last != other.last:
            back.setdefault(other.last, unit.last)
            back.setdefault(other.name, unit.name)
    whole, by_modes = _compared(aligned, back, lambda m: m.run(), lazy=True)
    if whole is None and by_modes:
        whole, _ = _compared(aligned, back, lambda m: m.run())
    if whole is not None:
        found.add(*whole)
        return found
    edited = {x.unit for x in (*aligned.changed, *aligned.added)}
    theirs = {x.unit for x in (*aligned.changed.values(), *aligned.removed)}
    moved = {x.unit for x in aligned.moved} | {x.unit for x in aligned.moved.values()}
    count = 0
    for unit, other in aligned.units.items():
        if not unit.name or not other.name or count >= MAX_UNITS:
            continue
        parts = {u for u in (edited | moved) if u is unit or u.name.startswith(unit.name + ".")}
        others = {u for u in (theirs | moved) if u is other or u.name.startswith(other.name + ".")}
        if not parts and not others:
            continue
        count += 1
        made, _ = _compared(aligned, back, _alone(unit), _alone(other))
        if made is not None:
            found.add(*made)
    return found


def _alone(unit: Unit) -> _Part:
    return lambda machine: machine.alone(unit)


def _compared(
    aligned: Alignment,
    names: dict[str, str],
    here: _Part,
    there: _Part | None = None,
    lazy: bool = False,
) -> tuple[_Lines | None, bool]:
    """The lines that were run through, or None where the two differ or nothing can be said.

    Also whether that may be otherwise where modes are told as they are set.
    """
    agreeing: list[_Agreed] = []
    settled: list[_Agreed] = []
    by_modes, doubtful, spent, most = False, False, 0, NO_END
    for seed, shape in enumerate((*GUESSES, *MIXED)):
        mixed = seed >= len(GUESSES)
        if seed == len(GUESSES):
            settled = _settled(agreeing, doubtful, here, there or here)
        if mixed and (settled or spent > MAX_MIXED):
            break

        def make(
            salt: int = 0, shape: tuple[int, ...] = shape, seed: int = seed, mixed: bool = mixed
        ) -> _Runs:
            return (
                Machine(aligned.mine, shape, seed, mixed=mixed, salt=salt, lazy=lazy),
                Machine(aligned.theirs, shape, seed, names, mixed=mixed, salt=salt, lazy=lazy),
            )

        try:
            first, second, parted = _both(make, here, there or here, most)
            if not parted and most < NO_END:
                first, second, parted = _both(make, here, there or here, NO_END)
        except (TooLong, *_ODD):
            return None, True
        spent += first.steps + second.steps
        if parted:
            most = len(second.events) + MARGIN
        if first.partial or second.partial:
            return None, True
        verdict = _verdict(first, second)
        by_modes = by_modes or (not verdict and _part_at_modes(first, second))
        if verdict is False:
            return None, by_modes
        doubtful = doubtful or not verdict
        if verdict:
            agreed = _Agreed(
                make,
                (first.covered, second.covered),
                first.branches | second.branches,
                first.unsure or second.unsure,
            )
            if not mixed:
                agreeing.append(agreed)
            elif settled or _again(make, here, there or here, ASKED):
                settled.append(agreed)
    if not settled:
        return None, by_modes
    branches = set().union(*(x.branches for x in settled))
    unchanged = frozenset({*aligned.same, *aligned.same.values()})
    moved = _under_another(aligned)
    mine, theirs = (
        _seen_whole(set().union(*(x.covered[i] for x in settled)), branches, unchanged, moved) for i in (0, 1)
    )
    return (mine, theirs), False


@dataclass(frozen=True)
class _Agreed:
    """Two runs under one guess whose events are the same."""

    make: Callable[[int], _Runs]
    covered: tuple[set[Line], set[Line]]
    branches: set[tuple[int, bool]]
    unsure: bool


def _settled(agreeing: list[_Agreed], doubtful: bool, here: _Part, there: _Part) -> list[_Agreed]:
    """The guesses from the first on under which the runs agree for other values, too.

    Other guesses are other values, unless some of them say nothing.
    """
    more = ASKED_UNSURE if any(x.unsure for x in agreeing) else ASKED
    for i, agreed in enumerate(agreeing):
        known = 0 if doubtful else len(agreeing) - 1
        if _again(agreed.make, here, there, more - known):
            return agreeing[i:]
        doubtful = True
    return []


def _again(make: Callable[[int], _Runs], here: _Part, there: _Part, more: int) -> bool:
    """Whether two runs agree for other values, too: counts of what is true are equal by chance.

    So is what an unknown value decides; then more runs are asked.
    """
    for salt in range(1, ASKED_UNSURE + 1):
        if salt > more:
            break
        try:
            first, second, _ = _both(partial(make, salt), here, there, NO_END)
        except (TooLong, *_ODD):
            return False
        if first.partial or second.partial or not _verdict(first, second):
            return False
        if first.unsure or second.unsure:
            more = ASKED_UNSURE
    return True


def _both(make: Callable[[], _Runs], here: _Part, there: _Part, most: int) -> tuple[Machine, Machine, bool]:
    """Both runs, of so many events, and whether they part; the second ends there."""
    first, second = make()
    first.most = second.most = most
    with suppress(Enough):
        here(first)
    second.beside = first.events
    with suppress(Enough):
        there(second)
    count = len(second.events)
    parted = 0 < count <= len(first.events) and second.events[-1][0] != first.events[count - 1][0]
    return first, second, parted


def _under_another(aligned: Alignment) -> frozenset[Line]:
    """Lines that stand under another condition than their counterpart."""
    found: set[Line] = set()
    for table in (aligned.same, aligned.changed, aligned.moved):
        for mine, theirs in table.items():
            partners = [aligned.partner(h) for h in mine.around]
            if len(partners) != len(theirs.around) or set(partners) != set(theirs.around):
                found |= {mine, theirs}
    return frozenset(found)


def _verdict(a: Machine, b: Machine) -> bool | None:
    """Whether two runs agree; None where they part at something whose shape was guessed wrongly."""
    for x, y in zip(a.events, b.events, strict=False):
        if x[0] != y[0]:
            guessed = not x[2] or not y[2]  # behind a condition on a value of a wrongly guessed shape
            return None if guessed or ((x[1] or y[1]) and x[2] == y[2]) else False
    if len(a.events) != len(b.events):
        return None if a.unsure or b.unsure else False
    return True


def _part_at_modes(a: Machine, b: Machine) -> bool:
    """Whether the first event that differs is a mode, or stands in one of the runs only."""
    first = next((i for i, (x, y) in enumerate(zip(a.events, b.events, strict=False)) if x[0] != y[0]), None)
    return first is None or first in a.mode_notes | b.mode_notes


def _seen_whole(
    lines: set[Line],
    branches: set[tuple[int, bool]],
    unchanged: frozenset[Line],
    moved: frozenset[Line],
) -> frozenset[Line]:
    """The lines of which both sides of every condition that is new there were taken in runs that agreed."""

    def both(term: Term) -> bool:
        return {(id(term), True), (id(term), False)} <= branches

    return frozenset(
        line
        for line in lines
        if all(both(t) for t in line.term.walk() if t.kind == "choice")
        and all(
            both(h.term)
            for h in (line, *line.around)
            if h.term.kind == "if" and (h not in unchanged or line in moved)
        )
    )


__all__ = ["Same", "same_meaning"]
