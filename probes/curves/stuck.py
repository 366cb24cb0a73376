"""Training that stands still: its accuracy is the same to the last digit in every epoch, its loss as well."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..registry import Finding, absent, present, unknown
from ..run import Run
from . import situation, stats
from .judging import on_loss, see
from .metrics import finite, last_place
from .shapes import Shape

# What is left when a model knows how often each token occurs and nothing of those before it: entropies of
# single tokens of vocabularies of 30,000 to 150,000 over books, web pages and code lie at 6.9 to 7.7 nats.
_UNIGRAM = (6.8, 7.9)
_BEGINS = (8.5, 13.5)  # a uniform guess among 5,000 to 700,000 tokens
_RATE_KNOWN, _RATE_UNKNOWN = 200, 1000  # steps that it stands there; a warm-up may last as long
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


@on_loss(40)
def at_token_frequencies(run: Run, curve: Shape, gained: float = 0.01) -> Finding:
    """A language model comes from a uniform guess to the entropy of single tokens, and stays there.

    The loss passes this level within the warm-up where anything of the context gets through. It has to stand
    there, with less than `gained` of it won in the second half, for 200 steps at the full learning rate.
    """
    unit = math.log(2) if run.facts.get("loss_base") == 2 else 1.0  # fairseq tells bits
    end, first = unit * curve.end.value, unit * float(curve.y[0])
    told = " nats" if unit < 1 else ""
    words = f"{curve.name} goes from {unit * curve.start.value:.4g} to {end:.4g}{told}"
    if end < _UNIGRAM[0] or end > _UNIGRAM[1] or not _BEGINS[0] <= first <= _BEGINS[1]:
        return absent(words, value=end, threshold=_UNIGRAM[1], series=(curve.name,))
    if not tells_tokens(run):
        return unknown(f"{words}, and the run is not known to predict tokens")
    there = curve.sy <= curve.end.value * (1 + gained) + 2 * curve.end.error
    since = float(curve.sx[int(np.argmax(there))])
    rate = run.series.get("learning_rate")
    if rate is not None and len(rate.steps):
        top = float(np.max(rate.values))
        full = rate.steps[rate.values >= 0.5 * top]
        start, stop = max(since, float(full[0])), min(float(full[-1]), float(curve.x[-1]))
        least = _RATE_KNOWN
    else:
        start, stop, least = since, float(curve.x[-1]), _RATE_UNKNOWN
    if stop - start < least or curve.series.unit not in ("step", "iteration"):
        return unknown(f"{words}, where it has been for {max(0.0, stop - start):.0f} steps at the full rate")
    late = curve.y[(curve.x >= start) & (curve.x <= stop)]
    half = len(late) // 2
    if half < 10:
        return unknown(f"{words}: too few points tell whether it stands")
    won = float(np.median(late[:half]) - np.median(late[half:]))
    if won > gained * curve.end.value:
        return absent(f"{words}, and still gained {won:.3g}", value=won, series=(curve.name,))
    return present(
        f"{words}, what single tokens cost, and has stood there since about step {start:g}",
        value=end,
        threshold=_UNIGRAM[1],
        step=start,
        series=(curve.name,),
        where=see(curve, curve.end.first)["where"],
    )


def tells_tokens(run: Run) -> bool:
    """Whether the run is known to predict tokens."""
    return run.info.context.get("inputs") == "tokens" or run.info.context.get("task") == "language-model"
