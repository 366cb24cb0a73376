"""How a set was parted: by rows where it should be by patient, or by chance where it should be by time."""

from __future__ import annotations

import re

import numpy as np

from ...engine.model import Place
from ..dataset.model import DataSet, Grouped, Part
from ..registry import Finding, View, absent, present, unknown
from ..run import Floats
from .common import many, needs_data, said_of

STEADY = 0.9  # share of steps in time that are one and the same in a regular series
LEAST = 100  # points of a series


def apart(train: Part, held: Part) -> bool:
    """Whether all rows of the one part are of another time than those of the other."""
    a, b = train.times, held.times
    if a is None or b is None or a.name != b.name or not len(a.values) or not len(b.values):
        return _later(train, held)
    return bool(a.values.max() <= b.values.min() or b.values.max() <= a.values.min())


_PACE = re.compile(r"(?:^|_)(?:cycle|step|tick|hour|day|week|month|quarter|year|time|t)s?$", re.I)


def _later(train: Part, held: Part) -> bool:
    """Whether a column of steps in time (cycles, weeks) begins in the one part where the other's ends."""
    theirs = {c.name: c for c in held.columns if c.number and _PACE.search(c.name)}
    return any(
        c.number and (one := theirs.get(c.name)) is not None and (c.high <= one.low or one.high <= c.low)
        for c in train.columns
    )


@needs_data
def groups_across_splits(data: DataSet, view: View, share: float, rows: float, least: int) -> Finding:
    """Patients, speakers or sessions of an evaluation split that have rows in the training split as well.

    Judged where each has several rows (`rows` on average), at least `least` of them, and the splits are not
    other times of the same ones, as in forecasts.
    """
    del view
    clean = ""
    for held in data.of("eval", "test"):
        for train in data.training:
            if train.kind != held.kind or apart(train, held):
                continue
            for one in train.groups:
                other = next((g for g in held.groups if g.name == one.name), None)
                met = _met(one, other, rows, least) if other is not None else None
                if met is None:
                    continue
                part, of = met
                if part >= share:
                    whose = f"{part:.0%} of the {many(of, 'group')} by {one.name} in {said_of(held)}"
                    why = f"{whose} have rows in the training data too: split by row, not by {one.name}"
                    where = (Place(held.files[0]), Place(train.files[0]))
                    return present(why, value=part, threshold=share, where=where)
                if part == 0 and train.whole and held.whole:
                    clean = f"no group by {one.name} stands in training and evaluation"
    if clean:
        return absent(clean, value=0)
    return unknown("no column tells whom rows are about in both training and evaluation data, several each")


def _met(one: Grouped, other: Grouped, rows: float, least: int) -> tuple[float, int] | None:
    """The share of a held-out part's groups that training has as well; None: nothing to judge."""
    mine, theirs = one.values[one.values != 0], other.values[other.values != 0]
    groups, held = np.unique(mine), np.unique(theirs)
    if len(groups) < least or len(held) < least:
        return None
    if len(mine) + len(theirs) < rows * len(np.union1d(groups, held)):
        return None
    return float(np.isin(held, groups).mean()), len(held)


def _regular(values: Floats) -> bool:
    """Whether points in time are one series at a steady pace: no two at once, the same step nearly always."""
    if len(values) < LEAST:
        return False
    points = np.unique(values)
    if len(points) < 0.99 * len(values):
        return False
    steps = np.diff(points)
    return bool((np.abs(steps - np.median(steps)) <= 0.01 * np.median(steps)).mean() >= STEADY)


MIXED = 0.3  # share of the points in time at which a panel has rows of both splits
CHANCE = (0.5, 2.0)  # times the variance that dealing by chance makes


def _dealt(train: Floats, held: Floats) -> bool:
    """Whether rows of a panel, as many at each point in time, were dealt to two splits one by one.

    A split by sensor leaves as many of each point to both, a split by time all of them to one.
    """
    points, which = np.unique(np.concatenate([train, held]), return_inverse=True)
    if not _regular(points):
        return False
    together = np.bincount(which, minlength=len(points))
    there = np.bincount(which[len(train) :], minlength=len(points))
    many = int(np.median(together))
    if many < 2 or (together == many).mean() < STEADY:
        return False
    part = len(held) / (len(train) + len(held))
    chance = many * part * (1 - part)
    both = ((there > 0) & (there < together)).mean()
    return bool(both >= MIXED and CHANCE[0] * chance <= there.var() <= CHANCE[1] * chance)


