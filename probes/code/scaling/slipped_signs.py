"""Standardising in scripts with a wrong sign: multiplied, or divided by the variance."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.nodes import assigned
from .exchanged import kind, word

_INVERSE = re.compile(r"(?i)inv|recip|precision|rsqrt|scale|1(?:\.0?)? /")


def standardised_astray(source: Script) -> Finding | None:
    """`(x - mean) * std`, `std = x.var(0)`: what comes out has no unit spread."""
    for part in source.of(ast.BinOp):
        if not isinstance(part.op, ast.Mult) or _back_to_units(source, part):
            continue
        for taken, by in ((part.left, part.right), (part.right, part.left)):
            if _less_mean(taken) and kind(word(by)) == "std" and not _inverse(source, by):
                return at(source, part, "what is left of the mean is multiplied by the deviation")
    return _variance_for_deviation(source)


def _less_mean(node: ast.expr) -> bool:
    """`x - mean`."""
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and kind(word(node.right)) == "mean"


def _inverse(source: Script, node: ast.expr) -> bool:
    """One over the deviation, by its name or by how it is made."""
    return any(_INVERSE.search(unparse(v)) for v in (node, *flow(source).values(node, 3)))


def _back_to_units(source: Script, part: ast.BinOp) -> bool:
    """It is added to something further out (`mean + (x - mean) * std`), or divided after all."""
    for outer in source.above(part):
        if isinstance(outer, ast.BinOp):
            if isinstance(outer.op, (ast.Add, ast.Div)):
                return True
        elif not isinstance(outer, (ast.UnaryOp, ast.Call, ast.Starred)):
            return False
    return False


def _variance_for_deviation(source: Script) -> Finding | None:
    """`std = x.var(0)`, and then `(x - mean) / std`; not where a root is taken on the way."""
    for node in source.of(ast.Assign):
        for target, value in assigned(node):
            inner = value
            while isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Add):
                inner = inner.left
            if not (isinstance(inner, ast.Call) and last_name(inner.func) in ("var", "nanvar")):
                continue
            name = word(target)
            if kind(name) != "std" or re.search(r"(?i)scale|sq|2", name):
                continue
            divides = [
                b
                for b in source.of(ast.BinOp)
                if isinstance(b.op, ast.Div)
                and isinstance(b.left, ast.BinOp)
                and isinstance(b.left.op, ast.Sub)
                and any(last_name(n) == name for n in of(b.right, ast.Name, ast.Attribute))
                and "sqrt" not in unparse(b.right)
                and "** 0.5" not in unparse(b.right)
            ]
            if divides:
                return at(source, node, "what is divided by as the deviation is the variance")
    return None
