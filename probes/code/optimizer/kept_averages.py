"""Averages of weights in scripts: left in the model, or with the statistics of their first day."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.uses import never_run

_NORMS = re.compile(r"BatchNorm|\b(?:resnet|resnext|densenet|mobilenet|efficientnet|regnet)\w*\(")
_BACK = re.compile(r"(?i)^_?(?:restore|unapply|swap_?back|put_?back)\w*$")
_IN = re.compile(r"(?i)^_?(?:store|apply|copy_to|swap|use|assign)\w*$")


def never_restored(source: Script) -> Finding | None:
    """Averaged weights are put into the model, and nothing calls the method that takes them out."""
    for owner in source.of(ast.ClassDef):
        methods = [s for s in owner.body if isinstance(s, ast.FunctionDef)]
        back = [m for m in methods if _BACK.match(m.name) and _copies(m)]
        puts = [m for m in methods if _IN.match(m.name) and _copies(m)]
        for put in puts:
            calls = [c for c in source.named(put.name) if isinstance(c.func, ast.Attribute)]
            calls = [c for c in calls if source.loops_around(c) and source.class_around(c) is not owner]
            if back and calls and all(never_run(source, b.body[0]) for b in back):
                why = f"averaged weights go into the model, and nothing calls `{back[0].name}`"
                return at(source, calls[0], why)
    return None


def _copies(method: ast.FunctionDef) -> bool:
    writes = ("copy_", "load_state_dict", "assign", "set_data")
    targets = [t for n in of(method, ast.Assign) for t in n.targets]
    return any(last_name(c.func) in writes for c in of(method, ast.Call)) or any(
        isinstance(t, ast.Attribute) and t.attr == "data" for t in targets
    )


def statistics_left(source: Script) -> Finding | None:
    """`deepcopy(model).eval()` follows the parameters of a model with batch norm, and no statistics.

    Left aside: copies that are not switched to evaluation, whose norms use the batch, and programs that touch
    buffers or whole states anywhere beside saving and loading.
    """
    if (source.loose and "BatchNorm" not in source.code) or not _NORMS.search(source.code):
        return None
    if re.search(r"buffers\(|update_bn|running_(?:mean|var)|AveragedModel|ModelEma|use_buffers", source.code):
        return None
    for loop in source.of(ast.For):
        ways = [loop.iter, *flow(source).values(loop.iter, 2)]
        over = next((t for w in ways if (t := unparse(w)).startswith("zip(")), "")
        if over.count("parameters()") != 2 or not over.startswith("zip("):
            continue
        averaged = any(last_name(c.func) in ("mul_", "lerp_", "copy_", "add_") for c in of(loop, ast.Call))
        owners = re.findall(r"([\w.]+)\.(?:named_)?parameters\(\)", over)
        copies = [o for o in owners if _is_still_copy(source, o)]
        if averaged and copies and not _states_read(source, loop):
            why = "the averaged copy keeps the batch norm statistics that it was made with"
            return at(source, loop, why)
    return None


def _is_still_copy(source: Script, owner: str) -> bool:
    """The owner of these parameters is a deep copy that is switched to evaluation and never back."""
    last = owner.split(".")[-1]
    made = [
        n.value
        for n in source.of(ast.Assign)
        for t in n.targets
        if unparse(t) == owner and any(last_name(c.func) == "deepcopy" for c in of(n.value, ast.Call))
    ]
    if not made:
        return False
    switched = any(".eval()" in unparse(m) for m in made) or any(
        source.owner(c).split(".")[-1] == last for c in source.named("eval")
    )
    # `model.train()` is of the network itself where the copy is an attribute: `self.model`
    back = [
        c
        for c in source.named("train")
        if source.owner(c).split(".")[-1] == last and ("." in source.owner(c)) >= ("." in owner)
    ]
    return switched and not back


def _states_read(source: Script, loop: ast.For) -> bool:
    """The function that averages goes over a state as well."""
    function = source.function_around(loop)
    return function is not None and any(last_name(c.func) == "state_dict" for c in of(function, ast.Call))
