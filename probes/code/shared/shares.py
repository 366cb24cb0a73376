"""Shares of dropout in scripts: whether a name or an expression tells what is kept or what is dropped."""

from __future__ import annotations

import ast
import re

from ...readers._tree import unparse
from ...scripts.flow import flow
from ...scripts.syntax import Script

KEEP = re.compile(r"(?i)(?:^|[._])(?:p_)?(?:keep|kept|retain|surviv\w*)(?:_?(?:prob\w*|rate|p|ratio))?$")
DROP = re.compile(r"(?i)(?:^|[._])(?:\w+_)?(?:drop(?:out)?)(?:_?(?:prob\w*|rate|p|ratio))?$")


def plain(node: ast.expr) -> str:
    """An expression with its items as names: `params["dropout"]` -> "params.dropout"."""
    return re.sub(r"\['(\w+)'\]", r".\1", unparse(node))


def names_keep(source: Script, rate: ast.expr) -> bool:
    """`keep_prob`, as it is given."""
    return KEEP.search(plain(rate)) is not None and not is_turned(source, rate)


def is_turned(source: Script, rate: ast.expr) -> bool:
    """The name holds `1 - keep` already, or a number that is a usual share to drop by the way it is made."""
    return any(isinstance(v, ast.BinOp) and isinstance(v.op, ast.Sub) for v in flow(source).values(rate, 3))


def complement_of_drop(rate: ast.expr) -> bool:
    """`1 - dropout`."""
    return (
        isinstance(rate, ast.BinOp)
        and isinstance(rate.op, ast.Sub)
        and isinstance(rate.left, ast.Constant)
        and rate.left.value in (1, 1.0)
        and isinstance(rate.right, (ast.Name, ast.Attribute, ast.Subscript))
        and (DROP.search(plain(rate.right)) is not None or plain(rate.right) in ("rate", "self.rate"))
        and "keep" not in unparse(rate.right).lower()
    )
