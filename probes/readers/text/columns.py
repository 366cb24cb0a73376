"""From the rows of a log to series: which axis they stand on, and steps that begin again in each epoch."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from itertools import repeat
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ...assembly import names
from ...run import Floats, Series, StepUnit, Window

NAN = float("nan")
SUMMARIES = 3  # of epochs, from which their lines are told from those of steps
Split = Literal["", "train", "eval"]
Key = tuple[str, Split, str, "int | None"]  # raw name, split, kind of row, rank
_UNITS: dict[str, StepUnit] = {
    "step": "step",
    "iteration": "iteration",
    "batch": "step",
    "bare": "step",
    "sample": "sample",
}


@dataclass(slots=True)
class Column:
    """The points of one quantity: indexes of rows, and values."""

    rows: array[int] = field(default_factory=lambda: array("q"))
    values: array[float] = field(default_factory=lambda: array("d"))


@dataclass(slots=True)
class Axis:
    """Where the points of one column stand."""

    steps: Floats
    unit: StepUnit
    epochs: Floats | None
    length: float | None = None  # steps in an epoch, where they were counted on


class Places:
    """Where each row stands, field by field; NaN for what its line does not say."""

    def __init__(self) -> None:
        self.step = array("d")
        self.total = array("d")
        self.epoch = array("d")
        self.wall = array("d")
        self.line = array("q")
        self.own = bytearray()  # whether the line itself names the step
        self.kind: list[str] = []

    def __len__(self) -> int:
        return len(self.line)


class Columns:
    """Collects rows (a place each) and values; `series` says what they are together."""

    def __init__(self) -> None:
        self.rows = Places()
        self.points: dict[Key, Column] = {}
        self.absent: dict[Key, list[int]] = {}
        self.notes: dict[str, None] = {}
        self._axes: dict[Key, Axis] = {}
        self._arrays: dict[str, Floats] = {}

    def __len__(self) -> int:
        return len(self.rows)

    def row(
        self, step: float, total: float, epoch: float, line: int, wall: float, own: bool, kind: str
    ) -> int:
        """Add a row; return its index."""
        rows = self.rows
        rows.step.append(step)
        rows.total.append(total)
        rows.epoch.append(epoch)
        rows.line.append(line)
        rows.wall.append(wall)
        rows.own.append(own)
        rows.kind.append(kind)
        return len(rows) - 1

    def several(
        self,
        steps: Floats,
        totals: Floats,
        epochs: Floats,
        lines: NDArray[np.int64],
        walls: Floats,
        own: bool,
        kind: str,
    ) -> int:
        """Add rows of the same kind; return the index of the first."""
        rows = self.rows
        rows.step.frombytes(steps.tobytes())
        rows.total.frombytes(totals.tobytes())
        rows.epoch.frombytes(epochs.tobytes())
        rows.line.frombytes(lines.astype(np.int64).tobytes())
        rows.wall.frombytes(walls.tobytes())
        rows.own.extend(repeat(own, len(steps)))
        rows.kind.extend(repeat(kind, len(steps)))
        return len(rows) - len(steps)

    def column(self, key: Key) -> Column:
        """The column of this key, made when it is new."""
        column = self.points.get(key)
        if column is None:
            column = self.points.setdefault(key, Column())
        return column

    def put(self, key: Key, row: int, value: float) -> None:
        """Add a point."""
        column = self.column(key)
        column.rows.append(row)
        column.values.append(value)

    def put_many(self, key: Key, rows: NDArray[np.int64], values: Floats) -> None:
        """Add a point for each of the rows."""
        column = self.column(key)
        column.rows.frombytes(rows.astype(np.int64).tobytes())
        column.values.frombytes(values.tobytes())

    def lack(self, key: Key, row: int) -> None:
        """Record that a row was written without this quantity."""
        self.absent.setdefault(key, []).append(row)

    def drop_unplaced(self) -> None:
        """Forget points without a place (source text, banners before the first row)."""
        for key in [k for k in self.points if k[2] == "row"]:
            del self.points[key]

    def _part_summaries(self) -> None:
        """Set `Loss: 51.3` after the lines `[8/10] Loss: 4.6` of an epoch apart: the epoch's mean or sum."""
        named = np.array(self.rows.own, dtype=bool)
        for key in [k for k in self.points if k[2] == "step"]:
            column = self.points[key]
            rows = np.array(column.rows, dtype=np.int64)
            own = named[rows]
            after = np.flatnonzero(~own)
            if len(after) < SUMMARIES or len(rows) < 2 * len(after) or after[0] == 0:
                continue
            if np.mean(own[after - 1]) < 0.9 or np.mean(np.diff(after) > 1) < 0.9:
                continue  # each has lines with steps of their own before it
            values = np.array(column.values, dtype=np.float64)
            self.points[key] = Column(array("q", rows[own].tolist()), array("d", values[own].tolist()))
            summary: Key = (key[0], key[1], "epoch", key[3])
            if summary not in self.points:
                self.put_many(summary, rows[~own], values[~own])

    def main(self, rank: int | None = None) -> Key | None:
        """The column that others are placed by: the longest training loss, else the longest of all."""
        mine = [k for k in self.points if k[3] == rank] or list(self.points)
        if not mine:
            return None

        def worth(key: Key) -> tuple[bool, bool, int]:
            name = names.canonical(key[0], key[1]) or ""
            return name == "train/loss", key[2] == "step", len(self.points[key].rows)

        return max(mine, key=worth)

    def step_at(self, row: int, rank: int | None = None, *, early: bool = False) -> float | None:
        """The step of the last row of the main column before row `row`, on that column's axis.

        None before the first one, unless `early` asks for the first one's then.
        """
        key = self.main(rank)
        if key is None:
            return None
        axis = self.axis(key)
        if axis.length is None and axis.unit not in ("row", "epoch") and 0 < row <= len(self.rows):
            own = self.rows.step[row - 1]
            if own == own:
                return own
        at = int(np.searchsorted(self.points[key].rows, row, side="left")) - 1
        if not len(axis.steps) or axis.unit == "row" or (at < 0 and not early):
            return None
        return float(axis.steps[max(at, 0)])

    def axis(self, key: Key) -> Axis:
        """Find out (once) on which axis the points of a column stand."""
        if key not in self._axes:
            self._axes[key] = self._find_axis(key)
        return self._axes[key]

    def _find_axis(self, key: Key) -> Axis:
        index = np.array(self.points[key].rows, dtype=np.intp)
        steps, epochs = self._take("step", index), self._take("epoch", index)
        known = bool(np.all(np.isfinite(epochs)))
        part = key[2] == "epoch" and known and bool(np.isnan(steps).any())
        if np.isfinite(steps).mean() > 0.5 and not part and (known or not _stands(steps)):
            return self._by_step(key, index, _filled(steps), epochs if known else None)
        if known:
            if _crowded(epochs):
                return Axis(_running_rows(epochs), "row", epochs)
            return Axis(epochs, "epoch", epochs)
        return Axis(np.arange(len(index), dtype=np.float64), "row", None)

    def _by_step(self, key: Key, index: NDArray[np.intp], steps: Floats, epochs: Floats | None) -> Axis:
        inherited = not any(self.rows.own[i] for i in index[:200])
        if inherited and len(steps) > 4 and _crowded(steps, epochs):
            return Axis(_running_rows(steps), "row", epochs)
        borrowed = self._borrowed(key, index, epochs) if inherited else None
        if borrowed is not None:
            return borrowed
        kinds = [self.rows.kind[i] for i in index[:50]]
        unit = _UNITS.get(max(set(kinds), key=kinds.count), "step")
        if unit == "sample" and bool(np.any(steps + 1 == self._take("total", index))):
            unit = "step"  # `[1250/1251 (100%)]`: no batch of samples begins at the last one
        if epochs is None:
            return Axis(steps, unit, None)
        running = run_on(steps, epochs, self._take("total", index))
        if running is None:
            return Axis(steps, unit, epochs)
        steps, length = running
        self.notes[f"steps begin again in each epoch: they are counted on, with {length:g} to an epoch"] = (
            None
        )
        return Axis(steps, "sample" if unit == "sample" else "step", epochs, length)

    def _borrowed(self, key: Key, index: NDArray[np.intp], epochs: Floats | None) -> Axis | None:
        """The axis of lines without a step of their own: the steps of the main column just before them."""
        main = self.main(key[3])
        if main is None or main == key or main[2] != "step":
            return None
        axis = self.axis(main)
        at = np.searchsorted(self.points[main].rows, index, side="right") - 1
        if axis.unit == "row" or not len(axis.steps) or bool(np.any(at < 0)):
            return None
        return Axis(axis.steps[at], axis.unit, epochs)

    def _take(
        self, name: Literal["step", "total", "epoch", "wall", "line"], index: NDArray[np.intp]
    ) -> Floats:
        known = self._arrays.get(name)
        if known is None or len(known) != len(self.rows):
            known = np.array(getattr(self.rows, name), dtype=np.float64)
            self._arrays[name] = known
        taken: Floats = known[index]
        return taken

    def series(self, file: str, window_of: dict[str, Window]) -> tuple[Series, ...]:
        """Return all series of the file; `window_of` maps a kind of row to what its values stand for."""
        self._part_summaries()
        found = [self._one(key, file, window_of) for key in self.points]
        found += [self._empty(key, file) for key in self.absent if key not in self.points]
        return tuple(found)

    def _one(self, key: Key, file: str, window_of: dict[str, Window]) -> Series:
        raw, split, kind, rank = key
        column, axis = self.points[key], self.axis(key)
        index = np.array(column.rows, dtype=np.intp)
        walls = self._take("wall", index)
        return Series(
            name=raw,
            raw=raw,
            file=file,
            steps=axis.steps,
            values=np.array(column.values, dtype=np.float64),
            unit=axis.unit,
            window=_window(raw, split, kind, window_of),
            epochs=axis.epochs,
            walls=walls if len(walls) and bool(np.all(np.isfinite(walls))) else None,
            lines=self._take("line", index).astype(np.int64),
            absent=self._absent(key),
            rank=rank,
            group=kind,
            split=split,
        )

    def _absent(self, key: Key) -> Floats:
        return np.array([self.rows.step[r] for r in self.absent.get(key, [])], dtype=np.float64)

    def _empty(self, key: Key, file: str) -> Series:
        raw, split, kind, rank = key
        nothing = np.empty(0)
        gaps = self._absent(key)
        return Series(
            raw, raw, file, nothing, nothing, "step", absent=gaps, rank=rank, group=kind, split=split
        )