@needs_data
def times_mixed(data: DataSet, view: View, share: float) -> Finding:
    """A regular series, or several at one pace, whose rows are dealt to splits by chance, or backwards."""
    del view
    sound = ""
    for held in data.of("eval", "test"):
        for train in data.training:
            a, b = train.times, held.times
            if a is None or b is None or a.name != b.name or not (train.whole and held.whole):
                continue
            where = (Place(held.files[0]), Place(train.files[0]))
            if _dealt(a.values, b.values):
                why = (
                    f"rows of several series by {a.name} are dealt by chance: at one and the same time some "
                    f"are of {said_of(held)} and some of training, now these and now those"
                )
                return present(why, value=1.0, threshold=share, where=where)
            if not _regular(np.concatenate([a.values, b.values])):
                continue
            order = np.argsort(np.concatenate([a.values, b.values]), kind="stable")
            mine = order < len(a.values)
            changes = int(np.count_nonzero(mine[1:] != mine[:-1]))
            if changes >= share * 2 * len(b.values):
                why = (
                    f"rows of one series by {a.name} are dealt by chance: most points of "
                    f"{said_of(held)} lie between two of training"
                )
                return present(why, value=changes / (2 * len(b.values)), threshold=share, where=where)
            if changes == 1 and not mine[0]:
                why = f"by {a.name} all of {said_of(held)} lie before the training data"
                return present(why, value=1.0, threshold=share, where=where)
            if changes == 1:
                sound = f"by {a.name} training ends before {said_of(held)} begins"
    if sound:
        return absent(sound, value=0)
    return unknown("no series at a steady pace is told by one column of both training and evaluation data")


@needs_data
def times_out_of_order(data: DataSet, view: View) -> Finding:
    """A file holds a regular series whose rows do not stand in the order of time."""
    del view
    looked = ""
    for part in data.parts:
        if part.times is None or len(part.files) != 1 or not part.whole or not _regular(part.times.values):
            continue
        steps = np.diff(part.times.values)
        back = int((steps < 0).sum())
        if 0 < back < len(steps):
            at = int(np.flatnonzero(steps < 0)[0]) + 1
            lines = part.place(at) if len(part.row_of) > at else Place(part.files[0])
            turned = many(min(back, len(steps) - back), "row")
            why = f"the series by {part.times.name} of {said_of(part)} is out of order: {turned} go back"
            return present(why, value=back / len(steps), threshold=0, where=(lines,))
        looked = looked or f"{len(part.times.values)} points by {part.times.name} stand in order"
    if looked:
        return absent(looked, value=0)
    return unknown("no file with a series at a steady pace, told by one column of times")


@needs_data
def series_still(data: DataSet, view: View, share: float) -> Finding:
    """A column of one sensor keeps one value over many rows, while its other columns go on changing.

    Elsewhere it changes from row to row. At least `share` of that sensor's rows; not at the lowest or highest
    value, nor at zero.
    """
    del view
    parts = [p for p in data.parts if p.still is not None]
    for part in parts:
        found = [s for s in part.still or () if s.rows >= share * s.of]
        if found:
            one = max(found, key=lambda s: s.rows)
            of = f" of {one.sensor}" if one.sensor else ""
            more = f"; {many(len(found) - 1, 'other stretch')} beside it" if len(found) > 1 else ""
            why = (
                f"{one.column}{of} stands at {one.value:g} over {one.rows} rows in a row of {one.of}, and "
                f"changes from row to row elsewhere, as its other columns do there{more}"
            )
            where = tuple(s.place for s in found[:5])
            return present(why, value=one.rows / one.of, threshold=share, where=where)
    if not parts:
        return unknown("no table of series in time, of a sensor each, among the data files")
    if any(p.still for p in parts):
        return unknown("only short stretches stand still")
    return absent("every column that is measured finely goes on changing", value=0)
