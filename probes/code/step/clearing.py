"""Where scripts clear gradients: never, outside the loop that steps, or between backward and the step."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from ...readers._tree import of, unparse, walk
from ...readers.script import last_name
from ...registry import Finding, View, probe
from ...rehearsal.judges import shows
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at, first, imports_locals, ok, outer_loop
from ..shared.rounds import CLEARS, Round, clearings, may_update, rounds, turn_of
from ..shared.sides import either
from ..trainers.deepspeed import engines
from ..trainers.lightning_settings import hook_clears_nothing
from .held_gradients import cleared_before_applied, never_cleared
from .several import one_cleared_early, one_never_cleared


@probe()
def gradients_not_cleared(view: View) -> Finding:
    """Backward and step in a loop, and nothing that clears gradients (or only outside that loop).

    False positive: gradients cleared by a helper of another file.
    """
    return first(
        view,
        either(
            *(_not_cleared, _closure_never_clears, _engine_never_clears, never_cleared, one_never_cleared),
            *(hook_clears_nothing, shows("stale")),
        ),
        "no hand-written training step in the scripts",
    )


def _not_cleared(source: Script) -> Finding | None:
    if not source.trains_by_hand or source.train_scope is None:
        return None
    clears = list(source.named(*CLEARS))
    clears_by_hand = _cleared_by_hand(source)
    if (
        engines(source) is not None
        or any(_is_engine(source, c) for c in source.backwards)
        or not source.backwards
    ):
        return None  # DeepSpeed's engines and functional gradients clear by themselves
    for one in rounds(source):
        if (found := _piles_up(source, one)) is not None:
            return found
    if not clears and not clears_by_hand:
        if imports_locals(source) or outer_loop(source) is None:
            return None
        return at(source, source.backwards[0], "gradients pile up: no call clears them")
    loop = source.train_loop
    if loop is not None and clears and not clears_by_hand:
        inside = [c for c in clears if loop in source.loops_around(c)]
        steps_inside = [s for s in source.steps if loop in source.loops_around(s)]
        in_helpers = [c for c in clears if source.function_around(c) is not source.function_around(loop)]
        if not inside and steps_inside and not in_helpers:
            return at(source, clears[0], _OUTSIDE)
    return ok(source, (clears or clears_by_hand)[0], "gradients are cleared in the training step")


def _closure_never_clears(source: Script) -> Finding | None:
    """`opt.step(closure)` of a function that takes gradients, and nothing in the program ever clears any.

    LBFGS asks it several times for one step, so that what is cleared before the step is not enough.
    """
    by_name = {f.name: f for f in source.of(ast.FunctionDef)}
    several = any(last_name(c.func) == "LBFGS" for c in source.optimizer_calls)
    clears = [*source.named(*CLEARS), *_cleared_by_hand(source)]
    for step in source.steps:
        given = by_name.get(step.args[0].id) if step.args and isinstance(step.args[0], ast.Name) else None
        taken = [c for c in source.backwards if given is not None and source.function_around(c) is given]
        if given is None or not taken or not source.optimizer_calls:
            continue
        inside = {*clears} & {*walk(given)}
        helped = any(isinstance(c.func, ast.Name) and c.func.id in by_name for c in of(given, ast.Call))
        if not inside and not helped and (several or not clears):
            return at(source, taken[0], "gradients pile up: nothing clears them where the closure takes them")
        return ok(source, taken[0], "the closure clears the gradients that it takes")
    return None


def _engine_never_clears(source: Script) -> Finding | None:
    """Ignite's `Engine(step)` runs the step of each batch by itself: no loop is written around it."""
    if "ignite" not in source.text or imports_locals(source):
        return None
    clears = [*source.named(*CLEARS), *_cleared_by_hand(source)]
    by_name = {f.name: f for f in source.of(ast.FunctionDef)}
    for call in source.named("Engine", "DeterministicEngine"):
        given = by_name.get(unparse(call.args[0])) if call.args else None
        inside = {*walk(given)} if given is not None else set()
        taken = [c for c in source.backwards if c in inside]
        if not taken or not any(s in inside for s in source.steps):
            continue
        if clears:
            return ok(source, clears[0], "the step of the engine clears the gradients")
        return at(source, taken[0], "gradients pile up: nothing clears them in the step that the engine runs")
    return None


_OUTSIDE = "gradients are cleared outside the loop that steps, so they pile up inside it"


