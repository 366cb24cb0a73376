"""Single losses that cannot be: below zero where none can lie, or of a size of their own."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ..registry import Finding, View, absent, place_of, present, unknown
from ..run import Run
from . import situation, stats
from .judging import on_loss, probe, see
from .levels import OVERLAPS
from .no_number import broken
from .shapes import Shape
from .unlike_totals import weighed_term

# Losses that are zero for a perfect answer: minus the logarithm of a probability, or a distance. The
# likelihood of a density ("nll"), a similarity and an overlap are no such losses.
_FROM_ZERO = frozenset(
    [
        *("ctc", "rnnt", "transducer", "ce", "bce", "xent", "xentropy", "crossentropy", "focal"),
        *("mse", "mae", "l1", "l2", "huber"),
    ]
)
_WORD = re.compile(r"[a-z0-9]+")
_TAKEN_OFF = re.compile(r"(?i)\b\w*(?:dice|_iou|iou_|tversky|jaccard|entropy_(?:weight|coef|bonus|reg))\w*")
ABSURD = 1e20  # no likelihood of a density is of this size


@on_loss(3)
def below_its_floor(run: Run, curve: Shape, least: float) -> Finding:
    """A loss that is named a cross-entropy, CTC or distance lies `least` below zero, or any at -1e20.

    Minus the logarithm of a probability is never negative. Scores where log-probabilities are expected make
    it so, at first or always, and so do targets outside of 0 to 1.
    """
    if reason := situation.objective(run):
        return unknown(reason)
    low = int(np.argmin(curve.y))
    named = " ".join((curve.name, curve.series.raw, situation.text(run, "loss_function")))
    terms = [n for n in run.series if n.startswith("train/loss/")]
    named = re.sub(r"cross[ _-]entropy", "crossentropy", " ".join((named, *terms)).lower()).replace("_", " ")
    said = set(_WORD.findall(named))
    kinds = said & _FROM_ZERO if len(terms) < 2 and said.isdisjoint(OVERLAPS) else set()
    seen: dict[str, Any] = {"value": float(curve.y[low]), "threshold": -least}
    words = f"the smallest value of {curve.name} is {curve.y[low]:.4g}"
    if curve.y[low] < -ABSURD:
        return present(f"{words}: no loss is of that size", step=curve.step(low), **seen, **see(curve, low))
    if not kinds:
        if curve.y[low] >= 0:
            return absent(words, series=(curve.name,), **seen)
        return unknown(f"{words}; its name does not tell whether that can be")
    if curve.y[low] >= -least:
        return absent(words, series=(curve.name,), **seen)
    if other := weighed_term(run):
        return unknown(f"{words}; a further term may be taken off ({other})")
    return present(
        f"{words}, though it is named {min(kinds)}, which is zero at best",
        step=curve.step(low),
        **seen,
        **see(curve, low),
    )


@on_loss(10)
def sinks_below_zero(run: Run, curve: Shape, least: float) -> Finding:
    """A binary cross-entropy, by the settings, begins above zero and falls `least` below it.

    With targets from 0 to 1 it cannot; a wrong sign is below zero from the first step on.
    """
    low = int(np.argmin(curve.y))
    first = float(np.median(curve.y[: max(3, curve.count // 20)]))
    words = f"{curve.name} begins at {first:.4g} and its smallest value is {curve.y[low]:.4g}"
    seen: dict[str, Any] = {"value": float(curve.y[low]), "threshold": -least}
    if first <= 0 or curve.y[low] >= -least:
        return absent(words, series=(curve.name,), **seen)
    if not situation.binary(run):
        return unknown(f"{words}; no setting tells that the loss is a binary cross-entropy")
    if reason := situation.objective(run):
        return unknown(reason)
    if any(_TAKEN_OFF.search(text) for text in run.scripts.values()):
        return unknown("an overlap or an entropy may be taken off")
    if other := weighed_term(run):
        return unknown(f"a further term may be taken off ({other})")
    named = situation.text(run, "loss_function")
    return present(
        f"{words}: a {named} of targets from 0 to 1 stays above zero",
        step=curve.step(low),
        **seen,
        **see(curve, low),
    )


@on_loss(20)
def of_another_size(run: Run, curve: Shape, ratio: float, gap: float, points: int = 3) -> Finding:
    """Single points, `points` of them at least, lie `ratio` times above the others, with nothing between.

    The points after them are as the others: it is the batch that has such a loss, and not the model that is
    thrown off. Between the two sizes no point lies within a factor of `gap`; a heavy tail has such points.
    """
    if reason := situation.objective(run):
        return unknown(reason)
    begin = max(2, curve.count // 10)
    y = curve.y[begin:]
    if not curve.positive or len(y) < 15:
        return unknown("the loss cannot be judged by ratios")
    level = np.log(y) - np.log(stats.running_median(y, 9))
    order = np.sort(level)
    wide = np.diff(order)
    wide[: len(order) // 2] = 0.0
    at = int(np.argmax(wide))
    high = level > (order[at] + order[at + 1]) / 2
    step = float(np.exp(wide[at]))
    share = float(np.mean(high))
    lowest = float(np.exp(np.min(level[high]))) if np.any(high) else 0.0
    seen: dict[str, Any] = {"value": round(lowest, 3), "threshold": ratio}
    words = (
        f"{np.sum(high)} of {len(y)} points of {curve.name} lie {lowest:.3g} times above those around them"
    )
    if np.sum(high) < points or step < gap or lowest < ratio:
        return absent(f"no {points} points of {curve.name} are of another size", series=(curve.name,), **seen)
    if len(np.unique(y[high])) == 1:
        return unknown(f"{words}, all of them {y[high][0]:g}: an end of the number format, or a code", **seen)
    groups = int(np.sum(high[1:] & ~high[:-1])) + int(high[0])
    if share > 0.4 or groups < points or np.sum(high) > 2 * groups:
        return unknown(f"{words}, many of them in a row", **seen)
    first = begin + int(np.argmax(high))
    return present(f"{words}, and none between", step=curve.step(first), **seen, **see(curve, first))


@probe()
def infinite_alignment(view: View, *, calm: float) -> Finding:
    """The loss of CTC is infinite at once: no alignment gives the target, too long or unknown as it is.

    A probability of zero is what CTC gives to targets that cannot be; no floor under a logarithm mends it.
    """
    if not situation.aligned(view.run):
        return unknown("nothing tells that the loss is one of CTC")
    if _forced(view.run):
        return unknown("the loss is computed in fp16, too (force_fp16), where a vanished probability is zero")
    return infinite_at_once(view, calm=calm)


def _forced(run: Run) -> bool:
    """Whether Ascend's graph engine computes everything in fp16: sums, exponentials and the loss, too."""
    mode = run.settings.get("graph_precision")
    return mode is not None and str(mode.value).lower() == "force_fp16"


