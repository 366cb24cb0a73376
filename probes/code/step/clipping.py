"""Clipping in scripts that does not reach the update: before gradients are taken, or after the step."""

from __future__ import annotations

import ast

from ...readers._tree import of, unparse
from ...readers.script import argument, keyword, last_name
from ...registry import Finding, View, probe
from ...scripts.flow import flow, returns
from ...scripts.syntax import Script
from ..mindspore.cells import clip_not_taken
from ..optimizer.optax_steps import clipped_after_step
from ..ranks.wrapped import wraps
from ..shared.checks import at, first, ok
from ..shared.numbers import known
from ..shared.rounds import CLEARS
from ..shared.sides import either, literal
from ..tensorflow.graph_gradient import clip_not_applied
from ..tensorflow.keras_slips import clipped_far_off
from ..tensorflow.tape_steps import clip_left_under_tape
from ..trainers.lightning_settings import clip_of_no_bound, clipped_in_training_step, hook_clips_nothing
from ..trainers.trainer_settings import clipped_in_compute_loss
from .several import one_clipped_astray

_CLIPS = ("clip_grad_norm_", "clip_grad_value_", "clip_grad_norm", "clip_grad_value", "clip_gradients")
_FAR = 1e4  # a norm of gradients of this size is no training any more
_SWITCHES = ("no_grad", "enable_grad", "set_grad_enabled", "requires_grad_")  # these touch no gradients


@probe()
def clipping_without_effect(view: View) -> Finding:
    """Gradients are clipped before the backward call, or after the step, of one block of statements.

    False positive: gradients that another call has taken before, which is looked for in that block.
    """
    return first(
        view,
        either(
            _without_effect,
            clip_not_taken,
            clip_not_applied,
            clip_left_under_tape,
            clipped_far_off,
            one_clipped_astray,
            _far_off,
            _by_shard,
            _other_copies,
            hook_clips_nothing,
            clip_of_no_bound,
            clipped_in_training_step,
            clipped_in_compute_loss,
            clipped_after_step,
        ),
        "the scripts clip no gradients beside a backward call and a step",
    )


def _without_effect(source: Script) -> Finding | None:
    seen: ast.AST | None = None
    for call in source.named(*_CLIPS):
        statement: ast.AST = call
        for parent in source.above(call):
            for block in (getattr(parent, "body", None), getattr(parent, "orelse", None)):
                if not isinstance(block, list) or statement not in block:
                    continue
                marks = [_mark(source, s) for s in block]
                here = block.index(statement)
                if "backward" not in set().union(*marks) and _taken_before(source, block[0]):
                    marks, here = [frozenset(["backward"]), *marks], here + 1
                if not ({"backward", "step"} <= set().union(*marks)):
                    continue
                why = _misplaced(marks, here)
                if why:
                    return at(source, call, why)
                seen = seen or call
            if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef, ast.For, ast.While)):
                break
            statement = parent
    return ok(source, seen, "gradients are clipped between backward and step") if seen is not None else None


def _far_off(source: Script) -> Finding | None:
    """`clip_grad_norm_(net.parameters(), 1e6)` whose norm nobody takes: nothing is ever clipped."""
    for call in source.named("clip_grad_norm_", "clip_grad_value_", "clip_by_global_norm"):
        by_torch = last_name(call.func) != "clip_by_global_norm"
        if not by_torch and "mindspore" not in source.frameworks:
            continue
        words = ("max_norm", "clip_value", "clip_norm")
        given = next((k for w in words if (k := keyword(call, w)) is not None), None)
        bound = known(source, given or argument(call, position=1))
        unread = isinstance(source.parents.get(call), ast.Expr) or not by_torch
        if bound is not None and bound >= _FAR and unread:
            return at(source, call, f"no gradient comes near a bound of {bound:g}: nothing is clipped")
    return None


