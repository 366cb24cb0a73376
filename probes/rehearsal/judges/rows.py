"""Rows: which are learnt from and which are scored, what statistics are taken of, what meets in a loss."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...readers._tree import of
from ...readers.script import last_name
from ..journal import Asked, Backward, Stepped, Told
from ..machine import Machine
from ..statements import EPOCHS, ROUNDS
from ..values import Met, Tensor
from .verdict import Verdict, taught

_HELD_OUT = re.compile(
    r"(?i)(?:^|[^a-z])(?:val|valid|validation|test|held|holdout|dev|unseen|oof|eval)(?:[^a-z]|$)"
)
_LEARNT = re.compile(r"(?i)train|fit|learn")
SHARE = 0.35  # of the scored rows: windows that reach over a border share less
_APART = 0.1
_READ = 0.2  # of the samples that are there to be learnt from
FEWEST = 4  # rows that anything is said of
FEW = 2  # times as many weights another optimizer has, where one has a few
_PAIRS = ({"mean", "std"}, {"mean", "var"}, {"min", "max"}, {"nanmean", "nanstd"}, {"amin", "amax"},
          {"median", "quantile"}, {"nanmin", "nanmax"}, {"std_mean"}, {"var_mean"})  # fmt: skip


@dataclass
class Part:
    """Rows of a table that a network was asked of, the columns they were chosen by, their statistics."""

    rows: set[int] = field(default_factory=set)
    by: set[str] = field(default_factory=set)
    fits: set[int] = field(default_factory=set)
    asks: list[Asked] = field(default_factory=list)


def parts(machine: Machine, asks: list[Asked]) -> dict[int, Part]:
    """The rows of each table that networks were asked of; tables with guessed rows are left out."""
    found: dict[int, Part] = {}
    guessed: set[int] = set()
    for ask in asks:
        for one in machine.tensors(ask.given):
            if one.rows is None or one.table <= 0:
                continue
            if one.vague or ask.guessed:
                guessed.add(machine.one_table(one.table))
                continue
            part = found.setdefault(machine.one_table(one.table), Part())
            part.rows.update(int(r) for r in np.atleast_1d(one.rows))
            part.by |= one.by
            part.fits |= one.fits
            part.asks.append(ask)
    return {k: v for k, v in found.items() if k not in guessed}


def held_out(machine: Machine) -> Iterator[tuple[Told, list[Asked]]]:
    """Figures that are told as ones of held-out data, and the answers that they are made of."""
    learnt = taught(machine)
    for event in machine.journal.of(Told):
        if not _HELD_OUT.search(event.label) or _LEARNT.search(event.label):
            continue
        asks = [machine.asks[n] for n in event.value.asked if n in machine.asks]
        if any(a.net is not asks[0].net for a in asks):
            continue  # of several networks, as the folds of an array: nothing tells which rows each gave
        if asks and not any(a.number in learnt or a.graph for a in asks):
            yield event, asks


def unnamed(machine: Machine) -> Iterator[tuple[Told, list[Asked]]]:
    """Figures whose names do not tell of which rows they are, of answers that nothing is learnt from."""
    learnt = taught(machine)
    for event in machine.journal.of(Told):
        asks = [machine.asks[n] for n in sorted(event.value.asked) if n in machine.asks]
        if _HELD_OUT.search(event.label) or _LEARNT.search(event.label) or not asks:
            continue
        if all(a.net is asks[0].net and a.number not in learnt and not a.graph for a in asks):
            yield event, asks


def lessons(machine: Machine, net: Any, before: int) -> list[Asked]:
    """What a network was asked of and learnt from before a time.

    Left aside is what moved but a few weights of a network that another optimizer trains: an architecture is
    searched for, or answers are calibrated, on held-out rows.
    """
    beside = _beside(machine, net)
    numbers = {
        n
        for e in machine.journal.of(Backward)
        if e.time < before and isinstance(e.loss, Tensor) and e.number not in beside
        for n in e.loss.asked
    }
    asks = (machine.asks[n] for n in sorted(numbers) if n in machine.asks)
    return [a for a in asks if a.net is net]


def _beside(machine: Machine, net: Any) -> set[int]:
    """The gradients that no step used, or only one of an optimizer with a few of a network's weights."""
    mine = {w.serial for w in net.parameters() if w.trains}
    held: dict[int, int] = {}  # gradient -> the most of its weights that an optimizer has which used it
    for event in machine.journal.of(Stepped):
        if event.optimizer.weights is None:
            return set()
        weights = sum(w.serial in mine for w in event.optimizer.weights)
        for number in event.used:
            held[number] = max(held.get(number, 0), weights)
    most = max(held.values(), default=0)
    unused = {e.number for e in machine.journal.of(Backward)} - set(held) if most else set()
    return unused | {n for n, weights in held.items() if weights * FEW < most}


