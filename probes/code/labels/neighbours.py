"""Pairs of input and target in scripts whose target is that of the pair before or behind."""

from __future__ import annotations

import ast

from ...readers._tree import names_in, of
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.syntax import Script
from ..shared.checks import at, ok


def neighbour_paired(source: Script) -> Finding | None:
    """`[(x, pairs[i - 1][1]) for i, (x, _) in enumerate(pairs)]`: each input gets a neighbour's target.

    The own target is taken apart and thrown away. Of a list that holds one thing each, the next item is what
    a sequence goes on with.
    """
    seen: ast.AST | None = None
    for node in source.of(ast.ListComp, ast.GeneratorExp):
        each = node.generators[0]
        counts = isinstance(each.iter, ast.Call) and last_name(each.iter.func) == "enumerate"
        if len(node.generators) > 1 or not counts or not isinstance(each.target, ast.Tuple):
            continue
        number, pair = each.target.elts[0], each.target.elts[-1]
        if not isinstance(number, ast.Name) or not isinstance(pair, ast.Tuple) or not _is_pair(node.elt):
            continue
        seen = seen or node
        kept = [n for n in pair.elts if isinstance(n, ast.Name) and n.id in names_in(node.elt)]
        if len(kept) != len(pair.elts) - 1:
            continue
        for part in node.elt.elts if isinstance(node.elt, ast.Tuple) else ():
            if any(_beside(s.slice, number.id) for s in of(part, ast.Subscript)):
                return at(source, node, "each input is paired with the target of its neighbour")
    return ok(source, seen, "inputs keep their own targets") if seen is not None else None


def _is_pair(node: ast.expr) -> bool:
    return isinstance(node, ast.Tuple) and len(node.elts) > 1


def _beside(index: ast.expr, number: str) -> bool:
    """`i - 1`, `i + 3`, `(i + 1) % len(pairs)`."""
    if isinstance(index, ast.BinOp) and isinstance(index.op, ast.Mod):
        index = index.left
    if not isinstance(index, ast.BinOp) or not isinstance(index.op, (ast.Add, ast.Sub)):
        return False
    return (
        isinstance(index.left, ast.Name)
        and index.left.id == number
        and isinstance(index.right, ast.Constant)
        and index.right.value != 0
    )
