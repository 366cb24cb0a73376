"""How far the training loss falls: at all, from the start, up to the end.

What is normal and must read absent: an early plateau that is left, fine-tuning that starts low, a floor that
the data set.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...engine.model import State
from ..registry import Finding, View, absent, place, present, unknown
from ..run import Run
from . import situation, stats
from .course import rise_of
from .judging import is_mean_of_epochs, on_loss, probe, see
from .levels import chance_of
from .shapes import Shape


def _flat_is_fine(run: Run, curve: Shape) -> Finding | None:
    """Why a flat loss means nothing bad here: a good metric, a trained start, a loss near zero."""
    judged = situation.quality(run)
    if judged and judged[0] == "good":
        return absent(
            f"{curve.name} hardly moves, but {judged[1]}: it started near its floor", series=(curve.name,)
        )
    if curve.positive and curve.start.value < 0.02 and not situation.regression(run):
        return absent(f"{curve.name} is {curve.start.value:.3g} from the start", series=(curve.name,))
    chance = chance_of(run, curve, 0.02)
    if chance is not None or (judged and judged[0] == "poor"):
        return None
    trained = situation.trained_start(run, curve)
    if trained:
        return unknown(
            f"{curve.name} hardly moves, but {trained}: that can be right without a metric to tell"
        )
    if is_mean_of_epochs(curve) and not _exactly_flat(curve):
        return unknown(
            f"{curve.name} hardly moves from epoch to epoch; it may have fallen within the first epoch"
        )
    return None


def _exactly_flat(curve: Shape) -> bool:
    return float(np.ptp(curve.y)) <= 1e-4 * max(abs(curve.start.value), 1e-12)


@on_loss()
def not_converging(run: Run, curve: Shape, progress: float = 0.05) -> Finding:
    """Neither the end nor any lasting level lies below the start by `progress` of it.

    Where single levels are too noisy to tell, whole thirds of the run do: their medians are surer.
    """
    reason = situation.objective(run) or situation.too_early(run, curve)
    if (noise := situation.diffuses(run)) and situation.trained_start(run, curve):
        reason = reason or noise
    if reason:
        return unknown(reason)
    lowest = stats.lowest_level(curve.y, max(1, curve.count // 5))
    best = min(lowest.value, curve.end.value)
    gained = (curve.start.value - best) / curve.scale
    error = float(np.hypot(curve.start.error, lowest.error)) / curve.scale
    seen: dict[str, Any] = {"value": round(gained, 4), "threshold": progress}
    words = f"{curve.name} goes from {curve.start.value:.4g} to {curve.end.value:.4g} (best {best:.4g})"
    if gained >= progress and (gained > 2 * error or curve.progress > 3 * progress):
        return absent(f"{words}: it fell by {gained:.0%}", series=(curve.name,), **seen)
    flat = gained < progress and _thirds_fell(curve) <= 3 * progress
    if gained + 2 * error > 3 * progress and not flat:
        return unknown(
            f"{words}, but the noise (±{2 * error:.0%}) is too large to tell a fall of {progress:.0%}"
        )
    fine = _flat_is_fine(run, curve)
    if fine is not None:
        return fine
    if gained >= progress:
        return unknown(f"{words}: a fall of {gained:.0%} within its noise of ±{2 * error:.0%}")
    return present(
        f"{words}: a fall of {max(gained, 0):.1%} over {curve.count} points",
        step=curve.step(0),
        **seen,
        **see(curve, 0),
    )


@on_loss()
def hardly_moves(run: Run, curve: Shape, progress: float = 0.05) -> Finding:
    """Means of epochs that lie within `progress` of the first, by the validation loss as by this one.

    What was learned in the first epoch they do not show, so this is no fault; where a metric or the
    size of the loss tells, `not_converging` says what it is.
    """
    reason = situation.objective(run) or situation.too_early(run, curve)
    if reason:
        return unknown(reason)
    if not is_mean_of_epochs(curve):
        return unknown(f"{curve.name} is not a mean of epochs")
    if situation.quality(run) is not None or _flat_is_fine(run, curve) is None:
        return absent(f"other figures tell whether {curve.name} is as it should be", series=(curve.name,))
    right = situation.metric(run, "train", ("accuracy", "f1"))
    if right is not None and len(right) >= 4 and float(np.ptp(right.values[-4:])) == 0:
        return absent(f"{right.name} tells: it stands still", series=(curve.name, right.name))
    lowest = stats.lowest_level(curve.y, max(1, curve.count // 5))
    gained = (curve.start.value - min(lowest.value, curve.end.value)) / curve.scale
    words = f"{curve.name} goes from {curve.start.value:.4g} to {curve.end.value:.4g}"
    seen: dict[str, Any] = {"value": round(gained, 4), "threshold": progress, "series": (curve.name,)}
    if gained >= progress:
        return absent(f"{words}: it fell by {gained:.0%}", **seen)
    return present(
        f"{words}: a fall of {max(gained, 0):.1%} over {curve.count} epochs", step=curve.step(0), **seen
    )


def _thirds_fell(curve: Shape) -> float:
    """The most by which the last third may lie below the first, as a share of the scale; 1 for few points."""
    part = curve.count // 3
    if part < 10:
        return 1.0
    fell = float(np.median(curve.y[:part]) - np.median(curve.y[-part:])) / curve.scale
    return float(fell + 2 * stats.MEDIAN_ERROR * curve.sigma * (2 / part) ** 0.5 / curve.scale)


@on_loss()
def flat_from_start(run: Run, curve: Shape, progress: float = 0.02) -> Finding:
    """Every level of the run lies within `progress` of the first one, beyond noise."""
    reason = situation.objective(run) or situation.too_early(run, curve)
    if reason:
        return unknown(reason)
    edges = stats.block_edges(curve.count, 10 if curve.count >= 30 else max(3, curve.count // 3))
    levels = stats.block_medians(curve.y, edges)
    error = stats.MEDIAN_ERROR * curve.sigma / (curve.count / len(levels)) ** 0.5 / curve.scale
    moved = float(np.max(np.abs(levels - levels[0]))) / curve.scale
    first = abs(curve.start.value - float(np.median(curve.y))) / curve.scale
    line, doubt = _slope(curve, 0.0)
    far = np.abs(curve.y - np.median(curve.y)) > max(4 * progress * curve.scale, 8 * curve.sigma_tail)
    if abs(line) > max(progress * curve.scale, 3 * doubt) or np.sum(far) >= 2:
        moved = max(moved, progress + 5 * error)
    seen: dict[str, Any] = {"value": round(moved, 4), "threshold": progress}
    words = f"the levels of {curve.name} stay within {moved:.2%} of {float(np.median(curve.y)):.4g}"
    if moved > progress + 4 * error or first > progress + 3 * curve.start.error / curve.scale:
        return absent(
            f"{curve.name} leaves its first level by {max(moved, first):.1%}", series=(curve.name,), **seen
        )
    if 2 * error > 1.5 * progress:
        return unknown(f"{words}, but the noise (±{2 * error:.0%}) is too large to call it flat")
    fine = _flat_is_fine(run, curve)
    if fine is not None:
        return fine
    return present(
        f"{words} over all {curve.count} points", step=curve.step(0), **seen, **see(curve, 0, curve.count - 1)
    )


@on_loss(4)
def falling_at_end(
    run: Run, curve: Shape, tail: float = 0.25, share: float = 0.1, spent: float = 0.2
) -> Finding:
    """The last `tail` of the run brings `share` of the whole fall, and does not flatten out.

    A curve that flattens says nothing where the learning rate was below `spent` of its peak: it flattens then
    whether the model is finished or not.
    """
    if situation.objective(run):
        return unknown(str(situation.objective(run)))
    if broken := _broken_off(run, curve):
        return unknown(f"{broken}: where it would have stopped falling is not known")
    found = ending(curve, tail, share, "falling")
    if found.state is State.PRESENT and (turned := situation.turned_up(run)):
        return absent(f"{found.why}, but {turned}", value=found.value, series=(curve.name, "eval/loss"))
    left = situation.rate_left(run, curve, tail)
    if found.state is State.ABSENT and left is not None and left < spent:
        return unknown(f"{found.why}, but the learning rate had come down to {left:.0%} of its peak there")
    return found


@probe("train/loss", "eval/loss")
def few_epochs_still_falling(view: View, points: int = 3, most: int = 6, fall: float = 0.2) -> Finding:
    """Of few epochs each brings both losses down by `fall` of what the one before left, the last one too.

    A fine-tuning of few epochs has most of its fall in the first, and an evaluation that stands by the last.
    """
    run = view.run
    both = []
    for name in ("train/loss", "eval/loss"):
        series = run.series[name]
        values = series.values[np.isfinite(series.values)]
        if series.unit != "epoch" or not points <= len(values) <= most or len(values) < len(series.values):
            return unknown(f"{name} is not logged once in each of {points} to {most} epochs")
        if float(np.min(values)) <= 0:
            return unknown(f"{name} is not above zero")
        both.append(1 - values[1:] / values[:-1])
    least = float(min(np.min(b) for b in both))
    words = f"each of {len(both[0])} epochs after the first brings both losses down by {least:.0%} or more"
    held = run.series["eval/loss"]
    seen: dict[str, Any] = {
        "value": round(least, 3),
        "threshold": fall,
        "series": ("train/loss", "eval/loss"),
    }
    if least < fall or float(held.values[-1]) <= 0.05:
        return absent(f"the smallest step down of an epoch is {least:.0%}", **seen)
    share, judged = situation.planned_share(run, run.series["train/loss"]), situation.quality(run)
    for reason in (
        situation.objective(run),
        f"only {share:.0%} of the planned run was seen" if share is not None and share < 0.9 else None,
        "training was resumed" if run.events_of("resume") or "resume_from" in run.settings else None,
        judged[1] if judged is not None and judged[0] == "good" else None,
    ):
        if reason:
            return unknown(f"{words}, but {reason}")
    return present(words, where=(place(held, len(held) - 1),), **seen)


def _broken_off(run: Run, curve: Shape) -> str | None:
    """Say that the loss ends as no number, or that an error ended the run; None where neither is so."""
    series = curve.series
    if not np.isfinite(series.values[-1]):
        return f"{curve.name} ends as no number"
    last = int(series.lines[-1]) if series.lines is not None and len(series.lines) else None
    for event in run.events_of("traceback", "scale-at-minimum"):
        if last is not None and event.file == series.file and (event.line or 0) > last:
            return "an error ended the run"
    return None


def ending(curve: Shape, tail: float, share: float, doing: str) -> Finding:
    """Whether a (falling) curve was still improving when it ended; shared with metrics."""
    whole = curve.at(0.0) - curve.at(1.0)
    last = curve.at(1 - tail) - curve.at(1.0)
    error = (
        2
        * max(curve.sigma_tail, curve.wander if curve.count >= 30 else 0.0)
        / max(1.0, (tail * curve.count / 2) ** 0.5)
    )
    part = last / whole if whole > 0 else 0.0
    seen: dict[str, Any] = {"value": round(part, 4), "threshold": share, "series": (curve.name,)}
    words = f"the last {tail:.0%} of the run bring {part:.0%} of all the progress of {curve.name}"
    late, doubt = _slope(curve, 1 - tail / 2)
    lasting = late < doubt and (late - doubt < 0.3 * _slope(curve, 1 - tail)[0] or curve.count < 8)
    level = max(abs(curve.end.value), 1e-12)
    if whole > 2 * error and part >= share and last > 2 * error and last > 0.03 * level and lasting:
        return present(
            f"{words}: it is still {doing} at step {curve.step(-1):g}",
            step=curve.step(curve.end.first),
            **seen,
            where=see(curve, curve.count - 1)["where"],
        )
    if curve.count < 8 and part >= share / 2:
        return unknown(f"{words}, but with {curve.count} points its course at the end cannot be told")
    return absent(words, **seen)


def _slope(curve: Shape, since: float, until: float = 1.0) -> tuple[float, float]:
    """The slope (per run) of a line through the points of a part of the run, and its error."""
    x = (curve.x - curve.x[0]) / (curve.x[-1] - curve.x[0])
    kept = np.flatnonzero((x >= since) & (x <= until))
    kept = kept if len(kept) >= 2 else np.arange(len(x) - 2, len(x))
    spread = float(np.std(x[kept])) * len(kept) ** 0.5
    if spread <= 0:
        return 0.0, 0.0
    at = x[kept] - np.mean(x[kept])
    return float(np.sum(at * curve.y[kept]) / np.sum(at**2)), curve.sigma_tail / spread


def _fitted(run: Run, curve: Shape) -> tuple[str, str] | None:
    """Whether a metric says that the training data are fitted; an evaluation only where its loss agrees."""
    judged = situation.quality(run, ("train",))
    if judged is not None:
        return judged
    judged = situation.quality(run, ("eval",))
    held = run.series.get("eval/loss")
    if judged is None or judged[0] == "good" or held is None:
        return judged
    return judged if situation.reached(held) < 1.3 * curve.end.value else None


@on_loss()
def plateaus_high(run: Run, curve: Shape, before: float = 0.5, level: float = 0.4) -> Finding:
    """The loss has fallen, stops improving before `before` of the run, and stands above `level` of its start.

    A floor that the data set is not told from one that the training set by the curve alone, so a metric, the
    level of a guess or a very high plateau must say that it is too high.
    """
    reason = situation.objective(run) or situation.too_early(run, curve, 10)
    if reason:
        return unknown(reason)
    height = curve.end.value / curve.start.value if curve.start.value > 0 else float("nan")
    seen: dict[str, Any] = {"value": round(height, 4) if math.isfinite(height) else None, "threshold": level}
    if not curve.positive:
        return unknown(f"{curve.name} has values below zero: its distance to a floor is not known")
    words = f"{curve.name} ends at {curve.end.value:.4g}, {height:.0%} of its start {curve.start.value:.4g}"
    if height < level:
        return absent(words, series=(curve.name,), **seen)
    if curve.best_progress < 0.05 or curve.start.value - curve.best.value < 3 * curve.fall_error:
        return unknown(f"{words}: it never fell, so it has no plateau")
    if rise_of(run, curve, 1.3) is not None:
        return unknown(f"{words}: it rises for good, which is no plateau")
    parts = (curve.x - curve.x[0]) / (curve.x[-1] - curve.x[0])
    middle = np.abs(parts - before) <= 0.1
    half = float(np.median(curve.y[middle])) if np.any(middle) else curve.at(before)
    gained = half - curve.end.value
    doubt = float(
        np.hypot(curve.end.error, stats.MEDIAN_ERROR * curve.sigma_tail / max(1, np.sum(middle)) ** 0.5)
    )
    if gained > max(0.05 * curve.fall, 2.5 * doubt, 0.02 * curve.end.value):
        return absent(
            f"{words}, and improved by {gained:.3g} after {before:.0%} of the run",
            series=(curve.name,),
            **seen,
        )
    judged = _fitted(run, curve)
    if judged and judged[0] == "good":
        return absent(f"{words}, and {judged[1]}", series=(curve.name,), **seen)
    guess = chance_of(run, curve, 0.02)
    if not judged and guess is None:
        return unknown(f"{words} and does not improve any more; no metric tells how low it could get")
    reached = int(np.searchsorted(curve.sy <= curve.end.value + 2 * curve.end.error, True))
    since = (
        float(curve.sx[int(np.argmax(curve.sy <= curve.end.value + 2 * curve.end.error))])
        if reached >= 0
        else 0.0
    )
    because = f"; {judged[1]}" if judged else ""
    return present(
        f"{words}, where it has been since about step {since:g}{because}",
        step=since,
        **seen,
        **see(curve, curve.end.first),
    )