def scored_rows_taught(machine: Machine) -> Iterator[Verdict]:
    """Rows that a figure of held-out data is taken of were learnt from before."""
    for event, asks in held_out(machine):
        learnt = parts(machine, lessons(machine, asks[0].net, asks[0].time))
        for table, held in parts(machine, asks).items():
            mine = learnt.get(table)
            if mine is None or _whole(machine, table, mine, held):
                continue
            if not (held.by <= mine.by or mine.by <= held.by):
                continue  # chosen by several columns: nothing tells how these lie to one another
            shared = held.rows & mine.rows
            if len(shared) >= SHARE * len(held.rows) and len(held.rows) >= FEWEST:
                share = len(shared) / len(held.rows)
                same = mine.rows <= held.rows
                told = "the rows that are learnt from" if same else f"{share:.0%} of them are learnt from"
                kind = "scores-training-rows" if same else "scored-rows-taught"
                yield Verdict(kind, event.node, f"{event.label!r} is taken of held-out rows, and {told}")
                return


def parts_overlap(machine: Machine) -> Iterator[Verdict]:
    """Rows that are asked without gradients are partly ones that were learnt from, and partly others.

    A score of the training part has no others, an answer to all rows holds all that were learnt from.
    """
    learnt = taught(machine)
    asks = [a for a in machine.asks.values() if a.number not in learnt and not a.graph and not a.guessed]
    for place in dict.fromkeys((a.node, a.calls, a.net) for a in asks):
        mine = [a for a in asks if (a.node, a.calls, a.net) == place]
        loaders = dict.fromkeys(a.loops[:-1] for a in mine)
        for around in loaders:
            asked = [a for a in mine if a.loops[:-1] == around]
            before = lessons(machine, asked[0].net, asked[0].time)
            known = parts(machine, before)
            for table, held in parts(machine, asked).items():
                part = known.get(table)
                if part is None or not (held.by <= part.by or part.by <= held.by):
                    continue
                shared = held.rows & part.rows
                if len(shared) < SHARE * len(held.rows) or len(held.rows) < FEWEST or held.rows >= part.rows:
                    continue
                if len(held.rows - part.rows) > _APART * len(held.rows):
                    share = len(shared) / len(held.rows)
                    yield Verdict(
                        "scored-rows-taught",
                        asked[0].node,
                        f"{share:.0%} of the rows asked of are learnt from",
                    )
                    return


