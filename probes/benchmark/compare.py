"""Two curves on one grid: what all comparisons of a run with its benchmark share. Pure functions.

Differences are judged against three things: the size asked for, the scatter of the difference itself (small
for runs that see the same batches), and a share of the ground the benchmark covered (late in training a loss
of 0.052 and one of 0.058 are the same when both came from 2.3). So two seeds of one recipe count as equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..curves.stats import MAD, block_edges, block_medians, noise
from ..registry import View
from ..run import Floats, Series

_STEPS = frozenset(["step", "iteration", "unknown"])
MAX_BLOCKS = 20
FLOOR = 0.1  # of the benchmark's span: relative differences are never taken to less than this


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """A quantity of the run and of the benchmark at the same places.

    `x` (steps or epochs), `run` and `bench` are finite float64 arrays of equal length. `repeats` holds
    the further benchmark runs at the same places, NaN where one logged nothing near.
    """

    name: str
    x: Floats
    run: Floats
    bench: Floats
    run_series: Series
    bench_series: Series
    repeats: tuple[Floats, ...] = ()

    @property
    def span(self) -> float:
        """The ground that the benchmark's curve covers."""
        return float(np.max(self.bench) - np.min(self.bench)) if len(self.bench) else 0.0

    def __len__(self) -> int:
        return len(self.x)


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """Block medians of a pair: where each block begins, both levels, and their standard error.

    `low` and `high` bound what the benchmark and its repeats span there (both are `bench` without repeats).
    """

    x: Floats
    run: Floats
    bench: Floats
    error: Floats
    low: Floats
    high: Floats

    def relative(self, span: float) -> Floats:
        """(run - benchmark) / benchmark, with a floor for small benchmarks."""
        return np.asarray((self.run - self.bench) / np.maximum(np.abs(self.bench), max(FLOOR * span, 1e-12)))

    def significant(self, sigmas: float = 3.0) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Where the levels differ by more than noise, and than the benchmark runs differ, explains."""
        gap = np.abs(self.run - self.bench)
        return np.asarray((gap > sigmas * self.error) & (gap > self.high - self.low))


class Side(NamedTuple):
    """A quantity of one of the two: its series, and its finite points in order of x."""

    series: Series
    x: Floats
    y: Floats


def sides(view: View, name: str) -> tuple[Side, Side] | str:
    """The run's and the benchmark's points of a quantity on one axis; a string says why there is none."""
    if view.benchmark is None:
        return "needs a benchmark run (--benchmark)"
    mine, theirs = view.run.series.get(name), view.benchmark.series.get(name)
    if mine is None or theirs is None:
        return f"{'the run' if mine is None else 'the benchmark'} has no {name}"
    axes = axes_of(mine, theirs)
    if axes is None:
        return f"{name} is logged over {mine.unit} in the run and over {theirs.unit} in the benchmark"
    return Side(mine, *cleaned(axes[0], mine.values)), Side(theirs, *cleaned(axes[1], theirs.values))


def pair(view: View, name: str, points: int = 3) -> Pair | str:
    """Bring a quantity of run and benchmark to one grid; a string says why that is not possible."""
    both = sides(view, name)
    if isinstance(both, str):
        return both
    (mine, x, y), (theirs, u, v) = both
    if _count_from_zero_and_one(mine, theirs, x, u):
        u = u + (x[0] - u[0])
    grid, left, right = _common(x, y, u, v)
    if len(grid) < points:
        return f"run and benchmark have fewer than {points} common points of {name}"
    repeats = tuple(_repeat(r.series.get(name), theirs, grid) for r in view.repeats)
    return Pair(name, grid, left, right, mine, theirs, repeats)


def _repeat(series: Series | None, theirs: Series, grid: Floats) -> Floats:
    """A further run of the benchmark on the grid; NaN outside what it logged, or in another unit."""
    if series is None or series.unit != theirs.unit or series.window != theirs.window:
        return np.full(len(grid), np.nan)
    u, v = cleaned(series.steps, series.values)
    return np.interp(grid, u, v, left=np.nan, right=np.nan) if len(u) else np.full(len(grid), np.nan)


def axes_of(mine: Series, theirs: Series) -> tuple[Floats, Floats] | None:
    """What both series can be laid over: steps, else epochs; None where they have no axis in common."""
    if mine.unit == theirs.unit or {mine.unit, theirs.unit} <= _STEPS:
        return mine.steps, theirs.steps
    first = mine.steps if mine.unit == "epoch" else mine.epochs
    second = theirs.steps if theirs.unit == "epoch" else theirs.epochs
    return (first, second) if first is not None and second is not None else None


def cleaned(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Finite points in order of x; of several at one x the last counts."""
    good = np.isfinite(x) & np.isfinite(y)
    x, y = x[good], y[good]
    order = np.argsort(x, kind="stable")
    x, y = x[order], y[order]
    last = np.append(np.diff(x) > 0, True) if len(x) else np.empty(0, dtype=bool)
    return x[last], y[last]


