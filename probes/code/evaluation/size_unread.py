"""Sums over answers that a script divides by the number of batches, though it counts the answers."""

from __future__ import annotations

import ast

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.syntax import Script
from ..shared.checks import at, gone_over
from ..shared.factors import without_floor

_SIZES = ("numel", "size", "nelement", "len")


def counted_and_divided_by_batches(source: Script) -> Finding | None:
    """`n += y.size` is never read, and `total / len(loader)` takes batches for answers."""
    for loop in source.of(ast.For):
        function = source.function_around(loop)
        scope = function or source.tree
        sums = {n.target.id: n for n in of(loop, ast.AugAssign) if isinstance(n.target, ast.Name)}
        counts = [name for name, n in sums.items() if _is_size(n.value)]
        unread = [c for c in counts if not _read(scope, c)]
        if not unread:
            continue
        over = unparse(_named(gone_over(loop.iter)))
        for node in of(scope, ast.BinOp):
            below = without_floor(node.right)
            if not isinstance(node.op, ast.Div) or not isinstance(node.left, ast.Name):
                continue
            if not isinstance(below, ast.Call) or last_name(below.func) != "len" or not below.args:
                continue
            added = sums.get(node.left.id)
            if added is None or unparse(below.args[0]) != over or not _is_sum(added.value):
                continue
            why = f"`{node.left.id}` sums answers and is divided by batches: `{unread[0]}` is never read"
            return at(source, node, why)
    return None


def _named(node: ast.expr) -> ast.expr:
    """The loader itself: `data` of `data.create_tuple_iterator()`."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if not last_name(node.func).startswith(("create_", "batch", "prefetch", "as_numpy")):
            return node
        node = node.func.value
    return node


def _is_size(node: ast.expr) -> bool:
    """`y.size`, `len(y)`, `y.numel()`, `y.size(0)`, `y.shape[0]`."""
    if isinstance(node, ast.Call):
        return last_name(node.func) in _SIZES
    if isinstance(node, ast.Subscript):
        node = node.value
        return isinstance(node, ast.Attribute) and node.attr == "shape"
    return isinstance(node, ast.Attribute) and node.attr == "size"


def _is_sum(node: ast.expr) -> bool:
    """A sum over a batch, which no size was multiplied into."""
    names = [last_name(c.func) for c in of(node, ast.Call)]
    return "sum" in names and "mean" not in names


def _read(scope: ast.AST, name: str) -> bool:
    return any(n.id == name and isinstance(n.ctx, ast.Load) for n in of(scope, ast.Name))
