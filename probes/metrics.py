"""Metrics of training and evaluation, and how the two sit together.

The metric of a split is the first that was logged of accuracy, F1, AUC, mAP, ...; a metric that is better when
lower is read by the loss probes only. An evaluation is judged against training, never alone, where a gap is meant.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..engine.model import Place
from . import situation, stats
from .curves import ending
from .judging import probe
from .levels import COMMON_CLASSES
from .registry import Finding, View, absent, place, place_of, present, unknown
from .run import Floats, Run, Series
from .shapes import Shape, shape
from .situation import FRACTIONS, OTHERS, classes, metric, metric_shape, reached

ANY = (*FRACTIONS, *OTHERS)
JUDGED = ("accuracy", "f1", "auc", "precision", "recall")


def _main(run: Run, kinds: tuple[str, ...] = FRACTIONS) -> Series | None:
    """The metric on training data where there is one, else on evaluation data."""
    return metric(run, "train", kinds) or metric(run, "eval", kinds)


def _finite(series: Series) -> Floats:
    return series.values[np.isfinite(series.values)]


def _last(series: Series) -> tuple[Place, ...]:
    kept = np.flatnonzero(np.isfinite(series.values))
    return (place(series, int(kept[-1])),) if len(kept) else ()


def _guess(run: Run, series: Series) -> tuple[float, tuple[Place, ...]] | None:
    """What guessing gives for this metric, and where that is known from."""
    if series.name.endswith("/auc"):
        return 0.5, ()
    known = classes(run)
    if known is None or known.setting.key != "num_classes" or not series.name.endswith("/accuracy"):
        return None
    return 1.0 / known.count, (place_of(known.setting),)


def _few(series: Series, points: int) -> str:
    return f"{series.name} has {len(_finite(series))} finite points; {points} are needed"


# ----------------------------------------------------------------------------------------- how high it is


@probe()
def metric_at_chance(view: View, margin: float = 0.03) -> Finding:
    """The metric ends at, and never left, the level of guessing."""
    run = view.run
    series = _main(run, ("accuracy", "auc"))
    if series is None:
        return unknown("no accuracy or AUC was logged")
    values = _finite(series)
    guess = _guess(run, series)
    end, best = reached(series), float(np.max(stats.running_median(values, 3)))
    seen: dict[str, Any] = {"value": round(end, 4), "series": (series.name,)}
    if guess is None:
        return _at_unknown_chance(run, series, end, best, margin, seen)
    level, where = guess
    near = (
        min(margin, 0.5 * level)
        + 2 * stats.MEDIAN_ERROR * stats.noise(values) / max(1, len(values) // 5) ** 0.5
    )
    seen["threshold"] = round(level + near, 4)
    words = f"{series.name} ends at {end:.4g} (best {best:.4g}); guessing gives {level:.4g}"
    if end > level + near or best > level + 2 * near:
        return absent(words, **seen)
    if len(values) < 3:
        return unknown(_few(series, 3))
    loss = _shape_of(situation.main_loss(run))
    reason = situation.too_early(run, loss, 5) if loss is not None else None
    if reason:
        return unknown(f"{words}, but {reason}")
    return present(words, step=float(series.steps[0]), where=(*_last(series), *where), **seen)


def _at_unknown_chance(
    run: Run, series: Series, end: float, best: float, margin: float, seen: dict[str, Any]
) -> Finding:
    """Without a class count: a metric and a loss that both stand still, at 1/K and ln K of a usual K."""
    words = f"{series.name} ends at {end:.4g} (best {best:.4g})"
    if end > 0.5 + 2 * margin:
        return absent(f"{words}: above the guess between two classes", **seen)
    values = _finite(series)
    if len(values) >= 3 and end - float(values[0]) > 3 * max(margin, stats.noise(values)):
        return absent(f"{words} and rose from {values[0]:.4g}", **seen)
    loss = _shape_of(situation.main_loss(run))
    if len(values) >= 5 and loss is not None and loss.count >= 5 and abs(loss.best_progress) < 0.05:
        for count in COMMON_CLASSES:
            level = situation.chance_loss(run, count)
            if abs(end - 1 / count) < min(margin, 0.3 / count) and abs(loss.end.value - level) < 0.05 * level:
                return present(
                    f"{words} and {loss.name} at {loss.end.value:.4g}: guessing among {count} gives {1 / count:.3g}"
                    f" and ln {count} = {level:.4g}",
                    threshold=round(1 / count, 4),
                    step=float(series.steps[0]),
                    where=_last(series),
                    **seen,
                )
    return unknown(f"{words}, but the number of classes is not known")


def _shape_of(series: Series | None) -> Shape | None:
    return None if series is None else shape(series)


def _low(run: Run, split: str, level: float) -> Finding:
    series = metric(run, split, JUDGED)
    if series is None:
        return unknown(f"no accuracy, F1 or AUC of the {split} data was logged")
    values = _finite(series)
    end, best = reached(series), float(np.max(stats.running_median(values, 3)))
    seen: dict[str, Any] = {"value": round(end, 4), "threshold": level, "series": (series.name,)}
    words = f"{series.name} ends at {end:.4g} (best {best:.4g})"
    if best >= level:
        return absent(words, **seen)
    known = classes(run)
    if known is not None and (known.count > 100 or known.setting.key == "vocab_size"):
        return unknown(f"{words}; what can be reached among {known.count} is not known")
    if run.info.context.get("task") == "language-model":
        return unknown(f"{words}; what can be reached among words is not known")
    if len(values) < 3:
        return unknown(_few(series, 3))
    share = situation.planned_share(run, series)
    if share is not None and share < 0.3:
        return unknown(f"{words}, but only {share:.0%} of the planned run was seen")
    return present(words, step=float(series.steps[0]), where=_last(series), **seen)


@probe()
def train_metric_low(view: View, level: float = 0.6) -> Finding:
    """Accuracy, F1 or AUC on the training data never reaches `level`."""
    return _low(view.run, "train", level)


@probe()
def eval_metric_low(view: View, level: float = 0.6) -> Finding:
    """Accuracy, F1 or AUC on the evaluation data never reaches `level`."""
    return _low(view.run, "eval", level)


@probe()
def metric_rising_at_end(view: View, share: float = 0.1) -> Finding:
    """The last quarter of the run brings `share` of the rise of the evaluation (else training) metric."""
    series = metric(view.run, "eval", ANY) or metric(view.run, "train", ANY)
    if series is None:
        return unknown("no metric was logged")
    curve = metric_shape(series)
    if curve is None or curve.count < 5:
        return unknown(_few(series, 5))
    if reached(series) > 0.97 and series.name.rpartition("/")[2] in FRACTIONS:
        return absent(f"{series.name} is at {reached(series):.4g}, near its ceiling", series=(series.name,))
    return ending(curve, 0.25, share, "rising")


@probe()
def eval_metric_constant(view: View, points: int = 3) -> Finding:
    """Every evaluation gives the very same value, below the ceiling."""
    series = metric(view.run, "eval", ANY)
    if series is None:
        return unknown("no evaluation metric was logged")
    values = _finite(series)
    if len(values) < points:
        return unknown(_few(series, points))
    seen: dict[str, Any] = {
        "value": round(float(np.ptp(values)), 6),
        "threshold": 0.0,
        "series": (series.name,),
    }
    if float(np.ptp(values)) > 1e-9 * max(abs(float(values[0])), 1e-9):
        return absent(f"{series.name} goes from {np.min(values):.4g} to {np.max(values):.4g}", **seen)
    words = f"{series.name} is {values[0]:.6g} at all {len(values)} evaluations"
    if values[0] == 0:
        return unknown(f"{words}: see eval-metric-zero")
    if series.name.rpartition("/")[2] in FRACTIONS and values[0] >= 0.95:
        return unknown(f"{words}: it may have reached its ceiling")
    return present(words, step=float(series.steps[0]), where=_last(series), **seen)


@probe()
def eval_metric_zero(view: View, points: int = 2) -> Finding:
    """Every evaluation gives exactly zero."""
    series = metric(view.run, "eval", tuple(k for k in ANY if k not in ("r2", "reward")))
    if series is None:
        return unknown("no evaluation metric was logged")
    values = _finite(series)
    seen: dict[str, Any] = {
        "value": round(float(np.max(values)), 6),
        "threshold": 0.0,
        "series": (series.name,),
    }
    if np.any(values > 0):
        return absent(f"{series.name} reaches {np.max(values):.4g}", **seen)
    if np.any(values < 0):
        return unknown(f"{series.name} is {np.min(values):g}: undefined rather than zero")
    share = situation.planned_share(view.run, series)
    if len(values) < points or (share is not None and share < 0.3):
        return unknown(f"{_few(series, points)}, and enough of the run")
    return present(
        f"{series.name} is exactly 0 at all {len(values)} evaluations",
        step=float(series.steps[0]),
        where=_last(series),
        **seen,
    )


@probe()
def eval_near_perfect_early(view: View, level: float = 0.98, within: float = 0.1) -> Finding:
    """The evaluation metric is at `level` within the first `within` of the run, before training is good."""
    run = view.run
    series = metric(run, "eval", JUDGED)
    if series is None:
        return unknown("no accuracy, F1 or AUC of the evaluation data was logged")
    kept = np.flatnonzero(np.isfinite(series.values))
    last = float(series.steps[kept[-1]])
    early = [int(i) for i in kept if last > 0 and series.steps[i] <= within * last]
    if not early or len(kept) < 5:
        return unknown(f"{series.name} has no point in the first {within:.0%} of the run")
    high = float(np.max(series.values[early]))
    seen: dict[str, Any] = {"value": round(high, 4), "threshold": level, "series": (series.name,)}
    words = f"{series.name} reaches {high:.4g} in the first {within:.0%} of the run"
    if high < level:
        return absent(words, **seen)
    trained = situation.trained_start(run, _shape_of(situation.main_loss(run)))
    if trained:
        return unknown(f"{words}, but {trained}")
    first = next(i for i in early if series.values[i] >= level)
    return present(words, step=float(series.steps[first]), where=(place(series, first),), **seen)


# ------------------------------------------------------------------------------- training against evaluation


def _pair(run: Run, kinds: tuple[str, ...] = FRACTIONS) -> tuple[Series, Series] | None:
    """The same metric on training and on evaluation data."""
    for kind in kinds:
        train, held = run.series.get(f"train/{kind}"), run.series.get(f"eval/{kind}")
        if train is not None and held is not None and len(_finite(train)) and len(_finite(held)):
            return train, held
    return None


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
def generalisation_gap(view: View, ratio: float = 0.3, gap: float = 0.15) -> Finding:
    """Training is good; the evaluation metric lies `gap` below it, or the evaluation loss far above."""
    run = view.run
    pair = _pair(run)
    if pair is not None:
        return _metric_gap(pair, gap)
    both = _losses(run)
    if both is None:
        return _needs_pair(run)
    train, held = both
    excess = held.end.value - train.end.value
    scale = max(abs(train.start.value), abs(held.start.value), 1e-300)
    error = float(np.hypot(train.end.error, held.end.error))
    seen: dict[str, Any] = {"value": round(excess / scale, 4), "threshold": ratio}
    words = f"train/loss ends at {train.end.value:.4g} (from {train.start.value:.4g}), eval/loss at {held.end.value:.4g}"
    curves = ("train/loss", "eval/loss")
    far = held.end.value > 2 * train.end.value if train.end.value > 0 else True
    if excess > ratio * scale and far and excess > 4 * error and train.progress > 0.5:
        return present(words, step=held.step(0), where=_last(held.series), series=curves, **seen)
    if train.progress < 0.3 and excess > ratio * scale:
        return unknown(f"{words}: training itself is not good")
    return absent(words, series=curves, **seen)


def _metric_gap(pair: tuple[Series, Series], gap: float) -> Finding:
    train, held = pair
    high, low = reached(train), reached(held)
    seen: dict[str, Any] = {
        "value": round(high - low, 4),
        "threshold": gap,
        "series": (train.name, held.name),
    }
    words = f"{train.name} ends at {high:.4g}, {held.name} at {low:.4g}"
    noise = situation.scatter(held) / max(1, len(_finite(held)) // 5) ** 0.5
    if high - low >= gap and high >= 0.7 and high - low > 3 * noise:
        return present(words, step=float(held.steps[0]), where=(*_last(train), *_last(held)), **seen)
    if high < 0.7 and high - low >= gap:
        return unknown(f"{words}: training itself is not good")
    return absent(words, **seen)


@probe("eval/loss")
def eval_turns_up(view: View, rise: float = 0.1, after: float = 0.15) -> Finding:
    """The evaluation loss ends above its best by `rise`, reached `after` of the run before, as training falls."""
    run = view.run
    held = shape(run.series["eval/loss"])
    train = _shape_of(situation.main_loss(run))
    if held is None or held.count < 5:
        return unknown(_few(run.series["eval/loss"], 5))
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
    words = f"eval/loss is best at step {held.step(point):g} ({low:.4g}) and ends at {last.value:.4g}"
    late = 1 - held.part(point)
    drop = held.start.value - low
    up = gained >= rise and last.value - low > 3 * noise and late >= after and held.count - point >= 3
    if not up or last.value - low < 0.1 * drop:
        return absent(words, series=("eval/loss",), **seen)
    if train is None:
        return unknown(f"{words}, but there is no training loss to see whether that falls")
    then = (
        float(np.interp(held.step(point), train.sx, train.sy))
        if _same_axis(train, held)
        else train.at(held.part(point))
    )
    falling = then - train.end.value
    if falling <= max(2 * train.end.error, 0.02 * abs(then)):
        return absent(
            f"{words}; the training loss does not fall after that either", series=("eval/loss",), **seen
        )
    return present(
        f"{words}, while the training loss fell from {then:.4g} to {train.end.value:.4g}",
        step=held.step(point),
        where=(place(held.series, int(held.index[point])),),
        series=("eval/loss", train.name),
        **seen,
    )


def _same_axis(train: Shape, held: Shape) -> bool:
    return train.series.unit == held.series.unit and train.x[-1] >= 0.5 * held.x[-1] > 0


def _around_best(curve: Shape, best: int) -> float:
    """The level around the best smoothed value: one lucky evaluation is not a best."""
    return float(np.median(curve.sy[max(0, best - 1) : best + 2]))


@probe()
def eval_metric_turns_down(view: View, drop: float = 0.03, after: float = 0.15) -> Finding:
    """The evaluation metric ends `drop` below its best, which lies `after` of the run before the end."""
    series = metric(view.run, "eval", FRACTIONS) or metric(
        view.run, "eval", ("bleu", "rouge", "r2", "psnr", "ssim")
    )
    if series is None:
        return unknown("no evaluation metric was logged")
    curve = metric_shape(series)
    if curve is None or curve.count < 5:
        return unknown(_few(series, 5))
    best = int(np.argmin(curve.sy))
    point = int(min(np.searchsorted(curve.x, curve.sx[best]), curve.count - 1))
    high, end = -_around_best(curve, best), -curve.end.value
    need = drop if series.name.rpartition("/")[2] in FRACTIONS else drop * abs(high)
    noise = stats.noise(curve.y) * (1 / 3 + 1 / (curve.end.last - curve.end.first + 1)) ** 0.5
    seen: dict[str, Any] = {
        "value": round(high - end, 4),
        "threshold": round(need, 4),
        "series": (series.name,),
    }
    words = f"{series.name} is best at step {curve.step(point):g} ({high:.4g}) and ends at {end:.4g}"
    if high - end >= need and high - end > 3 * noise and 1 - curve.part(point) >= after:
        return present(words, step=curve.step(point), where=(place(series, int(curve.index[point])),), **seen)
    return absent(words, **seen)


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
    if lowest < ratio or held.best.value < 0.75 * train.start.value:
        return absent(f"{words}; its best is {held.best.value:.4g}", **seen)
    if not works:
        return unknown(f"{words}, but training itself has fallen by {train.progress:.0%} only")
    if beside[0] < 0.5 * train.start.value:
        return unknown(f"{words}, but the first evaluation came when training had already fallen far")
    return present(words, step=held.step(0), where=(place(held.series, int(held.index[0])),), **seen)


@probe()
def eval_at_chance_train_good(view: View, margin: float = 0.05) -> Finding:
    """The evaluation metric stays at guessing while the training metric is far above it."""
    pair = _pair(view.run, ("accuracy", "auc"))
    if pair is None:
        return unknown("no accuracy or AUC was logged for both training and evaluation")
    train, held = pair
    good, end = reached(train), reached(held)
    best = float(np.max(_finite(held)))
    guess = _guess(view.run, held)
    words = f"{train.name} ends at {good:.4g}, {held.name} at {end:.4g} (best {best:.4g})"
    seen: dict[str, Any] = {"value": round(end, 4), "series": (train.name, held.name)}
    if end > 0.5 + 2 * margin or good - end < 0.2:
        return absent(words, **seen)
    if guess is None:
        still = len(_finite(held)) >= 5 and float(np.ptp(_finite(held))) < margin
        near = [k for k in COMMON_CLASSES if abs(end - 1 / k) < min(margin, 0.2 / k)]
        if not (still and near and good > 0.8):
            return unknown(f"{words}, but the number of classes is not known")
        guess = 1 / near[0], ()
    level, where = guess
    near_guess = end <= level + min(margin, 0.5 * level) and best <= level + 2 * margin
    seen["threshold"] = round(level + margin, 4)
    if not near_guess:
        return absent(f"{words}; guessing gives {level:.3g}", **seen)
    if len(_finite(held)) < 2 or good < level + 0.3:
        return unknown(f"{words}; guessing gives {level:.3g}")
    return present(
        f"{words}; guessing gives {level:.3g}",
        step=float(held.steps[0]),
        where=(*_last(held), *where),
        **seen,
    )


@probe("train/loss", "eval/loss")
def eval_erratic(view: View, ratio: float = 4.0) -> Finding:
    """The evaluation loss scatters `ratio` times as much as the training loss, and by a third of its level."""
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
    words = f"eval/loss scatters by {wild:.0%} of its level from evaluation to evaluation, train/loss by {calm:.0%}"
    curves = ("train/loss", "eval/loss")
    if wild > 0.33 and wild > ratio * calm:
        worst = held.count // 4 + int(np.argmax(late))
        where = (place(held.series, int(held.index[worst])),)
        return present(words, step=held.step(worst), where=where, series=curves, **seen)
    return absent(words, series=curves, **seen)


@probe()
def eval_better_than_train(view: View, ratio: float = 0.6) -> Finding:
    """The evaluation loss ends below `ratio` of the training loss, where no regularisation explains it."""
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
    harder = [k for k in ("label_smoothing", "mixup", "cutmix", "dropout", "augmentation", "drop_path")]
    reasons = [k for k in harder if situation.switched_on(run, k)]
    if reasons:
        return unknown(f"{words}, but {' and '.join(reasons)} make training harder than evaluation")
    if part > 0.5 * ratio and not all(k in run.settings for k in ("dropout", "augmentation")):
        return unknown(
            f"{words}; dropout, augmentation or smoothed labels could explain it and are not known"
        )
    return present(words, step=held.step(0), where=_last(held.series), **seen)


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
        values = stats.running_median(_finite(series), 3)
        if loss is None or len(values) < 5 or loss.count < 5:
            missing = f"{series.name} and its loss have too few points; 5 of each are needed"
            continue
        moved = float(np.max(values) - np.min(values))
        words = f"{name} fell by {loss.progress:.0%} while {series.name} stayed between {np.min(values):.4g} and {np.max(values):.4g}"
        seen: dict[str, Any] = {"value": round(moved, 4), "threshold": change, "series": (name, series.name)}
        if loss.progress < progress or moved > change or loss.fall < 4 * loss.fall_error:
            return absent(words, **seen)
        if np.median(values) > 0.9:
            return unknown(f"{words}: it may have reached its ceiling")
        return present(words, step=float(series.steps[0]), where=_last(series), **seen)
    return unknown(missing)


# ------------------------------------------------------------------------------------------ what is in it


@probe()
def metric_undefined(view: View) -> Finding:
    """A metric is not a number (or -1), or the log warns that it is undefined."""
    run = view.run
    warned = run.events_of("undefined-metric")
    if warned:
        first = warned[0]
        return present(
            f"the log says that a metric is undefined: {first.text[:160]}",
            step=first.step,
            where=(Place(first.file, first.line, first.step),),
        )
    logged = [s for n, s in sorted(run.series.items()) if n.rpartition("/")[2] in ANY]
    for series in logged:
        bad = ~np.isfinite(series.values)
        if series.name.rpartition("/")[2] in ("map", "map50"):
            bad |= series.values == -1
        if np.any(bad):
            at = int(np.argmax(bad))
            return present(
                f"{series.name} is undefined at {np.sum(bad)} of {len(series)} points, first at step {series.steps[at]:g}",
                value=int(np.sum(bad)),
                step=float(series.steps[at]),
                where=(place(series, at),),
                series=(series.name,),
            )
    if not logged:
        return unknown("no metric was logged")
    return absent("all metrics are numbers", series=tuple(s.name for s in logged[:3]))


@probe("train/loss")
def pretrained_starts_untrained(view: View, tolerance: float = 0.1) -> Finding:
    """Trained weights are configured, and the first loss of the language model is that of a uniform guess."""
    run = view.run
    meant = next((k for k in ("pretrained", "resume_from", "adapter") if situation.switched_on(run, k)), None)
    if meant is None:
        known = "pretrained" in run.settings
        words = "no trained weights are configured"
        return absent(words) if known else unknown(f"{words}, as far as is known")
    number = classes(run)
    series = run.series["train/loss"]
    if (
        number is None
        or number.setting.key != "vocab_size"
        or not len(series)
        or not np.isfinite(series.values[0])
    ):
        return unknown(
            "only a language model of known vocabulary and first loss can be told: heads are always new"
        )
    level = situation.chance_loss(run, number.count)
    first = float(series.values[0])
    words = f"{meant} is set, the first train/loss is {first:.4g}, a guess among {number.count} words gives {level:.4g}"
    seen: dict[str, Any] = {"value": round(first, 4), "threshold": round((1 - tolerance) * level, 4)}
    where = (place(series, 0), place_of(run.settings[meant]))
    if first >= (1 - tolerance) * level:
        return present(words, step=float(series.steps[0]), where=where, series=("train/loss",), **seen)
    return absent(words, series=("train/loss",), **seen)


@probe()
def per_class_uneven(view: View, low: float = 0.1, high: float = 0.7) -> Finding:
    """Of metrics logged per class ("<split>/<metric>/<class>"), some end below `low` and others above `high`."""
    found: dict[str, float] = {}
    for name, series in sorted(view.run.series.items()):
        parts = name.split("/")
        if len(parts) == 3 and parts[1] in ANY and len(_finite(series)):
            found[name] = reached(series)
    if len(found) < 2:
        return unknown("no metric per class was logged")
    worst, best = min(found, key=lambda n: found[n]), max(found, key=lambda n: found[n])
    words = f"of {len(found)} classes the worst is {worst} with {found[worst]:.3g}, the best {best} with {found[best]:.3g}"
    seen: dict[str, Any] = {"value": round(found[worst], 4), "threshold": low, "series": (worst, best)}
    if found[worst] < low and found[best] > high:
        return present(words, where=_last(view.run.series[worst]), **seen)
    return absent(words, **seen)


@probe()
def accuracy_at_majority(view: View, tolerance: float = 0.005) -> Finding:
    """The accuracy stands at the share of the largest class, known from class counts, and does not move."""
    counts = _class_counts(view.run)
    series = metric(view.run, "eval", ("accuracy",)) or metric(view.run, "train", ("accuracy",))
    if series is None:
        return unknown("no accuracy was logged")
    if counts is None:
        return unknown("the number of samples of each class is not known")
    share = max(counts) / sum(counts)
    values = _finite(series)
    if len(values) < 3:
        return unknown(_few(series, 3))
    end, spread = reached(series), stats.deviation(values[len(values) // 2 :])
    words = f"{series.name} ends at {end:.4g}; the largest class holds {share:.4g} of the samples"
    seen: dict[str, Any] = {"value": round(end, 4), "threshold": round(share, 4), "series": (series.name,)}
    if abs(end - share) <= tolerance and spread <= tolerance and share > 1.2 / len(counts):
        return present(words, step=float(series.steps[0]), where=_last(series), **seen)
    return absent(words, **seen)


def _class_counts(run: Run) -> tuple[float, ...] | None:
    """Samples per class, where the run recorded them."""
    from .settings import class_counts

    found = class_counts(run.raw_settings)
    if found is None or len(found[0]) < 2 or not math.isfinite(sum(found[0])) or sum(found[0]) <= 0:
        return None
    return found[0]