def _count_from_zero_and_one(mine: Series, theirs: Series, x: Floats, u: Floats) -> bool:
    epochs = mine.unit == "epoch" and theirs.unit == "epoch"
    return epochs and len(x) > 0 and len(x) == len(u) and abs(x[0] - u[0]) == 1.0


def _common(x: Floats, y: Floats, u: Floats, v: Floats) -> tuple[Floats, Floats, Floats]:
    """Values at common places; where few coincide, the benchmark is interpolated between its points."""
    shared, at, there = np.intersect1d(x, u, return_indices=True)
    if not len(x) or not len(u):
        return shared, y[at], v[there]
    low, high = max(x[0], u[0]), min(x[-1], u[-1])
    inside = (x >= low) & (x <= high)
    there_inside = int(np.sum((u >= low) & (u <= high)))
    if len(shared) >= 0.5 * min(int(np.sum(inside)), there_inside):
        return shared, y[at], v[there]
    return x[inside], y[inside], np.interp(x[inside], u, v)


def blocks(found: Pair, count: int = MAX_BLOCKS) -> Blocks:
    """Summarise a pair in at most `count` blocks (single points when there are few)."""
    points = len(found)
    edges = block_edges(points, min(count, points) if points <= 2 * count else count)
    sizes = np.diff(edges).astype(np.float64)
    error = noise(found.run - found.bench) / np.sqrt(np.maximum(sizes, 1.0))
    error = np.where(sizes > 2, 1.2533 * error, error)
    run, bench = block_medians(found.run, edges), block_medians(found.bench, edges)
    # what is slower than a point: the scatter of the difference of the levels themselves
    slow = noise(run - bench) if len(run) >= 8 else 0.0
    levels = np.array([bench, *(block_medians(r, edges) for r in found.repeats)])
    low, high = np.nanmin(levels, axis=0), np.nanmax(levels, axis=0)
    return Blocks(found.x[edges[:-1]], run, bench, np.asarray(np.maximum(error, slow)), low, high)


def final(found: Pair, share: float = 0.1) -> tuple[float, float, float]:
    """Return (run, benchmark, standard error of their difference) over the last `share` of common points."""
    count = max(min(3, len(found)), round(share * len(found)))
    tail_run, tail_bench = found.run[-count:], found.bench[-count:]
    gap = found.run - found.bench
    error = noise(gap) * (1.2533 if count > 2 else 1.0) / count**0.5
    half = len(found) // 2
    if half >= 8:  # how much levels of this length move in the second half
        levels = np.array([np.median(gap[i : i + count]) for i in range(half, len(gap) - count + 1, count)])
        if (
            len(levels) >= 4
        ):  # where the curves part once, one of the steps is large; where they drift, all are alike
            steps = MAD * float(np.median(np.abs(np.diff(levels)))) / 2**0.5
            error = max(error, min(noise(levels), steps))
    return float(np.median(tail_run)), float(np.median(tail_bench)), error


def band(found: Pair, part: slice) -> float:
    """Return how far the benchmark runs lie apart over a part of the grid; 0 for a single one."""
    levels = [float(np.median(values[part])) for values in (found.bench, *found.repeats)]
    known = [v for v in levels if np.isfinite(v)]
    return max(known) - min(known)


def pair_noise(found: Pair) -> float:
    """Return how much the difference of the two curves scatters from point to point near the beginning."""
    return noise((found.run - found.bench)[: max(12, len(found) // 4)])


def move_together(found: Pair) -> bool:
    """Say whether the two runs see the same batches: their difference scatters far less than either curve.

    Looked at in the second half, where the fall of the curves is no longer part of the scatter.
    """
    half = slice(len(found) // 2, None)
    alone = min(noise(found.run[half]), noise(found.bench[half]))
    return len(found) >= 40 and noise((found.run - found.bench)[half]) < 0.3 * alone
