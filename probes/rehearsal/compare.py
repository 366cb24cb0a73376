"""What two rehearsed programs do alike, however they are written: facts of each, held against each other.

A fact is None where the rehearsal does not know it; two facts are alike only where both are known and equal.
What random draws decide is compared by its shape: how many rows, from one stretch or from everywhere.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from ..scripts.syntax import Script
from . import marks
from .expressions import ODD
from .journal import Asked, Backward, Scheduled, Stepped, Told
from .judges.verdict import optimizers, taught, trains
from .machine import Machine, rehearsed
from .values import (
    STRANGE,
    Broken,
    Continued,
    Ended,
    Optimizer,
    Raised,
    Routine,
    Schedule,
    Tensor,
    TooLong,
    Weight,
    mixed,
)

Facts = dict[str, Hashable]
_NO_SETTING = frozenset(("params", "parameters", "optimizer"))


def alike(mine: Script, theirs: Script) -> frozenset[str]:
    """The facts that both programs are known to have in common, by name (see `facts`)."""
    here, there = facts(mine), facts(theirs)
    return frozenset(k for k, v in here.items() if v is not None and v == there.get(k))


def apart(mine: Script, theirs: Script) -> frozenset[str]:
    """The facts that are known of both programs, and differ."""
    here, there = facts(mine), facts(theirs)
    return frozenset(k for k, v in here.items() if None not in (v, there.get(k)) and v != there[k])


@lru_cache(maxsize=16)
def facts(source: Script) -> Facts:
    """What is known of a program; nothing where its rehearsal did not get as far as steps that train.

    "network", "network-scored": how answers are made of questions, in training and elsewhere; "inputs",
    "inputs-scored": how what is asked was made of data; "loss": how losses are made of answers and data;
    "optimizer": its kind, settings and weights; "schedule": those of rates and when they go on; "steps": of
    how many gradients each step is made, and when they are cleared; "modes": in which mode is trained and
    scored; "rows": how many rows are learnt from and scored, in which order, how many of both; "parting": the
    same where both are rows of tables that were read, not of what the program made itself; "statistics": of
    which of these rows they are taken, and of how many; "figures": how each figure is made, of which answers.
    """
    return facts_of(rehearsed(source))


def facts_of(machine: Machine) -> Facts:
    """The facts of a rehearsal (see `facts`)."""
    if (
        not trains(machine)
        or optimizers(machine) is None
        or machine.journal.ended not in ("whole", "too long")
    ):
        return {}
    learnt = taught(machine)
    lessons = [a for a in machine.asks.values() if a.number in learnt]
    scored = [a for a in machine.asks.values() if a.number not in learnt and not a.graph]
    found = {
        "network": _network(lessons),
        "network-scored": _network(scored),
        "inputs": _inputs(lessons),
        "inputs-scored": _inputs(scored),
        "loss": _losses(machine, learnt),
        "optimizer": _optimizers(machine),
        "schedule": _schedules(machine),
        "steps": _steps(machine),
        "modes": (_modes(lessons), _modes(scored)),
        "rows": _rows(machine, lessons, scored),
        "parting": _parting(machine, lessons, scored),
        "statistics": _statistics(machine, lessons, scored),
        "figures": _figures(machine, learnt),
    }
    return {k: None if _strange(v) else v for k, v in found.items()}


def _strange(value: Any) -> bool:
    """Whether a mark in a fact is made of something that is like nothing else."""
    if isinstance(value, tuple) and value[:1] == ("mark",):
        return bool(value[1] & 1)
    return isinstance(value, (tuple, frozenset)) and any(map(_strange, value))


def _marked(*parts: Any) -> Hashable:
    return ("mark", mixed(*parts))


def _network(asks: list[Asked]) -> Hashable:
    if not asks or any(a.opaque for a in asks):
        return None
    return frozenset((_marked(a.made), len(a.reaches)) for a in asks)


def _losses(machine: Machine, learnt: frozenset[int]) -> Hashable:
    """How losses are made, and how far the rows of data lie from those of the answers that they meet."""
    losses = [e.loss for e in machine.journal.of(Backward)]
    apart: set[Hashable] = set()
    for one in machine.met:
        if one.asked & learnt and one.data.rows is not None:
            off = np.unique(one.data.rows - one.rows)
            apart.add(int(off[0]) if len(off) == 1 else "mixed")
    if not all(isinstance(x, Tensor) for x in losses):
        return None
    return frozenset(_marked(marks.of_tensor(machine, x)) for x in losses), frozenset(apart)


def _inputs(asks: list[Asked]) -> Hashable:
    found = Counter(_marked(*a.inputs) for a in asks if a.inputs)
    return frozenset(found.items()) or None


def _modes(asks: list[Asked]) -> Hashable:
    return frozenset(frozenset(a.modal) for a in asks)


def _optimizers(machine: Machine) -> Hashable:
    found = []
    for one in optimizers(machine) or ():
        groups = tuple((_kinds(g.get("params") or ()), _settings(machine, one.name, g)) for g in one.groups)
        found.append(
            (one.name, _settings(machine, one.name, one.settings), groups, _kinds(one.weights or ()))
        )
    return tuple(found)


def _kinds(weights: Iterable[Any]) -> Hashable:
    """Weights by what they are, not by what they are called."""
    found = ((w.name, w.trains, w.ndim or 0) for w in weights if isinstance(w, Weight))
    return tuple(sorted(found, key=repr))


def _settings(machine: Machine, name: str, given: dict[str, Any]) -> Hashable:
    kept = {k: v for k, v in given.items() if k not in _NO_SETTING}
    return _marked(marks.settings(machine, name, [], kept))


def _schedules(machine: Machine) -> Hashable:
    """The schedules that go on, each with its settings and the steps after which it does."""
    found: dict[int, tuple[Schedule, list[int]]] = {}
    for event in machine.journal.of(Scheduled):
        found.setdefault(id(event.schedule), (event.schedule, []))[1].append(event.after)
    told = []
    for one, after in found.values():
        if not isinstance(one.optimizer, Optimizer):
            return None
        given = [g for g in one.given if g is not one.optimizer]
        named = {k: v for k, v in one.named.items() if v is not one.optimizer}
        told.append((one.name, _course(machine, one.name, given, named), tuple(after)))
    return tuple(told) or None


_MOST = 5_000  # expressions that are gone through for the rates of a schedule
_FIRST = (0, 1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)  # steps that rates are asked of


def _course(machine: Machine, name: str, given: list[Any], named: dict[str, Any]) -> Hashable:
    """The settings of a schedule; of one whose rates a function of the program gives the rates."""
    asked = given[0] if given else named.get("lr_lambda")
    if name == "LambdaLR" and isinstance(asked, Routine):
        return _rates(machine, asked)
    if name == "OneCycleLR":
        epochs, each = named.get("epochs"), named.get("steps_per_epoch")
        if isinstance(epochs, int) and isinstance(each, int):
            named = {k: v for k, v in named.items() if k not in ("epochs", "steps_per_epoch")}
            named["total_steps"] = epochs * each
    return _marked(marks.settings(machine, name, [None, *given], named))


def _rates(machine: Machine, asked: Routine) -> Hashable:
    """What a function of the program gives for each of some steps."""
    machine.steps, known = max(machine.steps, _MOST), len(machine.journal.events)
    try:
        rates = [machine.call(asked, [n], {}, asked.node) for n in _FIRST]
    except (TooLong, Raised, Ended, Broken, Continued, RecursionError, *ODD):
        return "mark", STRANGE
    finally:
        del machine.journal.events[known:]
    return tuple(
        round(float(r), 9) if isinstance(r, (int, float)) else _marked(marks.plain(machine, r)) for r in rates
    )


def _steps(machine: Machine) -> Hashable:
    """Each step by the number of gradients that it is made of, and of those that were used before."""
    return tuple((len(e.used), len(e.stale), e.scaled, bool(e.guessed)) for e in machine.journal.of(Stepped))


# ------------------------------------------------------------------------------------ rows


def _rows(machine: Machine, lessons: list[Asked], scored: list[Asked]) -> Hashable:
    """How rows are dealt: of each table how many are learnt from, scored and both, and in which order."""
    tables: dict[int, tuple[list[Tensor], list[Tensor]]] = {}
    for which, asks in enumerate((lessons, scored)):
        for ask in asks:
            told = [t for t in machine.tensors(ask.given) if t.rows is not None]
            if ask.guessed or not told or any(t.vague or t.mixed or t.table <= 0 for t in told):
                return None
            for one in told:
                tables.setdefault(one.table, ([], []))[which].append(one)
    found = []
    for mine, others in tables.values():
        learnt, held = ({r for t in part for r in _numbers(t)} for part in (mine, others))
        by = frozenset().union(*(t.by for t in (*mine, *others)))
        both = len(learnt & held)
        found.append(
            (len(learnt), len(held), both, _stretch(learnt), _stretch(held), by, _order(mine), _order(others))
        )
    return tuple(found) or None


def _numbers(one: Tensor) -> list[int]:
    return [int(r) for r in np.atleast_1d(one.rows)] if one.rows is not None else []


def _stretch(rows: set[int]) -> Hashable:
    """Where rows lie that follow one another; None of rows from everywhere."""
    return (min(rows), max(rows)) if rows and max(rows) - min(rows) + 1 == len(rows) else None


def _order(asked: list[Tensor]) -> Hashable:
    """Whether rows come in the order of the table, and in the same one each time."""
    rows = [np.atleast_1d(t.rows) for t in asked if t.rows is not None]
    rising = all(bool((np.diff(r) >= 0).all()) for r in rows)
    again = len({r.tobytes() for r in rows}) == len(rows)
    return rising, again, sum(len(r) for r in rows), len(rows)


# tables of what a program made: where their rows are from is not known
_OWN = re.compile(r"^(?:data|object) ")


def _parting(machine: Machine, lessons: list[Asked], scored: list[Asked]) -> Hashable:
    """How the rows of one table are dealt to learning and scoring, of all and of each network."""
    learnt, held = (
        {t.table for t in machine.tensors([a.given for a in asks]) if t.rows is not None and t.table > 0}
        for asks in (lessons, scored)
    )
    if not learnt & held or any(_OWN.match(machine.tables[t][0]) for t in learnt | held):
        return None
    return _rows(machine, lessons, scored), _each_network(_rows, machine, lessons, scored)


def _each_network(
    told: Callable[[Machine, list[Asked], list[Asked]], Hashable],
    machine: Machine,
    lessons: list[Asked],
    scored: list[Asked],
) -> Hashable:
    """A fact of each network by itself: of several folds each has rows of its own."""
    return tuple(
        told(machine, [a for a in lessons if a.net is net], [a for a in scored if a.net is net])
        for net in dict.fromkeys(a.net for a in lessons)
    )


def _statistics(machine: Machine, lessons: list[Asked], scored: list[Asked]) -> Hashable:
    """The rows that statistics are of, as all networks and as each of them is taught."""
    whole = _statistics_of(machine, lessons, scored)
    return None if whole is None else (whole, _each_network(_statistics_of, machine, lessons, scored))


def _statistics_of(machine: Machine, lessons: list[Asked], scored: list[Asked]) -> Hashable:
    """The rows that statistics are of: those learnt from, those scored, or more, and how many they are."""
    sides = [list(machine.tensors([a.given for a in asks])) for asks in (lessons, scored)]
    rows = [{(t.table, r) for t in side for r in _numbers(t)} for side in sides]
    fits = [frozenset().union(*(t.fits for t in side)) for side in sides]
    if not fits[0] and not fits[1]:
        return None
    told = []
    for side in fits:
        of = {(machine.fits[f].table, int(r)) for f in side for r in machine.fits[f].rows}
        counts = frozenset(len(machine.fits[f].rows) for f in side)
        told.append((bool(side), of <= rows[0], bool(of & rows[1]), rows[0] <= of, counts))
    return (*told, fits[0] == fits[1])


# ------------------------------------------------------------------------------------ figures


def _figures(machine: Machine, learnt: frozenset[int]) -> Hashable:
    """Figures that are told of answers which are not learnt from."""
    return frozenset(_each_figure(machine, learnt)) or None


def _each_figure(machine: Machine, learnt: frozenset[int]) -> Iterator[Hashable]:
    taught_rows = {
        (a.table, int(r)) for n in learnt if (a := machine.asks.get(n)) and a.rows is not None for r in a.rows
    }
    for told in machine.journal.of(Told):
        asks = [machine.asks[n] for n in told.value.asked if n in machine.asks]
        if not asks or any(a.number in learnt or a.graph for a in asks):
            continue
        rows = {(a.table, int(r)) for a in asks if a.rows is not None for r in a.rows}
        of = (
            len(asks),
            len(rows),
            len(rows & taught_rows),
            frozenset(_marked(a.made, a.inputs) for a in asks),
        )
        yield _marked(marks.of_tensor(machine, told.value)), of
