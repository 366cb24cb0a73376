"""Steps that are epochs: trackers that take any number as the step (MLflow, DVCLive) do not tell.

Where as many epochs are configured as there are points, one after the other from 0 or 1 on, for all that was
logged of training and evaluation, each point is an epoch. A run of one step an epoch loses nothing by it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ..run import Configured, Series

LEAST = 3  # points: two in a row are counted like this by chance
_OPEN = ("unknown", "step", "iteration")


def by_epochs(curves: dict[str, Series], settings: Mapping[str, Configured]) -> dict[str, Series]:
    """Return the curves with epochs as their unit where their steps can be nothing else.

    Steps whose unit the file names ("step") count as epochs only where evaluation has a point at each.
    """
    given = settings.get("epochs")
    count = given.value if given is not None else None
    if not isinstance(count, (int, float)) or isinstance(count, bool) or count < LEAST or not curves:
        return curves
    if not all(_counts_to(series, float(count)) for series in curves.values()):
        return curves
    named = any(series.unit != "unknown" for series in curves.values())
    sides = {name.partition("/")[0] for name in curves}
    if named and not {"train", "eval"} <= sides:
        return curves
    return {name: _in_epochs(series) for name, series in curves.items()}


def _counts_to(series: Series, count: float) -> bool:
    """One point for each of `count` epochs, in steps of one from 0 or 1 on."""
    steps = series.steps
    return (
        series.unit in _OPEN
        and series.epochs is None
        and len(steps) == count
        and float(steps[0]) in (0.0, 1.0)
        and bool(np.all(np.diff(steps) == 1))
    )


def _in_epochs(series: Series) -> Series:
    mean = series.name.startswith("train/") and series.window in ("unknown", "point")
    return replace(series, unit="epoch", window="epoch-mean" if mean else series.window)
