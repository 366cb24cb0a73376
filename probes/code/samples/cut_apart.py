"""A picture and its mask in scripts that are cut at other places, or turned by another matrix."""

from __future__ import annotations

import ast
from itertools import combinations

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.syntax import Script
from ..shared.checks import at, ok
from ..shared.roles import is_random


def cut_at_exchanged_corners(source: Script) -> Finding | None:
    """`img[top:top + s, left:left + s]` beside `mask[left:left + s, top:top + s]`.

    Silent where a name says that its array is turned, and where either is turned in the same function.
    """
    seen = None
    for function in source.of(ast.FunctionDef):
        cuts = [(n, _corners(n)) for n in of(function, ast.Subscript) if isinstance(n.ctx, ast.Load)]
        held = [(n, c) for n, c in cuts if c is not None and isinstance(n.value, (ast.Name, ast.Attribute))]
        for (one, a), (other, b) in combinations(held, 2):
            if unparse(one.value) == unparse(other.value):
                continue
            seen = seen or one
            turned = any(
                last_name(c.func) in ("transpose", "swapaxes", "permute", "T") for c in of(function, ast.Call)
            ) or any(n.attr == "T" for n in of(function, ast.Attribute))
            if a == b[::-1] and a[0] != a[1] and not turned:
                return at(source, other, f"{unparse(other.value)} is cut at the exchanged corner")
    return ok(source, seen, "what belongs together is cut at one place") if seen is not None else None


def _corners(node: ast.Subscript) -> tuple[str, str] | None:
    """Where the first two axes of `x[a:b, c:d]` begin, as written."""
    places = node.slice.elts if isinstance(node.slice, ast.Tuple) else []
    cuts = [p for p in places if isinstance(p, ast.Slice) and p.lower is not None and p.upper is not None]
    if len(cuts) != 2 or cuts != places[:2]:
        return None
    rows, columns = cuts
    if any(isinstance(c.lower, ast.Constant) for c in cuts):
        return None
    return unparse(rows.lower or rows), unparse(columns.lower or columns)


_WARPS = ("warpAffine", "warpPerspective", "affine_transform", "affine", "rotate", "warp")


def turned_by_another_draw(source: Script) -> Finding | None:
    """`mat = rotation(random())`, the picture turned; `mat = rotation(random())` anew, the mask turned."""
    seen = None
    for function in source.of(ast.FunctionDef):
        body = [
            n for n in of(function, ast.Assign) if len(n.targets) == 1 and isinstance(n.targets[0], ast.Name)
        ]
        warps = [n for n in body if isinstance(n.value, ast.Call) and last_name(n.value.func) in _WARPS]
        for one, other in combinations(warps, 2):
            if not isinstance(one.value, ast.Call) or not isinstance(other.value, ast.Call):
                continue
            if unparse(one.targets[0]) == unparse(other.targets[0]) or _block(source, one) != _block(
                source, other
            ):
                continue
            shared = _names(one.value) & _names(other.value)
            seen = seen or one
            for between in body:
                name = unparse(between.targets[0])
                if one.lineno < between.lineno < other.lineno and name in shared and is_random(between.value):
                    drawn = [n for n in body if n.lineno < one.lineno and unparse(n.targets[0]) == name]
                    if drawn and _block(source, between) == _block(source, other):
                        return at(
                            source, between, f"{name} is drawn anew before what belongs to it is turned"
                        )
    return ok(source, seen, "what belongs together is turned by one draw") if seen is not None else None


def _names(call: ast.Call) -> set[str]:
    return {n.id for a in (*call.args, *(k.value for k in call.keywords)) for n in of(a, ast.Name)}


def _block(source: Script, node: ast.AST) -> ast.AST | None:
    return source.parents.get(node)
