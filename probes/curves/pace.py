"""The pace of a loss: does it fall in proportion to the learning rate spent, without ever bending?

While updates are small the loss changes by minus the learning rate times the squared gradient norm, so it
falls in a line over the sum of the learning rates. A model that learns leaves that line early; one with
steps too small stays on it to the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..registry import Finding, View, absent, present, unknown
from ..run import Floats, Run
from . import situation, stats
from .judging import on_loss, probe, see
from .shapes import Shape, shape


@on_loss()
def converges_slowly(
    run: Run,
    curve: Shape,
    progress: float = 0.35,
    steadiness: float = 0.7,
    least: float = 0.38,
    most: float = 0.62,
) -> Finding:
    """The loss falls steadily, nearly in a line, and is not far below its start at the end.

    The line is one over the sum of the learning rates where they were logged (a decaying schedule bends the
    curve over steps), else one over the steps. `least` and `most` bound the second half's share of the fall.
    """
    reason = situation.objective(run) or situation.too_early(run, curve, 10)
    if reason:
        return unknown(reason)
    line = _line_of(run, curve)
    seen: dict[str, Any] = {"value": round(curve.progress, 4), "threshold": progress, "series": (curve.name,)}
    words = (
        f"{curve.name} fell by {curve.progress:.0%} in the whole run, {line.second_half:.0%} of that in the"
        f" second half of {line.over}"
    )
    if curve.fall <= 4 * curve.fall_error and abs(curve.progress) < 0.05:
        return unknown(f"{words}: no fall beyond its noise to see the form of", **seen)
    clear = curve.fall > 4 * curve.fall_error and curve.fall > 0
    straight = least <= line.second_half <= most
    if curve.progress >= progress or not clear or line.steady < steadiness or not straight:
        return absent(f"{words}; {line.steady:.0%} of its tenths lie below the one before", **seen)
    judged = situation.quality(run)
    if judged and judged[0] == "good":
        return absent(f"{words}, but {judged[1]}", **seen)
    trained = situation.trained_start(run, curve)
    if trained:
        return unknown(f"{words}, but {trained}: there may be no further to fall")
    return present(f"{words}; it falls steadily all the time", step=curve.step(0), **seen)


@dataclass(frozen=True, slots=True)
class _Line:
    """How straight a curve falls: tenths that lie below the one before; what the second half brings."""

    steady: float
    second_half: float
    over: str


def _line_of(run: Run, curve: Shape) -> _Line:
    effort = situation.effort(run, curve)
    axis = (curve.x - curve.x[0]) / (curve.x[-1] - curve.x[0]) if effort is None else effort
    tenth = np.minimum((10 * axis).astype(int), 9)
    levels = np.array([np.median(curve.y[tenth == k]) for k in range(10) if np.any(tenth == k)])
    first, second = _fit(axis, curve.y, 0.0, 0.5), _fit(axis, curve.y, 0.5, 1.0)
    share = second / (first + second) if first < 0 and second < 0 else 0.0
    over = "the run" if effort is None else "the sum of its learning rates"
    return _Line(stats.steadiness(levels), share, over)


def _fit(axis: Floats, y: Floats, low: float, high: float) -> float:
    """The slope of a line through the points of a part of an axis; 0.0 for fewer than two places."""
    kept = (axis >= low) & (axis <= high)
    x = axis[kept]
    if len(x) < 2 or np.ptp(x) <= 0:
        return 0.0
    at = x - np.mean(x)
    return float(np.sum(at * y[kept]) / np.sum(at**2))


@probe("eval/loss")
def eval_creeps(
    view: View, progress: float = 0.25, steadiness: float = 0.8, least: float = 0.38, most: float = 0.62
) -> Finding:
    """The evaluation loss falls by little, at every evaluation, in a line over the sum of the learning rates.

    An evaluation sees the same data each time, so it shows a fall that the noise of training batches hides.
    """
    run = view.run
    curve, trained = shape(run.series["eval/loss"]), situation.main_loss(run)
    if curve is None or curve.count < 6:
        return unknown("eval/loss has fewer than 6 finite points")
    reason = situation.objective(run)
    if reason:
        return unknown(reason)
    line = _line_of(run, curve)
    seen: dict[str, Any] = {"value": round(curve.progress, 4), "threshold": progress, "series": (curve.name,)}
    words = (
        f"{curve.name} fell by {curve.progress:.1%} in the whole run, {line.second_half:.0%} of that in the"
        f" second half of {line.over}"
    )
    own = shape(trained) if trained is not None else None
    straight = least <= line.second_half <= most and line.steady >= steadiness
    clear = curve.fall > 8 * curve.fall_error and curve.fall > 0
    further = own is not None and own.progress > curve.progress + 0.15
    if curve.progress >= progress or not straight or not clear or further:
        return absent(f"{words}; {line.steady:.0%} of its points lie below the one before", **seen)
    judged = situation.quality(run)
    if judged and judged[0] == "good":
        return absent(f"{words}, but {judged[1]}", **seen)
    if own is not None and own.progress < 0.05 and situation.trained_start(run, own) and not judged:
        return unknown(f"{words}, but {situation.trained_start(run, own)}: there may be no further to fall")
    where = see(curve, curve.count - 1)["where"]
    return present(f"{words}; it creeps down at every evaluation", step=curve.step(0), where=where, **seen)
