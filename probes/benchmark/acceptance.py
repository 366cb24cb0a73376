"""The acceptance test of the MindFormers accuracy guide: losses and gradient norms beside the benchmark's.

The guide compares two runs whose randomness is fixed. Where the curves do not move together, only the scatter
of several benchmark runs can tell a fault from chance; without it what exceeds the limits is left open.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..registry import Finding, View, absent, place, present, probe, unknown
from ..run import Floats
from .both import both, equal
from .compare import Pair, move_together, pair

LEAST_POINTS = 20
Measure = Callable[[Floats, Floats], tuple[float, float]]


def _means(run: Floats, bench: Floats) -> tuple[float, float]:
    """Mean absolute and mean relative difference, over points where the benchmark is not zero."""
    gap = np.abs(run - bench)
    known = np.abs(bench) > 1e-12
    return float(np.mean(gap)), float(np.mean(gap[known] / np.abs(bench[known]))) if np.any(known) else np.inf


def _aligned(view: View, name: str, steps: float) -> tuple[Pair, float] | str:
    """The pair and how many steps it spans, or why the two cannot be compared step by step."""
    found = pair(view, name, 2)
    if isinstance(found, str):
        return found
    for series in (found.run_series, found.bench_series):
        if series.unit not in ("step", "iteration"):
            return f"{name} is not logged over steps"
    first = float(found.x[0])
    spanned = float(found.x[-1]) - (first if first > 1 else 0) + (first == 0)
    if first > 1 + np.median(np.diff(found.x)):
        return f"the first common step of {name} is {first:g}: the runs are not aligned from the start"
    if steps and (spanned < steps or len(found) < LEAST_POINTS):
        return f"{spanned:g} steps with {len(found)} common points of {name}; the test needs {steps:g} steps"
    return found, spanned


def _chance(found: Pair, measure: Measure, relative: bool) -> float | None:
    """How far benchmark runs lie apart by the same measure; None for a single one."""
    curves = [found.bench, *(r for r in found.repeats if np.isfinite(r).all())]
    apart = [measure(a, b)[relative] for i, a in enumerate(curves) for b in curves[:i]]
    return max(apart) if apart else None


def _together(view: View, found: Pair) -> bool:
    seeds = both(view, "seed")
    return (seeds is not None and equal("seed", *seeds)) or move_together(found)


@probe("train/loss", "benchmark:train/loss")
def first_loss(view: View, absolute: float, relative: float) -> Finding:
    """The first loss is off by `absolute` and by `relative`; within one of them it is accepted."""
    found = _aligned(view, "train/loss", 0)
    if isinstance(found, str):
        return unknown(found)
    both_curves = found[0]
    if both_curves.x[0] > 1:
        return unknown("the first step is not logged on both sides")
    mine, theirs = float(both_curves.run[0]), float(both_curves.bench[0])
    gap, share = abs(mine - theirs), abs(mine - theirs) / max(abs(theirs), 1e-12)
    text = f"the first loss is {mine:.5g}, in the benchmark {theirs:.5g} ({gap:.2g} or {share:.2%} off)"
    return _judged(
        view,
        both_curves,
        (gap, absolute),
        (share, relative),
        text,
        lambda a, b: (abs(float(a[0] - b[0])), abs(float(a[0] - b[0])) / max(abs(float(b[0])), 1e-12)),
    )


@probe("train/loss", "benchmark:train/loss")
def mean_loss(view: View, absolute: float, relative: float, steps: float) -> Finding:
    """The mean difference of the losses over at least `steps` steps exceeds both limits."""
    found = _aligned(view, "train/loss", steps)
    if isinstance(found, str):
        return unknown(found)
    gap, share = _means(found[0].run, found[0].bench)
    text = f"over {found[1]:g} steps the loss is {gap:.2g} or {share:.2%} off the benchmark's in the mean"
    return _judged(view, found[0], (gap, absolute), (share, relative), text, _means)


@probe("grad_norm", "benchmark:grad_norm")
def mean_grad_norm(view: View, relative: float, steps: float) -> Finding:
    """The mean relative difference of the gradient norms over at least `steps` steps exceeds a limit."""
    found = _aligned(view, "grad_norm", steps)
    if isinstance(found, str):
        return unknown(found)
    share = _means(found[0].run, found[0].bench)[1]
    text = f"over {found[1]:g} steps the gradient norm is {share:.1%} off the benchmark's in the mean"
    return _judged(view, found[0], None, (share, relative), text, _means)


def _judged(
    view: View,
    found: Pair,
    absolute: tuple[float, float] | None,
    relative: tuple[float, float],
    text: str,
    measure: Measure,
) -> Finding:
    """Hold (measured, limit) pairs against the limits and against what chance does to the benchmark."""
    rest: dict[str, Any] = {"value": relative[0], "threshold": relative[1], "series": (found.name,)}
    if relative[0] <= relative[1]:
        return absent(f"{text}, {relative[1]:.1%} are allowed", **rest)
    if absolute is not None and absolute[0] < absolute[1]:
        return absent(f"{text}, less than {absolute[1]:g} is allowed", **rest)
    chance = _chance(found, measure, True)
    if chance is not None and relative[0] <= chance:
        said = f"{text}; {1 + len(found.repeats)} benchmark runs lie up to {chance:.2%} apart themselves"
        return absent(said, **rest)
    if chance is None and not _together(view, found):
        said = (
            f"{text}; the seeds are not known to be equal, so chance may do that: fix the seed, or give "
            "repeats of the benchmark with --benchmark"
        )
        return unknown(said, **rest)
    where = (place(found.run_series, 0), place(found.bench_series, 0, "benchmark"))
    return present(text, where=where, **rest)
