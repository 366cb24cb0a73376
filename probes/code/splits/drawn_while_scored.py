"""Evaluations of scripts that change their batches at random by the very function that training uses."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import names_in, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.flow import flow, returns
from ...scripts.learning import takes_gradients
from ...scripts.syntax import Function, Script
from ..shared.checks import at, is_evaluation
from ..shared.roles import is_random, model_calls

# where noise belongs to the task, or several draws are averaged
_MEANT = re.compile(
    r"(?i)robust|corrupt|denois|adversar|attack|stress|autoenc|diffus|tta|test_?time|mask|monte|mc_|ensemble|contrast"
)


def drawn_while_scored(source: Script) -> Finding | None:
    """`net(jitter(x))` under `no_grad`, where training does `net(jitter(x))` as well."""
    if not source.backwards or _MEANT.search(source.code):
        return None
    makers = {f.name: f for f in source.of(ast.FunctionDef) if _changes_at_random(source, f)}
    if not makers:
        return None
    calls: dict[str, dict[bool, list[ast.Call]]] = {}
    for call, scored in _batches_changed(source, frozenset(makers)):
        calls.setdefault(last_name(call.func), {}).setdefault(scored, []).append(call)
    for sides in calls.values():
        if True in sides and False in sides:
            return at(
                source, sides[True][0], "held-out batches are changed at random as those of training are"
            )
    return None


def _changes_at_random(source: Script, function: Function) -> bool:
    """A plain function that gives back its first argument, changed by chance, in whatever mode."""
    if not function.args.args or source.class_around(function) is not None or not is_random(function):
        return False
    if re.search(r"(?i)train|eval|mode", " ".join(names_in(function))):
        return False
    ends, first = returns(function), function.args.args[0].arg
    return bool(ends) and all(
        not isinstance(e, ast.Tuple) and (first in names_in(e) or isinstance(e, ast.Name)) for e in ends
    )


def _batches_changed(source: Script, makers: frozenset[str]) -> Iterator[tuple[ast.Call, bool]]:
    """Calls of such functions on what the model is called on, and whether that is scored."""
    for call in model_calls(source):
        function = source.function_around(call)
        scored = is_evaluation(source, call) and not (function and takes_gradients(source, function))
        loops = source.loops_around(call)
        if loops and scored and _counts(loops[0]):
            continue  # several draws of one batch
        given = call.args[0]
        inner = [given] if isinstance(given, ast.Call) else []
        if isinstance(given, ast.Name):
            held = flow(source).given(given)
            if held is not None and not held.places and isinstance(held.value, ast.Call):
                inner.append(held.value)
        for one in inner:
            if last_name(one.func) in makers and one.args and isinstance(one.func, ast.Name):
                yield one, scored


def _counts(loop: ast.For | ast.While) -> bool:
    return isinstance(loop, ast.For) and unparse(loop.iter).startswith("range(")
