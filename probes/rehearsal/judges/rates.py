"""Rates that a function of the program gives: asked for more moments than the rehearsal has, by itself.

A function that is called again and again with one number that goes on, and gives a number each time. What it
gives far beyond the rehearsal is worked out by the same machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ..expressions import ODD
from ..machine import Machine, Rated
from ..values import Ended, Raised, TooLong
from .verdict import Verdict

_MOST = 2**22  # moves: no course is looked for beyond these
_POINTS = 60
_DROP = 0.3  # of its peak: what is left right after a fall
_HIGH = 0.7  # of its peak: where it stood before it fell
_BACK = 0.9  # of its peak: where it has risen to again
Rate = Callable[[int], float]


def risen_again(machine: Machine) -> Iterator[Verdict]:
    """The rate falls from its peak at once, rises again over the rest of the course, and stays there.

    Cycles come back more than once; a warm restart falls again after it.
    """
    for one, rate in _rates(machine):
        try:
            end = _settled(rate)
            if end is None or end < 8:
                continue
            moves = sorted({*(end * i // _POINTS for i in range(_POINTS + 1)), *_spread(end)})
            course = [rate(m) for m in moves]
            peak = max(course)
            top = next(i for i, r in enumerate(course) if r >= _HIGH * peak)
            low = next((i for i in range(top, len(course)) if course[i] <= _DROP * peak), None)
            if peak <= 0 or low is None:
                continue
            sharp = _falls_at_once(rate, moves[low - 1], moves[low], peak)
        except (*ODD, Raised, Ended, TooLong):
            continue
        after = course[low:]
        rises = all(b >= a - 1e-9 * peak for a, b in pairwise(after))
        if rises and after[-1] >= _BACK * peak and sharp:
            why = "this rate falls from its peak at once, and rises again to its end"
            yield Verdict("rate-course", one.callee.node, why)
            return


def _spread(end: int) -> Iterator[int]:
    """Moves that lie closer at the beginning, where warm-ups are."""
    move = 1.0
    while move < end:
        yield int(move)
        move *= 1.15


def _falls_at_once(rate: Rate, high: int, low: int, peak: float) -> bool:
    """Between two moves there is one at which most of the rate is lost."""
    half = 0.5 * peak
    while low - high > 1:
        middle = (low + high) // 2
        if rate(middle) > half:
            high = middle
        else:
            low = middle
    return rate(high) - rate(low) > half


def same_in_every_epoch(machine: Machine) -> Iterator[Verdict]:
    """The rate is asked for the place in the epoch, and its course is longer than an epoch."""
    for moving, calls in _asked(machine):
        told = [c.numbers[moving] for c in calls]
        rounds: dict[int, list[float]] = {}
        for call in calls:
            if len(call.loops) < 2 or call.guessed:
                return
            rounds.setdefault(call.loops[0][1], []).append(call.numbers[moving])
        alike = len(rounds) > 1 and len({tuple(r) for r in rounds.values()}) == 1
        within = [r for r in rounds.values() if len(r) > 1 and r == sorted(r) and r[-1] > r[0]]
        if not alike or len(within) != len(rounds):
            continue
        rate = _rate_of(machine, calls[0], moving)
        try:
            end = _settled(rate)
        except (*ODD, Raised, Ended, TooLong):
            continue
        if end is not None and end > 20 * max(told) and end > 1000:
            why = "the rate is asked for the place in the epoch: each epoch begins anew"
            yield Verdict("rate-course", calls[0].node, why)
            return


@dataclass(frozen=True)
class _Call:
    """One moment at which a rate was asked for."""

    node: Any
    callee: Any
    given: list[Any]
    named: dict[str, Any]
    numbers: dict[int, float]
    loops: tuple[Any, ...]
    guessed: bool


def _asked(machine: Machine) -> Iterator[tuple[int, list[_Call]]]:
    """Functions with one argument that moves, and all moments at which they were asked for."""
    groups: dict[Any, list[Rated]] = {}
    for one in machine.rated:
        groups.setdefault(one.callee.node, []).append(one)
    for found in groups.values():
        calls = [
            _Call(
                f.node, f.callee, f.given, f.named,
                {i: float(v) for i, v in enumerate(f.given) if _is_number(v)}, f.loops, bool(f.guessed),
            )
            for f in found
        ]  # fmt: skip
        if len({len(c.given) for c in calls}) != 1:
            continue
        moving = [i for i in calls[0].numbers if len({c.numbers.get(i) for c in calls}) > 1]
        if len(moving) == 1 and all(moving[0] in c.numbers for c in calls):
            yield moving[0], calls


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _rates(machine: Machine) -> Iterator[tuple[_Call, Rate]]:
    for moving, calls in _asked(machine):
        yield calls[0], _rate_of(machine, calls[0], moving)


def _rate_of(machine: Machine, call: _Call, moving: int) -> Rate:
    def rate(move: int) -> float:
        machine.steps = max(machine.steps, 4000)
        given = [*call.given[:moving], move, *call.given[moving + 1 :]]
        value = machine.call_routine(call.callee, given, call.named, call.node)
        if not _is_number(value):
            raise Raised("no number")
        return float(value)

    return rate


def _settled(rate: Rate) -> int | None:
    """The move from which on a rate stays what it is; None where it never does."""
    last = rate(_MOST)
    if last != rate(_MOST + 1) or last != rate(2 * _MOST):
        return None
    low, high = 0, _MOST
    if rate(0) == last and rate(1) == last:
        return None
    while high - low > 1:  # the last move at which it differs, as if there were one such place
        middle = (low + high) // 2
        if rate(middle) == last and rate(middle + 1) == last:
            high = middle
        else:
            low = middle
    return high
