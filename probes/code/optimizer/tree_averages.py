"""Averages and statistics that JAX programs keep beside the weights, in trees and states."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import argument, keyword, last_name
from ...registry import Finding
from ...scripts.syntax import Script
from ..shared.checks import at, ok
from ..shared.numbers import known
from ..shared.sides import words

_AVERAGE = {
    "ema",
    "avg",
    "average",
    "averaged",
    "target",
    "slow",
    "shadow",
    "teacher",
    "polyak",
    "tgt",
    "momentum",
}
_MAPS = ("tree_map", "tree_multimap", "map")
_MOST = 0.8  # share of the new weights from which on nothing is averaged
_DECAY = re.compile(r"(?i)(?:^|[._])(?:ema_?)?(?:decay|momentum|beta|rate_of_old)$")


def _is_average(node: ast.expr) -> bool:
    return bool(set(words(unparse(node))) & _AVERAGE)


def trees_mixed_wrongly(source: Script) -> Finding | None:
    """`tree_map(lambda e, p: 0.999 * e + 0.001 * p, params, ema)`: the average is nearly the newest weights.

    Also `optax.incremental_update(new, old, step)` whose first two are exchanged.
    """
    if "jax" not in source.frameworks:
        return None
    seen: ast.AST | None = None
    for call in source.named(*_MAPS):
        if (
            len(call.args) != 3
            or not isinstance(call.args[0], ast.Lambda)
            or "tree" not in unparse(call.func)
        ):
            continue
        sides = call.args[1:]
        if _is_average(sides[0]) is _is_average(sides[1]) or len(call.args[0].args.args) != 2:
            continue
        names = [a.arg for a in call.args[0].args.args]
        old, new = names if _is_average(sides[0]) else names[::-1]
        share = _share(source, call.args[0].body, old, new)
        if share is None:
            continue
        seen = seen or call
        if share <= 1 - _MOST:
            return at(source, call, "the shares are exchanged: the average is nearly the newest weights")
    for call in source.named("incremental_update"):
        if len(call.args) < 2:
            continue
        seen = seen or call
        step = argument(call, "step_size", position=2)
        size = known(source, step) if step is not None else None
        if _is_average(call.args[0]) and not _is_average(call.args[1]) and (size is None or size < 0.5):
            return at(source, call, "the average is handed over as the new weights: it goes into the model")
        if _is_average(call.args[1]) and size is not None and _MOST <= size < 1:
            return at(
                source, call, f"the average takes {size:g} of the new weights: the shares are exchanged"
            )
    return ok(source, seen, "the average keeps most of itself") if seen is not None else None


def _share(source: Script, body: ast.expr, old: str, new: str) -> float | None:
    """The share of the old one; 1 and 0 where a decay without a number stands at one of them."""
    if not isinstance(body, ast.BinOp) or not isinstance(body.op, ast.Add):
        return None
    found: dict[str, ast.expr] = {}
    for side in (body.left, body.right):
        if not isinstance(side, ast.BinOp) or not isinstance(side.op, ast.Mult):
            return None
        for name, factor in ((side.left, side.right), (side.right, side.left)):
            if isinstance(name, ast.Name) and name.id in (old, new):
                found[name.id] = factor
    if set(found) != {old, new}:
        return None
    number = known(source, found[old])
    if number is not None:
        return number if 0 < number < 1 else None
    if _DECAY.search(unparse(found[old])):
        return 1.0
    return 0.0 if _DECAY.search(unparse(found[new])) and "1" in unparse(found[old]) else None


def state_field_left(source: Script) -> Finding | None:
    """A field of a train state that training should carry on is set where the state is made, and never again.

    An average of the weights that something reads, or statistics of batch norm that each step gives.
    """
    if "jax" not in source.frameworks or source.loose:
        return None
    named = {a.asname for n in source.of(ast.ImportFrom) for a in n.names if a.name == "TrainState"}
    states = [
        c
        for c in source.classes.values()
        if any("TrainState" in unparse(b) or unparse(b) in named for b in c.bases)
    ]
    changed = any(
        "batch_stats" in unparse(k.value) for c in source.calls for k in c.keywords if k.arg == "mutable"
    )
    for owner in states:
        for field in (
            n for n in owner.body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)
        ):
            name = field.target.id if isinstance(field.target, ast.Name) else ""
            if not (name == "batch_stats" and changed) and not (
                _is_average(field.target) and "param" in name
            ):
                continue
            given = [c for c in source.calls if any(k.arg == name for k in c.keywords)]
            starred = any(
                k.arg is None for c in source.named("replace", "apply_gradients") for k in c.keywords
            )
            made = [c for c in given if last_name(c.func) in ("create", owner.name)]
            if not made or len(made) != len(given) or starred or not _is_read(source, name):
                continue
            what = (
                "the statistics that each step gives are dropped" if name == "batch_stats" else "it is read"
            )
            return at(source, made[0], f"nothing carries `{name}` on after its start, and {what}")
    return _statistics_dropped(source) or _handed_through(source)


def _handed_through(source: Script) -> Finding | None:
    """A step takes `ema_params`, updates the weights, and gives the average back as it came."""
    for function in source.of(ast.FunctionDef):
        names = {a.arg for a in function.args.args if "param" in a.arg and _is_average(ast.Name(a.arg))}
        inside = {last_name(c.func) for c in of(function, ast.Call)}
        if not names or not inside & {"apply_updates", "apply_gradients"}:
            continue
        mine = [n for n in of(function, ast.Name) if n.id in names]
        if len(mine) == 1 and isinstance(source.parents.get(mine[0]), ast.Tuple):
            if any(mine[0] in list(of(r, ast.Name)) for r in of(function, ast.Return)):
                return at(
                    source, function, f"nothing updates `{mine[0].id}`: the step gives it back as it came"
                )
    return None


def _is_read(source: Script, name: str) -> bool:
    return any(isinstance(n.ctx, ast.Load) and n.attr == name for n in source.of(ast.Attribute))


def _statistics_dropped(source: Script) -> Finding | None:
    """`logits, _ = model.apply(..., mutable=["batch_stats"])` where gradients are taken."""
    for node in source.of(ast.Assign):
        call, target = node.value, node.targets[0]
        if not isinstance(call, ast.Call) or not isinstance(target, ast.Tuple) or len(target.elts) != 2:
            continue
        given = keyword(call, "mutable")
        name = target.elts[1]
        if given is None or "batch_stats" not in unparse(given) or not isinstance(name, ast.Name):
            continue
        function = source.function_around(node)
        if function is None or not _is_learnt(source, function.name):
            continue
        if not any(n.id == name.id and isinstance(n.ctx, ast.Load) for n in of(function, ast.Name)):
            return at(source, node, "the statistics of batch norm that this step gives are dropped")
    return None


def _is_learnt(source: Script, name: str) -> bool:
    """A gradient is taken of this function."""
    calls = source.named("value_and_grad", "grad")
    return any(c.args and unparse(c.args[0]) == name for c in calls)
