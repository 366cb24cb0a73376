"""How large what a stranger's function makes may be: asked before it is made (see `scripts/bounds.py`)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..scripts.bounds import counted, is_small, is_small_nest

LARGEST = 300_000  # numbers in an array, items in a list, characters of a text
MADE = 10_000_000  # numbers that one call makes in all
_ROWS = 500  # of what becomes a square
_HOLDERS = (list, tuple, dict, set, frozenset)
_BROADCAST = ("where", "masked_fill", "clip", "clamp", "clamp_min")
_SQUARED = ("corrcoef", "eye", "diag")  # by the rows that they are given, or by their number
_JOINED = ("cat", "concatenate", "stack")
_BY_COUNT = ("linspace", "zeros", "ones", "empty", "full")


class Unfit(Exception):
    """Something that is not worked out."""


class TooLong(Unfit):
    """More steps than are gone through, or more numbers than are made."""


def checked(value: Any) -> Any:
    """A value that is small enough. Raises Unfit."""
    if isinstance(value, np.ndarray) and value.size > LARGEST:
        raise Unfit
    if isinstance(value, (list, tuple, dict, set, str, range)) and len(value) > LARGEST:
        raise Unfit
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 10**18:
        raise Unfit
    return value


def size(value: Any) -> int:
    """How many numbers or items a value holds, one level deep."""
    if isinstance(value, np.ndarray):
        return value.size
    return len(value) if isinstance(value, (*_HOLDERS, str)) else 1


def demand(small: bool) -> None:
    """Raises Unfit where something is not small."""
    if not small:
        raise Unfit


def shallow(*values: Any) -> None:
    """Raises Unfit where a value that is gone through to its depth holds very many others."""
    for value in values:
        if isinstance(value, _HOLDERS):
            demand(is_small_nest(value))
            few(_numbers(value), MADE)


def _numbers(value: Any) -> int:
    """How many numbers stand in the arrays that a value holds, at any depth."""
    if isinstance(value, _HOLDERS):
        return sum(map(_numbers, value.values() if isinstance(value, dict) else value))
    return value.size if isinstance(value, np.ndarray) else 0


def operation(operator: Any, left: Any, right: Any) -> None:
    """Raises Unfit where two values under an operator of the syntax give something large."""
    demand(is_small(operator, left, right))
    for one in (left, right):
        demand(not isinstance(one, np.ndarray) or one.size <= LARGEST)
    if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):
        shallow(left, right)


def of_arrays(name: str, given: list[Any], named: dict[str, Any]) -> None:
    """Raises Unfit where a function of arrays would make something large of what it is given."""
    shallow(*given, *named.values())
    held = [_shape(g) for g in given if isinstance(g, (np.ndarray, np.generic, list, tuple))]
    sizes = [math.prod(s) for s in held]
    numbers = [float(g) for g in (*given, *named.values()) if isinstance(g, (int, float, np.number))]
    if name in _BY_COUNT:
        shape = given[0] if given and isinstance(given[0], (list, tuple)) else given
        shape = given[2:3] or [named.get("num", 50)] if name == "linspace" else shape
        few(math.prod(abs(float(n)) for n in shape))
    elif name == "arange":
        few(counted([float(g) for g in given]) if given else 0.0)
    elif name in _SQUARED:
        few(max([*(s[0] for s in held if s), *numbers], default=0.0), _ROWS)
    elif name == "one_hot":
        highest = _highest(given, numbers)
        few(highest, _ROWS)
        few((highest + 1) * max(sizes, default=1))
    elif name == "bincount":
        few(_highest(given, numbers))
    elif name in ("outer", "dot", "matmul", "take", "gather", "take_along_axis"):
        few(math.prod(max(s, 1) for s in sizes))
    elif name in _JOINED:
        few(sum(map(size, given[0])) if isinstance(given[0], (list, tuple)) else 0.0)
    elif name in _BROADCAST or len(held) > 1:
        try:
            few(math.prod(np.broadcast_shapes(*held)))
        except ValueError:
            return  # they do not fit: the function says so


def _highest(given: list[Any], numbers: list[float]) -> float:
    """The largest number in the first argument, or among those that are given by themselves."""
    return max([*(float(np.max(g)) for g in given[:1] if np.size(g)), *numbers], default=0.0)


def _shape(value: Any) -> tuple[int, ...]:
    if isinstance(value, (list, tuple)) and any(isinstance(v, np.ndarray) for v in value):
        return (sum(map(size, value)),)  # numpy would put them into one to tell
    try:
        return np.shape(value)
    except ValueError:
        return (len(value),)  # parts of different lengths


def few(count: float, most: float = LARGEST) -> None:
    """Raises Unfit where a count is above the most."""
    demand(count <= most)  # not for a count that is no number


def of_text(owner: Any, name: str, given: list[Any]) -> None:
    """Raises Unfit where a method of a text would make a long one."""
    if name == "join" and given:
        parts = list(given[0]) if isinstance(given[0], (list, tuple)) else []
        few(sum(len(p) + len(owner) for p in parts if isinstance(p, str)))
    elif name == "replace" and len(given) > 1 and isinstance(given[1], str):
        few((len(owner) + 1) * (len(given[1]) + 1))
