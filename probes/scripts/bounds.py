"""What may be worked out of a stranger's program: operations whose outcome is small.

A script may hold `10**10**8`, `np.zeros((10**6, 10**6))` or a list that doubles in each round. Those who work
its numbers out ask here first, and take what would be large as not known.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

MOST_BITS = 1_000  # of a whole number: below what a float holds
MOST_ITEMS = 10_000  # characters of a text, items of a list
MOST_ENTRIES = 100_000  # of lists in lists
MOST_NUMBERS = 1_000_000  # of an array
_WIDTH = re.compile(r"\d{4}|\*")
_DEEP = 40  # levels
_HOLDERS = (list, tuple, dict, set, frozenset)
_SEQUENCES = (str, bytes, list, tuple)
_NUMBERS = (bool, int, float, np.generic, np.ndarray)


def is_small(operator: type[ast.operator], left: Any, right: Any) -> bool:
    """Whether two plain values, lists or arrays under an operator give something small."""
    if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):
        both = isinstance(left, _NUMBERS) and isinstance(right, _NUMBERS)
        return not both or _is_small_array(operator, np.asarray(left), np.asarray(right))
    if isinstance(left, int) and isinstance(right, int):
        return _bits(operator, left, right) <= MOST_BITS
    if operator is ast.Add and isinstance(left, _SEQUENCES) and isinstance(right, _SEQUENCES):
        return len(left) + len(right) <= MOST_ITEMS
    if operator is ast.Mult:
        for one, times in ((left, right), (right, left)):
            if isinstance(one, _SEQUENCES) and isinstance(times, int):
                return len(one) * times <= MOST_ITEMS
    if operator is ast.Mod and isinstance(left, (str, bytes)):
        text = left if isinstance(left, str) else left.decode("latin-1")
        return len(text) <= MOST_ITEMS and not _WIDTH.search(text)
    return True


def is_small_nest(value: Any) -> bool:
    """Whether a value that holds others has few in all: with `x = (x, x)` there are twice as many."""
    return _entries(value, {}, 0) <= MOST_ENTRIES


def _entries(value: Any, known: dict[int, float], depth: int) -> float:
    if not isinstance(value, _HOLDERS):
        return 1.0
    if depth > _DEEP:
        return math.inf
    if id(value) not in known:
        parts = value.values() if isinstance(value, dict) else value
        known[id(value)] = 1.0 + sum(_entries(p, known, depth + 1) for p in parts)
    return known[id(value)]


def is_small_shape(sizes: Iterable[float]) -> bool:
    """Whether an array of these sizes is small."""
    return math.prod(max(float(s), 0.0) for s in sizes) <= MOST_NUMBERS


def counted(given: Sequence[float]) -> float:
    """How many numbers `arange(*given)` gives.

    Raises ZeroDivisionError.
    """
    start, stop = (0.0, given[0]) if len(given) == 1 else given[:2]
    return max(0.0, (stop - start) / (given[2] if len(given) > 2 else 1.0))


def _bits(operator: type[ast.operator], left: int, right: int) -> float:
    one, other = int(left).bit_length(), int(right).bit_length()
    if operator is ast.Mult:
        return one + other
    if operator is ast.Pow:
        return float(one) * right if right > 0 else one
    if operator is ast.LShift:
        return float(one) + right
    return max(one, other)


def _is_small_array(operator: type[ast.operator], left: np.ndarray, right: np.ndarray) -> bool:
    if operator is ast.MatMult:
        last = right.shape[-1] if right.ndim > 1 else 1
        return is_small_shape((left.size, last)) and is_small_shape((right.size,))
    try:
        return is_small_shape(np.broadcast_shapes(left.shape, right.shape))
    except ValueError:
        return True  # they do not fit: the operator says so