def mostly_unread(machine: Machine) -> Iterator[Verdict]:
    """Of samples that a program draws itself, the same few are learnt from in each epoch, the others never.

    Not judged: samples that are chosen anew each time, and loops that a rehearsal cuts short.
    """
    asks = [machine.asks[n] for n in sorted(taught(machine)) if n in machine.asks]
    if any(machine.lengths.get(loop, 0) > ROUNDS for a in asks for loop, _ in a.loops):
        return
    if any(_draws_on(loop) for a in asks for loop, _ in a.loops):
        return
    epochs: dict[int, list[Asked]] = {}
    for one in asks:
        epochs.setdefault(one.loops[0][1] if one.loops else 0, []).append(one)
    rounds = [{t: frozenset(p.rows) for t, p in parts(machine, a).items()} for a in epochs.values()]
    if len(rounds) < EPOCHS - 1:
        return
    scored = parts(machine, [a for a in machine.asks.values() if a.number not in taught(machine)])
    for table, rows in rounds[0].items():
        if table not in machine.made_tables or any(r.get(table) != rows for r in rounds[1:]):
            continue
        held = scored[table].rows if table in scored else set()
        free = machine.tables[table][1] - len(held - rows)
        if FEWEST <= len(rows) < _READ * free:
            told = f"{len(rows)} of {free} samples that are made to learn from are learnt from"
            yield Verdict("mostly-unread", asks[0].node, told)
            return


def _draws_on(loop: ast.AST) -> bool:
    """`batch = next(batches)` of what goes on from round to round: a round is no epoch.

    `next(iter(loader))` begins anew each time.
    """
    asked = [c for c in of(loop, ast.Call) if last_name(c.func) == "next" and c.args]
    return any(not (isinstance(c.args[0], ast.Call) and last_name(c.args[0].func) == "iter") for c in asked)


def held_out_by_label(machine: Machine) -> Iterator[Verdict]:
    """What is scored under a held-out name was chosen by its labels, and what is learnt from was not.

    Not judged: tasks about classes that are kept back, and labels that are not there.
    """
    if _KEPT_BACK.search(machine.source.code):
        return
    labels = {"+".join(sorted(fields(m.data))).rpartition("#")[2] for m in machine.met}
    for event, asks in held_out(machine):
        learnt = parts(machine, lessons(machine, asks[0].net, asks[0].time))
        for table, held in parts(machine, asks).items():
            mine = learnt.get(table)
            for name in sorted(held.by & labels if mine is not None else ()):
                column = machine.columns.get((table, name))
                if column is None or mine is None or not _one_side(column, held.rows, mine.rows):
                    continue
                told = name.rpartition("+")[2]
                yield Verdict("held-out-by-label", event.node, f"held-out rows are chosen by their {told!r}")
                return


def _one_side(column: Any, held: set[int], mine: set[int]) -> bool:
    """Whether these rows lie on one side of a condition on a column, and the others on both."""
    if not held or not mine:
        return False
    rows, others = np.asarray(sorted(held)), np.asarray(sorted(mine))
    tests = [column.place < cut for cut in column.cuts.values()]
    tests += [column.band == band for band in column.equal.values()]
    tests += [np.isin(column.band, list(column.equal.values()))] if column.equal else []
    return any(
        (test[rows].all() or not test[rows].any()) and _APART < test[others].mean() < 1 - _APART
        for test in tests
    )


_KEPT_BACK = re.compile(
    r"(?i)anomal|one_?class|novelty|out_of_dist|\bood\b|open_?set|zero_?shot|few_?shot|unseen|continual|incremental"
    r"|unlearn|pseudo|semi_?sup|unlabel|subgroup|per_?class|[><!]=? ?-1\b|>= ?0\b|notna|isna|dropna"
)


def scored_apart(machine: Machine) -> bool:
    """Whether every figure that is told of held-out data is taken of known rows that nothing learnt from."""
    learnt, known = taught(machine), False
    for event in machine.journal.of(Told):
        if not _HELD_OUT.search(event.label) or _LEARNT.search(event.label) or not event.value.asked:
            continue
        asks = [machine.asks[n] for n in event.value.asked if n in machine.asks]
        if any(a.number in learnt or a.graph or a.rows is None for a in asks) or not asks:
            return False
        held = parts(machine, asks)
        mine = parts(machine, lessons(machine, asks[0].net, asks[0].time))
        if not held or not mine or any(p.rows & mine[t].rows for t, p in held.items() if t in mine):
            return False
        if not held.keys() <= mine.keys():
            return False  # of another file: nothing tells what stands in it
        known = True
    return known


