"""A picture and what is drawn over it, changed in one function by TensorFlow: turned or cut together."""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_in, of, unparse
from ...readers.script import argument, last_name
from ...registry import Finding
from ...scripts.flow import returns
from ...scripts.syntax import Function, Script
from ..shared.checks import at

_TURNS = re.compile(
    r"^(?:stateless_)?random_(?:flip_left_right|flip_up_down|crop|rotation|shift|shear|zoom)$"
)
_SPATIAL = re.compile(r"(?i)^(?:masks?|seg\w*|\w*_masks?|depth\w*|heights?|outlines?|heat\w*)$")


def turned_alone(source: Script) -> Finding | None:
    """`x = tf.image.random_flip_left_right(x)` of `augment(x, y)`, where `y` is as large as the picture.

    Where `y` is a mask by its name, or is laid over the picture (`concat([x, y], -1)`), cut or resized there.
    """
    if "tensorflow" not in source.frameworks:
        return None
    for function in source.of(ast.FunctionDef):
        names = [a.arg for a in function.args.args if a.arg not in ("self", "cls")]
        if len(names) != 2 or not _gives_both(function, names):
            continue
        picture, over = names
        turns = [c for c in of(function, ast.Call) if _TURNS.match(last_name(c.func)) and c.args]
        alone = [c for c in turns if unparse(c.args[0]) == picture]
        if not alone or any(over in names_in(c) for c in turns) or _seeded(function):
            continue
        spatial = _SPATIAL.match(over) or _laid_over(function, picture, over)
        if spatial and not _moved_by_hand(function, over):
            return at(source, alone[0], f"the picture is turned at random and `{over}` is not")
    return _cut_apart(source)


def _gives_both(function: Function, names: list[str]) -> bool:
    back = [names_in(r) for r in returns(function)]
    return bool(back) and all(set(names) <= b for b in back)


def _seeded(function: Function) -> bool:
    return "seed" in unparse(function)


def _laid_over(function: Function, picture: str, over: str) -> bool:
    """One tensor is made of both, along the channels; or the second is cut or resized as a picture."""
    for call in of(function, ast.Call):
        name = last_name(call.func)
        if name in ("concat", "concatenate") and {picture, over} <= names_in(call):
            return True
        owner = unparse(call.func.value) if isinstance(call.func, ast.Attribute) else ""
        if owner == "tf.image" and call.args and unparse(call.args[0]) == over:
            return True
    return False


def _moved_by_hand(function: Function, over: str) -> bool:
    text = unparse(function)
    return re.search(rf"\b{over}\[.*::-1|(?:reverse|flip\w*|transpose)\({over}\b", text) is not None


def _cut_apart(source: Script) -> Finding | None:
    """`random_crop(both[..., :3], s)` and `random_crop(both[..., 3:], s)`: two draws for what was one."""
    for function in source.of(ast.FunctionDef):
        drawn: dict[tuple[str, str], list[ast.Call]] = {}
        for call in of(function, ast.Call):
            first = argument(call, position=0)
            if not _TURNS.match(last_name(call.func)) or not isinstance(first, ast.Subscript):
                continue
            if re.search(r"\.\.\., ?(?::\w+|\w+:)|:, :, (?::\w+|\w+:)", unparse(first.slice)) and not any(
                isinstance(p, (ast.If, ast.IfExp)) for p in source.above(call)
            ):
                drawn.setdefault((last_name(call.func), unparse(first.value)), []).append(call)
        for calls in drawn.values():
            parts = {unparse(c.args[0]) for c in calls}
            if len(calls) == len(parts) == 2 and not _seeded(function):
                return at(source, calls[1], "picture and what lies over it are cut by two draws")
    return None
