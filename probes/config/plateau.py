"""Schedules that watch how the run goes: they lower the learning rate where a loss or a metric stands still.

What such a rate does follows from the run. It is no fault that the rate comes down early where nothing
improves; it is one where the watched loss falls all the while.
"""

from __future__ import annotations

import numpy as np

from ..benchmark.compare import axes_of, cleaned
from ..run import Run
from .values import value_of

LEAST = 1e-3  # an improvement is at least this share of the best value so far ...
LEAST_AT_ALL = 1e-4  # ... and this much: what ReduceLROnPlateau of Keras takes for one by default


def watches(run: Run) -> bool:
    """Whether the schedule is one on a plateau, as a setting's value or name says."""
    if value_of(run, "lr_scheduler") == "plateau":
        return True
    return any("plateau" in f"{s.key} {s.value}".lower() for s in run.raw_settings)


def lowered(run: Run) -> tuple[int, int] | None:
    """How often the rate came down, and how often right after a new best loss; None where it cannot be told.

    The evaluation loss is asked, else the training loss. "Right after": at the last value before the rate
    came down, or the one before that; a schedule that waits for a plateau waits longer.
    """
    rate = run.series.get("learning_rate")
    loss = run.series.get("eval/loss") or run.series.get("train/loss")
    axes = axes_of(rate, loss) if rate is not None and loss is not None else None
    if rate is None or loss is None or axes is None:
        return None
    (x, rates), (u, losses) = cleaned(axes[0], rate.values), cleaned(axes[1], loss.values)
    down = np.flatnonzero(rates[1:] < 0.95 * rates[:-1]) + 1
    improving = 0
    for at in down:
        before = losses[u < x[at]]
        if len(before) < 2:
            continue
        bests = np.minimum.accumulate(before)
        new = before[1:] < bests[:-1] - np.maximum(LEAST * np.abs(bests[:-1]), LEAST_AT_ALL)
        improving += bool(np.all(new[-2:]))
    return len(down), improving


def lowered_while_improving(run: Run, least: int = 2) -> str | None:
    """Say how often the rate came down while the loss improved, where it mostly did; else None."""
    found = lowered(run)
    if found is None or found[1] < least or found[1] <= 0.5 * found[0]:
        return None
    return f"the learning rate came down {found[0]} times, {found[1]} times right after the loss had improved"
