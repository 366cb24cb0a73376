"""What arrays and lists of labels are filled with in scripts, beside the label that the loss leaves out."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse
from ...readers.script import argument, keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow, losses
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
        return _padding_learnt(source) if ignored is not None else None
    seen: ast.AST | None = None
    for node, value in (*arrays_filled(source), *_lists(source), *_shifted(source)):
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


def _padding_learnt(source: Script) -> Finding | None:
    """Targets are padded with `PAD`, and the cross entropy neither leaves it out nor gives it no weight."""
    filled = (*arrays_filled(source), *_shifted(source))
    made = [(n, v) for n, v in filled if v is not None and _PAD.search(unparse(v))]
    calls = [c for c, kind in losses(source) if kind in ("crossentropyloss", "cross_entropy")]
    if not made or not calls or source.loose:
        return None
    number = literal(source, made[0][1])
    if not isinstance(number, int) or number < 0 or _BY_HAND.search(source.code):
        return None
    mine, weighed = flow(source), []
    for call in calls:
        built = [v for v in mine.values(call.func, 4) if isinstance(v, ast.Call)]
        for one in (call, *built):
            if any(k.arg is None or k.arg == "reduction" for k in one.keywords):
                return None
            first = one.args[0] if one is not call and one.args else None
            weighed += [w for w in (keyword(one, "weight"), first) if w is not None]
    if not weighed:
        return at(source, made[0][0], "targets are padded with a token, and the loss leaves out nothing")
    names = {n.id for w in weighed for n in of(w, ast.Name)}
    zeros = [
        n.targets[0]
        for n in source.of(ast.Assign)
        if isinstance(n.targets[0], ast.Subscript) and unparse(n.targets[0].value) in names
    ]
    plain = any(
        isinstance(n.targets[0], ast.Name)
        and n.targets[0].id in names
        and isinstance(n.value, ast.Call)
        and last_name(n.value.func) == "ones"
        for n in source.of(ast.Assign)
    )
    if plain and not any(literal(source, z.slice) == number or isinstance(z.slice, ast.Slice) for z in zeros):
        return at(source, made[0][0], "targets are padded with a token that has its full weight in the loss")
    return None


_PAD = re.compile(r"(?i)(?:^|[._])pad(?:ding)?(?:_?(?:id|idx|index|token_id|token))?$")
# what weighs or picks single places by hand
_BY_HAND = re.compile(
    r"(?i)\[\w*mask\w*\]|\* ?\w*mask|mask\w* ?\*|masked_select|loss_mask|reduction=|reduce=False"
)


def arrays_filled(source: Script) -> Iterator[tuple[ast.AST, ast.expr | None]]:
    """Arrays of labels that are made whole and then filled row by row from the left; with what they hold."""
    for node in source.of(ast.Assign):
        target, call = node.targets[0], node.value
        if not isinstance(target, ast.Name) or not isinstance(call, ast.Call) or not is_label(target.id):
            continue
        name = last_name(call.func)
        if name == "fill_" and len(call.args) == 1:
            value = call.args[0]
        elif name in _ZEROS:
            value = None
        elif name in _FULL:
            value = argument(call, "fill_value", position=1)
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


def _shifted(source: Script) -> Iterator[tuple[ast.AST, ast.expr | None]]:
    """`ids = pad_sequence(rows, padding_value=PAD)`, and `ids[:, 1:]` is what is told."""
    picked = (v for s in source.of(ast.Subscript) for v in (s.slice, *flow(source).values(s.slice, 2)))
    if _BY_HAND.search(source.code) or any(isinstance(v, ast.Compare) for v in picked):
        return  # places may be left out by hand
    for call in source.named("pad_sequence"):
        statement = source.statement(call)
        if not isinstance(statement, ast.Assign) or source.parents.get(call) is not statement:
            continue
        target = statement.targets[0]
        if not isinstance(target, ast.Name):
            continue
        scope = source.function_around(call) or source.tree
        cuts = {_from_second(s) for s in of(scope, ast.Subscript) if unparse(s.value) == target.id}
        stored = {s for s in of(scope, ast.Subscript) if isinstance(s.ctx, ast.Store)}
        if {True, False} <= cuts and not stored and not _written_over(scope, target.id):
            value = argument(call, "padding_value", position=2)
            yield statement, value


def _from_second(cut: ast.Subscript) -> bool | None:
    """True of `ids[:, 1:]`, False of `ids[:, :-1]`."""
    text = unparse(cut.slice).replace(" ", "").strip("()")
    return {":,1:": True, ":,:-1": False}.get(text)


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
