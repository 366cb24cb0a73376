"""The score on test data against that on validation data, and scores that rank the wrong way round."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...engine.model import State
from ..registry import Finding, View, absent, place, present, probe, unknown
from ..run import Floats, Run, Series
from . import situation

LEAST_GAIN = 0.1  # that validation rises by, of the whole: else there is nothing to hold a loss against


def _finite(series: Series) -> Floats:
    return series.values[np.isfinite(series.values)]


def _pairs(run: Run) -> Iterator[tuple[Series, Series]]:
    """The same figures of test and of validation data; of the latter four numbers or more."""
    for kind in situation.FRACTIONS:
        tested, held = run.series.get(f"test/{kind}"), run.series.get(f"eval/{kind}")
        if tested is not None and held is not None and len(_finite(tested)) and len(_finite(held)) >= 4:
            yield tested, held


@probe()
def test_below_validation(view: View, *, share: float) -> Finding:
    """A test score lacks `share` of what training gained on validation data.

    The gain is from the first evaluation to the best one, of an area under the ROC curve from a guess. What
    the choice of the best epoch adds to a validation score, and the scatter of a small test set, are a few
    points of it; a test set that lacks a third is of other data or another model, and one that lacks nine
    tenths is scored as before training.
    """
    found = [_lacks(tested, held, share) for tested, held in _pairs(view.run)]
    if not found:
        return unknown("no score of test data was logged beside four of validation data")
    order = (State.PRESENT, State.ABSENT, State.UNKNOWN)
    return min(found, key=lambda f: order.index(f.state))


def _lacks(tested: Series, held: Series, share: float) -> Finding:
    values, score = _finite(held), situation.reached(tested)
    if not score and np.any(_finite(tested)):  # zero until the end, when it is tested
        score = float(_finite(tested)[-1])
    whole = 100.0 if float(np.max(values)) > 1 else 1.0
    if (score > 1) != (whole > 1) and score > 0:
        return unknown(f"{tested.name} and {held.name} are not in one unit")
    first, best, level = float(values[0]), float(np.max(values)), situation.reached(held)
    words = f"{tested.name} is {score:.4g}; {held.name} goes from {first:.4g} to {level:.4g}"
    if held.name.endswith("/auc"):
        first = min(first, 0.5 * whole)  # an epoch can be long
    if best - first < LEAST_GAIN * whole:
        return unknown(f"{words}, which is too little to tell")
    lacks = (level - score) / (best - first)
    if lacks < share:
        return absent(words, value=lacks, threshold=share)
    where = (place(tested, len(tested) - 1),)
    return present(words, value=lacks, threshold=share, where=where, series=(tested.name, held.name))


@probe("eval/auc|test/auc", "train/loss")
def ranks_backwards(view: View, *, below: float, progress: float) -> Finding:
    """The area under the ROC curve stays `below` one half by far while training works.

    Scores that say nothing give one half. Far less means that they tell the classes apart, the wrong way
    round: the sign of the score, or which class is called positive. Training works when its loss falls by
    `progress`.
    """
    series = view.run.series.get("eval/auc") or view.run.series["test/auc"]
    values, loss = _finite(series), _finite(view.run.series["train/loss"])
    if len(values) < 3 or len(loss) < 4:
        return unknown("fewer than 3 evaluations or 4 losses")
    whole = 100.0 if float(np.max(values)) > 1 else 1.0
    level = float(np.median(values[len(values) // 2 :])) / whole
    words = f"{series.name} is {level:.4g} in the later half, and a guess gives 0.5"
    if level >= below:
        return absent(words, value=level, threshold=below)
    fall = 1 - float(np.median(loss[-max(2, len(loss) // 5) :])) / max(abs(float(loss[0])), 1e-12)
    if fall < progress:
        return unknown(f"{words}; the training loss falls by {fall:.0%} only", value=level, threshold=below)
    where = (place(series, len(series) - 1),)
    return present(
        f"{words}, while the training loss falls by {fall:.0%}",
        value=level,
        threshold=below,
        where=where,
        series=(series.name,),
    )
