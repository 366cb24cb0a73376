"""MindSpore's cells of one training step that a script derives: what their own `construct` leaves out.

The library's cells divide the gradients by the loss scale and add up those of all ranks; a `construct` that
is written anew does neither by itself.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.syntax import Function, Script
from ..shared.checks import at
from .steps import of_mindspore

_OPTIMIZER = re.compile(r"(?:^|\.)(?:self\.)?optimizer$")
_MAPS = re.compile(r"(?i)map|unscale|grad_?scale|div|mul|scale_?grad|super")
_ADDED_UP = re.compile(r"(?i)reduc|all_?gather|super\(|accum")


def _own_steps(source: Script) -> Iterator[tuple[ast.ClassDef, Function, ast.Call, str]]:
    """Cells of one step that hand gradients on: the class, `construct`, the update, the gradients' name."""
    if not of_mindspore(source):
        return
    for owner in source.classes.values():
        if not any(re.match(r"TrainOneStep", last_name(b)) for b in owner.bases):
            continue
        for function in (f for f in owner.body if isinstance(f, ast.FunctionDef) and f.name == "construct"):
            updates = [c for c in of(function, ast.Call) if _OPTIMIZER.search(unparse(c.func)) and c.args]
            taken = [n for n in of(function, ast.Assign) if re.match(r"self\.grad\w*\(", unparse(n.value))]
            if len(updates) == 1 and taken and isinstance(taken[0].targets[0], ast.Name):
                name = taken[0].targets[0].id
                if unparse(updates[0].args[0]) == name:
                    yield owner, function, updates[0], name


def step_keeps_scale(source: Script) -> Finding | None:
    """`grads = self.grad(net, weights)(x, y, sens)` goes to the optimizer, and nothing unscales it."""
    for owner, function, update, name in _own_steps(source):
        if not any(last_name(b) == "TrainOneStepWithLossScaleCell" for b in owner.bases):
            continue
        if not re.search(r"(?i)\bsens\b|scaling_sens|scale_sense", unparse(function)):
            continue
        calls = [c for c in of(function, ast.Call) if any(unparse(a) == name for a in c.args)]
        works = [c for c in calls if c is not update and _MAPS.search(unparse(c.func))]
        products = [b for b in of(function, ast.BinOp) if name in (unparse(b.left), unparse(b.right))]
        if not works and not products:
            return at(
                source, update, "these gradients still carry the loss scale: nothing divides them by it"
            )
    return None


def step_of_one_rank(source: Script) -> Finding | None:
    """Data in parallel, and the step that is written anew never adds up the gradients of all ranks."""
    if not re.search(r"ParallelMode\.DATA_PARALLEL|['\"]data_parallel['\"]", source.text):
        return None
    for _, function, update, _ in _own_steps(source):
        if not _ADDED_UP.search(unparse(function)):
            return at(source, update, "no reducer gets these gradients: each rank trains alone")
    return None
