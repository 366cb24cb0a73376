"""What one call of fit gets for training and for validation: processed on one side alone."""

from __future__ import annotations

import ast

from ...readers._tree import of
from ...readers.script import argument, keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at, ok
from ..shared.roles import is_training_only
from ..shared.sides import side, stem


def fit_apart(source: Script, labels: bool) -> Finding | None:
    """`fit(x, (y - mean) / std, validation_data=(vx, vy))`: one side alone is scaled."""
    place = 1 if labels else 0
    seen: ast.AST | None = None
    for call in source.named("fit"):
        held = keyword(call, "validation_data")
        if not isinstance(held, ast.Tuple) or len(held.elts) < 2 or any(k.arg is None for k in call.keywords):
            continue
        mine = argument(call, "xy"[place], position=place)
        theirs = held.elts[place]
        if mine is None or isinstance(mine, ast.Starred):
            continue
        one, other = _written(source, mine), _written(source, theirs)
        names = [_root(one), _root(other)]
        if side(names[0]) is not True or side(names[1]) is not False or stem(names[0]) != stem(names[1]):
            continue
        seen = seen or call
        worked = [_worked(one), _worked(other)]
        if worked[0] != worked[1] and not is_training_only(one) and not is_training_only(other):
            way = "training" if worked[0] else "held-out"
            return at(source, mine if worked[0] else theirs, f"this is done to the {way} data alone")
    return ok(source, seen, "both sides are handed over alike") if seen is not None else None


def _written(source: Script, value: ast.expr) -> ast.expr:
    """What a name of its own stands for, where its value is made of data of the same side."""
    if isinstance(value, ast.Name) and side(value.id) is None:
        given = flow(source).given(value)
        if given is not None and not given.places:
            return given.value
    return value


def _root(value: ast.expr) -> str:
    """The data that an expression is made of: the one name in it that tells its side."""
    names = [n.id for n in of(value, ast.Name) if side(n.id) is not None]
    return names[0] if names and isinstance(value, (ast.Name, ast.BinOp, ast.Call)) else ""


def _worked(value: ast.expr) -> bool:
    """Arithmetic, or a function of numbers, is done to it."""
    if isinstance(value, ast.BinOp):
        return True
    named = last_name(value.func) if isinstance(value, ast.Call) else ""
    return named in (
        "log1p",
        "log",
        "sqrt",
        "transform",
        "fit_transform",
        "normalize",
        "preprocess_input",
        "to_categorical",
    )
