"""Schedules: held against how often the program moves them, and a plateau that is waited for wrongly."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ...code.shared.origins import origins
from ...made_numbers.figures import kind_of
from ...readers._tree import walk
from ...readers.script import last_name
from ..expressions import ODD
from ..journal import Backward, Event, Scheduled, Stepped, Told
from ..machine import Machine
from ..values import Ended, Raised, Schedule, Tensor, TooLong
from .verdict import Verdict

_LENGTH = {
    "CosineAnnealingLR": (1, "T_max"),
    "PolynomialLR": (1, "total_iters"),
    "get_linear_schedule_with_warmup": (2, "num_training_steps"),
    "get_cosine_schedule_with_warmup": (2, "num_training_steps"),
    "get_polynomial_decay_schedule_with_warmup": (2, "num_training_steps"),
}
_STEEP = 3.5  # a course that ends falls so much over its last part; one that goes on falling does not
_FLAT = 0.3  # of its peak: what a course still has that does not end with training
_BACK = 6  # steps back to where a number of a rate comes from
_LENGTHS = ("len", "cardinality", "get_dataset_size", "num_batches")
_RISEN = 0.25  # of its peak: what a warm-up has reached that training is too short for
_FALL = frozenset(("loss", "rmse", "mae", "mse", "mape", "perplexity", "error"))  # as a model gets better
Rate = Callable[[float], float]


@dataclass(frozen=True)
class _Moves:
    """How a schedule is moved: all its moves, and of an epoch the moves, the batches and the steps."""

    all: float
    moves: int
    batches: int
    steps: int

    def reasons(self) -> Iterator[tuple[float, str, str]]:
        """What the length may be wrong by: a factor, what the length is made for, what it moves with."""
        if self.moves == 1 and self.batches > 1:
            yield self.batches, "batches", "once an epoch"
        if self.moves > 1:
            yield 1 / self.moves, "epochs", "with every batch" if self.moves == self.batches else "every step"
        if 1 < self.moves == self.steps < self.batches and self.batches % self.steps == 0:
            yield self.batches / self.steps, "batches", f"once in {self.batches // self.steps} batches"
        if 1 < self.steps < self.moves == self.batches and self.batches % self.steps == 0:
            yield self.steps / self.batches, "steps", "with every batch, of which a step gathers several"


def made_for_other_moves(machine: Machine) -> Iterator[Verdict]:
    """A schedule's length is in batches, steps or epochs, and it is moved with another of them."""
    events = machine.journal.of(Scheduled)
    for schedule in dict.fromkeys(e.schedule for e in events):
        mine = [e for e in events if e.schedule is schedule]
        moves = _moves(machine, mine)
        if moves is None or any(e.guessed for e in mine):
            continue
        length = _length(schedule)
        rate = _rate(machine, schedule) if length is None else None
        for factor, made, moved in moves.reasons():
            if length is not None and _near(length, moves.all * factor, factor):
                yield Verdict(
                    "schedule-unit", schedule.node, f"this schedule is made for {made} and moves {moved}"
                )
                return
            if rate is not None and _ends(rate, moves.all, factor):
                yield Verdict(
                    "schedule-unit", schedule.node, f"this schedule ends as if {made} were its moves,"
                    f" and it moves {moved}"
                )  # fmt: skip
                return
        if rate is not None and moves.moves == 1 < moves.batches and _still_rises(rate, moves.all):
            yield Verdict(
                "schedule-unit", schedule.node,
                f"the warm-up of this schedule is not over after its {moves.all:g} moves, one in an epoch",
            )  # fmt: skip
            return


def _moves(machine: Machine, mine: list[Any]) -> _Moves | None:
    """How a schedule is moved; None where the rounds differ or more than one loop is not gone through."""
    if machine.journal.ended != "whole":
        return None
    rounds: dict[Any, set[int]] = {}
    for event in mine:
        for node, number in event.loops:
            rounds.setdefault(node, set()).add(number)
    cut = [n for n, seen in rounds.items() if machine.lengths.get(n, len(seen)) > len(seen)]
    if len(cut) != 1 or len(rounds[cut[0]]) < 2:
        return None
    around = cut[0]
    counts = [_of_rounds(mine, around)]
    optimizer = mine[0].schedule.optimizer
    steps = [e for e in machine.journal.of(Stepped) if e.optimizer is optimizer]
    turns = {_outside(e, around) for e in mine}  # of several folds, that in which this schedule moves
    backwards = [e for e in machine.journal.of(Backward) if _outside(e, around) in turns]
    counts += [_of_rounds(backwards, around), _of_rounds(steps, around)]
    if any(len(set(c.values())) != 1 or len(c) != len(rounds[around]) for c in counts):
        return None
    each = [next(iter(c.values())) for c in counts]
    return _Moves(float(each[0] * machine.lengths[around]), each[0], each[1], each[2])


def _outside(event: Event, around: Any) -> tuple[Any, ...]:
    """The rounds of the loops around a loop."""
    nodes = [n for n, _ in event.loops]
    return event.loops[: nodes.index(around)] if around in nodes else ()


def _of_rounds(events: list[Event], around: Any) -> dict[int, int]:
    """How many of these events happened in each round of a loop."""
    found: dict[int, int] = {}
    for event in events:
        number = next((r for n, r in event.loops if n is around), None)
        if number is not None:
            found[number] = found.get(number, 0) + 1
    return found


