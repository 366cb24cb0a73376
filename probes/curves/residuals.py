"""Errors of a regression: whether a few samples make nearly all of the squared error."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..registry import Finding, View, absent, present, unknown
from ..run import Run
from . import situation
from .judging import probe
from .metrics import last_place
from .shapes import shape


@probe("train/mae")
def heavy_tailed(view: View, ratio: float = 25.0, beyond: float = 8.0, alone: float = 100.0) -> Finding:
    """The mean squared error over the square of the mean absolute one, in the second half of training.

    1.6 where errors are normal, 2 where they are exponential on both sides, hundreds where one sample in
    hundreds is far off. Present from `ratio` on where it is `beyond` times that of the evaluation, whose
    samples have the same tails by nature; from `alone` on where the evaluation logs none. A loss stands for
    the squared error only beside the evaluation's loss.
    """
    mine, theirs = _tails(view.run, "train"), _tails(view.run, "eval")
    if mine is None or (mine[1] == "loss" and (theirs is None or theirs[1] != "loss")):
        return unknown("no squared error is logged beside the absolute one")
    value = mine[0]
    if theirs is not None:
        far = value >= max(ratio, beyond * theirs[0])
        beside = f", in the evaluation {theirs[0]:.3g}"
    else:
        far, beside = value >= alone, ""
    found = f"the mean squared error of training is {value:.3g} times its mean absolute error squared{beside}"
    if not far:
        return absent(found, value=value, threshold=ratio)
    where = last_place(view.run.series["train/mae"])
    return present(found, value=value, threshold=ratio, where=where, series=("train/mae",))


@probe("train/loss", "eval/loss")
def training_error_of_few(view: View, ratio: float = 30.0, noise: float = 0.25, points: int = 20) -> Finding:
    """A regression's training loss ends `ratio` times above the evaluation's, and leaps from point to point.

    Half of the steps between its points are larger than `noise` of its level. Wrong targets cost twice what
    the targets vary by at most, and a sum over a batch is as smooth as the mean: what is left are samples so
    far out that it matters how many of them a batch holds.
    """
    run = view.run
    trained, held = shape(run.series["train/loss"]), shape(run.series["eval/loss"])
    if trained is None or held is None or trained.count < points or held.count < 3:
        return unknown(f"fewer than {points} points of the training loss or 3 of the evaluation's")
    if not trained.positive or not held.positive or situation.objective(run):
        return unknown("the losses have no ratio")
    late = trained.y[trained.count // 2 :]
    level = float(np.median(late))
    value = level / float(np.median(held.y[held.count // 2 :]))
    leaps = float(np.median(np.abs(np.diff(late)))) / level
    words = (
        f"train/loss ends {value:.3g} times above eval/loss and moves by {leaps:.0%} of its level from point"
        " to point"
    )
    rest: dict[str, Any] = {
        "value": round(value, 4),
        "threshold": ratio,
        "series": ("train/loss", "eval/loss"),
    }
    if value < ratio or leaps < noise:
        return absent(words, **rest)
    if situation.classes(run) is not None or "eval/accuracy" in run.series:
        return unknown(f"{words}, but the loss is one over classes: wrong answers that are sure cost as much")
    where = last_place(run.series["train/loss"])
    return present(words, step=trained.step(trained.count // 2), where=where, **rest)


def _tails(run: Run, split: str) -> tuple[float, str] | None:
    """The ratio on one side, and what stood for the squared error."""
    absolute = run.series.get(f"{split}/mae")
    for name in ("mse", "rmse", "loss"):
        squared = run.series.get(f"{split}/{name}")
        if absolute is None or squared is None:
            continue
        steps, here, there = np.intersect1d(squared.steps, absolute.steps, return_indices=True)
        late = steps >= np.median(steps) if len(steps) else steps
        if np.count_nonzero(late) < 2:
            continue
        top, bottom = squared.values[here][late], absolute.values[there][late]
        top = top**2 if name == "rmse" else top
        usual = (bottom > 0) & np.isfinite(top) & (top > 0)
        if usual.mean() > 0.5:
            return float(np.median(top[usual] / bottom[usual] ** 2)), name
    return None
