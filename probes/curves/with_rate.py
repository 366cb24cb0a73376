"""Losses that worsen while training goes on: as the learning rate rises, or on both sides from the start."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...engine.model import State
from ..registry import Finding, View, absent, place, present, probe, unknown
from ..run import Floats, Run, Series
from . import situation, stats
from .judging import on_loss, see
from .learning_rate import curve as rate_curve
from .metrics import finite
from .rate_size import above_usual
from .shapes import Shape, rises_for_good, shape

_STILL = 0.95  # of its peak: below this the rate is still on its way up
_LEARNT = 0.1  # share of the first loss that was gone before it rose
_HIGH = 0.7  # of its peak: from here on the rate counts as at its top


@on_loss(5)
def rises_with_rate(run: Run, curve: Shape, rise: float = 0.15, fall: float = 0.1) -> Finding:
    """The loss rises by `rise` while the rate rises to its peak, falls by `fall` only as it comes down again.

    Where a warm-up fits the model, the loss falls during it. `rise` is held against the best level before
    the top of the rate, and the loss must not come back to it: what one peak cost is not made good.
    """
    reason = situation.objective(run)
    lr = rate_curve(run)
    if reason or lr is None or len(lr.values) < 5 or lr.series.unit != curve.series.unit:
        return unknown(reason or "fewer than 5 points of the learning rate are logged beside the loss")
    if not curve.positive:
        return unknown(f"{curve.name} goes below zero, where a ratio says nothing")
    # a mean since the last point was trained with the rates between, the middle of which stands for them
    middle = curve.x - (np.diff(curve.x, prepend=0.0) / 2 if curve.series.window == "mean-since-last" else 0)
    rates: Floats = np.interp(middle, lr.steps, lr.values)
    top = rates >= _HIGH * lr.peak
    first, last = (int(np.flatnonzero(top)[i]) for i in (0, -1)) if top.any() else (0, 0)
    if first < 1 or last + 1 >= curve.count:
        return unknown("the learning rate is not seen to rise and fall again")
    before = float(np.min(stats.block_medians(curve.y[:first], stats.block_edges(first, min(first, 5)))))
    high = float(np.median(curve.y[first : last + 1]))
    size = max(1, (curve.count - last - 1) // 3)
    after = float(np.median(curve.y[-size:]))
    words = (
        f"{curve.name} is {before:.4g} before the learning rate comes to its peak ({lr.peak:.4g}), {high:.4g}"
        f" around it, and {after:.4g} at the end"
    )
    seen: dict[str, Any] = {"value": round(high / before, 4), "threshold": 1 + rise}
    margin = max(rise * before, 3 * stats.noise(curve.y))
    if high - before > margin and after < (1 - fall) * high and after > before:
        return present(words, step=curve.step(first), **see(curve, first), **seen)
    return absent(words, series=(curve.name,), **seen)


@on_loss(8)
def lost_in_warmup(run: Run, curve: Shape, rise: float = 1.2, climbed: float = 2.0) -> Finding:
    """The loss fell, and rises for good from where the rate was still climbing to its peak.

    In a warm-up nothing changes but the size of the steps: what breaks there breaks at a size. `climbed`:
    times that the rate had grown since its first value.
    """
    reason = situation.objective(run)
    lr = rate_curve(run)
    if reason or lr is None or len(lr.values) < 5 or lr.series.unit != curve.series.unit:
        return unknown(reason or "fewer than 5 points of the learning rate are logged beside the loss")
    found = rises_for_good(curve, rise)
    if found is None:
        return absent(f"{curve.name} does not rise for good", series=(curve.name,))
    step = curve.step(found.onset)
    now = float(np.interp(step, lr.steps, lr.values))
    words = f"{curve.name} rises for good from step {step:g} on, where the learning rate was {now:.3g}"
    first = float(lr.values[lr.values > 0][0]) if lr.peak > 0 else 0.0
    climbing = bool(np.all(np.diff(lr.values[lr.steps <= step]) >= 0)) and now < _STILL * lr.peak
    if not climbing or now < climbed * first or found.best.value >= (1 - _LEARNT) * curve.start.value:
        return absent(f"{words} and no longer on its way up", series=(curve.name,))
    return present(
        f"{words}, on its way up to {lr.peak:.3g}",
        value=round(found.ratio, 4),
        threshold=rise,
        step=step,
        **see(curve, found.onset),
    )


def _level(held: Shape, first: int) -> float:
    """The median of the first points of a curve, or of its last ones where `first` is negative."""
    return float(np.median(held.y[:first] if first > 0 else held.y[first:]))


@probe("train/loss", "eval/loss")
def both_losses_worsen(view: View, above: float = 0.1, points: int = 4) -> Finding:
    """The training and the evaluation loss both end above where they began, and were never clearly below.

    `points`: how many each of them has at least; one in five of them, or the first, is the beginning.
    """
    run = view.run
    reason = situation.objective(run)
    losses = [shape(run.series[n]) for n in ("train/loss", "eval/loss") if n in run.series]
    curves = [c for c in losses if c is not None and c.count >= points and c.positive]
    if reason or len(curves) < 2:
        return unknown(reason or f"{points} points above zero of train/loss and eval/loss are needed")
    if run.events_of("resume", "rewind"):
        return unknown("the run was resumed: where it began is not known")
    words, worse, ends = [], True, []
    for one in curves:
        size = max(1, one.count // 5)
        begin, end = _level(one, size), _level(one, -size)
        lowest = float(np.min(stats.block_medians(one.y, stats.block_edges(one.count, min(one.count, 6)))))
        margin = max(above * begin, stats.noise(one.y))
        worse = worse and end - begin > margin and lowest >= 0.95 * begin
        words.append(f"{one.name} begins at {begin:.4g} and ends at {end:.4g}")
        ends.append(end / begin)
    why = "; ".join(words)
    seen: dict[str, Any] = {"value": round(min(ends), 4), "threshold": 1 + above}
    if worse:
        return present(f"{why}: neither was ever better", **see(curves[1], curves[1].count - 1), **seen)
    return absent(why, series=("train/loss", "eval/loss"), **seen)


_ALWAYS = 4  # so many last evaluations have to agree
_DIGITS = 3e-4  # relative: how exactly both have to meet, which chance does once in hundreds of pairs


@probe("eval/accuracy", "eval/f1|eval/recall|eval/dice|eval/iou")
def one_class_by_f1(view: View, share: float = 0.6, low: float = 0.5) -> Finding:
    """Accuracy and macro F1 of an evaluation are exactly those of one answer for all, the largest class.

    Who always answers a class that holds the share a of the samples has the accuracy a, and of the F1 of K
    classes one, 2a / (1 + a), and zeros: the mean is known. Only where that class holds more than `share`,
    and the F1 stays below `low` to the end. The F1 of two classes is that of the rarer one: exactly zero to
    the end, with one accuracy to its last digit, while the training loss falls, is the same.
    """
    right, mean = view.run.series.get("eval/accuracy"), view.run.series.get("eval/f1")
    for name in ("eval/recall", "eval/dice", "eval/iou"):
        hits = view.run.series.get(name)
        if right is not None and hits is not None and (found := _never_found(right, hits)) is not None:
            return found
    if right is not None and (found := _never_by_all(view.run, right)) is not None:
        return found
    if right is None or mean is None:
        return unknown("accuracy and F1 of evaluation data are not both logged")
    both = _together(right, mean)
    if not len(both):
        return unknown("accuracy and F1 of evaluation data are logged at other steps")
    end = float(both[-1, 2])
    seen: dict[str, Any] = {"value": round(end, 4), "threshold": low, "series": (right.name, mean.name)}
    for step, a, f in both:
        if share < a < 1 and f > 0:
            classes = (2 * a / (1 + a)) / f
            if round(classes) >= 3 and abs(classes / round(classes) - 1) <= _DIGITS and end < low:
                words = (
                    f"at step {step:g} accuracy {a:.4g} and F1 {f:.4g} are those of always answering one of"
                    f" {round(classes)} classes: it holds {a:.0%} of the samples; F1 ends at {end:.3g}"
                )
                return present(words, step=float(step), **seen)
    last = both[-_ALWAYS:]
    loss = shape(view.run.series["train/loss"]) if "train/loss" in view.run.series else None
    never = len(last) == _ALWAYS and not np.any(last[:, 2]) and float(np.ptp(last[:, 1])) == 0.0
    if never and share < last[0, 1] < 1 and loss is not None and loss.positive and loss.progress > 0.3:
        words = (
            f"F1 is 0 and accuracy {last[0, 1]:.4g} to the last digit at the last {_ALWAYS} evaluations,"
            f" while {loss.name} fell by {loss.progress:.0%}: the rarer class is never answered"
        )
        return present(words, step=float(last[0, 0]), **seen)
    return absent(f"F1 ends at {end:.3g} with an accuracy of {both[-1, 1]:.3g}", **seen)


@probe()
def one_class_found(view: View, low: float = 0.03, high: float = 0.7, least: int = 4) -> Finding:
    """Of the scores of single classes one is above `high`, and no other ever comes to `low`.

    The background is most of a picture: who finds nothing else has nearly all of its points right.
    """
    run = view.run
    kinds = ("iou", "dice", "recall", "f1")
    scores: dict[str, dict[str, Series]] = {}
    for name, series in run.series.items():
        split, _, rest = name.partition("/")
        kind, _, single = rest.partition("/")
        if split in ("eval", "test") and kind in kinds and single and len(finite(series)) >= least:
            scores.setdefault(f"{split}/{kind}", {})[single] = series
    told = next(((n, s) for n, s in scores.items() if len(s) >= 2), None)
    if told is None:
        return unknown("no scores of several single classes were logged")
    loss = shape(run.series["train/loss"]) if "train/loss" in run.series else None
    if loss is None or (loss.positive and loss.progress < 0.3):
        return unknown("training has not come far enough to find a rare class")
    name, each = told
    best = max(each, key=lambda k: float(finite(each[k])[-1]))
    others = [float(np.max(finite(s))) for k, s in each.items() if k != best]
    top = float(np.median(finite(each[best])[-least:]))
    words = (
        f"{name} of class {best} is {top:.3g}; the best of the other {len(others)} comes to {max(others):.3g}"
    )
    seen: dict[str, Any] = {"value": round(max(others), 4), "threshold": low, "series": (each[best].name,)}
    if top >= high and max(others) < low:
        return present(words, where=(place(each[best], len(each[best]) - 1),), **seen)
    return absent(words, **seen)


def _never_by_all(run: Run, right: Series, rare: float = 0.15, least: int = 3) -> Finding | None:
    """Two or more of precision, recall, F1 and correlation are zero at every evaluation, few as they are."""
    scores = [run.series.get(f"eval/{n}") for n in ("precision", "recall", "f1", "correlation")]
    never = [s for s in scores if s is not None and len(finite(s)) >= least and not np.any(finite(s))]
    values = finite(right)
    if len(never) < 2 or len(values) < least or not 1 - rare <= float(np.min(values)) < 1:
        return None
    if float(np.ptp(values)) > 0.002:
        return None
    named = ", ".join(s.raw for s in never)
    words = f"{named} are 0 at all {len(values)} evaluations, and accuracy is {values[-1]:.4g}"
    return present(
        f"{words}: the rarer class is never answered",
        value=0.0,
        threshold=rare,
        step=float(right.steps[0]),
        series=(right.name, *(s.name for s in never)),
    )


def _never_found(right: Series, recall: Series, rare: float = 0.15) -> Finding | None:
    """A recall or overlap of zero with a high accuracy: what is looked for is rare and never answered."""
    last = _together(right, recall)[-_ALWAYS:]
    if len(last) < _ALWAYS or np.any(last[:, 2]) or not 1 - rare <= float(np.min(last[:, 1])) < 1:
        return None
    a = float(last[-1, 1])
    return present(
        f"{recall.name} is 0 and {right.name} {a:.4g} at the last {_ALWAYS} evaluations: the class that is"
        f" looked for holds {1 - a:.1%} of the samples at most, and none is found",
        value=a,
        threshold=1 - rare,
        step=float(last[0, 0]),
        series=(right.name, recall.name),
    )


def _together(one: Series, other: Series) -> Floats:
    """Rows of step and both values, at the steps that both were logged at."""
    later = dict(zip(other.steps.tolist(), other.values.tolist(), strict=True))
    rows = [
        (s, v, later[s]) for s, v in zip(one.steps.tolist(), one.values.tolist(), strict=True) if s in later
    ]
    found: Floats = np.array([r for r in rows if np.all(np.isfinite(r))], dtype=float).reshape(-1, 3)
    return found


@probe("train/loss")
def large_rate_lifts(view: View, adam: float, sgd: float, rise: float = 1.3) -> Finding:
    """The loss of a trained model rises by `rise` for good in the first half of the run, at a large rate.

    What is tuned starts low and has all to lose: a rise at once, at a rate beyond the usual, is no chance.
    """
    series = situation.main_loss(view.run)
    loss = None if series is None else shape(series)
    if loss is None or loss.count < 8:
        return unknown("the training loss has too few points; 8 are needed")
    if why := situation.objective(view.run):
        return unknown(why)
    trained = situation.trained_start(view.run, loss)
    if trained is None:
        return unknown("nothing says that training starts from trained weights")
    found = above_usual(view, adam, sgd, "at or above the upper end", until_broken=True)
    if found.state is not State.PRESENT:
        return found
    up = rises_for_good(loss, rise)
    words = f"{trained}; {found.why}"
    if up is None or loss.part(up.onset) > 0.5:
        return absent(f"{words}; {loss.name} does not rise for good", series=(loss.name,))
    return present(
        f"{words}, and {loss.name} rises from {up.best.value:.4g} to {up.end.value:.4g}",
        value=found.value,
        step=loss.step(up.onset),
        **see(loss, up.onset),
    )
