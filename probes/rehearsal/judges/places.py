"""Likelihoods of sequences that are taken out token by token: which place's scores name which token.

`log_softmax(logits[:, :-1]).gather(2, ids[:, 1:, None])`, times a mask that is cut as the tokens are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ..journal import Asked, Backward
from ..machine import Machine
from ..meaning import ANSWER, parts_of
from ..values import Tensor, Unknown
from .verdict import Verdict

_NEXT = re.compile(r"CausalLM|LMHeadModel|GPT\w*LM")
_CHOOSES = ("gather", "take_along_dim", "take_along_axis")
_KEEPS = frozenset(
    (
        *("unsqueeze", "squeeze", "to", "float", "long", "contiguous", "clone", "detach", "int", "bool"),
        *("log_softmax", "softmax", "div", "expand_dims", "cuda", "npu", "type_as", "masked_fill", "clamp"),
    )
)
Cut = tuple[int, int]


def _step(value: Any) -> tuple[str, Any, Any] | None:
    """What was done to a value last, what it was done to, and with which index."""
    way = value.how if isinstance(value, Tensor) else None
    if isinstance(value, Unknown):
        way = value.how or value.source
    if way is None or not way.given:
        return None
    name, first = way.name.rpartition(".")[2], way.given[0]
    index = way.given[1] if len(way.given) > 1 else None
    inner = first.source if isinstance(first, Unknown) and way.name != "part" else None
    if inner is not None and inner.name == "part" and inner.given[1:] == (name,):
        return name, inner.given[0], index  # `ids.unsqueeze(2)` of what is not known
    return name, first, index


def _root(value: Any) -> tuple[Any, Cut | None]:
    """What a value is cut out of, and how much of its second axis is left out at both ends."""
    low, high = 0, 0
    for _ in range(30):
        if isinstance(value, Tensor) and value.how is not None and value.how.name == ANSWER:
            break
        step = _step(value)
        if step is None:
            break
        name, first, index = step
        if name == "part":
            if isinstance(index, str):
                break
            cut = _cut(index)
            if cut is None:
                return value, None
            low, high = low + cut[0], high + cut[1]
        elif name not in _KEEPS:
            break
        value = first
    return value, (low, high)


def _cut(index: Any) -> Cut | None:
    """`[:, 1:]`, `[..., :-1, :]`, `[:, :-1]`: how many places are left out at either end; None of another."""
    parts = [p for p in (index if isinstance(index, tuple) else (index,)) if p is not None]
    parts = [p for p in parts if p is not Ellipsis]
    ends = [(p.start or 0, p.stop) for p in parts if isinstance(p, slice) and p.step in (None, 1)]
    if len(ends) != len(parts) or any(not isinstance(v, (int, type(None))) for e in ends for v in e):
        return None
    cut = [e for e in ends if e != (0, None)]
    if not cut:
        return 0, 0
    low, stop = cut[0]
    return (low, -(stop or 0)) if len(cut) == 1 and low >= 0 and (stop or 0) <= 0 else None


def tokens_apart(machine: Machine) -> Iterator[Verdict]:
    """Each token is named by its own place's scores, or the mask is cut otherwise than the tokens."""
    for event in {e.node: e for e in machine.journal.of(Backward)}.values():
        found = list(parts_of(event.loss))
        for one in found:
            how = one.how
            if how is None or how.name not in _CHOOSES or len(how.given) < 3:
                continue
            scores, lost = _root(how.given[0])
            tokens, cut = _root(how.given[2])
            asked = scores.how.given[0] if isinstance(scores, Tensor) and scores.how is not None else None
            if not isinstance(asked, Asked) or lost is None or cut is None:
                continue
            whole = any(_root(g) == (tokens, (0, 0)) for g in asked.given)
            if whole and cut[0] - lost[0] == 0 and _NEXT.search(asked.net.layer or ""):
                why = "each place's scores are asked for the token that stands there: the next one is meant"
                yield Verdict("tokens-unshifted", event.node, why)
                return
            masks = [m for t in found for m in _masks(t, one)]
            cuts = [c for m in masks if (c := _root(m)[1]) is not None]
            if cut != (0, 0) and cuts and all(sum(c) == sum(cut) and c != cut for c in cuts):
                why = "the mask is cut at other ends than the tokens: it counts the places beside those meant"
                yield Verdict("mask-apart", event.node, why)
                return


def _masks(product: Tensor, chosen: Tensor) -> list[Any]:
    """What the likelihoods that were taken out are multiplied by."""
    how = product.how
    if how is None or how.name not in ("mul", "multiply") or len(how.given) != 2:
        return []
    for place, one in enumerate(how.given):
        inner = one
        for _ in range(6):
            if inner is chosen:
                other = how.given[1 - place]
                return [other] if isinstance(other, (Tensor, Unknown)) else []
            step = _step(inner)
            if step is None or step[0] not in (*_KEEPS, "neg"):
                break
            inner = step[1]
    return []
