"""Losses and scores of the libraries by their definitions, on made numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .arrays import Array, Unfit, array, log_softmax, number, sigmoid

_CE = re.compile(
    r"^(?:cross_entropy|CrossEntropyLoss|SparseCategorical(?:Crossentropy)|sparse_categorical_crossentropy"
    r"|CategoricalCrossentropy|categorical_crossentropy|sparse_softmax_cross_entropy_with_logits"
    r"|softmax_cross_entropy_with_logits|SoftmaxCrossEntropyWithLogits|NLLLoss|nll_loss)$"
)
_BCE = re.compile(
    r"^(?:BCEWithLogitsLoss|BCELoss|binary_cross_entropy(?:_with_logits)?|BinaryCrossentropy|binary_crossentropy"
    r"|sigmoid_cross_entropy_with_logits|BCEWithLogits)$"
)
_APART = re.compile(
    r"^(?:mse_loss|MSELoss|MeanSquaredError|mean_squared_error|mse|l1_loss|L1Loss|MeanAbsoluteError"
    r"|mean_absolute_error|mae|huber_loss|HuberLoss|Huber|smooth_l1_loss|SmoothL1Loss|root_mean_squared_error)$"
)
_EACH = ("sparse_softmax_cross_entropy_with_logits", "softmax_cross_entropy_with_logits")
# Keras's functions leave a loss for each sample, where its classes take the mean (keras.io/api/losses)
_OF_SAMPLES = ("sparse_categorical_crossentropy", "categorical_crossentropy", "binary_crossentropy")
_EACH_LOGIT = ("sigmoid_cross_entropy_with_logits",)
# names whose first argument is the truth: TensorFlow, Keras, scikit-learn
TRUTH_FIRST = re.compile(
    r"^(?:Sparse\w*Crossentropy|CategoricalCrossentropy|BinaryCrossentropy|MeanSquaredError|MeanAbsoluteError|Huber"
    r"|\w*categorical_crossentropy|binary_crossentropy|mean_squared_error|mean_absolute_error"
    r"|root_mean_squared_error|mse|mae)$"
)


def is_loss(name: str) -> bool:
    """Whether a name is that of a loss that is known."""
    return any(p.match(name) for p in (_CE, _BCE, _APART))


def loss(name: str, said: Any, truth: Any, named: Mapping[str, Any]) -> Any:
    """A loss of answers and truth with its settings.

    Raises Unfit for settings that are not known, and for shapes that the framework would stretch.
    """
    said, truth = number(array(said)), number(array(truth))
    named = dict(named)
    reduction = named.pop("reduction", None)
    if _CE.match(name):
        each = _classes(name, said, truth, named)
    elif _BCE.match(name):
        each = _binary(name, said, truth, named)
    else:
        each = _apart(name, said, truth, named)
    if named:
        raise Unfit
    if reduction is None and name in _OF_SAMPLES:
        return each.mean(axis=-1) if name == "binary_crossentropy" else each
    if reduction is None:
        reduction = "none" if name in _EACH + _EACH_LOGIT else "mean"
        reduction = "none" if name == "SoftmaxCrossEntropyWithLogits" else reduction
    reduction = str(reduction)
    if reduction in ("none", "None"):
        return each
    if reduction in ("mean", "sum_over_batch_size"):
        return each.mean()
    if reduction == "sum":
        return each.sum()
    raise Unfit


def _classes(name: str, said: Array, truth: Array, named: dict[str, Any]) -> Array:
    smoothing = float(named.pop("label_smoothing", 0.0) or 0.0)
    logits = bool(named.pop("from_logits", not re.search("ategorical", name)))
    sparse = bool(named.pop("sparse", "parse" in name or "ategorical" not in name))
    ignored = named.pop("ignore_index", None)
    keras = bool(re.search(r"ategorical|_with_logits$|WithLogits$", name))
    axis = said.ndim - 1 if keras or said.ndim == 2 else 1
    if ignored is not None and ignored not in (-100, -1):
        raise Unfit
    if said.ndim < 2 or said.shape[axis] < 2:
        raise Unfit
    logs = log_softmax(said, axis) if logits else np.log(np.clip(said, 1e-12, None))
    if name.lower().startswith("nll"):
        logs = said
    if truth.ndim == said.ndim and truth.shape == said.shape and (not keras or not sparse):
        hot = truth
        if not np.allclose(truth.sum(axis=axis), 1):
            raise Unfit
    elif truth.ndim == said.ndim - 1 and sparse:
        if truth.shape != tuple(np.delete(said.shape, axis)) or truth.max() >= said.shape[axis]:
            raise Unfit
        hot = np.moveaxis(np.eye(said.shape[axis])[truth.astype(int)], -1, axis)
    elif truth.shape[-1:] == (1,) and truth.ndim == said.ndim and keras and sparse:
        hot = np.eye(said.shape[axis])[truth[..., 0].astype(int)]
    else:
        raise Unfit
    if smoothing:
        hot = hot * (1 - smoothing) + smoothing / said.shape[axis]
    return np.asarray(-np.where(hot == 0, 0.0, hot * logs).sum(axis=axis))


def _binary(name: str, said: Array, truth: Array, named: dict[str, Any]) -> Array:
    logits = bool(named.pop("from_logits", "ogits" in name))
    weight = named.pop("pos_weight", 1.0)
    if said.shape != truth.shape:
        raise Unfit
    if ((truth != 0) & (truth != 1)).any():
        raise Unfit
    p = sigmoid(said) if logits else said
    if (p < 0).any() or (p > 1).any():
        raise Unfit
    p = np.clip(p, 1e-12, 1 - 1e-12)
    return np.asarray(-(weight * truth * np.log(p) + (1 - truth) * np.log(1 - p)))


def _apart(name: str, said: Array, truth: Array, named: dict[str, Any]) -> Array:
    if said.shape != truth.shape:
        raise Unfit
    gap = np.abs(said - truth)
    low = name.lower()
    if "huber" in low or "smooth" in low:
        border = float(named.pop("delta", named.pop("beta", 1.0)))
        inner, outer = 0.5 * gap**2, border * (gap - 0.5 * border)
        found = np.where(gap < border, inner, outer)
        return np.asarray(found / border if "smooth" in low else found)
    if "root" in low:
        return np.asarray(np.sqrt(np.mean(gap**2)))
    return np.asarray(gap) if "l1" in low or "absolute" in low or low == "mae" else np.asarray(gap**2)


# ---------------------------------------------------------------------------------------------- scores

SCORES = re.compile(
    r"^(?:accuracy_score|f1_score|precision_score|recall_score|jaccard_score|(?:multiclass|binary)?_?accuracy"
    r"|(?:Multiclass|Binary)?(?:Accuracy|F1Score|Precision|Recall|JaccardIndex)|BinaryIoU|SparseCategoricalAccuracy"
    r"|BinaryAccuracy|CategoricalAccuracy|MeanAbsoluteError|MeanSquaredError|RootMeanSquaredError"
    r"|mean_absolute_error|mean_squared_error|root_mean_squared_error|MAE|MSE|Top1CategoricalAccuracy|Mean)$"
)


def score(name: str, truth: Any, said: Any, named: Mapping[str, Any], *, cuts: bool) -> float:
    """A score of whole arrays; `cuts`: it takes scores or chances and decides itself (torchmetrics, Keras).

    Raises Unfit for settings that are not known.
    """
    truth, said = number(array(truth)), number(array(said))
    low = name.lower()
    named = {k: v for k, v in named.items() if k not in ("num_classes", "task", "dtype", "zero_division")}
    if "absolute" in low or "squared" in low or low in ("mae", "mse"):
        return _error(low, truth, said, named)
    threshold = named.pop("threshold", 0.5)
    named.pop("target_class_ids", None)
    named.pop("from_logits", None)
    average = named.pop("average", None)
    if named or (average not in (None, "binary", "micro") and "acc" not in low):
        raise Unfit
    if cuts and said.ndim == truth.ndim + 1:
        axis = 1 if said.ndim > 2 and said.shape[-1:] != (*truth.shape[-1:], said.shape[-1]) else -1
        said = said.argmax(axis=axis)
    elif cuts and (said != np.round(said)).any():
        outside = (said < 0).any() or (said > 1).any()
        if outside and re.search("iou|keras", low):
            raise Unfit
        said = ((sigmoid(said) if outside else said) > threshold).astype(float)
    truth, said = truth.reshape(-1), said.reshape(-1)
    if truth.shape != said.shape:
        raise Unfit
    if "acc" in low:
        if average == "macro":
            shares = [np.mean(said[truth == k] == k) for k in np.unique(truth)]
            return float(np.mean(shares))
        return float(np.mean(truth == said))
    if {*np.unique(truth), *np.unique(said)} - {0.0, 1.0}:
        if average == "micro" and "jaccard" not in low:
            return float(np.mean(truth == said))
        raise Unfit
    tp = float(((truth == 1) & (said == 1)).sum())
    fp = float(((truth == 0) & (said == 1)).sum())
    fn = float(((truth == 1) & (said == 0)).sum())
    below: Callable[[], float] = {
        "f1": lambda: tp + 0.5 * (fp + fn),
        "prec": lambda: tp + fp,
        "reca": lambda: tp + fn,
    }.get(next((k for k in ("f1", "prec", "reca") if k in low), ""), lambda: tp + fp + fn)
    return tp / below()


def _error(name: str, truth: Array, said: Array, named: Mapping[str, Any]) -> float:
    if truth.shape != said.shape or set(named) - {"squared"}:
        raise Unfit
    if "absolute" in name or name == "mae":
        return float(np.mean(np.abs(truth - said)))
    mean = float(np.mean(np.square(truth - said)))
    return mean**0.5 if "root" in name or named.get("squared") is False else mean
