"""Whether a training loop shows its loss as what it is: a sum over samples, divided by their number."""

from __future__ import annotations

import ast

from ...readers._tree import of, unparse, walk
from ...readers.script import last_name
from ...scripts.syntax import Script
from ..evaluation.averages import is_size

_PLAIN = ("item", "float", "cpu", "detach", "numpy", "asnumpy", "double")


def shown_per_sample(source: Script) -> bool:
    """`total += loss.item()`, `seen += len(batch)`, then `total / seen`, where gradients are taken of `loss`.

    Who divides what is shown by the number of samples knows the loss for a sum, and chose its learning rate
    for one, as in matrix factorisation. A mean that is shown so would come out too small at once.
    """
    for backward in source.backwards:
        loops, held = source.loops_around(backward), getattr(backward.func, "value", None)
        if not loops or not isinstance(held, (ast.Name, ast.Attribute)):
            continue
        outer = loops[-1]
        added = [n for n in of(outer, ast.AugAssign) if isinstance(n.op, ast.Add)]
        totals = {unparse(n.target) for n in added if unparse(_bare(n.value)) == unparse(held)}
        counts = {unparse(n.target) for n in added if is_size(n.value)}
        around = source.function_around(backward) or source.tree
        for node in walk(around):
            if isinstance(node, (ast.BinOp, ast.AugAssign)) and isinstance(node.op, ast.Div):
                top, below = (
                    (node.left, node.right) if isinstance(node, ast.BinOp) else (node.target, node.value)
                )
                if unparse(_bare(top)) in totals and (unparse(below) in counts or _counts_set(below)):
                    return True
    return False


def _bare(node: ast.expr) -> ast.expr:
    """A value without its conversions: `float(loss.data.item())` -> `loss`."""
    while True:
        if isinstance(node, ast.Call) and last_name(node.func) in _PLAIN:
            inner = node.args[0] if node.args else getattr(node.func, "value", None)
            if not isinstance(inner, ast.expr):
                return node
            node = inner
        elif isinstance(node, ast.Attribute) and node.attr == "data":
            node = node.value
        else:
            return node


def _counts_set(node: ast.expr) -> bool:
    """`len(loader.dataset)`."""
    return (
        isinstance(node, ast.Call)
        and last_name(node.func) == "len"
        and len(node.args) == 1
        and isinstance(node.args[0], ast.Attribute)
        and node.args[0].attr == "dataset"
    )
