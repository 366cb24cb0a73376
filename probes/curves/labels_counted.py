"""How many tokens of a step count in its loss, where the program logs it."""

from __future__ import annotations

import numpy as np

from ...engine.model import Place
from ..registry import Finding, View, absent, place, present, probe, unknown

COUNTS = "label_tokens"
FEW = 10  # counts, most of them above none


@probe()
def steps_without_labels(view: View) -> Finding:
    """Of steps that mostly have tokens that count, some on some rank have none.

    The mean over none is NaN in PyTorch and MindSpore, and zero elsewhere.
    """
    told = [e for e in view.run.events_of("worked-out") if e.data == "steps-without-labels"]
    if told:
        of = "" if told[0].rank is None else f" on rank {told[0].rank}"
        return present(f"{told[0].text}{of}", where=(Place(told[0].file, told[0].line),))
    found = [s for s in view.run.all_series if s.name == COUNTS and len(s) >= FEW]
    found = [s for s in found if float(np.mean(s.values > 0)) > 0.5]
    if not found:
        return unknown("how many tokens of a step count in its loss was not logged")
    for series in found:
        empty = np.flatnonzero(series.values == 0)
        if len(empty):
            at = int(empty[0])
            of = "" if series.rank is None else f" on rank {series.rank}"
            return present(
                f"{series.raw} is 0 at {len(empty)} of {len(series)} steps{of}: nothing there counts",
                value=len(empty),
                step=float(series.steps[at]),
                where=(place(series, at),),
            )
    return absent(f"{found[0].raw} is never 0", value=0)
