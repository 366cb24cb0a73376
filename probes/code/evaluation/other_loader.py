"""Sums over one loader's batches in scripts that are divided by the length of another one."""

from __future__ import annotations

import ast

from ...readers._tree import unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at, gone_over, ok
from .counts import length_of


def divided_by_other_length(source: Script) -> Finding | None:
    """`for x, y in valid: total += ...`, then `total / len(train.dataset)`, another one's length."""
    seen: ast.AST | None = None
    for node in source.of(ast.BinOp):
        if not isinstance(node.op, ast.Div) or not isinstance(node.left, ast.Name):
            continue
        counted = length_of(node.right)
        mine = _data_of(source, counted) if counted is not None else None
        if mine is None:
            continue
        loops = _summed_in(source, node, node.left.id)
        over = [_data_of(source, o) for o in loops]
        if not loops or None in over:
            continue
        seen = seen or node
        if mine not in over:
            told = unparse(loops[0])
            return at(source, node, f"the sum goes over {told}, and is divided by {unparse(node.right)}")
    return (
        ok(source, seen, "sums are divided by the length of what they go over") if seen is not None else None
    )


def _summed_in(source: Script, node: ast.BinOp, name: str) -> list[ast.expr]:
    """What the loops go over in which a name is added to, in the same function."""
    function = source.function_around(node)
    found = []
    for add in source.of(ast.AugAssign):
        if unparse(add.target) != name or source.function_around(add) is not function:
            continue
        loops = [p for p in source.above(add) if isinstance(p, ast.For)]
        if not isinstance(add.op, ast.Add) or not loops:
            return []
        found.append(gone_over(loops[0].iter))
    return found


def _data_of(source: Script, node: ast.expr) -> ast.expr | None:
    """The data set behind a loader, `loader.dataset`, or a data set that a loader was made of."""
    if isinstance(node, ast.Attribute) and node.attr == "dataset":
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    given = flow(source).all_given(node)
    if len(given) != 1 or given[0].places or not isinstance(given[0].value, ast.Call):
        return None
    made = given[0].value
    if last_name(made.func) == "DataLoader" and made.args:
        inner = made.args[0]
        return _data_of(source, inner) or inner if isinstance(inner, ast.Name) else inner
    feeds = [c for c in source.named("DataLoader") if c.args and unparse(c.args[0]) == node.id]
    return made if feeds else None
