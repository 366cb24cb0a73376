"""The course of the training loss: does it swing, jump, turn up?

What is normal and must read absent: noise of small batches, steps of a learning-rate schedule, warm
restarts, single spikes that heal.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np

from ..config.values import number_of, says
from ..registry import Finding, absent, place, present, unknown
from ..run import Run
from . import situation, stats
from .judging import on_loss, see, tail_of
from .shapes import Rise, Shape, rises_for_good, shape
from .unlike_totals import adds_up, terms_stay

# ----------------------------------------------------------------------------------------------- rising


def rise_of(run: Run, curve: Shape, rise: float, tail: float = 0.2) -> Rise | None:
    """The rise for good, unless the learning rate went up with it by schedule."""
    measured = curve if tail == 0.2 else shape(curve.series, tail) or curve
    found = rises_for_good(measured, rise, _dead(run, curve))
    if found is None or adds_up(curve.y) or terms_stay(run, curve, curve.step(found.best.first)):
        return None
    if found.best.last > 0 and situation.restarts_configured(run):
        return None
    if _harder_data(run, curve, found):
        return None
    if situation.rate_jumps(run, curve.step(found.best.last), curve.step(-1), 3.0):
        warm = situation.rate_jumps(run, curve.step(0), curve.step(found.best.last), 3.0)
        return found if warm and not _rate_fell(run, curve.step(found.best.last)) else None
    return found


def _harder_data(run: Run, curve: Shape, found: Rise) -> bool:
    """Whether data got harder, not the model worse: evaluation ends at its best, training below its start.

    So it is with a curriculum, larger pictures or more noise from some step on.
    """
    series = run.series.get("eval/loss")
    held = shape(series) if series is not None else None
    if held is None or held.series.unit != curve.series.unit or found.end.value > curve.start.value:
        return False
    early = held.x <= curve.step(found.onset)
    before, after = held.y[early], held.y[~early]
    return len(before) >= 2 and len(after) >= 3 and held.end.value < 0.98 * float(np.min(before))


def _rate_fell(run: Run, until: float) -> bool:
    """Whether the learning rate had fallen to half of its peak by a step: a rise is then a restart."""
    rate = run.series["learning_rate"]
    values = rate.values[np.isfinite(rate.values) & (rate.steps <= until)]
    return len(values) > 1 and bool(values[-1] < 0.5 * np.max(values))


def _dead(run: Run, curve: Shape) -> bool:
    """Whether the curve ends in values that are no numbers."""
    return bool(curve.index[-1] < len(curve.series.values) - 1) or bool(run.events_of("non-finite-loss"))


def _said(curve: Shape, found: Rise) -> str:
    return (
        f"{curve.name} rose from {found.best.value:.4g} (its best, step {curve.step(found.best.first):g})"
        f" to {found.end.value:.4g} ({tail_of(curve)})"
    )


def _rising(curve: Shape, found: Rise, rise: float) -> Finding:
    value = found.ratio if math.isfinite(found.ratio) else found.end.value - found.best.value
    step = curve.step(found.onset)
    return present(
        f"{_said(curve, found)} and did not come back; the rise begins at step {step:g}",
        value=round(value, 4),
        threshold=rise,
        step=step,
        **see(curve, found.onset),
    )


def _calm(curve: Shape, rise: float) -> Finding:
    ratio = curve.end.value / curve.best.value if curve.best.value > 0 else float("nan")
    return absent(
        f"{curve.name} ends at {curve.end.value:.4g} ({tail_of(curve)}); its best level was"
        f" {curve.best.value:.4g}",
        value=round(ratio, 4) if math.isfinite(ratio) else None,
        threshold=rise,
        series=(curve.name,),
    )


@on_loss(3)
def diverges(run: Run, curve: Shape, rise: float = 1.3, tail: float = 0.2) -> Finding:
    """The level of the last part of the run lies above the best level by `rise`, for good."""
    reason = situation.objective(run)
    if reason:
        return unknown(reason)
    found = rise_of(run, curve, rise, tail)
    if found is not None:
        return _rising(curve, found, rise)
    if curve.count < 5:
        return unknown(f"{curve.name} has only {curve.count} finite points; 5 are needed to rule a rise out")
    return _calm(curve, rise)


@on_loss(3)
def diverges_early(run: Run, curve: Shape, within: float = 0.1, rise: float = 1.2) -> Finding:
    """The loss rises for good, and its best level lies in the first `within` of the run."""
    reason = situation.objective(run)
    if reason:
        return unknown(reason)
    found = rise_of(run, curve, rise)
    if found is not None and (found.best.first <= 1 or curve.part(found.best.first) <= within):
        if found.end.value > rise * curve.y[0] or found.end.value > rise * found.best.value:
            return _rising(curve, found, rise)
    if curve.count < 5:
        return unknown(f"{curve.name} has only {curve.count} finite points; 5 are needed to rule a rise out")
    return _calm(curve, rise)


@on_loss(10)
def late_divergence(run: Run, curve: Shape, after: float = 0.3, rise: float = 1.3) -> Finding:
    """The loss rises for good after it had been at its best later than `after` of the run."""
    reason = situation.objective(run)
    if reason:
        return unknown(reason)
    found = rise_of(run, curve, rise)
    if found is not None and curve.part(found.onset) >= after and curve.best_progress > 0.1:
        return _rising(curve, found, rise)
    return _calm(curve, rise)


@on_loss(10)
def ends_above_start(run: Run, curve: Shape, above: float = 0.03, part: float = 0.2) -> Finding:
    """The last `part` of the run lies above the first one by `above`, and nothing between lay clearly below.

    Levels are medians. Twice the noise has to be passed as well. A curve that fell first and rose then is
    another matter, and so is one that goes to and fro.
    """
    reason = situation.objective(run)
    if reason:
        return unknown(reason)
    size = max(2, round(part * curve.count))
    first, last = float(np.median(curve.y[:size])), float(np.median(curve.y[-size:]))
    parts = [float(np.median(p)) for p in np.array_split(curve.y, min(5, curve.count // 2))]
    words = f"{curve.name} begins at {first:.4g} and ends at {last:.4g} (medians of {size} points)"
    rest: dict[str, Any] = {"value": round(last - first, 4), "series": (curve.name,)}
    if first <= 0 or curve.y.min() < 0:
        return unknown(f"{words}; below zero a loss has no floor")
    if adds_up(curve.y) or terms_stay(run, curve, curve.step(0)):
        return unknown(f"{words}; it adds up, or its terms do not rise", **rest)
    margin = max(above * first, 2 * stats.noise(curve.y))
    rises = all(b > a for a, b in pairwise(parts)) and min(parts) >= (1 - above) * first
    if last - first > margin and rises and not run.events_of("resume"):
        where = see(curve, curve.count - 1)["where"]
        return present(f"{words}: it only rises", threshold=round(margin, 4), where=where, **rest)
    return absent(words, threshold=round(margin, 4), **rest)


# ----------------------------------------------------------------------------------------------- spikes


def spikes_of(run: Run, curve: Shape, sigmas: float, relative: float) -> list[stats.Spike]:
    """The spikes of a loss that heal and that no change of the learning rate explains."""
    least = 0.05 * abs(curve.start.value - curve.best.value)
    found = stats.spikes(curve.y, sigmas, relative, least)
    return [s for s in found if not _scheduled(run, curve, s)]


def _scheduled(run: Run, curve: Shape, spike: stats.Spike) -> bool:
    """Whether the learning rate jumped up right before it, as warm restarts do."""
    before = max(0, spike.first - 5)
    return curve.part(spike.first) > 0.15 and situation.rate_jumps(
        run, curve.step(before), curve.step(spike.peak), 2.0
    )


@on_loss(20)
def spikes(run: Run, curve: Shape, sigmas: float = 8.0, relative: float = 0.5) -> Finding:
    """The loss jumps up by `relative` and `sigmas` of its scatter, and recovers."""
    if situation.objective(run):
        return unknown(str(situation.objective(run)))
    sunk = situation.bottomless(curve.series)
    if sunk:
        return unknown(sunk)
    found = spikes_of(run, curve, sigmas, relative)
    if not found:
        return absent(
            f"no jump of {curve.name} above {sigmas:g} times its scatter and {relative:.0%} of its level",
            threshold=relative,
            series=(curve.name,),
        )
    high = max(found, key=lambda s: s.height - s.before)
    count = "once" if len(found) == 1 else f"{len(found)} times"
    first = curve.step(found[0].first)
    return present(
        f"{curve.name} jumps up and recovers {count}; the highest from {high.before:.4g} to {high.height:.4g}"
        f" at step {curve.step(high.peak):g}, the first at step {first:g}",
        value=round(high.height / high.before, 3) if high.before > 0 else round(high.height, 4),
        threshold=1 + relative,
        step=first,
        **see(curve, *(s.peak for s in found[:5])),
    )


@on_loss(20)
def spikes_unclipped(
    run: Run, curve: Shape, sigmas: float = 8.0, relative: float = 0.5, least: int = 3, lost: int = 2
) -> Finding:
    """The loss jumps up `least` times (`lost`, where it ends as no number), and gradients are not clipped."""
    if situation.objective(run):
        return unknown(str(situation.objective(run)))
    if "max_grad_norm" not in run.settings:
        return unknown("whether gradients are clipped is not recorded")
    limit = number_of(run, "max_grad_norm")
    if limit is not None and 0 < limit < 1e6:
        return absent(f"gradients are clipped at {limit:g}")
    found = [s for s in spikes_of(run, curve, sigmas, relative) if curve.part(s.first) > 0.05]
    ends = not np.isfinite(curve.series.values[-1])
    words = f"{curve.name} jumps up {len(found)} times" + (" and ends as no number" if ends else "")
    seen: dict[str, Any] = {"value": len(found), "threshold": lost if ends else least}
    if len(found) < seen["threshold"]:
        return absent(words, series=(curve.name,), **seen)
    first = curve.step(found[0].first)
    return present(
        f"{words}, first at step {first:g}, and gradients are not clipped"
        f" ({says(run.settings['max_grad_norm'])})",
        step=first,
        **seen,
        **see(curve, *(s.peak for s in found[:5])),
    )


@on_loss(10)
def spike_early(
    run: Run, curve: Shape, within: float = 0.1, rise: float = 1.5, gentle: float = 1.2
) -> Finding:
    """In the first `within` of the run the loss exceeds its first values by `rise`, then comes down again.

    `gentle` is enough where the gradient norm stands ten times above its later level at the same time.
    """
    if situation.objective(run):
        return unknown(str(situation.objective(run)))
    parts = (curve.x - curve.x[0]) / (curve.x[-1] - curve.x[0])
    early = np.flatnonzero(parts <= max(within, 2.5 / curve.count))
    if len(early) < 3:
        return unknown(f"only {len(early)} points of {curve.name} lie in the first {within:.0%} of the run")
    peak = int(early[np.argmax(curve.y[early])])
    first = float(np.median(curve.y[: max(1, min(3, peak))]))
    recovered = float(np.min(curve.sy[curve.sx >= curve.x[peak]])) <= 1.1 * first
    scatter = stats.deviation(curve.y[early] - stats.running_median(curve.y[early], 5))
    later = curve.y[early[-1] :]
    usual = stats.noise(later) if len(later) > 8 else scatter
    height = float(curve.y[peak])
    rise = min(rise, gentle) if _gradient_high(run, curve.step(peak)) else rise
    seen: dict[str, Any] = {"value": round(height / first, 3) if first > 0 else None, "threshold": rise}
    beyond = (
        first > 0 and height > rise * first and height - first > 6 * usual and _beyond(curve, height / first)
    )
    if beyond and recovered and peak > 0:
        return present(
            f"{curve.name} jumps from {first:.4g} to {height:.4g} at step {curve.step(peak):g},"
            f" in the first {within:.0%} of the run, and comes down to {curve.best.value:.4g} later",
            step=curve.step(peak),
            **seen,
            **see(curve, peak),
        )
    return absent(
        f"the highest early value of {curve.name} is {height:.4g}, its first {first:.4g}",
        series=(curve.name,),
        **seen,
    )


_TIMES = 10.0  # clipping recipes leave norms within a few times of one another


def _gradient_high(run: Run, step: float) -> bool:
    """Whether the gradient norm near a step is many times what it is in the second half of the run."""
    norms = run.series.get("grad_norm")
    if norms is None or len(norms) < 20:
        return False
    values = np.where(np.isfinite(norms.values), norms.values, 0.0)
    span = 0.05 * (float(norms.steps[-1]) - float(norms.steps[0]))
    near = values[np.abs(norms.steps - step) <= span]
    later = float(np.median(values[len(values) // 2 :]))
    return bool(len(near)) and later > 0 and float(np.max(near)) > _TIMES * later


def _beyond(curve: Shape, ratio: float) -> bool:
    """Whether a value so many times the first is beyond the scatter of logarithms."""
    if not curve.positive or curve.count < 8:
        return True
    logs = np.log(curve.y)
    scatter = stats.deviation(logs - stats.baseline(logs, 9)) if curve.count >= 18 else stats.noise(logs)
    return math.log(ratio) > 6 * scatter


@on_loss(20)
def oscillates(run: Run, curve: Shape, swing: float = 0.25, progress: float = 0.3) -> Finding:
    """The level swings by `swing` of itself while the loss has fallen by less than `progress`.

    Scatter from point to point is batch noise and does not count, unless the points alternate or are means
    over an epoch: what is counted is the swing of levels, beyond what scatter of points would make of them.
    """
    if situation.objective(run):
        return unknown(str(situation.objective(run)))
    if adds_up(curve.y):
        return unknown(f"{curve.name} adds up, and is not set back")
    width, kind = _swing(curve)
    seen: dict[str, Any] = {"value": round(width, 3), "threshold": swing, "series": (curve.name,)}
    if rise_of(run, curve, 1.3) is not None:
        return unknown(f"{curve.name} rises for good: swings cannot be told from that")
    judged = situation.quality(run)
    fine = judged is not None and judged[0] == "good" and curve.end.value < 1.2 * curve.start.value
    if width >= swing and curve.progress < progress and not fine:
        fell = curve.progress >= 0
        moved = f"fallen by {curve.progress:.0%} only" if fell else f"risen by {-curve.progress:.0%}"
        return present(
            f"{curve.name} swings by {width:.0%} of its level ({kind}) and has {moved},"
            f" from {curve.start.value:.4g} to {curve.end.value:.4g}",
            step=curve.step(0),
            where=(place(curve.series, int(curve.index[int(np.argmax(curve.y))])),),
            **seen,
        )
    return absent(
        f"{curve.name} fell by {curve.progress:.0%}; its level swings by {width:.0%}, its points scatter by"
        f" {2.56 * stats.noise(curve.y) / max(curve.scale, 1e-300):.0%}",
        **seen,
    )


def _swing(curve: Shape) -> tuple[float, str]:
    """The width (10th to 90th percentile over the level) of the swings of levels, and what was measured."""
    middle = max(abs(float(np.median(curve.y))), 1e-300)
    rest = curve.y - stats.baseline(curve.y, max(9, curve.count // 8))
    width = float(np.quantile(rest, 0.9) - np.quantile(rest, 0.1)) / middle
    if curve.series.unit == "epoch" or curve.series.window == "epoch-mean":
        return width, "means over an epoch"
    alike = stats.autocorrelation(rest)
    if alike < -0.4:
        return width, "up and down from point to point"
    if alike > max(0.5, 4 / curve.count**0.5):
        return width, "over several points"
    if curve.count < 50:
        return 0.0, "too few points for levels"
    edges = stats.block_edges(curve.count, curve.count // 5)
    levels = stats.block_medians(curve.y, edges)
    course = levels - stats.baseline(levels, max(9, len(levels) // 4))
    # in parts of the level, and bounded: the square of an absurd loss is no float
    point = min(stats.deviation(np.diff(curve.y)) / 2**0.5 / middle, 1e150)
    spread = min(stats.deviation(course) / middle, 1e150)
    white = 1.57 * point**2 / 5 * (1 + 3 * (2 / len(levels)) ** 0.5)
    excess = max(spread**2 - white, 0.0) ** 0.5
    return 2.56 * excess, "medians of five points"


@on_loss(30)
def noisy(run: Run, curve: Shape, noise: float = 0.3) -> Finding:
    """One point scatters by `noise` of the level, and by more than the whole fall of the loss."""
    if reason := situation.objective(run) or situation.diffuses(run):
        return unknown(reason)
    scatter = stats.noise(curve.y)
    middle = max(abs(float(np.median(curve.y))), 1e-300)
    seen: dict[str, Any] = {"value": round(scatter / middle, 3), "threshold": noise, "series": (curve.name,)}
    words = f"one point of {curve.name} scatters by {scatter:.3g} ({scatter / middle:.0%} of its level)"
    if scatter > noise * middle and scatter > abs(curve.fall) - curve.fall_error and curve.progress < 0.5:
        return present(f"{words}, the whole fall is {curve.fall:.3g}", step=curve.step(0), **seen)
    return absent(f"{words}; the loss fell by {curve.fall:.3g}", **seen)
