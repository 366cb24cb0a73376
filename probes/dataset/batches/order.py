"""Whether the two sides hold the same samples in another order; labels must follow the inputs."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...run import Floats

MOST_ROWS = 512  # that are matched by correlation
POINTS = 256  # of a row that are correlated
NEAR = 0.95
Order = np.ndarray[tuple[int], np.dtype[np.intp]]


def keys(x: Floats, scale: float) -> list[int]:
    """A number for each row, equal where rows are equal to five figures of the largest number."""
    return [hash(np.rint(r / scale * 1e5).astype(np.int64).tobytes()) for r in np.nan_to_num(x)]


def exact(x: Floats, y: Floats) -> tuple[Order | None, float]:
    """The order `o` with x[o] equal to y, None where none is or nothing moved; and the share that is met."""
    if x.shape[1:] != y.shape[1:] or len(x) < 2 or x.ndim < 2:
        return None, 0.0
    scale = float(np.abs(np.nan_to_num(y)).max()) or 1.0
    mine, theirs = keys(x, scale), keys(y, scale)
    met = len(set(mine) & set(theirs)) / len(set(theirs))
    if len(set(mine)) < 2 or len(mine) != len(theirs) or sorted(mine) != sorted(theirs) or mine == theirs:
        return None, met
    at: dict[int, deque[int]] = defaultdict(deque)
    for i, key in enumerate(mine):
        at[key].append(i)
    return np.array([at[k].popleft() for k in theirs]), met


def near(x: Floats, y: Floats) -> Order | None:
    """As `exact`, where values were scaled as well: every row has one that it goes with by correlation."""
    if x.shape != y.shape or not 4 <= len(x) <= MOST_ROWS or x.ndim < 2 or x[0].size < 16:
        return None
    step = max(1, x[0].size // POINTS)
    a, b = (_unit(np.nan_to_num(s.reshape(len(s), -1)[:, ::step])) for s in (x, y))
    both = a @ b.T
    best = both.argmax(axis=0)
    plain = float(both.diagonal().mean())
    if len(set(best.tolist())) < len(best) or plain >= NEAR or (both.max(axis=0) < NEAR).any():
        return None
    return None if (best == np.arange(len(best))).all() else best


def _unit(x: Floats) -> Floats:
    x = x - x.mean(axis=1, keepdims=True)
    norm = np.linalg.norm(x, axis=1, keepdims=True)
    return x / np.where(norm > 0, norm, 1.0)


def moved(order: Order) -> int:
    """How many samples stand elsewhere."""
    return int((order != np.arange(len(order))).sum())


def same_rows(x: Any, y: Any) -> bool:
    """Whether both hold the same rows, each as often."""
    if x.shape != y.shape:
        return False
    a, b = (sorted(map(tuple, s.reshape(len(s), -1).tolist())) for s in (x, y))
    return bool(a == b)


def turn(x: Sequence[float], y: Sequence[float], most: int = 8) -> int:
    """By how many places x stands further down than y, 0 where that explains less than nine tenths."""
    a, b = np.asarray(x), np.asarray(y)
    for by in range(1, min(most, len(a) // 4) + 1):
        for k in (by, -by):
            p, q = (a[k:], b[:-k]) if k > 0 else (a[:k], b[-k:])
            if float(np.mean(p == q)) >= 0.9:
                return k
    return 0
