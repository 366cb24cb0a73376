"""From rows (a step and some named numbers each) to series."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..assembly import names
from ..run import Event, Floats, Series, StepUnit, Window
from ._values import Split, as_split

ZEROS = 2  # so many exact zeros in a row are needed where no gradient norm tells more
FELL_FROM = 0.01  # a loss that came down to zero from below this got there by rounding


@dataclass(slots=True)
class Axis:
    """Where one row stands: its step and what that counts."""

    step: float
    unit: StepUnit
    epoch: float | None = None
    wall: float | None = None
    line: int | None = None


@dataclass(slots=True)
class Axes:
    """Where n rows of one unit stand: steps float64 [n], epochs and wall times if all of them are known."""

    steps: Floats
    unit: StepUnit
    epochs: Floats | None = None
    walls: Floats | None = None
    lines: NDArray[np.int64] | None = None

    @property
    def last(self) -> Axis:
        """Where the last row stands."""
        ends = [None if a is None else a[-1].item() for a in (self.epochs, self.walls, self.lines)]
        return Axis(float(self.steps[-1]), self.unit, *ends)


@dataclass(slots=True)
class _Rows:
    """Rows with one quantity: by themselves, or as columns."""

    axes: list[Axis] | Axes
    values: list[float] | Floats


Key = tuple[str, str, StepUnit, "int | None"]  # raw name, split, unit, rank


class Rows:
    """Collects rows in file order; `series` gives what they are together."""

    def __init__(self, file: str) -> None:
        self.file = file
        self._curves: dict[Key, list[_Rows]] = {}
        self._rows: list[tuple[Axis | Axes, frozenset[str], str, int | None]] = []
        self._shapes: dict[frozenset[str], frozenset[str]] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, axis: Axis, values: Mapping[str, float], split: str = "", rank: int | None = None) -> None:
        """Add one row: its place and its numbers by raw name. `split` is "", "train", "eval" or "test"."""
        shape = frozenset(values)
        self._rows.append((axis, self._shapes.setdefault(shape, shape), split, rank))
        for name, value in values.items():
            key = (name, split, axis.unit, rank)
            curve = self._curves.get(key) or self._curves.setdefault(key, [_Rows([], [])])
            axes, column = curve[-1].axes, curve[-1].values
            if isinstance(axes, list) and isinstance(column, list):
                axes.append(axis)
                column.append(value)
            else:
                curve.append(_Rows([axis], [value]))

    def add_many(self, axes: Axes, columns: Mapping[str, Floats], rank: int | None = None) -> None:
        """Add rows that hold the same quantities and count in the same unit, all of no named split."""
        shape = frozenset(columns)
        self._rows.append((axes, self._shapes.setdefault(shape, shape), "", rank))
        for name, column in columns.items():
            self._curves.setdefault((name, "", axes.unit, rank), []).append(_Rows(axes, column))

    def run_on(self, length: float, first: float, unit: StepUnit = "step") -> None:
        """Turn steps that begin again in each epoch of `length` steps into running ones.

        `first` is the number of the first epoch; length 0 only changes the unit.
        """
        for axis, *_ in self._rows:
            if axis.unit != "epoch-step":
                continue
            axis.unit = unit
            if isinstance(axis, Axis):
                axis.step += max((axis.epoch or first) - first, 0.0) * length
            elif axis.epochs is not None:
                axis.steps = axis.steps + np.maximum(axis.epochs - first, 0.0) * length
        curves = self._curves
        self._curves = {}
        for (name, split, was, rank), curve in curves.items():
            key = (name, split, unit if was == "epoch-step" else was, rank)
            self._curves[key if key not in self._curves else (name, split, was, rank)] = curve

    def series(
        self, window: Window = "unknown", windows: Mapping[str, Window] | None = None
    ) -> tuple[Series, ...]:
        """Return the curves; `window` holds for losses and metrics, `windows` by raw name."""
        absent = self._absent()
        return tuple(
            self._one(key, curve, absent.get(key, []), (windows or {}).get(key[0], window))
            for key, curve in self._curves.items()
        )

    def _one(self, key: Key, curve: list[_Rows], absent: list[float], window: Window) -> Series:
        name, split, unit, rank = key
        raw = f"test/{name}" if split == "test" else name
        which: Split = as_split(split)
        axes = [_as_columns(part.axes, unit) for part in curve]
        return Series(
            name=raw,
            raw=raw,
            file=self.file,
            steps=np.concatenate([a.steps for a in axes]),
            values=np.concatenate([np.array(part.values, dtype=np.float64) for part in curve]),
            unit=unit,
            window=window if names.canonical(raw, which) != "learning_rate" else "point",
            epochs=_joined([a.epochs for a in axes]),
            walls=_joined([a.walls for a in axes]),
            lines=_joined([a.lines for a in axes]),
            absent=np.array(absent, dtype=np.float64),
            rank=rank,
            group=split,
            split=which,
        )

    def _absent(self) -> dict[Key, list[float]]:
        """Steps of rows that are like others but for the loss: they were written without it."""
        found: dict[Key, list[float]] = {}
        shapes = set(self._shapes)
        for key in self._curves:
            name, split, unit, rank = key
            if names.canonical(name, as_split(split)) not in ("train/loss", "grad_norm"):
                continue
            without = {s for s in shapes if s and name not in s and s | {name} in shapes}
            found[key] = [
                step
                for a, shape, *where in self._rows
                if shape in without and where == [split, rank] and a.unit == unit
                for step in ([a.step] if isinstance(a, Axis) else a.steps.tolist())
            ]
        return found


def _as_columns(axes: list[Axis] | Axes, unit: StepUnit) -> Axes:
    if isinstance(axes, Axes):
        return axes
    steps = np.array([a.step for a in axes], dtype=np.float64)
    epochs, walls = (_known([a.epoch for a in axes], np.float64), _known([a.wall for a in axes], np.float64))
    return Axes(steps, unit, epochs, walls, _known([a.line for a in axes], np.int64))


def _joined(columns: list[Any]) -> Any:
    """The columns one after another, or None when any is unknown."""
    return None if any(column is None for column in columns) else np.concatenate(columns)


def _known(values: Sequence[float | None], kind: type[Any]) -> Any:
    """The array of the values, or None when any is unknown."""
    return None if not values or None in values else np.array(values, dtype=kind)


def masked(losses: Any, norms: Any) -> Any:
    """Tell which zero losses stand for NaN; both arguments float64 [n], a norm that was not logged is None.

    A loss of exactly 0.0 beside a gradient norm that is NaN or infinite is one. Where no gradient norm was
    logged at all, a loss of at least 0.01 followed by two or more exact zeros is one: a loss that
    came down by rounding passes through smaller values first.
    """
    zero = losses == 0.0
    if norms is not None:
        return zero & ~np.isfinite(norms)
    found = np.zeros(len(losses), dtype=bool)
    last = 0.0
    start = 0
    for at in range(len(losses) + 1):
        if at < len(losses) and zero[at]:
            continue
        if at - start >= ZEROS and last >= FELL_FROM:
            found[start:at] = True
        start = at + 1
        if at < len(losses) and losses[at] == losses[at]:
            last = float(losses[at])
    return found


def masked_event(file: str, series: Series, because: str) -> Event | None:
    """The event that says where a series' masked NaN begin, or None without any."""
    if series.masked is None or not series.masked.any():
        return None
    at = int(np.argmax(series.masked))
    return Event(
        "masked-nan",
        file,
        line=int(series.lines[at]) if series.lines is not None else None,
        step=float(series.steps[at]),
        text=f"{series.raw}: 0.0 {because}",
        count=int(np.count_nonzero(series.masked)),
    )
