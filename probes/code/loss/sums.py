"""Objectives in scripts that are written out as the sum over a batch where a mean belongs."""

from __future__ import annotations

import ast
import re

from ...readers._tree import unparse
from ...readers.script import keyword, last_name
from ...registry import Finding
from ...scripts.flow import Flow, flow
from ...scripts.minimised import objectives
from ...scripts.syntax import Script
from ..shared.checks import at, is_evaluation
from .divided import divided_on_its_way, gradients_divided_by_hand
from .senses import LIBRARIES, senses
from .shown import shown_per_sample

_DEPTH = 8
_EVERY_TERM = re.compile(r"(?i)\bkl|kld|elbo|log_?var|log_?sigma|log_?std|vae")
# a matrix of features against features holds no samples
_OF_FEATURES = re.compile(r"\beye\(|\beye_like\(|off_?diag|fill_diagonal|cross_?corr|\.T @|\.t\(\) @")
_AS_THEY_ARE = ("get_scaled_loss", "scale", "scale_loss", "cast", "to", "float")


def summed_by_hand(source: Script) -> Finding | None:
    """`loss = tf.reduce_sum(tf.square(y - pred))`: all elements of a batch are added up, and nothing divides.

    Only a sum over everything, of differences or of a standard loss, that gradients are taken of as it is or
    beside other terms; where every step has a batch of its own. A negative ELBO is summed on purpose.
    """
    if gradients_divided_by_hand(source) or shown_per_sample(source):
        return None
    for call, objective in objectives(source):
        if is_evaluation(source, call) or _one_batch(source, call):
            continue
        for total in _sums(flow(source), objective, _DEPTH):
            function, owner = source.function_around(total), source.class_around(total)
            about = " ".join(unparse(n) for n in (function or owner,) if n is not None) + unparse(objective)
            if (
                _EVERY_TERM.search(about)
                or _OF_FEATURES.search(about)
                or divided_on_its_way(source, total)
                or _asked_for(source, total)
            ):
                continue
            return at(source, total, "the loss is summed over all elements of the batch")
    return None


def _one_batch(source: Script, call: ast.Call) -> bool:
    """The innermost loop counts steps over the same data: `for t in range(500)`."""
    loops = source.loops_around(call)
    return bool(loops) and isinstance(loops[0], ast.For) and unparse(loops[0].iter).startswith("range(")


def _asked_for(source: Script, total: ast.AST) -> bool:
    """One arm of a choice by word: `lost.sum() if reduction == "sum" else lost.mean()`."""
    return any(
        isinstance(a, (ast.IfExp, ast.If))
        and isinstance(a.test, ast.Compare)
        and any(isinstance(c, ast.Constant) and isinstance(c.value, str) for c in a.test.comparators)
        for a in source.above(total)
    )


def _of_each(node: ast.expr) -> bool:
    """`norm(y.reshape(n, -1), 2, 1)`: one figure for each sample."""
    called = isinstance(node, ast.Call) and last_name(node.func) in ("norm", "vector_norm")
    return called and isinstance(node, ast.Call) and (len(node.args) > 1 or bool(node.keywords))


def _sums(mine: Flow, node: ast.expr, depth: int) -> list[ast.Call]:
    """Sums over everything that stand in the objective as terms, without a factor."""
    if depth == 0:
        return []
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        return [*_sums(mine, node.left, depth - 1), *_sums(mine, node.right, depth - 1)]
    if isinstance(node, ast.UnaryOp):
        return _sums(mine, node.operand, depth - 1)
    if isinstance(node, ast.Call):
        name = last_name(node.func)
        if name in ("reduce_sum", "sum"):
            library = isinstance(node.func, ast.Attribute) and LIBRARIES.match(unparse(node.func.value))
            axis = keyword(node, "axis") or keyword(node, "dim") or len(node.args) > (1 if library else 0)
            what = node.args[0] if library and node.args else getattr(node.func, "value", None)
            if isinstance(what, ast.BinOp) and isinstance(what.op, ast.Div) and _of_each(what.right):
                return []  # a share of its own size for each sample: few, and none is large
            if axis or not isinstance(what, ast.expr) or not list(senses(mine.source, what)):
                return []
            return [node]
        if name in _AS_THEY_ARE and node.args:
            return _sums(mine, node.args[0], depth - 1)
    following = [v for v, left in mine.step(node, ()) if not left]
    return [s for v in following for s in _sums(mine, v, depth - 1)]
