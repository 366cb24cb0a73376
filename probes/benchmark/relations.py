"""What the quantities of a run say of each other, held against what they say of each other in the benchmark.

Loss and metric of one evaluation are computed from the same answers, and training and evaluation loss from
the same weights. Where only one of two such quantities leaves the benchmark's, the place of the fault is
known: a wrong model moves both.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..assembly import names as quantities
from ..curves.situation import chance_loss, classes
from ..curves.stats import noise
from ..registry import Finding, View, absent, present, probe, unknown
from ..run import Floats
from .common import made_harder, places_of
from .compare import Pair, pair
from .end import LOWER, METRICS

ABOVE_GUESS = 1.2  # a loss that ends higher than this, times that of a guess, is no matter of hard data


class Level(NamedTuple):
    """A quantity over the last part of the common points: both sides, and how much their gap scatters."""

    found: Pair
    run: float
    bench: float
    error: float

    @property
    def factor(self) -> float:
        """The run's level as a multiple of the benchmark's; NaN where one of them is not positive."""
        return self.run / self.bench if self.run > 0 and self.bench > 0 else float("nan")

    def within(self, share: float) -> bool:
        """Whether the levels agree up to a factor of 1 + `share`."""
        return bool(abs(np.log(self.factor)) <= np.log1p(share)) if np.isfinite(self.factor) else False


class Metric(NamedTuple):
    """A metric of both sides; `gap` is run - benchmark, as a share of the benchmark's unless a fraction."""

    name: str
    level: Level
    gap: float
    error: float
    fraction: bool


