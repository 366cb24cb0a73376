"""Held-out rows that a script puts among its training rows and then evaluates, followed by their names."""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_in, of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.syntax import Function, Script
from ..shared.checks import at
from ..shared.nodes import assigned
from ..shared.sides import given, side

_JOINS = ("concatenate", "concat", "cat", "vstack", "hstack", "append", "ConcatDataset")
# rows whose labels are not used, or that are held out by something else
_ASIDE = re.compile(r"(?i)pseudo|unlabel|semi_?sup|transduc|refit|retrain")
_WRAPS = re.compile(r"(?i)dataset$|loader$|eval|valid|test|predict|score")


def held_out_rows_joined(source: Script) -> Finding | None:
    """`train_x = np.concatenate([train_x, val_x])`, and `val_x` is evaluated further down.

    `both = ConcatDataset([train_set, val_set])`, of which the training loader is made.
    """
    for node in source.of(ast.Assign):
        for target, value in _pairs(node):
            listed = _listed(value)
            parts = [e.value if isinstance(e, ast.Subscript) else e for e in listed]
            if len(parts) < 2 or not all(isinstance(p, ast.Name) for p in parts):
                continue
            names = list(map(unparse, parts))
            if {side(n) for n in names} != {True, False} or _ASIDE.search(source.code):
                continue
            if not (side(target) is True and target in names) and not _learned(source, target, node):
                continue
            for one, name in zip(listed, names, strict=True):
                if side(name) is not False or not _goes_on(source, name, node):
                    continue
                if not _cut_again(source.function_around(node) or source.tree, one, name):
                    return at(source, node, f"`{name}` is trained on, and evaluated as held-out data")
    return None


def _pairs(node: ast.Assign) -> list[tuple[str, ast.expr]]:
    """Names with what each of them is given."""
    return [(unparse(t), v) for t, v in assigned(node) if isinstance(t, (ast.Name, ast.Attribute))]


def _listed(value: ast.expr) -> list[ast.expr]:
    """The parts that are joined: of a call, or of `np.r_[a, b]`."""
    if isinstance(value, ast.Subscript) and last_name(value.value) == "r_":
        return list(value.slice.elts) if isinstance(value.slice, ast.Tuple) else []
    if not isinstance(value, ast.Call) or last_name(value.func) not in _JOINS:
        return []
    return [e for a in value.args for e in (a.elts if isinstance(a, (ast.List, ast.Tuple)) else [a])]


def _learned(source: Script, name: str, join: ast.Assign) -> bool:
    """A data set or a loader for training is made of the whole of it further down."""
    for one in given(source):
        call = one.value
        if not one.learns or one.scope is not source.function_around(join) or not isinstance(call, ast.Call):
            continue
        if (
            not re.search(r"(?:Dataset|Loader)$", last_name(call.func))
            or getattr(one.node, "lineno", 0) <= join.lineno
        ):
            continue
        cut = any(name == unparse(s.value) for s in of(call, ast.Subscript))
        if name in {unparse(n) for n in of(call, ast.Name, ast.Attribute)} and not cut:
            return True
    return False


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
