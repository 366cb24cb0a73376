"""Errors of a regression: whether a few samples make nearly all of the squared error."""

from __future__ import annotations

import numpy as np

from ..registry import Finding, View, absent, present, unknown
from ..run import Run
from .judging import probe
from .metrics import last_place


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
