"""The mode of Flax's nnx networks in scripts: `model.train()` or `model.eval()` that is left out."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.syntax import Function, Script
from ..shared.checks import at

_MODAL = ("Dropout", "BatchNorm")
_BY_HAND = re.compile(r"use_running_average|deterministic|set_attributes|nnx\.view|set_mode")
_FIGURES = ("argmax", "update", "accuracy")


def nnx_mode_left(source: Script) -> Finding | None:
    """nnx: nothing calls `eval()` and figures are taken, or `eval()` in the epochs and no `train()` there."""
    if "flax" not in source.text or "nnx" not in source.text or source.loose:
        return None
    if not source.named(*_MODAL) or _BY_HAND.search(source.code):
        return None
    switches = [c for c in source.named("train", "eval") if isinstance(source.parents.get(c), ast.Expr)]
    quiet = [c for c in switches if last_name(c.func) == "eval"]
    loud = [c for c in switches if last_name(c.func) == "train"]
    if not quiet:
        for function in source.of(ast.FunctionDef):
            if _scores(source, function):
                why = "the model is scored in training mode: nothing calls eval()"
                return at(source, function, why)
        return None
    for call in quiet:
        loops = source.loops_around(call)
        fresh = loops and any(
            unparse(t) == source.owner(call) for n in of(loops[-1], ast.Assign) for t in n.targets
        )  # of each fold
        if loops and not fresh and not any(loops[-1] in source.loops_around(c) for c in loud):
            return at(source, call, "the model stays in evaluation mode from the second epoch on")
    return None


def _scores(source: Script, function: Function) -> bool:
    """A compiled function asks the network and takes figures, and no gradient is taken in it or of it."""
    compiled = any("jit" in last_name(d) for d in function.decorator_list)
    inside = {last_name(c.func) for c in of(function, ast.Call)}
    learns = any("grad" in name for name in inside) or any(
        isinstance(a, ast.Name) and a.id == function.name
        for c in source.calls
        if "grad" in last_name(c.func)
        for a in c.args
    )
    return compiled and not learns and bool(inside & set(_FIGURES)) and "model" in inside
