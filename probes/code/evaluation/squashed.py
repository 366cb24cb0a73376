"""Scores of an evaluation that go through a sigmoid a second time."""

from __future__ import annotations

import ast

from ...readers.script import last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at

_SIGMOIDS = ("sigmoid", "sigmoid_", "expit")


def squashed_twice(source: Script) -> Finding | None:
    """`torch.sigmoid(model(x)) > 0.5` of a model that ends in a sigmoid: every score lies above one half.

    Not where something may stand between: only a value that is nothing but a sigmoid is squashed again.
    """
    mine = flow(source)
    for call in source.named(*_SIGMOIDS):
        given = call.args[0] if call.args else getattr(call.func, "value", None)
        if not isinstance(given, (ast.Name, ast.Call)) or source.class_around(call) in source.modules:
            continue
        asked = [given] if isinstance(given, ast.Call) else mine.values(given, 1)
        ends = [f for a in asked if isinstance(a, ast.Call) for f in mine.called(a)]
        forwards = [f for f in ends if source.class_around(f) in source.modules]
        if len(asked) != 1 or len(forwards) != 1 or len(ends) != 1:
            continue
        back = mine.given_back(forwards[0])
        if back and all(isinstance(b, ast.Call) and last_name(b.func) in _SIGMOIDS for b in back):
            return at(source, call, "the model ends in a sigmoid, and its scores go through another one")
    return None
