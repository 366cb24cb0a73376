"""The course of the loss scale in sentences, for whoever looks at an overflow."""

from __future__ import annotations

import numpy as np

from ..run import Run
from .scaler import calibrated, scale, skips


def told(run: Run) -> tuple[tuple[str, ...], float | None]:
    """Sentences on the loss scale, and the step up to which it was only being found (None: not known).

    Some overflows belong to a dynamic loss scale; a scale that falls on and on, or to one, does not.
    """
    trace = scale(run)
    if trace is None:
        return ("The log holds no loss scale.",), None
    values = trace.values
    change = np.diff(values)
    falls, rises = int(np.sum(change < 0)), int(np.sum(change > 0))
    found = [
        f"The loss scale goes from {values[0]:g} to {values[-1]:g} over {len(values)} records: it "
        f"falls {falls} and rises {rises} times, lowest {float(np.min(values)):g}."
    ]
    settled = calibrated(run)
    if settled is not None:
        found.append(f"Its level is found by step {settled:g}: overflows before that are how it is found.")
    elif falls:
        found.append(
            "It never finds a level: overflow that does not go away as the scale falls is no calibration."
        )
    if float(values[-1]) <= 1.0 and falls:
        found.append(
            "It ends at one or below: the overflow is in the forward pass or in the data, not in the scale."
        )
    skipped = skips(run)
    if skipped is not None and len(skipped.steps):
        found.append(
            f"{int(np.sum(skipped.counts))} steps were skipped, the last at step {skipped.steps[-1]:g}."
        )
    return tuple(found), settled
