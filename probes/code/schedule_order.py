"""Schedules in scripts that are moved before the update that they belong to."""

from __future__ import annotations

import ast
import re

from ..readers._tree import unparse
from ..readers.script import SCHEDULERS, last_name
from ..registry import Finding
from ..syntax import Script
from .checks import at

_SCHEDULE = re.compile(r"(?i)sched|(?:^|_)warmup$|lr_decay$")


def moved_before_update(source: Script) -> Finding | None:
    """`scheduler.step()` right above `optimizer.step()` of one block: the first rate is never used.

    The update is meant that stands in the same block of statements; a schedule that moves at the top of an
    epoch, as before PyTorch 1.1, is left aside, and one that moves after another update of the block.
    """
    names = {
        unparse(t)
        for n in source.of(ast.Assign)
        if isinstance(n.value, ast.Call) and last_name(n.value.func).lower() in SCHEDULERS
        for t in n.targets
    }
    for call in source.named("step"):
        owner = source.owner(call)
        statement = source.parents.get(call)
        if not (owner in names or _SCHEDULE.search(owner)) or not isinstance(statement, ast.Expr):
            continue
        if call in source.steps or call.args or call.keywords:
            continue
        around = source.parents.get(statement)
        for block in (getattr(around, "body", None), getattr(around, "orelse", None)):
            if not isinstance(block, list) or statement not in block:
                continue
            place = block.index(statement)
            steps = [i for i, s in enumerate(block) if isinstance(s, ast.Expr) and s.value in source.steps]
            trains = any(_takes(source, s) for s in block[:place])
            if trains and steps and steps[0] > place:
                return at(source, call, "the schedule is moved before the update: its first rate is skipped")
    return None


def _takes(source: Script, statement: ast.stmt) -> bool:
    """Gradients are taken or clipped in a statement, so that the update comes next."""
    return any(
        isinstance(n, ast.Call) and (n in source.backwards or "clip_grad" in last_name(n.func))
        for n in ast.walk(statement)
    )
