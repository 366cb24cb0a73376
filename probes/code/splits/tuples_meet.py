"""Parts of one sequence in scripts that are cut in one statement and share an element."""

from __future__ import annotations

import ast
from types import EllipsisType

from ...readers._tree import unparse
from ...registry import Finding
from ...scripts.syntax import Script
from ..shared.checks import at, ok
from ..shared.nodes import whole_number
from ..shared.sides import side

_LONG = 40


def parts_share_an_element(source: Script) -> Finding | None:
    """`train[u], valid[u], test[u] = seq[:-1], seq[-2], seq[-1]`: the validation item is trained on."""
    seen: ast.AST | None = None
    for node in source.of(ast.Assign):
        target, value = node.targets[0], node.value
        if not isinstance(target, ast.Tuple) or not isinstance(value, ast.Tuple):
            continue
        if len(target.elts) != len(value.elts) or len({_base(v) for v in value.elts} - {""}) != 1:
            continue
        rows: dict[bool, set[int]] = {}
        for name, cut in zip(target.elts, value.elts, strict=True):
            learns, taken = side(unparse(name).split("[")[0]), _rows(cut)
            if learns is not None and taken is not None:
                rows.setdefault(learns, set()).update(taken)
        if len(rows) < 2:
            continue
        seen = seen or node
        if rows[True] & rows[False]:
            return at(source, node, "what is held out is among what is trained on")
    return ok(source, seen, "the parts share nothing") if seen is not None else None


def _base(cut: ast.expr) -> str:
    return unparse(cut.value) if isinstance(cut, ast.Subscript) else ""


def _rows(cut: ast.expr) -> set[int] | None:
    """The places of a list of many that `seq[:-2]` or `seq[-1]` takes; None where a name decides."""
    if not isinstance(cut, ast.Subscript):
        return None
    places = list(range(_LONG))
    if isinstance(cut.slice, ast.Slice):
        low, high = _end(cut.slice.lower), _end(cut.slice.upper)
        if low is ... or high is ... or cut.slice.step is not None:
            return None
        return set(places[low:high])
    at_ = whole_number(cut.slice)
    return {places[at_]} if at_ is not None and -_LONG <= at_ < _LONG else None


def _end(node: ast.expr | None) -> int | EllipsisType | None:
    """Where a slice ends: None at the end of the list, `...` where a name decides."""
    found = whole_number(node) if node is not None else None
    return ... if node is not None and found is None else found
