"""Values that a run reaches only in one way: each is exact, so that standing on it names what happened."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..registry import Finding, View, absent, place_of, present, probe, unknown
from ..run import Floats, Run, Series
from ..settings import class_counts
from . import situation, stats
from .judging import on_loss, see
from .metrics import finite, last_place, too_few
from .shapes import Shape

# With logits from a sigmoid, the probability of the loss lies between 1/2 and 1/(1 + 1/e) for both classes.
POSITIVE_FLOOR = math.log(1 + math.exp(-1))  # 0.3133: the least loss of a positive sample
NEGATIVE_FLOOR = math.log(2)  # 0.6931: the least loss of a negative one

# What an error costs at most: -ln of the smallest probability let through, and PyTorch's cut of a logarithm.
# In float32 one less 1e-7 is one less 2**-23, so that an error towards the other class costs ln 2**23.
CUT_OFFS = (*(-math.log(10.0**-k) for k in (6, 7, 8, 9, 10, 12, 15)), 23 * math.log(2), 100.0)


@on_loss()
def constant(_: Run, curve: Shape, digits: int = 4) -> Finding:
    """Every value is the same to its last digit, though each belongs to another batch.

    `digits` significant digits must be printed: two decimals repeat by themselves. Zero is another finding.
    """
    first = float(curve.y[0])
    words = f"{curve.name} is {first:.6g} at all {curve.count} points"
    if np.ptp(curve.y) > 0:
        return absent(f"{curve.name} moves between {np.min(curve.y):.6g} and {np.max(curve.y):.6g}")
    if first == 0:
        return unknown(f"{words}, and a loss of zero is another finding")
    if len(f"{first:.9g}".replace("-", "").replace(".", "").strip("0")) < digits:
        return unknown(f"{words}, printed with few digits")
    return present(words, value=first, step=curve.step(0), **see(curve, curve.count - 1))


@on_loss(8)
def double_sigmoid(run: Run, curve: Shape, tolerance: float = 0.03) -> Finding:
    """A binary cross-entropy on logits stands where the outputs of a sigmoid hold it.

    With a share p of positive samples the floor is p ln(1 + 1/e) + (1 - p) ln 2. Where p is not known, the
    loss must lie between the two floors although nearly all answers are right.
    """
    if not situation.binary(run):
        return unknown("the loss is not known to be a binary cross-entropy")
    if situation.switched_on(run, "label_smoothing"):
        return unknown("label smoothing makes a floor too")
    accuracy = situation.metric(run, "train", ("accuracy",)) or situation.metric(run, "eval", ("accuracy",))
    level, best = curve.end.value, float(np.min(curve.y))
    words = f"{curve.name} ends at {level:.4g} (least {best:.4g})"
    counts = class_counts(run.raw_settings)
    floor = POSITIVE_FLOOR
    if counts is not None and len(counts[0]) == 2 and sum(counts[0]) > 0:
        share = min(counts[0]) / sum(counts[0])
        floor = share * POSITIVE_FLOOR + (1 - share) * NEGATIVE_FLOOR
    seen: dict[str, Any] = {"value": round(level, 4), "threshold": round(floor, 4), "series": (curve.name,)}
    if best < POSITIVE_FLOOR * (1 - tolerance):
        return absent(f"{words}, below the least that a second sigmoid allows ({POSITIVE_FLOOR:.4f})", **seen)
    if accuracy is None:
        return unknown(f"{words}; without an accuracy a high loss can be an ordinary one")
    reached = situation.reached(accuracy)
    words = f"{words} with {accuracy.name} at {reached:.3g}"
    if reached < 0.95:
        return unknown(f"{words}: too many wrong answers to tell")
    if level <= NEGATIVE_FLOOR + (1 - reached) + tolerance:
        return present(f"{words}; a second sigmoid holds it above {floor:.4f}", step=curve.step(-1), **seen)
    return absent(words, **seen)


@probe()
def errors_cut_off(view: View, tolerance: float = 0.005, points: int = 3) -> Finding:
    """Each wrong answer costs what the loss is cut off at, right ones nothing: outputs are exactly 0 or 1.

    A share of errors e then gives a loss of e times that cost, at every evaluation; any other course would
    have to keep this ratio by chance. Most runs that are thrown off do not end so: absent only
    where a loss halves.
    """
    run, halves = view.run, False
    for split in ("eval", "train"):
        loss, accuracy = run.series.get(f"{split}/loss"), run.series.get(f"{split}/accuracy")
        if loss is None or accuracy is None:
            continue
        _, here, there = np.intersect1d(loss.steps, accuracy.steps, return_indices=True)
        values, wrong = loss.values[here], 1.0 - accuracy.values[there]
        kept = np.isfinite(values) & np.isfinite(wrong) & (wrong > 0.03) & (wrong <= 1.0)
        rounded = 0.0
        if np.sum(kept) < points and _stands(values, wrong, points):
            kept, rounded = np.isfinite(values), _rounding(wrong)
        if np.sum(kept) < points:
            continue
        halves |= float(np.min(values[kept])) < 0.5 * float(np.max(values[kept]))
        costs = values[kept] / wrong[kept]
        cost = float(np.median(costs))
        near = min(CUT_OFFS, key=lambda c: abs(c - cost))
        late = costs[-max(points, len(costs) // 2) :]
        if np.all(np.abs(late - near) < (tolerance + rounded) * near):
            return present(
                f"{loss.name} is {cost:.4g} times the share of errors, at {len(late)} points up to the end:"
                f" each error costs the most that the loss can take",
                value=cost,
                threshold=near,
                series=(loss.name, accuracy.name),
                where=last_place(loss),
            )
    if halves:
        return absent("wrong answers do not all cost what a loss is cut off at")
    return unknown("no course of loss and accuracy below perfection that would tell")


def _stands(values: Floats, wrong: Floats, points: int) -> bool:
    """Whether a loss and a small share of errors hardly move from the second point on."""
    late, few = values[1:], wrong[1:]
    if len(late) < points or not np.all(np.isfinite(late) & np.isfinite(few)) or float(np.min(few)) <= 0:
        return False
    return bool(np.ptp(late) <= 0.02 * np.median(late) and np.ptp(few) <= 0.02 * np.median(few))


def _rounding(wrong: Floats) -> float:
    """How far printing an accuracy with four digits may have moved its share of errors, relative to it."""
    share = float(np.median(wrong))
    return 5e-5 / share if np.allclose(wrong, np.round(wrong, 4), atol=1e-9) else 0.0


@probe("eval/perplexity|train/perplexity")
def perplexity_at_vocabulary(view: View, tolerance: float = 0.1) -> Finding:
    """The perplexity never gets below the number of words: every word is as likely as any other."""
    run = view.run
    words_known = situation.number(run, "vocab_size")
    if words_known is None or words_known < 2:
        return unknown("the size of the vocabulary is not known")
    series = run.series.get("eval/perplexity") or run.series["train/perplexity"]
    values = finite(series)
    if len(values) < 2:
        return unknown(too_few(series, 2))
    best = float(np.min(values))
    text = f"{series.name} is {best:.5g} at best; a guess among {words_known:g} words gives {words_known:g}"
    seen: dict[str, Any] = {"value": best, "threshold": words_known, "series": (series.name,)}
    if best >= (1 - tolerance) * words_known:
        where = (*last_place(series), place_of(run.settings["vocab_size"]))
        return present(text, step=float(series.steps[0]), where=where, **seen)
    return absent(text, **seen)


@probe("eval/accuracy")
def one_class_answered(view: View, points: int = 3) -> Finding:
    """Every evaluation gives the share of one class to the last digit: the model answers that class only.

    The share is 1/K where classes are balanced, or one of the recorded shares. Of two classes whose shares
    nobody recorded, the loss tells: it is the entropy of shares that are the accuracy and its rest.
    """
    run = view.run
    series = run.series["eval/accuracy"]
    values = finite(series)
    if len(values) < points:
        return unknown(too_few(series, points))
    shares = _shares(run)
    level = float(values[-1])
    seen: dict[str, Any] = {"value": round(level, 6), "series": (series.name,)}
    if np.ptp(values) > 0:
        return absent(f"{series.name} moves between {np.min(values):.4g} and {np.max(values):.4g}", **seen)
    if ranked := situation.ranks_well(run):
        return unknown(
            f"{series.name} is always {level:.4g}, but {ranked}: a threshold answers one class", **seen
        )
    if not shares and _costs_a_constant(run, level):
        return present(
            f"{series.name} is {level:.6g} at all {len(values)} evaluations, and the loss is what two "
            f"classes of that share cost when each sample gets the same answer",
            step=float(series.steps[0]),
            where=last_place(series),
            **seen,
        )
    if not shares:
        return unknown(f"{series.name} is always {level:.6g}; the shares of the classes are not known")
    near = min(shares, key=lambda share: abs(share - level))
    printed = max(stats.quantum(values), 1e-4)
    text = f"{series.name} is {level:.6g} at all {len(values)} evaluations"
    if abs(near - level) <= printed / 2 + 1e-9:
        return present(
            f"{text}: the share of one class", step=float(series.steps[0]), where=last_place(series), **seen
        )
    return absent(f"{text}; no class has this share", **seen)


def _costs_a_constant(run: Run, share: float, tolerance: float = 0.01) -> bool:
    """The last evaluation loss is the entropy of two classes with these shares."""
    loss = run.series.get("eval/loss")
    if loss is None or not len(values := finite(loss)):
        return False
    if not 0.5 <= share < 0.95:
        return False
    entropy = -share * math.log(share) - (1 - share) * math.log(1 - share)
    return abs(float(values[-1]) - entropy) <= tolerance * entropy


def _shares(run: Run) -> tuple[float, ...]:
    """The shares of the classes in the evaluation data, as far as anything is known of them."""
    counts = class_counts(run.raw_settings)
    if counts is not None and len(counts[0]) > 1 and sum(counts[0]) > 0:
        return tuple(n / sum(counts[0]) for n in counts[0])
    known = situation.classes(run)
    if known is not None and known.setting.key == "num_classes" and known.count <= 1000:
        return (1.0 / known.count,)
    return ()


@probe("eval/r2|train/r2")
def explains_nothing(view: View, margin: float = 0.03) -> Finding:
    """The coefficient of determination stays at zero: nothing is predicted but the mean."""
    series: Series = view.run.series.get("eval/r2") or view.run.series["train/r2"]
    values = finite(series)
    if len(values) < 3:
        return unknown(too_few(series, 3))
    best, end = float(np.max(values)), situation.reached(series)
    seen: dict[str, Any] = {"value": round(best, 4), "threshold": margin, "series": (series.name,)}
    text = f"{series.name} ends at {end:.3g} (best {best:.3g}); predicting the mean gives 0"
    if best > margin:
        return absent(text, **seen)
    if end < -margin:
        return absent(f"{text}: worse than the mean", **seen)
    return present(text, step=float(series.steps[0]), where=last_place(series), **seen)
