"""Lists that a forward pass fills and goes over again without looking at what is in them."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.syntax import Function, Script
from ..shared.checks import at


def pile_unread(source: Script) -> Finding | None:
    """`for block, skip in zip(self.ups, reversed(skips)): x = block(x)`: no way goes over the skips.

    `skips` is a list that the same forward pass fills with what it computes, and reads nowhere else.
    """
    for function in source.passes:
        if source.parents.get(function) not in source.modules:
            continue
        for loop in of(function, ast.For):
            for target, over in _walked(loop):
                name = _filled(function, over)
                if name is None or not isinstance(target, ast.Name) or target.id.startswith("_"):
                    continue
                inside = {n.id for s in loop.body for n in of(s, ast.Name) if isinstance(n.ctx, ast.Load)}
                reads = [n for n in of(function, ast.Name) if n.id == name and isinstance(n.ctx, ast.Load)]
                fills = [n for n in reads if isinstance(source.parents.get(n), ast.Attribute)]
                if target.id not in inside and len(reads) == len(fills) + 1:
                    return at(source, loop, f"`{target.id}` is taken out of `{name}` and never used")
    return None


def _walked(loop: ast.For) -> list[tuple[ast.expr, ast.expr]]:
    """The targets of a loop with what each goes over, `zip` taken apart."""
    over, target = loop.iter, loop.target
    if isinstance(over, ast.Call) and isinstance(over.func, ast.Name) and over.func.id == "zip":
        if isinstance(target, ast.Tuple) and len(target.elts) == len(over.args):
            return list(zip(target.elts, over.args, strict=True))
        return []
    return [(target, over)]


def _filled(function: Function, over: ast.expr) -> str | None:
    """The list behind `skips`, `reversed(skips)`, `skips[::-1]`, where the function appends to it."""
    if (
        isinstance(over, ast.Call)
        and isinstance(over.func, ast.Name)
        and over.func.id in ("reversed", "list")
    ):
        over = over.args[0] if over.args else over
    if isinstance(over, ast.Subscript) and isinstance(over.slice, ast.Slice):
        over = over.value
    if not isinstance(over, ast.Name):
        return None
    name = over.id
    for call in of(function, ast.Call):
        if isinstance(call.func, ast.Attribute) and call.func.attr == "append":
            if isinstance(call.func.value, ast.Name) and call.func.value.id == name:
                return name
    return None


def unread_key(source: Script, owner: ast.ClassDef, weights: frozenset[str]) -> ast.Constant | None:
    """A layer of `ModuleDict({"lin": ..., "skip": ...})` that no line asks for by its name."""
    for made in of(owner, ast.Call):
        if last_name(made.func) not in ("ModuleDict", "CellDict") or not made.args:
            continue
        layers = made.args[0] if isinstance(made.args[0], ast.Dict) else ast.Dict([], [])
        pairs = [
            (k, v) for k, v in zip(layers.keys, layers.values, strict=True) if isinstance(k, ast.Constant)
        ]
        asked = [len(source.mentions.get(str(k.value), ())) > 1 for k, _ in pairs]
        if (
            len(pairs) != len(layers.keys)
            or not any(asked)
            or re.search(r"\.(?:values|items|keys)\(", unparse(owner))
        ):
            continue
        for (key, layer), told in zip(pairs, asked, strict=True):
            if not told and any(last_name(c.func) in weights for c in of(layer, ast.Call)):
                return key
    return None
