"""Means and deviations put to one use alone: answers are turned back by them, and no input is turned."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..shared.checks import at
from ..shared.nodes import assigned

_SPREADS = ("std", "nanstd", "std_dev", "reduce_std")
_CENTRES = ("mean", "nanmean", "reduce_mean", "median")
_KEPT = re.compile(r"(?i)save|dump|json|print|log|write|checkpoint|state")
_TURNS = re.compile(
    r"(?i)^(?:forward|transform|scale|normali[sz]e|standardi[sz]e|encode|apply|to_\w+|__call__)$"
)


def turned_back_alone(source: Script) -> Finding | None:
    """`mean, std = x.mean(0), x.std(0)`, `net(x) * std + mean`, and nothing is divided by `std`."""
    if source.loose:
        return None
    return _both_unread(source) or _by_figures(source) or _by_methods(source)


def _figures(source: Script) -> Iterator[tuple[ast.Assign, str, str]]:
    """Statements, or neighbours, that work out a mean and a deviation: their names."""
    for node in source.of(ast.Assign):
        pairs = assigned(node)
        kinds = {_kind(v): unparse(t) for t, v in pairs if isinstance(t, ast.Name)}
        if {"centre", "spread"} <= set(kinds):
            yield node, kinds["centre"], kinds["spread"]


def _kind(value: ast.expr) -> str:
    """Which figure an expression works out, maybe with a floor: "centre", "spread"."""
    while isinstance(value, ast.BinOp) and isinstance(value.right, ast.Constant):
        value = value.left
    name = last_name(value.func) if isinstance(value, ast.Call) else ""
    if name in ("clip", "clamp", "maximum", "clamp_min") and isinstance(value, ast.Call):
        inner = value.func.value if isinstance(value.func, ast.Attribute) else None
        found = [_kind(v) for v in (*([inner] if inner is not None else []), *value.args)]
        return "spread" if "spread" in found else ""
    return "spread" if name in _SPREADS else "centre" if name in _CENTRES else ""


def _both_unread(source: Script) -> Finding | None:
    for node, centre, spread in _figures(source):
        scope = source.function_around(node)
        within = of(scope, ast.Name) if scope is not None else source.of(ast.Name)
        read = {n.id for n in within if isinstance(n.ctx, ast.Load)}
        shared = scope is None and {centre, spread} & set(source.mentions)
        if not shared and centre not in read and spread not in read:
            return at(source, node, "mean and deviation are worked out here, and nothing is scaled by them")
    return None


def _by_figures(source: Script) -> Finding | None:
    for node, centre, spread in _figures(source):
        names = _called_too(source, {spread})
        centres = _called_too(source, {centre})
        uses = [n for n in source.of(ast.Name) if n.id in names and isinstance(n.ctx, ast.Load)]
        if not uses or any(_goes_elsewhere(source, u, names) for u in uses):
            continue
        back = [u for u in uses if _turns_back(source, u, centres)]
        if back:
            why = "the mean and deviation that turn answers back scale no input: nothing is divided by them"
            return at(source, node, why)
    return None


def _called_too(source: Script, names: set[str]) -> set[str]:
    """The names, and those of parameters of the program's functions that they are handed to."""
    found = set(names)
    for call in source.calls:
        for function in flow(source).called(call):
            own = [a.arg for a in function.args.args]
            start = 1 if own[:1] == ["self"] else 0
            for place, given in enumerate(call.args):
                inner = given.value if isinstance(given, ast.Subscript) else given
                if isinstance(inner, ast.Name) and inner.id in names and place + start < len(own):
                    found.add(own[place + start])
            for named in call.keywords:
                inner = named.value.value if isinstance(named.value, ast.Subscript) else named.value
                if isinstance(inner, ast.Name) and inner.id in names and named.arg:
                    found.add(named.arg)
    return found


def _goes_elsewhere(source: Script, use: ast.Name, names: set[str]) -> bool:
    """It is divided by, or handed to what is not known: a tuple, a mapping, a call of another package."""
    node: ast.AST = use
    for parent in source.above(use):
        if isinstance(parent, ast.BinOp) and isinstance(parent.op, (ast.Div, ast.FloorDiv, ast.Pow)):
            return True
        if isinstance(parent, ast.AugAssign) and isinstance(parent.op, ast.Div):
            return True
        plain = isinstance(node, (ast.Name, ast.Subscript))
        if isinstance(parent, ast.Call) and parent.func is not node:
            if not plain and not isinstance(node, ast.keyword):
                return False  # what was made of it, and not the figure itself
            named = next((k.arg for k in parent.keywords if k is node), None)
            own = flow(source).called(parent)
            handed = any({a.arg for a in f.args.args} & names for f in own)
            return (not handed and named is None) or (named is not None and named not in names)
        if isinstance(
            parent, (ast.Tuple, ast.List, ast.Dict, ast.Return, ast.Lambda, ast.Compare, ast.Assign)
        ):
            return plain
        if isinstance(parent, ast.stmt):
            return False
        node = parent
    return False


def _turns_back(source: Script, use: ast.Name, centres: set[str]) -> bool:
    """`answer * std + mean`."""
    node: ast.AST = use
    for parent in source.above(use):
        if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Mult):
            outer = source.parents.get(parent)
            if isinstance(outer, ast.BinOp) and isinstance(outer.op, ast.Add):
                told = {n.id for n in of(outer, ast.Name)}
                return bool(told & centres)
            return False
        if not isinstance(parent, ast.Subscript):
            return False
        node = parent
    return node is None


def _by_methods(source: Script) -> Finding | None:
    """A class that scales and turns back, of which the program asks the second alone."""
    for owner in source.of(ast.ClassDef):
        if owner in source.modules or any(
            last_name(b)[:1].isupper() and last_name(b) not in _PLAIN for b in owner.bases
        ):
            continue
        methods = [f for f in owner.body if isinstance(f, ast.FunctionDef)]
        there = [f for f in methods if _TURNS.match(f.name) and _scales(f)]
        back = [f for f in methods if not _scales(f) and _unscales(f)]
        if len(there) != 1 or len(back) != 1:
            continue
        asked = {last_name(c.func) for c in source.calls}
        told = set(source.mentions) | {n.id for n in source.of(ast.Name)}
        if there[0].name != "__call__" and there[0].name not in told and back[0].name in asked:
            return at(
                source, there[0], f"answers are turned back, and nothing goes through `{there[0].name}`"
            )
    return None


_PLAIN = ("NamedTuple", "object", "Generic", "Protocol")


def _scales(function: Function) -> bool:
    return any(
        isinstance(n.op, ast.Div)
        and isinstance(n.left, ast.BinOp)
        and isinstance(n.left.op, ast.Sub)
        and "self." in unparse(n.right)
        for n in of(function, ast.BinOp)
    )


def _unscales(function: Function) -> bool:
    return any(
        isinstance(n.op, ast.Add)
        and isinstance(n.left, ast.BinOp)
        and isinstance(n.left.op, ast.Mult)
        and "self." in unparse(n.left)
        for n in of(function, ast.BinOp)
    )
