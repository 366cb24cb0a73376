"""Steps of optax in scripts: the order of a chain, and the new state that a step gives."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at

_WHOLE = re.compile(r"^(?:adamw?|sgd|lion|rmsprop|adagrad|nadamw?|radam|adafactor|lamb|lars|adabelief|yogi)$")
_CLIPS = ("clip_by_global_norm", "clip", "adaptive_grad_clip")
_UPDATES = ("apply_gradients", "apply_updates")


def clipped_after_step(source: Script) -> Finding | None:
    """`optax.chain(optax.adamw(rate), optax.clip_by_global_norm(1.0))`: what is clipped is no gradient."""
    if "jax" not in source.frameworks:
        return None
    for call in source.named("chain"):
        names = [last_name(a.func) if isinstance(a, ast.Call) else "" for a in call.args]
        whole = next((i for i, n in enumerate(names) if _WHOLE.match(n)), None)
        if whole is not None and not any(n in _CLIPS for n in names[:whole]):
            for place, name in enumerate(names[whole + 1 :], whole + 1):
                if name in _CLIPS:
                    why = "the chain clips the updates that the optimizer gives, not the gradients"
                    return at(source, call.args[place], why)
    return None


def new_state_dropped(source: Script) -> Finding | None:
    """`_, loss = train_step(state, x, y)`: training goes on with the old state.

    Also `new_state = state.apply_gradients(grads=grads)` in the step itself, which nothing reads.
    """
    if "jax" not in source.frameworks or source.loose:
        return None
    for alone in source.of(ast.Expr):
        if isinstance(alone.value, ast.Call) and last_name(alone.value.func) in _UPDATES:
            if any(isinstance(a, ast.Call) and last_name(a.func) == "zip" for a in alone.value.args):
                continue  # Keras' optimizer, which changes the weights where they are
            return at(source, alone, "what this step makes of the weights is dropped")
    for made in source.of(ast.Assign):
        step, kept = made.value, made.targets[0]
        if isinstance(step, ast.Call) and last_name(step.func) in _UPDATES and isinstance(kept, ast.Name):
            if source.function_around(made) is not None and _never_read(source, step, kept):
                return at(source, made, "what this step makes of the weights is dropped")
    for function in source.of(ast.FunctionDef):
        if (call := _dropped_by_callers(source, function, _place_of_state(function))) is not None:
            return at(source, call, "the new state of this step is dropped: each step begins anew")
    return None


def moments_dropped(source: Script) -> Finding | None:
    """`updates, _ = tx.update(grads, opt_state, params)`: each step begins with the moments of the first.

    Also `params, _, loss = step(params, opt_state, x, y)` of a function that gives the new ones back.
    """
    if "jax" not in source.frameworks or source.loose:
        return None
    for made in source.of(ast.Assign):
        call, target = made.value, made.targets[0]
        if not isinstance(call, ast.Call) or last_name(call.func) != "update" or len(call.args) < 2:
            continue
        if not isinstance(target, ast.Tuple) or len(target.elts) != 2 or "state" not in unparse(call.args[1]):
            continue
        name = target.elts[1]
        if (
            isinstance(name, ast.Name)
            and not source.named("apply_gradients")
            and source.named("apply_updates")
        ):
            if _never_read(source, call, name):
                return at(source, made, "the new state of the optimizer is dropped: its moments never grow")
    for function in source.of(ast.FunctionDef):
        if (one := _dropped_by_callers(source, function, _place_of_moments(function))) is not None:
            return at(source, one, "the new state of the optimizer is dropped: its moments never grow")
    return None


def _dropped_by_callers(source: Script, function: ast.FunctionDef, place: int | None) -> ast.Call | None:
    """A call in a loop whose caller never reads what the function gives at this place."""
    if place is None:
        return None
    for call in flow(source).calls_of(function):
        statement = source.statement(call)
        if not isinstance(statement, ast.Assign) or statement.value is not call:
            continue
        target = statement.targets[0]
        if not source.loops_around(call) or not isinstance(target, ast.Tuple) or len(target.elts) <= place:
            continue
        name = target.elts[place]
        given = {unparse(a) for a in call.args}
        if isinstance(name, ast.Name) and _never_read(source, call, name) and name.id not in given:
            return call
    return None


def _place_of_moments(function: ast.FunctionDef) -> int | None:
    """Where in its answer a function gives the state of the optimizer that `tx.update(...)` gave."""
    names = {
        made.targets[0].elts[1].id
        for made in of(function, ast.Assign)
        if isinstance(made.value, ast.Call) and last_name(made.value.func) == "update"
        if isinstance(made.targets[0], ast.Tuple) and len(made.targets[0].elts) == 2
        if isinstance(made.targets[0].elts[1], ast.Name)
    }
    for back in of(function, ast.Return):
        for place, one in enumerate(back.value.elts if isinstance(back.value, ast.Tuple) else ()):
            if isinstance(one, ast.Name) and one.id in names:
                return place
    return None


def _place_of_state(function: ast.FunctionDef) -> int | None:
    """Where in its answer a function gives what `apply_gradients` or `apply_updates` gave."""
    names = {
        t.id
        for a in of(function, ast.Assign)
        if isinstance(a.value, ast.Call) and last_name(a.value.func) in _UPDATES
        for t in a.targets
        if isinstance(t, ast.Name)
    }
    for back in of(function, ast.Return):
        for place, one in enumerate(back.value.elts if isinstance(back.value, ast.Tuple) else ()):
            owner = one
            while isinstance(owner, ast.Call) and isinstance(owner.func, ast.Attribute):
                owner = owner.func.value  # `state.replace(key=key)`
            if (isinstance(owner, ast.Name) and owner.id in names) or (
                isinstance(one, ast.Call) and last_name(one.func) in _UPDATES
            ):
                return place
    return None


def _never_read(source: Script, call: ast.Call, name: ast.Name) -> bool:
    scope = source.function_around(call) or source.tree
    return not any(n.id == name.id and isinstance(n.ctx, ast.Load) for n in of(scope, ast.Name))
