"""Where the run ends and the benchmark goes on: was the rest worth it?

Comparisons at common steps say nothing about a run that is merely shorter; what the benchmark gains after the
run's last step does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .compare import FLOOR, axes_of, cleaned
from .registry import Finding, View, absent, place, present, probe, unknown
from .run import Floats
from .stats import level, noise

_LOSSES = ("train/loss", "eval/loss")


@probe("benchmark")
def stops_before(view: View, ratio: float, gain: float, points: int = 6) -> Finding:
    """The benchmark runs `ratio` times as long, and its loss falls by `gain` after the run's last step.

    The fall is a share of the benchmark's loss at that step, at least a tenth of all the ground it covers.
    """
    found = [_judge(view, name, ratio, gain, points) for name in _LOSSES]
    known = [f for f in found if not isinstance(f, str)]
    return known[0] if known else unknown(str(found[0]))


def _judge(view: View, name: str, ratio: float, gain: float, points: int) -> Finding | str:
    if view.benchmark is None:
        return "needs a benchmark run (--benchmark)"
    mine, theirs = view.run.series.get(name), view.benchmark.series.get(name)
    if mine is None or theirs is None:
        return f"{'the run' if mine is None else 'the benchmark'} has no {name}"
    axes = axes_of(mine, theirs)
    if axes is None:
        return f"{name} is logged over {mine.unit} in the run and over {theirs.unit} in the benchmark"
    (x, _), (u, v) = (cleaned(axis, s.values) for axis, s in zip(axes, (mine, theirs), strict=True))
    if not len(x) or len(u) < points:
        return f"the benchmark has fewer than {points} points of {name}"
    last, end = float(x[-1]), float(u[-1])
    rest: dict[str, Any] = {"threshold": gain, "series": (name,)}
    lengths = f"the run ends at {mine.unit} {last:g}, the benchmark at {end:g}"
    if mine.unit == "unknown":
        lengths = f"the run ends at step {last:g}, the benchmark at {end:g}"
    if last <= 0 or end < ratio * last:
        return absent(lengths, value=0.0, **rest)
    there, final, error = _levels(u, v, last)
    base = max(abs(there), FLOOR * float(np.max(v) - np.min(v)), 1e-12)
    share = (there - final) / base
    text = f"{lengths}, whose {name} falls from {there:.4g} to {final:.4g} in between ({share:.0%})"
    rest |= {"value": round(share, 4), "where": (place(mine, len(mine.steps) - 1),)}
    if share >= gain and there - final > 3 * error:
        return present(text, step=last, **rest)
    return absent(text, **rest)


def _levels(u: Floats, v: Floats, last: float) -> tuple[float, float, float]:
    """The benchmark's level around the run's last step and at its own end, with the error of both."""
    at = max(0, int(np.searchsorted(u, last, side="right")) - 1)
    width = max(1, round(0.1 * at), round(0.05 * len(u)) if at > 5 else 1)
    first = max(0, at - width + 1)
    count = max(1, round(0.1 * len(u)))
    sigma = noise(v[len(v) // 3 :]) if len(v) >= 12 else noise(v)
    early, late = level(v, first, at, sigma), level(v, len(v) - count, len(v) - 1, sigma)
    return early.value, late.value, float(np.hypot(early.error, late.error))
