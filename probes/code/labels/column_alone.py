"""One of several columns of scripts that is shuffled alone."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import keyword, last_name
from ...registry import Finding
from ...scripts.syntax import Script
from ..shared.checks import at

_WITHOUT_INDEX = re.compile(
    r"\.(?:to_numpy|values|tolist|to_list|reset_index)\b|\b(?:np\.)?(?:array|asarray|list)\("
)
_MEANT = re.compile(
    r"(?i)permut|importance|null|control|random|ablat|corrupt|baseline|neg|contrast|shuff|mix|other|fake|noise"
)


def column_shuffled_alone(source: Script) -> Finding | None:
    """`self.item = df["item"].sample(frac=1).to_numpy()` beside `self.user = df["user"].to_numpy()`.

    Left alone: a column whose own order is read there as well (drawn partners), names that say it is meant.
    """
    if ".sample(" not in source.code and "permutation(" not in source.code:
        return None
    for node in source.of(ast.Assign):
        moved = _column_moved(node.value)
        name = unparse(node.targets[0])
        if moved is None or not _WITHOUT_INDEX.search(unparse(node.value)):
            continue
        scope = source.function_around(node) or source.tree
        if _MEANT.search(name) or _MEANT.search(getattr(scope, "name", "")):
            continue
        table, key = moved
        others = [
            s
            for a in of(scope, ast.Assign)
            if a is not node
            for s in of(a.value, ast.Subscript)
            if unparse(s.value) == table and isinstance(s.slice, ast.Constant)
        ]
        if others and all(s.slice.value != key for s in others if isinstance(s.slice, ast.Constant)):
            return at(source, node, f"`{key}` is put into a drawn order, and the columns beside it are not")
    return None


def _column_moved(value: ast.expr) -> tuple[str, str] | None:
    """The table and the column of `df["c"].sample(frac=1)` and `permutation(df["c"])`."""
    for call in of(value, ast.Call):
        column: ast.expr | None = None
        if last_name(call.func) == "sample" and isinstance(call.func, ast.Attribute):
            share = keyword(call, "frac")
            column = call.func.value if isinstance(share, ast.Constant) and share.value == 1 else None
        elif last_name(call.func) == "permutation" and len(call.args) == 1:
            column = call.args[0]
            if isinstance(column, ast.Attribute) and column.attr == "values":
                column = column.value
        if isinstance(column, ast.Subscript) and isinstance(column.slice, ast.Constant):
            if isinstance(column.slice.value, str) and isinstance(column.value, ast.Name):
                return column.value.id, column.slice.value
    return None
