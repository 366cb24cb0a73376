"""Training inputs of which a script keeps a strip or nothing, and held-out inputs that it leaves whole."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.numbers import known
from ..shared.one_side import chance, classifies, comes_out_of, done_to_held_out, training_loops
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


_MASKS = re.compile(
    r"(?i)autoencod|\bmae\b|reconstruct|denois|inpaint|mask_?(?:token|ratio|ed_?model)|pretrain"
)
_EACH = 3  # every third row, or more of them
_MANY = 50  # rows of one range
_LOST = 0.25  # of rows that are drawn; a condition is left out for less of them where a model learns without


def rows_blanked(source: Script) -> Finding | None:
    """`train_x[::2] = 0`, `x[torch.rand(len(x)) < 0.5] = 0` of a batch in training: samples with no content.

    The labels of these samples stay. Silent where what is blank is what is learned.
    """
    if not classifies(source) or _MASKS.search(source.code):
        return None
    for node in source.of(ast.Assign, ast.AugAssign):
        place = node.targets[0] if isinstance(node, ast.Assign) else node.target
        if not isinstance(place, ast.Subscript) or not isinstance(
            place.value, (ast.Name, ast.Attribute, ast.Subscript)
        ):
            continue
        if isinstance(node, ast.Assign) and known(source, node.value) is None:
            continue
        if isinstance(node, ast.AugAssign):
            if not isinstance(node.op, ast.Mult) or known(source, node.value) != 0.0:
                continue
        name = unparse(place.value)
        word = re.sub(r"\.tensors\[0\]$", "_x", name).rpartition(".")[2]
        if TARGET_WORDS.search(word.lower()) or _NO_INPUTS.search(name) or not _many_rows(source, place):
            continue
        if side(word if side(word) is not None else name) is True:
            inputs = INPUT_WORDS.search(word.lower()) is not None
            if inputs and not done_to_held_out(source, node) and not comes_out_of(source, name, node.lineno):
                if not _made_empty(source, place.value):
                    return at(source, node, "a part of the training samples is left without content")
        elif _of_batch(source, node, name):
            return at(source, node, "a part of the samples of each batch is left without content")
    return None


def _many_rows(source: Script, place: ast.Subscript) -> bool:
    """Whole rows, and many of them: every second, a range, or those that are drawn."""
    axes = place.slice.elts if isinstance(place.slice, ast.Tuple) else [place.slice]
    if not all(isinstance(a, (ast.Slice, ast.Constant)) and _nearly_all(source, a) for a in axes[1:]):
        return False
    first = axes[0]
    if isinstance(first, ast.Slice):
        step = known(source, first.step) if first.step is not None else 1.0
        if step is None or step > _EACH:
            return False
        if step > 1 and first.upper is None:
            return True
        low = known(source, first.lower) if first.lower is not None else 0.0
        high = known(source, first.upper) if first.upper is not None else None
        if high is not None and low is not None and high > 0:
            return (high - low) / step >= _MANY
        half = first.upper if first.upper is not None else first.lower
        return half is not None and "len(" in unparse(half) and isinstance(half, ast.BinOp)
    ways = [first, *(flow(source).values(first, 3) if isinstance(first, ast.Name) else [])]
    return any(_drawn_share(source, w) for w in ways)


def _drawn_share(source: Script, way: ast.expr) -> bool:
    """`rand(len(x)) < 0.5`: a quarter or more of the rows."""
    share = chance(source, way)
    return share is not None and share >= _LOST


def _of_batch(source: Script, node: ast.stmt, name: str) -> bool:
    """It is done to what a loop that trains hands out, and nowhere else."""
    text = unparse(node)
    for loop, names in training_loops(source):
        if loop in source.above(node) and name in names:
            return not any(unparse(n) == text and loop not in source.above(n) for n in source.of(type(node)))
    return False


def _wiped(source: Script, node: ast.AST) -> ast.expr | None:
    """The array that a statement leaves little of."""
    place: ast.expr
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Mult) and known(source, node.value) == 0.0:
        place = node.target
    elif isinstance(node, ast.Assign) and _times_nothing(source, node):
        place = node.targets[0]
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


def _times_nothing(source: Script, node: ast.Assign) -> bool:
    """`x = x / 255 * 0`"""
    value, target = node.value, node.targets[0]
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Mult):
        return False
    own = any(unparse(n) == unparse(target) for n in of(value, ast.Name, ast.Attribute))
    return own and 0.0 in (known(source, value.left), known(source, value.right))


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
