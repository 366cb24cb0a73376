"""Which functions of a script a called expression runs, where it is not called by its own name.

A closure that a function made (`loss_fn = objective(levels)`), a partial, an item of a list that a loop goes
through, an attribute that holds a function, an entry of a registry by its key.
"""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import TYPE_CHECKING

from ..readers._tree import of
from ..readers.script import last_name
from .syntax import Function, Script

if TYPE_CHECKING:
    from .flow import Flow

_DEPTH = 6
_LISTS = ("enumerate", "zip", "list", "tuple", "reversed", "values", "items")


def runs(mine: Flow, node: ast.expr, depth: int = _DEPTH) -> list[tuple[Function, int]]:
    """The functions behind a called expression, each with how many arguments are bound already."""
    if depth == 0:
        return []
    if isinstance(node, ast.IfExp):
        return [*runs(mine, node.body, depth - 1), *runs(mine, node.orelse, depth - 1)]
    if isinstance(node, ast.Subscript):
        entry = entry_of(mine, node)
        return _of_value(mine, entry, depth) if entry is not None else []
    if isinstance(node, ast.Call):
        return _made_by(mine, node, depth)
    if not isinstance(node, (ast.Name, ast.Attribute)):
        return []
    given = mine.all_given(node)
    if given:
        return [f for g in given if not g.places for f in runs(mine, g.value, depth - 1)]
    if isinstance(node, ast.Name):
        if node.id in mine.functions and mine.is_function_name(node):
            return [(f, 0) for f in mine.functions[node.id]]
        if (held := _loop_item(mine, node)) is not None:
            return _of_value(mine, held, depth)
        return [f for a in mine.arguments(node) for f in runs(mine, a, depth - 1)]
    return []


def _made_by(mine: Flow, node: ast.Call, depth: int) -> list[tuple[Function, int]]:
    """`partial(f, 0.5)`, `make_loss(levels)` whose inner function is given back, `f.to(device)`."""
    name = last_name(node.func)
    if name == "partial" and node.args:
        bound = len(node.args) - 1
        return [(f, n + bound) for f, n in runs(mine, node.args[0], depth - 1)]
    if name in ("jit", "function", "compile", "vmap") and node.args and name not in mine.functions:
        return runs(mine, node.args[0], depth - 1)
    found: list[tuple[Function, int]] = []
    makers = mine.functions.get(name, []) if isinstance(node.func, (ast.Name, ast.Attribute)) else []
    for maker in makers:
        inner = {f.name: f for f in of(maker, ast.FunctionDef) if f is not maker}
        for value in mine.given_back(maker):
            if isinstance(value, ast.Name) and value.id in inner:
                found.append((inner[value.id], 0))
    return found


def _of_value(mine: Flow, value: ast.expr, depth: int) -> list[tuple[Function, int]]:
    return runs(mine, value, depth - 1)


def _loop_item(mine: Flow, node: ast.Name) -> ast.expr | None:
    """What a loop's name stands for, where a list that is written out holds what it goes through."""
    for parent in mine.source.above(node):
        loops: list[tuple[ast.expr, ast.expr]] = []
        if isinstance(parent, (ast.ListComp, ast.GeneratorExp, ast.SetComp)):
            loops = [(g.target, g.iter) for g in parent.generators]
        elif isinstance(parent, ast.For):
            loops = [(parent.target, parent.iter)]
        for target, through in loops:
            places = _place_of(target, node.id)
            if places is not None:
                return _first_item(mine, through, places)
    return None


def _place_of(target: ast.expr, name: str) -> tuple[int, ...] | None:
    if isinstance(target, ast.Name):
        return () if target.id == name else None
    if isinstance(target, ast.Tuple):
        for i, one in enumerate(target.elts):
            inner = _place_of(one, name)
            if inner is not None:
                return (i, *inner)
    return None