def _by_shard(source: Script) -> Finding | None:
    """`clip_grad_norm_(model.parameters(), c)` under FSDP: each process sees the norm of its own shard.

    Left aside: shards that are not made (NO_SHARD), wrappers that a condition makes, `fully_shard`.
    """
    if "NO_SHARD" in source.code or source.loose or "fully_shard" in source.code:
        return None
    wrapped = {
        w.outer.split(".")[-1]
        for w in wraps(source)
        if last_name(w.call.func) in ("FSDP", "FullyShardedDataParallel")
        and not any(isinstance(p, (ast.If, ast.IfExp)) for p in source.above(w.call))
    }
    wrapped |= {n for n in ("model",) if _made_by_helper(source)}
    for call in source.named("clip_grad_norm_"):
        if not wrapped or not call.args or not isinstance(call.args[0], ast.Call):
            continue
        by_torch = isinstance(call.func, ast.Name) or source.owner(call).endswith("utils")
        owner = source.owner(call.args[0]).split(".")[-1]
        if by_torch and last_name(call.args[0].func) == "parameters" and owner in wrapped:
            if not any(
                isinstance(p, ast.If) and "fsdp" in unparse(p.test).lower() for p in source.above(call)
            ):
                return at(
                    source, call, "each process clips by the norm of its own shard, not of all gradients"
                )
    return None


def _made_by_helper(source: Script) -> bool:
    """`model = wrap(model)`, where all that the script's own function gives back is wrapped."""
    for node in source.of(ast.Assign):
        if unparse(node.targets[0]) != "model" or not isinstance(node.value, ast.Call):
            continue
        for function in flow(source).functions.get(last_name(node.value.func), ()):
            given = returns(function)
            names = [last_name(g.func) for g in given if isinstance(g, ast.Call)]
            if names and len(names) == len(given) and set(names) <= {"FSDP", "FullyShardedDataParallel"}:
                return True
    return False


def _other_copies(source: Script) -> Finding | None:
    """apex's O2 steps fp32 copies of the parameters; what is clipped are the gradients of the model's own."""
    levels = [
        literal(source, g) for c in source.named("initialize") if (g := keyword(c, "opt_level")) is not None
    ]
    if levels != ["O2"] or "master_params" in source.code or source.loose:
        return None
    if any(isinstance(p, ast.If) for c in source.named("initialize") for p in source.above(c)):
        return None
    for call in source.named("clip_grad_norm_", "clip_grad_value_"):
        inside = any(
            isinstance(p, ast.With) and "scale_loss" in " ".join(unparse(i) for i in p.items)
            for p in source.above(call)
        )
        plain = (
            bool(call.args)
            and isinstance(call.args[0], ast.Call)
            and last_name(call.args[0].func) == "parameters"
        )
        if plain and not inside and source.named("scale_loss"):
            return at(
                source,
                call,
                "the optimizer steps copies in fp32, amp.master_params, which this does not clip",
            )
    return None


def _taken_before(source: Script, first_one: ast.stmt) -> bool:
    """Gradients are taken above a block that stands under a condition: `if (i + 1) % 4 == 0:`."""
    condition = source.parents.get(first_one)
    around = source.parents.get(condition) if isinstance(condition, ast.If) else None
    for beside in (getattr(around, "body", None), getattr(around, "orelse", None)):
        if isinstance(beside, list) and condition in beside:
            return any("backward" in _mark(source, s) for s in beside[: beside.index(condition)])
    return False


def _mark(source: Script, statement: ast.stmt) -> frozenset[str]:
    """What a statement does with gradients: takes, clips or applies them."""
    found = set()
    for node in of(statement, ast.Call):
        name = last_name(node.func)
        if node in source.backwards:
            found.add("backward")
        elif node in source.steps:
            found.add("step")
        elif "clip" in name:
            found.add("clip")
        elif name not in (*CLEARS, *_SWITCHES) and ("grad" in name or "backward" in name):
            found.add("gradients")  # taken or changed in another way
    return frozenset(found)


def _misplaced(marks: list[frozenset[str]], here: int) -> str:
    """Why the clipping of one statement of a block cannot work, or "".

    `marks`: what each statement of the block does.
    """
    steps = [i for i, m in enumerate(marks) if "step" in m]
    backwards = [i for i, m in enumerate(marks) if "backward" in m]
    others = any({"clip", "gradients"} & m for i, m in enumerate(marks) if i != here)
    if marks[here] != {"clip"} or len(backwards) != 1 or not steps or others:
        return ""
    if here < backwards[0] < steps[0]:
        return "gradients are clipped before they are taken: those of the update are not"
    if backwards[0] < steps[0] and steps[-1] < here:
        return "gradients are clipped after the step, when the update is done"
    return ""
