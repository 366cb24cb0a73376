"""Inputs of a batch that are moved to other samples, or mixed with them, while their labels stay."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.flow import flow, returns
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.nodes import assigned, block_of
from ..shared.numbers import known
from ..shared.one_side import classifies, training_loops
from ..shared.roles import TARGET_WORDS, is_random

_MOVES = ("flip", "flipud", "roll")
# the first axis may be time, or rows are paired on purpose
_OTHERWISE = re.compile(
    r"(?i)contrast|simclr|nt_?xent|triplet|negative|siamese|pairwise|self_?sup|mixmatch|vicreg|barlow"
)
_IN_TIME = ("LSTM", "GRU", "RNN", "LSTMCell", "GRUCell", "Transformer", "TransformerEncoder", "Embedding")
LEAST = 0.3  # of another sample that makes up this much of a picture, its label has a part


def inputs_moved_alone(source: Script) -> Finding | None:
    """`x = x.flip(0)`, `x = torch.roll(x, 1, 0)` in the loop that trains: each label meets another input."""
    if not classifies(source) or _OTHERWISE.search(source.code) or source.named(*_IN_TIME):
        return None
    for node, name, loop in _rebound(source):
        if _moved(source, node.value, name) and not _labels_move(loop, name):
            return at(source, node, "inputs are moved along the batch, and their labels are not")
    return _moved_in_function(source)


def _moved_in_function(source: Script) -> Finding | None:
    """`model(jitter(x))` of a function that gives back its batch in another order."""
    for loop, names in training_loops(source):
        held = [n for n in names if not TARGET_WORDS.search(n.lower())]
        for call in of(loop, ast.Call):
            handed = call.args[0].id if call.args and isinstance(call.args[0], ast.Name) else ""
            if handed not in held or len(call.args) != 1 or not isinstance(call.func, ast.Name):
                continue
            for function in flow(source).called(call):
                ends = returns(function)
                first = function.args.args[0].arg if function.args.args else ""
                if len(ends) == 1 and _moved(source, ends[0], first) and not _labels_move(loop, handed):
                    return at(source, ends[0], "inputs are moved along the batch, and their labels are not")
    return None


def mixed_alone(source: Script) -> Finding | None:
    """`x = 0.5 * x + 0.5 * x[torch.randperm(len(x))]` with the labels of the first: nothing mixes those."""
    if not classifies(source) or _OTHERWISE.search(source.code):
        return None
    for node, name, loop in _rebound(source):
        if _mixed(source, node.value, name) and not _labels_move(loop, name):
            return at(source, node, "inputs are mixed with those of other samples, and their labels are not")
    return None


def _rebound(source: Script) -> list[tuple[ast.Assign, str, ast.For]]:
    """Statements of a loop that trains which give inputs of the batch another value made of themselves."""
    found = []
    for loop, names in training_loops(source):
        held = [n for n in names if not TARGET_WORDS.search(n.lower())]
        if len(held) == len(names):
            continue  # which of them are labels is not told
        for node in of(loop, ast.Assign):
            name = unparse(node.targets[0])
            if name in held and any(n.id == name for n in of(node.value, ast.Name)):
                found.append((node, name, loop))
    return found


def _moved(source: Script, value: ast.expr, name: str) -> bool:
    """The value is the batch in another order, by its first axis."""
    if isinstance(value, ast.Subscript) and unparse(value.value) == name:
        first = (
            value.slice.elts[0] if isinstance(value.slice, ast.Tuple) and value.slice.elts else value.slice
        )
        if isinstance(first, ast.Slice):
            return first.step is not None and unparse(first.step) == "-1"
        ways = [first, *(flow(source).values(first, 2) if isinstance(first, ast.Name) else [])]
        return any(isinstance(c, ast.Call) and last_name(c.func) in ("randperm", "permutation") for c in ways)
    if not isinstance(value, ast.Call) or last_name(value.func) not in _MOVES:
        return False
    method = isinstance(value.func, ast.Attribute) and unparse(value.func.value) == name
    if not method and not (value.args and unparse(value.args[0]) == name):
        return False
    if last_name(value.func) == "flipud":
        return True
    named = [k.value for k in value.keywords if k.arg in ("dims", "dim", "axis")]
    places = value.args if method else value.args[1:]
    axis = named or (places[1:] if last_name(value.func) == "roll" else places[:1])
    return bool(axis) and unparse(axis[0]) in ("0", "(0,)", "[0]")


def moved_together(source: Script, node: ast.AST) -> bool:
    """`x, y = x.flip(0), y.flip(0)`: inputs and labels turned alike, so another order of the pairs."""
    statement = source.statement(node)
    if not isinstance(statement, ast.Assign):
        return False
    turned: dict[str, set[str]] = {}  # how the first axis is turned: the names that are turned so
    mine: set[str] = set()
    for line in block_of(source, statement):
        for target, value in assigned(line) if isinstance(line, ast.Assign) else ():
            if isinstance(value, ast.Call) and _moved(source, value, unparse(target)):
                way = unparse(value).replace(unparse(target), "", 1)
                turned.setdefault(way, set()).add(unparse(target))
                mine |= {way} if line is statement else set()
    return bool(mine) and all(len(turned[way]) > 1 for way in mine)


def _mixed(source: Script, value: ast.expr, name: str) -> bool:
    """The batch and itself in another order are added up, `(x + x.flip(0)) / 2`, `lerp(x, x[order], 0.5)`."""
    if isinstance(value, ast.Call) and last_name(value.func) in ("lerp", "addWeighted"):
        parts = [*value.args, *([value.func.value] if isinstance(value.func, ast.Attribute) else [])]
        share = known(source, value.args[-1]) if value.args else None
        plain = any(unparse(p) == name for p in parts)
        return plain and any(_moved(source, p, name) for p in parts) and (share or 0.0) >= LEAST
    if isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Div, ast.Mult)):
        by = known(source, value.right)
        inner = value.left
        halves = by is not None and (by == 2.0 if isinstance(value.op, ast.Div) else by == 0.5)
        return halves and isinstance(inner, ast.BinOp) and _sum(source, inner, name, 0.5)
    return isinstance(value, ast.BinOp) and _sum(source, value, name, 1.0)


def _sum(source: Script, value: ast.BinOp, name: str, whole: float) -> bool:
    if not isinstance(value.op, ast.Add):
        return False
    shares: dict[bool, float] = {}
    for side in (value.left, value.right):
        share, held = whole, side
        if isinstance(side, ast.BinOp) and isinstance(side.op, ast.Mult):
            pairs = ((side.left, side.right), (side.right, side.left))
            told = [(known(source, a), b) for a, b in pairs if known(source, a) is not None]
            if len(told) != 1:
                return False
            share, held = (told[0][0] or 0.0) * whole, told[0][1]
        if unparse(held) == name:
            shares[False] = share
        elif _moved(source, held, name):
            shares[True] = share
    return len(shares) == 2 and shares[True] >= LEAST


def _labels_move(loop: ast.For, name: str) -> bool:
    """Labels are taken in another order as well, mixed, made soft, or the loss has two parts."""
    for part in of(loop, ast.Subscript):
        word = unparse(part.value)
        if (
            word != name
            and TARGET_WORDS.search(word.lower().split(".")[-1])
            and not isinstance(part.slice, ast.Constant)
        ):
            return True
    for call in of(loop, ast.Call):
        text = unparse(call)
        if last_name(call.func) in (*_MOVES, "lerp", "index_select", "gather") or is_random(call):
            words = [n.id for n in of(call, ast.Name) if TARGET_WORDS.search(n.id.lower())]
            if words:
                return True
        if re.search(r"(?i)mix", last_name(call.func)) and name in text:
            return True
    return any(
        isinstance(n.targets[0], (ast.Name, ast.Tuple))
        and any(TARGET_WORDS.search(t.id.lower()) for t in of(n.targets[0], ast.Name))
        and isinstance(n.value, ast.BinOp)
        for n in of(loop, ast.Assign)
    )
