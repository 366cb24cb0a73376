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
    return _under_turned_flag(source)


def _under_turned_flag(source: Script) -> Finding | None:
    """`if not training: ds = ds.shuffle(...)`, and no shuffle of the training data in that function."""
    for node in source.of(ast.If):
        if condition_side(node.test) is not False or node.orelse:
            continue
        scope = source.function_around(node)
        if scope is None or not any(_TRAINS.match(a.arg) for a in of(scope.args, ast.arg)):
            continue
        held = [c for s in node.body for c in of(s, ast.Call) if last_name(c.func) == "shuffle"]
        mixed = [c for c in of(scope, ast.Call) if last_name(c.func) == "shuffle" or _asks(c)]
        if held and isinstance(source.statement(held[0]), ast.Assign) and len(mixed) == len(held):
            return at(source, held[0], "held-out data are shuffled, and the training data are not")
    return None


def _asks(call: ast.Call) -> bool:
    return any(k.arg == "shuffle" for k in call.keywords)


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
