"""Batches that are dicts in one program and tuples in the other: the entries as if they were unpacked."""

from __future__ import annotations

import ast
from functools import lru_cache

from ..readers._tree import of
from ..readers.script import last_name
from ..scripts.syntax import Script

_GIVES = ("__getitem__", "__iter__", "__call__")


@lru_cache(maxsize=64)
def entries(source: Script) -> tuple[str, ...]:
    """The entries of the only dict that samples or batches are made as, in order; () where none is."""
    found = {tuple(_keys(d)) for d in _made(source)}
    return found.pop() if len(found) == 1 else ()


def _made(source: Script) -> list[ast.Dict]:
    """Dicts that `__getitem__` and collators return."""
    return [
        node.value
        for function in source.of(ast.FunctionDef)
        if function.name in _GIVES or "collate" in function.name.lower()
        for node in of(function, ast.Return)
        if isinstance(node.value, ast.Dict) and len(node.value.keys) > 1 and _keys(node.value)
    ]


def _keys(node: ast.Dict) -> list[str]:
    found = [k.value for k in node.keys if isinstance(k, ast.Constant) and isinstance(k.value, str)]
    return found if len(found) == len(node.keys) and all(k.isidentifier() for k in found) else []


@lru_cache(maxsize=64)
def unpacked(source: Script) -> dict[ast.AST, tuple[str, ...]]:
    """Loops over such batches, their entries and the dicts -> the names that stand for them.

    Only where every batch is asked for its entries by name, and nothing else is done with it.
    """
    names = entries(source)
    found: dict[ast.AST, tuple[str, ...]] = {}
    for loop in source.of(ast.For) if names else ():
        target = loop.target
        if isinstance(target, ast.Tuple) and isinstance(loop.iter, ast.Call):
            target = target.elts[-1] if last_name(loop.iter.func) == "enumerate" else target
        if not isinstance(target, ast.Name):
            continue
        uses = [n for n in of(loop, ast.Name) if n.id == target.id and isinstance(n.ctx, ast.Load)]
        asked = [source.parents.get(n) for n in uses]
        if not uses or not all(isinstance(a, ast.Subscript) and _key(a) in names for a in asked):
            continue
        found[target] = names
        found.update({a: (_key(a),) for a in asked if isinstance(a, ast.Subscript)})
    if found:
        found.update(dict.fromkeys(_made(source), names))
    return found


def _key(node: ast.AST | None) -> str:
    """The entry that is asked for: "words" of `batch["words"]`."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return str(node.slice.value)
    return ""


def in_tuples(source: Script) -> bool:
    """Whether samples or batches are handed on as tuples."""
    return any(
        isinstance(node.value, ast.Tuple) and len(node.value.elts) > 1
        for function in source.of(ast.FunctionDef)
        if function.name in _GIVES or "collate" in function.name.lower()
        for node in of(function, ast.Return)
    )