def _window(raw: str, split: Split, kind: str, window_of: dict[str, Window]) -> Window:
    name = names.canonical(raw, split) or ""
    if name.startswith("train/"):
        return window_of.get(kind, "unknown")
    return "point" if name in ("learning_rate", "loss_scale", "grad_norm") else "unknown"


def _filled(steps: Floats) -> Floats:
    """Give points without a step the step of the point before them (the first ones: after them)."""
    known = np.isfinite(steps)
    if known.all():
        return steps
    where = np.maximum.accumulate(np.where(known, np.arange(len(steps)), -1))
    where[where < 0] = int(np.flatnonzero(known)[0])
    filled: Floats = steps[where]
    return filled


def _stands(steps: Floats) -> bool:
    """Every line names the same step: the last of each epoch's bar (`train 3: 100% 20/20`), no place."""
    return len(steps) > 2 and bool(np.all(steps == steps[0]))


def _crowded(places: Floats, epochs: Floats | None = None) -> bool:
    """Several points in a row at one place (in one epoch): the place is no step of its own."""
    if len(places) <= 2:
        return False
    stays = np.diff(places) == 0
    if epochs is not None:
        stays &= np.diff(epochs) == 0
    return float(np.mean(stays)) > 0.3


def _running_rows(places: Floats) -> Floats:
    """Number the points; begin again where the place goes back (another run)."""
    number = np.arange(len(places), dtype=np.float64)
    starts = np.concatenate([[0], np.flatnonzero(np.diff(places) < 0) + 1])
    origin: Floats = number[starts[np.searchsorted(starts, number, side="right") - 1]]
    return number - origin


def run_on(steps: Floats, epochs: Floats, totals: Floats) -> tuple[Floats, float] | None:
    """Turn steps that begin again in each epoch into running ones.

    Returns the running steps and the length of an epoch, or None when the steps do not begin again. The
    length is the total that the log prints, else the largest step seen. All arrays are float64 [n].
    """
    if len(steps) < 2 or not bool(np.all(epochs == np.floor(epochs))):
        return None
    forward = np.diff(epochs) > 0
    back = np.diff(steps) <= 0
    if not forward.any() or np.mean(back[forward]) <= 0.5:
        return None
    cuts = np.flatnonzero((np.diff(epochs) < 0) | ((np.diff(epochs) == 0) & (np.diff(steps) < 0))) + 1
    running = steps.copy()
    length = 0.0
    for part in np.split(np.arange(len(steps)), cuts):
        finite = totals[part][np.isfinite(totals[part])]
        length = max(float(np.max(steps[part])), float(np.max(finite)) if len(finite) else 0.0)
        base = 1.0 if float(np.min(epochs[part])) >= 1.0 else 0.0
        running[part] = (epochs[part] - base) * length + steps[part]
    return running, length
