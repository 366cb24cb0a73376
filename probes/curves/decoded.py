"""What a model writes or says (words, translations), against the loss of the same data.

The loss is that of the right next token after right ones, or of all ways to read a sound. The score is one of
whole answers that were searched for: decoding, joining tokens, cleaning and counting lie between the two.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..registry import Finding, View, absent, present, unknown
from ..run import Floats, Run, Series
from . import stats
from .judging import probe
from .shapes import Shape, shape
from .situation import less_is_better

DECODED = ("wer", "bleu", "chrf", "rouge")
WRONG = 0.9  # of the words, or more: an answer that says nothing has 1.0
FEW_WORDS = 1.0  # BLEU in percent: that of texts that share hardly any word with the right one


def _decoded(run: Run) -> Series | None:
    """The first score of decoded answers that was logged with five numbers or more."""
    for kind in DECODED:
        series = run.series.get(f"eval/{kind}")
        if series is not None and np.sum(np.isfinite(series.values)) >= 5:
            return series
    return None


def _all_wrong(series: Series, values: Floats) -> bool:
    """Whether hardly any word is ever right. Percent and shares are both in use."""
    if less_is_better(series):
        whole = 100.0 if float(np.median(values)) > 5 else 1.0
        return float(np.min(values)) >= WRONG * whole
    if series.name.endswith("/bleu"):
        size = max(1, len(values) // 3)
        first, last = float(np.median(values[:size])), float(np.median(values[-size:]))
        return float(np.max(values)) < FEW_WORDS and last <= 1.5 * first + 0.01
    return False


@probe("eval/loss")
def parts_from_loss(view: View, fall: float, late: float, worse: float) -> Finding:
    """What is decoded stays wrong, or gets `worse`, while the loss of the same data falls.

    Stays wrong: no more than a tenth of the words is ever right, the loss falls by `fall`, and from the
    median of its first half on by `late`: a model that learned to say nothing (CTC) has a
    loss that stands by then.
    Gets worse: the later third is worse than the best by `worse` of it, beyond three times the scatter, and
    the loss has fallen by a tenth since that best.
    """
    series, held = _decoded(view.run), shape(view.run.series["eval/loss"])
    if series is None:
        return unknown("no score of decoded answers was logged at 5 evaluations")
    if held is None or held.count < 5 or not held.positive:
        return unknown("the evaluation loss cannot be judged")
    values = series.values[np.isfinite(series.values)]
    end = float(np.median(values[-max(1, len(values) // 3) :]))
    words = (
        f"eval/loss falls from {held.y[0]:.4g} to {held.end.value:.4g}, while {series.name} goes from"
        f" {values[0]:.4g} to {values[-1]:.4g}"
    )
    rest: dict[str, Any] = {"value": end, "series": ("eval/loss", series.name)}
    learned = held.end.value <= (1 - fall) * held.y[0]
    learns = held.end.value <= (1 - late) * float(np.median(held.y[: (held.count + 1) // 2]))
    if learned and learns and _all_wrong(series, values):
        return present(f"{words}: hardly a word is right", step=float(series.steps[0]), **rest)
    since = _worse_since(series, values, end, worse)
    if since is not None and _falls_since(held, since):
        return present(f"{words}: it was best at step {since:g}", step=since, **rest)
    return absent(words, **rest)


def _worse_since(series: Series, values: Floats, end: float, worse: float) -> float | None:
    """The step of the best score, if the later third is worse by a share of it and beyond the scatter."""
    steps, sign = series.steps[np.isfinite(series.values)], 1.0 if less_is_better(series) else -1.0
    best = int(np.argmin(sign * values))
    lost = sign * (end - float(values[best]))
    clear = lost > worse * abs(float(values[best])) and lost > 3 * stats.noise(values)
    return float(steps[best]) if clear and best < len(values) // 2 else None


def _falls_since(held: Shape, step: float, fall: float = 0.1) -> bool:
    return held.end.value < (1 - fall) * float(np.interp(step, held.x, held.y))
