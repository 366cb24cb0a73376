"""What evaluation does while training learns: it stands still, its loss and metric contradict each other,
or its loss is a multiple. What is evaluated, or how, is then wrong; the model is not.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...engine.model import State
from ..config.values import number_of
from ..registry import Finding, View, absent, unknown
from ..registry import present as found
from ..run import Floats, Run, Series
from . import stats
from .judging import is_mean_of_epochs, probe
from .metrics import accuracy_at_majority, answers_nan, finite, last_place, rises
from .shapes import Shape, shape
from .situation import (
    FRACTIONS,
    chance_loss,
    classes,
    main_loss,
    metric,
    objective,
    reached,
    regression,
    switched_on,
)

EPOCH_MEAN = (
    4.0  # how far an untrained model's loss may lie above the mean over a first epoch in which it learns
)

USUAL_DROPOUT = 0.6  # more of it is no setting of a sound run


def _learns(run: Run, progress: float) -> Shape | str:
    """The training loss where it falls by `progress` to its end, or why that cannot be said."""
    series = main_loss(run)
    curve = shape(series) if series is not None else None
    if series is None or curve is None or curve.count < 5:
        return "the training loss has fewer than 5 points"
    if not np.isfinite(series.values[-1]):
        return "the training loss is no number at the end"
    if curve.progress < progress or curve.fall < 4 * curve.fall_error:
        return f"the training loss falls by {curve.progress:.0%} only"
    return curve


def _moves(run: Run, still: Series, points: int, least: float = 0.02) -> str | None:
    """Another figure of the same evaluations that does not stand: then the weights are others each time."""
    for name, series in sorted(run.series.items()):
        values = finite(series) if name.startswith("eval/") and name != still.name else np.empty(0)
        if len(values) >= points and len(np.unique(values)) > len(values) // 2:
            if float(np.ptp(values)) > least * max(abs(float(np.median(values))), 1e-12):
                return name
    return None


def _stays(later: Floats, share: float = 0.05) -> bool:
    """A fall in the first points alone is that of an output that was out of scale."""
    third = max(1, len(later) // 3)
    first, last = float(np.median(later[:third])), float(np.median(later[-third:]))
    return first - last < share * abs(first)


SCORES = 5  # evaluations from which an equal score is no chance of a small set


def _order(value: float) -> int:
    return math.floor(math.log10(abs(value))) if value else 0


def _coarse(value: float, unit: float) -> bool:
    """Whether a number is a whole count of 1 / `unit`: rounded, or a share of few samples."""
    return abs(value * unit - round(value * unit)) < 1e-9 * max(1.0, abs(value * unit))


@probe()
def stands_still(view: View, progress: float, points: int = 3) -> Finding:
    """Every evaluation gives the same value, to its last digit, while the training loss falls by `progress`.

    Weights that train never give the same loss twice: what is evaluated are other weights. Losses are asked
    first; a metric alone may stand at a ceiling or at zero, so it counts only in between, and not where the
    loss is no number.
    """
    run = view.run
    learning = _learns(run, progress)
    for series in (run.series.get("eval/loss"), metric(run, "eval", FRACTIONS)):
        if series is None or len(finite(series)) < points:
            continue
        values = finite(series)
        spread = float(np.ptp(values))
        words = f"{series.name} varies by {spread:.3g} over {len(values)} evaluations"
        rest: dict[str, Any] = {"value": spread, "threshold": 0.0, "series": (series.name, "train/loss")}
        if spread > 1e-6 * max(abs(float(values[0])), 1e-12):
            return absent(words, **rest)
        if isinstance(learning, str):
            return unknown(f"{words}, but {learning}")
        if (other := _moves(run, series, points)) is not None:
            return absent(f"{words}, and {other} moves", **rest)
        if series.name == "eval/loss" and not np.any(values):
            return unknown(f"{words} and is zero: nothing was scored")
        if series.name != "eval/loss" and not 0 < float(values[0]) < 1:
            return unknown(f"{words}: at a limit of the metric")
        if series.name != "eval/loss" and len(values) < SCORES:
            return unknown(f"{words}: so it may be, of few samples")
        if series.name == "eval/loss" and _coarse(float(values[0]), 10 ** (1 - _order(float(values[0])))):
            return unknown(f"{words}, of which two digits at most are logged")
        if series.name != "eval/loss" and accuracy_at_majority(view).state is State.PRESENT:
            return unknown(f"{words}: the share of the largest class")
        if answers_nan(run):
            return unknown(f"{words}: answers of NaN are the same each time")
        if (later := learning.y[max(2, learning.count // 10) :]).size and _stays(later):
            return unknown(f"{words}, and after its first points the training loss stands as well")
        words += f", while the training loss falls by {learning.progress:.0%}"
        return found(words, where=last_place(series), **rest)
    return unknown(f"fewer than {points} evaluations with a loss or a metric were logged")


@probe("eval/loss", "train/loss")
def follows_slowly(view: View, progress: float, most: float, apart: float, points: int = 6) -> Finding:
    """Each evaluation loses a little less than the one before, `most` in all, while training learns.

    The training loss falls by `progress` and ends `apart` times below. Other inputs or labels in evaluation
    make a loss that jumps or rises with what is learned; weights that follow those that train do neither.
    """
    values = finite(view.run.series["eval/loss"])
    if len(values) < points:
        return unknown(f"{points} evaluations are needed, {len(values)} were logged")
    learning = _learns(view.run, progress)
    if isinstance(learning, str):
        return unknown(learning)
    moved = float(values[0] - values[-1]) / max(abs(float(values[0])), 1e-12)
    words = f"eval/loss creeps from {values[0]:.4g} to {values[-1]:.4g} over {len(values)} evaluations"
    rest: dict[str, Any] = {"value": moved, "threshold": most, "series": ("eval/loss", "train/loss")}
    if not 1e-6 < moved <= most or not np.all(np.diff(values) < 0):
        return absent(f"eval/loss goes from {values[0]:.4g} to {values[-1]:.4g}", **rest)
    end = float(np.median(learning.y[-5:]))
    late = learning.y[max(2, learning.count // 10) :]
    if float(values[-1]) < apart * end or end <= 0 or _stays(late):
        return absent(f"{words}, and the training loss is not far below", **rest)
    words += f", while the training loss falls by {learning.progress:.0%} to {end:.4g}"
    return found(words, where=last_place(view.run.series["eval/loss"]), **rest)


@probe("eval/loss", "train/loss")
def scores_nothing(view: View, points: int = 3) -> Finding:
    """Loss and metrics of every evaluation are exactly zero, and the training loss is not.

    A sum over no samples: the held-out part is empty, or has no labels. A perfect model has a metric of one.
    """
    run = view.run
    losses, trained = finite(run.series["eval/loss"]), finite(run.series["train/loss"])
    scores = metric(run, "eval", FRACTIONS)
    values = finite(scores) if scores is not None else np.empty(0)
    if scores is None or min(len(losses), len(values)) < points or len(trained) < points:
        return unknown(f"fewer than {points} evaluations with both a loss and a metric were logged")
    words = f"eval/loss and {scores.name} are at most {np.max(losses):.3g} and {np.max(values):.3g}"
    if np.any(losses) or np.any(values) or not np.all(trained > 0):
        return absent(words, value=float(np.max(values)), series=("eval/loss",))
    return found(
        f"eval/loss and {scores.name} are exactly zero at all {len(losses)} evaluations",
        value=0.0,
        where=last_place(run.series["eval/loss"]),
        series=("eval/loss", scores.name),
    )


@probe("eval/loss")
def metric_stays_as_loss_falls(view: View, progress: float, gain: float) -> Finding:
    """The evaluation loss falls by `progress` and the metric of the same data gains less than `gain`.

    A model that gives right answers a higher probability gives more right answers. The metric has to end
    below one half: near its ceiling it cannot gain. The loss has to fall below that of a guess as often
    right as the accuracy says (-ln a), and from the level of the first quarter on: a first loss out of all
    scale comes down without anything being learned.
    """
    run = view.run
    series, curve = metric(run, "eval", FRACTIONS), shape(run.series["eval/loss"])
    if series is None or len(finite(series)) < 4:
        return unknown("fewer than 4 values of an evaluation metric were logged")
    if curve is None or curve.count < 4 or regression(run) or objective(run):
        return unknown("the evaluation loss cannot be judged")
    values = stats.running_median(finite(series), 3)
    moved = float(np.median(values[-max(1, len(values) // 4) :]) - values[0])
    best = float(np.max(finite(series)) - values[0])
    level, base = curve.end.value, float(np.median(curve.y[: max(2, curve.count // 4)]))
    if series.name == "eval/accuracy":
        base = min(base, -np.log(max(reached(series), 1e-3)))
    words = (
        f"eval/loss falls by {curve.progress:.0%} to {level:.4g} while {series.name} goes from"
        f" {values[0]:.4g} to {values[-1]:.4g}"
    )
    rest: dict[str, Any] = {"value": moved, "threshold": gain, "series": ("eval/loss", series.name)}
    if level <= 0:
        return unknown(f"{words}: a loss below zero measures no answers", **rest)
    fallen = curve.progress >= progress and curve.fall >= 4 * curve.fall_error
    fallen = fallen and curve.start.value <= 20 * max(level, 1e-300)  # else it only comes down to its scale
    if not fallen or level > (1 - progress) * base or moved > gain or best > 2 * gain:
        return absent(words, **rest)
    if reached(series) >= 0.5:
        return unknown(f"{words}: it may have reached its ceiling")
    if series.name.endswith(("/map", "/map50")) and rises(finite(series)):
        return unknown(f"{words}, and rises from one evaluation to the next")
    return found(words, where=last_place(series), **rest)


@probe("eval/loss")
def error_stays_as_loss_falls(
    view: View, progress: float = 0.3, gain: float = 0.05, points: int = 5
) -> Finding:
    """The loss of a regression falls by `progress` on evaluation data; R² stays below zero and does not rise.

    Of one evaluation set R² is a straight line over the squared error, and every other loss of a regression
    falls with it. One that stays below zero, and gains less than `gain` of its distance from 1 meanwhile, is
    not counted from the same answers and targets.
    """
    run = view.run
    series, curve = run.series.get("eval/r2"), shape(run.series["eval/loss"])
    if series is None:
        return unknown("the run has no eval/r2")
    values = finite(series)
    if curve is None or min(curve.count, len(values)) < points:
        return unknown(f"fewer than {points} evaluations with a loss and R²")
    if objective(run) or not curve.positive:
        return unknown("the evaluation loss cannot be judged")
    gained = 1.0 - float(np.min(1.0 - values[1:])) / max(1.0 - float(values[0]), 1e-12)
    words = (
        f"eval/loss falls by {curve.progress:.0%} to {curve.end.value:.4g} while {series.name} goes from"
        f" {values[0]:.4g} to {values[-1]:.4g}"
    )
    rest: dict[str, Any] = {"value": gained, "threshold": gain, "series": ("eval/loss", series.name)}
    if curve.progress < progress or curve.fall < 4 * curve.fall_error:
        return unknown(f"{words}: the loss falls too little to tell", **rest)
    if float(np.max(values)) >= 0 or gained > gain:
        return absent(words, **rest)
    return found(words, where=last_place(series), **rest)


@probe("eval/loss")
def metric_frozen(view: View, share: float, points: int = 4) -> Finding:
    """The metric is the same at every evaluation, to its last digit, while the loss of the same data halves.

    A model that gives all samples one answer has such a metric, too: its loss then cannot get below the
    entropy of the share that is right by it. Where the loss falls to `share` of both its first value and that
    entropy, the answers differ from sample to sample and from one evaluation to the next: the metric is not
    counted from them. F1 is taken for that of "yes" to everything, whose precision is the share of "yes".
    """
    run = view.run
    series = metric(run, "eval", ("accuracy", "f1"))
    if series is None:
        return unknown("neither accuracy nor F1 of evaluation data was logged")
    values, losses = finite(series), finite(run.series["eval/loss"])
    if min(len(values), len(losses)) < points:
        return unknown(f"fewer than {points} evaluations with a loss and a metric")
    right, spread = float(values[0]), float(np.ptp(values))
    first, level = float(losses[0]), float(np.median(losses[-max(1, len(losses) // 4) :]))
    words = (
        f"{series.name} is {right:.6g} at all {len(values)} evaluations, eval/loss goes from"
        f" {first:.4g} to {level:.4g}"
    )
    rest: dict[str, Any] = {"value": spread, "threshold": 0.0, "series": (series.name, "eval/loss")}
    if spread > 1e-9 * max(abs(right), 1e-9):
        return absent(f"{series.name} goes from {np.min(values):.4g} to {np.max(values):.4g}", **rest)
    if not 0 < right < 1:
        return unknown(f"{words}: at a limit of the metric", **rest)
    if regression(run) or objective(run) or answers_nan(run):
        return unknown(f"{words}: that loss does not say how sure answers are", **rest)
    if level <= 0:
        return unknown(f"{words}: a loss below zero measures no answers", **rest)
    chosen = right / (2 - right) if series.name == "eval/f1" else right
    entropy = -(chosen * np.log(chosen) + (1 - chosen) * np.log(1 - chosen)) * chance_loss(run, 2) / np.log(2)
    if level > share * min(first, float(entropy)):
        return unknown(f"{words}: one answer to everything may cost as little", **rest)
    return found(
        f"{words}, below {entropy:.3g} of one answer to everything", where=last_place(series), **rest
    )


@probe("train/loss", "eval/loss")
def loss_is_multiple(view: View, ratio: float, spread: float, gap: float) -> Finding:
    """The evaluation loss is `ratio` times the training loss or more, always, while the accuracies agree.

    A model that is as often right on held-out data as in training cannot lose many times as much there:
    the loss is a sum where it should be a mean. The ratio may vary by a factor of exp(`spread`), and the
    accuracies may lie `gap` apart.
    """
    run = view.run
    train, held = shape(run.series["train/loss"]), shape(run.series["eval/loss"])
    right, seen = run.series.get("eval/accuracy"), run.series.get("train/accuracy")
    if train is None or held is None or held.count < 3 or not (train.positive and held.positive):
        return unknown("the losses cannot be compared")
    if train.series.unit != held.series.unit:
        return unknown("training and evaluation loss count different steps")
    beside = np.interp(held.x, train.sx, train.sy)
    logs = np.log(held.y / np.maximum(beside, 1e-300))
    factor, apart = float(np.exp(np.median(logs))), float(np.ptp(logs)) / 2
    words = f"eval/loss is {np.exp(np.min(logs)):.3g} to {np.exp(np.max(logs)):.3g} times train/loss"
    rest: dict[str, Any] = {"value": factor, "threshold": ratio, "series": ("train/loss", "eval/loss")}
    if float(np.min(logs)) < np.log(ratio) or apart > spread:
        return absent(words, **rest)
    level = _level(right)
    if level is None:
        return unknown(f"{words}; the accuracy on evaluation data is not logged")
    batches = number_of(run, "gradient_accumulation_steps") or 1
    if batches > 1 and 0.6 < factor / batches < 1.7:
        return unknown(
            f"{words}; the training loss may be logged divided by the {batches:g} batches of a step"
        )
    other = _level(seen)
    if level < 0.5 or (other is not None and other - level > gap):
        return absent(f"{words}; the accuracy there is {level:.3g}", **rest)
    return found(f"{words}, with an accuracy of {level:.3g} there", where=last_place(held.series), **rest)


def _level(series: Series | None) -> float | None:
    return reached(series) if series is not None and len(finite(series)) else None


@probe("train/accuracy", "eval/accuracy")
def training_is_harder(view: View, gap: float) -> Finding:
    """Accuracy on training batches ends `gap` below that on evaluation data.

    Wrong labels, strong augmentation and dropout act on training only: the model knows more than its training
    figures show. Both have to stand still by then: while a model learns fast, the mean of an epoch lags. A
    usual dropout costs up to half its share (0.17 at 0.5, 0.13 at 0.3 were measured in sound runs).
    """
    train, held = view.run.series["train/accuracy"], view.run.series["eval/accuracy"]
    if min(len(finite(train)), len(finite(held))) < 5:
        return unknown("fewer than 5 values of an accuracy")
    (low, error), (high, other) = _end(train), _end(held)
    words = f"train/accuracy ends at {low:.4g}, eval/accuracy at {high:.4g}"
    rest: dict[str, Any] = {"value": high - low, "threshold": gap, "series": (train.name, held.name)}
    if high - low < gap or high - low < 3 * float(np.hypot(error, other)):
        return absent(words, **rest)
    mixed = [k for k in ("mixup", "cutmix") if switched_on(view.run, k)]
    if mixed:
        return unknown(f"{words}: with {' and '.join(mixed)} training scores mixtures", **rest)
    dropped = number_of(view.run, "dropout") or 0.0
    if dropped <= USUAL_DROPOUT and high - low < dropped / 2:
        return unknown(f"{words}: a dropout of {dropped:g} may explain as much", **rest)
    return found(words, where=(*last_place(train), *last_place(held)), **rest)


@probe("train/accuracy", "eval/accuracy", "eval/loss")
def as_unsure_as_labels(view: View, gap: float, share: float, doubt: float, most: float) -> Finding:
    """Where training scores `gap` less than evaluation: whether evaluation is as unsure as wrong labels make.

    A model that cannot learn its wrong labels by heart learns how many there are: of the class that is right
    it is as sure as the labels are, p, and loses -ln p at clean samples. Less than `share` of that for the
    accuracy in training says that its labels are right and its inputs are harder: mixed, cut, dropped.
    More is lost only where its answer is wrong, and what such an answer costs the training loss tells. A loss
    of `most` times both together is that of a model that is unsure without the labels' doing: it has learnt
    too little, or cannot give a sure answer. Of runs with wrong labels nearly all lie below `doubt`.
    """
    run = view.run
    train, held, loss = run.series["train/accuracy"], run.series["eval/accuracy"], run.series["eval/loss"]
    if min(len(finite(train)), len(finite(held)), len(finite(loss))) < 5:
        return unknown("fewer than 5 values of an accuracy or of the evaluation loss")
    low, high, level = _end(train)[0], _end(held)[0], reached(loss)
    if high - low < gap or not 0 < low < 1:
        return unknown(
            f"train/accuracy ends at {low:.4g}, eval/accuracy at {high:.4g}: training is no harder"
        )
    bound = share * -math.log(low)
    words = f"train/accuracy ends at {low:.4g}, eval/accuracy at {high:.4g} with a loss of {level:.4g}"
    rest: dict[str, Any] = {"value": level, "threshold": bound, "series": (train.name, loss.name)}
    if level < bound:
        return absent(f"{words}: as many wrong labels would have made it unsure", **rest)
    ratio = level / _loss_of_labels(run, low, high)
    if ratio < doubt:
        return found(words, where=last_place(loss), **rest)
    words += f", {ratio:.3g} times what wrong labels cost it"
    return absent(words, **rest) if ratio >= most else unknown(words, **rest)


def _loss_of_labels(run: Run, low: float, high: float) -> float:
    """What wrong labels cost evaluation: -ln `low` where it answers right, elsewhere what training does."""
    sure = -math.log(low)
    learnt = main_loss(run)
    if learnt is None or len(finite(learnt)) < 5:
        return math.inf
    wrong = (_end(learnt)[0] - low * sure) / (1 - low)
    return max(high * sure + (1 - high) * wrong, sure)


def _end(series: Series, part: float = 0.3) -> tuple[float, float]:
    """The mean of the last part of a metric and its standard error."""
    values = finite(series)
    tail = values[-max(3, round(part * len(values))) :]
    return float(np.mean(tail)), float(stats.noise(values)) / len(tail) ** 0.5


@probe("train/loss", "eval/loss")
def worse_than_untrained(
    view: View,
    ratio: float,
    most: float,
    progress: float,
    good: float = 0.5,
    begin: float = 1.0,
    partly: float = math.inf,
) -> Finding:
    """Evaluation loses `ratio` to `most` times what the untrained model lost, while training learns.

    An answer without knowledge costs what the first training step does. Only answers that are sure of
    something else cost several times as much: labels under other numbers. Inputs out of all scale cost
    hundreds of times as much. No evaluation may have lost less than `begin` times the first training loss:
    what is learned by heart gets worse than that only later. A first loss that is the mean of an epoch is no
    longer that of an untrained model, which may be `EPOCH_MEAN` times as large where the number of classes
    does not tell. The training loss has to fall by `progress`; where the metric is above `good`, evaluation's
    answers are right and their loss is computed otherwise. An accuracy that has grown to `partly` times that
    of guessing is that of a model which knows part of the classes: what it never saw, it is sure of as well.
    """
    run = view.run
    if regression(run) or objective(run):
        return unknown("the loss is no measure of how sure answers are")
    train, held = finite(run.series["train/loss"]), finite(run.series["eval/loss"])
    if len(train) < 4 or len(held) < 3 or not np.isfinite(run.series["train/loss"].values[-1]):
        return unknown("too few losses, or no number at the end of training")
    first = float(np.median(train[: max(1, min(5, len(train) // 20))]))
    first = max(first, float(min(train[0], held[0])))  # what falls steeply is soon below that
    fall = 1 - float(np.median(train[-max(1, len(train) // 5) :])) / max(first, 1e-300)
    curve, known, meant = shape(run.series["train/loss"]), classes(run), ""
    if curve is not None and is_mean_of_epochs(curve):
        first = max(first, chance_loss(run, known.count)) if known else EPOCH_MEAN * first
        meant = f", {EPOCH_MEAN:g} times the mean of the first epoch" if not known else ""
    late = held[len(held) // 2 :]
    factor = float(np.median(late)) / max(first, 1e-300)
    words = (
        f"eval/loss stays at {float(np.median(late)):.4g}, {factor:.1f} times the first training loss"
        f" ({first:.4g}{meant}); the training loss falls by {fall:.0%}"
    )
    rest: dict[str, Any] = {"value": factor, "threshold": ratio, "series": ("train/loss", "eval/loss")}
    if first <= 0 or not 0 <= fall <= 1 or fall < progress:
        return unknown(f"{words}: training does not learn", **rest)
    if meant and factor < ratio <= EPOCH_MEAN * factor:
        return unknown(f"{words}; the number of classes is not known", **rest)
    if not ratio <= factor < most or float(np.min(late)) < 0.8 * ratio * first:
        return absent(words, **rest)
    if float(np.min(held)) < begin * first:
        return absent(f"{words}, but was below it at first", **rest)
    level = _level(metric(run, "eval", FRACTIONS))
    if level is not None and level > good:
        return absent(f"{words}; {level:.3g} of the answers are right", **rest)
    guess = 1 / known.count if known else 0.0 if meant else math.exp(-first)
    if guess and _grown(run, partly * guess):
        return unknown(f"{words}; evaluation comes to know part of the answers", **rest)
    return found(words, where=last_place(run.series["eval/loss"]), **rest)


def _grown(run: Run, least: float, growth: float = 1.3) -> bool:
    """Whether the accuracy of the evaluation has grown, to `least` or more in its later half."""
    series = run.series.get("eval/accuracy")
    if series is None or len(values := finite(series)) < 4:
        return False
    return bool(np.min(values[len(values) // 2 :]) >= max(least, growth * values[0]))


@probe("eval/loss", "test/loss")
def loss_of_test_far_above(view: View, ratio: float = 5.0, nats: float = 1.0) -> Finding:
    """The last loss on a third part of the data is `ratio` times that of the evaluation, and `nats` above it.

    The model is the same, so the data are: of another kind, or not processed as what was held out.
    """
    held, tested = view.run.series["eval/loss"], view.run.series["test/loss"]
    if held.raw == tested.raw:
        return unknown("the evaluation is the test itself")
    numbers, last = finite(held), finite(tested)
    if len(numbers) < 3 or not len(last):
        return unknown("too few losses of evaluation and test")
    level, far = float(np.max(numbers[-3:])), float(last[-1])
    words = f"{tested.name} ends at {far:.4g}, {held.name} at {level:.4g}"
    seen: dict[str, Any] = {"value": far, "threshold": ratio * level, "series": (tested.name, held.name)}
    if level > 0 and far > ratio * level and far > level + nats:
        return found(words, where=last_place(tested), **seen)
    return absent(words, **seen)
