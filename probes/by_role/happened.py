"""What two rehearsed programs do otherwise, wherever it stands and however it is written.

Held against each other is what happens (see `probes/rehearsal`): in which mode answers are given, which
gradients a step is made of, which weights move, which rows are learnt from and scored and in which order.
Nothing is told of how values are made: the same thing can be computed in many ways.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..rehearsal.compare import facts
from ..rehearsal.journal import Asked, Cleared, Event, Scheduled, Stepped
from ..rehearsal.journal import Told as Figure
from ..rehearsal.judges.rows import FEWEST, SHARE, Part, lessons, parts
from ..rehearsal.judges.verdict import scored, taught
from ..rehearsal.machine import Machine, rehearsed
from ..rehearsal.values import Weight
from .side import Side, Told

Found = Iterator[tuple[str, str, ast.AST | None, ast.AST | None]]  # kind, text, where here and there
_MOST = 0.5  # of the steps or answers: what happens in more of them is what the program does


def happened_otherwise(mine: Side, theirs: Side) -> Iterator[Told]:
    """All differences of two programs that were rehearsed until known weights were moved; else none."""
    if not facts(mine.source) or not facts(theirs.source):
        return
    machines = rehearsed(mine.source), rehearsed(theirs.source)
    for fact in _FACTS:
        for kind, text, here, there in fact(*machines):
            yield Told(kind, text, mine.place(here), theirs.place(there))


def _first(events: list[Event]) -> ast.AST | None:
    return events[0].node if events else None


def _taught(machine: Machine) -> list[Asked]:
    learnt = taught(machine)
    return [a for a in machine.asks.values() if a.number in learnt]


# ------------------------------------------------------------------------------------ modes


def _trained_off(machine: Machine) -> tuple[float, list[Asked]] | None:
    """The share of the answers learnt from that are given in evaluation mode, and these."""
    asks = [a for a in _taught(machine) if a.modal]
    if not asks or any(a.guessed or a.net.unsure for a in asks):
        return None
    off = [a for a in asks if not any(mode for _, mode in a.modal)]
    return len(off) / len(asks), off or asks


def _scored_on(machine: Machine) -> tuple[float, list[Asked]] | None:
    """The share of the answers that figures are told of which are given in training mode, and these."""
    asks = [a for a in scored(machine) if a.modal]
    if not asks or any(a.guessed or a.net.unsure for a in asks):
        return None
    on = [a for a in asks if all(mode for _, mode in a.modal)]
    return len(on) / len(asks), on or asks


def modes_differ(mine: Machine, theirs: Machine) -> Found:
    """Answers are learnt from in evaluation mode, or scored in training mode, and not in the benchmark."""
    told = (
        (_trained_off, "the network is trained in evaluation mode here, in training mode in the benchmark"),
        (_scored_on, "figures are taken in training mode here, in evaluation mode in the benchmark"),
    )
    for share, text in told:
        here, there = share(mine), share(theirs)
        if here is not None and there is not None and here[0] > _MOST and there[0] == 0:
            yield "mode", text, here[1][0].node, there[1][0].node


# ------------------------------------------------------------------------------------ steps


def clearing_differs(mine: Machine, theirs: Machine) -> Found:
    """Steps are made of gradients that earlier ones have used, or gradients are cleared unused."""
    if mine.gradients_read or theirs.gradients_read:
        return
    steps: list[list[Stepped]] = [m.journal.of(Stepped) for m in (mine, theirs)]
    cleared: list[list[Cleared]] = [m.journal.of(Cleared) for m in (mine, theirs)]
    if any(e.guessed for m in (mine, theirs) for e in m.journal.of(Stepped, Cleared)):
        return
    stale = [[e for e in part if e.stale] for part in steps]
    if not stale[1] and len(stale[0]) > _MOST * len(steps[0]):
        text = "steps are made of gradients that earlier steps have used; in the benchmark they are cleared"
        yield "clearing-left-out", text, stale[0][0].node, _first([*cleared[1]])
    used = [{n for e in part for n in e.used} for part in steps]
    lost = [[e for e in part if e.lost - use] for part, use in zip(cleared, used, strict=True)]
    if not lost[1] and len(lost[0]) > _MOST * len(steps[0]):
        text = "gradients are cleared before a step has used them; in the benchmark a step uses them all"
        yield "step-order", text, lost[0][0].node, _first([*cleared[1]])


@dataclass(frozen=True)
class _Weights:
    """The weights of the networks that are learnt with, by kind: all, those that moved; the others."""

    all: Counter[object]
    moved: Counter[object]
    still: tuple[Weight, ...]


def _weights(machine: Machine) -> _Weights | None:
    nets = {id(a.net): a.net for a in _taught(machine)}.values()
    if any(n.escaped for net in nets for n in net.nets()) or any(o.escaped for o in machine.optimizers):
        return None
    mine = {id(w): w for net in nets for w in net.parameters()}.values()
    unused = any(n.weights and not n.opaque and not getattr(n, "used", 0) for net in nets for n in net.nets())
    if unused or any(w.escaped for w in mine):
        return None
    kinds = [Counter[object]((w.name, w.ndim) for w in part) for part in (mine, [w for w in mine if w.moved])]
    return _Weights(kinds[0], kinds[1], tuple(w for w in mine if not w.moved))


def moved_weights_differ(mine: Machine, theirs: Machine) -> Found:
    """Weights of the same network that every step moves in the benchmark, and none here."""
    here, there = _weights(mine), _weights(theirs)
    if here is None or there is None or here.all != there.all or there.still or not here.still:
        return
    if here.moved:
        count = f"{len(here.still)} of {sum(here.all.values())} weights of the network"
        text = f"no step moves {count} here; in the benchmark all move"
        places = [m.journal.of(Stepped)[0].optimizer.node for m in (mine, theirs)]
        yield _why_still(mine, here.still), text, places[0], places[1]


def _why_still(machine: Machine, still: Sequence[Weight]) -> str:
    """The kind of edit that leaves weights where they are."""
    if not any(w.trains for w in still):
        return "frozen"
    stepped = {id(e.optimizer) for e in machine.journal.of(Stepped)}
    held = {w.serial: id(o) in stepped for o in machine.optimizers for w in o.weights or ()}
    if any(w.serial not in held for w in still):
        return "optimizer-parameters"
    return "gradient-cut" if all(held[w.serial] for w in still) else "update-left-out"


# ------------------------------------------------------------------------------------ rows


def _rounds(machine: Machine) -> list[list[int]] | None:
    """The rows that are learnt from, by the rounds of the outermost loop; None where they are not known."""
    found: dict[tuple[object, int], list[int]] = {}
    for ask in _taught(machine):
        told = [t for t in machine.tensors(ask.given) if t.rows is not None and t.table > 0]
        if ask.guessed or not told or any(t.vague or t.mixed for t in told) or len(ask.loops) < 2:
            return None
        rows = found.setdefault((ask.loops[0][0], ask.loops[0][1]), [])
        rows += [int(r) for r in np.atleast_1d(told[0].rows if told[0].rows is not None else 0)]
    return list(found.values()) or None


def order_differs(mine: Machine, theirs: Machine) -> Found:
    """Rows come in another order in each round of the benchmark, and in the same one here."""
    here, there = _rounds(mine), _rounds(theirs)
    if here is None or there is None or min(len(here), len(there)) < 2:
        return
    same = [all(r == part[0] for r in part[1:]) for part in (here, there)]
    if same[0] and not same[1] and len(here[0]) >= FEWEST:
        text = "the samples come in the same order in every round here, in a new one in the benchmark"
        yield "shuffling", text, _taught(mine)[0].node, _taught(theirs)[0].node


def _least_shared(machine: Machine) -> tuple[float, Figure] | None:
    """Of the figures that are told, the least share of rows that were learnt from before."""
    learnt, least = taught(machine), None
    for event in machine.journal.of(Figure):
        asks = [machine.asks[n] for n in event.value.asked if n in machine.asks]
        if not asks or any(a.number in learnt or a.graph for a in asks):
            continue
        before: dict[int, Part] = {}
        for net in {id(a.net): a.net for a in asks}.values():
            before |= parts(machine, lessons(machine, net, event.time))
        held = parts(machine, asks)
        if not held or not before or any(a.rows is None for a in asks):
            return None
        rows = {(t, r) for t, p in held.items() for r in p.rows}
        shared = {(t, r) for t, p in before.items() for r in p.rows} & rows
        if len(rows) >= FEWEST and (least is None or len(shared) / len(rows) < least[0]):
            least = len(shared) / len(rows), event
    return least


def parts_differ(mine: Machine, theirs: Machine) -> Found:
    """Every figure is told of rows that are learnt from, in part at least, and not so in the benchmark."""
    here, there = _least_shared(mine), _least_shared(theirs)
    if here is not None and there is not None and there[0] == 0 and here[0] >= SHARE:
        text = f"{here[0]:.0%} of the rows that are scored are learnt from here, none in the benchmark"
        yield "evaluates-other-part", text, here[1].node, there[1].node


def _fits(machine: Machine) -> tuple[bool, bool, bool, ast.AST] | None:
    """Of the statistics that inputs are scaled by: whether those of training are of scored rows, too;

    whether they are those of scoring; whether those of scoring are of its own rows alone; where one is taken.
    """
    learnt, judged = _taught(machine), scored(machine)
    sides = [parts(machine, asks) for asks in (learnt, judged)]
    tables = sides[0].keys() & sides[1].keys()
    if len(tables) != 1:
        return None
    table = next(iter(tables))
    one, other = (side[table] for side in sides)
    fits = [{n for n in p.fits if machine.fits[n].table == table} for p in (one, other)]
    if not all(fits) or one.rows & other.rows:
        return None
    of = [{int(r) for n in part for r in machine.fits[n].rows} for part in fits]
    own = bool(fits[1] - fits[0]) and of[1] <= other.rows
    return bool(of[0] & other.rows), fits[0] == fits[1], own, machine.fits[min(fits[1])].node


def statistics_differ(mine: Machine, theirs: Machine) -> Found:
    """Inputs are scaled by figures of the scored rows, too, or each part by its own, unlike there."""
    here, there = _fits(mine), _fits(theirs)
    if here is None or there is None or there[0] or not there[1]:
        return
    if here[0]:
        text = "inputs are scaled by figures of the scored rows, too; in the benchmark of training rows alone"
        yield "statistics-fitted", text, here[3], there[3]
    elif here[2]:
        text = "the scored rows are scaled by figures of their own; in the benchmark by those of training"
        yield "statistics-fitted-apart", text, here[3], there[3]


def _apart(machine: Machine) -> tuple[set[object], ast.AST] | None:
    """How far the rows of targets lie from those of the answers that they meet in what is learnt."""
    learnt, node = taught(machine), None
    found: set[object] = set()
    for one in machine.met:
        if one.asked & learnt and one.data.rows is not None:
            if one.guessed or len(one.data.rows) != len(one.rows):
                return None
            off = np.unique(one.data.rows - one.rows)
            found.add(int(off[0]) if len(off) == 1 else "mixed")
            node = node or one.node
    return (found, node) if found and node is not None else None


def targets_differ(mine: Machine, theirs: Machine) -> Found:
    """Answers meet the targets of other rows, and those of their own in the benchmark."""
    here, there = _apart(mine), _apart(theirs)
    if here is not None and there is not None and there[0] == {0} and 0 not in here[0]:
        text = "answers are compared with the targets of other rows here, with their own in the benchmark"
        yield "labels-moved", text, here[1], there[1]


# ------------------------------------------------------------------------------------ schedules, figures


def _moves(machine: Machine) -> tuple[str, str, int, float, list[Scheduled]] | None:
    """Of the only schedule: its kind, its settings, how many loops it goes on outside of those of the steps,

    how often for each step, and each time that it goes on.
    """
    events: list[Scheduled] = machine.journal.of(Scheduled)
    steps = machine.journal.of(Stepped)
    if len({id(e.schedule) for e in events}) != 1 or any(e.guessed for e in (*events, *steps)):
        return None
    one = events[0].schedule
    numbers = [g for g in (*one.given, *one.named.values()) if isinstance(g, (int, float, list, tuple))]
    apart = len(steps[0].loops) - len(events[0].loops)
    return one.name, repr(numbers), apart, len(events) / len(steps), events


def schedule_moves_differ(mine: Machine, theirs: Machine) -> Found:
    """The same schedule with the same settings goes on with each step, there with each epoch."""
    here, there = _moves(mine), _moves(theirs)
    if here is None or there is None or here[:2] != there[:2] or here[0] == "ReduceLROnPlateau":
        return
    # How many batches a round has may be made up; that both happen in the same loop is not.
    often = here[3] / there[3]
    if here[2] != there[2] and not 1 / 3 < often < 3:
        way = "more" if often > 1 else "less"
        text = f"the schedule goes on {way} often here than in the benchmark, with the same settings"
        yield "schedule-stepped", text, here[4][0].node, there[4][0].node


def _growing(machine: Machine) -> dict[str, tuple[bool, ast.AST]]:
    """For each label, whether its figures are made of ever more answers; where it is told."""
    counts: dict[str, list[tuple[int, ast.AST]]] = {}
    learnt = taught(machine)
    for event in machine.journal.of(Figure):
        asks = [machine.asks[n] for n in event.value.asked if n in machine.asks]
        if asks and not event.guessed and not any(a.number in learnt for a in asks):
            counts.setdefault(event.label, []).append((len(asks), event.node))
    found = {}
    for label, told in counts.items():
        many = [n for n, _ in told]
        if len(many) >= 3 and label:
            if all(b > a for a, b in pairwise(many)):
                found[label] = (True, told[0][1])
            elif len(set(many)) == 1:
                found[label] = (False, told[0][1])
    return found


def figures_grow(mine: Machine, theirs: Machine) -> Found:
    """A figure is made of the answers of all rounds until then, in the benchmark of those of one round."""
    here, there = _growing(mine), _growing(theirs)
    for label in here.keys() & there.keys():
        if here[label][0] and not there[label][0]:
            text = f"{label!r} is made of the answers of all rounds until then, in the benchmark of one round"
            yield "metric-reset", text, here[label][1], there[label][1]
            return


_FACTS: tuple[Callable[[Machine, Machine], Found], ...] = (
    modes_differ,
    clearing_differs,
    moved_weights_differ,
    order_differs,
    parts_differ,
    statistics_differ,
    targets_differ,
    schedule_moves_differ,
    figures_grow,
)
