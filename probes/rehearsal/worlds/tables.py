"""Tables that are made of others in a rehearsal."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..libraries import Call, function
from ..values import Frame, Series, Tensor, Unknown
from .frames import FRAMES, same


@function("concat", of=FRAMES)
def _concat(call: Call) -> Any:
    from .tensors import joined

    parts = [
        p
        for p in call.machine.items_known(call.given[0] if call.given else None) or []
        if isinstance(p, Tensor)
    ]
    if not parts:
        return Unknown("concat")
    if call.named.get("axis") in (1, "columns") or call.named.get("how") == "horizontal":
        return call.machine.joined_tensors("concat", parts)
    if len(parts) == 1 or not all(isinstance(p, Frame) for p in parts):
        return parts[0] if len(parts) == 1 else joined(call.machine, parts, "concat")
    first: Frame = parts[0]  # type: ignore[assignment]
    made = same(first)
    if len({p.table for p in parts}) == 1 and all(p.rows is not None for p in parts):
        made.rows = np.concatenate([p.rows for p in parts if p.rows is not None])
        made.by = frozenset(b for p in parts for b in p.by)
        made.vague = any(p.vague for p in parts)
        made.made = {}
        labels = [p.labels for p in parts if isinstance(p, Frame) and p.labels is not None]
        made.labels = np.concatenate(labels) if len(labels) == len(parts) else None
        if call.named.get("ignore_index") is True:
            made.labels = np.arange(len(made.rows))
        return made
    number = call.machine.table("rows of " + ",".join(str(p.table) for p in parts))
    made.rows, made.table = np.arange(call.machine.tables[number][1]), number
    made.made, made.labels = {}, made.rows.copy()
    made.held = frozenset(h for p in parts for h in p.held)
    made.vague = any(p.vague for p in parts)
    return made


@function("get_dummies", "to_numeric", "to_datetime", "cut", "qcut", "Series", "DataFrame", of=FRAMES)
def _made_of(call: Call) -> Any:
    held = call.given[0] if call.given else None
    if isinstance(held, Frame):
        made = same(held)
        made.done = (*made.done[-39:], call.callee.last)
        return made
    if isinstance(held, Series) and call.callee.last in ("to_numeric", "to_datetime", "Series"):
        return held
    if isinstance(held, Tensor):
        return held.then(call.callee.last)
    return NotImplemented
