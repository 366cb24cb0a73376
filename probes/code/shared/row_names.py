"""The rows that the names of a script are last given."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import lru_cache

from ...readers._tree import unparse
from ...scripts.conditions import asks_main
from ...scripts.syntax import Function, Script
from .row_sets import Rows
from .rows import rows_of


@dataclass(frozen=True)
class Named:
    """The last rows that a name of a function is given."""

    name: str
    node: ast.Assign
    rows: Rows
    scope: Function | None


@lru_cache(maxsize=16)
def names_given(source: Script) -> tuple[Named, ...]:
    """What the names of a script hold rows of, where it is known; those set in a branch left out."""
    last: dict[tuple[ast.AST | None, str], tuple[ast.Assign, ast.expr, tuple[int, ...]]] = {}
    for node in sorted(source.of(ast.Assign), key=lambda n: n.lineno):
        for target in node.targets:
            for at, item in enumerate(target.elts) if isinstance(target, ast.Tuple) else [(None, target)]:
                if isinstance(item, (ast.Name, ast.Attribute)):
                    own = isinstance(item, ast.Attribute) and unparse(item.value) == "self"
                    scope = source.class_around(node) if own else source.function_around(node)
                    last[scope, unparse(item)] = (node, node.value, () if at is None else (at,))
    reader, found = rows_of(source), []
    for (_, name), (node, value, places) in last.items():
        if _in_branch(source, node):
            continue
        rows = reader.given(value, places)
        if rows is not None and rows.table != "numbers":
            found.append(Named(name, node, rows, source.function_around(node)))
    return tuple(found)


def _in_branch(source: Script, node: ast.AST) -> bool:
    scope = source.function_around(node)
    for parent in source.above(node):
        if parent is scope:
            return False
        if isinstance(parent, ast.Try) or (isinstance(parent, ast.If) and not asks_main(parent.test)):
            return True
    return False
