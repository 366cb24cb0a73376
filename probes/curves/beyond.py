"""Values of metrics that only targets outside of their range make."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..registry import Finding, View, absent, present, unknown
from .judging import probe
from .metrics import finite, last_place


@probe("eval/accuracy", "train/loss")
def nan_never_right(view: View, points: int = 2) -> Finding:
    """Answers are NaN from the first epoch on, and not one is right: no sample is of the class 0.

    The largest of NaN is the first, so that the accuracy is the share of the class 0. Where labels begin at 1
    that is exactly zero, and the loss takes a class that is not there.
    """
    run = view.run
    series, loss = run.series["eval/accuracy"], run.series["train/loss"]
    values = finite(series)
    if len(values) < points or np.any(np.isfinite(loss.values)):
        return unknown("the loss was a number, or there are too few evaluations")
    words = f"{loss.name} is never a number, and {series.name} is {np.max(values):.4g} at most"
    seen: dict[str, Any] = {"value": float(np.max(values)), "threshold": 0.0, "series": (series.name,)}
    if np.any(values):
        return absent(words, **seen)
    return present(f"{words}: no sample is of the first class", where=last_place(series), **seen)


@probe("train/loss")
def overlap_above_one(view: View, share: float = 0.2) -> Finding:
    """An IoU or Dice above 1 in a run whose loss goes below zero: the targets are larger than 1.

    In percent such a metric is above 1 as well, and a Dice score that is maximised makes a loss negative down
    to -1; a cross-entropy against masks of 0 and 255 goes far below.
    """
    run = view.run
    overlaps = [s for s in run.all_series if s.name.endswith(("/iou", "/dice"))]
    loss = finite(run.series["train/loss"])
    if not overlaps or not len(loss):
        return unknown("no overlap of masks was logged beside a loss")
    highest = max(float(np.max(finite(s), initial=0.0)) for s in overlaps)
    low, below = float(np.min(loss)), float(np.mean(loss < 0))
    words = f"{overlaps[0].raw} reaches {highest:.4g} and train/loss {low:.4g}"
    seen: dict[str, Any] = {"value": highest, "threshold": 1.0, "series": (overlaps[0].name, "train/loss")}
    if highest > 1.0 and low < -1.05 and below >= share:
        return present(words, where=last_place(overlaps[0]), **seen)
    return absent(words, **seen)
