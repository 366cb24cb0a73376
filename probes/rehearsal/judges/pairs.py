"""Losses over pairs: answers held against answers, and which of them is to be the right one.

Scores are products of answers with answers. Where both sides of the product are one and the same, each answer
is scored against itself as well, which has to be masked, and the right one stands half a batch away; where
they are two, the right one stands at the answer's own place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..journal import Backward
from ..machine import Machine
from ..meaning import ANSWER, Meaning, all_parts, key_of, parts_of
from ..values import Tensor, Unknown, Way
from .verdict import Verdict

_LONGEST = 10_000
_ENTROPIES = (
    *("cross_entropy", "CrossEntropyLoss", "softmax_cross_entropy_with_integer_labels"),
    *("sparse_softmax_cross_entropy_with_logits", "SparseCategoricalCrossentropy"),
)
_PRODUCTS = ("matmul", "mm", "dot", "einsum", "bmm", "inner")
_TURNS = ("t", "T", "transpose", "permute", "swapaxes", "mT")
_KEEPS = (
    *(
        "div",
        "mul",
        "sub",
        "add",
        "masked_fill",
        "fill_diagonal",
        "to",
        "float",
        "detach",
        "contiguous",
        "where",
    ),
    *("clamp", "fill_diagonal_", "exp", "expand"),
)


@dataclass(eq=False)
class Pairs:
    """Scores of answers against answers in a loss. `turned`: rows and columns are exchanged an odd time."""

    event: Backward
    call: Tensor
    scores: Tensor
    product: Tensor
    sides: tuple[Any, Any]
    labels: Any
    turned: bool
    way: tuple[str, ...]

    @property
    def one(self) -> bool:
        """Both sides are the same answers."""
        return bool(key_of(self.sides[0]) == key_of(self.sides[1]))


def _unturned(value: Any) -> tuple[Any, int]:
    """A value without turns of its axes, and how many they were."""
    turns = 0
    while isinstance(value, Tensor) and value.how is not None and value.how.name in _TURNS:
        value, turns = value.how.given[0], turns + 1
    return value, turns


def _product(scores: Any) -> tuple[Tensor, bool, tuple[str, ...]] | None:
    """The product that scores are made of, whether it was turned, and what was done to it."""
    turned = False
    way: list[str] = []
    for _ in range(30):
        if not isinstance(scores, Tensor) or scores.how is None:
            return None
        how: Way = scores.how
        if how.name in _PRODUCTS and len([g for g in how.given if isinstance(g, Tensor)]) == 2:
            return scores, turned, tuple(way)
        if how.name in _TURNS:
            turned = not turned
        elif how.name not in _KEEPS:
            return None
        way.append(how.name)
        inner = [g for g in how.given if isinstance(g, Tensor) and _asks(g)]
        if len(inner) != 1:
            return None
        scores = inner[0]
    return None


def _asks(value: Tensor) -> bool:
    return any(t.how is not None and t.how.name == ANSWER for t in parts_of(value))


def pairs_of(machine: Machine) -> Iterator[Pairs]:
    """All losses over pairs of answers."""
    for event in {e.node: e for e in machine.journal.of(Backward)}.values():
        for call in parts_of(event.loss):
            how = call.how
            if how is None or how.name not in _ENTROPIES or len(how.given) < 2:
                continue
            places = (1, 0) if how.name.startswith("Sparse") else (0, 1)
            scores, labels = (how.given[p] for p in places)
            found = _product(scores) if isinstance(scores, Tensor) else None
            if found is None or not isinstance(labels, Tensor):
                continue
            product, turned, way = found
            both = [g for g in product.how.given if isinstance(g, Tensor)] if product.how is not None else []
            sides = tuple(_unturned(b)[0] for b in both)
            if len(sides) == 2 and all(_asks(s) for s in sides):
                yield Pairs(event, call, scores, product, (sides[0], sides[1]), labels, turned, way)


def _counts(value: Any) -> list[Any] | None:
    """Labels as parts that count upwards: each an offset, None where a part is something else."""
    how = getattr(value, "how", None)
    number = getattr(value, "number", None)
    if isinstance(number, np.ndarray) and number.ndim == 1 and 1 < len(number) < _LONGEST:
        if number.min() == number.max():
            return ["same"]
        starts = [0, *(np.flatnonzero(np.diff(number) != 1) + 1)]
        return [0 if number[s] == 0 else "moved" for s in starts] if len(starts) < 3 else None
    for _ in range(12):
        if how is None:
            return None
        if how.name in ("cat", "concat", "concatenate", "hstack"):
            parts = how.given[0] if isinstance(how.given[0], (list, tuple)) else how.given
            inner = [_counts(p) for p in parts if isinstance(p, Tensor)]
            return [x for i in inner for x in (i or [None])]
        if how.name in ("arange", "range"):
            first = how.given[0] if len(how.given) > 1 else 0
            return [
                0 if first == 0 else key_of(first) if isinstance(first, (Tensor, Unknown)) else repr(first)
            ]
        if how.name in ("add", "sub") and len(how.given) == 2:
            inner_counts = [c for g in how.given if isinstance(g, Tensor) and (c := _counts(g))]
            return ["moved"] if inner_counts else None
        if how.name in ("zeros", "zeros_like", "full", "ones"):
            return ["same"]
        value = next((g for g in how.given if isinstance(g, Tensor)), None)
        how = getattr(value, "how", None)
    return None


def labels_of_pairs(machine: Machine) -> Iterator[Verdict]:
    """The right answer of each pair is taken to stand at another place than it does."""
    for one in pairs_of(machine):
        counts = _counts(one.labels)
        if not counts or None in counts or "cat" in one.way:
            continue
        if counts == ["same"]:
            why = "the same place is right for every row, and the match of each stands at its own place"
        elif one.one and counts == [0]:
            why = "each answer is to be most like itself: its match stands half the rows away"
        elif one.one and len(counts) == 2 and counts[0] == counts[1] == 0:
            why = "the first half is to be most like itself: its match stands half the rows away"
        else:
            continue
        yield Verdict("pairs-labels", one.event.node, why)
        return


def itself_not_masked(machine: Machine) -> Iterator[Verdict]:
    """Answers are scored against themselves, and what should take these scores away raises them."""
    for one in pairs_of(machine):
        if not one.one:
            continue
        eyes = [
            t for t in parts_of(one.scores) if t.how is not None and t.how.name in ("eye", "identity", "diag")
        ]
        eyes += [t for t in parts_of(one.scores) if t.done[-1:] == ("eye",) and t.how is None]
        made = Meaning(one.scores)
        raised = [t for t in eyes if key_of(t) in made.leaves and made.slope(key_of(t)) > 1.0]
        if raised:
            why = "the score of each answer against itself is raised, where it should be taken away"
            yield Verdict("pairs-itself", one.event.node, why)
            return


_CUTS = ("chunk", "split", "tensor_split", "unbind")


def one_view_alone(machine: Machine) -> Iterator[Verdict]:
    """Both sides of the pairs are the very same answer, or the same samples asked of a net without chance."""
    for one in pairs_of(machine):
        found = [_halves(one.sides[0])] if one.one else [list(one.sides)]
        for halves in found:
            if len(halves) != 2:
                continue
            first, second = (_answer(h) for h in halves)
            if (
                first is None
                or second is None
                or any(d.startswith(_CUTS) for h in halves for d in h.done[-8:])
            ):
                continue  # parts of one answer to both views
            same = key_of(first) == key_of(second)
            asks = [h.how.given[0] for h in (first, second) if h.how is not None]
            asked = [[key_of(g) for g in a.given if isinstance(g, Tensor)] for a in asks]
            plain = not any(
                "dropout" in (n.layer or "").lower() or n.opaque for a in asks for n in a.net.nets()
            )
            if same or (asked[0] and asked[0] == asked[1] and asks[0].net is asks[1].net and plain):
                why = "both sides of each pair are the same view of a sample: there is nothing to tell apart"
                yield Verdict("pairs-one-view", one.event.node, why)
                return


def _halves(value: Any) -> list[Any]:
    """The parts that an array was put together of."""
    for _ in range(10):
        how = getattr(value, "how", None)
        if how is None:
            return []
        if how.name in ("cat", "concat", "concatenate"):
            parts = how.given[0] if isinstance(how.given[0], (list, tuple)) else how.given
            return [p for p in parts if isinstance(p, Tensor)]
        value = next((g for g in how.given if isinstance(g, Tensor)), None)
    return []


def _answer(value: Any) -> Tensor | None:
    """The one answer that a value is made of."""
    found = {key_of(t): t for t in parts_of(value) if t.how is not None and t.how.name == ANSWER}
    return next(iter(found.values())) if len(found) == 1 else None


def scaled_on_one_side(machine: Machine) -> Iterator[Verdict]:
    """One side of the products is scaled to length one, and the other is not."""
    for one in pairs_of(machine):
        if one.one:
            continue
        scaled = [_scaled(s) for s in one.sides]
        if scaled in ([True, False], [False, True]):
            why = "one side of the pairs is scaled to length one, and the other is not"
            yield Verdict("pairs-scaled", one.event.node, why)
            return


def _scaled(value: Any) -> bool | None:
    """Whether a value was scaled to length one, in a network or after it; None where that is not known."""
    known = False
    for one in all_parts(value):
        how = one.how
        if how is None:
            continue
        if how.name in ("normalize", "l2_normalize", "Normalize", "UnitNormalization", "norm"):
            return True
        known = known or how.name == ANSWER
        if how.name == ANSWER and not isinstance(how.given[2], Tensor):
            return None
        if how.name == ANSWER and (how.given[0].opaque or how.given[2].how is None):
            return None
    return False if known else None


def same_way_twice(machine: Machine) -> Iterator[Verdict]:
    """Two terms of one loss hold the same scores against the same labels: one should look the other way."""
    found = list(pairs_of(machine))
    for place, one in enumerate(found):
        for other in found[place + 1 :]:
            if one.event is not other.event or one.call is other.call or one.one:
                continue
            same = key_of(one.product) == key_of(other.product) and one.turned == other.turned
            if same and key_of(one.labels) == key_of(other.labels) and one.way == other.way:
                why = "both terms look for the match along the same axis: one of them should be turned"
                yield Verdict("pairs-twice", one.event.node, why)
                return
