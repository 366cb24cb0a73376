"""What arrays and lists of labels are filled with in scripts, beside the label that the loss leaves out."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...readers._tree import of, unparse
from ...readers.script import keyword, last_name
from ...registry import Finding
from ...scripts.syntax import Script
from ..shared.checks import at, ok
from ..shared.sides import literal
from .marks import ignored_labels, is_label

_ZEROS = ("zeros", "zeros_like", "new_zeros")
_FULL = ("full", "full_like", "new_full")


def filled_with_a_class(source: Script) -> Finding | None:
    """`labels = zeros(n, longest)`, rows put into it from the left, and a loss that leaves out -100 alone.

    Also `[0] * len(prompt) + answer`. Told only where the loss names what it leaves out (`ignore_index`), and
    where nothing else is written over the rest.
    """
    ignored = ignored_labels(source)
    if not ignored:
        return None
    seen: ast.AST | None = None
    for node, value in (*_arrays(source), *_lists(source)):
        number = literal(source, value) if value is not None else 0
        if not isinstance(number, (int, float)):
            continue
        seen = seen or node
        if number not in ignored:
            left_out = ", ".join(map(str, sorted(ignored)))
            return at(
                source, node, f"places without a label get {number:g}, and the loss leaves out {left_out}"
            )
    return ok(source, seen, "places without a label are left out of the loss") if seen is not None else None


def _arrays(source: Script) -> Iterator[tuple[ast.AST, ast.expr | None]]:
    """Arrays of labels that are made whole and then filled row by row from the left; with what they hold."""
    for node in source.of(ast.Assign):
        target, call = node.targets[0], node.value
        if not isinstance(target, ast.Name) or not isinstance(call, ast.Call) or not is_label(target.id):
            continue
        name = last_name(call.func)
        if name in _ZEROS:
            value = None
        elif name in _FULL:
            value = keyword(call, "fill_value") or (call.args[1] if len(call.args) > 1 else None)
            if value is None:
                continue
        else:
            continue
        scope = source.function_around(node) or source.tree
        writes = [
            t
            for n in of(scope, ast.Assign, ast.AugAssign)
            for t in (n.targets if isinstance(n, ast.Assign) else [n.target])
            if isinstance(t, ast.Subscript) and unparse(t.value) == target.id
        ]
        if writes and all(map(_from_left, writes)) and not _written_over(scope, target.id):
            yield node, value


def _from_left(target: ast.Subscript) -> bool:
    """`y[i, :n] = ...`: the rest of a row stays as it was."""
    places = target.slice.elts if isinstance(target.slice, ast.Tuple) else []
    if len(places) != 2 or not isinstance(places[0], ast.Name) or not isinstance(places[1], ast.Slice):
        return False
    return places[1].lower is None and places[1].upper is not None and places[1].step is None


def _written_over(scope: ast.AST, name: str) -> bool:
    """A call writes into it, or gives back a copy with other values: `y.masked_fill(...)`."""
    return any(
        last_name(c.func) in ("masked_fill", "masked_fill_", "where", "fill_", "copyto", "putmask", "select")
        and name in unparse(c)
        for c in of(scope, ast.Call)
    )


def _lists(source: Script) -> Iterator[tuple[ast.AST, ast.expr]]:
    """`labels = [0] * len(prompt) + answer`: what stands in for the prompt."""
    for node in source.of(ast.Assign):
        if not isinstance(node.targets[0], ast.Name) or not is_label(node.targets[0].id):
            continue
        value = node.value
        while isinstance(value, ast.Subscript):
            value = value.value
        if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Add):
            continue
        for part, other in ((value.left, value.right), (value.right, value.left)):
            repeated = isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mult)
            if not repeated or not isinstance(part, ast.BinOp) or not isinstance(part.left, ast.List):
                continue
            if (
                len(part.left.elts) == 1
                and "len(" in unparse(part.right)
                and isinstance(other, (ast.Name, ast.Attribute, ast.Subscript))
            ):
                yield node, part.left.elts[0]
