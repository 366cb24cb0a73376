"""Training against evaluation: gaps, turning points, an evaluation that follows something else.

An evaluation is judged against training here, never alone.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from ...engine.model import State
from ..config.values import number_of
from ..registry import Finding, View, absent, place, present, unknown
from ..run import Run, Series
from . import situation, stats
from .decoded import DECODED
from .judging import is_mean_of_epochs, probe
from .levels import COMMON_CLASSES, thrown_to_guessing
from .metrics import JUDGED, finite, guess_of, last_place, shape_of, told_as, too_few
from .shapes import Shape, shape
from .situation import FRACTIONS, error_metric, less_is_better, metric, metric_shape, reached
from .unlike_totals import of_other_scale


def _pair(run: Run, kinds: tuple[str, ...] = FRACTIONS) -> tuple[Series, Series] | None:
    """The same metric on training and on evaluation data."""
    for kind in kinds:
        train, held = run.series.get(f"train/{kind}"), run.series.get(f"eval/{kind}")
        if train is not None and held is not None and len(finite(train)) and len(finite(held)):
            return train, held
    return None


def _pair_by_eer(run: Run) -> tuple[Series, Series] | None:
    """Accuracy in training, and how many the equal error rate leaves: speakers are told apart otherwise."""
    train, held = run.series.get("train/accuracy"), situation.right_by_eer(run)
    return (train, held) if train is not None and held is not None and len(finite(train)) else None


_OTHER_LOSSES = ("focal", "hinge", "margin", "poly", "mse", "triplet", "arc", "contrast")


def _pair_by_loss(run: Run) -> tuple[Series, Series, float] | None:
    """Training loss, evaluation accuracy, and the accuracy that a cross-entropy this low allows at least.

    A wrong answer gives its class at most one half, and so loses ln 2 or more: of a mean L at least the share
    1 - L / ln 2 is right. Only where the first loss stands at a guess, as one of a cross-entropy does.
    """
    known, held = situation.classes(run), run.series.get("eval/accuracy")
    curve = shape_of(run.series.get("train/loss"))
    if known is None or known.setting.key != "num_classes" or held is None or not len(finite(held)):
        return None
    if curve is None or curve.count < 10 or situation.is_sum(run):
        return None
    if any(word in situation.text(run, "loss_function") for word in _OTHER_LOSSES):
        return None
    start = float(curve.y[0]) / situation.chance_loss(run, known.count)
    if not 0.7 <= start <= 2.0 or curve.end.value < 0:
        return None
    good = 1 - (curve.end.value + curve.end.error) / situation.chance_loss(run, 2)
    return (curve.series, held, good) if good > 0 else None


def _losses(run: Run) -> tuple[Shape, Shape] | None:
    """The shapes of the training and the evaluation loss."""
    train, held = run.series.get("train/loss"), run.series.get("eval/loss")
    if train is None or held is None:
        return None
    first, second = shape(train), shape(held)
    return (first, second) if first is not None and second is not None else None


def _needs_pair(run: Run) -> Finding:
    missing = [n for n in ("train/loss", "eval/loss") if n not in run.series]
    if missing:
        return unknown(f"the run has no {' and no '.join(missing)}, and no metric on both data sets")
    return unknown("train/loss and eval/loss have fewer than 3 finite points in common")


@probe()
def generalisation_gap(view: View, ratio: float = 0.25, gap: float = 0.15) -> Finding:
    """Training is good; the evaluation metric lies `gap` below it, or the evaluation loss far above."""
    run = view.run
    if situation.scored_on_nothing(run):
        return unknown("eval/loss is always 0: nothing was evaluated")
    pair = _pair(run)
    if pair is not None:
        return _metric_gap(pair, gap)
    both = _losses(run)
    if both is None:
        return _needs_pair(run)
    train, held = both
    if _without_floor(train):
        return unknown(f"train/loss falls to {train.end.value:.4g}: a loss without a floor tells of no gap")
    excess = held.end.value - train.end.value
    scale = max(abs(train.start.value), abs(held.start.value), 1e-300)
    if train.end.value < 0:  # below zero the ways that both came tell, not the distance from it
        scale = max(scale, train.fall, held.fall)
    error = float(np.hypot(train.end.error, held.end.error))
    seen: dict[str, Any] = {"value": round(excess / scale, 4), "threshold": ratio}
    words = (
        f"train/loss ends at {train.end.value:.4g} (from {train.start.value:.4g}), eval/loss at"
        f" {held.end.value:.4g}"
    )
    curves = ("train/loss", "eval/loss")
    far = held.end.value > 2 * train.end.value if train.end.value > 0 else True
    if excess <= ratio * scale or not far:
        return absent(words, series=curves, **seen)
    if train.progress <= 0.5:
        return unknown(f"{words}: training itself is not good")
    if excess <= 4 * error:
        return unknown(f"{words}, but they scatter too much to be sure")
    judged, kept = situation.quality(run, ("eval",)), _kept_metric(run)
    if (share := _explained_apart(run, train, held)) is not None and share >= gap:
        judged = kept = None  # the metric is the loss in another unit
        words += f": {share:.0%} of the variance of the targets"
    if judged is not None and judged[0] == "good" and held.progress > 0:
        return unknown(f"{words}, but {judged[1]}: its answers are right, if not as sure", **seen)
    if kept:
        return unknown(f"{words}, but {kept}: its answers are as right as ever", **seen)
    return present(words, step=held.step(0), where=last_place(held.series), series=curves, **seen)


def _explained_apart(run: Run, train: Shape, held: Shape) -> float | None:
    """By how much the explained share of the variance is lower in evaluation, where the loss is a square.

    R2 = 1 - L / V, so that the variance V of the held-out targets is L / (1 - R2).
    """
    score = run.series.get("eval/r2")
    if score is None or not len(finite(score)):
        return None
    if "train/mse" not in run.series and "mse" not in situation.text(run, "loss_function"):
        return None
    return (
        float((1 - finite(score)[-1]) * (1 - train.end.value / held.end.value))
        if held.end.value > 0
        else None
    )


def _metric_gap(pair: tuple[Series, Series], gap: float) -> Finding:
    train, held = pair
    high, low = reached(train), reached(held)
    seen: dict[str, Any] = {
        "value": round(high - low, 4),
        "threshold": gap,
        "series": (train.name, held.name),
    }
    words = f"{train.name} ends at {high:.4g}, {held.name} at {low:.4g}"
    noise = situation.scatter(held) / max(1, len(finite(held)) // 5) ** 0.5
    if high - low >= gap and high >= 0.7 and high - low > 3 * noise:
        return present(
            words, step=float(held.steps[0]), where=(*last_place(train), *last_place(held)), **seen
        )
    if high < 0.7 and high - low >= gap:
        return unknown(f"{words}: training itself is not good")
    if high - low >= gap:
        return unknown(f"{words}, but {held.name} scatters too much to be sure")
    return absent(words, **seen)


def _kept_metric(run: Run) -> str | None:
    """Say that the evaluation metric ends as high as it ever was, up to its scatter; else None."""
    series = metric(run, "eval", JUDGED)
    if series is None or len(finite(series)) < 5:
        return None
    values = finite(series)
    end, best = float(np.median(values[-max(1, len(values) // 4) :])), float(np.max(values))
    margin = max(0.01 * best, stats.noise(values))
    return f"{series.name} ends at {end:.4g} (best {best:.4g})" if end >= best - margin else None


@probe()
def eval_turns_up(view: View, rise: float = 0.1, after: float = 0.15, above: float = math.inf) -> Finding:
    """The evaluation loss ends above its best by `rise`, `after` of the run later, as training falls.

    Where the evaluation logs no loss but an error of its own (a word error rate, a distance), that counts.

    What is best at the first evaluation, and there more than `above` times as high as the training loss
    began, has never been down: nothing turns up. Somebody who learns by heart generalises a little at first.
    """
    run = view.run
    series = run.series.get("eval/loss") or error_metric(run, "eval")
    if series is None:
        return unknown("the run has no eval/loss")
    name, held = series.name, shape(series)
    train = shape_of(situation.main_loss(run))
    if held is None or held.count < 5:
        return unknown(too_few(series, 5))
    if situation.objective(run):
        return unknown(str(situation.objective(run)))
    best = int(np.argmin(held.sy))
    point = int(min(np.searchsorted(held.x, held.sx[best]), held.count - 1))
    low, last = _around_best(held, best), held.end
    gained = (last.value - low) / max(abs(low), 1e-300)
    noise = (
        stats.MEDIAN_ERROR
        * stats.noise(held.y)
        * (1 / min(3, held.count) + 1 / (last.last - last.first + 1)) ** 0.5
    )
    seen: dict[str, Any] = {"value": round(gained, 4), "threshold": rise}
    words = f"{name} is best at step {held.step(point):g} ({low:.4g}) and ends at {last.value:.4g}"
    late = 1 - held.part(point)
    drop = held.start.value - low
    up = gained >= rise and late >= after and held.count - point >= 3
    if not up or last.value - low < 0.1 * drop:
        return absent(words, series=(name,), **seen)
    if last.value - low <= 3 * noise:
        return unknown(f"{words}, but it scatters too much to be sure")
    if train is None:
        return unknown(f"{words}, but there is no training loss to see whether that falls")
    lowest = float(np.min(held.y))
    loss = name == "eval/loss"
    from_the_first = loss and train.positive and int(np.argmin(held.y)) == 0
    if from_the_first and lowest > above * float(np.max(train.y[:3])):
        return unknown(f"{words}; at its lowest, {lowest:.4g}, it is above what training began with")
    if _without_floor(train):
        return unknown(f"{words}; train/loss falls to {train.end.value:.4g}, without a floor")
    then = (
        float(np.interp(held.step(point), train.sx, train.sy))
        if _same_axis(train, held)
        else train.at(held.part(point))
    )
    falling = then - train.end.value
    if loss and train.end.value > last.value and 0 < falling < 0.1 * abs(then):
        return unknown(
            f"{words}; train/loss falls from {then:.4g} to {train.end.value:.4g} only and stays above it"
        )
    if falling <= max(2 * train.end.error, 0.02 * abs(then)):
        return absent(f"{words}; the training loss does not fall after that either", series=(name,), **seen)
    return present(
        f"{words}, while the training loss fell from {then:.4g} to {train.end.value:.4g}",
        step=held.step(point),
        where=(place(held.series, int(held.index[point])),),
        series=(name, train.name),
        **seen,
    )


def _without_floor(curve: Shape) -> bool:
    """A loss that runs away downwards: it is minimised, and measures nothing."""
    return curve.end.value < -10 * max(abs(curve.start.value), 1.0)


def _same_axis(train: Shape, held: Shape) -> bool:
    return train.series.unit == held.series.unit and train.x[-1] >= 0.5 * held.x[-1] > 0


def _around_best(curve: Shape, best: int) -> float:
    """The level around the best smoothed value: one lucky evaluation is not a best."""
    return float(np.median(curve.sy[max(0, best - 1) : best + 2]))


@probe()
def eval_metric_turns_down(view: View, drop: float = 0.03, after: float = 0.15) -> Finding:
    """The evaluation metric ends `drop` below its best, which lies `after` of the run before the end.

    An error that has no largest value must end a tenth above its best, and a tenth of all it had gained, as
    the loss must. What gets worse while the loss of the same data gets better is another symptom.
    """
    run = view.run
    metrics = (metric(run, "eval", FRACTIONS), metric(run, "eval", TURNING), error_metric(run, "eval"))
    found = [_turns_down(s, drop, after) for s in metrics if s is not None]
    if not found:
        return unknown("no evaluation metric was logged")
    if found[0].state is not State.PRESENT and metrics[2] is not None:
        found.insert(0, found[-1] if found[-1].state is State.PRESENT else found[0])
    if found[0].state is State.PRESENT and _goes_on_falling(run, found[0]):
        return replace(found[0], state=State.UNKNOWN, why=f"{found[0].why}, but eval/loss goes on falling")
    return found[0]


TURNING = ("bleu", "rouge", "chrf", "r2", "psnr", "ssim", "auprc", "correlation")


def _goes_on_falling(run: Run, found: Finding, fall: float = 0.1) -> bool:
    """Whether the evaluation loss falls on after the step at which a metric of parts of answers was best."""
    if not found.series or found.series[0].rpartition("/")[2] not in DECODED:
        return False
    held = shape_of(run.series.get("eval/loss"))
    if held is None or not held.positive or found.step is None:
        return False
    return held.end.value < (1 - fall) * float(np.interp(found.step, held.sx, held.sy))


def _turns_down(series: Series, drop: float, after: float) -> Finding:
    curve = metric_shape(series)
    if curve is None or curve.count < 5:
        return unknown(too_few(series, 5))
    best = int(np.argmin(curve.sy))
    point = int(min(np.searchsorted(curve.x, curve.sx[best]), curve.count - 1))
    sign = 1.0 if less_is_better(series) else -1.0
    high, end = sign * _around_best(curve, best), sign * curve.end.value
    need = drop if series.name.rpartition("/")[2] in FRACTIONS else drop * abs(high)
    if sign > 0:
        need = 0.1 * max(high, curve.start.value - high)
    noise = stats.noise(curve.y) * (1 / 3 + 1 / (curve.end.last - curve.end.first + 1)) ** 0.5
    worse = sign * (end - high)
    seen: dict[str, Any] = {
        "value": round(worse, 4),
        "threshold": round(need, 4),
        "series": (series.name,),
    }
    words = f"{series.name} is best at step {curve.step(point):g} ({high:.4g}) and ends at {end:.4g}"
    if worse < need or 1 - curve.part(point) < after:
        return absent(words, **seen)
    if worse <= 3 * noise:
        return unknown(f"{words}, but it scatters too much to be sure")
    return present(words, step=curve.step(point), where=(place(series, int(curve.index[point])),), **seen)


@probe("train/loss", "eval/loss")
def eval_bad_from_start(view: View, ratio: float = 1.5) -> Finding:
    """Every evaluation loss, the first one too, exceeds `ratio` times the training loss, and never falls."""
    both = _losses(view.run)
    if both is None:
        return _needs_pair(view.run)
    train, held = both
    if train.count < 8 or held.count < 3:
        return unknown(f"{train.count} training and {held.count} evaluation points; 8 and 3 are needed")
    if not _same_axis(train, held):
        return unknown("training and evaluation loss count different steps")
    beside = np.interp(held.x, train.sx, train.sy)
    lowest = float(np.min(held.y / np.maximum(beside, 1e-300))) if train.positive else float("nan")
    seen: dict[str, Any] = {
        "value": round(lowest, 3),
        "threshold": ratio,
        "series": ("train/loss", "eval/loss"),
    }
    words = f"eval/loss is {lowest:.3g} times train/loss or more at every evaluation"
    if not train.positive:
        return unknown("the training loss has values below zero")
    works = train.progress > 0.3
    first = max(train.start.value, float(min(train.y[0], held.y[0])))
    if lowest < ratio or held.best.value < 0.75 * first:
        return absent(f"{words}; its best is {held.best.value:.4g}", **seen)
    judged = situation.quality(view.run, ("eval",))
    started = situation.trained_start(view.run, train)
    if judged and judged[0] == "good" and started and train.end.value < 0.1:
        return unknown(f"{words}, but {judged[1]}, and {started}: training data were known from the start")
    if (times := of_other_scale(train, held)) is not None:
        return unknown(
            f"{words}; it stays {times:.3g} times as high and falls with it: another unit or a sum"
        )
    if not works:
        return unknown(f"{words}, but training itself has fallen by {train.progress:.0%} only")
    if beside[0] < 0.5 * train.start.value and held.y[0] < ratio * train.start.value:
        return unknown(f"{words}, but the first evaluation came when training had already fallen far")
    return present(words, step=held.step(0), where=(place(held.series, int(held.index[0])),), **seen)


@probe()
def eval_at_chance_train_good(view: View, margin: float = 0.05) -> Finding:
    """The evaluation metric stays at guessing while the training metric is far above it."""
    pair = _pair(view.run, ("accuracy", "auc")) or _pair_by_eer(view.run)
    told = _pair_by_loss(view.run) if pair is None else None
    if pair is not None:
        train, held = pair
        good, what = reached(train), f"{train.name} ends at {reached(train):.4g}"
    elif told is not None:
        train, held, good = told
        what = f"{train.name} ends so low that {good:.2g} of the training answers are right at least"
    else:
        return unknown("no accuracy or AUC was logged for both training and evaluation")
    end = reached(held)
    best = float(np.max(finite(held)))
    guess = guess_of(view.run, held)
    words = f"{what}, {told_as(held)} ends at {end:.4g} (best {best:.4g})"
    seen: dict[str, Any] = {"value": round(end, 4), "series": (train.name, held.name)}
    if end > 0.5 + 2 * margin or good - end < 0.2:
        return absent(words, **seen)
    if guess is None:
        still = len(finite(held)) >= 5 and float(np.ptp(finite(held))) < margin
        # nearly every low accuracy is near some 1/K: without K it has to be hit as a thousand samples can
        near = [k for k in COMMON_CLASSES if abs(end - 1 / k) < min(margin / 3, 0.2 / k)]
        if not (still and near and good > 0.8):
            return unknown(f"{words}, but the number of classes is not known")
        guess = 1 / near[0], ()
    level, where = guess
    near_guess = end <= level + min(margin, 0.5 * level) and best <= level + 2 * margin
    seen["threshold"] = round(level + margin, 4)
    if not near_guess:
        if pair is None and end <= level + 6 * margin:
            return unknown(f"{words}; guessing gives {level:.3g}", **seen)
        return absent(f"{words}; guessing gives {level:.3g}", **seen)
    if len(finite(held)) < 2 or good < level + 0.3:
        return unknown(f"{words}; guessing gives {level:.3g}")
    return present(
        f"{words}; guessing gives {level:.3g}",
        step=float(held.steps[0]),
        where=(*last_place(held), *where),
        **seen,
    )


@probe("train/loss", "eval/loss")
def eval_erratic(view: View, ratio: float = 4.0) -> Finding:
    """The evaluation loss scatters `ratio` times as much as the training loss, by a third of its level."""
    both = _losses(view.run)
    if both is None:
        return _needs_pair(view.run)
    train, held = both
    if held.count < 8 or train.count < 8:
        return unknown(f"{train.count} training and {held.count} evaluation points; 8 of each are needed")
    size = min(held.count, train.count)
    levels = stats.block_medians(train.y, stats.block_edges(train.count, size))
    settled = slice(size // 4, None)
    calm = stats.noise(levels[settled]) / max(abs(float(np.median(levels))), 1e-300)
    late = held.y[held.count // 4 :]
    wild = stats.noise(late) / max(abs(float(np.median(late))), 1e-300)
    seen: dict[str, Any] = {"value": round(wild / max(calm, 1e-6), 2), "threshold": ratio}
    words = (
        f"eval/loss scatters by {wild:.0%} of its level from evaluation to evaluation,"
        f" train/loss by {calm:.0%}"
    )
    curves = ("train/loss", "eval/loss")
    height = float(np.median(late)) / max(abs(held.start.value), abs(train.start.value), 1e-300)
    if wild > 0.33 and wild > ratio * calm and height > 0.15:
        worst = held.count // 4 + int(np.argmax(late))
        where = (place(held.series, int(held.index[worst])),)
        return present(words, step=held.step(worst), where=where, series=curves, **seen)
    return absent(words, series=curves, **seen)


@probe()
def eval_better_than_train(view: View, ratio: float = 0.6, least: float = 0.02) -> Finding:
    """The evaluation loss ends below `ratio` of the training loss, where no regularisation explains it.

    Of losses that fell below `least` of the first one the ratio says nothing: both sides solve the task.
    """
    run = view.run
    both = _losses(run)
    if both is None:
        return _needs_pair(run)
    train, held = both
    if not (train.positive and held.positive):
        return unknown("a loss has values below zero")
    part = held.end.value / train.end.value
    seen: dict[str, Any] = {
        "value": round(part, 4),
        "threshold": ratio,
        "series": ("train/loss", "eval/loss"),
    }
    words = f"eval/loss ends at {held.end.value:.4g}, train/loss at {train.end.value:.4g}"
    if part >= ratio or train.end.value - held.end.value < 3 * float(
        np.hypot(train.end.error, held.end.error)
    ):
        return absent(words, **seen)
    if train.end.value < least * float(np.max(train.y)):
        return unknown(f"{words}: both have come down to almost nothing")
    if thrown_to_guessing(view).state is State.PRESENT:
        return unknown(f"{words}: training ends by guessing, which no data explain", **seen)
    harder = ("label_smoothing", "mixup", "cutmix", "dropout", "augmentation", "drop_path")
    reasons = [k for k in harder if situation.switched_on(run, k) and not _slight(run, k)]
    if reasons:
        return unknown(f"{words}, but {' and '.join(reasons)} make training harder than evaluation")
    if part > 0.5 * ratio and not all(k in run.settings for k in ("dropout", "augmentation")):
        return unknown(
            f"{words}; dropout, augmentation or smoothed labels could explain it and are not known"
        )
    return present(words, step=held.step(0), where=last_place(held.series), **seen)


def _slight(run: Run, key: str) -> bool:
    """A share of dropped units of a tenth or less: it does not make the training loss half as large again."""
    value = number_of(run, key) if key in ("dropout", "drop_path") else None
    return value is not None and 0 < value <= 0.1


@probe()
def loss_falls_metric_flat(view: View, progress: float = 0.3, change: float = 0.02) -> Finding:
    """A loss falls by `progress` and the metric of the same data does not move, below its ceiling."""
    run = view.run
    pairs = [(s, m) for s in ("train", "eval") if (m := metric(run, s, JUDGED)) is not None]
    if not pairs:
        return unknown("no accuracy, F1 or AUC was logged")
    missing = ""
    for split, series in pairs:
        name = f"{split}/loss" if f"{split}/loss" in run.series else "train/loss"
        loss = shape(run.series[name]) if name in run.series else None
        values = stats.running_median(finite(series), 3)
        if loss is None or len(values) < 5 or loss.count < 5:
            missing = f"{series.name} and its loss have too few points; 5 of each are needed"
            continue
        moved = float(np.max(values) - np.min(values))
        words = (
            f"{name} fell by {loss.progress:.0%} while {series.name} stayed between"
            f" {np.min(values):.4g} and {np.max(values):.4g}"
        )
        seen: dict[str, Any] = {"value": round(moved, 4), "threshold": change, "series": (name, series.name)}
        if loss.progress < progress or moved > change or loss.fall < 4 * loss.fall_error:
            return absent(words, **seen)
        if np.median(values) > 0.9:
            return unknown(f"{words}: it may have reached its ceiling")
        late = finite(run.series[name])[loss.count // 2 :]
        if float(np.max(values)) == 0 and np.ptp(stats.running_median(late, 3)) < 0.03 * abs(late[-1]):
            return unknown(
                f"{words}, and the loss rests: how common the classes are may be all it has learned"
            )
        return present(words, step=float(series.steps[0]), where=last_place(series), **seen)
    return unknown(missing)


# Errors that an untrained model has as well, in another size. A word error rate may stand at 1 for long.
_SIZES = ("mpjpe", "abs_rel", "epe", "nme", "displacement", "mape", "mae", "wer")


@probe()
def eval_error_never_falls(view: View, progress: float, gain: float, points: int = 5) -> Finding:
    """No evaluation's error lies `gain` below the first; the training loss falls by `progress` after it.

    It is asked where no evaluation loss was logged, of metrics of which less is better. What is learned helps
    on held-out data at first, even where it is learned by heart later.
    """
    run = view.run
    if "eval/loss" in run.series:
        return unknown("the evaluation loss is logged, which is asked instead")
    series, loss = error_metric(run, "eval", _SIZES), situation.main_loss(run)
    values = finite(series) if series is not None else None
    curve = shape(loss) if loss is not None else None
    if series is None or values is None or len(values) < points:
        return unknown(f"fewer than {points} values of an error of evaluation data")
    if curve is None or not curve.positive or situation.trained_start(run, curve):
        return unknown("the training loss cannot be judged")
    if series.unit != curve.series.unit or curve.fall < 4 * curve.fall_error:
        return unknown("the training loss cannot be held against the evaluations")
    first, best = float(values[0]), float(np.min(values[1:]))
    behind = int(np.searchsorted(curve.x, series.steps[0]))
    then = float(np.median(curve.y[behind : behind + 5])) if behind < curve.count else 0.0
    fall = 1 - curve.end.value / max(then, 1e-300)
    words = (
        f"{series.name} is {first:.4g} at first and {best:.4g} at its best after it, while train/loss"
        f" falls by {fall:.0%}"
    )
    seen: dict[str, Any] = {"value": best / max(first, 1e-300), "threshold": 1 - gain}
    seen["series"] = (series.name, curve.name)
    if best < (1 - gain) * first:
        return absent(words, **seen)
    if fall < progress or float(np.ptp(values)) == 0:
        return unknown(f"{words}: too little was learned, or one number is told again", **seen)
    if series.name.endswith("/wer") and float(np.min(values)) >= 0.95:
        return unknown(f"{words}: such a rate stays near 1 until the first words are right", **seen)
    return present(words, where=last_place(series), **seen)


@probe("train/loss", "eval/loss")
def eval_never_learns(view: View, progress: float, share: float, some: float, worse: float) -> Finding:
    """No evaluation loss gets below `share` of the first training loss, while that loss falls by `progress`.

    A fall by `some` is enough where evaluation ends `worse` times its first and above the first training
    loss: of many classes a loss falls by little when much is learned.

    What is learned by heart first helps on held-out data and hurts them later. Where it never helps, held-out
    data are other ones, are processed otherwise, or carry other labels. Compared are the best evaluation and
    the level of the first training points.
    """
    both = _losses(view.run)
    if both is None:
        return _needs_pair(view.run)
    train, held = both
    if not (train.positive and held.positive) or held.count < 3:
        return unknown("fewer than 3 evaluations, or losses below zero")
    first = max(
        train.start.value, float(train.y[0] if is_mean_of_epochs(train) else min(train.y[0], held.y[0]))
    )
    best = float(np.min(held.y))
    words = f"train/loss falls from {first:.4g} to {train.end.value:.4g}, eval/loss is {best:.4g} at its best"
    rest: dict[str, Any] = {"value": best / first, "threshold": share, "series": ("train/loss", "eval/loss")}
    ranks = view.run.series.get("eval/auc")
    told = float(np.nanmax(ranks.values)) if ranks is not None and np.isfinite(ranks.values).any() else 0.0
    if best < share * first or 0.7 <= told <= 1.0:  # a guess has 0.5
        return absent(words if best < share * first else f"{words}, and eval/auc comes to {told:.3g}", **rest)
    if (times := of_other_scale(train, held)) is not None:
        return unknown(
            f"{words}; it stays {times:.3g} times as high and falls with it: another unit or a sum", **rest
        )
    last, begin = float(held.y[-1]), float(held.y[0])
    away = last > worse * max(begin, share * first) and last > first
    if train.end.value > (1 - (some if away else progress)) * first or situation.trained_start(
        view.run, train
    ):
        return unknown(f"{words}: training itself has not come far enough", **rest)
    return present(words, where=last_place(held.series), **rest)
