"""Where the training loss stands: zero, below zero, the level of a guess, the floor of a wrong loss."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from ...engine.model import Place, State
from ..config.values import number_of
from ..registry import Finding, absent, place, place_of, present, unknown
from ..run import Run, Series
from ..settings import class_counts
from . import fitted, situation, stats
from .judging import is_mean_of_epochs, on_loss, see, tail_of
from .shapes import Shape
from .unlike_totals import weighed_term

MANY_CLASSES = 1000  # a vocabulary: the loss of a guess is far above what any trained model has
COMMON_CLASSES = (*range(2, 11), 20, 50, 100, 1000)


@on_loss(3)
def zero(run: Run, curve: Shape, share: float = 0.05) -> Finding:
    """`share` of the points (two at least) are exactly zero while gradients are numbers.

    Zeros that are small values printed with few decimals do not count, nor rows where a NaN was written as 0.
    The advantages of a group sum to nothing: TRL's GRPO logs a loss of 0 as long as policies are near.
    """
    if why := situation.reinforced(run):
        return unknown(f"{why}: advantages that sum to nothing give a loss of zero")
    zeros = curve.y == 0
    part = float(np.mean(zeros))
    seen: dict[str, Any] = {"value": round(part, 4), "threshold": share}
    if not np.any(zeros):
        return absent(f"no point of {curve.name} is exactly zero", series=(curve.name,), **seen)
    first = int(np.argmax(zeros))
    smallest = float(np.min(curve.y[curve.y > 0])) if np.any(curve.y > 0) else math.inf
    printed = stats.quantum(curve.y)
    if printed > 0 and smallest <= 5.01 * printed:
        return absent(
            f"{curve.name} is printed to {printed:g}: its zeros are small values",
            series=(curve.name,),
            **seen,
        )
    if part < share or np.sum(zeros) < 2:
        return absent(f"{part:.1%} of the points of {curve.name} are zero", series=(curve.name,), **seen)
    norms = run.series.get("grad_norm")
    if norms is not None:
        same = np.isin(norms.steps, curve.series.steps[curve.index[zeros]])
        if np.any(same) and not np.any(np.isfinite(norms.values[same])):
            return absent(
                f"{curve.name} is 0 where grad_norm is not a number: a masked NaN, not a zero loss",
                series=(curve.name, "grad_norm"),
                **seen,
            )
    return present(
        f"{curve.name} is exactly 0 at {np.sum(zeros)} of {curve.count} points, first at"
        f" step {curve.step(first):g}",
        step=curve.step(first),
        **seen,
        **see(curve, first),
    )


@on_loss(5)
def zero_without_right_answers(run: Run, curve: Shape, share: float = 0.9, right: float = 0.5) -> Finding:
    """The loss is exactly zero at `share` of the points; fewer than `right` of the answers are right.

    An answer that is wrong costs something; a loss of nothing is that of positions without a label.
    """
    if why := situation.reinforced(run):
        return unknown(f"{why}: advantages that sum to nothing give a loss of zero")
    accuracy = situation.metric(run, "train", ("accuracy",))
    if accuracy is None or not np.any(known := np.isfinite(accuracy.values)):
        return unknown("no accuracy of the training data is a number")
    part, best = float(np.mean(curve.y == 0)), float(np.max(accuracy.values[known]))
    seen: dict[str, Any] = {
        "value": round(best, 4),
        "threshold": right,
        "series": (curve.name, accuracy.name),
    }
    words = (
        f"{curve.name} is exactly 0 at {part:.0%} of its points, and {accuracy.raw} is {best:.3g} at its best"
    )
    if part < share or best >= right:
        return absent(words, **seen)
    return present(words, step=curve.step(0), **seen, where=see(curve, 0)["where"])


_OF_CLASSES = 13.0  # nats: as much as a guess among 400,000 classes or words loses
SOLVED = 0.95  # of a score between 0 and 1 on held-out data


def _names_classes(run: Run) -> bool:
    """Whether settings or metrics say that it is a loss among classes."""
    named = situation.text(run, "loss_function")
    return situation.classes(run) is not None or any(w in named for w in _AMONG_CLASSES)


@on_loss()
def near_zero(run: Run, curve: Shape, level: float = 0.01) -> Finding:
    """The last part of the run lies below `level` and far below the start."""
    if situation.regression(run):
        return unknown("the loss of a regression has no absolute scale")
    if reason := situation.objective(run):
        return unknown(reason)
    seen: dict[str, Any] = {"value": curve.end.value, "threshold": level}
    words = (
        f"{curve.name} ends at {curve.end.value:.3g} ({tail_of(curve)}), it began at {curve.start.value:.3g}"
    )
    small = 0 <= curve.end.value < level
    if curve.end.value == 0 == curve.start.value:
        return unknown(f"{words}: exactly zero from the start, which is another thing")
    if curve.end.value == 0 and stats.quantum(curve.y) == 0:
        return unknown(f"{words}: exactly zero, which is another thing")
    if small and not situation.metric(run, "train"):
        if curve.start.value < 10 * level or (curve.start.value > _OF_CLASSES and not _names_classes(run)):
            return unknown(f"{words}: without a metric its scale is not known")
    scored = situation.metric(run, "eval", situation.FRACTIONS)
    if small and scored is not None and situation.reached(scored) >= SOLVED:
        return unknown(f"{words}, and {scored.name} at {situation.reached(scored):.3g}: the task is solved")
    held = run.series.get("eval/loss")
    if small and held is not None and len(held) and situation.reached(held) < max(level, 3 * curve.end.value):
        return unknown(f"{words}, and eval/loss at {situation.reached(held):.3g}: the task is solved")
    if small and curve.end.value < 0.05 * max(curve.start.value, level):
        below = int(np.argmax(curve.sy < level))
        return present(words, step=float(curve.sx[below]), **seen, **see(curve, curve.end.first))
    return absent(words, series=(curve.name,), **seen)


OVERLAPS = ("dc", "dice", "tversky", "iou", "jaccard")  # minus an overlap, where added, goes below zero
_AMONG_CLASSES = ("cross", "ce", "entropy", "bce", "focal")


# losses that are never below zero; a script without any has one of its own
_ABOVE_ZERO = re.compile(
    r"(?i)cross_?entropy|nll_?loss|bce|with_?logits|log_?softmax|mse|squared|l1_?loss|absolute|huber|hinge|\bmae\b"
    r"|compile\(|Trainer\(|\.loss\b|loss\s*=\s*model\(|\bimport_module\("
)


def _of_shares(run: Run) -> float:
    """What a guess by the shares of the classes loses, where their counts are recorded."""
    counts = class_counts(run.raw_settings)
    if counts is None or sum(counts[0]) <= 0:
        return math.inf
    shares = [n / sum(counts[0]) for n in counts[0] if n > 0]
    return -sum(p * math.log(p) for p in shares)


_FAR_ABOVE = 5.0  # nats: more than a guess among a hundred classes loses


def may_lie_below_zero(run: Run, curve: Shape) -> bool:
    """Whether a loss below zero may be that of a density, a similarity or an overlap.

    A loss among classes is told by its metric, by their number or by its name. One that runs away, in the end
    as fast as in the middle, is what is left of a wrong sign.
    """
    if any(situation.metric(run, s, ("accuracy", "f1", "auc")) for s in ("train", "eval", "test")):
        return False
    scripts = run.scripts.values()
    if fitted.density(run) or (scripts and not any(map(_ABOVE_ZERO.search, scripts))):
        return situation.bottomless(curve.series) is None
    named = situation.text(run, "loss_function")
    added = any(w in re.split(r"[^a-z0-9]+", named.replace("_", " ")) for w in OVERLAPS)
    added |= any(w in named for w in ("dice", "tversky", "jaccard"))  # softdiceloss
    if not added and (situation.classes(run) is not None or any(w in named for w in _AMONG_CLASSES)):
        return False
    if situation.bottomless(curve.series) is not None or curve.count < 8:
        return False
    if curve.start.value > _FAR_ABOVE:
        return True  # a wrong sign begins below zero, and a guess among few classes loses far less
    middle, late = curve.at(0.4) - curve.at(0.7), curve.at(0.7) - curve.at(1.0)
    return late < 0.7 * middle or late < 0.1 * (curve.at(0.0) - curve.at(1.0))


@on_loss(3)
def negative(run: Run, curve: Shape) -> Finding:
    """Values below zero, more than single ones.

    The likelihood of a density, a similarity and a Dice score that are maximised lie below zero as well: they
    settle there, and nobody logs an accuracy beside them. A wrong sign runs away.
    """
    if situation.objective(run):
        return unknown(str(situation.objective(run)))
    below = curve.y < 0
    seen: dict[str, Any] = {"value": float(np.min(curve.y)), "threshold": 0.0}
    if np.sum(below) >= max(1, 0.02 * curve.count):
        if may_lie_below_zero(run, curve):
            return unknown(
                f"{curve.name} goes down to {np.min(curve.y):.4g}, as a likelihood of densities, a similarity"
                " or a Dice score does, and no accuracy tells that it is a cross-entropy"
            )
        mixed = all(0.1 <= float(np.mean(part)) <= 0.9 for part in np.array_split(below, 3))
        if mixed and 0.2 <= float(np.mean(below)) <= 0.8 and curve.count >= 15:
            return unknown(f"{curve.name} goes about zero from the start, as a difference of two terms does")
        if other := weighed_term(run):
            return unknown(f"{curve.name} is below zero, and a further term may be taken off ({other})")
        first = int(np.argmax(below))
        return present(
            f"{curve.name} is below zero at {np.sum(below)} of {curve.count} points, first"
            f" {curve.y[first]:.4g} at"
            f" step {curve.step(first):g}",
            step=curve.step(first),
            **seen,
            **see(curve, first),
        )
    return absent(
        f"the smallest value of {curve.name} is {np.min(curve.y):.4g}", series=(curve.name,), **seen
    )


@on_loss(6)
def bottomless_in_training(run: Run, curve: Shape, from_the_start: bool) -> Finding:
    """The training loss runs away below zero while that of the evaluation stays above it.

    Targets outside the range of a cross-entropy sink the loss of the training alone, from where an untrained
    model is: above zero. With a wrong sign, or likelihoods of scores, it is below zero `from_the_start`.
    """
    if situation.objective(run):
        return unknown(str(situation.objective(run)))
    sunk = situation.bottomless(curve.series)
    if sunk is None:
        return absent(f"the smallest value of {curve.name} is {np.min(curve.y):.4g}", series=(curve.name,))
    held = run.series.get("eval/loss")
    finite = held.values[np.isfinite(held.values)] if held is not None else np.empty(0)
    if curve.name != "train/loss" or len(finite) < 2:
        return unknown(f"{sunk}; the loss of the evaluation is not known")
    lowest = float(np.min(finite))
    words = f"{sunk}, while the smallest eval/loss is {lowest:.4g}"
    low = int(np.argmin(curve.y))
    seen: dict[str, Any] = {"value": float(curve.y[low]), "threshold": 0.0}
    if lowest < 0:
        return absent(words, series=(curve.name,), **seen)
    if (float(curve.y[0]) < 0) is not from_the_start:
        return absent(f"{words}; it begins with {float(curve.y[0]):.4g}", series=(curve.name,), **seen)
    return present(words, step=curve.step(int(np.argmax(curve.y < 0))), **seen, **see(curve, low))


def chance_of(run: Run, curve: Shape, tolerance: float) -> tuple[int, float, tuple[Place, ...]] | None:
    """(K, ln K, where K is known from) when the loss ends at, and never got below, the level of a guess."""
    known = situation.classes(run)
    guessed = None if known else guessed_classes(run, curve, tolerance)
    counts = (known.count,) if known else (guessed,) if guessed else COMMON_CLASSES
    within = tolerance if known or guessed else tolerance / 4
    if situation.regression(run) or (not known and not guessed and abs(curve.best_progress) > 0.05):
        return None
    for count in counts:
        level = situation.chance_loss(run, count)
        near = abs(curve.end.value - level) <= within * level + (curve.end.error if known else 0.0)
        if near and curve.best.value >= (1 - 2 * within) * level - 2 * curve.best.error:
            return count, level, (place_of(known.setting),) if known else ()
    return None


def guessed_classes(run: Run, curve: Shape, tolerance: float = 0.02) -> int | None:
    """K that is not known but told by loss and accuracy together: one ends at ln K, the other at 1/K."""
    metrics = _accuracies(run)
    if situation.classes(run) or situation.regression(run) or not metrics:
        return None
    for count in range(2, 201):
        level = situation.chance_loss(run, count)
        if abs(curve.end.value - level) > tolerance / 2 * level or curve.best.value < (1 - tolerance) * level:
            continue
        ends = [situation.reached(s) for s in metrics]
        if all(end < 1.6 / count for end in ends) and any(abs(end * count - 1) < 0.3 for end in ends):
            return count
    return None


@on_loss(4)
def thrown_to_guessing(
    run: Run, curve: Shape, above: float = 1.15, below: float = 0.9, tolerance: float = 0.01
) -> Finding:
    """The training loss ends at ln K after it was `above` times that, or some loss `below` times it.

    K by a setting, by a loss that ends at ln K with an accuracy of 1/K, or that stands there. Absent where
    all was a guess from the first point on: what never learns is not thrown back. A run that ends otherwise
    says nothing.
    """
    if situation.objective(run) or situation.regression(run):
        return unknown("this loss is no guess among classes")
    count = _count_at_end(run, curve, tolerance)
    if count is None:
        return unknown(f"{curve.name} does not end as a guess among a known number of classes does")
    level, first = situation.chance_loss(run, count), float(np.max(curve.y[: max(1, curve.count // 50)]))
    words = f"{curve.name} ends at {curve.end.value:.4g}, a guess among {count} gives {level:.4g}"
    seen: dict[str, Any] = {"value": round(first / level, 3), "threshold": above, "series": (curve.name,)}
    seen |= see(curve, curve.count - 1)
    if first > above * level:
        return present(f"{words}; it was at {first:.4g} in the beginning", **seen)
    if curve.best.value < below * level:
        return present(f"{words}; it was at {curve.best.value:.4g} before", **seen)
    held = run.series.get("eval/loss")
    values = held.values[np.isfinite(held.values)] if held is not None else np.empty(0)
    if len(values) > 3 and float(np.min(values)) < below * level <= float(np.median(values[-3:])):
        return present(f"{words}; that of evaluation was at {np.min(values):.4g} before", **seen)
    best = max((float(np.nanmax(s.values)) for s in _accuracies(run)), default=0.0)
    if best * count > 2.0:
        return unknown(f"{words}, though an accuracy was at {best:.3g}")
    return absent(f"{words}, from the first point on", **seen)


def _accuracies(run: Run) -> list[Series]:
    return [s for split in ("eval", "train") if (s := situation.metric(run, split, ("accuracy",)))]


def _count_at_end(run: Run, curve: Shape, tolerance: float) -> int | None:
    """The K of which the last losses are ln K: the known one, or one that the last accuracies fit."""
    known = situation.classes(run)
    metrics = _accuracies(run)
    for count in (known.count,) if known else range(2, 201) if metrics else ():
        level = situation.chance_loss(run, count)
        if abs(curve.end.value - level) > tolerance * level:
            continue
        ends = [situation.reached(s) for s in metrics]
        near = [abs(end * count - 1) < 0.3 for end in ends]
        if all(end < 1.6 / count for end in ends) and (known is not None or any(near)):
            return count
    return None if known or metrics else _count_by_standing(run, curve)


# of the losses between ln 2 and ln 1000 about one in a hundred lies as near to one of these by chance
_COUNTS, _NEAR, _STANDS = (2, 3, 5, 10, 100, 1000), 1.5e-3, 5


def _count_by_standing(run: Run, curve: Shape) -> int | None:
    """The K at whose ln K the loss comes to stand: its last five values and more hardly differ from it."""
    if curve.count < 2 * _STANDS:
        return None
    last = curve.y[-max(_STANDS, curve.count // 3) :]
    for count in _COUNTS:
        level = situation.chance_loss(run, count)
        if abs(float(np.median(last)) - level) <= _NEAR * level and float(np.ptp(last)) <= 4 * _NEAR * level:
            return count
    return None


@on_loss()
def at_chance_level(run: Run, curve: Shape, tolerance: float = 0.02) -> Finding:
    """The loss ends at ln K and was never below it; without a known K a flat loss at ln of a usual K."""
    if situation.objective(run):
        return unknown(str(situation.objective(run)))
    if situation.regression(run):
        return absent("the loss is that of a regression, which knows no guess among classes")
    known = situation.classes(run)
    if known is None and situation.number(run, "label_smoothing") is None and situation.is_sum(run):
        return unknown(f"{curve.name} is a sum of terms and the number of classes is not known")
    level = situation.chance_loss(run, known.count) if known else None
    words = f"{curve.name} ends at {curve.end.value:.4g}"
    if level is not None and curve.best.value < (1 - 3 * tolerance) * level - 2 * curve.best.error:
        return absent(
            f"{words} and reached {curve.best.value:.4g}; a guess among"
            f" {known.count if known else 0} gives {level:.4g}",
            value=curve.end.value,
            threshold=round(level, 4),
            series=(curve.name,),
        )
    reason = situation.too_early(run, curve)
    if reason:
        return unknown(reason)
    found = chance_of(run, curve, tolerance)
    if found is None:
        if known is None and abs(curve.best_progress) <= 0.05:
            return unknown(f"{words} and hardly moved, but the number of classes is not known")
        against = f", a guess among {known.count} classes gives {level:.4g}" if known and level else ""
        return absent(
            f"{words} (best {curve.best.value:.4g}){against}", value=curve.end.value, series=(curve.name,)
        )
    count, level, where = found
    if known is None and situation.trained_start(run, curve) and curve.end.error > 0.01 * level:
        return unknown(f"{words}, near ln {count}, within the noise only")
    return present(
        f"{words}, a uniform guess among {count} gives ln {count} = {level:.4g}; it never got below that",
        value=round(curve.end.value, 4),
        threshold=round(level, 4),
        step=curve.step(curve.end.first) if curve.best_progress > 0.05 else curve.step(0),
        where=(place(curve.series, int(curve.index[-1])), *where),
        series=(curve.name,),
    )


def _first_loss(curve: Shape) -> tuple[float, str | None]:
    """The first loss, and why it is not that of the untrained model (None: it is)."""
    if curve.index[0] > 0:
        return float(curve.y[0]), "the first logged value is not a number"
    if is_mean_of_epochs(curve):
        return float(curve.y[0]), "the first value is a mean over an epoch"
    if curve.series.unit in situation.STEPS and curve.step(0) > 50:
        return float(curve.y[0]), f"the first value is from step {curve.step(0):g}"
    return float(curve.y[0]), None


_SPOKEN = re.compile(r"(?i)(?:^|[/_ ])(?:wer|cer)$")  # of speech: most losses there are over alignments


@on_loss(3)
def initial_above_chance(run: Run, curve: Shape, ratio: float = 1.5) -> Finding:
    """The first loss exceeds that of a uniform guess by `ratio`."""
    known = situation.classes(run)
    if known is None or situation.is_sum(run):
        return unknown(
            "the number of classes is not known" if known is None else "the loss is a sum of terms"
        )
    if situation.aligned(run) or any(_SPOKEN.search(s.raw) for s in run.all_series):
        return unknown("a loss over alignments begins with the length of what is to be said")
    level = situation.chance_loss(run, known.count)
    first, doubt = _first_loss(curve)
    scatter = min(1.0, stats.noise(np.log(curve.y))) if curve.positive else 0.0
    seen: dict[str, Any] = {"value": round(first, 4), "threshold": round(ratio * level, 4)}
    words = f"the first value of {curve.name} is {first:.4g}, a guess among {known.count} gives {level:.4g}"
    told = curve.index[0] == 0 and not is_mean_of_epochs(curve)  # steps of an epoch can throw a model far off
    if told and first > ratio * level * math.exp(3 * scatter):
        where = (place(curve.series, int(curve.index[0])), place_of(known.setting))
        return present(words, step=curve.step(0), where=where, series=(curve.name,), **seen)
    if first > ratio * level:
        doubt = doubt or f"single values scatter by {scatter:.0%}"
    return unknown(f"{words}, but {doubt}") if doubt else absent(words, series=(curve.name,), **seen)


@on_loss(8)
def above_guess_by_accumulation(run: Run, curve: Shape, clear: float = 1.2, usual: float = 0.6) -> Finding:
    """A loss that falls, stays above a guess to the end, and is a usual one divided by the accumulation.

    A model that is merely bad comes down to a guess within some steps. The sum over the batches that are
    accumulated, where their mean was to be logged, stays that many times too large.
    """
    known = situation.classes(run)
    parts = number_of(run, "gradient_accumulation_steps")
    if known is None or known.count < MANY_CLASSES or situation.is_sum(run):
        return unknown("the loss of a guess among many classes is not known")
    if parts is None or parts < 2:
        return unknown("nothing is accumulated, as far as is known")
    level = situation.chance_loss(run, known.count)
    start, end = (
        float(np.median(part)) for part in (curve.y[: curve.count // 4], curve.y[-curve.count // 4 :])
    )
    words = (
        f"{curve.name} goes from {start:.4g} to {end:.4g}; a guess among {known.count} gives {level:.4g}, and"
        f" {parts:g} batches are accumulated"
    )
    seen: dict[str, Any] = {"value": round(end / level, 3), "threshold": clear, "series": (curve.name,)}
    if float(np.min(curve.y)) < clear * level or end >= start or end / parts > usual * level:
        return absent(words, **seen)
    return present(words, where=(place(curve.series, int(curve.index[-1])), place_of(known.setting)), **seen)


@on_loss(3)
def initial_below_chance(run: Run, curve: Shape, ratio: float = 0.6) -> Finding:
    """The first loss of a run from scratch is below `ratio` of that of a uniform guess."""
    known = situation.classes(run)
    if known is None or situation.is_sum(run):
        return unknown(
            "the number of classes is not known" if known is None else "the loss is a sum of terms"
        )
    level = min(situation.chance_loss(run, known.count), _of_shares(run))
    first, doubt = _first_loss(curve)
    seen: dict[str, Any] = {"value": round(first, 4), "threshold": round(ratio * level, 4)}
    words = f"the first value of {curve.name} is {first:.4g}, a guess among {known.count} gives {level:.4g}"
    if first >= ratio * level:
        return absent(words, series=(curve.name,), **seen)
    if known.setting.key == "vocab_size":
        return unknown(f"{words}, as with a language model that was trained before")
    late = curve.series.unit in situation.STEPS and curve.step(0) > 10
    doubt = (
        doubt
        or situation.trained_start(run, curve)
        or (f"it is from step {curve.step(0):g}" if late else None)
    )
    if doubt or curve.series.unit not in situation.STEPS:
        return unknown(f"{words}, but {doubt or 'its step is not known'}")
    where = (place(curve.series, int(curve.index[0])), place_of(known.setting))
    return present(words, step=curve.step(0), where=where, series=(curve.name,), **seen)


@on_loss(3)
def starts_at_minus_chance(run: Run, curve: Shape, low: float = 0.75, high: float = 1.5) -> Finding:
    """The first loss is minus that of a uniform guess: `low` to `high` times -ln K, of a run from scratch.

    An untrained model is near ln K, a little above it as a rule; with a wrong sign it is near -ln K.
    """
    known = situation.classes(run)
    first, doubt = _first_loss(curve)
    if first >= 0:
        return absent(
            f"the first value of {curve.name} is {first:.4g}", value=round(first, 4), series=(curve.name,)
        )
    if known is None or situation.is_sum(run):
        return unknown(
            "the number of classes is not known" if known is None else "the loss is a sum of terms"
        )
    level = -situation.chance_loss(run, known.count)
    seen: dict[str, Any] = {
        "value": round(first, 4),
        "threshold": round(low * level, 4),
        "series": (curve.name,),
    }
    words = f"the first value of {curve.name} is {first:.4g}, minus that of a guess is {level:.4g}"
    if doubt or situation.trained_start(run, curve):
        return unknown(f"{words}, but {doubt or 'training did not begin here'}")
    if not low * level >= first >= high * level:
        return absent(words, **seen)
    where = (place(curve.series, int(curve.index[0])), place_of(known.setting))
    return present(words, step=curve.step(0), where=where, **seen)


def _classes_by_start(run: Run, curve: Shape) -> tuple[int, ...]:
    """Possible K by the first loss: a softmax of a softmax is almost uniform at first, so its loss is ln K.

    A mean over the first epoch may lie a little below that.
    """
    low = 0.9 if is_mean_of_epochs(curve) else 0.99
    return situation.classes_by_start(run, float(curve.y[0]), low=low)


@on_loss(8)
def floor_double_softmax(run: Run, curve: Shape, tolerance: float = 0.03) -> Finding:
    """The loss stands at ln(1 + (K-1)/e), which a softmax applied twice cannot cross.

    With an accuracy a the level is that floor + (1 - a), since a wrong answer costs exactly one more; the
    accuracy must confirm it where it is logged, for an ordinary loss can stand near the floor too.
    """
    known = situation.classes(run)
    given = known is not None and known.setting.key == "num_classes"
    counts = (known.count,) if known is not None and given else _classes_by_start(run, curve)
    if not counts or situation.switched_on(run, "label_smoothing"):
        return unknown(
            "label smoothing makes a floor too" if counts else "the number of classes is not known"
        )
    found = [_double_softmax(run, curve, count, tolerance) for count in counts]
    return next((f for f in found if f.state is State.PRESENT), found[0] if given else _undecided(found))


def _undecided(found: list[Finding]) -> Finding:
    """Absent only when it is for every possible number of classes."""
    return next((f for f in found if f.state is State.UNKNOWN), found[0])


def _double_softmax(run: Run, curve: Shape, count: int, tolerance: float) -> Finding:
    floor = math.log(1 + (count - 1) / math.e)
    level, best = curve.end.value, curve.best.value
    seen: dict[str, Any] = {"value": round(level, 4), "threshold": round(floor, 4), "series": (curve.name,)}
    words = (
        f"{curve.name} ends at {level:.4g} (best {best:.4g}); the floor of a double softmax"
        f" over {count} classes is {floor:.4g}"
    )
    if best < floor * (1 - tolerance) or float(np.min(curve.y)) < floor * (1 - 2 * tolerance):
        return absent(words, **seen)
    accuracy = situation.metric(run, "train", ("accuracy",)) or situation.metric(run, "eval", ("accuracy",))
    hinted = bool(run.events_of("from-logits"))
    if accuracy is not None:
        reached = situation.reached(accuracy)
        expected = floor + (1 - reached)
        words += f"; with an accuracy of {reached:.3g} it would be {expected:.4g}"
        # from the floor to ln K it is about 1 whatever K is: of many classes any loss is near it, relatively
        fits = abs(level - expected) <= max(tolerance * min(floor, 1.5), 0.2 * (1 - reached))
        sure = 0.7 if situation.classes(run) else 0.8
        plausible = reached >= sure and (reached >= 0.9 or count > 2 or hinted)
        if fits and plausible and level > 1.5 * _ordinary(reached):
            return present(
                words, where=see(curve, curve.count - 1)["where"], step=curve.step(curve.end.first), **seen
            )
        return absent(words, **seen)
    if abs(level - floor) <= tolerance * floor and hinted:  # else an ordinary loss may stand there as well
        settled = curve.at(0.7) - level < 0.05 * max(curve.fall, 0.0) and curve.best_progress > 0.1
        if settled:
            return present(
                words, where=see(curve, curve.count - 1)["where"], step=curve.step(curve.end.first), **seen
            )
    return unknown(f"{words}; an accuracy would tell") if level < 2 * floor else absent(words, **seen)


def _ordinary(accuracy: float) -> float:
    """A cross-entropy that is usual at an accuracy: a loss this low contradicts a double softmax."""
    return max(1 - accuracy, 0.01) * 1.5
