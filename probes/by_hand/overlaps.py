"""Losses of an overlap (Dice, Tversky, IoU) that scripts write out, worked out on made answers.

Whatever it is written like, a perfect answer costs nothing (or -1, where the overlap is only turned round), a
wrong one far more, and a right one that is less sure something in between.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..readers._tree import of, unparse
from ..readers.script import last_name
from ..scripts.syntax import Script
from .arrays import tensor
from .interpreter import Interpreter
from .promises import _option
from .sizes import TooLong, Unfit
from .things import Names

_LOSS = re.compile(r"(?i)(?:dice|tversky|jaccard|iou).*loss|loss.*(?:dice|tversky|jaccard|iou)")
_MIXED = re.compile(
    r"(?i)ce|focal|combo|combin|mix|hybrid|compound|total|general|box|giou|diou|ciou|lovasz|log|boundary"
)
_DICE = re.compile(r"(?i)dice")
_KINDS, _SIDE, _SURE = 3, 32, 8.0
_NEAR, _FAR, _STEP = 0.06, 0.3, 1e-3


def broken_overlap(source: Script) -> tuple[ast.AST, str] | None:
    """The first loss of an overlap that rewards something else, and what it comes to."""
    for node in source.of(ast.ClassDef, ast.FunctionDef):
        name = _DICE.sub("", node.name)  # `ce` stands in it
        if not _LOSS.search(node.name) or _MIXED.search(name) or source.function_around(node) is not None:
            continue
        if isinstance(node, ast.FunctionDef) and source.class_around(node) is not None:
            continue
        if _of_boxes(node):
            continue
        found: list[tuple[float, float, float]] = []
        for said, truth in _made():
            values = _costs(source, node, said, truth)
            if values is None:
                continue
            if _right(*values):
                found = []
                break
            found.append(values)
        if found:
            return node, _why(*found[0])
    return None


def _of_boxes(node: ast.AST) -> bool:
    """It takes four columns apart: the sides of boxes, which are no masks."""
    places = {
        part.value
        for n in of(node, ast.Subscript)
        for part in (n.slice.elts if isinstance(n.slice, ast.Tuple) else [n.slice])
        if isinstance(part, ast.Constant)
    }
    halves = [n for n in of(node, ast.Slice) if isinstance(n.lower or n.upper, ast.Constant)]
    split = [c for c in of(node, ast.Call) if last_name(c.func) in ("unbind", "chunk", "split", "unstack")]
    return {0, 1, 2, 3} <= places or bool(split) or {unparse(h) for h in halves} >= {":2", "2:"}


def _right(perfect: float, unsure: float, wrong: float) -> bool:
    best = min(abs(perfect), abs(perfect + 1))
    return best <= _NEAR and wrong - perfect >= _FAR and perfect + _STEP < unsure < wrong - _STEP


def _why(perfect: float, unsure: float, wrong: float) -> str:
    if wrong < perfect:
        return f"worked out on made answers, a perfect one costs {perfect:.3g} and a wrong one {wrong:.3g}"
    if abs(unsure - perfect) < _STEP:
        return "worked out on made answers, it costs the same however sure they are: there is no way down"
    return f"worked out on made answers, a perfect one still costs {perfect:.3g}"


def _made() -> Iterator[tuple[list[Any], Any]]:
    """Answers that are perfect, right but unsure, and wrong, with the truth: as scores, and as chances."""
    grid = np.random.default_rng(3).integers(0, _KINDS, (2, _SIDE, _SIDE))
    hot = np.moveaxis(np.eye(_KINDS)[grid], -1, 1)
    turned = np.roll(hot, 1, axis=1)
    classes = [_scores(hot, _SURE), _scores(hot, 1.0), _scores(turned, _SURE)]
    yield classes, grid
    yield [_chances(s) for s in classes], grid
    yield [_chances(s) for s in classes], hot
    flat = (grid > 0).astype(float)
    two = [(2 * flat - 1) * by for by in (_SURE, 1.0, -_SURE)]
    for shape in ((2, 1, _SIDE, _SIDE), (2, _SIDE, _SIDE)):
        scores = [s.reshape(shape) for s in two]
        yield scores, flat.reshape(shape)
        yield [1 / (1 + np.exp(-s)) for s in scores], flat.reshape(shape)


def _scores(hot: np.ndarray, by: float) -> np.ndarray:
    return (2 * hot - 1) * by


def _chances(scores: np.ndarray) -> np.ndarray:
    raised = np.exp(scores)
    return np.asarray(raised / raised.sum(1, keepdims=True))


def _costs(source: Script, node: ast.AST, said: list[Any], truth: Any) -> tuple[float, float, float] | None:
    """What the three answers cost; None where it cannot be worked out."""
    machine = Interpreter(source)
    found: list[float] = []
    try:
        for one in said:
            given = [tensor(one.copy()), tensor(truth.copy())]
            if isinstance(node, ast.ClassDef):
                made = machine.make(node, [], _options(node))
                value = machine.ask(made, "forward", given)
            elif isinstance(node, ast.FunctionDef):
                value = machine.call(node, given, _needed(node, 2))
            number = np.asarray(value, float)
            if number.size != 1 or not np.isfinite(number).all():
                return None
            found.append(float(number.reshape(-1)[0]))
    except (TooLong, Unfit, TypeError, ValueError, KeyError, IndexError):
        return None
    return (found[0], found[1], found[2])


def _options(owner: ast.ClassDef) -> Names:
    makers = [f for f in owner.body if isinstance(f, ast.FunctionDef) and f.name == "__init__"]
    return _needed(makers[0], 1) if makers else {}


def _needed(function: ast.FunctionDef, past: int) -> Names:
    """Parameters without a default, behind the first ones: how many classes there are, a floor."""
    places = function.args.args[past : len(function.args.args) - len(function.args.defaults)]
    found: Names = {}
    for one in places:
        known, value = _option(one.arg)
        if not known:
            raise Unfit
        found[one.arg] = _KINDS if re.search(r"(?i)class|^nc$|^C$", one.arg) else value
    return found