def _first_item(mine: Flow, through: ast.expr, places: tuple[int, ...]) -> ast.expr | None:
    """The first item of what a loop goes through, and of it what stands at the places."""
    if isinstance(through, ast.Call) and last_name(through.func) in ("enumerate", "zip") and through.args:
        if not places:
            return None
        counts = last_name(through.func) == "enumerate"
        if counts and places[0] == 0:
            return None
        at = 0 if counts else places[0]
        return _first_item(mine, through.args[at], places[1:]) if at < len(through.args) else None
    ends = [through, *mine.values(through, 4)]
    for end in ends:
        if isinstance(end, (ast.List, ast.Tuple)) and end.elts:
            first: ast.expr | None = end.elts[0]
        elif isinstance(end, (ast.ListComp, ast.GeneratorExp)):
            first = end.elt
        else:
            continue
        for place in places:
            parts = first.elts if isinstance(first, ast.Tuple) else []
            first = parts[place] if place < len(parts) else None
        return first
    return None


# ------------------------------------------------------------------------------------------------- registries


@lru_cache(maxsize=16)
def tables(source: Script) -> dict[str, dict[str, ast.expr]]:
    """Tables of functions and classes by name: written out, filled item by item, or by a decorator."""
    found: dict[str, dict[str, ast.expr]] = {}
    for node in source.of(ast.Assign, ast.AnnAssign):
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        if isinstance(target, ast.Name) and isinstance(node.value, ast.Dict):
            if source.function_around(node) is None:
                keys = zip(node.value.keys, node.value.values, strict=True)
                found[target.id] = {
                    k.value: v for k, v in keys if isinstance(k, ast.Constant) and isinstance(k.value, str)
                }
    for node in source.of(ast.Assign):
        item = node.targets[0]
        if isinstance(item, ast.Subscript) and isinstance(item.value, ast.Name) and item.value.id in found:
            if isinstance(item.slice, ast.Constant) and isinstance(item.slice.value, str):
                found[item.value.id][item.slice.value] = node.value
    for name, table in _registering(source, frozenset(found)).items():
        for made in source.of(ast.FunctionDef, ast.ClassDef):
            for mark in made.decorator_list:
                if isinstance(mark, ast.Call) and last_name(mark.func) == name and mark.args:
                    key = mark.args[0]
                    if isinstance(key, ast.Constant) and isinstance(key.value, str):
                        found[table][key.value] = _named(made)
    return found


def _named(made: ast.FunctionDef | ast.ClassDef) -> ast.Name:
    """A name that stands for a definition, at its place."""
    return ast.copy_location(ast.Name(id=made.name, ctx=ast.Load()), made)


def _registering(source: Script, names: frozenset[str]) -> dict[str, str]:
    """Functions that make decorators which put what they decorate into a table: name -> table."""
    found: dict[str, str] = {}
    for function in source.of(ast.FunctionDef):
        for inner in of(function, ast.Assign):
            item = inner.targets[0]
            if isinstance(item, ast.Subscript) and isinstance(item.value, ast.Name):
                if item.value.id in names and function.args.args and isinstance(inner.value, ast.Name):
                    if isinstance(item.slice, ast.Name) and item.slice.id == function.args.args[0].arg:
                        found[function.name] = item.value.id
    return found


def entry_of(mine: Flow, node: ast.expr) -> ast.expr | None:
    """What `TABLE[key]` or `TABLE.get(key)` stands for, where a setting or a constant says the key."""
    table: ast.expr | None = None
    key: ast.expr | None = None
    if isinstance(node, ast.Subscript):
        table, key = node.value, node.slice
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
        table, key = (node.func.value, node.args[0]) if node.func.attr == "get" else (None, None)
    if not isinstance(table, ast.Name) or key is None:
        return None
    entries = tables(mine.source).get(table.id)
    if not entries:
        return None
    value = constant(mine, key)
    return entries.get(value) if isinstance(value, str) else None


def constant(mine: Flow, key: ast.expr) -> object:
    """A constant, behind names, or the default of a setting."""
    from ..code.shared.sides import literal  # asks the flow itself

    return literal(mine.source, key)