def _length(schedule: Schedule) -> float | None:
    """The number of moves that a schedule of a library is made for."""
    if schedule.name == "OneCycleLR":
        total = _number(schedule.named.get("total_steps", (*schedule.given, None, None, None)[2]))
        epochs = _number(schedule.named.get("epochs"))
        each = _number(schedule.named.get("steps_per_epoch"))
        return total if total is not None else epochs * each if epochs and each else None
    place, name = _LENGTH.get(schedule.name, (0, ""))
    if not place:
        return None
    return _number(schedule.named.get(name, (*schedule.given, None, None, None)[place]))


def _number(held: Any) -> float | None:
    if isinstance(held, bool) or not isinstance(held, (int, float)):
        return None
    return float(held)


def _near(length: float, wanted: float, factor: float) -> bool:
    """Whether a length is the wrong one: a warm-up or a remainder may be left out of it."""
    slack = 0.2 if max(factor, 1 / factor) >= 3 else 0.1
    return wanted >= 2 and abs(length - wanted) <= slack * wanted


def _function(schedule: Schedule) -> Any:
    """What a LambdaLR was given to work out its factor."""
    return schedule.named.get("lr_lambda", (*schedule.given, None, None)[1])


def _rate(machine: Machine, schedule: Schedule) -> Rate | None:
    """The function of a LambdaLR."""
    if schedule.name != "LambdaLR":
        return None
    told = _function(schedule)

    def rate(move: float) -> float:
        machine.steps = max(machine.steps, 2000)
        value = machine.call(told, [int(move)], {}, schedule.node)
        if isinstance(value, Tensor) and value.number is not None:
            value = float(value.number)
        if _number(value) is None:
            raise Raised("no number")
        return float(value)

    return rate


def _worked(rate: Rate, marks: list[float]) -> list[float] | None:
    try:
        return [rate(m) for m in marks]
    except (*ODD, Raised, Ended, TooLong):
        return None


def _ends(rate: Rate, moves: float, factor: float) -> bool:
    """Whether a course comes to its end after so many times the moves, and not with them."""
    end = moves * factor
    if end < 4:
        return False
    marks = [0.02, 0.05, 0.1, 0.2, 0.5, 0.8, 0.9, 0.97, 1.5, 3.0]
    worked = _worked(rate, [end * m for m in marks] + [max(moves - 1, 0.0)])
    if worked is None:
        return False
    peak, floor = max(worked), min(worked)
    course = [w - floor for w in worked]
    before, last = course[5], max(course[7], 1e-12)
    if peak - floor <= 0 or before / last < _STEEP or not course[4] > course[5] > course[6] > course[7]:
        return False
    return factor < 1 or course[-1] > _FLAT * (peak - floor)


def nought_at_first(machine: Machine) -> Iterator[Verdict]:
    """The factor of a rate is nought for move after move at the beginning: nothing is learnt until later."""
    for schedule in dict.fromkeys(e.schedule for e in machine.journal.of(Scheduled)):
        rate = _rate(machine, schedule)
        worked = _worked(rate, [0, 1, 2, 3, 4, 8, 20, 60, 150, 1000, 20000]) if rate is not None else None
        if worked is not None and not any(worked[:5]) and max(worked) > 0 and not _counts(machine, schedule):
            why = "the rate of this schedule is nought at the beginning, move after move: nothing is learnt"
            yield Verdict("rate-course", schedule.node, why)
            return


def _counts(machine: Machine, schedule: Schedule) -> bool:
    """Whether a rate hangs on a length: those of loaders are made here, and may be shorter than a warm-up."""
    places = [n for n in (schedule.node, getattr(_function(schedule), "node", None)) if n is not None]
    nodes = [n for place in places for n in walk(place)]
    names = [n for n in nodes if isinstance(n, (ast.Name, ast.Attribute))]
    made = (o for name in names for o in origins(machine.source, name, _BACK))
    return any(isinstance(o, ast.Call) and last_name(o.func) in _LENGTHS for o in (*nodes, *made))


def _still_rises(rate: Rate, moves: float) -> bool:
    worked = _worked(rate, [moves * m / 8 for m in range(8)] + [moves * m for m in (4, 16, 64, 250)])
    if worked is None or moves < 4:
        return False
    seen = worked[:8]
    return seen == sorted(seen) and seen[-1] > seen[0] and 0 < seen[-1] < _RISEN * max(worked[8:])


def plateau_the_wrong_way(machine: Machine) -> Iterator[Verdict]:
    """A plateau of a figure is waited for in the direction in which the figure gets worse, by its label."""
    told: list[Told] = machine.journal.of(Told)
    for event in machine.journal.of(Scheduled):
        schedule, figure = event.schedule, event.given
        if schedule.name != "ReduceLROnPlateau" or not isinstance(figure, Tensor) or not figure.asked:
            continue
        mode = schedule.named.get("mode", (*schedule.given, None)[1] if len(schedule.given) > 1 else "min")
        labels = [t.label for t in told if t.value is figure and kind_of(t.label)]
        better = {"min" if kind_of(label) in _FALL else "max" for label in labels}
        if mode in ("min", "max") and len(better) == 1 and mode not in better:
            way = "rising" if mode == "max" else "falling"
            yield Verdict(
                "plateau-direction", schedule.node, f"the rate is lowered when {labels[0]!r} stops {way}"
            )
            return
