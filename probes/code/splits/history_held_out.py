"""Histories of scripts whose last elements are held out, and that training or the input still holds."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...readers.script import last_name
from ...registry import Finding
from ...scripts.syntax import Script
from ..shared.checks import at, ok
from ..shared.nodes import whole_number
from ..shared.sides import side


def held_out_of_history(source: Script) -> Finding | None:
    """`train.append(seq[:-1])` beside `val.append((seq[:-2], seq[-2]))`: what is to be told is trained on.

    Also `(seq[:-1], seq[-2])`: the input holds the answer. Told by numbers from the end alone.
    """
    seen: ast.AST | None = None
    for call, name, learns, parts in _put_down(source):
        inputs = [p for p in parts if isinstance(p, tuple)]
        for answer in (p for p in parts if isinstance(p, int)):
            seen = seen or call
            if any(_holds(cut, answer) for cut in inputs):
                return at(source, call, "the input holds the element that is to be told")
            if learns is not False:
                continue
            for other, whose, trained, theirs in _put_down(source):
                same = whose == name and source.loops_around(other)[:1] == source.loops_around(call)[:1]
                if trained is True and same:
                    if any(_holds(p, answer) if isinstance(p, tuple) else p == answer for p in theirs):
                        return at(source, other, "training holds the element that is held out")
    return ok(source, seen, "what is held out comes behind what is trained on") if seen is not None else None


_Part = int | tuple[int | None]


def _put_down(source: Script) -> Iterator[tuple[ast.Call, str, bool | None, list[_Part]]]:
    """`val.append((seq[:-2], seq[-2]))` in a loop: of which history, for which side, which parts."""
    for call in source.named("append"):
        if not isinstance(call.func, ast.Attribute) or len(call.args) != 1 or not source.loops_around(call):
            continue
        elts = call.args[0].elts if isinstance(call.args[0], ast.Tuple) else [call.args[0]]
        cuts = [e for e in elts if isinstance(e, ast.Subscript) and isinstance(e.value, ast.Name)]
        whole = {e.value.id for e in cuts if isinstance(e.value, ast.Name)}
        plain = [e.id for e in elts if isinstance(e, ast.Name)]
        parts = [p for e in cuts if (p := _part(e)) is not None]
        told = side(last_name(call.func.value))
        if len(whole) == 1 and len(parts) == len(cuts):
            yield call, whole.pop(), told, parts
        elif not cuts and len(plain) == len(elts) == 1:
            yield call, plain[0], told, [(None,)]


def _part(node: ast.Subscript) -> _Part | None:
    """`seq[-2]`: -2; `seq[:-1]`: (-1,); `seq[:]`: (None,)."""
    if isinstance(node.slice, ast.Slice):
        if node.slice.lower is not None or node.slice.step is not None:
            return None
        if node.slice.upper is None:
            return (None,)
        end = _from_end(node.slice.upper)
        return (end,) if end is not None else None
    return _from_end(node.slice)


def _from_end(node: ast.expr) -> int | None:
    place = whole_number(node)
    return place if place is not None and place < 0 else None


def _holds(cut: _Part, place: int) -> bool:
    """The history up to an end holds the element at a place from the end."""
    return isinstance(cut, tuple) and (cut[0] is None or place < cut[0])
