"""What the frameworks' functions on arrays compute, on numpy arrays; `Unfit` where it is not known."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..scripts.bounds import is_small, is_small_shape

Array = np.ndarray


class Unfit(Exception):
    """Something that is not worked out."""


class Pair(list[Any]):
    """Values and places, as `torch.max(x, dim)` gives them."""


def sigmoid(x: Any) -> Any:
    """The logistic function."""
    return 0.5 * (1 + np.tanh(np.asarray(x, float) / 2))


def log_softmax(x: Array, axis: int) -> Array:
    """The logarithm of the softmax along an axis."""
    low = x - x.max(axis=axis, keepdims=True)
    return np.asarray(low - np.log(np.exp(low).sum(axis=axis, keepdims=True)))


ONE: Mapping[str, Callable[[Any], Any]] = {
    "exp": np.exp,
    "log": np.log,
    "log1p": np.log1p,
    "expm1": np.expm1,
    "log2": np.log2,
    "log10": np.log10,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "abs": np.abs,
    "absolute": np.abs,
    "fabs": np.abs,
    "square": np.square,
    "sigmoid": sigmoid,
    "expit": sigmoid,
    "tanh": np.tanh,
    "relu": lambda x: np.maximum(x, 0),
    "softplus": lambda x: np.logaddexp(x, 0),
    "logsigmoid": lambda x: -np.logaddexp(-np.asarray(x, float), 0),
    "log_sigmoid": lambda x: -np.logaddexp(-np.asarray(x, float), 0),
    "neg": np.negative,
    "negative": np.negative,
    "reciprocal": lambda x: 1 / x,
    "round": np.round,
    "rint": np.round,
    "floor": np.floor,
    "ceil": np.ceil,
    "sign": np.sign,
    "logical_not": np.logical_not,
    "isfinite": np.isfinite,
    "isnan": np.isnan,
    "cosh": np.cosh,
}
# Of two arrays, under the names that numpy and the frameworks have for one function.
ALIKE: Mapping[str, Callable[[Any, Any], Any]] = {
    "mul": np.multiply,
    "multiply": np.multiply,
    "div": np.true_divide,
    "divide": np.true_divide,
    "true_divide": np.true_divide,
    "pow": np.power,
    "power": np.power,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "eq": np.equal,
    "equal": np.equal,
    "ne": np.not_equal,
    "not_equal": np.not_equal,
    "gt": np.greater,
    "greater": np.greater,
    "ge": np.greater_equal,
    "greater_equal": np.greater_equal,
    "lt": np.less,
    "less": np.less,
    "le": np.less_equal,
    "less_equal": np.less_equal,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "matmul": np.matmul,
    "dot": np.dot,
}
TWO: Mapping[str, Callable[[Any, Any], Any]] = {
    **ALIKE,
    "add": np.add,
    "sub": lambda a, b: number(a) - number(b),
    "subtract": lambda a, b: number(a) - number(b),
    "truediv": np.true_divide,
    "divide_no_nan": np.true_divide,
    "div_no_nan": np.true_divide,
    "mm": np.matmul,
    "bmm": np.matmul,
    "logaddexp": np.logaddexp,
    "squared_difference": lambda a, b: np.square(number(a) - number(b)),
}
REDUCES: Mapping[str, Callable[..., Any]] = {
    "sum": np.sum,
    "mean": np.mean,
    "average": np.mean,
    "nansum": np.nansum,
    "nanmean": np.nanmean,
    "prod": np.prod,
    "amax": np.max,
    "amin": np.min,
    "max": np.max,
    "min": np.min,
    "any": np.any,
    "all": np.all,
    "median": np.median,
    "count_nonzero": np.count_nonzero,
    "norm": lambda x, axis=None, keepdims=False: np.sqrt(np.sum(np.square(x), axis=axis, keepdims=keepdims)),
    "logsumexp": lambda x, axis=None, keepdims=False: np.log(np.exp(x).sum(axis=axis, keepdims=keepdims)),
}
RENAMED = {
    "reduce_sum": "sum",
    "reduce_mean": "mean",
    "reduce_max": "max",
    "reduce_min": "min",
    "reduce_any": "any",
    "reduce_all": "all",
    "reduce_logsumexp": "logsumexp",
    "reduce_prod": "prod",
    "ReduceMean": "mean",
    "ReduceSum": "sum",
    "clamp_min": "clamp",
    "clamp_max": "clamp",
    "clip": "clamp",
    "clip_by_value": "clamp",
    "clamp_": "clamp",
    "swapaxes": "transpose",
    "concatenate": "cat",
    "concat": "cat",
    "hstack": "cat",
    "vstack": "cat",
    "argmax_with_value": "argmax",
    "add_": "add",
    "mul_": "mul",
    "masked_fill_": "masked_fill",
    "fill_diagonal": "fill_diagonal_",
    "log_softmax_v2": "log_softmax",
}
# the same numbers
SAME = frozenset(
    (
        *(
            "item",
            "float",
            "double",
            "cpu",
            "cuda",
            "numpy",
            "asnumpy",
            "detach",
            "clone",
            "contiguous",
            "to",
        ),
        *("type", "astype", "type_as", "data", "tensor", "array", "asarray", "Tensor", "as_tensor"),
        *("from_numpy", "nan_to_num", "cast", "convert_to_tensor", "constant", "half", "copy", "identity"),
        *("stop_gradient", "requires_grad_", "gather_for_metrics", "tolist", "pin_memory", "npu", "value"),
        *("bfloat16", "float32", "float64", "ensure_shape", "is_floating_point", "squeeze_", "get", "list"),
        *("all_gather", "all_reduce", "to_dense", "print", "gather_object", "float16", "deepcopy", "stack_"),
    )
)
WHOLE = frozenset(("long", "int", "int32", "int64", "byte"))
AXES = ("dim", "axis", "dims", "axes")
KEEPS = ("keepdim", "keepdims", "keep_dims")


def number(x: Any) -> Any:
    """Truth values as numbers: numpy takes no difference of them."""
    x = np.asarray(x)
    return x.astype(float) if x.dtype == bool else x


def fits(*sizes: float) -> None:
    """Refuse an array of these sizes where it would be large.

    Raises Unfit.
    """
    if not is_small_shape(sizes):
        raise Unfit


def whole(value: Any) -> int:
    """A whole number, or `Unfit`."""
    if (
        isinstance(value, (int, float, np.generic, np.ndarray))
        and np.ndim(value) == 0
        and value == int(value)
    ):
        return int(value)
    raise Unfit


def axis_of(value: Any) -> Any:
    """An axis or several of them."""
    if value is None:
        return None
    return tuple(whole(v) for v in value) if isinstance(value, (list, tuple)) else whole(value)


def array(value: Any) -> Array:
    """A number, an array, or a list of them, as an array."""
    if isinstance(value, (bool, int, float, np.generic, np.ndarray)):
        return np.asarray(value)
    if isinstance(value, (list, tuple)) and value:
        parts = [array(v) for v in value]
        if len({p.shape for p in parts}) == 1:
            return np.stack(parts)
    raise Unfit


def of_arrays(name: str, given: Sequence[Any], named: Mapping[str, Any], *, places: bool) -> Any:
    """A function of arrays by its name; `places`: `max` along an axis gives values and places (PyTorch).

    Raises Unfit, or what numpy raises where shapes do not fit.
    """
    name = RENAMED.get(name, name)
    named = {k: v for k, v in named.items() if k not in ("name", "dtype", "device", "input", "out")}
    axis = next((named.pop(k) for k in AXES if k in named), None)
    keep = bool(next((named.pop(k) for k in KEEPS if k in named), False))
    if name in SAME:
        return given[0]
    if name in WHOLE:
        return np.trunc(number(array(given[0])))
    if name == "bool":
        return array(given[0]) != 0
    if name in ("cat", "stack"):
        return _joined(name, given, axis)
    x = array(given[0])
    rest = list(given[1:])
    if name in ONE and not rest and not named and axis is None:
        return ONE[name](x)
    if name in ("max", "min") and len(rest) == 1 and isinstance(rest[0], np.ndarray) and rest[0].ndim:
        return TWO[name + "imum"](x, rest[0])
    if name in TWO and len(rest) == 1 and not named and axis is None:
        other = array(rest[0])
        if not is_small(ast.MatMult if TWO[name] in (np.matmul, np.dot) else ast.Add, x, other):
            raise Unfit
        return TWO[name](x, other)
    if name in REDUCES:
        return _reduced(name, x, rest, axis, keep, named, places)
    return _shaped(name, x, rest, axis, keep, named)


def _joined(name: str, given: Sequence[Any], axis: Any) -> Array:
    parts = given[0] if isinstance(given[0], (list, tuple)) else None
    axis = axis if axis is not None else given[1] if len(given) > 1 else 0
    if parts is None or not parts:
        raise Unfit
    arrays = [np.atleast_1d(array(p)) if name == "cat" else array(p) for p in parts]
    return np.concatenate(arrays, whole(axis)) if name == "cat" else np.stack(arrays, whole(axis))


def _reduced(
    name: str, x: Array, rest: list[Any], axis: Any, keep: bool, named: Mapping[str, Any], places: bool
) -> Any:
    if name == "norm" and rest and axis is None and x.ndim > 1:
        raise Unfit
    if name == "norm" and named.get("p", named.get("ord", 2)) != 2:
        raise Unfit
    if rest and axis is None and name != "norm":
        axis = rest.pop(0)
        keep = bool(rest.pop(0)) if rest else keep
    if (rest and name != "norm") or {*named} - {"p", "ord"}:
        raise Unfit
    along = axis_of(axis)
    value = REDUCES[name](number(x), axis=along, keepdims=keep)
    if name in ("max", "min") and places and along is not None:
        pick = np.argmax if name == "max" else np.argmin
        return Pair((value, pick(x, axis=along)))
    return value


def _shaped(name: str, x: Array, rest: list[Any], axis: Any, keep: bool, named: Mapping[str, Any]) -> Any:
    if name in ("softmax", "log_softmax"):
        along = axis if axis is not None else rest[0] if rest else -1
        found = log_softmax(x, whole(along))
        return found if name == "log_softmax" else np.exp(found)
    if name in ("argmax", "argmin", "argsort"):
        along = axis if axis is not None else rest[0] if rest else None
        pick: Callable[..., Any] = np.argmax if name == "argmax" else np.argmin
        if name == "argsort" or (named and set(named) != {"output_type"}):
            raise Unfit
        return pick(x, axis=None if along is None else whole(along), **({"keepdims": True} if keep else {}))
    if name == "clamp":
        low, high = _ends(named, rest)
        return np.clip(x, -np.inf if low is None else low, np.inf if high is None else high)
    if name in ("reshape", "view") and rest:
        shape = rest[0] if len(rest) == 1 and isinstance(rest[0], (list, tuple)) else rest
        sizes = [whole(s) for s in shape]
        if len(sizes) == 2 and sizes[1] > 1 and x.ndim > 1 and x.shape[-1] != sizes[1] and x.size % sizes[1]:
            sizes = [-1, x.shape[-1]]  # as many classes as the program has
        return x.reshape(sizes)
    if name in ("view_as", "reshape_as"):
        return x.reshape(array(rest[0]).shape)
    if name in ("flatten", "ravel"):
        start = whole(rest[0] if rest else named.get("start_dim", 0))
        end = whole(rest[1] if len(rest) > 1 else named.get("end_dim", -1)) % x.ndim
        return x.reshape(*x.shape[:start], -1, *x.shape[end + 1 :])
    if name in ("unsqueeze", "expand_dims", "squeeze"):
        along = axis if axis is not None else rest[0] if rest else None
        if name != "squeeze":
            return np.expand_dims(x, whole(along))
        if 1 not in x.shape:
            raise Unfit  # the layout is not the program's
        return np.squeeze(x) if along is None else np.squeeze(x, axis_of(along))
    if name in ("t", "T", "transpose", "permute", "movedim"):
        return _turned(name, x, rest, named)
    if name == "where":
        return np.where(x.astype(bool), array(rest[0]), array(rest[1]))
    if name == "masked_fill":
        return np.where(array(rest[0]).astype(bool), array(rest[1]), x)
    if name in ("gather", "take_along_dim", "take_along_axis", "gather_elements"):
        along, index = (rest[0], rest[1]) if len(rest) == 2 else (axis, named.get("index", rest[0]))
        if name.startswith("take") and len(rest) == 2:
            along, index = rest[1], rest[0]
        return np.take_along_axis(x, array(index).astype(int), whole(along))
    if name in ("one_hot", "to_categorical"):
        depth = rest[0] if rest else named.get("num_classes", named.get("depth"))
        count = whole(depth)
        fits(count, max(count, x.size))
        return np.eye(count)[x.astype(int)]
    if name == "diag" or name == "diagonal":
        if x.ndim != 2:
            fits(x.size, x.size)
        return np.diagonal(x) if x.ndim == 2 else np.diag(x)
    if name == "fill_diagonal_":
        x = np.array(x, float)
        np.fill_diagonal(x, float(rest[0]))
        return x
    if name in ("size", "shape"):
        at = rest[0] if rest else axis
        return list(x.shape) if at is None else x.shape[whole(at)]
    if name in ("numel", "nelement"):
        return x.size
    if name in ("ndimension", "dim", "rank"):
        return x.ndim
    if name in ("zeros_like", "ones_like"):
        return np.zeros(x.shape) if name == "zeros_like" else np.ones(x.shape)
    if name == "normalize":
        along = whole(axis if axis is not None else 1)
        return x / np.maximum(np.sqrt(np.square(x).sum(axis=along, keepdims=True)), 1e-12)
    if name == "lerp":
        return x + array(rest[1]) * (array(rest[0]) - x)
    if name in ("index_select", "repeat", "expand", "expand_as", "broadcast_to"):
        raise Unfit
    if name in ("std", "var"):
        raise Unfit
    raise Unfit


def _ends(named: Mapping[str, Any], rest: list[Any]) -> tuple[Any, Any]:
    low = next((named[k] for k in ("min", "a_min", "clip_value_min", "min_value") if k in named), None)
    high = next((named[k] for k in ("max", "a_max", "clip_value_max", "max_value") if k in named), None)
    low = rest[0] if rest else low
    return low, rest[1] if len(rest) > 1 else high


def _turned(name: str, x: Array, rest: list[Any], named: Mapping[str, Any]) -> Array:
    if name in ("t", "T") or (not rest and "perm" not in named):
        return x.T
    order = named.get("perm", rest[0] if len(rest) == 1 else rest)
    axes = [whole(a) for a in order]
    if name == "transpose" and len(axes) == 2 and x.ndim != 2:
        return np.swapaxes(x, *axes)
    return np.transpose(x, axes) if x.ndim == len(axes) else np.swapaxes(x, *axes)
