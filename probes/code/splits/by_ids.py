"""Splits of scripts by groups: rows are chosen by the ids of a part, `table[table["patient"].isin(ids)]`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.nodes import paired
from ..shared.roles import TARGET_WORDS
from ..shared.sides import side
from .rows_met import learned_from

_ROWS = ("loc", "iloc", "values")


def learned_beside_ids(source: Script) -> ast.AST | None:
    """`scaler.fit(table[columns])` where the parts are `table[table["id"].isin(ids)]` of either side."""
    parts = _parts_by_ids(source)
    for call in source.calls:
        about = learned_from(source, call)
        table = _whole_table(about) if about is not None else None
        if about is None or table is None or parts.get(table.id) != {True, False}:
            continue
        if source.function_around(call) is None and not TARGET_WORDS.search(unparse(about).lower()):
            return call
    return None


def _whole_table(about: ast.expr) -> ast.Name | None:
    """The table of which all rows are meant: `table`, `table[columns]`, `table[["a", "b"]].values`."""
    while True:
        if isinstance(about, ast.Attribute) and about.attr in ("values", "T"):
            about = about.value
        elif isinstance(about, ast.Call) and last_name(about.func) in (
            "to_numpy",
            "astype",
            "fillna",
            "copy",
        ):
            inner = about.func.value if isinstance(about.func, ast.Attribute) else None
            if inner is None:
                return None
            about = inner
        elif isinstance(about, ast.Subscript) and isinstance(about.slice, (ast.Name, ast.List, ast.Constant)):
            if (
                isinstance(about.slice, ast.Name)
                and not about.slice.id.isupper()
                and not _lists(about.slice.id)
            ):
                return None
            about = about.value
        else:
            return about if isinstance(about, ast.Name) else None


def _lists(name: str) -> bool:
    return any(w in name.lower() for w in ("col", "feat", "num", "cat", "vars", "fields", "inputs"))


def _parts_by_ids(source: Script) -> dict[str, set[bool]]:
    """Tables, and the sides that rows of them are chosen for by ids."""
    found: dict[str, set[bool]] = {}
    for call in source.named("isin"):
        subscript = next((p for p in source.above(call) if isinstance(p, ast.Subscript)), None)
        if subscript is None or not call.args or call not in of(subscript.slice, ast.Call):
            continue
        held: ast.expr = subscript.value
        while isinstance(held, ast.Attribute) and held.attr in _ROWS:
            held = held.value
        if isinstance(held, ast.Name):
            found.setdefault(held.id, set()).update(_sides(source, call.args[0]))
    return found


def _sides(source: Script, ids: ast.expr) -> Iterator[bool]:
    told = side(unparse(ids))
    if told is not None:
        yield told
    elif isinstance(ids, ast.Name):
        yield from (s for a in flow(source).arguments(ids) if (s := side(unparse(a))) is not None)


def one_cut_twice(source: Script) -> Finding | None:
    """`train_ids, val_ids = ids[a], ids[a]`, `return rows[n:], rest, rest`: two parts are one."""
    for node in source.of(ast.Assign):
        if not isinstance(node.targets[0], ast.Tuple) or source.loops_around(node):
            continue
        pairs = [(unparse(t), v) for t, v in paired(node.targets[0], node.value)]
        taught = {unparse(v) for n, v in pairs if side(n) is True and _is_cut(v)}
        for name, value in pairs:
            if side(name) is False and unparse(value) in taught and not TARGET_WORDS.search(name.lower()):
                return at(source, node, f"`{name}` holds the rows that are trained on")
    for end in source.of(ast.Return):
        ends = end.value.elts if isinstance(end.value, ast.Tuple) else []
        told = [unparse(e) for e in ends]
        if len(told) == 3 and told[1] == told[2] != told[0] and side(told[1]) is False and _cut_off(ends[0]):
            return at(source, end, f"`{told[1]}` is handed back twice: the best is chosen by what is tested")
    return None


def _is_cut(value: ast.expr) -> bool:
    return isinstance(value, ast.Subscript) and not isinstance(value.slice, ast.Constant)


def _cut_off(value: ast.expr) -> bool:
    """Some of the rows are cut off what is trained on, as if something else were made of them."""
    return isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Slice)
