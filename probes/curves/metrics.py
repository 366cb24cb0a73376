"""Metrics of training and evaluation: how high they are, whether they move, what is in them.

The metric of a split is the first that was logged of accuracy, F1, AUC, mAP, ... (higher is better), else
of error rates and distances (lower is better).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from ...engine.model import Place, State
from ..assembly import names
from ..registry import Finding, View, absent, place, place_of, present, unknown
from ..run import Floats, Run, Series
from . import situation, stats
from .judging import probe
from .levels import guessed_classes
from .progress import ending
from .shapes import Shape, shape
from .shares import beyond_whole
from .situation import (
    FRACTIONS,
    OTHERS,
    classes,
    error_metric,
    less_is_better,
    metric,
    metric_or_error,
    metric_shape,
    reached,
)

ANY = (*FRACTIONS, *OTHERS)
JUDGED = ("accuracy", "f1", "auc")


def _main(run: Run, kinds: tuple[str, ...] = FRACTIONS) -> Series | None:
    """The metric on training data where there is one, else on evaluation data."""
    return metric(run, "train", kinds) or metric(run, "eval", kinds)


def finite(series: Series) -> Floats:
    """The finite values of a series."""
    return series.values[np.isfinite(series.values)]


def last_place(series: Series) -> tuple[Place, ...]:
    """Where the last finite value of a series stands."""
    kept = np.flatnonzero(np.isfinite(series.values))
    return (place(series, int(kept[-1])),) if len(kept) else ()


def guess_of(run: Run, series: Series) -> tuple[float, tuple[Place, ...]] | None:
    """What guessing gives for this metric, and where that is known from."""
    if series.name.endswith(("/auc", "/eer")):
        return 0.5, ()
    known = classes(run)
    if known is None or known.setting.key != "num_classes" or not series.name.endswith("/accuracy"):
        return None
    return 1.0 / known.count, (place_of(known.setting),)


def told_as(series: Series) -> str:
    """The name of a metric in a sentence; an equal error rate is turned around before it is judged."""
    return f"1 - {series.name}" if series.name.endswith("/eer") else series.name


def too_few(series: Series, points: int) -> str:
    """How many points there are, and how many would be needed."""
    return f"{series.name} has {len(finite(series))} finite points; {points} are needed"


# ----------------------------------------------------------------------------------------- how high it is


@probe()
def metric_at_chance(view: View, margin: float = 0.03) -> Finding:
    """The metric ends at, and never left, the level of guessing."""
    run = view.run
    series = _main(run, ("accuracy", "auc")) or situation.right_by_eer(run)
    if series is None:
        return unknown("no accuracy, AUC or equal error rate was logged")
    guess = guess_of(run, series)
    if guess is None and (known := _main(run, ("auc",))) is not None:
        series, guess = known, guess_of(run, known)  # what guessing gives there needs no count of classes
    values, label = finite(series), told_as(series)
    end = reached(series)
    best = max(end, float(np.max(stats.running_median(values, 3))))
    seen: dict[str, Any] = {"value": round(end, 4), "series": (series.name,)}
    if guess is None:
        return _at_unknown_chance(run, series, end, best, margin, seen)
    level, where = guess
    near = (
        min(margin, 0.5 * level)
        + 2 * stats.MEDIAN_ERROR * stats.noise(values) / max(1, len(values) // 5) ** 0.5
    )
    seen["threshold"] = round(level + near, 4)
    words = f"{label} ends at {end:.4g} (best {best:.4g}); guessing gives {level:.4g}"
    if end > level + near or best > level + 2 * near:
        return absent(words, **seen)
    if len(values) < 3:
        return unknown(too_few(series, 3))
    loss = shape_of(situation.main_loss(run))
    reason = situation.too_early(run, loss, 5) if loss is not None else None
    if series.name.endswith("/auc") and max(end, best) < level - 2 * near:
        reason = "a score that is turned around would tell the classes apart"
    if reason is None and rises(values):
        reason = "it rises from one evaluation to the next"
    if reason:
        return unknown(f"{words}, but {reason}")
    return present(words, step=float(series.steps[0]), where=(*last_place(series), *where), **seen)


def rises(values: Floats, points: int = 8, share: float = 0.85) -> bool:
    """Whether of any two values the later is nearly always the higher one: that is no guess any more."""
    if len(values) < points:
        return False
    first, later = np.triu_indices(len(values), 1)
    return float(np.mean(values[later] > values[first])) >= share


def _at_unknown_chance(
    run: Run, series: Series, end: float, best: float, margin: float, seen: dict[str, Any]
) -> Finding:
    """Without a class count: a metric and a loss that both stand still, at 1/K and ln K of a usual K."""
    words = f"{series.name} ends at {end:.4g} (best {best:.4g})"
    if end > 0.5 + 2 * margin:
        return absent(f"{words}: above the guess between two classes", **seen)
    values = finite(series)
    if len(values) >= 3 and end - float(values[0]) > 3 * max(margin, stats.noise(values)):
        return absent(f"{words} and rose from {values[0]:.4g}", **seen)
    loss = shape_of(situation.main_loss(run))
    count = guessed_classes(run, loss) if loss is not None and loss.count >= 5 and len(values) >= 5 else None
    if count is not None and loss is not None and end < (1 / count) + min(margin, 0.5 / count):
        level = situation.chance_loss(run, count)
        return present(
            f"{words} and {loss.name} at {loss.end.value:.4g}: guessing among {count} gives {1 / count:.3g}"
            f" and ln {count} = {level:.4g}",
            threshold=round(1 / count, 4),
            step=float(series.steps[0]),
            where=last_place(series),
            **seen,
        )
    return unknown(f"{words}, but the number of classes is not known")


def shape_of(series: Series | None) -> Shape | None:
    """The shape of a series that may not be there."""
    return None if series is None else shape(series)


def _low(run: Run, split: str, level: float) -> Finding:
    series = metric(run, split, JUDGED)
    if series is None:
        return unknown(f"no accuracy, F1 or AUC of the {split} data was logged")
    values = finite(series)
    if not np.any(values > 0):
        return unknown(f"{series.name} is never above 0")
    end = reached(series)
    best = max(end, float(np.max(stats.running_median(values, 3))))
    seen: dict[str, Any] = {"value": round(end, 4), "threshold": level, "series": (series.name,)}
    words = f"{series.name} ends at {end:.4g} (best {best:.4g})"
    known = classes(run)
    guess = guess_of(run, series)
    line = min(level, guess[0] + 0.45 * (1 - guess[0])) if guess else min(level, 0.5)
    seen["threshold"] = round(line, 4)
    if best >= line:
        return absent(words, **seen)
    if known is not None and (known.count > 100 or known.setting.key == "vocab_size"):
        return unknown(f"{words}; what can be reached among {known.count} is not known")
    if run.info.context.get("task") == "language-model":
        return unknown(f"{words}; what can be reached among words is not known")
    if len(values) < 3:
        return unknown(too_few(series, 3))
    share = situation.planned_share(run, series)
    if share is not None and share < 0.3:
        return unknown(f"{words}, but only {share:.0%} of the planned run was seen")
    return present(words, step=float(series.steps[0]), where=last_place(series), **seen)


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
    series = series or error_metric(view.run, "eval")
    if series is None:
        return unknown("no metric was logged")
    curve = metric_shape(series)
    if curve is None or curve.count < 5:
        return unknown(too_few(series, 5))
    if reached(series) > 0.97 and series.name.rpartition("/")[2] in FRACTIONS:
        return absent(f"{series.name} is at {reached(series):.4g}, near its ceiling", series=(series.name,))
    return ending(curve, 0.25, share, "getting better" if less_is_better(series) else "rising")


def _trains_on_nan(run: Run) -> bool:
    """The training loss ends non-finite."""
    loss = run.series.get("train/loss")
    return loss is not None and len(loss) > 0 and not bool(np.isfinite(loss.values[-1]))


def answers_nan(run: Run) -> bool:
    """No evaluation, or only every other one at most, gave a loss that is a number: of answers that are NaN
    the first class is the largest, whatever the weights are, so a score that stands still tells nothing."""
    loss = run.series.get("eval/loss")
    return loss is not None and len(loss) > 0 and float(np.mean(np.isfinite(loss.values))) <= 0.5


FEW_SCORES = 5  # evaluations up to which a good score may be equal by chance


@probe()
def eval_metric_constant(view: View, points: int = 3) -> Finding:
    """Every evaluation gives the very same value, below the ceiling.

    Where the evaluation loss was logged and moves, the weights do change: a model that answers everything
    with one class has a constant accuracy, too, and that is another symptom.
    """
    series = metric_or_error(view.run, "eval", ANY)
    if series is None:
        return unknown("no evaluation metric was logged")
    values = finite(series)
    if len(values) < points:
        return unknown(too_few(series, points))
    if _trains_on_nan(view.run):
        return unknown("the training loss is no number, and a model of NaN answers the same each time")
    if answers_nan(view.run):
        return unknown("the evaluation loss is no number, and answers of NaN are the same each time")
    seen: dict[str, Any] = {
        "value": round(float(np.ptp(values)), 6),
        "threshold": 0.0,
        "series": (series.name,),
    }
    if float(np.ptp(values)) > 1e-9 * max(abs(float(values[0])), 1e-9):
        return absent(f"{series.name} goes from {np.min(values):.4g} to {np.max(values):.4g}", **seen)
    words = f"{series.name} is {values[0]:.6g} at all {len(values)} evaluations"
    if values[0] < 0 and series.name.rpartition("/")[2] in FRACTIONS:
        return unknown(f"{words}: undefined rather than measured")
    if values[0] == 0:
        return unknown(f"{words}: see eval-metric-zero")
    if series.name.rpartition("/")[2] in FRACTIONS and values[0] >= 0.95:
        return unknown(f"{words}: it may have reached its ceiling")
    if series.name.rpartition("/")[2] in FRACTIONS and values[0] >= 0.5 and len(values) < FEW_SCORES:
        return unknown(f"{words}: so it may be, of few samples")
    if less_is_better(series) and float(values[0]) in (1.0, 100.0):
        return unknown(f"{words}: an answer that says nothing is all wrong each time")
    trained = view.run.series.get(series.name.replace("eval/", "train/"))
    if trained is not None and abs(float(values[0]) - reached(trained)) <= 0.02 * abs(float(values[0])):
        return unknown(f"{words}, where training stands as well: the weights that train know no more")
    if "eval/loss" in view.run.series and (moves := eval_loss_constant(view)).state is State.ABSENT:
        return absent(f"{words}, and yet {moves.why}: what is evaluated does change", **seen)
    return present(words, step=float(series.steps[0]), where=last_place(series), **seen)


@probe("eval/loss")
def eval_loss_constant(view: View, relative: float = 1e-4, points: int = 3) -> Finding:
    """Every evaluation gives the same loss, to `relative`: the weights do not move at all.

    A model that merely guesses still moves its output biases, and its loss with them. At ln K exactly the
    outputs are all the same: weights that decay to nothing, or units that are dead, give it as well.
    """
    series = view.run.series["eval/loss"]
    values = finite(series)
    if len(values) < points:
        return unknown(too_few(series, points))
    spread = float(np.ptp(values)) / max(abs(float(np.median(values))), 1e-12)
    seen: dict[str, Any] = {"value": spread, "threshold": relative, "series": (series.name,)}
    words = f"eval/loss varies by {spread:.2g} of {np.median(values):.4g} over {len(values)} evaluations"
    if stats.quantum(values) > 10 * relative * abs(float(np.median(values))):
        return unknown(f"{words}, and is printed too coarsely")
    if spread <= relative and float(np.median(values)) != 0:
        uniform = [k for k in situation.USUAL_CLASSES if _is_chance(view.run, values, k)]
        if uniform:
            return unknown(f"{words}: ln {uniform[0]}, which outputs that are all the same give in any case")
        return present(words, where=last_place(series), **seen)
    return absent(words, **seen)


def _is_chance(run: Run, values: Floats, count: int, relative: float = 2e-5) -> bool:
    """Whether a loss is that of a uniform guess to all digits that logs print."""
    chance = situation.chance_loss(run, count)
    return abs(float(np.median(values)) - chance) <= relative * chance


@probe()
def eval_metric_zero(view: View, points: int = 2, many: int = 10) -> Finding:
    """Every evaluation gives exactly zero.

    The plan of a run that stops by itself is no measure: `many` evaluations are enough of any run.
    """
    series = metric(view.run, "eval", tuple(k for k in ANY if k not in ("r2", "reward")))
    if series is None:
        return unknown("no evaluation metric was logged")
    values = finite(series)
    seen: dict[str, Any] = {
        "value": round(float(np.max(values)), 6),
        "threshold": 0.0,
        "series": (series.name,),
    }
    if np.any(values > 0):
        return absent(f"{series.name} reaches {np.max(values):.4g}", **seen)
    if situation.scored_on_nothing(view.run):
        return unknown(f"{series.name} and eval/loss are always 0: nothing was evaluated")
    if np.any(values < 0):
        return unknown(f"{series.name} is {np.min(values):g}: undefined rather than zero")
    share = situation.planned_share(view.run, series)
    if len(values) < points or (share is not None and share < 0.3 and len(values) < many):
        return unknown(f"{too_few(series, points)}, and enough of the run")
    return present(
        f"{series.name} is exactly 0 at all {len(values)} evaluations",
        step=float(series.steps[0]),
        where=last_place(series),
        **seen,
    )


@probe("train/loss")
def detects_next_to_nothing(view: View, most: float, progress: float, points: int = 10) -> Finding:
    """The mean average precision stays below `most`, while the training loss falls by `progress`.

    What a detector learns of its training data is found in held-out data as well, in part at least.
    """
    series = view.run.series.get("eval/map")
    loss = shape(view.run.series["train/loss"])
    values = np.empty(0) if series is None else finite(series)
    if series is None or loss is None or not len(values):
        return unknown("no mean average precision was logged")
    best = float(np.max(values)) / (100.0 if float(np.max(values)) > 1 else 1.0)
    words = f"{series.name} comes to {best:.4g}, and train/loss falls by {loss.progress:.0%}"
    seen: dict[str, Any] = {"value": round(best, 5), "threshold": most, "series": (series.name, "train/loss")}
    share = situation.planned_share(view.run, series)
    if best >= most:
        return absent(words, **seen)
    if best <= 0 or len(values) < points or loss.progress < progress or (share is not None and share < 0.3):
        return unknown(f"{words}: zero is told by itself, and training has to have come far", **seen)
    if rises(values):
        return unknown(f"{words}, and rises from one evaluation to the next", **seen)
    return present(words, where=last_place(series), **seen)


@probe()
def eval_near_perfect_early(view: View, level: float = 0.98, within: float = 0.1) -> Finding:
    """The evaluation metric is at `level` within the first `within` of the run, before training is good.

    Where training is as good by the next evaluation, the task may be an easy one: `near_perfect_early`.
    """
    found = _perfect_early(view, level, within)
    if found.state is not State.PRESENT:
        return found
    easy = _training_as_good(view.run, float(found.step or 0.0), level)
    return replace(found, state=State.UNKNOWN, why=f"{found.why}, but {easy}") if easy else found


@probe()
def near_perfect_early(view: View, level: float = 0.98, within: float = 0.1) -> Finding:
    """The evaluation metric is at `level` within the first `within` of the run, and training no later."""
    found = _perfect_early(view, level, within)
    if found.state is not State.PRESENT:
        return found
    easy = _training_as_good(view.run, float(found.step or 0.0), level)
    if easy is None:
        return replace(found, state=State.ABSENT, why=f"{found.why}, before training is good")
    return replace(found, why=f"{found.why}, and {easy}")


def _training_as_good(run: Run, at: float, level: float) -> str | None:
    """Say that training is nearly at `level` by the evaluation after the one at step `at`, or None.

    Without a metric of training its loss tells: a tenth of a nat is lost by what is right 97 times of 100.
    """
    judged, series = metric(run, "eval", JUDGED), metric(run, "train", JUDGED)
    later = [float(s) for s in judged.steps if s > at] if judged is not None else []
    until = min(later, default=at)
    if series is not None:
        best = float(np.nanmax(series.values[series.steps <= until], initial=0.0))
        return f"{series.name} reaches {best:.4g} by then" if best >= 1 - 2 * (1 - level) else None
    loss = run.series.get("train/loss")
    if loss is None or situation.regression(run):
        return None
    window = loss.values[(loss.steps > at) & (loss.steps <= until)]
    window = window[np.isfinite(window)]
    low = float(np.median(window)) if len(window) else math.inf
    return f"train/loss is {low:.3g} by then" if 0 <= low < 10 * (1 - level) else None


def _perfect_early(view: View, level: float, within: float) -> Finding:
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
    trained = situation.trained_start(run, shape_of(situation.main_loss(run)))
    if trained:
        return unknown(f"{words}, but {trained}")
    first = next(i for i in early if series.values[i] >= level)
    return present(words, step=float(series.steps[first]), where=(place(series, first),), **seen)


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
                f"{series.name} is undefined at {np.sum(bad)} of {len(series)} points,"
                f" first at step {series.steps[at]:g}",
                value=int(np.sum(bad)),
                step=float(series.steps[at]),
                where=(place(series, at),),
                series=(series.name,),
            )
    if not logged:
        return unknown("no metric was logged")
    return absent("all metrics are numbers", series=tuple(s.name for s in logged[:3]))


@probe()
def above_whole(view: View) -> Finding:
    """An accuracy, F1, precision, recall, IoU or Dice above 100: no share is so large, not even in percent.

    Hits counted over more pairs than there are samples (predictions of shape (N, 1) against labels of shape
    (N,)), or a sum of shares that is divided by something else.
    """
    shares = [s for s in view.run.all_series if (kind := names.base(s.name)) is not None and kind.fraction]
    for series in shares:
        if beyond_whole(series):
            at = int(np.nanargmax(series.values))
            words = f"{series.raw} reaches {series.values[at]:.5g}; a share is 1 at most, or 100 in percent"
            rest: dict[str, Any] = {"value": float(series.values[at]), "threshold": 100}
            return present(words, step=float(series.steps[at]), where=(place(series, at),), **rest)
        if "dice" in series.name and _always_over_one(series):
            words = f"{series.raw} lies between {np.min(series.values):.4g} and {np.max(series.values):.4g}"
            rest = {"value": float(np.max(series.values)), "threshold": 1, "where": last_place(series)}
            return present(f"{words} throughout; the overlap of two masks is 1 at most", **rest)
    if not shares:
        return unknown("no metric that is a share was logged")
    return absent(f"{', '.join(sorted({s.raw for s in shares})[:3])}: never above 100")


def _always_over_one(series: Series, points: int = 3) -> bool:
    """From the first evaluation on above 1, never above 2: in percent, such a model finds nothing at all."""
    values = finite(series)
    return len(values) >= points and bool(np.all((values > 1.0005) & (values <= 2.0)))


@probe()
def per_class_uneven(view: View, low: float = 0.1, high: float = 0.7) -> Finding:
    """Of metrics per class ("<split>/<metric>/<class>"), some end below `low` and others above `high`."""
    found: dict[str, float] = {}
    for name, series in sorted(view.run.series.items()):
        parts = name.split("/")
        if len(parts) == 3 and parts[1] in ANY and len(finite(series)):
            found[name] = reached(series)
    if len(found) < 2:
        return unknown("no metric per class was logged")
    worst, best = min(found, key=lambda n: found[n]), max(found, key=lambda n: found[n])
    words = (
        f"of {len(found)} classes the worst is {worst} with {found[worst]:.3g}, the best {best}"
        f" with {found[best]:.3g}"
    )
    seen: dict[str, Any] = {"value": round(found[worst], 4), "threshold": low, "series": (worst, best)}
    if found[worst] < low and found[best] > high:
        return present(words, where=last_place(view.run.series[worst]), **seen)
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
    values = finite(series)
    if len(values) < 3:
        return unknown(too_few(series, 3))
    end, spread = reached(series), stats.deviation(values[len(values) // 2 :])
    words = f"{series.name} ends at {end:.4g}; the largest class holds {share:.4g} of the samples"
    seen: dict[str, Any] = {"value": round(end, 4), "threshold": round(share, 4), "series": (series.name,)}
    if ranked := situation.ranks_well(view.run):
        return unknown(f"{words}, but {ranked}: its threshold answers one class, its scores do not", **seen)
    if abs(end - share) <= tolerance and spread <= tolerance and share > 1.2 / len(counts):
        return present(words, step=float(series.steps[0]), where=last_place(series), **seen)
    return absent(words, **seen)


def _class_counts(run: Run) -> tuple[float, ...] | None:
    """Samples per class, where the run recorded them."""
    from ..settings import class_counts

    found = class_counts(run.raw_settings)
    if found is None or len(found[0]) < 2 or not math.isfinite(sum(found[0])) or sum(found[0]) <= 0:
        return None
    return found[0]