def _level(view: View, name: str, points: int = 3, part: float = 0.5) -> Level | str:
    """The level of a quantity over the last `part` of the common points; a string says why there is none."""
    found = pair(view, name, points)
    if isinstance(found, str):
        return found
    for series, side in ((found.run_series, "run"), (found.bench_series, "benchmark")):
        if not np.all(np.isfinite(series.values[-max(1, len(series) // 5) :])):
            return f"{name} of the {side} does not end as a number"
    count = max(2, round(part * len(found)))
    gaps = (found.run - found.bench)[-count:]
    error = float(noise(gaps)) / count**0.5 if count > 3 else float(np.ptp(gaps)) / 2
    return Level(found, float(np.median(found.run[-count:])), float(np.median(found.bench[-count:])), error)


def _metrics(view: View) -> list[Metric]:
    """The evaluation metrics that both sides log."""
    made = []
    for base in (*METRICS, *LOWER):
        name = f"eval/{base}"
        level = _level(view, name)
        if isinstance(level, str):
            continue
        quantity = quantities.base(name)
        fraction = quantity is not None and quantity.fraction
        unit = 1.0 if fraction else max(abs(level.bench), 1e-12)
        made.append(Metric(name, level, (level.run - level.bench) / unit, level.error / unit, fraction))
    return made


def _better(name: str, level: Level, ratio: float) -> bool:
    """Whether the run leaves 1 / `ratio` of the benchmark's error, or has `ratio` times its score."""
    quantity = quantities.base(name)
    if quantity is not None and quantity.lower:
        return level.run * ratio < level.bench
    if quantity is not None and quantity.fraction:
        return (1 - level.run) * ratio < 1 - level.bench
    return level.run > 0.5 * ratio * level.bench > 0


@probe("benchmark")
def metric_apart_at_equal_loss(
    view: View, loss: float, fraction: float, share: float, ratio: float = 3.0
) -> Finding:
    """The evaluation losses agree within `loss`, and a metric of the same answers does not.

    Apart: by `fraction` for what lies between 0 and 1, by `share` of the benchmark's value for others, beyond
    three times what the gap scatters. Without an evaluation loss the training loss stands for it; then only a
    metric that is better by `ratio` counts, as a worse one may be a model that does not generalise.
    """
    metrics = _metrics(view)
    if not metrics:
        return unknown("no metric is logged on both sides")
    name, level, gap, error, is_fraction = max(
        metrics, key=lambda m: abs(m.gap) / (fraction if m.fraction else share)
    )
    limit = fraction if is_fraction else share
    losses = _level(view, "eval/loss")
    held = not isinstance(losses, str)
    if isinstance(losses, str):
        losses = _level(view, "train/loss")
    if isinstance(losses, str):
        return unknown(losses)
    loss_name = losses.found.name
    text = (
        f"{name} is {level.run:.4g}, in the benchmark {level.bench:.4g}; {loss_name} is {losses.run:.4g}"
        f" against {losses.bench:.4g}"
    )
    rest: dict[str, Any] = {"value": gap, "threshold": limit, "series": (name, loss_name)}
    if abs(gap) < max(limit, 3 * error):
        return unknown(f"{text}: the metrics are not apart", **rest)
    if not losses.within(loss):
        return absent(f"{text}: both are apart", **rest) if held else unknown(text, **rest)
    if not held and not _better(name, level, ratio):
        return unknown(f"{text}: without the loss on evaluation data it may be the model", **rest)
    return present(text, where=places_of(level.found, len(level.found) - 1), **rest)


@probe("eval/loss", "benchmark:eval/loss", "train/loss", "benchmark:train/loss")
def eval_loss_apart_at_equal_metric(view: View, ratio: float, train: float, fraction: float) -> Finding:
    """Training loss and metric agree with the benchmark's, the evaluation loss is `ratio` times it or under.

    The training loss may differ by a share of `train`, the metric by `fraction`.
    """
    losses, trained = _level(view, "eval/loss"), _level(view, "train/loss")
    if isinstance(losses, str) or isinstance(trained, str):
        return unknown(losses if isinstance(losses, str) else str(trained))
    metrics = [m for m in _metrics(view) if m.name != "eval/perplexity"]
    if not metrics or not np.isfinite(losses.factor):
        return unknown("no metric, or no positive evaluation loss, is logged on both sides")
    name, level, gap, *_ = metrics[0]
    text = (
        f"eval/loss is {losses.run:.4g}, in the benchmark {losses.bench:.4g}; {name} is {level.run:.4g}"
        f" against {level.bench:.4g}, train/loss {trained.run:.4g} against {trained.bench:.4g}"
    )
    rest: dict[str, Any] = {"value": losses.factor, "threshold": ratio, "series": ("eval/loss", name)}
    if max(losses.factor, 1 / losses.factor) < ratio:
        return absent(text, **rest)
    if not trained.within(train) or abs(gap) > fraction:
        return absent(f"{text}: more than the evaluation loss is apart", **rest)
    return present(text, where=places_of(losses.found, len(losses.found) - 1), **rest)


def _score(name: str, values: Floats) -> Floats:
    quantity = quantities.base(name)
    return -values if quantity is not None and quantity.lower else values


@probe("eval/loss", "benchmark:eval/loss", "train/loss", "benchmark:train/loss")
def loss_above_at_equal_metric(view: View, ratio: float, agree: float, least: float = 0.015) -> Finding:
    """At the same metric the run's evaluation loss is `ratio` times the benchmark's, training the same.

    Held against what the benchmark lost when its metric was as good at most: a model that is merely behind
    lies on the benchmark's curve of loss over metric. The training loss has to agree with the evaluation loss
    within `agree`: training targets that are harder raise it above, learning by heart leaves it below.
    Metrics closer than `least` to their best value tell no longer what the loss should be.
    """
    losses, trained = pair(view, "eval/loss", 4), _level(view, "train/loss")
    if isinstance(losses, str) or isinstance(trained, str):
        return unknown(losses if isinstance(losses, str) else str(trained))
    names = [f"eval/{m}" for m in (*METRICS, *LOWER) if m not in ("perplexity", "bits", "mse", "rmse", "mae")]
    metric = next((p for n in names if not isinstance(p := pair(view, n, 4), str)), None)
    if metric is None:
        return unknown("no metric is logged on both sides")
    shared, i, j = np.intersect1d(losses.x, metric.x, return_indices=True)
    if len(shared) < 4 or np.any(losses.run[i] <= 0) or np.any(losses.bench[i] <= 0):
        return unknown("fewer than 4 evaluations with a positive loss and a metric on both sides")
    mine, theirs = _score(metric.name, metric.run[j]), _score(metric.name, metric.bench[j])
    quantity = quantities.base(metric.name)
    best = 1.0 if quantity is not None and quantity.fraction and not quantity.lower else float("inf")
    order = np.argsort(theirs, kind="stable")
    logs = []
    for score, level in list(zip(mine, losses.run[i], strict=True))[len(shared) // 2 :]:
        at = int(np.searchsorted(theirs[order], score, side="right")) - 1
        if at >= 0 and best - score >= least:
            logs.append(float(np.log(level / losses.bench[i][order][at])))
    if len(logs) < 2:
        return unknown(f"the run's {metric.name} is not in the range of the benchmark's")
    factor = float(np.exp(np.median(logs)))
    held = float(np.median(losses.run[i][len(shared) // 2 :]))
    text = (
        f"where {metric.name} is as in the benchmark, eval/loss is {factor:.2f} times the benchmark's;"
        f" train/loss is {trained.run:.4g} then, eval/loss {held:.4g}"
    )
    rest: dict[str, Any] = {"value": factor, "threshold": ratio, "series": ("eval/loss", metric.name)}
    if factor < ratio or min(logs) < 0.5 * np.log(ratio):
        return absent(text, **rest)
    if trained.run <= 0 or abs(np.log(trained.run / held)) > np.log1p(agree):
        return absent(f"{text}: training and evaluation do not lose alike", **rest)
    return present(text, where=places_of(losses, len(losses) - 1), **rest)


@probe("eval/loss", "benchmark:eval/loss", "train/loss", "benchmark:train/loss")
def training_harder(view: View, ratio: float, above: float, points: int = 4) -> Finding:
    """The training loss lies `ratio` times above the evaluation loss, where the benchmark's does not.

    The training loss has to end `above` times the benchmark's, and no higher than both sides began. What
    makes training alone harder stays out of evaluation: labels wrong there only, augmentation, dropout.
    However hard it is, a guess costs no more than ln K: a training loss above that is another loss.
    """
    trained, held = _level(view, "train/loss", points, 0.25), _level(view, "eval/loss", points, 0.25)
    if isinstance(trained, str) or isinstance(held, str):
        return unknown(trained if isinstance(trained, str) else str(held))
    if not (np.isfinite(trained.factor) and np.isfinite(held.factor)):
        return unknown("losses that are not positive have no ratio")
    mine, theirs = trained.run / held.run, trained.bench / held.bench
    text = f"train/loss is {mine:.2f} times eval/loss at the end, in the benchmark {theirs:.2f} times"
    rest: dict[str, Any] = {"value": mine / theirs, "threshold": ratio, "series": ("train/loss", "eval/loss")}
    begin = max(float(trained.found.run[0]), float(trained.found.bench[0]))
    if harder := made_harder(view):
        return unknown(f"{text}; {harder}", **rest)
    if trained.run > begin or held.run > float(np.max(held.found.bench)) * 1.5:
        return unknown(f"{text}; nothing is learned", **rest)
    known = classes(view.run)
    if known and trained.run > ABOVE_GUESS * chance_loss(view.run, known.count):
        return unknown(f"{text}; training ends above a guess: that is another loss", **rest)
    if mine < ratio * max(theirs, 1.0) or trained.factor < above:
        return absent(text, **rest)
    scores = [m for m in _metrics(view) if m.fraction]
    if scores and all(_better(m.name, m.level, 1.25) for m in scores):
        return unknown(f"{text}; but {scores[0].name} is better than the benchmark's", **rest)
    return present(text, where=places_of(trained.found, len(trained.found) - 1), **rest)
