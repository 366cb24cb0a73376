"""Flags of scripts that tell training from held-out data, and are worked out the wrong way round."""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_in, of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.syntax import Script
from ..shared.checks import at
from .side_switches import condition_side

_TRAINS = re.compile(r"(?i)^(?:is_?|for_?)?(?:train|training)(?:_?mode)?$")


def order_by_turned_flag(source: Script) -> Finding | None:
    """`training = split != "train"`, and `if training: ds = ds.shuffle(...)`: held-out data are shuffled."""
    for node in source.of(ast.Assign):
        target = node.targets[0]
        if not isinstance(target, ast.Name) or not _TRAINS.match(target.id):
            continue
        if not isinstance(node.value, ast.Compare) or condition_side(node.value) is not False:
            continue
        scope = source.function_around(node) or source.tree
        again = [n for n in of(scope, ast.Assign) if unparse(n.targets[0]) == target.id]
        if len(again) == 1 and _shuffles(source, scope, target.id):
            return at(source, node, f"`{target.id}` is true of the data that are held out")
    return None


def _shuffles(source: Script, scope: ast.AST, name: str) -> bool:
    """`if training: ds = ds.shuffle(...)`, `shuffle=training`."""
    for call in of(scope, ast.Call):
        if any(k.arg == "shuffle" and unparse(k.value) == name for k in call.keywords):
            return True
        if last_name(call.func) == "shuffle":
            tests = [p.test for p in source.above(call) if isinstance(p, (ast.If, ast.IfExp))]
            if any(unparse(t) == name or names_in(t) == {name} for t in tests):
                return True
    return False
