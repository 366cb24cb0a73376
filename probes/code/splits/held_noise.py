"""Held-out inputs that a script drowns in noise or hides in part, and training inputs that stay whole."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse
from ...registry import Finding
from ...scripts.learning import takes_gradients
from ...scripts.syntax import Script
from ..samples.ruined import spread_of
from ..shared.checks import at, is_evaluation
from ..shared.numbers import known
from ..shared.one_side import chance, neutral, training_loops
from ..shared.roles import INPUT_WORDS, TARGET_WORDS, model_calls
from ..shared.sides import side

_MEANT = re.compile(r"(?i)robust|corrupt|denois|adversar|attack|snr|stress|autoencod|diffus|calibrat|shift")
LEAST = 0.1  # deviations: dequantisation adds a hundredth of that
_TABLE = re.compile(r"(?:^|_)(?:df|frame|table|features)(?:_|$)")
_HIDDEN = 0.1  # of the values


def held_out_noised(source: Script) -> Iterator[ast.AST]:
    """`val_x += rng.normal(0, 2, val_x.shape)`, `x_test = x_test * (rand(...) > 0.5)`: other data."""
    if _MEANT.search(source.code):
        return
    for node in source.of(ast.Assign, ast.AugAssign):
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        held = target.value if isinstance(target, ast.Subscript) else target
        name = unparse(held)
        word = name.rpartition(".")[2].lower()
        if side(name) is not False or TARGET_WORDS.search(word):
            continue
        if not (INPUT_WORDS.search(word) or _TABLE.search(word)):
            continue
        if _disturbed(source, node, name) and not _training_alike(source, node):
            yield node


def noise_in_training(source: Script) -> bool:
    """A loop that trains disturbs its batches as well."""
    return any(
        (isinstance(n, ast.BinOp) and (spread_of(source, n.right) or 0.0) >= LEAST)
        or (isinstance(n, ast.AugAssign) and (spread_of(source, n.value) or 0.0) >= LEAST)
        for loop, _ in training_loops(source)
        for n in of(loop, ast.BinOp, ast.AugAssign)
        if not isinstance(n, ast.BinOp) or isinstance(n.op, (ast.Add, ast.Sub))
    )


def noised_while_evaluating(source: Script) -> Finding | None:
    """Inputs that are whole are disturbed by the evaluation itself: another processing than training has."""
    if _MEANT.search(source.code) or noise_in_training(source):
        return None
    node = next(_while_evaluating(source), None)
    return at(source, node, "what is scored is disturbed here, and training is not") if node else None


def _while_evaluating(source: Script) -> Iterator[ast.AST]:
    """`model(x + 2 * randn_like(x))`, or `x = x + ...` before, in a function that scores and does not train.

    Not where the model is asked about what is whole as well, to see how far the answers are apart.
    """
    calls = [c for c in model_calls(source) if is_evaluation(source, c)]
    for function in dict.fromkeys(source.function_around(c) for c in calls):
        if function is None or takes_gradients(source, function):
            continue
        mine = [c for c in calls if source.function_around(c) is function]
        loops = of(function, ast.For)
        names = {n.id for loop in loops for n in of(loop.target, ast.Name)}
        if len(mine) != 1 or not mine[0].args:
            continue
        given = mine[0].args[0]
        if isinstance(given, ast.BinOp) and isinstance(given.op, (ast.Add, ast.Sub)):
            if unparse(given.left) in names and (spread_of(source, given.right) or 0.0) >= LEAST:
                yield given
        for node in of(function, ast.Assign, ast.AugAssign):
            place = node.targets[0] if isinstance(node, ast.Assign) else node.target
            held = place.value if isinstance(place, ast.Subscript) else place
            if unparse(held) in names and unparse(held) == unparse(given):
                if _disturbed(source, node, unparse(held)):
                    yield node


def _disturbed(source: Script, node: ast.Assign | ast.AugAssign, name: str) -> bool:
    if isinstance(node, ast.AugAssign):
        if isinstance(node.op, (ast.Add, ast.Sub)):
            return (spread_of(source, node.value) or 0.0) >= LEAST
        kept = chance(source, node.value) if isinstance(node.op, ast.Mult) else None
        return kept is not None and 1 - kept >= _HIDDEN
    target, value = node.targets[0], node.value
    if isinstance(target, ast.Subscript) and unparse(target) in unparse(value):
        name = unparse(target)  # columns of a table
    elif isinstance(target, ast.Subscript):
        lost = chance(source, target.slice) if known(source, value) is not None else None
        return lost is not None and lost >= _HIDDEN
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _TYPES:
        value = value.func.value
    if not isinstance(value, ast.BinOp) or name not in (unparse(value.left), unparse(value.right)):
        return False
    other = value.right if unparse(value.left) == name else value.left
    if isinstance(value.op, (ast.Add, ast.Sub)):
        return (spread_of(source, other) or 0.0) >= LEAST
    kept = chance(source, other) if isinstance(value.op, ast.Mult) else None
    return kept is not None and 1 - kept >= _HIDDEN


_TYPES = ("astype", "to", "float", "clip", "clamp")


def _training_alike(source: Script, node: ast.stmt) -> bool:
    """Training inputs get noise as well, by whatever figures: then it is part of the task."""
    target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
    held = target.value if isinstance(target, ast.Subscript) else target
    stem = neutral(unparse(held)) if held is not None else ""
    for other in source.of(ast.Assign, ast.AugAssign):
        place = other.targets[0] if isinstance(other, ast.Assign) else other.target
        place = place.value if isinstance(place, ast.Subscript) else place
        name = unparse(place)
        if side(name) is True and neutral(name) == stem and _disturbed(source, other, name):
            return True
    return False