def fields(value: Tensor) -> list[str]:
    """The columns and files that a tensor is made of, without its place in a batch."""
    return [h for h in value.held if not h.startswith("<")]


def _whole(machine: Machine, table: int, mine: Part, held: Part) -> bool:
    """All of a table in each question, as of a graph: the answers are parted, not what is asked."""
    size = machine.tables.get(table, ("", 0))[1]
    return all(len(a.rows) >= size for p in (mine, held) for a in p.asks if a.rows is not None)


def statistics_of_scored(machine: Machine) -> Iterator[Verdict]:
    """Inputs are scaled by figures that were taken of the held-out rows, too."""
    for event, asks in (*held_out(machine), *unnamed(machine)):
        learnt = parts(machine, lessons(machine, asks[0].net, asks[0].time))
        most = _APART if _HELD_OUT.search(event.label) else 0.0
        for table, held in parts(machine, asks).items():
            mine = learnt.get(table)
            if mine is None or len(held.rows & mine.rows) > most * len(held.rows):
                continue
            shared = mine.fits & held.fits
            for number in sorted(shared):
                fit = machine.fits[number]
                rows = {int(r) for r in fit.rows}
                if machine.one_table(fit.table) != table or not _scales(machine, number, shared):
                    continue
                if not (fit.by <= held.by and fit.by <= mine.by):
                    continue
                if len(rows & held.rows) >= SHARE * len(held.rows) and rows & mine.rows:
                    yield Verdict(
                        "statistics-of-scored",
                        fit.node,
                        f"{fit.kind} is taken of the rows of {event.label!r}, too",
                    )
                    return


def scaled_apart(machine: Machine) -> Iterator[Verdict]:
    """What is learnt from is scaled by its own figures, and what is scored by its own ones."""
    for event, asks in (*held_out(machine), *unnamed(machine)):
        learnt = parts(machine, lessons(machine, asks[0].net, asks[0].time))
        for table, held in parts(machine, asks).items():
            mine = learnt.get(table)
            if mine is None or held.rows & mine.rows or mine.fits & held.fits:
                continue
            ours = {n for n in mine.fits if _apart_from(machine, n, held.rows, table)}
            theirs = {n for n in held.fits if _apart_from(machine, n, mine.rows, table)}
            kinds = [sorted({machine.fits[n].kind for n in side}) for side in (ours, theirs)]
            if (
                not theirs
                or kinds[0] != kinds[1]
                or len(ours) < len(mine.fits)
                or len(theirs) < len(held.fits)
            ):
                continue
            number = min(theirs)
            if _scales(machine, number, theirs):
                yield Verdict(
                    "scaled-apart", machine.fits[number].node, f"{event.label!r} has a scale of its own"
                )
                return


def _apart_from(machine: Machine, number: int, rows: set[int], table: int) -> bool:
    """Whether a statistic was taken of other rows of the table than these."""
    fit = machine.fits[number]
    return machine.one_table(fit.table) == table and rows.isdisjoint(int(r) for r in fit.rows)


def one_scale_for_columns(machine: Machine) -> Iterator[Verdict]:
    """All columns of a table are moved and divided by one figure each, however large they are."""
    learnt = taught(machine)
    asks = [a for a in machine.asks.values() if a.number in learnt and not a.guessed]
    fits = {n for p in parts(machine, asks).values() for n in p.fits}
    whole = {n for n in fits if machine.fits[n].over_columns}
    for number in sorted(whole):
        if _scales(machine, number, whole) and len(whole) == len(fits):
            yield Verdict(
                "one-scale", machine.fits[number].node, "one figure scales all columns of the table"
            )
            return


def _scales(machine: Machine, number: int, among: set[int]) -> bool:
    """A scaler, or a figure that stands beside the other one of its pair."""
    fit = machine.fits[number]
    if fit.kind[:1].isupper():
        return fit.kind.endswith(("Scaler", "Transformer", "PCA", "SVD", "Pipeline"))
    alike = {machine.fits[n].kind for n in among if np.array_equal(machine.fits[n].rows, fit.rows)}
    return any(fit.kind in p and p <= alike for p in _PAIRS)


