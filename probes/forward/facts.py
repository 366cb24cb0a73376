"""What the answers of a network tell of it: what they depend on, and what they can be."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from ..by_hand.sizes import Unfit
from ..scripts.syntax import Script
from .asked import ROWS, Made, Question, questions

_TOUCHED = 1e-9  # of the largest answer: sums in another order stay below it
_PRODUCTS = 2e9  # that all questions to one network may take
_PLACES = 8  # places along an axis that are changed one by one


@dataclass(frozen=True)
class Facts:
    """Of one network. All shares are of the largest answer.

    `meet`: how far the answer to one sample moves with another sample. `deaf`: the inputs (by place) that no
    answer moves with. `effects`: for an input and its second axis, for each answer: which places of it
    (rows of the table) move with which places of the input (columns); one row of an answer without places.
    `orderless`: inputs whose inner places change nothing by changing places, though attention looks at each
    of them.
    `low`, `high`: the bounds of each answer over what was asked; `shares`: whether it sums to one along its
    classes.
    """

    question: Question
    meet: float
    deaf: tuple[int, ...]
    effects: dict[int, list[np.ndarray]] = field(default_factory=dict)
    orderless: frozenset[int] = frozenset()
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    shares: tuple[bool, ...] = ()


@lru_cache(maxsize=16)
def facts(source: Script) -> tuple[Facts, ...]:
    """The facts of all networks of a program that can be worked out."""
    found = (facts_of(q) for q in questions(source))
    return tuple(f for f in found if f is not None)


def facts_of(question: Question) -> Facts | None:
    """The facts of one network; None where it answers otherwise when it is asked again."""
    whole, other = question.drawn(), question.drawn(12)
    asks = 4 + len(whole) + sum(i.shape[1] + 2 for i in whole if isinstance(i, np.ndarray) and _is_tokens(i))
    if asks * question.cost > _PRODUCTS:
        return None
    try:
        again = question.ask([_copy(i) for i in whole])
        second = question.ask(other)
    except Unfit:
        return None
    if not same(question.answers, again):
        return None
    places = [i for i, one in enumerate(whole) if isinstance(one, np.ndarray) and moves(question.inputs[i])]
    meet = 0.0
    try:
        mixed = [
            first_row(a, b) if i in places else a for i, (a, b) in enumerate(zip(whole, other, strict=True))
        ]
        moved = question.ask(mixed)
        for one, two in zip(question.answers, moved, strict=True):
            if one.shape != two.shape or one.shape[:1] != (ROWS,):
                continue
            meet = max(meet, apart(one[1:], two[1:], one))
        packed = question.network.room_left.packed
        deaf = tuple(i for i in places if not packed and not _hears(question, whole, other, i))
        effects = {i: _effects(question, whole, other, i) for i in places if _is_tokens(whole[i])}
        attended = question.network.room_left.attended
        orderless = frozenset(
            i for i in effects if attended and _is_orderless(question, whole, effects[i], i)
        )
    except Unfit:
        return None
    both = [
        np.concatenate([a.reshape(-1), b.reshape(-1)]) for a, b in zip(question.answers, second, strict=True)
    ]
    return Facts(
        question,
        meet,
        deaf,
        effects,
        orderless,
        tuple(float(b.min()) for b in both),
        tuple(float(b.max()) for b in both),
        tuple(is_shares(a) for a in question.answers),
    )


def _is_tokens(one: np.ndarray) -> bool:
    """Whether an input is rows of few whole numbers."""
    return one.dtype.kind in "iu" and one.ndim == 2 and 3 <= one.shape[1] <= _PLACES


def moves(made: Any) -> bool:
    """Whether an input holds data: no mask, no lengths."""
    return isinstance(made, Made) and made.kind in ("floats", "ints")


def same(one: list[np.ndarray], two: list[np.ndarray]) -> bool:
    """Whether two answers are alike."""
    return len(one) == len(two) and all(
        a.shape == b.shape and apart(a, b, a) <= _TOUCHED for a, b in zip(one, two, strict=True)
    )


def apart(a: np.ndarray, b: np.ndarray, whole: np.ndarray) -> float:
    """The largest difference of two answers, as a share of the largest number of a whole one."""
    return float(np.abs(a.astype(float) - b).max(initial=0.0) / (np.abs(whole).max(initial=0.0) + 1e-12))


def _copy(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value


def first_row(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A drawing with the first sample of another one."""
    made = a.copy()
    made[0] = _other(a, b)[0]
    return made


def _other(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The second drawing, with no number of the first one."""
    return np.where(a == b, a % 3 + 1, b) if a.dtype.kind in "iu" else b


def _hears(question: Question, whole: list[Any], other: list[Any], at: int) -> bool:
    moved = question.ask(
        [_other(a, b) if i == at else _copy(a) for i, (a, b) in enumerate(zip(whole, other, strict=True))]
    )
    return not same(question.answers, moved)


def _effects(question: Question, whole: list[Any], other: list[Any], at: int) -> list[np.ndarray]:
    """For each answer: which of its places move with which places along the second axis of an input."""
    one, two = whole[at], _other(whole[at], other[at])
    count = one.shape[1]
    tables: list[list[np.ndarray]] = [[] for _ in question.answers]
    for place in range(count):
        made = one.copy()
        made[:, place] = two[:, place]
        moved = question.ask([made if i == at else _copy(v) for i, v in enumerate(whole)])
        for table, a, b in zip(tables, question.answers, moved, strict=True):
            if a.shape == b.shape and a.ndim > 1 and a.shape[1] == count:
                off = np.abs(a.astype(float) - b).reshape(len(a), count, -1).max(axis=(0, 2))
                table.append(off > _TOUCHED * (np.abs(a).max() + 1e-12))
            else:
                table.append(np.array([apart(a, b, a) > _TOUCHED if a.shape == b.shape else True]))
    return [np.stack(t, axis=1) for t in tables]


def _is_orderless(question: Question, whole: list[Any], effects: list[np.ndarray], at: int) -> bool:
    """Whether tokens in other places change nothing of the answers that look at all of them."""
    one = whole[at]
    if one.shape[1] < 5 or question.answers[0].ndim > 3:
        return False
    if not all(bool(e[-1, 1]) and bool(e[-1, 3]) for e in effects):
        return False
    made = one.copy()
    made[:, 1], made[:, 3] = 1, 2
    turned = made.copy()
    turned[:, 1], turned[:, 3] = 2, 1
    asked = [question.ask([v if i == at else _copy(w) for i, w in enumerate(whole)]) for v in (made, turned)]
    count = one.shape[1]
    for a, b in zip(*asked, strict=True):
        places = a.ndim > 1 and a.shape[1] == count
        if a.shape != b.shape or apart(a[:, -1] if places else a, b[:, -1] if places else b, a) > _TOUCHED:
            return False
    return True


def is_shares(a: np.ndarray) -> bool:
    """Whether numbers are not below zero, and sum to one along the last axis or the one behind the rows."""
    if a.ndim < 2 or a.min() < -1e-9:
        return False
    return any(
        a.shape[axis] > 1 and np.allclose(a.sum(axis=axis), 1.0, atol=1e-6) for axis in {1, a.ndim - 1}
    )
