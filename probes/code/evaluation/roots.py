"""Roots of means that an evaluation takes batch by batch and averages: no root of the whole mean."""

from __future__ import annotations

import ast

from ...readers._tree import names_in, of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.syntax import Script
from ..shared.checks import at, is_evaluation

_LOSSES = frozenset(("mse_loss", "MSELoss", "mean_squared_error"))


def mean_of_roots(source: Script) -> Finding | None:
    """`total += ((p - y) ** 2).mean().sqrt()` in a loop over batches: RMSE is the root of one mean."""
    for node in source.of(ast.AugAssign, ast.Call):
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
            added: ast.expr = node.value
        elif isinstance(node, ast.Call) and last_name(node.func) == "append" and len(node.args) == 1:
            added = node.args[0]
        else:
            continue
        loops = [p for p in source.above(node) if isinstance(p, ast.For)]
        if not loops or _over_samples(loops) or not is_evaluation(source, node):
            continue
        if any(_mean_of_squares(source, inner) for inner in _rooted(added)):
            return at(source, node, "a root is taken of each batch, and the roots are averaged")
    return None


def _over_samples(loops: list[ast.For]) -> bool:
    """`for p, t in zip(pred, depth):` within the loop over batches: a figure of each sample."""
    made = {n.id for outer in loops[1:] for n in of(outer, ast.Name) if isinstance(n.ctx, ast.Store)}
    return len(loops) > 1 and bool(names_in(loops[0].iter) & made)


def _rooted(node: ast.expr) -> list[ast.expr]:
    """What a root is taken of: `x.sqrt()`, `np.sqrt(x)`, `x ** 0.5`."""
    found: list[ast.expr] = []
    for call in of(node, ast.Call):
        if last_name(call.func) == "sqrt":
            method = isinstance(call.func, ast.Attribute) and not call.args
            inner = call.func.value if method and isinstance(call.func, ast.Attribute) else None
            found += [inner] if inner is not None else call.args[:1]
    for power in of(node, ast.BinOp):
        if (
            isinstance(power.op, ast.Pow)
            and isinstance(power.right, ast.Constant)
            and power.right.value == 0.5
        ):
            found.append(power.left)
    return found


def _mean_of_squares(source: Script, node: ast.expr) -> bool:
    """A mean over the whole batch, of squares or by a loss of squares; not one of each sample."""
    while isinstance(node, ast.Call) and last_name(node.func) in ("item", "cpu") and not node.args:
        if not isinstance(node.func, ast.Attribute):
            return False
        node = node.func.value
    node = _made(source, node)
    if not isinstance(node, ast.Call) or node.keywords:
        return False
    if last_name(node.func) in _LOSSES:
        return True
    if last_name(node.func) != "mean":
        return False
    if node.args:
        return not isinstance(node.args[0], ast.Constant) and _squared(source, node.args[0])
    return isinstance(node.func, ast.Attribute) and _squared(source, node.func.value)


def _squared(source: Script, node: ast.expr) -> bool:
    text = unparse(_made(source, node))
    return any(word in text for word in ("** 2", "square", ".pow(2)"))


def _made(source: Script, node: ast.expr) -> ast.expr:
    """What stands behind a name, in the same function."""
    if not isinstance(node, ast.Name):
        return node
    return source.assigned(node.id, source.function_around(node) or source.tree, node.lineno) or node
