"""Scalers that nothing is put through, and samples divided by the square of their spread."""

from __future__ import annotations

import ast
import re

from ...readers._tree import unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.nodes import assigned

_SCALERS = re.compile(
    r"^(?:Standard|MinMax|MaxAbs|Robust)Scaler$|^(?:Quantile|Power)Transformer$|^Normalizer$"
)
_SPREAD = re.compile(r"(?i)(?:^|[_.'\"\[])(?:std|stdev|sd|stddev|deviation)s?(?:$|[_'\"\]])")
_CENTRE = re.compile(r"(?i)(?:^|[_.'\"\[])(?:mean|mu|avg|average|centre|center)s?(?:$|[_'\"\]])")


def scaler_never_asked(source: Script) -> Finding | None:
    """`self.scaler.fit(rows)`, and the program reads `self.scaler` for nothing else."""
    if source.loose:
        return None
    for node in source.of(ast.Assign):
        for target, value in assigned(node):
            made = isinstance(value, ast.Call) and _SCALERS.match(last_name(value.func))
            if not made or not isinstance(target, ast.Attribute):
                continue
            uses = [
                n for n in source.of(ast.Attribute) if n.attr == target.attr and isinstance(n.ctx, ast.Load)
            ]
            outer = [source.parents.get(u) for u in uses]
            fits = [p for p in outer if isinstance(p, ast.Attribute) and p.attr in ("fit", "partial_fit")]
            if fits and len(fits) == len(uses):
                return at(source, fits[0], "this scaler is fitted, and nothing is put through it")
    return None


def divided_by_square(source: Script) -> Finding | None:
    """`(x - MEAN) / STD ** 2`: samples are divided by the square of their spread.

    Where functions speak of scores, likelihoods or gradients this is the slope of a Gaussian.
    """
    for node in source.of(ast.BinOp):
        if not isinstance(node.op, ast.Div) or not isinstance(node.left, ast.BinOp):
            continue
        squared = _squared(node.right)
        if squared is None or not isinstance(node.left.op, ast.Sub):
            continue
        around = " ".join((source.function_name(node), unparse(source.statement(node) or node)))
        if re.search(r"(?i)score|log_?p|prob|grad|likeli|gauss|energy|kl|z_?test|snr|precision", around):
            continue
        if _SPREAD.search(unparse(squared)) and _CENTRE.search(unparse(node.left.right)):
            return at(source, node, "what is centred is divided by the square of its deviation")
    return None


def _squared(node: ast.expr) -> ast.expr | None:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        two = isinstance(node.right, ast.Constant) and node.right.value == 2
        return node.left if two else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return node.left if unparse(node.left) == unparse(node.right) else None
    if isinstance(node, ast.Call) and last_name(node.func) in ("square", "pow"):
        given = [*node.args, *([node.func.value] if isinstance(node.func, ast.Attribute) else [])]
        return next((g for g in given if _SPREAD.search(unparse(g))), None)
    return None
