"""Schedules in scripts that are moved before the update that they belong to."""

from __future__ import annotations

import ast
import re

from ...readers._tree import unparse
from ...readers.script import SCHEDULERS, last_name
from ...registry import Finding
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.gates import turn_of_test

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
        whole: ast.stmt = statement  # with the gate that both the schedule and the update hang on
        while isinstance(outer := source.parents.get(whole), ast.If) and _is_gate_alone(source, outer):
            whole = outer
        statement = whole
        around = source.parents.get(statement)
        for block in (getattr(around, "body", None), getattr(around, "orelse", None)):
            if not isinstance(block, list) or statement not in block:
                continue
            place = block.index(statement)
            steps = [i for i, s in enumerate(block) if isinstance(s, ast.Expr) and s.value in source.steps]
            trains = any(_takes(source, s) for s in (*_above_gate(source, around), *block[:place]))
            if trains and steps and steps[0] > place:
                return at(source, call, "the schedule is moved before the update: its first rate is skipped")
    return None


def _is_gate_alone(source: Script, branch: ast.If) -> bool:
    """`if accelerator.sync_gradients: scheduler.step()`, with nothing else to do."""
    turn = turn_of_test(source, branch.test)
    return turn is not None and not turn.negated and len(branch.body) == 1 and not branch.orelse


def _above_gate(source: Script, around: ast.AST | None) -> list[ast.stmt]:
    """The statements above a condition that is true with the last of several micro-batches."""
    turn = turn_of_test(source, around.test) if isinstance(around, ast.If) else None
    if turn is None or turn.negated or around is None:
        return []
    block = getattr(source.parents.get(around), "body", [])
    return block[: block.index(around)] if around in block else []


def _takes(source: Script, statement: ast.stmt) -> bool:
    """Gradients are taken or clipped in a statement, so that the update comes next."""
    return any(
        isinstance(n, ast.Call) and (n in source.backwards or "clip_grad" in last_name(n.func))
        for n in ast.walk(statement)
    )
