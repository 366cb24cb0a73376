"""Columns of ids in scripts that are numbered anew, and whose old numbers are read for the new ones."""

from __future__ import annotations

import ast

from ...readers._tree import unparse
from ...readers.script import last_name, receiver
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at

_TAKES = ("tensor", "as_tensor", "from_numpy", "LongTensor", "asarray")


def raw_ids_taken(source: Script) -> Finding | None:
    """`log["i"] = log.item.map(items)`, and `U, I = train.u.values, train.item.values`.

    Told where the new numbers of another column are read beside it, or a tensor is made of it.
    """
    old, new = _numbered(source)
    if not old:
        return None
    for node in source.of(ast.Assign, ast.Call):
        if isinstance(node, ast.Assign):
            parts = node.value.elts if isinstance(node.value, ast.Tuple) else []
            columns = [c for p in parts if (c := _column(p))]
            if len(columns) < 2 or not set(columns) & new:
                continue
        else:
            if last_name(node.func) not in _TAKES or not node.args:
                continue
            columns = [c for c in [_column(node.args[0])] if c]
        wrong = [c for c in columns if c in old]
        if wrong and node.lineno > old[wrong[0]].lineno:
            return at(
                source,
                node,
                f"`{wrong[0]}` holds the ids of the file: the numbers of the table stand in another column",
            )
    return None


def _numbered(source: Script) -> tuple[dict[str, ast.Assign], set[str]]:
    """Columns that are mapped to numbers, with the statement, and the columns that the numbers go to."""
    old: dict[str, ast.Assign] = {}
    new: set[str] = set()
    for node in source.of(ast.Assign):
        target, value = node.targets[0], node.value
        if not isinstance(target, ast.Subscript) or not isinstance(target.slice, ast.Constant):
            continue
        while isinstance(value, ast.Call) and last_name(value.func) in ("astype", "fillna"):
            value = value.func.value if isinstance(value.func, ast.Attribute) else value
        if not isinstance(value, ast.Call) or last_name(value.func) != "map" or len(value.args) != 1:
            continue
        owner = receiver(value)
        column = _named(owner) if owner is not None else ""
        made = [value.args[0], *flow(source).values(value.args[0], 3)]
        numbers = any(isinstance(m, ast.DictComp) and "enumerate(" in unparse(m) for m in made)
        goes_to = str(target.slice.value)
        if column and numbers and column != goes_to:
            old[column] = node
            new.add(goes_to)
    return {c: n for c, n in old.items() if c not in new}, new


def _named(node: ast.expr) -> str:
    """`log.item`, `log["item"]`."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return node.attr
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return node.slice.value if isinstance(node.slice.value, str) else ""
    return ""


def _column(node: ast.expr) -> str:
    """`train.item.values`, `train["item"].to_numpy()[a:b]`."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        node = node.value
    if isinstance(node, ast.Attribute) and node.attr == "values":
        return _named(node.value)
    if (
        isinstance(node, ast.Call)
        and last_name(node.func) == "to_numpy"
        and isinstance(node.func, ast.Attribute)
    ):
        return _named(node.func.value)
    return ""
