"""Meters of scripts that are made once and never emptied: each evaluation counts on from the one before."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.learning import takes_gradients
from ...scripts.syntax import Function, Script
from ..shared.checks import at, outer_loop, runs_in
from ..shared.nodes import paired

_EMPTIES = re.compile(r"^(?:reset|clear|zero|restart|start_anew)\w*$")
_RESETS = ("reset", "clear", "reset_state", "reset_states")
_LIBRARY = re.compile(r"(?:^|\.)(?:nn|metrics|torchmetrics|train|mindspore|ms)\.(?:[A-Z]\w+\.)*[A-Z]\w+$")


def meters_go_on(source: Script) -> Finding | None:
    """A meter that is made once, counts in each evaluation, and whose `reset` nothing calls."""
    loop = outer_loop(source)
    if loop is None:
        return None
    return _of_own_class(source, loop) or _of_library(source, loop)


def _of_own_class(source: Script, loop: ast.AST) -> Finding | None:
    """`self.scores = Counts(n)` in `__init__`, `Counts.clear()` is called by its own `__init__` alone."""
    for owner in source.classes.values():
        methods = [f for f in owner.body if isinstance(f, ast.FunctionDef)]
        empties = [f for f in methods if _EMPTIES.match(f.name) and _only_empties(f)]
        if len(empties) != 1 or any(owner.name in map(unparse, c.bases) for c in source.classes.values()):
            continue
        name = empties[0].name
        called = [c for c in source.named(name) if source.class_around(c) is not owner]
        if called or re.search(rf"""['"]{name}['"]|\.{name}\b(?!\()""", source.code):
            continue
        zeros = {t.attr for t in of(empties[0], ast.Attribute) if isinstance(t.ctx, ast.Store)}
        if any(
            n.attr in zeros and isinstance(n.ctx, ast.Store) and source.class_around(n) is not owner
            for n in source.of(ast.Attribute)
        ):
            continue  # `tally.n = 0` from outside
        made = source.named(owner.name)
        adders = {f.name for f in methods if f is not empties[0] and _adds(f)}
        if made and all(_once(source, c) for c in made) and _scored(source, adders, loop):
            why = f"`{owner.name}` counts on from one evaluation to the next: nothing calls its `{name}`"
            return at(source, made[0], why)
    return None


def _only_empties(function: Function) -> bool:
    """All that the method does is to set attributes to zeros."""
    parts = [s for s in function.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    return bool(parts) and all(
        isinstance(s, ast.Assign)
        and re.search(r"\b0(?:\.0)?\b|zeros|\[\]|\{\}", unparse(s.value)) is not None
        for s in parts
    )


def _adds(function: Function) -> bool:
    return any(unparse(n.target).startswith("self.") for n in of(function, ast.AugAssign))


def _once(source: Script, call: ast.Call) -> bool:
    """Made at the top of the script, or by the constructor of something that is made there."""
    around = source.function_around(call)
    if source.loops_around(call):
        return False
    if around is None:
        return True
    owner = source.class_around(call)
    if around.name != "__init__" or owner is None:
        return False
    makers = source.named(owner.name)
    return bool(makers) and not any(source.loops_around(c) for c in makers)


def _scored(source: Script, adders: set[str], loop: ast.AST) -> bool:
    """One of these methods is called where no gradients are taken, in each round of training."""
    for call in source.named(*adders) if adders else ():
        around = source.function_around(call)
        if around is not None and not takes_gradients(source, around) and source.loops_around(call):
            inner = source.loops_around(call)[0]
            if inner is not loop and runs_in(source, call, loop):
                return True
    return False


def _of_library(source: Script, loop: ast.AST) -> Finding | None:
    """`accuracy = nn.Accuracy()`, then `update` and `eval` in each evaluation, and no `clear`.

    Left aside: programs of Lightning, which empties them, and those that empty what they find in a list.
    """
    if "LightningModule" in source.code or "lightning" in source.code.lower():
        return None
    resets = [c for c in source.named(*_RESETS) if isinstance(c.func, ast.Attribute)]
    owners = {source.owner(c) for c in resets}
    for node in source.of(ast.Assign):
        targets = node.targets[0]
        pairs = paired(targets, node.value)
        for target, made in pairs:
            if not isinstance(made, ast.Call) or not isinstance(target, (ast.Name, ast.Attribute)):
                continue
            if not _LIBRARY.search(unparse(made.func)) or not _once(source, made):
                continue
            name = unparse(target)
            adds = [c for c in source.named("update", "update_state") if source.owner(c) == name]
            asks = [c for c in source.named("eval", "compute", "result") if source.owner(c) == name]
            if not adds or not asks or name in owners or _emptied_in_list(source, resets, name):
                continue
            for call in adds:
                around = source.function_around(call)
                inner = source.loops_around(call)
                if around is None or takes_gradients(source, around) or not inner or inner[0] is loop:
                    continue
                if runs_in(source, call, loop):
                    return at(source, node, f"`{name}` counts on from one evaluation to the next")
    return None


def _emptied_in_list(source: Script, resets: list[ast.Call], name: str) -> bool:
    """`for m in (loss, accuracy): m.reset()` of a list that holds it, or of one that is not written out."""
    for call in resets:
        for loop in source.loops_around(call):
            if isinstance(loop, ast.For) and unparse(loop.target) == source.owner(call):
                written = isinstance(loop.iter, (ast.List, ast.Tuple))
                if not written or name in [unparse(e) for e in getattr(loop.iter, "elts", [])]:
                    return True
        if last_name(call.func) == "clear" and not source.owner(call):
            return True
    return False