def _piles_up(source: Script, one: Round) -> Finding | None:
    """Nothing around a step clears gradients, or only what stands before the loop that steps."""
    if not one.steps or may_update(source, one):
        return None
    clears = clearings(source, one)
    if not clears:
        if one.repeated and (not imports_locals(source) or _whole_in_sight(source, one)):
            return at(source, one.backward, "gradients pile up: nothing around this step clears them")
        return None
    if (left := _left_uncleared(source, one, clears)) is not None:
        return at(source, left, f"nothing clears the gradients of {source.owner(left)}, and others are")
    # of the loops around backward the innermost one that steps: inside it gradients of micro-batches add up
    loops = source.loops_around(one.backward)
    stepping = next((p for p in loops if any(p in source.loops_around(s) for s in one.steps)), None)
    if stepping is None:
        if _before_closure(source, one, clears):
            return at(source, clears[0], _ONCE)
        return None
    around = source.function_around(one.backward)
    turn = turn_of(source, stepping)
    if all(c not in turn and source.function_around(c) is around for c in clears):
        return at(source, clears[0], _OUTSIDE)
    return None


def _whole_in_sight(source: Script, one: Round) -> bool:
    """One loop takes gradients and steps, and hands neither optimizer nor network on: no helper clears.

    The optimizer is one of PyTorch that this program builds.
    """
    loop = next(iter(source.loops_around(one.backward)), None)
    steps = [s for s in one.steps if loop is not None and loop in source.loops_around(s)]
    if loop is None or not steps or not source.optimizer_calls:
        return False
    if "torch" not in source.text or not all(
        _OF_TORCH.match(unparse(c.func)) for c in source.optimizer_calls
    ):
        return False
    calls = of(loop, ast.Call)
    told = {source.owner(s) for s in steps} | {unparse(c.func) for c in calls if isinstance(c.func, ast.Name)}
    return not any(unparse(a) in told for c in calls for a in (*c.args, *(k.value for k in c.keywords)))


_OF_TORCH = re.compile(
    r"(?:torch\.)?(?:optim\.)?(?:Adam\w?|SGD|NAdam|RAdam|RMSprop|Adagrad|Adadelta|Adamax)$"
)
_ONCE = "gradients are cleared once, where the step is made, and each call of the step adds to them"


def _before_closure(source: Script, one: Round, clears: Sequence[ast.expr | ast.stmt]) -> bool:
    """The function that steps stands in the one that clears, once, before it is ever called."""
    inner = source.function_around(one.backward)
    if inner is None or any(source.function_around(s) is not inner for s in one.steps):
        return False
    outer = source.function_around(inner)
    if outer is None or any(isinstance(p, (ast.For, ast.While)) for p in source.above(inner)):
        return False
    calls = [c for c in flow(source).calls_of(inner) if source.function_around(c) is outer]
    handed = any(n.id == inner.name for r in of(outer, ast.Return) for n in of(r, ast.Name))
    if not (handed and not calls) and not any(source.loops_around(c) for c in calls):
        return False  # it may run once only
    return all(source.function_around(c) is outer and not source.loops_around(c) for c in clears)


def _left_uncleared(source: Script, one: Round, clears: Sequence[ast.expr | ast.stmt]) -> ast.Call | None:
    """The step of an optimizer that is never cleared, where others that step beside it are cleared.

    `a.step(); b.step(); a.zero_grad()`: the gradients of `b` pile up.
    """
    function = source.function_around(one.backward)
    if function is None or any(source.function_around(c) is not function for c in clears):
        return None
    steps = {source.owner(s): s for s in one.steps if source.function_around(s) is function and not s.args}
    cleared = {source.owner(c) for c in clears if isinstance(c, ast.Call) and last_name(c.func) in CLEARS}
    backwards = [b for b in source.backwards if source.function_around(b) is function]
    plain = len(steps) == len(one.steps) and all(o.replace("_", "").isalnum() for o in steps)
    if not plain or len(backwards) != 1 or not cleared or not cleared < set(steps):
        return None
    if len(clears) != sum(isinstance(c, ast.Call) for c in clears):
        return None
    return next(s for o, s in steps.items() if o not in cleared)


def _cleared_by_hand(source: Script) -> list[ast.stmt | ast.expr]:
    """`p.grad = None`, `p.grad.zero_()`, `p.grad.fill_(0)`, `p.grad *= 0`."""
    found: list[ast.stmt | ast.expr] = []
    for node in source.of(ast.Assign, ast.Call, ast.AugAssign):
        if isinstance(node, ast.Assign):
            nothing = isinstance(node.value, ast.Constant) or last_name(node.value).startswith("zeros")
            if isinstance(node.value, ast.Call):
                nothing = last_name(node.value.func) in ("zeros_like", "zeros")
            if nothing and any(".grad" in unparse(t) for t in node.targets):
                found.append(node)
        elif isinstance(node, ast.Call) and last_name(node.func) in ("zero_", "fill_", "mul_"):
            emptied = last_name(node.func) == "zero_" or (node.args and _is_zero(node.args[0]))
            if emptied and source.owner(node).endswith((".grad", ".grad.data")):
                found.append(node)
        elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Mult):
            if ".grad" in unparse(node.target) and _is_zero(node.value):
                found.append(node)
    return found


def _is_zero(node: ast.expr) -> bool:
    """A zero that is written out; `p.grad.mul_(scale)` clips, `p.grad *= 0.5` halves."""
    return isinstance(node, ast.Constant) and node.value == 0


