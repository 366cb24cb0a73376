"""Values of a symbolic run: numbers, small arrays, and things that are known by where they come from only.

Two programs compute the same where equal inputs give equal values. An unknown thing (a layer's output, a
batch, an option) is known by its mark: a hash of the call and of its arguments. Where arithmetic is done on
it, it is a small array of random numbers that follow from the mark, so that equal formulas give equal numbers
and others do not (Schwartz-Zippel). Nothing of a script is executed: only the operations named here are.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from .vocabulary import word_set

Array = np.ndarray[Any, Any]
MAX_ELEMENTS = 4096
STABLE = 0.9173205  # of a variance, which a mean of squares less a square of the mean is not
CUT = 1.2360679  # what is cut off the graph: times this, so that a sum tells which of its parts is cut off


def mark(*parts: object) -> int:
    """A hash of what something is made of, the same in every process."""
    return int.from_bytes(hashlib.blake2b(repr(parts).encode(), digest_size=8).digest(), "big")


@dataclass(eq=False)
class Thing:
    """Something known by its mark. `shaky`: an operation on the way did not fit the assumed shapes."""

    mark: int
    shaky: bool = False
    item: bool = False  # it came out of a collection or of a call: a tensor rather than a collection
    scalar: bool = False
    batch: bool = False  # it is what a loader, or a caller, gives: as long as the assumed shape
    like: int = 0  # the mark of what has as many axes: each item of a collection, whatever its number
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass(eq=False)
class Tensor:
    """Numbers. `under`: the contexts (no_grad, autocast) that parts of it were computed in."""

    array: Array
    shaky: bool = False
    under: frozenset[int] = frozenset()
    cut: bool = False
    made: frozenset[str] = frozenset()  # what it was made by, as far as later operations ask: see `precision`
    signed: Array | None = None  # what it is the absolute value of: the square of both is the same

    @cached_property
    def mark(self) -> int:
        """A hash of the numbers to nine digits."""
        if self.array.dtype == bool:
            return mark("bool", self.array.shape, self.array.tobytes(), sorted(self.under))
        numbers = np.round(self.array.astype(float).ravel(), 12) + 0.0
        text = ("%.8e," * len(numbers))[:-1] % tuple(numbers.tolist())
        if self.array.shape == () and not self.under and not self.cut:
            return mark("number", text)
        return mark("array", self.array.shape, text, sorted(self.under))


class Unfit(Exception):
    """An operation that cannot be computed on these values."""


@lru_cache(maxsize=1024)
def number_mark(value: float) -> int:
    """The mark of a constant."""
    return Tensor(np.asarray(number(value))).mark


def number(value: float) -> float:
    """A constant; one so small or large that it would drown in a sum is another number of its own."""
    if value == 0 or 1e-3 <= abs(value) <= 1e5:
        return value
    spread = int.from_bytes(hashlib.blake2b(repr(abs(value)).encode(), digest_size=4).digest(), "big") / 2**32
    return (0.2 + 0.6 * spread) * (1 if value > 0 else -1)


@lru_cache(maxsize=8192)  # both runs of a comparison of large programs ask for a few thousand
def leaf(seed: int, shape: tuple[int, ...]) -> Array:
    """Random numbers between 0.3 and 1.7 that follow from a mark; no caller writes into them."""
    return np.random.default_rng(seed).uniform(0.3, 1.7, shape)


def _axes(dim: object) -> Any:
    if dim is None:
        return None
    if isinstance(dim, (list, tuple)):
        return tuple(_whole(d) for d in dim)
    return _whole(dim)


def _whole(value: object) -> int:
    if isinstance(value, (int, float)) and float(value) == int(value):
        return int(value)
    if isinstance(value, Tensor) and value.array.shape == () and float(value.array) == int(value.array):
        return int(value.array)
    raise Unfit


def _softmax(x: Array, dim: Any) -> Array:
    e = np.exp(x - x.max(axis=dim, keepdims=True))
    return np.asarray(e / e.sum(axis=dim, keepdims=True))


def _fake(label: str, *values: Array) -> Array:
    """An elementwise function of which nothing is known but that it is one: relu, round, a cast."""
    seed = mark(label) % 1000 / 1000
    total = sum((i + 1.3) * v * (0.7 + seed) for i, v in enumerate(values))
    return np.asarray(np.sin(total + seed) + 2.0)


def _outer(label: str, a: Array, b: Array) -> Array:
    """The larger or the smaller of two: the same in either order, and no plain one of them."""
    return _fake(label, a + b, a * b)


def classes(values: Array, count: int) -> Array:
    """What class each element stands for, where it is a label or an index of which nothing is known."""
    return (np.floor(np.abs(real(values)) * 7919.0).astype(int)) % count


def converted(x: Array, kind: int) -> Array:
    """Elements as another kind of number, of which only a mark is known."""
    return _fake(str(kind), real(x))


def _like_dice(label: str, a: Array, b: Array) -> Array:
    """Elementwise truth values of a comparison of which only its laws are known."""
    if label in ("==", "!="):
        mixed = np.sin((a + b) * 12.9898 + a * b * 78.233 + 1.7) * 43758.5453
    else:  # a > b; the other three follow from it
        if label in ("<", ">="):
            a, b = b, a
        mixed = np.sin(a * 12.9898 - b * 78.233 + 0.3) * 43758.5453
    found: Array = (mixed - np.floor(mixed)) > 0.5
    return ~found if label in ("!=", "<=", ">=") else found


_ELEMENT: Mapping[str, Callable[..., Array]] = {
    "exp": np.exp,
    "log": np.log,
    "log1p": np.log1p,
    "softplus": lambda x: np.logaddexp(x, 0.0),
    "logsigmoid": lambda x: -np.logaddexp(-x, 0.0),
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "square": np.square,
    "reciprocal": lambda x: 1 / x,
    "neg": np.negative,
    "negative": np.negative,
    "silu": lambda x: x / (1 + np.exp(-x)),
    "log2": np.log2,
    "log10": np.log10,
    "expm1": np.expm1,
    "sin": np.sin,
    "cos": np.cos,
}
_BINARY: Mapping[str, Callable[..., Array]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.true_divide,
    "**": np.power,
    "@": np.matmul,
    "add": np.add,
    "sub": np.subtract,
    "subtract": np.subtract,
    "mul": np.multiply,
    "div": np.true_divide,
    "divide": np.true_divide,
    "pow": np.power,
    "power": np.power,
    "matmul": np.matmul,
    "mm": np.matmul,
    "bmm": np.matmul,
    "dot": np.dot,
}
_REDUCE: Mapping[str, Callable[..., Array]] = {
    "sum": np.sum,
    "mean": np.mean,
    "average": np.mean,
    "prod": np.prod,
    "max": np.max,
    "min": np.min,
    "amax": np.max,
    "amin": np.min,
    "var": lambda x, axis, keepdims: np.asarray(STABLE * np.var(x, axis=axis, keepdims=keepdims, ddof=1)),
    "std": lambda x, axis, keepdims: np.asarray(STABLE * np.std(x, axis=axis, keepdims=keepdims, ddof=1)),
}
_CASTS = (
    "long",
    "int",
    "bool",
    "half",
    "float16",
    "bfloat16",
    "float",
    "double",
    "type",
    "to",
    "astype",
    "cast",
)
_FAKED = word_set(
    "relu relu6 leaky_relu gelu elu selu hardswish abs sign round floor ceil clip maximum minimum "
    "trunc heaviside mod % // fmod sgn"
)
_SHAPED = word_set(
    "softmax log_softmax logsumexp einsum transpose permute view flatten unflatten squeeze unsqueeze "
    "expand_dims cat stack where masked_fill take_along argmax argmin cumsum eq ne gt lt ge le norm float "
    "long int bool double view_as expand_as"
)
COMPUTED = frozenset(_ELEMENT) | frozenset(_BINARY) | frozenset(_REDUCE) | _FAKED | _SHAPED


def _counted(array: Array, axes: int | tuple[int, ...] | None) -> int:
    """Over how many elements each result of a reduction goes."""
    if axes is None:
        return array.size
    return math.prod(array.shape[axis] for axis in (axes if isinstance(axes, tuple) else (axes,)))


def compute(label: str, given: Sequence[Array], named: Mapping[str, object]) -> Array:
    """One of `COMPUTED` on arrays.

    Raises Unfit, ValueError, TypeError or IndexError (numpy's own) where the operation does not fit.
    """
    named = {k: v for k, v in named.items() if k not in ("dtype", "name")}
    dim, keep = named.pop("dim", None), bool(named.pop("keepdim", False))
    if label in _ELEMENT and len(given) == 1 and not named:
        return _ELEMENT[label](real(given[0]))
    if label in ("*", "mul") and len(given) == 2 and not named and given[0].dtype == given[1].dtype == bool:
        return np.logical_and(given[0], given[1])
    if label in _BINARY and len(given) == 2 and not named:
        return _BINARY[label](real(given[0]), real(given[1]))
    if label in _REDUCE and len(given) == 1 and not named:
        if label in ("max", "min") and dim is not None:
            raise Unfit  # values and places
        if _counted(given[0], _axes(dim)) < (2 if label in ("var", "std") else 1):
            raise Unfit  # numpy would warn and give NaN
        of = given[0] if label == "sum" else real(given[0])  # a sum of truth values is a whole number
        return np.asarray(_REDUCE[label](of, axis=_axes(dim), keepdims=keep))
    if label in ("softmax", "log_softmax") and len(given) == 1 and dim is not None:
        found = _softmax(given[0], _axes(dim))
        return np.log(found) if label == "log_softmax" else found
    if label == "logsumexp" and len(given) == 1:
        return np.asarray(np.log(np.exp(given[0]).sum(axis=_axes(dim), keepdims=keep)))
    if label == "abs" and len(given) == 1 and not named:
        return _fake("abs", np.square(real(given[0])))  # of x and of -x the same
    if label in ("maximum", "minimum") and len(given) == 2 and not named:
        return _outer(label, real(given[0]), real(given[1]))
    if label == "relu" and len(given) == 1 and not named:
        return _outer("maximum", real(given[0]), np.asarray(0.0))
    if label == "clip" and len(given) == 1 and set(named) in ({"min"}, {"max"}):
        [(end, limit)] = named.items()
        if not isinstance(limit, (int, float)):
            raise Unfit
        return _outer("maximum" if end == "min" else "minimum", real(given[0]), np.asarray(number(limit)))
    if label in _FAKED:
        extra = [v for _, v in sorted(named.items()) if isinstance(v, (int, float))]
        if len(extra) != len(named) or dim is not None:
            raise Unfit
        return _fake(mark(label, tuple(sorted(named))).__str__(), *given, *map(np.asarray, extra))
    if label in _CASTS and len(given) == 1 and not named:
        if given[0].dtype != float and label in ("float", "double", "long", "int"):
            return given[0].astype(float)
        return _fake(label, given[0])
    if label in COMPARES and len(given) == 2:
        return _like_dice(COMPARES[label], real(given[0]), real(given[1]))
    return _shaped(label, given, named, dim, keep)


COMPARES = {"eq": "==", "ne": "!=", "gt": ">", "lt": "<", "ge": ">=", "le": "<="}
COMPARES |= {v: v for v in COMPARES.values()}


def _shaped(
    label: str, given: Sequence[Array], named: Mapping[str, object], dim: object, keep: bool
) -> Array:
    first = given[0]
    rest = [_whole(float(g)) for g in given[1:] if g.shape == ()]
    if label == "argmax" or label == "argmin":
        place = np.argmax if label == "argmax" else np.argmin
        if keep and dim is None:
            raise Unfit
        return np.asarray(place(first, axis=_axes(dim), keepdims=keep)).astype(float)
    if label == "view_as" and len(given) == 2 and not named:
        return first.reshape(given[1].shape)
    if label == "expand_as" and len(given) == 2 and not named:
        return np.broadcast_to(first, given[1].shape).copy()
    if label == "cumsum" and dim is not None:
        return np.cumsum(first, axis=_axes(dim))
    if label == "view" and len(rest) == len(given) - 1 and rest:
        return first.reshape(rest)
    if label == "transpose" and not rest and dim is None and first.ndim >= 2 and not named:
        return first.T if first.ndim == 2 else np.swapaxes(first, -1, -2)
    if label == "transpose" and len(rest) == 2:
        return np.swapaxes(first, *rest)
    if label == "permute" and len(rest) == first.ndim:
        return np.transpose(first, rest)
    if label == "flatten":
        start, end = (_whole(named.get(k, d)) for k, d in (("start_dim", 1), ("end_dim", -1)))
        end += first.ndim if end < 0 else 0
        if not 0 <= start <= end < first.ndim:
            raise Unfit
        return first.reshape(*first.shape[:start], -1, *first.shape[end + 1 :])
    if label == "unflatten" and isinstance(sizes := named.get("sizes"), (list, tuple)) and dim is not None:
        axis = _whole(dim) % first.ndim
        return first.reshape(*first.shape[:axis], *map(_whole, sizes), *first.shape[axis + 1 :])
    if label == "unsqueeze" or label == "expand_dims":
        return np.expand_dims(first, _axes(dim if dim is not None else rest[0]))
    if label == "squeeze" and dim is not None:
        axis = _axes(dim)
        return np.squeeze(first, axis) if first.shape[axis] == 1 else first
    if label == "where" and len(given) == 3 and first.dtype == bool:
        return np.where(first, given[1], given[2])
    if label == "masked_fill" and len(given) == 3 and given[1].dtype == bool:
        return np.where(given[1], given[2], first)
    if label == "take_along" and len(given) == 3 - (dim is not None) and given[-1].ndim == first.ndim:
        axis = _axes(dim if dim is not None else rest[0])
        return np.take_along_axis(first, classes(given[-1], first.shape[axis]), axis)
    raise Unfit


def joined(label: str, arrays: Sequence[Array], dim: object) -> Array:
    """`cat` or `stack` of a list."""
    axis = _axes(dim if dim is not None else 0)
    return np.concatenate(arrays, axis) if label == "cat" else np.stack(arrays, axis)


def einsum(rule: str, arrays: Sequence[Array]) -> Array:
    """numpy's einsum, of small arrays.

    Raises Unfit where it would take long.
    """
    if np.prod([float(a.size) for a in arrays]) > 1e6 or len(arrays) > 4:
        raise Unfit
    return np.asarray(np.einsum(rule, *arrays))


UNSTABLE = 1.0437215  # a formula that overflows or cancels is not the same as the function that does not

KEPT = frozenset({"exponential", "shifted exponential", "share", "whole"})
_SAME_VALUES = word_set("view view_as flatten unflatten squeeze unsqueeze expand_dims transpose permute")


def precision(label: str, made: Sequence[frozenset[str]]) -> tuple[float, frozenset[str]]:
    """What a value is multiplied by to tell that precision is lost, and what it is made by.

    The log of a softmax or sigmoid, or of a sum of exponentials whose largest was not taken off, overflows;
    so does the share of one exponential in others.
    """
    every = frozenset().union(*made)
    if label == "exp":
        return 1.0, frozenset({"shifted exponential" if "below zero" in every else "exponential"})
    if label in ("softmax", "sigmoid"):
        return 1.0, frozenset({"share"})
    if label in ("log", "log1p"):
        bad = {"exponential"} if label == "log1p" else {"exponential", "share"}
        return UNSTABLE if bad & every else 1.0, frozenset()
    if label in ("/", "div", "divide", "reciprocal") and "exponential" in made[-1]:
        return UNSTABLE if "exponential" in made[0] and len(made) > 1 else 1.0, frozenset({"share"})
    if label in ("/", "div", "divide") and "shifted exponential" in made[-1]:
        return 1.0, frozenset({"share"})
    if label in ("max", "amax"):
        return 1.0, frozenset({"largest"})
    if label in ("-", "sub", "subtract") and "largest" in made[-1] and len(made) == 2:
        return 1.0, frozenset({"below zero"})
    if label in ("neg", "negative") and "distance" in every:
        return 1.0, frozenset({"below zero"})
    if label == "abs":
        return 1.0, frozenset({"distance"}) | (every & {"whole"})
    if label in _SAME_VALUES:
        return 1.0, every
    if label in ("log_softmax", "logsumexp", "softplus", "logsigmoid"):
        return 1.0, frozenset()
    return 1.0, every & KEPT


def real(x: Array) -> Array:
    """Truth values, and counts of them, as numbers."""
    return x.astype(float) if x.dtype != float else x


def compare(label: str, a: Array, b: Array, made: frozenset[str] = frozenset()) -> Array:
    """Elementwise truth values that follow from both sides; of a distance `<=` is `<`, but not of places."""
    if "distance" in made and "whole" not in made:
        label = label.rstrip("=") if label in ("<=", ">=") else label
    return _like_dice(label, real(a), real(b))
