"""Sets and lists that a script asks and never fills: `j not in taken`, and nothing is ever taken."""

from __future__ import annotations

import ast

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.syntax import Script
from ..shared.checks import at


def asked_and_never_filled(source: Script) -> Finding | None:
    """An empty set, list or mapping is asked what it holds, and the function puts nothing in."""
    for node in source.of(ast.Assign):
        function = source.function_around(node)
        target = node.targets[0]
        if function is None or len(node.targets) != 1 or not isinstance(target, ast.Name):
            continue
        if not _is_empty(node.value):
            continue
        name = target.id
        reads = [n for n in of(function, ast.Name) if n.id == name and isinstance(n.ctx, ast.Load)]
        stores = [n for n in of(function, ast.Name) if n.id == name and not isinstance(n.ctx, ast.Load)]
        if not reads or any(not _is_asked(source, r) for r in reads):
            continue
        if any(
            isinstance(s, (ast.Global, ast.Nonlocal)) and name in s.names
            for s in of(function, ast.Global, ast.Nonlocal)
        ):
            continue
        if all(_is_empty(v) for s in stores if (v := _given(source, s)) is not None) and all(
            _given(source, s) is not None for s in stores
        ):
            return at(source, reads[0], f"`{name}` is asked what it holds, and nothing is ever put into it")
    return None


def _is_empty(value: ast.expr) -> bool:
    if isinstance(value, (ast.List, ast.Dict)):
        return not (value.elts if isinstance(value, ast.List) else value.keys)
    return (
        isinstance(value, ast.Call)
        and last_name(value.func) in ("set", "list", "dict")
        and not (value.args or value.keywords)
        and unparse(value.func) in ("set", "list", "dict")
    )


def _given(source: Script, name: ast.Name) -> ast.expr | None:
    statement = source.parents.get(name)
    return statement.value if isinstance(statement, ast.Assign) else None


def _is_asked(source: Script, name: ast.Name) -> bool:
    """It stands right of `in`."""
    parent = source.parents.get(name)
    return (
        isinstance(parent, ast.Compare)
        and any(isinstance(o, (ast.In, ast.NotIn)) for o in parent.ops)
        and parent.left is not name
    )
