"""Weights of NumPy layers that all start with one value."""

from __future__ import annotations

import ast

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.syntax import Script
from ..shared.checks import at

_CONSTANT = ("zeros", "ones", "full", "zeros_like", "ones_like")


def layers_all_equal(source: Script) -> Finding | None:
    """`self.W = np.zeros((n_in, n_out))` of a layer that hands its gradient on: `grad @ self.W.T`.

    A single layer (logistic regression) may start at nought. Weights that hand a gradient to a layer below
    may not: its units then stay alike. Not where the same weights are set at another place, too.
    """
    for node in source.of(ast.Assign):
        target, made = node.targets[0], node.value
        if not (isinstance(made, ast.Call) and last_name(made.func) in _CONSTANT and made.args):
            continue
        if not isinstance(target, ast.Name | ast.Attribute) or not _is_matrix(made.args[0]):
            continue
        name = unparse(target)
        sets = [n for n in source.of(ast.Assign) if any(unparse(t) == name for t in n.targets)]
        if len(sets) == 1 and _forward(source, name) and _handed_on(source, name):
            return at(source, node, "the weights of a layer all start with one value: its units stay alike")
    return None


def _is_matrix(shape: ast.expr) -> bool:
    return isinstance(shape, ast.Tuple) and len(shape.elts) == 2 and "1" not in map(unparse, shape.elts)


def _forward(source: Script, name: str) -> bool:
    """`x @ W`, `x.dot(W)`, `np.dot(x, W)`"""
    products = [n for n in source.of(ast.BinOp) if isinstance(n.op, ast.MatMult)]
    called = [c for c in source.named("dot", "matmul") if c.args]
    return any(unparse(n.right) == name for n in products) or any(unparse(c.args[-1]) == name for c in called)


def _handed_on(source: Script, name: str) -> bool:
    """`grad @ W.T` stands in the program: the gradient of what lies below."""
    turned = {f"{name}.T", f"{name}.transpose()", f"np.transpose({name})"}
    products = [n for n in source.of(ast.BinOp) if isinstance(n.op, ast.MatMult)]
    called = [a for c in of(source.tree, ast.Call) if last_name(c.func) in ("dot", "matmul") for a in c.args]
    return any(unparse(n.right) in turned for n in products) or any(unparse(a) in turned for a in called)
