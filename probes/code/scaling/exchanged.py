"""Figures of a scaling that bear each other's names, or stand in each other's place."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.nodes import assigned

_MEAN = re.compile(r"(?i)(?:^|_)(?:mean|means|mu|avg|average)(?:_|$)")
_SPREAD = re.compile(r"(?i)(?:^|_)(?:std|stds|sd|sds|sigma|stdev|std_?dev|deviation|scale)(?:_|$)")


def figures_exchanged(source: Script) -> Finding | None:
    """`std, mean = x.mean(), x.std()`, `(x - std) / mean`, `Normalize(std, mean)`: they are exchanged."""
    for node in source.of(ast.Assign):
        told = {(kind(word(t)), _made(v)) for t, v in assigned(node)}
        if ("mean", "std") in told and ("std", "mean") in told:
            return at(source, node, "the mean is given the deviation, and the deviation the mean")
    for part in source.of(ast.BinOp):
        left = part.left
        if (
            not isinstance(part.op, ast.Div)
            or not isinstance(left, ast.BinOp)
            or not isinstance(left.op, ast.Sub)
        ):
            continue
        if kind(word(left.right)) == "std" and set(_kinds(part.right)) == {"mean"}:
            return at(source, part, "the deviation is taken off, and the mean divides")
    for call in source.named("Normalize", "normalize"):
        places = call.args[-2:] if last_name(call.func) == "Normalize" else call.args[1:3]
        named = {k.arg: kind(word(k.value)) for k in call.keywords}
        if [kind(word(p)) for p in places] == ["std", "mean"]:
            return at(source, call, "the deviation is given as the mean, and the mean as the deviation")
        if named.get("mean") == "std" and named.get("std") == "mean":
            return at(source, call, "the deviation is given as the mean, and the mean as the deviation")
    return None


def word(node: ast.AST) -> str:
    """The name that a figure bears, out of items and calls: `self.std[None].view(-1)` -> "std"."""
    while isinstance(node, (ast.Subscript, ast.Call)):
        node = node.value if isinstance(node, ast.Subscript) else node.func
        if isinstance(node, ast.Attribute) and node.attr in (
            "view",
            "reshape",
            "to",
            "tolist",
            "item",
            "numpy",
        ):
            node = node.value
    return last_name(node) if isinstance(node, (ast.Name, ast.Attribute)) else ""


def kind(word: str) -> str:
    """Whether a name says "mean" or "std"; "" where it says neither or both."""
    mean, spread = _MEAN.search(word) is not None, _SPREAD.search(word) is not None
    return "" if mean == spread else "mean" if mean else "std"


def _kinds(node: ast.expr) -> Iterator[str]:
    """The kinds of all names of a divisor: `mean + 1e-6`."""
    for part in of(node, ast.Name, ast.Attribute):
        if told := kind(last_name(part)):
            yield told


def _made(value: ast.expr) -> str:
    """Whether a value is a mean or a deviation of data: `x.mean(axis=0)`, `np.std(x)`, `x.std() + 1e-6`."""
    calls = [last_name(c.func) for c in of(value, ast.Call)]
    found = {
        "mean" if c in ("mean", "nanmean") else "std"
        for c in calls
        if c in ("mean", "nanmean", "std", "nanstd")
    }
    return found.pop() if len(found) == 1 and "sqrt" not in unparse(value) else ""
