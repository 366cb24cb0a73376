"""Losses of the frameworks by their formulas, on the numbers of a symbolic run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from . import values as v
from .values import Tensor


class Calculator(Protocol):
    """Who computes."""

    def computed(self, label: str, given: Any, named: Mapping[str, Any]) -> Any:
        """An operation on numbers."""

    def tensor(self, value: Any) -> Tensor:
        """Any value as numbers."""


def loss(
    by: Calculator, label: str, first: Any, second: Any, named: dict[str, Any], reduction: str
) -> Tensor:
    """A loss of predictions and targets.

    Raises v.Unfit where the shapes that were guessed do not fit, or an option is not known.
    """
    if label == "kl_div":
        return _divergence(by, first, second, named, reduction)
    if reduction not in ("mean", "sum", "none"):
        raise v.Unfit
    x, y = by.tensor(first), by.tensor(second)
    if label in ("cross_entropy", "nll_loss"):
        return _classes(by, label, x, y, named, reduction)
    if label == "binary_cross_entropy_with_logits":
        x = _tensor(by.computed("sigmoid", [x], {}))
    if label in ("binary_cross_entropy", "binary_cross_entropy_with_logits"):
        each = _binary(by, x, y, named)
    elif label in ("mse_loss", "l1_loss") and not named:
        apart = by.computed("-", [x, y], {})
        each = by.computed("**", [apart, 2.0], {}) if label == "mse_loss" else by.computed("abs", [apart], {})
    elif label in ("smooth_l1_loss", "huber_loss") and set(named) <= {"beta", "delta"}:
        each = _huber(by, label, x, y, *named.values())
    else:
        raise v.Unfit
    return _tensor(each if reduction == "none" else by.computed(reduction, [each], {}))


def _divergence(by: Calculator, first: Any, second: Any, named: dict[str, Any], reduction: str) -> Tensor:
    """t (log t - x) of log-probabilities x, per sample of the first axis with "batchmean"."""
    logged = named.pop("log_target", False)
    if named or reduction not in ("mean", "sum", "none", "batchmean") or not isinstance(logged, bool):
        raise v.Unfit
    x, y = by.tensor(first), by.tensor(second)
    plain = Tensor(y.array, y.shaky, y.under, y.cut)
    logs = plain if logged else by.computed("log", [plain], {})
    share = by.computed("exp", [plain], {}) if logged else plain
    each = by.computed("*", [share, by.computed("-", [logs, x], {})], {})
    if reduction == "none":
        return _tensor(each)
    if reduction == "batchmean":
        if not x.array.ndim:
            raise v.Unfit
        return _tensor(by.computed("/", [by.computed("sum", [each], {}), float(x.array.shape[0])], {}))
    return _tensor(by.computed(reduction, [each], {}))


def _tensor(value: Any) -> Tensor:
    if not isinstance(value, Tensor):
        raise v.Unfit
    return value


def _huber(by: Calculator, label: str, x: Tensor, y: Tensor, border: float = 1.0) -> Any:
    """Half the square within the border, a line with the slope there outside (torch.nn.functional)."""
    apart = by.computed("-", [x, y], {})
    far = by.computed("abs", [apart], {})
    half = by.computed("*", [by.computed("**", [apart, 2.0], {}), 0.5], {})
    line = by.computed("-", [far, 0.5 * border], {})
    if border != 1.0:
        half = by.computed("/", [half, border], {}) if label == "smooth_l1_loss" else half
        line = by.computed("*", [line, border], {}) if label == "huber_loss" else line
    return by.computed("where", [by.computed("lt", [far, border], {}), half, line], {})


def _binary(by: Calculator, x: Tensor, y: Tensor, named: dict[str, Any]) -> Any:
    """-(w t log p + (1 - t) log(1 - p)): the logs are bounded, or taken of the logits."""
    weight = named.pop("pos_weight", None)
    if named:
        raise v.Unfit
    safe = Tensor(x.array, x.shaky, x.under, x.cut)
    yes = by.computed("*", [y, by.computed("log", [safe], {})], {})
    if weight is not None:
        yes = by.computed("*", [yes, weight], {})
    other = by.computed("log", [by.computed("-", [1.0, safe], {})], {})
    no = by.computed("*", [by.computed("-", [1.0, y], {}), other], {})
    return by.computed("negative", [by.computed("+", [yes, no], {})], {})


def _classes(
    by: Calculator, label: str, x: Tensor, y: Tensor, named: dict[str, Any], reduction: str
) -> Tensor:
    """The log-probability of the class of each target, negated; classes are on the second axis."""
    ignored, smoothing = named.pop("ignore_index", None), named.pop("label_smoothing", 0.0)
    if named or not isinstance(smoothing, (int, float)) or x.array.ndim < 2:
        raise v.Unfit
    if y.array.shape != (x.array.shape[0], *x.array.shape[2:]) or y.array.dtype == bool:
        raise v.Unfit
    logs = _tensor(by.computed("log_softmax", [x], {"dim": 1.0})) if label == "cross_entropy" else x
    places = v.classes(y.array, x.array.shape[1])
    each = -np.take_along_axis(logs.array, np.expand_dims(places, 1), 1).squeeze(1)
    if smoothing:
        each = (1 - smoothing) * each - smoothing * logs.array.mean(axis=1)
    count: Any = each.size
    if ignored is not None:
        kept = v.compare("!=", y.array, by.tensor(ignored).array)
        each, count = each * kept, kept.sum()
        if not count:
            raise v.Unfit
    if reduction != "none":
        each = np.asarray(each.sum() / (count if reduction == "mean" else 1))
    shaky = x.shaky or y.shaky
    return Tensor(each, shaky, logs.under | y.under, x.cut and y.cut)
