"""Robust statistics of one curve: medians, noise, levels, spikes. Everything is O(n) or O(n log n).

A curve here is a pair of float arrays `x` (steps) and `y` (finite values) in file order. "Level" means what
the curve stands at when noise is taken away: a median over a stretch of points, with its standard error.
Noise is measured from second differences and from residuals, so that a trend is not taken for noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..run import Floats

MAD = 1.4826  # standard deviation of a normal distribution over its median absolute deviation
MEDIAN_ERROR = 1.2533  # standard error of a median over that of a mean
MAX_BLOCKS = 120


@dataclass(frozen=True, slots=True)
class Level:
    """What a curve stands at over points `first` to `last` (inclusive): median and standard error."""

    value: float
    error: float
    first: int
    last: int


def deviation(values: Floats) -> float:
    """Return the robust standard deviation about the median; 0.0 for fewer than two values."""
    if len(values) < 2:
        return 0.0
    return MAD * float(np.median(np.abs(values - np.median(values))))


def noise(values: Floats) -> float:
    """Return the standard deviation of one point about a smooth curve; 0.0 for fewer than four points.

    From second differences, whose spread does not contain a linear trend. Where more than half of them are
    exactly zero (quantised values), the plain standard deviation of the differences is used.
    """
    if len(values) < 4:
        return 0.0
    second = np.diff(values, 2)
    robust = MAD * float(np.median(np.abs(second))) / 6**0.5
    return robust if robust > 0 else float(np.sqrt(np.mean(second**2) / 6))


def running_median(values: Floats, width: int) -> Floats:
    """Return the running median with an odd width; windows are shortened at both ends."""
    width = min(width | 1, len(values) if len(values) % 2 else len(values) - 1)
    if width < 3:
        return values.copy()
    half = width // 2
    inner = np.median(np.lib.stride_tricks.sliding_window_view(values, width), axis=1)
    head = [float(np.median(values[: i + half + 1])) for i in range(half)]
    tail = [float(np.median(values[i - half :])) for i in range(len(values) - half, len(values))]
    return np.concatenate([head, inner, tail])


def block_edges(count: int, blocks: int) -> NDArray[np.intp]:
    """Return the edges of `blocks` blocks of nearly equal size over `count` points."""
    return np.linspace(0, count, min(blocks, count) + 1).astype(np.intp)


def block_medians(values: Floats, edges: NDArray[np.intp]) -> Floats:
    """Return the median of each block; blocks of one size are taken together."""
    sizes = np.diff(edges)
    medians = np.empty(len(sizes))
    for size in np.unique(sizes).tolist():
        which = np.flatnonzero(sizes == size)
        rows = values[edges[which][:, None] + np.arange(size)]
        medians[which] = np.median(rows, axis=1)
    return medians


def smooth(x: Floats, y: Floats, blocks: int = MAX_BLOCKS) -> tuple[Floats, Floats]:
    """Return a smoothed curve of at most `blocks` points.

    Short curves get a running median of three points (none below eight); long ones block medians over at
    least five points each.
    """
    if len(y) < 8:
        return x.copy(), y.copy()
    if len(y) < 60:
        return x.copy(), running_median(y, 3)
    edges = block_edges(len(y), min(blocks, len(y) // 5))
    return block_medians(x, edges), block_medians(y, edges)


def level(y: Floats, first: int, last: int, sigma: float) -> Level:
    """Return the level over points first..last when one point scatters by `sigma`.

    The scatter inside the stretch itself is used where it is larger (slow wandering).
    """
    part = y[first : last + 1]
    own = max(sigma, noise(part)) if len(part) >= 8 else sigma
    return Level(float(np.median(part)), MEDIAN_ERROR * own / len(part) ** 0.5, first, last)


def lowest_level(y: Floats, width: int) -> Level:
    """Return the lowest level over any `width` successive points; scatter is measured around them."""
    width = max(1, min(width, len(y)))
    stride = max(1, width // 4)
    starts = range(0, len(y) - width + 1, stride)
    medians = [float(np.median(y[s : s + width])) for s in starts]
    at = starts[int(np.argmin(medians))]
    return level(y, at, at + width - 1, noise(y[max(0, at - 8) : at + width + 8]))


def steadiness(values: Floats, falling: bool = True) -> float:
    """Return the share of successive values that fall (or rise); nan for fewer than two."""
    if len(values) < 2:
        return float("nan")
    differences = np.diff(values)
    return float(np.mean(differences < 0 if falling else differences > 0))


def stretches(flags: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return all stretches of true flags as (start, end), end exclusive."""
    padded = np.concatenate([[False], flags, [False]]).astype(np.int8)
    change = np.diff(padded)
    return list(zip(np.flatnonzero(change == 1).tolist(), np.flatnonzero(change == -1).tolist(), strict=True))


