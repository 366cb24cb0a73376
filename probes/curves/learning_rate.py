"""The learning rate as logged: its curve, and the peak and the warm-up that it shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..registry import place, place_of
from ..run import Configured, Floats, Run, Series

CURVE = "learning_rate"


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """The logged learning rate without rows that say nothing: finite values, in order of steps."""

    series: Series
    index: np.ndarray[Any, np.dtype[np.intp]]  # of the kept points in the series
    steps: Floats
    values: Floats

    @property
    def peak(self) -> float:
        """The largest value."""
        return float(np.max(self.values))

    @property
    def length(self) -> float:
        """Steps from the beginning (zero, or the first logged step of a resumed log) to the last point."""
        return float(self.steps[-1] - min(float(self.steps[0]), self.interval) + self.interval)

    @property
    def interval(self) -> float:
        """The usual distance of two points, in steps."""
        gaps = np.diff(self.steps)
        return float(np.median(gaps)) if len(gaps) else 1.0


def curve(run: Run) -> Curve | None:
    """Return the logged learning rate, or None when no finite point is logged."""
    series = run.series.get(CURVE)
    if series is None:
        return None
    index = np.flatnonzero(np.isfinite(series.values) & np.isfinite(series.steps) & (series.values >= 0))
    if not len(index):
        return None
    return Curve(series, index, series.steps[index], series.values[index])


def logged_peak(run: Run) -> Configured | None:
    """The peak of the logged learning rate, as a setting; None where the log does not show it."""
    lr = curve(run)
    if lr is None or lr.peak <= 0 or not whole(lr):
        return None
    at = place(lr.series, int(lr.index[int(np.argmax(lr.values))]))
    return Configured(CURVE, lr.peak, "peak of the logged learning rate", at.file, at.line, 20)


def logged_warmup(run: Run, rising: int = 3, level: float = 0.98) -> Configured | None:
    """The step at which the logged learning rate reaches its peak, as a setting; 0 where it starts there.

    None where the beginning was not logged step by step, or where fewer than `rising` points rise to it.
    """
    lr = curve(run)
    if lr is None or lr.peak <= 0 or not whole(lr) or lr.series.unit == "epoch":
        return None
    first = int(np.argmax(lr.values >= level * lr.peak))
    if 0 < first < rising:
        return None
    steps = float(lr.steps[first]) if first else 0.0
    at = place(lr.series, int(lr.index[first]))
    return Configured("warmup_steps", steps, "steps to the logged peak", at.file, at.line, 20)


def whole(lr: Curve, points: int = 10) -> bool:
    """The curve shows its peak: logged from the beginning, and no longer rising at its end."""
    early = lr.steps[0] <= max(1.0, 0.05 * lr.length)
    return len(lr.values) >= points and early and int(np.argmax(lr.values)) < 0.9 * len(lr.values)


def seen_at(lr: Curve, point: int, **rest: Any) -> dict[str, Any]:
    """What a finding says of where it was seen: a point of the curve, and its series."""
    return {"where": (place(lr.series, int(lr.index[point])),), "series": (CURVE,), **rest}


def where(setting: Configured) -> tuple[Any, ...]:
    """The place of a setting, if it stands in a file."""
    return (place_of(setting),) if setting.file else ()
