"""Evaluations that ask a network by a method of it, or through a helper, and never switch its mode."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.learning import takes_gradients
from ...scripts.syntax import Function, Script
from ...scripts.untaped import untaped_function, untaped_in
from ..shared.checks import at
from .loops import switch_of

_BY_MODE = re.compile(r"(?i)dropout|batch_?norm|lora_dropout")
_NO_ANSWER = frozenset(
    (
        *("train", "eval", "to", "cuda", "cpu", "parameters", "named_parameters", "state_dict", "zero_grad"),
        *(
            "load_state_dict",
            "save_pretrained",
            "modules",
            "children",
            "half",
            "float",
            "requires_grad_",
            "apply",
        ),
    )
)
_CHANCE = re.compile(r"(?i)mc_?drop|monte.?carlo|uncertain|bayes")


def scored_by_method(source: Script) -> Finding | None:
    """`net.train()` in the loop, and `score(net)` that asks `net.scores(x)`: nothing switches it off."""
    if not source.trains_by_hand or source.loose or _CHANCE.search(source.text):
        return None
    if not _BY_MODE.search(source.code):
        return None
    switches = [s for c in source.calls if (s := switch_of(source, c)) is not None]
    roots = {unparse(c.func.value) for c, on in switches if on and isinstance(c.func, ast.Attribute)} - {
        "self"
    }
    off = {
        unparse(c.func.value).split(".")[-1]
        for c, on in switches
        if not on and isinstance(c.func, ast.Attribute)
    }
    roots = {r for r in roots if r.split(".")[-1] not in off}
    if not roots or re.search(r"\.train\((?!\)|True)|set_train|\.training = ", source.code):
        return None
    for function in source.of(ast.FunctionDef):
        if takes_gradients(source, function) or source.class_around(function) in source.modules:
            continue
        calls = of(function, ast.Call)
        if any(c in calls for c, on in switches if not on):
            continue  # under another name, it may be the same network
        asked = next((c for c in calls if _asks(source, c, roots, function)), None)
        if asked is not None and _gives_figure(function) and _runs_after_training(source, function, roots):
            return at(
                source, asked, "the model is evaluated in training mode: nothing here or around calls eval()"
            )
    return None


def _asks(source: Script, call: ast.Call, roots: set[str], function: Function) -> bool:
    """The network is asked without gradients: in such a function, or by such a method or helper."""
    quiet = untaped_in(function) or untaped_function(function)
    if isinstance(call.func, (ast.Name, ast.Attribute)):
        if unparse(call.func) in roots:
            return quiet
        if isinstance(call.func, ast.Attribute) and unparse(call.func.value) in roots:
            methods = flow(source).called(call)
            known = any(source.class_around(m) in source.modules for m in methods)
            return (
                call.func.attr not in _NO_ANSWER
                and known
                and (quiet or all(untaped_function(m) for m in methods))
            )
        if quiet and isinstance(call.func, ast.Name):
            helpers = flow(source).called(call)
            inner = [c for h in helpers for c in of(h, ast.Call)]
            return any(isinstance(c.func, ast.Name) and c.func.id in roots for c in inner)
    return False


def _gives_figure(function: Function) -> bool:
    """It gives back what it worked out."""
    return any(
        r.value is not None and not isinstance(r.value, ast.Constant) for r in of(function, ast.Return)
    )


def _runs_after_training(source: Script, function: Function, roots: set[str]) -> bool:
    """It is called in a function, or in a loop, that a network is put into training mode in or learns in."""
    for call in flow(source).calls_of(function):
        scope = source.function_around(call)
        if source.loops_around(call):
            return True
        if scope is not None and any(
            last_name(c.func) == "train"
            and isinstance(c.func, ast.Attribute)
            and unparse(c.func.value) in roots
            for c in of(scope, ast.Call)
        ):
            return True
    return False
