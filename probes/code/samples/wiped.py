"""Training inputs of which a script keeps a strip or nothing, and held-out inputs that it leaves whole."""

from __future__ import annotations

import ast
import re

from ...readers._tree import unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.numbers import known
from ..shared.roles import INPUT_WORDS, TARGET_WORDS
from ..shared.sides import side, stem

_EMPTY = re.compile(r"(?i)zeros|empty|full|ones")
_NO_INPUTS = re.compile(r"(?i)mask|loss|weight|score|pred|hist|log|acc|metric|count|curve|pad|bias")
_STRIP = 4  # rows or columns that are left of an axis; no picture, series or table lives by so few


def training_wiped(source: Script) -> Finding | None:
    """`train_x[:, :, 2:, :] = 0`, `x_train[:] = 0.5`, `train_x *= 0`: the held-out inputs keep theirs."""
    for node in source.of(ast.Assign, ast.AugAssign, ast.Expr):
        target = _wiped(source, node)
        if target is None:
            continue
        name = unparse(target)
        word = name.rpartition(".")[2]
        if side(word) is not True or TARGET_WORDS.search(word.lower()) or _NO_INPUTS.search(word):
            continue
        if not INPUT_WORDS.search(word.lower()) or _made_empty(source, target):
            continue
        if _wiped_alike(source, node, word):
            continue
        return at(
            source, node, "most of the training inputs is set to one number, of held-out inputs nothing"
        )
    return None


def _wiped(source: Script, node: ast.AST) -> ast.expr | None:
    """The array that a statement leaves little of."""
    place: ast.expr
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Mult) and known(source, node.value) == 0.0:
        place = node.target
    elif isinstance(node, ast.Assign) and known(source, node.value) is not None:
        place = node.targets[0]
        if not isinstance(place, ast.Subscript):
            return None
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        call = node.value
        if last_name(call.func) not in ("fill", "fill_", "zero_") or not isinstance(call.func, ast.Attribute):
            return None
        place = call.func.value
    else:
        return None
    if not isinstance(place, ast.Subscript):
        return place if isinstance(place, (ast.Name, ast.Attribute)) else None
    axes = place.slice.elts if isinstance(place.slice, ast.Tuple) else [place.slice]
    whole = isinstance(place.value, (ast.Name, ast.Attribute))
    return place.value if whole and all(_nearly_all(source, a) for a in axes) else None


def _nearly_all(source: Script, axis: ast.expr) -> bool:
    """`:`, `...`, `2:` or `:-2`."""
    if isinstance(axis, ast.Constant):
        return axis.value is Ellipsis
    if not isinstance(axis, ast.Slice) or axis.step is not None:
        return False
    first = known(source, axis.lower) if axis.lower is not None else 0.0
    last = known(source, axis.upper) if axis.upper is not None else -0.0
    return first is not None and last is not None and 0 <= first <= _STRIP and -_STRIP <= last <= 0


def _made_empty(source: Script, target: ast.expr) -> bool:
    """It was made of zeros, to be filled afterwards."""
    ways = flow(source).values(target, 3) if isinstance(target, ast.Name) else []
    return any(isinstance(w, ast.Call) and _EMPTY.search(last_name(w.func)) is not None for w in ways)


def _wiped_alike(source: Script, node: ast.AST, word: str) -> bool:
    """Held-out inputs lose the same, or there are none of the name."""
    held = False
    for other in source.of(ast.Assign, ast.AugAssign, ast.Expr):
        target = _wiped(source, other) if other is not node else None
        name = unparse(target).rpartition(".")[2] if target is not None else ""
        if name and side(name) is False and stem(name) == stem(word):
            return True
    for one in source.of(ast.Name, ast.Attribute):
        name = last_name(one)
        held = held or (side(name) is False and stem(name) == stem(word))
    return not held
