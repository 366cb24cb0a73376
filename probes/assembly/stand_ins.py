"""What stands for the loss in a run that logs none: a perplexity, bits, a log-likelihood, a squared error.

Each is the loss in another unit: perplexity = exp(nats per token), bits = nats / ln 2 (MacKay, Information
Theory, 2003, section 2.4), log-likelihood = -nats; a mean squared or
absolute error is what regressions minimise.
Likewise the share of wrong answers stands for the accuracy, and a column "eta" for the learning rate.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..run import Floats, Series
from . import languages

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
    "mae": ("", lambda v: v),
}
SPLITS = ("train", "eval")
# An "error" alone may be any distance; these are shares of wrong answers.
_OF_CLASSES = re.compile(
    r"(?:^|[/_\s.-])(?:top_?1_?err(?:or)?|err(?:or)?_?top_?1|err1|err(?:or)?[ _-]?rate|cls_err"
    r"|err_pct|zero_one_loss|(?:mis)?classification(?:_error|_rate)?)$",
    re.IGNORECASE,
)


_ETA = re.compile(r"(?:.{0,60}[/_.\s])?eta", re.IGNORECASE)


def is_rate_by_eta(series: Series, least: int = 5) -> bool:
    """Whether "eta" is the learning rate, and not the estimated time of arrival.

    A rate lies between 0 and 1 and follows a formula: it rests, or moves without jitter. What falls along a
    straight line to nothing may be either.
    """
    if not _ETA.fullmatch(series.raw.strip()):
        return False
    good = np.isfinite(series.values)
    x, y = series.steps[good], series.values[good]
    if len(y) < least or float(np.min(y)) < 0 or not 0 < float(np.max(y)) <= 1:
        return False
    moves = np.diff(y)
    if not moves.any():
        return True
    turns = int(np.sum(np.sign(moves[1:]) * np.sign(moves[:-1]) < 0))
    line = np.polynomial.Polynomial.fit(x, y, 1)(x) if float(np.ptp(x)) > 0 else y
    straight = float(np.max(np.abs(y - line))) < 0.05 * float(np.ptp(y)) and float(y[-1]) < 0.1 * float(y[0])
    return not straight and turns <= len(y) // 10


def add(curves: dict[str, Series]) -> list[str]:
    """Add the losses and accuracies that follow from `curves`, where the run logs none; say which."""
    return [*_loss(curves), *_accuracy(curves)]


def _accuracy(curves: dict[str, Series]) -> list[str]:
    """One minus the share of wrong answers, where the run logs no accuracy; all in percent, or none."""
    if any(f"{s}/accuracy" in curves for s in SPLITS):
        return []
    wrong = {s: curves[f"{s}/error"] for s in SPLITS if f"{s}/error" in curves}
    wrong = {s: e for s, e in wrong.items() if _OF_CLASSES.search(languages.name(e.raw))}
    values = [e.values[np.isfinite(e.values)] for e in wrong.values()]
    values = [v for v in values if len(v)]
    if not values or min(float(np.min(v)) for v in values) < 0:
        return []
    highest = max(float(np.max(v)) for v in values)
    if highest > 100:
        return []
    whole = 100.0 if highest > 1.0 else 1.0
    for split, series in wrong.items():
        name = f"{split}/accuracy"
        curves[name] = replace(series, name=name, values=1.0 - series.values / whole)
    return [f"no accuracy was logged: {s}/accuracy is what {s}/error leaves" for s in wrong]


def _loss(curves: dict[str, Series]) -> list[str]:
    """The losses of both data sets, by one quantity.

    The training's alone where the evaluation's is a sum over another number of samples. A log-likelihood
    above 0 is one of a density, with no floor: left alone.
    """
    if any(name.startswith(tuple(f"{s}/loss" for s in SPLITS)) for name in curves):
        return []
    known = [q for q in _LOSS if any(f"{s}/{q}" in curves for s in SPLITS)]
    quantity = max(known, key=lambda q: sum(f"{s}/{q}" in curves for s in SPLITS), default=None)
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