@dataclass(frozen=True, slots=True)
class Spike:
    """An excursion upwards that came back: indices of its points, its peak, and the level before it."""

    first: int
    peak: int
    last: int
    height: float
    before: float


def baseline(y: Floats, width: int) -> Floats:
    """Return the local level at every point: block medians, smoothed once more and interpolated."""
    edges = block_edges(len(y), max(2, len(y) // width))
    centres = (edges[:-1] + edges[1:] - 1) / 2.0
    medians = running_median(block_medians(y, edges), 3)
    return np.interp(np.arange(len(y)), centres, medians)


def spikes(y: Floats, sigmas: float, relative: float, least: float = 0.0) -> list[Spike]:
    """Return the excursions of `y` upwards that recover, in order.

    A spike rises above its surroundings by `relative` of the level before it, by `sigmas` robust standard
    deviations (of the logarithm, where all values are positive: small losses scatter by factors) and by
    `least` in absolute terms, lasts at most a few points, and comes back to the level before it.
    """
    if len(y) < 16:
        return []
    width = int(min(101, max(9, len(y) // 20)))
    positive = bool(np.min(y) > 0)
    u = np.log(y) if positive else y
    rest = u - baseline(u, width)
    spread = np.maximum(_local_spread(rest), deviation(rest))
    floor = 1e-3 if positive else 1e-3 * float(np.median(np.abs(u)))
    found = []
    for first, end in _joined(rest > sigmas * np.maximum(spread, floor), gap=2):
        spike = _spike(y, first, end, width)
        if spike is not None and spike.height - spike.before > max(relative * abs(spike.before), least):
            found.append(spike)
    return found


def _local_spread(rest: Floats) -> Floats:
    """The robust scatter in each fifth of the curve, at every point."""
    edges = block_edges(len(rest), 5 if len(rest) >= 100 else 1)
    spread = np.empty(len(rest))
    for a, b in pairwise(edges.tolist()):
        spread[a:b] = deviation(rest[a:b])
    return spread


def _joined(flags: NDArray[np.bool_], gap: int) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for a, b in stretches(flags):
        if joined and a - joined[-1][1] <= gap:
            joined[-1] = (joined[-1][0], b)
        else:
            joined.append((a, b))
    return joined


def _spike(y: Floats, first: int, end: int, width: int) -> Spike | None:
    """Judge one excursion: preceded by a lower level, short, and followed by a return."""
    if first < 2 or end >= len(y) or end - first > max(5, len(y) // 20):
        return None
    before = float(np.median(y[max(0, first - width) : first]))
    peak = first + int(np.argmax(y[first:end]))
    after = y[end : end + max(5, width)]
    scatter = deviation(y[max(0, first - width) : first])
    back = before + max(3 * scatter, 0.25 * (float(y[peak]) - before))
    returned = len(after) >= 1 and float(np.median(after)) <= back
    return Spike(first, peak, end - 1, float(y[peak]), before) if returned else None


def quantum(values: Floats) -> float:
    """Return the decimal place the values were printed to (0.01 for two decimals); 0.0 for more than nine."""
    sample = values[np.isfinite(values)][:2000]
    for places in range(10):
        scaled = sample * 10.0**places
        if np.all(np.abs(scaled - np.round(scaled)) < 1e-6 * np.maximum(1.0, np.abs(scaled)) * 1e-3 + 1e-9):
            return 10.0**-places
    return 0.0


def significant_digits(value: float) -> int:
    """Return how many significant decimal digits a number as written needs (0.250 -> 2, 2.3026 -> 5)."""
    digits = f"{value:.15e}".partition("e")[0].replace(".", "").lstrip("-")
    short = f"{float(repr(value)):.16g}".replace("-", "").partition("e")[0].replace(".", "").lstrip("0")
    return len(short.rstrip("0")) if short else min(1, len(digits))


def autocorrelation(rest: Floats) -> float:
    """Return the lag-one autocorrelation of residuals; nan for fewer than eight or constant ones."""
    if len(rest) < 8 or np.ptp(rest) == 0:
        return float("nan")
    centred = rest - np.mean(rest)
    return float(np.sum(centred[1:] * centred[:-1]) / np.sum(centred**2))
