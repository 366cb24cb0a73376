"""Cross-entropy with soft targets that a script writes out: its logarithm, and the axis of its softmax."""

from __future__ import annotations

import ast

from ...readers._tree import of, unparse
from ...readers.script import keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.sides import literal

_SUMS = ("sum", "mean", "reduce_sum", "reduce_mean", "nansum")


def soft_target_slipped(source: Script) -> Finding | None:
    """`-(target * softmax(x)).sum(-1).mean()` has no logarithm; `log_softmax(x, 0)` goes over the batch.

    The target is a plain name, and the minus stands before the whole: a negative expectation of rewards has
    other names and no sum over an axis of classes.
    """
    mine = flow(source)
    for node in source.of(ast.UnaryOp):
        if not isinstance(node.op, ast.USub):
            continue
        product, axis = _summed(source, node.operand)
        if product is None or axis is None:
            continue
        for side, other in ((product.left, product.right), (product.right, product.left)):
            made = [side, *(v for v in mine.values(side, 2) if isinstance(side, ast.Name))]
            call = next((m for m in made if isinstance(m, ast.Call)), None)
            if call is None or not isinstance(other, (ast.Name, ast.Subscript)):
                continue
            name = last_name(call.func)
            over = _axis_of(source, call)
            if name == "softmax" and _is_target(other):
                return at(source, node, "the targets weigh the chances here, not their logarithms")
            if name == "log_softmax" and over == 0 and axis in (-1, 1, 2):
                return at(source, node, "the softmax runs over the batch, and the sum over the classes")
    return None


def _is_target(node: ast.expr) -> bool:
    text = unparse(node).lower()
    return any(w in text for w in ("target", "label", "onehot", "one_hot", "soft", "y_true", "truth"))


def _summed(source: Script, node: ast.expr) -> tuple[ast.BinOp | None, int | None]:
    """`(a * b).sum(dim=-1).mean()`: the product, and the axis of the first sum."""
    axis: int | None = None
    while isinstance(node, ast.Call) and last_name(node.func) in _SUMS:
        method = isinstance(node.func, ast.Attribute) and not isinstance(node.func.value, ast.Name)
        rest = node.args if method else node.args[1:]
        told = keyword(node, "dim") or keyword(node, "axis") or (rest[0] if rest else None)
        found = literal(source, told) if told is not None else None
        axis = found if type(found) is int else axis
        if not method and not node.args:
            return None, None
        node = node.func.value if method and isinstance(node.func, ast.Attribute) else node.args[0]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return node, axis
    return None, None


def _axis_of(source: Script, call: ast.Call) -> int | None:
    on_tensor = isinstance(call.func, ast.Attribute) and not of(call.func.value, ast.Attribute)
    told = keyword(call, "dim") or keyword(call, "axis")
    if told is None:
        rest = call.args[1:] if len(call.args) > 1 else call.args if on_tensor else []
        told = rest[0] if rest else None
    found = literal(source, told) if told is not None else None
    return found if type(found) is int else None
