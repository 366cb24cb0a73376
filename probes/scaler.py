"""The dynamic loss scale of a run: its course, the level it found, the steps it skipped.

A scaler begins high and halves at each overflow until gradients fit: that is its calibration. Afterwards it
tries a doubling every so often, and takes it back at the next overflow.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..engine.model import Place
from . import situation
from .registry import place
from .run import Floats, Run, Series

HOLD = 10.0  # steps for which a scale must stand to have found its level
QUICK = 60  # logged values within which many halvings are one storm


@dataclass(frozen=True, slots=True)
class Fall:
    """A fall of the scale after it had found its level."""

    high: float
    low: float
    begins: int
    storm: bool

    @property
    def halvings(self) -> float:
        """How often the scale was halved, net."""
        return math.log2(self.high / max(self.low, 1e-300))


@dataclass(frozen=True, slots=True, eq=False)
class Scale:
    """The logged scales in order. `found` is the index where the first level was found, None if never."""

    steps: Floats
    values: Floats
    places: tuple[Place, ...]
    series: tuple[str, ...]
    found: int | None

    @property
    def dynamic(self) -> bool:
        """Whether the scale changes at all."""
        return bool(np.ptp(self.values) > 0)

    def step(self, at: int) -> float | None:
        """The step of a logged scale, where it is known."""
        return float(self.steps[at]) if np.isfinite(self.steps[at]) else None

    def deepest_fall(self) -> Fall | None:
        """The deepest fall from an earlier level after calibration."""
        if self.found is None or self.found >= len(self.values) - 1:
            return None
        values = np.maximum(self.values[self.found :], 1e-300)
        levels = _settled(values)
        depth = np.log2(levels / values)
        at = int(np.argmax(depth))
        if depth[at] <= 0:
            return None
        begins = int(np.flatnonzero(values[: at + 1] >= levels[at])[-1])
        recent = values[max(0, at - QUICK) : at + 1]
        storm = bool(np.max(np.log2(recent / values[at])) >= 4 and _falling_only(recent, values[at]))
        return Fall(float(levels[at]), float(values[at]), self.found + begins, storm)


def _settled(values: Floats) -> Floats:
    """At each point the highest scale so far that was not a mere trial (held for two values at least)."""
    held = np.minimum(values, np.concatenate([values[1:], values[-1:]]))
    return np.maximum.accumulate(np.maximum(held, np.concatenate([values[:1], held[:-1]])))


def _falling_only(recent: Floats, low: float) -> bool:
    """Whether the way from sixteen times the scale down to it goes down without a rise."""
    top = int(np.flatnonzero(recent >= 16 * low)[-1])
    return bool(np.all(np.diff(recent[top:]) <= 0))


def scale(run: Run, infinite: bool = False) -> Scale | None:
    """The course of the loss scale from its series, or from what events say; None where neither does."""
    series = run.series.get("loss_scale")
    if series is not None:
        keep = (
            ~np.isnan(series.values) & (series.values > 0)
            if infinite
            else np.isfinite(series.values) & (series.values > 0)
        )
        index = np.flatnonzero(keep)
        if len(index) >= 2:
            steps, values = series.steps[index], series.values[index]
            places = tuple(place(series, int(i)) for i in index)
            return Scale(steps, values, places, (series.name,), _found(steps, values))
    events = [
        e
        for e in run.events_of("overflow", "loss-scale", "skipped-step")
        if e.value is not None
        and e.value > 0
        and (e.kind != "skipped-step")
        and (infinite or math.isfinite(e.value))
    ]
    if len(events) < 2:
        return None
    steps = np.array([math.nan if e.step is None else e.step for e in events])
    values = np.array([float(e.value or 0.0) for e in events])
    places = tuple(Place(e.file, e.line, e.step, e.rank) for e in events)
    return Scale(steps, values, places, (), _found(steps, values))


def _found(steps: Floats, values: Floats) -> int | None:
    """The first index whose scale stands for `HOLD` steps or is followed by a rise; None if it only falls."""
    known = steps if np.all(np.isfinite(steps)) else np.arange(len(steps), dtype=float)
    start = 0
    for i in range(1, len(values)):
        if values[i] > values[i - 1]:
            return i - 1
        if values[i] < values[i - 1]:
            start = i
        if known[i] - known[start] >= HOLD:
            return start
    return None


@dataclass(frozen=True, slots=True, eq=False)
class Skips:
    """Skipped steps: their numbers, how many each row stands for, and the span of steps that was logged."""

    steps: Floats
    counts: Floats
    places: tuple[Place, ...]
    series: tuple[str, ...]
    first: float
    last: float
    interval: float

    def trailing(self) -> tuple[int, int]:
        """(number, index of the first) of the skipped steps in a row at the end of the log."""
        if not len(self.steps) or self.steps[-1] < self.last - self.interval * 1.01:
            return 0, 0
        at = len(self.steps) - 1
        while at > 0 and self.steps[at] - self.steps[at - 1] <= self.interval * 1.01:
            at -= 1
        return len(self.steps) - at, at


def skips(run: Run) -> Skips | None:
    """The skipped steps from the overflow or skipped series, or from events; None where neither was logged."""
    for name in ("overflow", "skipped"):
        series = run.series.get(name)
        if series is not None and len(series) >= 2:
            return _from_series(series, per_row="megatron" in str(run.facts.get("framework")).lower())
    return _from_events(run)


def _from_series(series: Series, per_row: bool) -> Skips:
    counts = np.where(np.isfinite(series.values), series.values, 0.0)
    if series.name == "overflow":
        counts = (counts > 0).astype(float)
    elif not per_row and np.all(np.diff(counts) >= 0) and counts[-1] > 0:
        counts = np.diff(counts, prepend=0.0)  # a running total
    index = np.flatnonzero(counts > 0)
    interval = float(np.median(np.diff(series.steps))) if len(series) > 1 else 1.0
    return Skips(
        series.steps[index],
        counts[index],
        tuple(place(series, int(i)) for i in index),
        (series.name,),
        float(series.steps[0]),
        float(series.steps[-1]),
        interval,
    )


def _from_events(run: Run) -> Skips | None:
    found: dict[float, tuple[float, Place]] = {}
    for event in run.events_of("overflow", "skipped-step"):
        if event.step is None:
            continue
        count = event.value if event.kind == "skipped-step" and event.value is not None else 1.0
        known = found.get(event.step)
        if known is None or count > known[0]:
            found[event.step] = (count, Place(event.file, event.line, event.step, event.rank))
    if not found:
        return None
    steps = np.array(sorted(found))
    loss = situation.main_loss(run)
    ends = [float(steps[0]), float(steps[-1])]
    if loss is not None and len(loss):
        ends += [float(np.min(loss.steps)), float(np.max(loss.steps))]
    gaps = np.diff(steps)
    interval = float(np.min(gaps)) if len(gaps) else 1.0
    return Skips(
        steps,
        np.array([found[s][0] for s in steps.tolist()]),
        tuple(found[s][1] for s in steps.tolist()),
        (),
        min(ends),
        max(ends),
        interval,
    )


def calibrated(run: Run) -> float | None:
    """The step at which the scale had found its first level, or None where that is not known."""
    trace = scale(run)
    if trace is None or trace.found is None:
        return None
    return trace.step(trace.found)


def only_probing(run: Run) -> bool:
    """Whether the scale only tries doublings and takes them back: as many rises as falls, and no net fall."""
    window = situation.number(run, "loss_scale_window")
    trace = scale(run)
    if trace is None or trace.found is None or len(trace.values) - trace.found < 4:
        return False
    change = np.diff(np.log2(np.maximum(trace.values[trace.found :], 1e-300)))
    rises, falls = int(np.sum(change > 0)), int(np.sum(change < 0))
    fall = trace.deepest_fall()
    steady = fall is None or fall.halvings <= 2.01
    return steady and rises >= 1 and falls <= 1.5 * rises + 2 and (window is None or window > 1)
