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
    if turned := situation.turned_up(run):
        return absent(f"{words}, but {turned}", **seen)
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


@probe("train/loss", "eval/loss")
def eval_stands_still(
    view: View, spread: float = 0.0065, least: float = 0.015, most: float = 0.25, points: int = 5
) -> Finding:
    """The loss falls a little from its first training value, and then evaluation stays where it is.

    From the first quarter of at least `points` evaluations on it stays within `spread` of its median, `least`
    to `most` (of that) below the first training loss. A model that learns the output's offsets and nothing
    else does this. One that learns slowly falls most of the time; one whose loss is flat from its start on is
    told by that, and one that never changes at all by its last digit (see eval-loss-constant).
    """
    run = view.run
    held, trained = shape(run.series["eval/loss"]), shape(run.series["train/loss"])
    if held is None or trained is None or held.count < points or trained.count < points:
        return unknown(f"fewer than {points} finite losses of training or evaluation")
    if not held.positive or not trained.positive:
        return unknown("a loss that is zero or below has no level to be held against")
    reason = situation.objective(run) or situation.trained_start(run, trained)
    if reason:
        return unknown(f"{reason}: there may be no further to fall")
    after = held.y[max(1, held.count // 4) :]
    level = float(np.median(after))
    moves = float(np.ptp(after)) / level
    seen: dict[str, Any] = {"value": round(moves, 6), "threshold": spread, "series": (held.name,)}
    words = f"{held.name} stays within {moves:.2g} of {level:.4g}"
    step = stats.quantum(held.y) / level
    if moves > max(spread, 2 * step if step > 0.2 * spread else 0.0):
        return absent(words, **seen)
    if step > 0.2 * spread or float(np.ptp(held.y)) <= 1e-4 * level:
        return unknown(f"{words}: it never changes, or is printed too coarsely", **seen)
    first, early, late = _levels(trained)
    words = f"{words}; {trained.name} begins at {first:.4g}, is at {early:.4g} soon and {late:.4g} at the end"
    if abs(first / level - 1) < least:
        return unknown(f"{words}: it was flat from its start on", **seen)
    if not least <= first / level - 1 <= most or held.y[0] > (1 + most) * level:
        return absent(words, **seen)
    if abs(late - level) > 0.15 * level or abs(early - late) > 0.03 * late:
        return absent(f"{words}: training goes elsewhere", **seen)
    if float(np.mean(np.diff(after) < 0)) >= 0.8:
        return absent(f"{words}; evaluation falls at nearly every point", **seen)
    judged = situation.quality(run)
    if _spent_early(run) or (judged and judged[0] == "good"):
        return absent(f"{words}, which its learning rate or its quality explains", **seen)
    return present(words, step=held.step(0), where=see(held, held.count - 1)["where"], **seen)


def _levels(curve: Shape) -> tuple[float, float, float]:
    """The first value of a curve, its level in the second quarter, and that in the last one."""
    quarter = max(1, curve.count // 4)
    return (
        float(curve.y[0]),
        float(np.median(curve.y[quarter : max(2 * quarter, quarter + 1)])),
        float(np.median(curve.y[-quarter:])),
    )


def _spent_early(run: Run) -> bool:
    """Whether nine tenths of all the learning rates were spent in the first quarter of the run."""
    rate = run.series.get("learning_rate")
    if rate is None or len(rate.values) < 8 or not np.all(np.isfinite(rate.values)):
        return False
    total = float(np.sum(rate.values))
    return total > 0 and float(np.sum(rate.values[: len(rate.values) // 4])) > 0.9 * total
