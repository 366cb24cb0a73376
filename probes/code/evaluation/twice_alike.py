"""Two names that a script compares and that it gave one and the same value: `a, b = p > 0, p > 0`."""

from __future__ import annotations

import ast

from ...readers._tree import names_in, of, unparse
from ...registry import Finding
from ...scripts.syntax import Script
from ..shared.checks import at

_JOINS = (ast.BitAnd, ast.BitOr, ast.Sub)


def one_value_under_two_names(source: Script) -> Finding | None:
    """Both names stand on the two sides of one comparison, difference or intersection."""
    for node in source.of(ast.Assign):
        target, value = node.targets[0], node.value
        if not isinstance(target, ast.Tuple) or not isinstance(value, ast.Tuple) or len(value.elts) != 2:
            continue
        one, other = value.elts
        if unparse(one) != unparse(other) or not isinstance(one, (ast.Compare, ast.Subscript, ast.BinOp)):
            continue
        names = [t.id for t in target.elts if isinstance(t, ast.Name)]
        if len(names) != 2 or not names_in(one):
            continue
        scope = source.function_around(node) or source.tree
        stored = [n.id for n in of(scope, ast.Name) if isinstance(n.ctx, ast.Store)]
        if any(stored.count(n) > 1 for n in names):
            continue  # each goes its own way from here
        for pair in of(scope, ast.BinOp):
            sides = {unparse(pair.left), unparse(pair.right)}
            if isinstance(pair.op, _JOINS) and sides == set(names):
                return at(
                    source,
                    node,
                    f"`{names[0]}` and `{names[1]}` are the same, and one is held against the other",
                )
    return None
