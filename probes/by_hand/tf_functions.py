"""Functions of TensorFlow and of `keras.ops` on small arrays; what is not known is `Unfit`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..made_numbers.arrays import sigmoid
from .arrays import KINDS, plain
from .sizes import Unfit, checked
from .things import Dotted, Names

ROOTS = (
    "tf",
    "tensorflow",
    "keras",
    "K",
    "backend",
    "ops",
)  # what these names stand for in a program of Keras
_SAME = ("convert_to_tensor", "constant", "identity", "stop_gradient", "ensure_shape", "convert_to_numpy")
_EPSILON = 1e-7

_ONE: Mapping[str, Callable[[Any], Any]] = {
    "abs": np.abs,
    "absolute": np.abs,
    "square": np.square,
    "sqrt": np.sqrt,
    "exp": np.exp,
    "log": np.log,
    "round": np.round,
    "sigmoid": sigmoid,
    "tanh": np.tanh,
    "relu": lambda x: np.maximum(x, 0),
    "logical_not": np.logical_not,
    "is_nan": np.isnan,
    "isnan": np.isnan,
    "ones_like": np.ones_like,
    "zeros_like": np.zeros_like,
    "negative": np.negative,
    "flatten": lambda x: np.reshape(x, -1),
    "batch_flatten": lambda x: np.reshape(x, (len(x), -1)),
    "shape": lambda x: np.asarray(np.shape(x)),
    "size": np.size,
    "rank": np.ndim,
    "ndim": np.ndim,
}
_TWO: Mapping[str, Callable[[Any, Any], Any]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.true_divide,
    "truediv": np.true_divide,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "pow": np.power,
    "power": np.power,
    "equal": np.equal,
    "not_equal": np.not_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "less": np.less,
    "less_equal": np.less_equal,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
}
_REDUCES: Mapping[str, Callable[..., Any]] = {
    "sum": np.sum,
    "mean": np.mean,
    "max": np.max,
    "min": np.min,
    "any": np.any,
    "all": np.all,
    "prod": np.prod,
    "count_nonzero": np.count_nonzero,
}


def of_tensorflow(callee: Dotted, given: list[Any], named: Names) -> Any:
    """What a function gives. Raises Unfit."""
    name, named = callee.last, {k: v for k, v in named.items() if k != "name"}
    if name == "epsilon" and not given:
        return _EPSILON
    if name == "random" or ".random." in callee.path or not given:
        raise Unfit
    if any(isinstance(g, np.ndarray) for g in given):
        given = [plain(g) if isinstance(g, np.ndarray) else g for g in given]
    found = _found(name, callee.path, given, named)
    return checked(np.asarray(found)) if isinstance(found, np.generic) else checked(found)


def _found(name: str, path: str, given: list[Any], named: Names) -> Any:
    first = given[0]
    if name in _SAME:
        return np.asarray(first)
    if name == "cast":
        kind = given[1] if len(given) > 1 else named.get("dtype")
        return np.asarray(first).astype(_kind(kind))
    if name in _ONE and len(given) == 1 and not set(named) - {"dtype"}:
        made = _ONE[name](first)
        return made.astype(_kind(named["dtype"])) if "dtype" in named else made
    if name in _TWO and len(given) == 2 and not named:
        return _TWO[name](*given)
    short = name.removeprefix("reduce_")
    if short in _REDUCES and (name == short or name != "reduce_count_nonzero"):
        return _reduced(short, given, named)
    return _other(name, path, given, named)


def _reduced(name: str, given: list[Any], named: Names) -> Any:
    if set(named) - {"axis", "keepdims", "dtype"} or len(given) > 3:
        raise Unfit
    axis = named.get("axis", given[1] if len(given) > 1 else None)
    keep = bool(named.get("keepdims", given[2] if len(given) > 2 else False))
    axis = tuple(int(a) for a in axis) if isinstance(axis, (list, tuple)) else axis
    made = _REDUCES[name](given[0], axis=axis, keepdims=keep)
    return made.astype(_kind(named["dtype"])) if "dtype" in named else made


def _other(name: str, path: str, given: list[Any], named: Names) -> Any:
    first = given[0]
    if name in ("argmax", "argmin"):
        # TensorFlow's own counts along the first axis, Keras' along the last, `keras.ops` over all
        usual = {"tf": 0, "tensorflow": 0, "K": -1, "backend": -1}.get(path.split(".")[0])
        axis = named.get("axis", given[1] if len(given) > 1 else usual)
        return np.argmax(first, axis) if name == "argmax" else np.argmin(first, axis)
    if name in ("divide_no_nan", "div_no_nan"):
        over, below = np.asarray(first, float), np.asarray(given[1], float)
        return np.where(below == 0, 0.0, over / np.where(below == 0, 1.0, below))
    if name in ("clip", "clip_by_value"):
        lowest = given[1] if len(given) > 1 else named["clip_value_min"]
        return np.clip(first, lowest, given[2] if len(given) > 2 else named["clip_value_max"])
    if name == "one_hot":
        depth = given[1] if len(given) > 1 else named.get("depth", named.get("num_classes"))
        if depth is None or set(named) - {"depth", "num_classes", "dtype"}:
            raise Unfit
        return np.eye(int(depth))[np.asarray(first).astype(int)]
    if name == "reshape":
        shape = given[1] if len(given) > 1 else named["shape"]
        return np.reshape(first, [int(s) for s in np.atleast_1d(np.asarray(shape))])
    if name == "squeeze":
        axis = named.get("axis", given[1] if len(given) > 1 else None)
        return np.squeeze(first, tuple(axis) if isinstance(axis, list) else axis)
    if name == "expand_dims":
        return np.expand_dims(first, named.get("axis", given[1] if len(given) > 1 else -1))
    if name == "where" and len(given) == 3:
        return np.where(*given)
    if name == "softmax":
        made = np.exp(first - np.max(first, -1, keepdims=True))
        return made / made.sum(-1, keepdims=True)
    if name in ("stack", "concat", "concatenate"):
        axis = named.get("axis", given[1] if len(given) > 1 else 0)
        return np.stack(first, axis) if name == "stack" else np.concatenate(first, axis)
    if name == "confusion_matrix" and len(given) >= 2:
        return _confusion(given, named)
    raise Unfit


def _confusion(given: list[Any], named: Names) -> Any:
    number = named.get("num_classes", given[2] if len(given) > 2 else None)
    if number is None or set(named) - {"num_classes", "dtype"}:
        raise Unfit
    made = np.zeros((int(number), int(number)))
    np.add.at(made, tuple(np.asarray(g).astype(int).reshape(-1) for g in given[:2]), 1.0)
    return made


def _kind(kind: Any) -> Any:
    """The type of a name of it: `tf.float32`, `"float32"`, `x.dtype`."""
    if isinstance(kind, np.dtype):
        return kind
    name = kind.last if isinstance(kind, Dotted) else kind
    if name == "bool" or kind in (bool, int, float):
        return bool if name == "bool" else kind
    if not isinstance(name, str) or name not in KINDS:
        raise Unfit
    return KINDS[name]
