"""Held-out rows that a script puts among its training rows and then evaluates, followed by their names."""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_in, of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.syntax import Function, Script
from ..shared.checks import at
from ..shared.sides import given, side

_JOINS = ("concatenate", "concat", "cat", "vstack", "hstack", "append")
# rows whose labels are not used, or that are held out by something else
_ASIDE = re.compile(r"(?i)pseudo|unlabel|semi_?sup|transduc|refit|retrain|final")
_WRAPS = re.compile(r"(?i)dataset$|loader$|eval|valid|test|predict|score")


def held_out_rows_joined(source: Script) -> Finding | None:
    """`train_x = np.concatenate([train_x, val_x])`, and `val_x` is evaluated further down."""
    for mine in given(source):
        value = mine.value
        if not mine.learns or not isinstance(value, ast.Call) or last_name(value.func) not in _JOINS:
            continue
        listed = [e for a in value.args for e in (a.elts if isinstance(a, (ast.List, ast.Tuple)) else [a])]
        parts = [e.value if isinstance(e, ast.Subscript) else e for e in listed]
        if not all(isinstance(p, ast.Name) for p in parts) or mine.name not in map(unparse, parts):
            continue
        for one, part in zip(listed, parts, strict=True):
            name = unparse(part)
            if side(name) is not False or _ASIDE.search(source.code):
                continue
            if not _cut_again(mine.scope or source.tree, one, name) and _goes_on(source, name, mine.node):
                return at(source, mine.node, f"`{name}` is trained on, and evaluated as held-out data")
    return None


def _cut_again(scope: Function | ast.AST, one: ast.expr, name: str) -> bool:
    """Another part of the held-out rows is taken: `val_x[:400]` is trained on and `val_x[400:]` is not."""
    return any(
        n is not one and isinstance(n.value, ast.Name) and n.value.id == name and unparse(n) != unparse(one)
        for n in of(scope, ast.Subscript)
    )


def _goes_on(source: Script, name: str, node: ast.AST) -> bool:
    """What is made of the rows below stands under a name of held-out data, or is scored."""
    here, names = source.function_around(node), {name}
    line = getattr(node, "lineno", 0)
    below = [
        n for n in source.of(ast.Assign, ast.Expr) if n.lineno > line and source.function_around(n) is here
    ]
    for step in below:
        if not names & names_in(step.value):
            continue
        calls = of(step.value, ast.Call)
        told = [unparse(t) for t in step.targets] if isinstance(step, ast.Assign) else []
        if any(_WRAPS.search(last_name(c.func)) and names & names_in(c) for c in calls):
            if not told or any(side(t) is False for t in told):
                return True
        names |= {t for t in told if side(t) is False}
    return False
