"""The shape of one curve: where it starts, its best, where it ends, how noisy it is, where it turns up.

All probes that judge a loss share this one analysis, so that "diverges", "does not converge" and "has reached
a plateau" never contradict each other. Positive values are compared by ratios (a loss spans decades).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..run import Floats, Series
from . import stats
from .stats import Level

Index = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """The finite points of a series and what they show.

    `x` [n] steps (point numbers where steps do not rise), `y` [n] finite values, `index` [n] their positions
    in the series; `sx`, `sy` the smoothed curve; `sigma` the scatter of one point at the head and the tail;
    `wander` the scatter of window levels about their own trend.
    """

    series: Series
    x: Floats
    y: Floats
    index: Index
    sx: Floats
    sy: Floats
    start: Level
    best: Level
    end: Level
    sigma_head: float
    sigma_tail: float
    wander: float
    positive: bool

    @property
    def name(self) -> str:
        """The canonical name of the curve."""
        return self.series.name

    @property
    def count(self) -> int:
        """The number of finite points."""
        return len(self.y)

    @property
    def fall(self) -> float:
        """How far the level fell from start to end (negative: it rose)."""
        return self.start.value - self.end.value

    @property
    def fall_error(self) -> float:
        """The standard error of `fall`."""
        return float(np.hypot(self.start.error, self.end.error))

    @property
    def progress(self) -> float:
        """Fall from the start to the end as a share of the start (of the larger one where signs differ)."""
        return self.fall / self.scale

    @property
    def best_progress(self) -> float:
        """Fall from the start to the best level as a share of the start."""
        return (self.start.value - self.best.value) / self.scale

    @property
    def scale(self) -> float:
        """What falls are shares of: the start level."""
        start, end = abs(self.start.value), abs(self.end.value)
        return max(start if self.positive else max(start, end), 1e-300)

    @property
    def sigma(self) -> float:
        """The scatter of one point, at whichever end it is larger."""
        return max(self.sigma_head, self.sigma_tail)

    def step(self, point: int) -> float:
        """The logged step of a finite point."""
        return float(self.series.steps[self.index[point]])

    def part(self, point: int) -> float:
        """How far into the logged run a point lies, from 0 to 1."""
        span = self.x[-1] - self.x[0]
        return float((self.x[point] - self.x[0]) / span) if span > 0 else 0.0

    def at(self, part: float) -> float:
        """The smoothed value at a part of the run."""
        return float(np.interp(self.x[0] + part * (self.x[-1] - self.x[0]), self.sx, self.sy))


FEW = 20  # points below which a fall and its noise cannot be told apart


@lru_cache(maxsize=64)  # many probes look at the same curves
def shape(series: Series, tail: float = 0.2) -> Shape | None:
    """Analyse a series; None below three finite points. The end is the last `tail` of the points."""
    index = np.flatnonzero(np.isfinite(series.values))
    if len(index) < 3:
        return None
    y = series.values[index]
    x = series.steps[index]
    if not np.all(np.isfinite(x)) or np.any(np.diff(x) < 0) or x[-1] <= x[0]:
        x = np.arange(len(y), dtype=float)
    count = len(y)
    sx, sy = stats.smooth(x, y)
    fifth = max(8, count // 5)
    sigma_head, sigma_tail = stats.noise(y[:fifth]), stats.noise(y[-fifth:])
    head = min(10, max(1, count // 20))
    if sigma_head > 0.2 * abs(float(np.median(y[:fifth]))):
        head = max(head, min(10, count // 8))
    last = max(1, round(tail * count))
    start = stats.level(y, 0, head - 1, sigma_head)
    return Shape(
        series,
        x,
        y,
        index,
        sx,
        sy,
        start,
        min(stats.lowest_level(y, max(1, count // 10)), start, key=_value),
        stats.level(y, count - last, count - 1, sigma_tail),
        sigma_head,
        sigma_tail,
        _wander(y),
        bool(np.min(y) > 0),
    )


def _value(level: Level) -> float:
    return level.value


def _wander(y: Floats) -> float:
    """Scatter of the levels of ten windows about a smooth course."""
    if len(y) < 30:
        return stats.noise(y)
    return stats.noise(stats.block_medians(y, stats.block_edges(len(y), 10)))


@dataclass(frozen=True, slots=True)
class Rise:
    """A rise for good: best level, level at the end, and the point where it begins."""

    best: Level
    end: Level
    onset: int

    @property
    def ratio(self) -> float:
        """End over best (nan where the best is not positive)."""
        return self.end.value / self.best.value if self.best.value > 0 else float("nan")


def rises_for_good(curve: Shape, rise: float, dead: bool = False) -> Rise | None:
    """Return the rise by `rise` from which the curve did not come back, if there is one.

    It must exceed the noise of levels, be a quarter of what had been gained (in logarithms), hold until the
    end, and be unlike earlier rises that went away. `dead`: the curve ends in values that are no numbers,
    then three points are enough.
    """
    if curve.count < (3 if dead else 5):
        return None
    before = max(1, curve.end.first)
    best = min(stats.lowest_level(curve.y[:before], max(1, curve.count // 10)), curve.start, key=_value)
    if not _risen(curve, best, curve.end, rise):
        return _climb(curve, best) or _thrown(curve, rise)
    last = max(1, round(0.1 * curve.count))
    close = stats.level(curve.y, curve.count - last, curve.count - 1, curve.sigma_tail)
    if not _risen(curve, best, close, rise) or _coming_back(curve, best, close) or _usual(curve):
        return None
    return Rise(best, curve.end, _onset(curve, best))


def _climb(curve: Shape, best: Level) -> Rise | None:
    """In a log of few points: from the lowest on each is higher, three times and to three times the value.

    With so few points the fall before it looks like noise; a row of rises does not.
    """
    low = int(np.argmin(curve.y))
    after = curve.y[low:]
    if not curve.positive or curve.count >= FEW or len(after) < 4 or after[-1] < 3 * after[0]:
        return None
    return Rise(best, curve.end, low + 1) if np.all(np.diff(after) > 0) else None


_LOGGED = 20  # points, of which two given ones are the lowest: by chance in one curve of 190


def _thrown(curve: Shape, rise: float) -> Rise | None:
    """In a log of many points: the first two lie below all that follows a jump, by `rise`.

    A trained model that the first updates throw off is good for a point or two, too few for a level, and ends
    below the top of its fall without coming back.
    """
    first = float(np.max(curve.y[:2]))
    over = curve.y > rise * first
    if curve.count < _LOGGED or not curve.positive or not over.any():
        return None
    onset = int(np.argmax(over))
    if onset < 2 or onset > 0.1 * curve.count or not over[onset:].all():
        return None
    return Rise(stats.level(curve.y, 0, 1, curve.sigma_tail), curve.end, onset)


def _risen(curve: Shape, best: Level, end: Level, rise: float) -> bool:
    error = float(np.hypot(best.error, end.error))
    gap = end.value - best.value
    if gap <= 4 * error:
        return False
    if not curve.positive:
        gained = max(curve.start.value - best.value, 0.0)
        size = max(gained, abs(best.value), 1e-12)
        return gap > (rise - 1) * size and gap > 4 * curve.wander
    levels = curve.sy[: max(4, int(0.8 * len(curve.sy)))]
    usual = stats.noise(np.log(stats.block_medians(levels, stats.block_edges(len(levels), 10))))
    gained = max(float(np.log(curve.start.value / best.value)), 0.0)
    log_gap = float(np.log(end.value / best.value))
    return log_gap >= np.log(rise) and log_gap >= 0.25 * gained and log_gap > 3 * usual


def _coming_back(curve: Shape, best: Level, close: Level) -> bool:
    """After a jump (harder data, a restart) the level is more than half way back and falls."""
    after = curve.sx >= curve.x[best.last]
    if np.sum(after) < 4:
        return False
    held = curve.sy[after]
    peak = int(np.argmax(held))
    if peak >= len(held) - 2:
        return False
    return close.value < held[peak] - 0.35 * (held[peak] - best.value) and float(held[-1]) < float(
        np.median(held[peak:])
    )


def _usual(curve: Shape) -> bool:
    """Such a rise was seen before and went away (warm restarts, alternating data)."""
    if len(curve.sy) < 20:
        return False
    lowest = np.minimum.accumulate(curve.sy)
    span = max(float(curve.sy[0] - lowest[-1]), 1e-300)
    out = (curve.sy - lowest) > 0.1 * span
    episodes = [(a, b) for a, b in stats.stretches(out) if b - a >= max(2, len(out) // 40)]
    if len(episodes) < 2 or episodes[-1][1] < len(out):
        return False
    heights = [float(np.max(curve.sy[a:b] - lowest[a:b])) for a, b in episodes]
    return heights[-1] <= 1.5 * max(heights[:-1])


def _onset(curve: Shape, best: Level) -> int:
    """The point from which the smoothed curve stays above its best level, beyond noise."""
    gap = curve.end.value - best.value
    line = best.value + min(0.25 * gap, max(0.03 * gap, 3 * best.error, 2 * stats.noise(curve.sy)))
    below = np.flatnonzero((curve.sy <= line) & (curve.sx <= curve.x[curve.end.last]))
    position = curve.sx[below[-1]] if len(below) else curve.x[best.last]
    return int(min(np.searchsorted(curve.x, position, side="right"), curve.count - 1))
