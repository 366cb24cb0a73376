"""Functions of numpy and PyTorch on small arrays, as the frameworks define them; all else is `Unfit`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..made_numbers.arrays import ALIKE, sigmoid
from . import sizes
from .sizes import Unfit, checked


class Tensor(np.ndarray):
    """An array that answers as a tensor of PyTorch does: `x.max(1)` gives values and places."""


Array = np.ndarray


def tensor(value: Any) -> Tensor:
    """Numbers as a tensor."""
    return np.asarray(value).view(Tensor)


def plain(value: Any) -> Array:
    """Numbers as an array of numpy."""
    return np.asarray(value).view(np.ndarray)


def like(value: Any, model: Any) -> Any:
    """A result as a tensor, where what it is made of is one."""
    return (
        tensor(value) if isinstance(model, Tensor) and isinstance(value, (np.ndarray, np.generic)) else value
    )


ONE: Mapping[str, Callable[[Any], Any]] = {
    "exp": np.exp,
    "log": np.log,
    "log1p": np.log1p,
    "expm1": np.expm1,
    "log2": np.log2,
    "log10": np.log10,
    "sqrt": np.sqrt,
    "abs": np.abs,
    "absolute": np.abs,
    "fabs": np.abs,
    "square": np.square,
    "sigmoid": sigmoid,
    "logsigmoid": lambda x: -np.logaddexp(0, -x),
    "expit": sigmoid,
    "tanh": np.tanh,
    "relu": lambda x: np.maximum(x, 0),
    "floor": np.floor,
    "ceil": np.ceil,
    "sign": np.sign,
    "logical_not": np.logical_not,
    "isnan": np.isnan,
    "isfinite": np.isfinite,
    "isinf": np.isinf,
    "neg": np.negative,
    "negative": np.negative,
    "reciprocal": lambda x: 1 / x,
    "sin": np.sin,
    "cos": np.cos,
    "nan_to_num": np.nan_to_num,
}
TWO: Mapping[str, Callable[[Any, Any], Any]] = {
    **ALIKE,
    "add": np.add,
    "sub": np.subtract,
    "subtract": np.subtract,
    "intersect1d": np.intersect1d,
    "setdiff1d": np.setdiff1d,
    "isin": np.isin,
    "in1d": np.isin,
    "outer": np.outer,
}
REDUCES: Mapping[str, Callable[..., Any]] = {
    "sum": np.sum,
    "mean": np.mean,
    "nansum": np.nansum,
    "nanmean": np.nanmean,
    "prod": np.prod,
    "amax": np.max,
    "amin": np.min,
    "any": np.any,
    "all": np.all,
    "count_nonzero": np.count_nonzero,
    "argmax": np.argmax,
    "argmin": np.argmin,
    "cumsum": np.cumsum,
    "cumprod": np.cumprod,
    "logcumsumexp": lambda x, axis=-1: np.logaddexp.accumulate(x, axis=-1 if axis is None else axis),
    "logsumexp": lambda x, axis=None, keepdims=False: np.log(np.exp(x).sum(axis=axis, keepdims=keepdims)),
}
SAME = frozenset(
    ("cpu", "cuda", "to", "detach", "clone", "copy", "contiguous", "requires_grad_", "asarray", "eval")
)
KINDS: Mapping[str, Any] = {
    "float": float,
    "double": float,
    "half": float,
    "long": int,
    "int": int,
    "bool": bool,
    "byte": int,
    "float32": float,
    "float64": float,
    "int64": int,
    "int32": int,
    "uint8": int,
    "bool_": bool,
    "float16": float,
    "int_": int,
    "float_": float,
}


def of_arrays(name: str, given: list[Any], named: dict[str, Any]) -> Any:
    """What a function of arrays gives, as numpy or PyTorch has it. Raises Unfit where it is not known."""
    first = given[0] if given else None
    sizes.of_arrays(name, given, named)
    found = _of_arrays(name, given, named)
    if isinstance(found, tuple):
        return tuple(like(f, first) for f in found)
    lists = isinstance(first, (list, tuple)) and any(isinstance(f, Tensor) for f in first)
    return tensor(found) if lists and isinstance(found, np.ndarray) else like(found, first)


def _of_arrays(name: str, given: list[Any], named: dict[str, Any]) -> Any:
    named = {k: v for k, v in named.items() if k not in ("dtype", "device", "out", "copy", "non_blocking")}
    torch = bool(given) and isinstance(given[0], Tensor)
    if name.endswith("_") and name[:-1] in (*ONE, *TWO, "clamp"):
        raise Unfit  # in place
    if name in ONE and len(given) == 1 and not named:
        return ONE[name](_array(given[0]))
    if name in TWO and len(given) == 2 and not named:
        if name == "equal" and torch:
            return bool(np.array_equal(given[0], given[1]))
        return TWO[name](_array(given[0]), _array(given[1]))
    if name in ("max", "min"):
        return _extreme(name, given, named, torch)
    if name in REDUCES:
        return _reduced(name, given, named)
    if name in ("std", "var"):
        free = 1 if torch else 0
        for word in ("ddof", "correction"):
            free = named.pop(word, free)
        unbiased = named.pop("unbiased", None)
        free = free if unbiased is None else int(unbiased)
        axis, keep = _axis(given[1:], named)
        return getattr(np, name)(_array(given[0]), axis=axis, keepdims=keep, ddof=free)
    if name in _BY_KIND:
        return _BY_KIND[name](torch, *given, **named)
    if name in _MORE:
        return _MORE[name](*given, **named)
    raise Unfit


def _array(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        held = np.asarray(value)
        if held.dtype == object:
            raise Unfit
        return held
    if isinstance(value, (bool, int, float, np.generic, np.ndarray)):
        return value
    raise Unfit


def _axis(rest: list[Any], named: dict[str, Any]) -> tuple[Any, bool]:
    named = dict(named)
    axis = named.pop("axis", named.pop("dim", rest[0] if rest else None))
    keep = bool(named.pop("keepdims", named.pop("keepdim", rest[1] if len(rest) > 1 else False)))
    if named or not (axis is None or isinstance(axis, (int, tuple, list))) or isinstance(axis, bool):
        raise Unfit
    return tuple(axis) if isinstance(axis, list) else axis, keep


def _reduced(name: str, given: list[Any], named: dict[str, Any]) -> Any:
    axis, keep = _axis(given[1:], named)
    held = _array(given[0])
    if name in ("cumsum", "cumprod", "logcumsumexp", "argmax", "argmin"):
        found = REDUCES[name](held, axis=axis)
        return np.expand_dims(found, axis) if keep and axis is not None else found
    return REDUCES[name](held, axis=axis, keepdims=keep)


def _extreme(name: str, given: list[Any], named: dict[str, Any], torch: bool) -> Any:
    held = _array(given[0])
    least = np.max if name == "max" else np.min
    if torch and len(given) == 2 and isinstance(given[1], np.ndarray):
        return (np.maximum if name == "max" else np.minimum)(held, given[1])
    axis, keep = _axis(given[1:], named)
    if torch and axis is not None:
        places = (np.argmax if name == "max" else np.argmin)(held, axis=axis)
        return least(held, axis=axis, keepdims=keep), np.expand_dims(places, axis) if keep else places
    return least(held, axis=axis, keepdims=keep)


def _argsort(x: Any, *rest: Any, **named: Any) -> Any:
    down = bool(named.pop("descending", False))
    named.pop("kind", None)
    named.pop("stable", None)
    axis = named.pop("axis", named.pop("dim", rest[0] if rest and not isinstance(rest[0], bool) else -1))
    if named or len(rest) > 1:
        raise Unfit
    held = np.asarray(_array(x), float)
    return np.argsort(-held if down else held, axis=axis, kind="stable")


def _sort(torch: bool, x: Any, *rest: Any, **named: Any) -> Any:
    held = np.asarray(_array(x))
    order = _argsort(held, *rest, **named)
    values = np.take_along_axis(held, order, axis=named.get("dim", named.get("axis", -1)))
    return (values, order) if torch else values


def _topk(x: Any, k: Any, *rest: Any, **named: Any) -> Any:
    named.pop("sorted", None)
    largest = named.pop("largest", rest[1] if len(rest) > 1 else True)
    axis = named.pop("dim", rest[0] if rest else -1)
    held = np.asarray(_array(x), float)
    if named or k > held.shape[axis]:
        raise Unfit
    order = np.take(np.argsort(-held if largest else held, axis=axis, kind="stable"), range(k), axis=axis)
    return np.take_along_axis(held, order, axis=axis), order


def _where(test: Any, *rest: Any) -> Any:
    if not rest:
        return tuple(np.where(test))
    return np.where(test, _array(rest[0]), _array(rest[1]))


def _clip(x: Any, low: Any = None, high: Any = None, **named: Any) -> Any:
    low, high = (
        named.pop("min", named.pop("a_min", low)),
        named.pop("max", named.pop("a_max", high)),
    )
    if named:
        raise Unfit
    return np.clip(_array(x), low, high)


def _joined(parts: Any, *rest: Any, **named: Any) -> Any:
    return np.concatenate(
        [_array(p) for p in parts], axis=named.get("axis", named.get("dim", rest[0] if rest else 0))
    )


def _stacked(parts: Any, *rest: Any, **named: Any) -> Any:
    return np.stack(
        [_array(p) for p in parts], axis=named.get("axis", named.get("dim", rest[0] if rest else 0))
    )


def _softmax(x: Any, *rest: Any, **named: Any) -> Any:
    axis = named.get("dim", named.get("axis", rest[0] if rest else None))
    held = np.asarray(_array(x), float)
    if axis is None:
        raise Unfit
    made = np.exp(held - held.max(axis=axis, keepdims=True))
    return made / made.sum(axis=axis, keepdims=True)


def _log_softmax(x: Any, *rest: Any, **named: Any) -> Any:
    return np.log(np.maximum(_softmax(x, *rest, **named), 1e-300))


def _with_logits(x: Any, y: Any, **named: Any) -> Any:
    """`binary_cross_entropy_with_logits`, without weights."""
    if set(named) - {"reduction"}:
        raise Unfit
    held, truth = np.asarray(_array(x), float), np.asarray(_array(y), float)
    each = np.logaddexp(0, held) - held * truth
    way = named.get("reduction", "mean")
    return each if way == "none" else each.sum() if way == "sum" else each.mean()


def _one_hot(x: Any, k: Any = -1, **named: Any) -> Any:
    count = int(named.get("num_classes", k))
    held = np.asarray(_array(x)).astype(int)
    return np.eye(count if count > 0 else int(held.max()) + 1, dtype=int)[held]


def _shape(x: Any, sizes: tuple[Any, ...]) -> Any:
    sizes = tuple(sizes[0]) if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes
    return np.asarray(_array(x)).reshape(tuple(int(s) for s in sizes))


def _flattened(x: Any, start: int = 0, **named: Any) -> Any:
    start = named.get("start_dim", start)
    held = np.asarray(_array(x))
    return held.reshape(*held.shape[:start], -1)


def _squeezed(torch: bool, x: Any, *axis: Any, **named: Any) -> Any:
    at = named.get("dim", named.get("axis", axis[0] if axis else None))
    held = np.asarray(_array(x))
    if at is not None and held.shape[at] != 1:
        if torch:
            return held
        raise Unfit
    return np.squeeze(held, axis=at)


def _turned(torch: bool, x: Any, *axes: Any) -> Any:
    held = np.asarray(_array(x))
    if torch and len(axes) == 2:
        return np.swapaxes(held, *axes)
    return np.transpose(held, axes[0] if len(axes) == 1 else axes or None)


def _filled(x: Any, mask: Any, value: Any) -> Any:
    return np.where(mask, value, _array(x))


def _made(value: float) -> Callable[..., Any]:
    def make(*sizes: Any) -> Any:
        shape = tuple(sizes[0]) if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes
        return np.full(shape, value)

    return make


def _gathered(torch: bool, x: Any, axis: Any, places: Any) -> Any:
    if not torch:
        axis, places = places, axis
    return np.take_along_axis(np.asarray(_array(x)), np.asarray(places).astype(int), axis=axis)


def trapezoid(y: Any, x: Any = None) -> float:
    """The area under a curve through points."""
    heights = np.asarray(y, float)
    widths = np.diff(np.asarray(x, float)) if x is not None else 1.0
    return float((widths * (heights[1:] + heights[:-1]) / 2).sum())


def _counted(x: Any, weights: Any = None, minlength: int = 0) -> Any:
    return np.bincount(np.asarray(x).astype(int), weights, checked(minlength))


def _unique(x: Any, **named: Any) -> Any:
    held = _array(x)
    return np.unique(held, return_counts=True) if named.get("return_counts") else np.unique(held)


_MORE: Mapping[str, Callable[..., Any]] = {
    "argsort": _argsort,
    "topk": _topk,
    "where": _where,
    "clip": _clip,
    "clamp": _clip,
    "clamp_min": lambda x, low: _clip(x, low),
    "cat": _joined,
    "concatenate": _joined,
    "stack": _stacked,
    "softmax": _softmax,
    "log_softmax": _log_softmax,
    "binary_cross_entropy_with_logits": _with_logits,
    "one_hot": _one_hot,
    "reshape": lambda x, *s: _shape(x, s),
    "view": lambda x, *s: _shape(x, s),
    "flatten": _flattened,
    "ravel": lambda x: np.ravel(_array(x)),
    "unsqueeze": lambda x, a: np.expand_dims(_array(x), a),
    "expand_dims": lambda x, axis: np.expand_dims(_array(x), axis),
    "permute": lambda x, *a: np.transpose(_array(x), a[0] if len(a) == 1 else a),
    "t": lambda x: np.transpose(_array(x)),
    "masked_fill": _filled,
    "take_along_axis": lambda x, places, axis: _gathered(False, x, places, axis),
    "take": lambda x, places, axis=None: np.take(_array(x), np.asarray(places).astype(int), axis=axis),
    "unique": _unique,
    "bincount": _counted,
    "diag": lambda x: np.diag(_array(x)),
    "diagonal": lambda x: np.diagonal(_array(x)),
    "trapz": lambda y, x=None: trapezoid(_array(y), x),
    "trapezoid": lambda y, x=None: trapezoid(_array(y), x),
    "diff": lambda x: np.diff(_array(x)),
    "flip": lambda x, *a, **n: np.flip(_array(x), n.get("axis", n.get("dims", a[0] if a else None))),
    "average": lambda x, axis=None, weights=None: np.average(_array(x), axis=axis, weights=weights),
    "median": lambda x: np.median(_array(x)),
    "round": lambda x, decimals=0: np.round(_array(x), decimals),
    "corrcoef": lambda x, *y: np.corrcoef(_array(x), *map(_array, y)),
    "searchsorted": lambda x, v, side="left": np.searchsorted(_array(x), v, side=side),
    "linspace": lambda a, b, n=50: np.linspace(a, b, checked(n)),
    "eye": lambda n: np.eye(n),
    "zeros": _made(0.0),
    "ones": _made(1.0),
    "empty": _made(0.0),
    "zeros_like": lambda x: np.zeros_like(_array(x), dtype=float),
    "ones_like": lambda x: np.ones_like(_array(x), dtype=float),
    "empty_like": lambda x: np.zeros_like(_array(x), dtype=float),
    "full": lambda s, v: np.full(s, v),
    "array": lambda x: np.array(_array(x)),
    "arange": lambda *ends: np.arange(*ends),
    "interp": lambda x, xp, fp: np.interp(x, xp, fp),
    "mse_loss": lambda a, b: np.mean((_array(a) - _array(b)) ** 2),
    "l1_loss": lambda a, b: np.mean(np.abs(_array(a) - _array(b))),
}
_BY_KIND: Mapping[str, Callable[..., Any]] = {
    "sort": _sort,
    "squeeze": _squeezed,
    "transpose": _turned,
    "gather": _gathered,
    "nonzero": lambda torch, x, **n: (
        np.argwhere(x) if torch and not n.get("as_tuple") else tuple(np.nonzero(x))
    ),
}
FUNCTIONS = frozenset((*_BY_KIND, *ONE, *TWO, *REDUCES, *_MORE, "max", "min", "std", "var"))
