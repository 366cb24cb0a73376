"""Whether a run's losses are numbers from the first to the last."""

from __future__ import annotations

import numpy as np

from ..registry import Finding, absent
from ..run import Run
from .no_number import broken, losses_of


def stays_finite(run: Run, points: int = 3) -> bool:
    """A loss was logged at `points` places or more, and those of training and evaluation are all numbers.

    One sample that is no number makes weights that are none, and every loss after it: a few places say it.
    """
    losses = losses_of(run)
    if not losses or max(len(s.values) for s in losses) < points or broken(run) is not None:
        return False
    if "eval/loss" in run.series:
        losses.append(run.series["eval/loss"])
    return all(bool(np.all(np.isfinite(s.values))) for s in losses)


def starts_finite(run: Run) -> bool:
    """Every loss of training begins with a number: no input was spoilt in all samples."""
    losses = [s for s in losses_of(run) if len(s.values)]
    return bool(losses) and all(bool(np.isfinite(s.values[0])) for s in losses)


def never_zero(run: Run) -> Finding | None:
    """Absent where a run's losses say that nothing it divided by was zero; None where they do not."""
    if not stays_finite(run):
        return None
    return absent("the losses are numbers to the end of the run: nothing that was divided by was zero")
