"""Batches of scripts whose parts are of unlike rows: one picked by an order, the other by its place."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at, ok

_ORDERS = ("permutation", "randperm", "argsort", "sample")
_WRAPS = ("from_numpy", "tensor", "as_tensor", "array", "asarray", "list", "long", "to", "tolist")


def rows_by_order_and_by_place(source: Script) -> Finding | None:
    """`rows = order[i:j]`, and then `x[rows], y[i:j]`: the inputs follow an order, the labels do not.

    Also two lists of one batch, of which one goes over `reversed(batch)` or `sorted(batch)`.
    """
    seen: ast.AST | None = None
    for pick, name, cut in _picks(source):
        scope = source.function_around(pick) or source.tree
        for node in of(scope, ast.Tuple, ast.Dict, ast.DictComp, ast.IfExp):
            if isinstance(getattr(node, "ctx", None), ast.Store):
                continue
            parts = list(_rows(node))
            by_order = [p for p in parts if unparse(p.slice) == name]
            by_place = [p for p in parts if isinstance(p.slice, ast.Slice) and unparse(p.slice) == cut]
            if by_order:
                seen = seen or node
            if by_order and by_place and not _order(source, by_place[0].value):
                return at(source, by_place[0], f"this is taken by its place, and the rest by `{name}`")
    apart = _lists_of_one_batch(source)
    if apart is not None:
        return at(source, apart, "one list goes over the batch in another order than the rest")
    return ok(source, seen, "the parts of a batch are of the same rows") if seen is not None else None


def _picks(source: Script) -> Iterator[tuple[ast.Assign, str, str]]:
    """`rows = order[i:j]` of an order that is drawn or sorted: the statement, `rows`, `i:j`."""
    for node in source.of(ast.Assign):
        target, value = node.targets[0], node.value
        while isinstance(value, ast.Call) and last_name(value.func) in _WRAPS:
            if not value.args:
                break
            value = value.args[0]
        if isinstance(target, ast.Name) and isinstance(value, ast.Subscript):
            if isinstance(value.slice, ast.Slice) and _order(source, value.value):
                yield node, target.id, unparse(value.slice)


def _order(source: Script, node: ast.expr) -> bool:
    """An order of rows: drawn, sorted, or shuffled where it lies."""
    if not isinstance(node, (ast.Name, ast.Attribute)):
        return False
    made = [c for v in flow(source).values(node, 3) for c in of(v, ast.Call)]
    if any(last_name(c.func) in _ORDERS for c in made):
        return True
    return any(c.args and unparse(c.args[0]) == unparse(node) for c in source.named("shuffle"))


def _rows(node: ast.AST) -> Iterator[ast.Subscript]:
    """The subscripts that stand for parts of a batch: of names, with whatever is done to them."""
    if isinstance(node, ast.IfExp):
        found = [node.body, node.orelse]
        same = {unparse(f.value) for f in found if isinstance(f, ast.Subscript)}
        if len(same) == 1:
            yield from (f for f in found if isinstance(f, ast.Subscript))
        return
    values = node.elts if isinstance(node, ast.Tuple) else getattr(node, "values", [])
    for value in values:
        for part in of(value, ast.Subscript):
            if isinstance(part.value, (ast.Name, ast.Attribute)):
                yield part


def _lists_of_one_batch(source: Script) -> ast.AST | None:
    """`[x for x, _ in batch]` and `[y for _, y in reversed(batch)]` in one function."""
    for function in source.of(ast.FunctionDef):
        loops = [g for c in of(function, ast.ListComp, ast.GeneratorExp) for g in c.generators]
        plain = {g.iter.id for g in loops if isinstance(g.iter, ast.Name) and not g.ifs}
        plain &= {a.arg for a in function.args.args}
        for loop in loops if plain else ():
            over = loop.iter
            turned = None
            if isinstance(over, ast.Call) and last_name(over.func) in ("reversed", "sorted") and over.args:
                turned = over.args[0]
            elif isinstance(over, ast.Subscript) and unparse(over.slice) == "::-1":
                turned = over.value
            if isinstance(turned, ast.Name) and turned.id in plain and isinstance(loop.target, ast.Tuple):
                return over
    return None
