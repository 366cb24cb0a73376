"""Training that stands still: its accuracy is the same to the last digit in every epoch, its loss as well."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..registry import Finding, absent, present, unknown
from ..run import Run
from . import situation, stats
from .judging import on_loss
from .metrics import finite, last_place
from .shapes import Shape

_CEILING = 0.95  # an accuracy that stays here may have nothing left to gain


@on_loss(4)
def accuracy_stands_still(run: Run, curve: Shape, points: int = 4, moves: float = 0.05) -> Finding:
    """The last `points` and more training accuracies, most of all, are equal to their last digit.

    Batches come in another order each epoch, and weights that move change some answer: only a model that
    answers the same whatever it is given keeps its accuracy. The loss has to stay within `moves` as well,
    and three digits have to be written. The first points may differ: there the model came to where it stays.
    """
    series = situation.metric(run, "train", ("accuracy", "f1"))
    reason = situation.objective(run)
    if series is None or reason:
        return unknown(reason or "no accuracy of the training data was logged")
    values = finite(series)
    if len(values) < points:
        return unknown(f"{series.name} has {len(values)} finite points; {points} are needed")
    last = float(values[-1])
    changed = np.flatnonzero(np.abs(values - last) > 1e-9)
    start = int(changed[-1]) + 1 if len(changed) else 0
    count = len(values) - start
    words = f"{series.name} is {last:.6g} at the last {count} of {len(values)} points"
    seen: dict[str, Any] = {"value": count, "threshold": points, "series": (series.name, curve.name)}
    if count < max(points, 0.6 * len(values)):
        return absent(words, **seen)
    if last >= _CEILING or stats.significant_digits(last) < 3:
        return unknown(f"{words}: it may have no more to gain, or is written with few digits", **seen)
    later = curve.y[curve.x >= series.steps[start]]
    spread = float(np.ptp(later)) / curve.scale if len(later) >= 2 else 0.0
    if spread > moves:
        return absent(f"{words}, while {curve.name} moves by {spread:.0%}", **seen)
    words = f"{words}, and {curve.name} stays within {spread:.1%}"
    return present(words, step=float(series.steps[start]), where=last_place(series), **seen)
