"""Rates that a loop of a script multiplies with a share of the whole course, again and again."""

from __future__ import annotations

import ast

from ...readers._tree import names_in, of, unparse
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at
from .written import sets_rate


def share_taken_again(source: Script) -> Finding | None:
    """`group["lr"] = (1 - epoch / epochs) * group["lr"]`: a share of the whole course, of what is left.

    Also under a name (`left = 1 - epoch / epochs`). Left aside: what runs under a condition, rates that the
    loop also sets anew, and quotients of two moments.
    """
    for node in source.of(ast.Assign, ast.AugAssign):
        share = _own_factor(node) if sets_rate(node) else None
        if share is None:
            continue
        if isinstance(share, ast.Name):
            share = flow(source).whole_given(share) or share
        for loop in source.above(node):
            if isinstance(loop, (ast.If, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
                break
            if not isinstance(loop, ast.For) or not isinstance(loop.target, ast.Name):
                continue
            own = loop.target.id
            over = [b for b in of(share, ast.BinOp) if isinstance(b.op, ast.Div) and own in names_in(b.left)]
            times = [n for n in of(share, ast.Name) if n.id == own]
            anew = [n for n in of(loop, ast.Assign) if n is not node and sets_rate(n)]
            if over and len(times) == 1 and not anew:
                return at(source, node, "each round multiplies the rate in force with the whole share again")
    return None


def _own_factor(node: ast.AST) -> ast.expr | None:
    """What a value is multiplied with in its own place."""
    if isinstance(node, ast.AugAssign):
        return node.value if isinstance(node.op, ast.Mult) else None
    value = node.value if isinstance(node, ast.Assign) else None
    if not isinstance(node, ast.Assign) or not isinstance(value, ast.BinOp):
        return None
    mine = unparse(node.targets[0])
    sides = [value.left, value.right]
    other = [s for s in sides if unparse(s) != mine]
    return other[0] if isinstance(value.op, ast.Mult) and len(other) == 1 else None
