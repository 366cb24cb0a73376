"""Rounds of a model in scripts that read what the first one began with, and not what the last one gave."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...readers._tree import names_bound, names_in, of, unparse
from ...registry import Finding
from ...scripts.syntax import Function, Script
from ..shared.checks import at

_GROWS = ("append", "extend", "insert")


def round_begins_anew(source: Script) -> Finding | None:
    """`h = x`, then `for layer in layers: h = layer(x)`: all rounds but the last are lost.

    Told where the round reads the very value that what it sets began with: by the name that it was set from
    or to, as the first of the list that rounds are put into (`outs[0]`), or as the same expression. What a
    round only puts aside counts where it is the same in each round or where that list is read.
    """
    for owner in source.modules:
        for function in of(owner, ast.FunctionDef):
            for loop in of(function, ast.For):
                for node in loop.body:
                    if isinstance(node, ast.Assign) and (why := _lost(function, loop, node)) is not None:
                        return at(source, node, why)
    return None


def _lost(function: Function, loop: ast.For, node: ast.Assign) -> str | None:
    target = node.targets[0]
    if not isinstance(target, ast.Name) or len(node.targets) > 1 or not of(node.value, ast.Call):
        return None
    name, bound = target.id, _bound(loop)
    set_here = [n for n in of(loop, ast.Name) if n.id == name and isinstance(n.ctx, ast.Store)]
    if len(set_here) != 1 or name in names_in(node.value) or of(node.value, ast.IfExp):
        return None
    began = set(_began(function, loop, name))
    read = [e for e in of(node.value, ast.expr) if unparse(e) in began]
    methods = [c.func for c in of(loop, ast.Call) if isinstance(c.func, ast.Attribute)]
    grown = {unparse(m.value) for m in methods if m.attr in _GROWS}
    lists = [e for e in read if isinstance(e, ast.Subscript) and unparse(e.value) in grown]
    others = {
        n.id for n in of(node.value, ast.Name) if not any(n in of(e, ast.Name) for e in lists)
    } - names_in(loop.target)
    if not read or others & bound or (others & grown):
        return None
    end = loop.end_lineno or loop.lineno
    later = [n for n in of(function, ast.Name) if n.id == name and isinstance(n.ctx, ast.Load)]
    after = [n for n in later if n.lineno > end and not _bound_again(function, n, end)]
    inside = [n for n in later if loop.lineno <= n.lineno <= end]
    same = not names_in(node.value) & names_in(loop.target)
    if lists and inside:
        return "each round reads the first of the list, not what the round before it gave"
    if same and (inside or after):
        return "each round computes the same: it reads what the first one began with"
    return (
        "all rounds but the last are lost: each reads what the first one began with"
        if (after and not inside)
        else None
    )


def _bound(loop: ast.For) -> set[str]:
    return {n for s in loop.body for n in names_bound(s)}


def _began(function: Function, loop: ast.For, name: str) -> Iterator[str]:
    """Expressions that are what a name held when the loop began."""
    before = [
        a for a in of(function, ast.Assign) if a.lineno < loop.lineno and isinstance(a.targets[0], ast.Name)
    ]
    mine = [a for a in before if unparse(a.targets[0]) == name]
    if not mine and name not in {a.arg for a in function.args.args}:
        return
    since = mine[-1].lineno if mine else 0
    if mine and isinstance(mine[-1].value, (ast.Name, ast.Attribute)):
        yield unparse(mine[-1].value)
    for later in before:
        if later.lineno <= since:
            continue
        if unparse(later.value) == name:
            yield unparse(later.targets[0])
        if isinstance(later.value, ast.List) and [unparse(e) for e in later.value.elts] == [name]:
            yield f"{unparse(later.targets[0])}[0]"


def _bound_again(function: Function, node: ast.Name, end: int) -> bool:
    """It is bound by another loop or assignment between the end of a loop and where it is read."""
    stores = [n for n in of(function, ast.Name) if n.id == node.id and isinstance(n.ctx, ast.Store)]
    return any(end < n.lineno <= node.lineno for n in stores)
