"""Boxes that scripts turn into offsets from anchors, and back: worked out on made boxes."""

from __future__ import annotations

import ast
import re
from typing import Any

import numpy as np

from ..scripts.syntax import Script
from .arrays import tensor
from .interpreter import Interpreter
from .sizes import TooLong, Unfit

_THERE = re.compile(
    r"(?i)^_?(?:encode(?:_box(?:es)?)?|(?:box|boxes|bbox|bboxes)_?(?:encode|2_?(?:delta|deltas|loc|offset|offsets|reg)"
    r"|to_?(?:delta|deltas|loc|offset|offsets|reg))|get_deltas|bbox_transform|to_(?:deltas|offsets)|box_encode)$"
)
_BACK = re.compile(
    r"(?i)^_?(?:decode(?:_box(?:es)?)?|(?:box|boxes|bbox|bboxes)_?decode|(?:delta|deltas|loc|offset|offsets|reg)_?(?:2|to)_?"
    r"(?:box|boxes|bbox|bboxes)|apply_(?:deltas|offsets)|bbox_transform_inv|from_(?:deltas|offsets)|box_decode)$"
)
_ANCHORS = re.compile(r"(?i)anchor|prior|default|dboxes|^a$|^base$|reference|ref_?boxes")
_ODD = (Unfit, TypeError, ValueError, KeyError, IndexError, AttributeError)


def broken_box_codes(source: Script) -> tuple[ast.AST, str] | None:
    """Two functions of boxes and anchors of which the second does not undo the first."""
    own = [f for f in source.of(ast.FunctionDef) if source.class_around(f) is None]
    there = [f for f in own if _THERE.match(f.name) and _places(f) is not None]
    back = [f for f in own if _BACK.match(f.name) and _places(f) is not None]
    if len(there) != 1 or len(back) != 1:
        return None
    ran = False
    for form in ("corners", "centres", "sizes"):
        boxes, anchors = (_made(form, s) for s in (1, 2))
        for kind in (tensor, np.asarray):
            try:
                code = _asked(source, there[0], kind(boxes.copy()), kind(anchors.copy()))
                again = _asked(source, back[0], code, kind(anchors.copy()))
                held = np.asarray(again, float)
            except TooLong:
                return None
            except _ODD:
                continue
            if held.shape != boxes.shape or not np.isfinite(held).all():
                continue
            ran = True
            if any(np.allclose(held, _turned(boxes, form, other), rtol=1e-3, atol=1e-2) for other in _FORMS):
                return None
    why = f"worked out on made boxes, `{back[0].name}` does not undo `{there[0].name}`"
    return (back[0], why) if ran else None


_FORMS = ("corners", "centres", "sizes")


def _places(function: ast.FunctionDef) -> tuple[int, int] | None:
    """Which of its two parameters are the boxes, and which the anchors."""
    names = [a.arg for a in function.args.args][: len(function.args.args) - len(function.args.defaults)]
    anchors = [i for i, n in enumerate(names) if _ANCHORS.search(n)]
    return (1 - anchors[0], anchors[0]) if len(names) == 2 and len(anchors) == 1 else None


def _asked(source: Script, function: ast.FunctionDef, boxes: Any, anchors: Any) -> Any:
    places = _places(function)
    if places is None:
        raise Unfit
    given = [boxes, anchors] if places == (0, 1) else [anchors, boxes]
    return Interpreter(source).call(function, given, {})


def _made(form: str, seed: int) -> np.ndarray:
    of = np.random.default_rng([seed, 3])
    low, size = of.uniform(20, 60, (9, 2)), of.uniform(20, 40, (9, 2))
    corners = np.concatenate([low, low + size], 1)
    return _turned(corners, "corners", form)


def _turned(boxes: np.ndarray, form: str, other: str) -> np.ndarray:
    """Boxes of one form in another one."""
    a, b = boxes[:, :2], boxes[:, 2:]
    if form != "corners":
        low = a if form == "sizes" else a - b / 2
        a, b = low, low + b
    if other == "corners":
        return np.concatenate([a, b], 1)
    return np.concatenate([a if other == "sizes" else (a + b) / 2, b - a], 1)
