"""Axes by their names, as einops writes them: `"b (h w) c -> b c h w"`."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from ..by_hand.sizes import Unfit
from .tensors import Tensor

Names = dict[str, Any]


def _parts(side: str) -> list[list[str]]:
    found: list[list[str]] = []
    for group in re.findall(r"\([^)]*\)|\S+", side):
        found.append(group.strip("()").split())
    return found


def _sizes(x: Tensor, left: list[list[str]], given: Names) -> dict[str, int]:
    known = {k: int(v) for k, v in given.items()}
    if len(left) != x.a.ndim:
        raise Unfit
    for group, size in zip(left, x.a.shape, strict=True):
        unknown = [n for n in group if not n.isdigit() and n not in known]
        product = math.prod(int(n) if n.isdigit() else known.get(n, 1) for n in group)
        if len(unknown) > 1 or size % max(product, 1):
            raise Unfit
        if unknown:
            known[unknown[0]] = size // product
        elif product != size:
            raise Unfit
    return known


def _flat(groups: list[list[str]]) -> list[str]:
    return [n for group in groups for n in group if n != "1"]


def rearranged(x: Tensor, how: str, **given: Any) -> Tensor:
    """`einops.rearrange`."""
    left, right = (_parts(s) for s in how.split("->"))
    if any("..." in n or "…" in n for g in (*left, *right) for n in g):
        raise Unfit
    known = _sizes(x, left, given)
    before, after = _flat(left), _flat(right)
    if sorted(before) != sorted(after):
        raise Unfit
    held = x.a.reshape([known[n] for n in before]).transpose([before.index(n) for n in after])
    return x.like(held.reshape([math.prod(known.get(n, 1) for n in group) for group in right]))


def spread(x: Tensor, how: str, **given: Any) -> Tensor:
    """`einops.repeat`."""
    left, right = (_parts(s) for s in how.split("->"))
    known = _sizes(x, left, given)
    before, after = _flat(left), _flat(right)
    x.room.take(math.prod(known.get(n, 1) for n in after))
    held = x.a.reshape([known[n] for n in before])
    new = [n for n in after if n not in before]
    held = np.broadcast_to(
        held.reshape(*held.shape, *[1] * len(new)), (*held.shape, *(known[n] for n in new))
    )
    order = [*before, *new]
    held = held.transpose([order.index(n) for n in after])
    return x.like(held.reshape([math.prod(known.get(n, 1) for n in group) for group in right]))


def gathered_up(x: Tensor, how: str, kind: str, **given: Any) -> Tensor:
    """`einops.reduce`."""
    left, right = (_parts(s) for s in how.split("->"))
    known = _sizes(x, left, given)
    before, after = _flat(left), _flat(right)
    held = x.a.reshape([known[n] for n in before])
    gone = tuple(i for i, n in enumerate(before) if n not in after)
    ways: dict[str, Any] = {"mean": np.mean, "sum": np.sum, "max": np.max, "min": np.min}
    held = ways[kind](held, axis=gone)
    rest = [n for n in before if n in after]
    held = held.transpose([rest.index(n) for n in after])
    return x.like(held.reshape([math.prod(known.get(n, 1) for n in group) for group in right]))
