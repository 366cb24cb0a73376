"""Series of sensors in a dated table: one that stands still alone, and one that goes on in another unit."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...engine.model import Place
from ..run import Floats
from . import dated, naming
from .model import Hashes, Part, Still, Switch
from .units import FACTORS

MOST = 4_000_000  # numbers of a table that are kept
COLUMNS = 24
_WHERE = re.compile(
    r"^(?:station|site|sensor|machine|device|meter|plant|unit|node|channel|location|region|city|store|turbine|"
    r"pump|engine|building|room|zone|asset|house|household|well|buoy|probe|series|symbol|ticker|vehicle|car|"
    r"truck|bus|battery|cell|bearing|country|patient|subject|user)s?"
    r"(?:_?(?:id|no|nr|num|number|code|name))?$",
    re.I,
)
LEAST = 200  # rows of one sensor
STILL, TIMES = 24, 8.0  # rows without a change: at least, and in lengths of what is long elsewhere
PACE = 1.5  # rows of one value on average, in a column that is measured finely
DISTINCT = 50
OFTEN = 5  # such stretches of one sensor; where there are more it is how it is
SIDE = 40  # rows before and after a change of units
BESIDE = 48  # rows next to it that are held against each other
NEAR = 0.35  # by which a ratio may miss a factor


def of(names: Sequence[str], label: str | None) -> Gather | None:
    """Return what gathers the series of a table; None where no column dates its rows."""
    if dated.of(names) is None:
        return None
    where = next((i for i, n in enumerate(names) if _WHERE.match(n.strip())), -1)
    kept = [
        i for i, n in enumerate(names) if i != where and n != label and not naming.is_identifier(n.strip())
    ]
    return Gather(where, kept[:COLUMNS]) if kept else None


class Gather:
    """The numbers of a table in file order, and which sensor each row is of."""

    def __init__(self, where: int, columns: Sequence[int]) -> None:
        self.where = where
        self.columns = columns
        self.sensors: list[Hashes] = []
        self.names: dict[int, str] = {}
        self.values: list[Floats] = []
        self.rows: list[Any] = []
        self.held = 0

    def add(self, parsed: Mapping[int, Any], found: Sequence[Sequence[str]], numbers: Sequence[int]) -> None:
        """Take the next rows: columns as numbers (None: texts), and as they stand there."""
        if self.held * len(self.columns) >= MOST:
            return
        cells = [c.strip() for c in found[self.where]] if self.where >= 0 else [""] * len(numbers)
        known = {c: hash(c) for c in set(cells)}
        self.names |= {h: c for c, h in known.items()}
        self.sensors.append(np.array([known[c] for c in cells], dtype=np.int64))
        gone = np.full(len(numbers), np.nan)
        block = [parsed[i] if parsed.get(i) is not None else gone for i in self.columns]
        self.values.append(np.stack(block, axis=1))
        self.rows.append(np.asarray(numbers))
        self.held += len(numbers)

    def found(self, part: Part) -> tuple[tuple[Still, ...] | None, tuple[Switch, ...]]:
        """Judge each column of each sensor in the order of time, of a part of one file.

        Returns what stands still (None: these are no series) and what goes on in another unit.
        """
        times = part.times
        if times is None or not self.values or len(part.files) != 1:
            return None, ()
        values, sensors, rows = (np.concatenate(v) for v in (self.values, self.sensors, self.rows))
        n = min(len(times.values), len(values))
        order = np.argsort(times.values[:n], kind="stable")
        kinds, counts = np.unique(sensors[:n], return_counts=True)
        groups = [order[sensors[order] == k] for k, c in zip(kinds, counts, strict=True) if c >= LEAST]
        if not groups or len(groups) > 2000:
            return None, ()
        if any((np.diff(times.values[g]) == 0).mean() > 0.01 for g in groups):
            return None, ()  # several rows at once: no series of one sensor
        still: list[Still] = []
        switch: list[Switch] = []
        names = [c.name for c in part.columns]
        every = [[values[g, at] for g in groups] for at in range(len(self.columns))]
        fine = [at for at, series in enumerate(every) if _fine(series)]
        for at, column in enumerate(self.columns):
            series = every[at]
            if not all(np.isfinite(s).mean() >= 0.5 for s in series):
                continue
            for which, begin, length in _stills(series) if at in fine else ():
                beside = [every[other][which][begin : begin + length] for other in fine if other != at]
                if not beside or not all(_moves(b) for b in beside):
                    continue  # all of it rests: a car that is parked, a machine that is off
                row = int(rows[groups[which][begin]])
                sensor = self.names[int(sensors[groups[which][0]])]
                value = float(series[which][begin])
                place = Place(part.files[0], row or None)
                still.append(Still(names[column], sensor, length, len(series[which]), value, place))
            for which, one in enumerate(series):
                turned = _switched(one)
                if turned is not None:
                    begin, how = turned
                    row = int(rows[groups[which][begin]])
                    sensor = self.names[int(sensors[groups[which][0]])]
                    switch.append(Switch(names[column], sensor, how, Place(part.files[0], row or None)))
        return tuple(still), tuple(switch)


def _runs(values: Floats) -> tuple[Any, Any]:
    """Where stretches of equal numbers begin, and how long they are; NaN is equal to nothing."""
    begin = np.flatnonzero(np.r_[True, values[1:] != values[:-1]])
    return begin, np.diff(np.r_[begin, len(values)])


def _fine(series: Sequence[Floats]) -> bool:
    """Whether a column is measured finely: many values, and no count that only goes on."""
    every = np.concatenate(series)
    many = len(np.unique(every[np.isfinite(every)])) >= DISTINCT
    return many and not all(_one_way(s) for s in series)


def _moves(values: Floats) -> bool:
    """Whether a column goes on changing over these rows."""
    return len(values) / len(_runs(values)[0]) <= 2 * PACE


def _stills(series: Sequence[Floats]) -> list[tuple[int, int, int]]:
    """(series, first row, rows) of stretches that stand still in a column that moves from row to row.

    Not at the lowest or highest value, nor at zero: there a sensor rests, or ends its range.
    """
    every = np.concatenate(series)
    every = every[np.isfinite(every)]
    ends = {float(every.min()), float(every.max()), 0.0}
    runs = [_runs(s) for s in series]
    lengths = np.concatenate([n for _, n in runs])
    long = max(STILL, TIMES * float(np.quantile(lengths, 0.995)))
    short = lengths[lengths < long]
    if not len(short) or short.mean() > PACE:
        return []
    found = []
    for which, (begin, many) in enumerate(runs):
        standing = [
            (which, int(b), int(n))
            for b, n in zip(begin[many >= long], many[many >= long], strict=True)
            if float(series[which][b]) not in ends
        ]
        found += standing if len(standing) <= OFTEN else []
    return found


def _one_way(values: Floats) -> bool:
    steps = np.diff(values[np.isfinite(values)])
    return bool((steps >= 0).mean() >= 0.99 or (steps <= 0).mean() >= 0.99)


def _middle(values: Floats) -> tuple[float, float]:
    low, middle, high = np.quantile(values, (0.25, 0.5, 0.75))
    return float(middle), float(high - low)


def _switched(values: Floats) -> tuple[int, str] | None:
    """(row, change of units) from which on a series goes on in another unit: level, spread and step agree."""
    there = np.flatnonzero(np.isfinite(values))
    v = values[there]
    if len(v) < LEAST or np.ptp(v) == 0:
        return None
    low, high = np.quantile(v, (0.01, 0.99))
    clipped = np.clip(v, low, high)
    at = int(np.abs(np.cumsum(clipped - clipped.mean())).argmax()) + 1
    if min(at, len(v) - at) < SIDE:
        return None
    (a, wide), (b, other) = _middle(v[:at]), _middle(v[at:])
    near, after = np.median(v[max(0, at - BESIDE) : at]), np.median(v[at : at + BESIDE])
    if wide <= 0 or other <= 0:
        return None
    if _fahrenheit((a, wide), (b, other), near, after):
        return int(there[at]), "as degrees Celsius before and Fahrenheit after"
    if _fahrenheit((b, other), (a, wide), after, near):
        return int(there[at]), "as degrees Fahrenheit before and Celsius after"
    if (v > 0).mean() < 0.99:
        return None
    for factor in FACTORS:
        for f, said in ((factor, f"{factor:g} times as large"), (1 / factor, f"{factor:g} times smaller")):
            ratios = np.array([b / a, other / wide, after / near]) / f
            if (np.abs(ratios - 1) <= NEAR).all():
                return int(there[at]), said
    return None


def _fahrenheit(celsius: tuple[float, float], other: tuple[float, float], near: Any, after: Any) -> bool:
    (a, wide), (b, broad) = celsius, other
    return bool(
        abs(b - a) >= 2.5 * max(wide, broad)
        and abs(broad / wide / 1.8 - 1) <= 0.3
        and abs(b - (1.8 * a + 32)) <= 0.7 * broad
        and abs(after - (1.8 * near + 32)) <= 0.7 * broad
    )
