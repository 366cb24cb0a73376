"""Columns of inputs that scripts put into another order on one side."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.nodes import is_negative
from ..shared.sides import side


def columns_in_another_order(source: Script) -> Finding | None:
    """`x_train = train[cols].values`, `x_val = val[sorted(cols)].values`: only places tell them apart."""
    chosen: list[tuple[bool, ast.Assign, str, bool]] = []  # side, where, which columns, turned
    for node in source.of(ast.Assign):
        if len(node.targets) != 1 or not isinstance(node.targets[0], (ast.Name, ast.Attribute)):
            continue
        told = side(unparse(node.targets[0]))
        if told is None or not re.search(r"\.values\b|\.to_numpy\(|array\(|tensor\(", unparse(node.value)):
            continue
        for part in of(node.value, ast.Subscript):
            if isinstance(part.value, ast.Name) and side(part.value.id) is told:
                inner, turned = _turned(part.slice)
                if isinstance(inner, (ast.Name, ast.Attribute)):
                    chosen.append((told, node, unparse(inner), turned))
    for told, node, columns, turned in chosen:
        others = [c for c in chosen if c[0] is not told and c[2] == columns]
        if turned and others and not any(c[3] for c in others):
            return at(
                source, node, f"the columns of `{columns}` stand in another order than on the other side"
            )
    return None


def _turned(node: ast.expr) -> tuple[ast.expr, bool]:
    """What `sorted(cols)`, `cols[::-1]`, `list(reversed(cols))` and `list(set(cols))` turn."""
    if isinstance(node, ast.Call) and len(node.args) == 1:
        name = last_name(node.func)
        if name in ("sorted", "reversed", "set", "list", "tuple"):
            inner, turned = _turned(node.args[0])
            return inner, turned or name in ("sorted", "reversed", "set")
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        step = node.slice.step
        if is_negative(step):
            return node.value, True
    return node, False
