"""How many tokens of a step count in its loss, where the program logs it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...engine.model import Place
from ..registry import Finding, View, absent, place, present, probe, unknown
from ..run import Run, Series

COUNTS = "label_tokens"
FEW = 10  # counts, most of them above none


def _counted_together(run: Run, counts: Series, empty: NDArray[np.intp]) -> bool:
    """Whether the loss of steps without labels lies among its neighbours: a mean over all ranks."""
    loss = run.series.get("train/loss")
    if loss is None:
        return False
    where = np.flatnonzero(np.isin(loss.steps, counts.steps[empty]))
    inner = where[(where > 0) & (where < len(loss) - 1)]
    if not len(inner):
        return False
    values, around = loss.values[inner], (loss.values[inner - 1] + loss.values[inner + 1]) / 2
    return bool(np.all(np.isfinite(values)) and np.all(np.abs(values - around) < 0.5 * np.abs(around)))


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
        if len(empty) and _counted_together(view.run, series, empty):
            return unknown(
                f"{series.raw} is 0 at {len(empty)} of {len(series)} steps, whose loss is like that of the"
                " others: it is the mean over more than what is counted"
            )
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
