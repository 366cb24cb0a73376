"""What stands for the loss in a run that logs none: a perplexity, bits, a log-likelihood, a squared error.

Each is the loss in another unit: perplexity = exp(nats per token), bits = nats / ln 2 (MacKay, Information
Theory, 2003, section 2.4), log-likelihood = -nats; a mean squared error is what least squares minimises.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from .run import Floats, Series

APART = 3.0  # first values of the two data sets further apart are sums over different numbers of samples


def _nats_of_perplexity(values: Floats) -> Floats:
    return np.where(values > 0, np.log(np.where(values > 0, values, 1.0)), np.nan)


# By quantity: what it is the loss by, in words, and the loss from its values.
_LOSS: dict[str, tuple[str, Callable[[Floats], Floats]]] = {
    "perplexity": ("the logarithm of", _nats_of_perplexity),
    "bits": ("ln 2 times", lambda v: v * math.log(2)),
    "log_likelihood": ("minus", np.negative),
    "mse": ("", lambda v: v),
    "rmse": ("the square of", np.square),
}
SPLITS = ("train", "eval")


def add(curves: dict[str, Series]) -> list[str]:
    """Add the losses that follow from `curves` to them, if the run logs no loss at all; say which.

    Both data sets' come from the same quantity, or the training's alone where the evaluation's is a sum over
    another number of samples. A log-likelihood of 0 or above is one of a density, with no floor: left alone.
    """
    if any(name.startswith(tuple(f"{s}/loss" for s in SPLITS)) for name in curves):
        return []
    known = (q for q in _LOSS if any(f"{s}/{q}" in curves for s in SPLITS))
    quantity = next(known, None)
    if quantity is None:
        return []
    words, convert = _LOSS[quantity]
    found: dict[str, Series] = {}
    for split in SPLITS:
        series = curves.get(f"{split}/{quantity}")
        if series is None:
            continue
        with np.errstate(all="ignore"):
            values = np.asarray(convert(series.values), dtype=np.float64)
        found[split] = replace(series, name=f"{split}/loss", values=values)
    if quantity == "log_likelihood" and any(_negative(s) for s in found.values()):
        return []
    if len(found) == 2 and not _one_scale(found["train"], found["eval"]):
        del found["eval"]
    curves.update({f"{split}/loss": series for split, series in found.items()})
    of = f"{words} " if words else ""
    return [f"no loss was logged: {s}/loss is {of}{s}/{quantity}" for s in found]


def _negative(series: Series) -> bool:
    finite = series.values[np.isfinite(series.values)]
    return bool(len(finite)) and float(np.min(finite)) < 0


def _one_scale(train: Series, held_out: Series) -> bool:
    a, b = (s.values[np.isfinite(s.values)] for s in (train, held_out))
    if not len(a) or not len(b):
        return True
    low, high = float(np.min(a)), float(np.max(a))
    return low / APART <= float(b[0]) <= high * APART
