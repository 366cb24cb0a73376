"""What a Trainer of Lightning is told, and hooks that take over what it does: precision, clipping, shares."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import keyword, last_name, receiver
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..shared.checks import at, imports_locals, ok
from ..shared.nodes import is_false, is_none, raises
from ..shared.rounds import CLEARS
from ..shared.sides import literal
from .hooks import automatic, lightning, methods

_ADAPTS = re.compile(r"(?i)\blora|peft|adapter")
_CLIPS = ("clip_grad_norm_", "clip_grad_value_", "clip_gradients")
_CHANGES = re.compile(r"clip|clamp|^(?:mul|div|copy|nan_to_num|renorm|zero|foreach\w*)_?$|unscale|step$")
_LOGS = re.compile(r"^(?:log|log_dict|print|save_hyperparameters)$")


def trainers(source: Script) -> list[ast.Call]:
    """Trainers of Lightning that fit a module of the scripts, and whose settings are all written out."""
    if not lightning(source) or not source.named("fit"):
        return []
    return [c for c in source.named("Trainer") if not c.args and all(k.arg for k in c.keywords)]


def _precision(source: Script, made: ast.Call) -> str:
    value = literal(source, keyword(made, "precision"))
    return str(value) if value is not None else ""


def half_by_trainer(source: Script) -> Finding | None:
    """`Trainer(precision="16-true")`, or a backward call by hand that goes past the scaler of "16-mixed"."""
    seen: ast.AST | None = None
    for made in trainers(source):
        told = _precision(source, made)
        if told == "16-true":
            return at(source, made, "weights and gradients are fp16, and nothing scales the loss")
        if told not in ("16-mixed", "16"):
            continue
        seen = made
        for owner in lightning(source):
            step = methods(owner)["training_step"]
            past = [c for c in of(step, ast.Call) if c in source.backwards]
            past = [c for c in past if last_name(c.func) == "backward" and not c.args]
            if past and "GradScaler" not in source.code and "scaler" not in unparse(owner).lower():
                return at(source, past[0], "Lightning scales the loss in manual_backward; this goes past it")
    return ok(source, seen, "Lightning scales the loss") if seen is not None else None


def bfloat_by_trainer(source: Script) -> Finding | None:
    """`Trainer(precision="bf16-true")`: the weights are kept in bf16. Adapters beside them are left aside."""
    for made in trainers(source):
        if _precision(source, made) == "bf16-true" and not _ADAPTS.search(source.code):
            return at(source, made, "the parameters themselves are bf16, without fp32 master copies")
    return None


# --------------------------------------------------------------------------------------------------- hooks


def hook_clears_nothing(source: Script) -> Finding | None:
    """`def optimizer_zero_grad(...)` that clears nothing, or at the first batch of an epoch alone."""
    for owner in lightning(source):
        hook = methods(owner).get("optimizer_zero_grad")
        if hook is None or not automatic(owner) or raises(hook):
            continue
        calls = list(of(hook, ast.Call))
        clears = [c for c in calls if last_name(c.func) in (*CLEARS, "optimizer_zero_grad")]
        if not clears and ".grad" not in unparse(hook) and all(_only_looks(c) for c in calls):
            return at(source, hook, "this stands in for the clearing of gradients, and clears none")
        for call in clears:
            tests = [p.test for p in source.above(call) if isinstance(p, ast.If)]
            if len(clears) == 1 and len(tests) == 1 and _first_batch(hook, tests[0]):
                return at(source, call, "gradients are cleared at the first batch of an epoch alone")
    return None


def _first_batch(hook: Function, test: ast.expr) -> bool:
    """`batch_idx == 0`, `not batch_idx`."""
    names = [a.arg for a in hook.args.args]
    text = unparse(test)
    return len(names) > 2 and text in (f"{names[2]} == 0", f"not {names[2]}", f"0 == {names[2]}")


def _only_looks(call: ast.Call) -> bool:
    """A call that changes no gradients: it logs, or is of torch, or reads a tensor."""
    if _CHANGES.search(last_name(call.func)) is not None:
        return False
    if not isinstance(call.func, ast.Attribute):
        return isinstance(call.func, ast.Name) and call.func.id in ("len", "sum", "max", "print", "range")
    on_self = unparse(call.func.value) in ("self", "super()")
    return not on_self or _LOGS.search(call.func.attr) is not None or call.func.attr in _READS


_READS = ("parameters", "named_parameters", "modules", "named_modules", "children")


def hook_clips_nothing(source: Script) -> Finding | None:
    """`configure_gradient_clipping` is overridden without a clip, and the Trainer is told a bound."""
    bounds = [c for c in trainers(source) if literal(source, keyword(c, "gradient_clip_val"))]
    for owner in lightning(source):
        hook = methods(owner).get("configure_gradient_clipping")
        if hook is None or not bounds or raises(hook):
            continue
        stores = [n for n in of(hook, ast.Attribute) if n.attr in ("grad", "data")]
        stored = any(not isinstance(n.ctx, ast.Load) for n in stores)
        changed = any(isinstance(n, ast.AugAssign) and "grad" in unparse(n.target) for n in of(hook))
        if not stored and not changed and all(_only_looks(c) for c in of(hook, ast.Call)):
            return at(source, hook, "this stands in for the Trainer's clipping, and clips nothing")
    return None


def clip_of_no_bound(source: Script) -> Finding | None:
    """`Trainer(gradient_clip_algorithm="norm")` without `gradient_clip_val`: nothing is clipped."""
    for made in trainers(source):
        asked = keyword(made, "gradient_clip_algorithm")
        if asked is not None and not is_none(asked) and "gradient_clip_val" not in source.code:
            return at(source, made, "a way of clipping is asked for without gradient_clip_val: none is done")
    return None


def clipped_in_training_step(source: Script) -> Finding | None:
    """`clip_grad_norm_` in a training step whose gradients Lightning takes after it."""
    for owner in lightning(source):
        if not automatic(owner) or ".backward(" in unparse(owner):
            continue
        for call in of(methods(owner)["training_step"], ast.Call):
            if last_name(call.func) in _CLIPS and not any(isinstance(p, ast.If) for p in source.above(call)):
                return at(
                    source, call, "Lightning takes the gradients after this step: those are not clipped"
                )
    return None


def clipped_while_lightning_scales(source: Script) -> Finding | None:
    """`clip_grad_norm_` in `on_after_backward` of a run in "16-mixed": gradients hold the loss scale."""
    if not any(_precision(source, c) in ("16-mixed", "16") for c in trainers(source)):
        return None
    for owner in lightning(source):
        hook = methods(owner).get("on_after_backward")
        if hook is None or "unscale" in unparse(owner):
            continue
        for call in of(hook, ast.Call):
            if last_name(call.func) in _CLIPS[:2]:
                return at(source, call, "gradients are clipped while they are still multiplied by the scale")
    return None


# -------------------------------------------------------------------------------------------------- shares

_SHARES = re.compile(
    r"DistributedSampler|IterableDataset|DistributedBatch|world_size|_rank\b|get_rank|process_index|split_by_node"
    r"|num_replicas|\bsampler=|batch_sampler=|webdataset|dali|LightningDataset|StreamingData"
)


def told_not_to_share(source: Script) -> Finding | None:
    """`Trainer(devices=4, use_distributed_sampler=False)`, and nothing else gives each process its part."""
    seen: ast.AST | None = None
    for made in trainers(source):
        flag = keyword(made, "use_distributed_sampler") or keyword(made, "replace_sampler_ddp")
        several = _several(source, keyword(made, "devices")) or _several(source, keyword(made, "gpus"))
        if several and (flag is None or not is_false(flag)):
            seen = seen or made
        if not several or flag is None or not is_false(flag) or imports_locals(source):
            continue
        if not _SHARES.search(source.code.replace("use_distributed_sampler", "")):
            return at(
                source, made, "Lightning is told not to share the data out: each process reads all of it"
            )
    return ok(source, seen, "Lightning shares the data out") if seen is not None else None


def _several(source: Script, node: ast.expr | None) -> bool:
    """More than one device, for sure: `4`, `[0, 1]`."""
    if isinstance(node, ast.List):
        return len(node.elts) > 1
    value = literal(source, node)
    return isinstance(value, int) and not isinstance(value, bool) and value > 1


def frozen_for_fit(source: Script) -> Finding | None:
    """`net.freeze()` of Lightning on a module that the script makes new, before it is handed to `fit`."""
    mine = flow(source)
    fits = [c for c in source.named("fit") if c.args and lightning(source)]
    for call in source.named("freeze"):
        held = receiver(call)
        if not isinstance(held, ast.Name) or call.args or call.keywords or source.named("unfreeze"):
            continue
        loads = source.named("load_from_checkpoint", "load_state_dict", "from_pretrained", "load")
        if any(c.lineno <= call.lineno for c in loads):
            continue  # what is learned already may be kept
        made = [v for v in mine.values(held, 3) if isinstance(v, ast.Call)]
        owners = [source.classes.get(last_name(v.func)) for v in made]
        if len(owners) != 1 or owners[0] not in lightning(source) or "freeze" in methods(owners[0]):
            continue
        later = [c for c in fits if c.lineno > call.lineno and unparse(c.args[0]) == held.id]
        same = [c for c in later if source.function_around(c) is source.function_around(call)]
        if same and not any(isinstance(p, ast.If) for p in source.above(call)):
            return at(source, call, "freeze() switches off the gradients of all that is trained after it")
    return None
