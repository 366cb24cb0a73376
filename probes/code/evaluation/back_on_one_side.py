"""Answers of scripts that training turns back to their unit and evaluation does not."""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_in, of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.learning import takes_gradients
from ...scripts.syntax import Script
from ..shared.checks import at

_BACK = re.compile(
    r"(?i)^(?:back|inverse(?:_transform)?|inv_\w+|de_?norm\w*|un_?(?:scale|norm|standardi[sz]e)\w*|rescale|to_unit\w*)$"
)
_MODEL = re.compile(r"(?i)^(?:self\.)?(?:net|model|network|forecaster|regressor)$")


def turned_back_on_one_side(source: Script) -> Finding | None:
    """`loss(back(net(x)), y)` in training and `net(x) - y` in evaluation: `y` cannot be in both units.

    Only where both go over loaders, and nothing turns the targets anywhere.
    """
    turned: dict[bool, list[ast.Call]] = {True: [], False: []}
    plain: dict[bool, list[ast.Call]] = {True: [], False: []}
    if not any(_BACK.match(last_name(c.func)) for c in source.calls):
        return None
    for loop in source.of(ast.For):
        if not isinstance(loop.target, ast.Tuple) or any(isinstance(s, ast.For) for s in loop.body):
            continue
        learns = bool(takes_gradients(source, loop))
        handed = names_in(loop.target)
        backs = [c for c in of(loop, ast.Call) if _BACK.match(last_name(c.func)) and c.args]
        models = [c for c in of(loop, ast.Call) if _MODEL.match(unparse(c.func))]
        for call in backs:
            if not any(m in set(of(call, ast.Call)) for m in models):
                return None  # targets, or what a name holds: not followed here
        if not models or not handed:
            continue
        within = {id(c) for b in backs for c in of(b, ast.Call)}
        for call in models:
            (turned if id(call) in within else plain)[learns].append(call)
    if turned[True] and not plain[True] and plain[False] and not turned[False]:
        return at(source, plain[False][0], "evaluation compares answers that are not turned back")
    return None