@probe("config:graph_precision")
def lost_where_all_is_half(view: View) -> Finding:
    """The loss stops being a number in a graph of which every operator is computed in fp16 (`force_fp16`)."""
    setting = view.run.settings["graph_precision"]
    if not _forced(view.run):
        return absent(f"precision_mode is {setting.value}: not all operators are computed in fp16")
    found = broken(view.run)
    if found is None:
        loss = situation.main_loss(view.run)
        return absent(f"all values of {loss.name} are numbers") if loss else unknown("no loss is logged")
    words = f"{found.said}, and precision_mode = {setting.value} computes all operators in fp16"
    return present(
        words,
        value=str(setting.value),
        step=found.step,
        where=(found.where, place_of(setting)),
        series=(found.name,),
    )


@probe()
def infinite_at_once(view: View, calm: float) -> Finding:
    """The first loss that is no number is infinite, and was no larger than `calm` times its median before.

    A missing value makes a loss NaN. Infinite is a logarithm of zero, a division by zero, the loss of targets
    that no answer has (CTC with more labels than frames), or a number beyond a format's range.
    """
    run = view.run
    found = broken(run)
    if found is None:
        series = situation.main_loss(run)
        if series is None or not len(series):
            return unknown(situation.no_loss(run))
        return absent(f"all values of {series.name} are numbers", series=(series.name,))
    if found.word != "infinite":
        return absent(f"{found.said}: not infinite first", series=(found.name,))
    before = (
        float(found.before[-1]) / max(float(np.median(found.before)), 1e-300) if len(found.before) else 0.0
    )
    if before > calm:
        return unknown(f"{found.said}, after it had grown")
    return present(found.said, value=before, threshold=calm, step=found.step, where=(found.where,))