def _is_engine(source: Script, call: ast.Call) -> bool:
    """`engine.backward(loss)` of DeepSpeed, whose step clears the gradients."""
    owner = source.owner(call).lower()
    if "accelerat" in owner:
        return False
    return bool(call.args) and ("engine" in owner or "deepspeed" in source.text)


def _filled(source: Script, clear: ast.expr | ast.stmt, steps: Sequence[ast.Call]) -> bool:
    """Gradients are written by hand between this and the next step: `net.weights.grad = grad(...)`."""
    later = [_position(s) for s in steps if _position(s) > _position(clear)]
    return bool(later) and any(
        isinstance(t, ast.Attribute) and t.attr == "grad"
        for n in source.of(ast.Assign)
        if _position(clear) < _position(n) < min(later) and not isinstance(n.value, ast.Constant)
        for t in n.targets
    )


@probe()
def cleared_before_step(view: View) -> Finding:
    """zero_grad stands after backward and before step in one block of statements."""
    checks = either(_cleared_early, cleared_before_applied, one_cleared_early, shows("lost", "micro-lost"))
    return first(view, checks, "no hand-written training step in the scripts")


def _cleared_early(source: Script) -> Finding | None:
    clears = [*source.named(*CLEARS), *(c for c in _cleared_by_hand(source) if _in_turn(source, c))]
    if not source.trains_by_hand or not clears:
        return None
    judged = None
    for backward in source.backwards:
        scope = source.function_around(backward) or source.tree
        loops = source.loops_around(backward)
        mine = [b for b in source.backwards if source.function_around(b) is source.function_around(backward)]
        if len(mine) > 1 or (scope is source.tree and len(source.backwards) > 1 and not loops):
            continue  # several objectives (GAN) interleave on purpose
        judged = judged or backward
        inside = set(walk(scope))
        steps = [c for c in source.steps if c in inside and _position(c) > _position(backward)]
        late = [c for c in clears if c in inside and _position(c) > _position(backward)]
        same = [c for c in late if source.loops_around(c)[-len(loops) :] == loops or not loops]
        same = [c for c in same if not _apart(source, c, backward, steps) and not _filled(source, c, steps)]
        if steps and same and min(map(_position, same)) < min(map(_position, steps)):
            return at(source, same[0], "gradients are cleared between backward and the optimizer step")
        if (early := _stepped_early(source, backward, clears)) is not None:
            return at(
                source, early, "the step stands before backward, and the next round clears the gradients"
            )
    return ok(source, judged, "gradients are not cleared between backward and step") if judged else None


def _stepped_early(
    source: Script, backward: ast.Call, clears: Sequence[ast.expr | ast.stmt]
) -> ast.Call | None:
    """clear, step, backward in one turn of a loop: the step never meets a gradient.

    `step, clear, backward` is an update that is put off by one batch.
    """
    block = source.statement(backward)
    loop = source.loops_around(backward)[:1]
    if not loop or block is None or block not in source.parents or source.parents[block] is not loop[0]:
        return None
    inside = set(walk(loop[0]))
    steps = [s for s in source.steps if s in inside]
    here = [s for s in steps if (b := source.statement(s)) is not None and source.parents.get(b) is loop[0]]
    if not steps or len(here) != len(steps) or any(_position(s) > _position(backward) for s in steps):
        return None
    mine = [c for c in clears if c in inside and _position(c) < _position(backward)]
    late = [c for c in clears if c in inside and c not in mine]
    first = min(map(_position, mine), default=None)
    plain = all(source.parents.get(source.statement(c) or c) is loop[0] for c in mine)
    return steps[0] if plain and not late and first is not None and first < _position(steps[0]) else None


def _in_turn(source: Script, clear: ast.stmt | ast.expr) -> bool:
    """Cleared by hand, gradients are the model's where a loop goes over them: not `adv.grad.zero_()`."""
    about = unparse(clear).partition(".grad")[0]
    return any(
        isinstance(loop, (ast.For, ast.comprehension)) and unparse(loop.target).endswith(about.split(".")[0])
        for loop in source.above(clear)
    )


def _apart(source: Script, clear: ast.AST, backward: ast.AST, steps: Sequence[ast.Call]) -> bool:
    """The node stands under a condition that neither backward nor a step stands under."""
    return _other_branch(source, clear, backward) and all(_other_branch(source, clear, s) for s in steps)


def _other_branch(source: Script, node: ast.AST, backward: ast.AST) -> bool:
    """The node stands under a condition that backward does not stand under."""
    around = set(source.above(backward))
    return any(
        isinstance(p, (ast.If, ast.Try, ast.ExceptHandler)) and p not in around and not _about_grad(p)
        for p in source.above(node)
    )


def _about_grad(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ".grad" in unparse(node.test)


def _position(node: ast.expr | ast.stmt) -> tuple[int, int]:
    return node.lineno, node.col_offset
