"""Weights of classes in scripts that are the shares of the classes themselves."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at, ok

_COUNTS = re.compile(r"bincount\(|value_counts\(|return_counts=True|\bCounter\(")
_TURNS = re.compile(
    r"1\.?0? / |1\.?0? - |\*\* ?-|reciprocal|compute_class_weight|max\(\) / |sum\(\) / |log\(|beta"
)
_LOSSES = ("CrossEntropyLoss", "cross_entropy", "NLLLoss", "nll_loss")


def weighed_by_shares(source: Script) -> Finding | None:
    """`share = bincount(y) / len(y)`, and `CrossEntropyLoss(weight=share)`: common classes weigh most."""
    seen: ast.AST | None = None
    for call in source.named(*_LOSSES):
        weight = keyword(call, "weight")
        if weight is None:
            continue
        behind = _behind(source, weight)
        text = " ; ".join(map(unparse, behind))
        if not _COUNTS.search(text):
            continue
        seen = seen or call
        if _TURNS.search(text) or any(_divides_by_counts(source, b) for b in behind):
            continue
        return at(source, call, "the weight grows with the number of samples: common classes get more")
    return ok(source, seen, "rare classes get the larger weights") if seen is not None else None


def _behind(source: Script, node: ast.expr, depth: int = 3) -> list[ast.expr]:
    """The expression and what its names stand for."""
    found = [node]
    for name in of(node, ast.Name) if depth else ():
        made = flow(source).all_given(name)
        if len(made) == 1 and not made[0].places:
            found += _behind(source, made[0].value, depth - 1)
    return found


def _divides_by_counts(source: Script, node: ast.expr) -> bool:
    """Something is divided by counts, or by what is made of them: `total / (n * counts)`."""
    for quotient in of(node, ast.BinOp):
        if isinstance(quotient.op, ast.Div):
            below = [quotient.right, *_behind(source, quotient.right)]
            if any(_COUNTS.search(unparse(b)) for b in below) and not _total(quotient.right):
                return True
    return False


def _total(node: ast.expr) -> bool:
    """`counts.sum()`, `len(y)`: all of them."""
    return isinstance(node, ast.Call) and last_name(node.func) in ("sum", "len")
