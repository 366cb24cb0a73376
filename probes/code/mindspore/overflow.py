"""MindSpore's loss scale in a step written by hand: overflow that is heeded, and what the scale meets."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import names_in, of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.flow import Flow, flow
from ...scripts.syntax import Function, Script
from ..shared.checks import at, ok
from .steps import of_mindspore

_OVERFLOWS = ("process_loss_scale", "get_overflow_status")
_TOLD = ("adjust", "print", "process_loss_scale", "info", "append", "get_overflow_status")
_OPTIMIZER = re.compile(r"(?i)(?:^|[._])opt(?:im\w*)?$")
_UNSCALES = re.compile(r"(?i)partial\(\w*(?:grad_?scale|unscale|grad_?div|scale_grad)\w*,")


def overflow_unheeded(source: Script) -> Finding | None:
    """The step asks for overflow, tells the scale of it, and updates all the same, or only on overflow.

    Or a scale that is to be adjusted is never told: `process_loss_scale` of MindSpore's cell is not called.
    Left aside: an update under a condition of its own, and a step that asks only to show it.
    """
    if not of_mindspore(source):
        return None
    seen: ast.AST | None = None
    for function in source.of(ast.FunctionDef):
        updates = [c for c in of(function, ast.Call) if c.args and _OPTIMIZER.search(unparse(c.func))]
        asked = _asked(function) if updates else {}
        if not asked:
            continue
        for update in updates:
            if _only_on_overflow(source, update, asked):
                return at(source, update, "this update is made only where gradients overflow")
        told = _tells_scale(function, asked)
        seen = seen or (updates[0] if told else None)
        if told and not any(_guarded(source, u, function) for u in updates):
            if not any(_heeded(source, n, asked) for n in of(function, ast.Name) if n.id in asked):
                why = "overflow lowers the scale, and the update is made with those gradients all the same"
                return at(source, updates[0], why)
    return _never_told(source) or (ok(source, seen, "no update where gradients overflow") if seen else None)


def _asked(function: Function) -> dict[str, bool]:
    """Names that say whether gradients overflow (True) or are finite (False)."""
    found: dict[str, bool] = {}
    for node in of(function, ast.Assign):
        value, turned = node.value, False
        while (isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not)) or (
            isinstance(value, ast.Call) and last_name(value.func) == "logical_not" and value.args
        ):
            value, turned = (value.operand if isinstance(value, ast.UnaryOp) else value.args[0]), not turned
        said: bool | None = None
        if isinstance(value, ast.Call) and last_name(value.func) in _OVERFLOWS:
            said = True
        elif isinstance(value, ast.Call) and last_name(value.func) == "all_finite":
            said = False
        elif isinstance(value, ast.Name):
            said = found.get(value.id)
        for target in node.targets:
            if isinstance(target, ast.Name):
                if said is None:
                    found.pop(target.id, None)  # it is given something else as well
                else:
                    found[target.id] = said is not turned
    return found


def _tells_scale(function: Function, asked: dict[str, bool]) -> bool:
    calls = of(function, ast.Call)
    return any(
        last_name(c.func) in ("adjust", "process_loss_scale")
        and any(asked.keys() & names_in(a) for a in c.args)
        for c in calls
    )


def _only_on_overflow(source: Script, update: ast.Call, asked: dict[str, bool]) -> bool:
    """`if overflow: self.optimizer(grads)`, `if not is_finite: optimizer(grads)`, and no other update."""
    inner: ast.AST = update
    for parent in source.above(update):
        if isinstance(parent, ast.If) and inner in (*parent.body, *parent.orelse):
            test, turned = parent.test, inner in parent.orelse
            while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
                test, turned = test.operand, not turned
            if isinstance(test, ast.Name) and test.id in asked:
                both = [c for side in (parent.body, parent.orelse) for c in _updates(side)]
                return asked[test.id] is not turned and len(both) == 1
        inner = parent
    return False


def _updates(body: list[ast.stmt]) -> Iterator[ast.Call]:
    for statement in body:
        yield from (c for c in of(statement, ast.Call) if c.args and _OPTIMIZER.search(unparse(c.func)))


def _guarded(source: Script, update: ast.Call, function: Function) -> bool:
    """The update stands under a condition of the function, or within a lambda or another function."""
    for parent in source.above(update):
        if parent is function:
            return False
        if isinstance(parent, (ast.If, ast.IfExp, ast.Lambda, ast.FunctionDef)):
            return True
    return True


def _heeded(source: Script, name: ast.Name, asked: dict[str, bool]) -> bool:
    """What was asked goes anywhere else than to the scale, to a log, or back to the caller."""
    if not isinstance(name.ctx, ast.Load):
        return False
    for parent in source.above(name):
        if isinstance(parent, ast.Call) and last_name(parent.func) in _TOLD:
            return False
        if isinstance(parent, ast.Return):
            return False
        if isinstance(parent, ast.Assign):
            return not all(isinstance(t, ast.Name) and t.id in asked for t in parent.targets)
        if isinstance(parent, (ast.stmt, ast.Call)):
            return True
    return True


def _never_told(source: Script) -> Finding | None:
    if not source.named("DynamicLossScaleUpdateCell", "DynamicLossScaleManager"):
        return None
    for owner in source.classes.values():
        if not any(last_name(b) == "TrainOneStepWithLossScaleCell" for b in owner.bases):
            continue
        asks = [c for c in of(owner, ast.Call) if last_name(c.func) == "get_overflow_status"]
        if not asks or re.search(
            r"process_loss_scale|loss_scaling_manager|super\(\)\.construct", unparse(owner)
        ):
            continue
        if source.named(owner.name):
            return at(source, asks[0], "the loss scale is never told of overflow: it stays what it was")
    return None


# ------------------------------------------------------------------------------------------ what is scaled


def sens_without_scale(source: Script) -> Finding | None:
    """`self.grad(net, weights)(x, y, sens)` with a `sens` of one, and gradients are divided by the scale."""
    if not of_mindspore(source):
        return None
    mine = flow(source)
    for function in source.of(ast.FunctionDef):
        divides = [c for c in of(function, ast.Call) if _is_unscaling(c)]
        for call in of(function, ast.Call):
            if not (isinstance(call.func, ast.Call) and call.args and divides):
                continue
            if not re.search(r"(?i)grad", unparse(call.func.func)):
                continue
            given = mine.given(call.args[-1])
            text = unparse(given.value) if given is not None else ""
            if re.search(r"ones_like|\bones\(|fill\(", text) and not re.search(r"(?i)scal|sens", text):
                why = "this starts the gradients at one, and they are divided by a scale they never had"
                return at(source, call, why)
    return None


def _is_unscaling(call: ast.Call) -> bool:
    """`self.hyper_map(F.partial(grad_scale, scaling_sens), grads)`"""
    return len(call.args) > 1 and _UNSCALES.search(unparse(call.args[0])) is not None


def clipped_before_map(source: Script) -> Finding | None:
    """Gradients are clipped, and then `hyper_map(partial(grad_scale, sens), grads)` takes the scale out."""
    if not of_mindspore(source):
        return None
    mine = flow(source)
    for call in source.calls:
        if _is_unscaling(call) and (clip := _clip(mine, call.args[1], 5)) is not None:
            return at(source, clip, "gradients are clipped while they are still multiplied by the loss scale")
    return None


def _clip(mine: Flow, node: ast.expr, depth: int) -> ast.Call | None:
    """A clip that gradients come from; where they were unscaled before that, it is right."""
    if isinstance(node, ast.Call) and depth:
        if re.match(r"clip(?:_grad)?_?by|clip_grad", last_name(node.func)):
            below = [mine.given(a) for a in node.args if isinstance(a, ast.Name)]
            return (
                None
                if any(g and isinstance(g.value, ast.Call) and _is_unscaling(g.value) for g in below)
                else node
            )
        if _is_unscaling(node):
            return None
        return _clip(mine, node.args[-1], depth - 1) if node.args else None
    if isinstance(node, ast.Name) and depth:
        given = mine.given(node)
        return _clip(mine, given.value, depth - 1) if given is not None and not given.places else None
    return None
