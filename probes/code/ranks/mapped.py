"""Steps of JAX that run on several devices at once, and what joins their gradients."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..shared.checks import at, ok

_TAKES = ("grad", "value_and_grad")
_APPLIES = ("apply_gradients", "apply_updates", "update")
_JOINS = ("pmean", "psum", "all_gather", "psum_scatter", "all_reduce")


def each_device_alone(source: Script) -> Finding | None:
    """`jax.pmap(step)` of a step that applies its gradients, and nothing means them over the devices."""
    if "jax" not in source.frameworks or source.loose:
        return None
    for call in source.named("pmap"):
        step = call.args[0] if call.args else None
        functions = flow(source).functions.get(step.id, []) if isinstance(step, ast.Name) else []
        if len(functions) != 1 or not _steps(functions[0]):
            continue
        if _drawn_apart(source):
            return None
        if _joined(source, functions[0]):
            return ok(source, call, "the gradients are joined over the devices")
        return at(source, call, "each device steps by its own gradients: nothing means them over the devices")
    return None


def _drawn_apart(source: Script) -> bool:
    """`pmap(init)(keys)`: each device begins with weights of its own, as the seeds of a study do."""
    mine = flow(source)
    for call in source.calls:
        made = [call.func, *mine.values(call.func, 2)]
        mapped = any(isinstance(m, ast.Call) and last_name(m.func) == "pmap" for m in made)
        if (
            mapped
            and len(call.args) == 1
            and re.search(r"(?i)(?:keys?|rngs?|seeds?)$", unparse(call.args[0]))
        ):
            return True
    return False


def _steps(function: Function) -> bool:
    names = {last_name(c.func) for c in of(function, ast.Call)}
    return bool(names & set(_TAKES)) and bool(names & set(_APPLIES))


def _joined(source: Script, function: Function) -> bool:
    """Gradients, or the loss that they are taken of, go through a mean over devices; or it cannot be told."""
    joins = [c for c in of(function, ast.Call) if last_name(c.func) in _JOINS]
    for call in joins:
        given = unparse(call.args[0]) if call.args else ""
        within = source.function_around(call) is not function  # of the loss that gradients are taken of
        if within or re.search(r"(?i)grad|update", given):
            return True
    helpers = [f for c in of(function, ast.Call) for f in flow(source).called(c) if f is not function]
    inner = [h for h in helpers if any(last_name(c.func) in _JOINS for c in of(h, ast.Call))]
    return bool(inner) or "MultiSteps" in source.code or "axis_name" in unparse(function.args)