def labels_apart(machine: Machine) -> Iterator[Verdict]:
    """Answers to some rows meet the targets of other rows in every loss that is learnt from."""
    learnt = taught(machine)
    alike: set[int] = set()
    apart: dict[int, Met] = {}
    for met in machine.met:
        if not met.asked & learnt:
            continue
        for number in met.asked:
            if _alike(met):
                alike.add(number)
            elif not met.guessed and _in_disorder(met.rows, met.data.rows):
                apart.setdefault(number, met)
    if apart and not alike and len(apart) >= len({m for m in learnt if m in apart}) > 0:
        met = next(iter(apart.values()))
        yield Verdict(
            "labels-apart", met.node, "answers to some rows are compared with the targets of other rows"
        )


def moved_on_one_side(machine: Machine) -> Iterator[Verdict]:
    """Labels that are some rows further on than their samples in training alone, or in evaluation alone."""
    learnt = taught(machine)
    sides: dict[frozenset[str], tuple[set[int | None], set[int | None]]] = {}
    places: dict[frozenset[str], Met] = {}
    for met in machine.met:
        asks = [machine.asks[n] for n in met.asked if n in machine.asks]
        held = bool(asks) and not any(a.graph or a.guessed or a.net.home for a in asks)
        mine = bool(met.asked & learnt)
        if met.guessed or not (mine or held):
            continue
        key = frozenset(fields(met.data))
        sides.setdefault(key, (set(), set()))[not mine].add(_further_on(met))
        if not mine:
            places[key] = met
    for key, (one, other) in sides.items():
        if (
            len(one) == len(other) == 1
            and one != other
            and not any(d is None or abs(d) > FEW_ROWS for d in one | other)
        ):
            yield Verdict(
                "labels-apart",
                places[key].node,
                "labels stand some rows further on than their samples on one side",
            )
            return


FEW_ROWS = 3  # that labels are further on by a slip


def _further_on(met: Met) -> int | None:
    """How many rows further on than its sample each label is taken; None where that differs."""
    apart = set((np.asarray(met.data.rows) - met.rows).tolist())
    return int(apart.pop()) if len(apart) == 1 else None


def _alike(met: Met) -> bool:
    return met.data.rows is not None and np.array_equal(met.rows, met.data.rows)


def _in_disorder(rows: np.ndarray, others: Any) -> bool:
    """Whether rows are others, and not the same ones so many places on, as in a series."""
    return len(set((np.asarray(others) - rows).tolist())) > 1


def target_among_inputs(machine: Machine) -> Iterator[Verdict]:
    """The column that a loss compares answers with stands among the columns that were asked of."""
    learnt = taught(machine)
    for met in machine.met:
        target = met.data
        if not met.asked & learnt or met.guessed or len(columns := fields(target)) != 1:
            continue
        file, _, column = next(iter(columns)).partition("#")
        if not column or column in "*?" or column in _OF_PATHS or not _alike(met):
            continue
        for number in met.asked & learnt:
            for one in machine.tensors(machine.asks[number].given):
                mine = {h.partition("#")[2] for h in one.held if h.startswith(f"{file}#")}
                if one.vague or not mine or _MOVED.intersection((*one.done, *target.done)):
                    continue
                whole = "*" in mine and not mine & {f"!{column}", "!?", "?"}
                if (column in mine and len(mine) > 1) or whole:
                    yield Verdict(
                        "target-among-inputs", met.node, f"the target {column!r} stands among the inputs"
                    )
                    return


_OF_PATHS = ("name", "stem", "suffix", "parent")  # of a picture's file, and no column of a table
_MOVED = frozenset(("shift", "roll", "rolling", "cumsum", "diff", "groupby", "lag", "mask", "set"))
