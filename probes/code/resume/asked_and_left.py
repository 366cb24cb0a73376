"""A run that is asked to go on from a checkpoint, and never reads one."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import keyword, last_name
from ...registry import Finding
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.nodes import assigned

_WORD = re.compile(
    r"(?i)^(?:resume(?:_from|_path|_checkpoint|_from_checkpoint)?|continue_from|restore_from)$"
)
_LOADS = re.compile(r"(?i)load|restore|resume|from_pretrained|read_state|set_state|open|fit|train")
_SHOWN = ("print", "info", "debug", "log", "warning")


def resume_unread(source: Script) -> Finding | None:
    """`add_argument("--resume")`, and `args.resume` is only asked for the epoch from which to count on."""
    if source.loose or not (source.backwards or source.trains_by_trainer):
        return None
    for call in source.named("add_argument"):
        words = [
            a.value.lstrip("-").replace("-", "_")
            for a in call.args
            if isinstance(a, ast.Constant) and isinstance(a.value, str)
        ]
        if keyword(call, "dest") is not None or not any(_WORD.match(w) for w in words):
            continue
        name = next(w for w in words if _WORD.match(w))
        reads = [n for n in source.of(ast.Attribute) if n.attr == name and isinstance(n.ctx, ast.Load)]
        told = [n for n in source.of(ast.Constant) if n.value == name]
        if told or re.search(r"\*\*vars\(|vars\(\w+\)\[|getattr\(", source.code):
            continue
        if not reads:
            continue  # a flag that is left from another version does no harm by itself
        branches = [b for b in source.of(ast.If) if any(n in reads for n in of(b.test, ast.Attribute))]
        if len(branches) == 1 and all(any(n in of(branches[0], ast.Attribute) for n in [r]) for r in reads):
            calls = [c for s in branches[0].body for c in of(s, ast.Call)]
            numbers = any(last_name(c.func) == "int" for c in calls) and any(
                isinstance(s, ast.Assign) for s in branches[0].body
            )
            if numbers and not any(
                _LOADS.search(last_name(c.func)) for c in calls if last_name(c.func) not in _SHOWN
            ):
                return at(
                    source, branches[0], f"`{name}` only tells which epoch it was: nothing is loaded from it"
                )
    return None


def best_against_its_sense(source: Script) -> Finding | None:
    """`if v > best: save()`, and then `best = min(best, v)`: what is kept is not what is counted as best."""
    for node in source.of(ast.Assign):
        for target, call in assigned(node):
            if (
                isinstance(call, ast.Call)
                and isinstance(call.func, ast.Name)
                and call.func.id in ("min", "max")
                and isinstance(target, (ast.Name, ast.Attribute))
                and len(call.args) == 2
                and unparse(target) in map(unparse, call.args)
                and (test := _other_way(source, node, target, call)) is not None
            ):
                told = f"`{unparse(target)}` is the {call.func.id}imum, and this keeps the other side"
                return at(source, test, told)
    return None


def _other_way(source: Script, node: ast.Assign, target: ast.expr, call: ast.Call) -> ast.Compare | None:
    """The test of a choice that keeps what lies on the other side of the least or the largest figure."""
    best = unparse(target)
    new = next((n for a in call.args if (n := unparse(a)) != best), best)
    scope = source.function_around(node) or source.tree
    for branch in of(scope, ast.If):
        test = branch.test
        if isinstance(test, ast.Name):  # better, best = score > best, max(best, score)
            at_once = [v for t, v in assigned(node) if unparse(t) == test.id]
            test = at_once[0] if at_once else test
        if not isinstance(test, ast.Compare) or len(test.ops) != 1 or branch in source.above(node):
            continue
        pair = unparse(test.left), unparse(test.comparators[0])
        if set(pair) != {best, new} or not _keeps(branch):
            continue
        more = isinstance(test.ops[0], (ast.Gt, ast.GtE)) == (pair[0] == new)
        if isinstance(test.ops[0], (ast.Gt, ast.GtE, ast.Lt, ast.LtE)) and more is (
            isinstance(call.func, ast.Name) and call.func.id == "min"
        ):
            return test
    return None


def _keeps(branch: ast.If) -> bool:
    return any(
        re.search(r"(?i)save|deepcopy|state_dict|dump", last_name(c.func))
        for s in branch.body
        for c in of(s, ast.Call)
    )
