"""Half precision in scripts: scaler, clipping, casts."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from functools import partial

from ...readers._tree import of, unparse, walk
from ...readers.script import keyword, last_name, receiver
from ...registry import Finding, View, probe
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..calls.old_device import optimizer_unknown_to_apex
from ..mindspore.overflow import clipped_before_map, overflow_unheeded
from ..mindspore.steps import clipped_while_scaled_ms, half_without_scale, never_adjusted
from ..shared.checks import at, first, imports_locals, is_evaluation, ok
from ..shared.nodes import is_false
from ..shared.sides import either, off_by_default
from ..tensorflow.ascend import mixed_without_scale
from ..tensorflow.tape import clipped_while_scaled, half_under_tape
from ..trainers.deepspeed import clipped_past_engine, engine_in_fp16, engines, scale_of_one
from ..trainers.handed import is_accelerator
from ..trainers.lightning_settings import bfloat_by_trainer, clipped_while_lightning_scales, half_by_trainer
from ..trainers.trainer_settings import bfloat_weights, half_weights
from .scaled import (
    apex_unscaled,
    clipped_inside_scale,
    default_fp16_unscaled,
    scale_never_used,
    scale_stands,
    scaler_of_one_shard,
    sharded_fp16_unscaled,
)


@probe()
def clip_before_unscale(view: View) -> Finding:
    """A scaler scales the loss and gradients are clipped without, or before, `unscale_`."""
    return first(
        view,
        either(
            _clip_before,
            _clip_past_engine,
            clipped_inside_scale,
            _clip_before_division,
            clipped_while_scaled,
            clipped_while_scaled_ms,
            clipped_before_map,
            clipped_while_lightning_scales,
            partial(clipped_past_engine, view),
        ),
        "no scaled gradients are clipped",
    )


def _clip_before(source: Script) -> Finding | None:
    clips = [
        c
        for c in source.named("clip_grad_norm_", "clip_grad_value_")
        if not _unscaled_way(source, c) and not _unscaled_step(source, c)
    ]
    scaled = [c for c in source.named("scale") if source.is_scaler(c.func)]
    if not clips or not scaled:
        return None
    unscales = source.named("unscale_", "unscale", "unscale_gradients", "unscale_grads")
    early = [c for c in clips if _comes_first(source, c, unscales)] if unscales else list(clips)
    if not unscales and imports_locals(source):
        return None
    if early:
        return at(source, early[0], "gradients are clipped while they are still multiplied by the loss scale")
    return ok(source, clips[0], "gradients are unscaled before they are clipped")


def _clip_past_engine(source: Script) -> Finding | None:
    """Accelerate scales the loss in fp16, and the clip is PyTorch's own: it meets scaled gradients."""
    if not any(is_accelerator(source, c) for c in source.backwards) or source.named("unscale_gradients"):
        return None
    clips = source.named("clip_grad_norm_", "clip_grad_value_")
    if "fp16" not in source.code or any(is_accelerator(source, c) for c in clips):
        return None
    for call in clips:
        if re.search(r"(?:^|\.)utils$", source.owner(call)) or isinstance(call.func, ast.Name):
            return at(source, call, "Accelerate unscales in its own clip; this one meets scaled gradients")
    return None


def _clip_before_division(source: Script) -> Finding | None:
    """MindSpore: `grads = clip(grads)`, then `grads = loss_scaler.unscale(grads)`."""
    for function in source.of(ast.FunctionDef):
        clips = [c for c in of(function, ast.Call) if last_name(c.func).startswith("clip_by")]
        divides = [c for c in of(function, ast.Call) if last_name(c.func) == "unscale" and c.args]
        for clip in clips:
            names = {unparse(a) for a in clip.args[:1]}
            later = [d for d in divides if unparse(d.args[0]) in names and d.lineno > clip.lineno]
            if later and not any(d.lineno < clip.lineno and unparse(d.args[0]) in names for d in divides):
                return at(
                    source, clip, "gradients are clipped while they are still multiplied by the loss scale"
                )
    return None


def _unscaled_way(source: Script, clip: ast.Call) -> bool:
    """The way on which there is no scaler: `if scaler is None: ...`, or the other side of `if scaler:`."""
    inner: ast.AST = clip
    for parent in source.above(clip):
        if isinstance(parent, ast.If) and "scaler" in unparse(parent.test).lower():
            test = unparse(parent.test)
            without = re.search(r"(?i)scaler\w*(?:\(\))? is None|not [\w.]*scaler", test) is not None
            if without == (inner in parent.body):
                return True
        inner = parent
    return False


def _unscaled_step(source: Script, clip: ast.Call) -> bool:
    """The function of the clip takes gradients of a loss that it made itself, and scales none.

    Another step of the program works with the scaler: `loss = f(x); loss.backward(); clip_grad_norm_(...)`.
    """
    function = source.function_around(clip)
    if function is None:
        return False
    if any(last_name(c.func) == "scale" or source.is_scaler(c.func) for c in of(function, ast.Call)):
        return False
    made = {
        n.id
        for a in of(function, ast.Assign)
        if not isinstance(a.value, (ast.Name, ast.Attribute))
        for t in a.targets
        for n in walk(t)
        if isinstance(n, ast.Name)
    }
    own = [c for c in source.backwards if source.function_around(c) is function and c.lineno < clip.lineno]
    return bool(own) and all(
        isinstance(c.func, ast.Attribute) and isinstance(c.func.value, ast.Name) and c.func.value.id in made
        for c in own
    )


def _comes_first(source: Script, clip: ast.Call, unscales: Sequence[ast.Call], depth: int = 3) -> bool:
    """The clipping stands above every unscaling that its function holds; of a helper, the call of it."""
    around = source.function_around(clip)
    beside = [u.lineno for u in unscales if source.function_around(u) is around]
    if beside:
        return clip.lineno < min(beside)
    calls = flow(source).calls_of(around) if around is not None and depth else ()
    return any(_comes_first(source, c, unscales, depth - 1) for c in calls)


@probe()
def scaler_not_updated(view: View) -> Finding:
    """`scaler.step` without `scaler.update`, or MindSpore's own step that does not heed overflow."""
    check = either(scaler_of_one_shard, _no_update, scale_stands, never_adjusted, overflow_unheeded)
    return first(view, check, "the scripts use no gradient scaler")


def _no_update(source: Script) -> Finding | None:
    owners = {c: source.owner(c).lower() for c in source.named("step")}
    steps = [c for c, owner in owners.items() if source.is_scaler(c.func) and "trainer" not in owner]
    if not steps:
        return None  # or that of a trainer, which updates it itself
    updates = [c for c in source.named("update") if source.is_scaler(c.func)]
    if not updates:
        return at(source, steps[0], "the scaler steps and is never updated, so its scale never changes")
    return ok(source, updates[0], "the scaler is updated")


@probe()
def half_without_scaler(view: View) -> Finding:
    """`.half()` or fp16 autocast while training, and no scaler in the script, or one that is switched off.

    An autocast whose format is a variable, and what stands under a flag that is off unless it is given, count
    where the run is known to train in fp16.
    """
    setting = view.run.settings.get("precision")
    fp16 = setting is not None and setting.value == "fp16"
    made = (
        scale_never_used,
        default_fp16_unscaled,
        sharded_fp16_unscaled,
        apex_unscaled,
        optimizer_unknown_to_apex,
    )
    own = partial(scale_of_one, view)
    check = either(
        lambda s: _half_unscaled(s, fp16, engine_in_fp16(view)),
        half_under_tape,
        half_without_scale,
        half_by_trainer,
        half_weights,
        mixed_without_scale,
        *made,
        own,
    )
    return first(view, check, "the scripts use no half precision")


def _half_unscaled(source: Script, fp16: bool, engine: bool | None = None) -> Finding | None:
    """`engine`: whether DeepSpeed's configuration is known to work in fp16, or known not to."""
    half = [
        c
        for c in source.named("half")
        if (isinstance(c.func, ast.Attribute) and "model" in source.owner(c).lower())
        or (_makes_module(source, c) and (engines(source) is None or engine is False))
    ]
    half += [
        c
        for c in source.named("autocast")
        if ("float16" in unparse(c) and "bfloat16" not in unparse(c)) or (fp16 and _open(c))
    ]
    half += [
        c for c in source.named("to") if "torch.float16" in unparse(c) and "model" in source.owner(c).lower()
    ]
    half += _loaded_in_half(source)
    if not fp16:
        half = [c for c in half if not off_by_default(source, c)]
    half = [c for c in half if last_name(c.func) != "autocast" or not is_evaluation(source, c)]
    half = [c for c in half if not _after_training(source, c)]
    half = [c for c in half if (on := keyword(c, "enabled")) is None or not is_false(on)]
    if not half or not source.trains_by_hand:
        return None  # gradients without a step: a benchmark of time and memory
    scalers = source.named("GradScaler", "DynamicLossScaler", "LossScaleOptimizer", "FixedLossScaleManager")
    off = [c for c in scalers if is_false(keyword(c, "enabled"))]
    if off and len(off) == len(scalers):
        return at(source, off[0], "fp16 training with its gradient scaler switched off")
    if scalers:
        return ok(source, scalers[0], "a gradient scaler is used")
    if "loss_scale" in source.text or imports_locals(source) or _scaled_by_hand(source):
        return None
    return at(source, half[0], "fp16 training without a gradient scaler: small gradients become zero")


def _after_training(source: Script, call: ast.Call) -> bool:
    """`model.half()` between the last step and `torch.save`: what is kept is smaller, and trains no more."""
    if source.function_around(call) is not None:
        return False
    training = {getattr(source.function_around(b), "name", "") for b in source.backwards}
    for _ in range(3):  # `main` calls `train`, which calls `train_one_epoch`
        calling = (c for c in source.calls if last_name(c.func) in training)
        training |= {getattr(source.function_around(c), "name", "") for c in calling}
    steps = [c for c in source.calls if source.function_around(c) is None and c is not call]
    steps = [c for c in steps if c in source.backwards or last_name(c.func) in training - {""}]
    return bool(steps) and all((c.lineno, c.col_offset) < (call.lineno, call.col_offset) for c in steps)


def _loaded_in_half(source: Script) -> list[ast.Call]:
    """`model = AutoModel.from_pretrained(name, torch_dtype=torch.float16)`, whose weights are then trained.

    Left aside: adapters, which are kept in fp32, and models that no optimizer gets.
    """
    found = []
    for call in source.named("from_pretrained"):
        given = keyword(call, "torch_dtype") or keyword(call, "dtype")
        if given is None or not re.fullmatch(
            r"torch\.float16|torch\.half|'(?:float16|half)'", unparse(given)
        ):
            continue
        statement = source.statement(call)
        name = unparse(statement.targets[0]) if isinstance(statement, ast.Assign) else ""
        handed = [unparse(a) for c in source.optimizer_calls for a in c.args[:1]]
        if name and any(h.startswith(f"{name}.parameters") for h in handed) and "peft" not in source.code:
            found.append(call)
    return found


def _makes_module(source: Script, half: ast.Call) -> bool:
    """`model = Net(config).half()`: a module of the script is turned to fp16 where it is made."""
    made = receiver(half)
    while isinstance(made, ast.Call) and last_name(made.func) in ("to", "cuda", "npu", "train"):
        made = receiver(made)
    return isinstance(made, ast.Call) and source.classes.get(last_name(made.func)) in source.modules


def _scaled_by_hand(source: Script) -> bool:
    """`(loss * scale).backward()`: the script keeps a loss scale of its own."""
    return any(
        isinstance(n.op, ast.Mult)
        for c in source.backwards
        if isinstance(c.func, ast.Attribute)
        for n in of(c.func.value, ast.BinOp)
    ) or any(
        isinstance(n.op, ast.Mult) and "scale" in unparse(n) and "loss" in unparse(n)
        for n in source.of(ast.BinOp)
    )


def _open(call: ast.Call) -> bool:
    """The format of an autocast is not written out: a variable says it."""
    given = keyword(call, "dtype")
    return given is not None and "float16" not in unparse(given) and "float32" not in unparse(given)


@probe()
def pure_bf16(view: View) -> Finding:
    """Parameters cast to bf16 (not autocast): updates below half a unit in the last place are lost."""
    return first(
        view, either(_pure_bf16, bfloat_by_trainer, bfloat_weights), "the scripts do not cast the model"
    )


_ADAPTERS = re.compile(r"\bpeft\b|lora|deepspeed|accelerat|FSDP|fully_shard", re.IGNORECASE)


def _trains(source: Script, made: ast.Call) -> bool:
    """Whether the parameters of what a call makes are those that some optimizer is given."""
    names = {
        t.id
        for a in source.of(ast.Assign)
        if any(n is made for n in of(a.value, ast.Call))
        for t in a.targets
        if isinstance(t, ast.Name)
    }
    owners = {source.owner(c) for c in source.named("parameters", "trainable_params", "named_parameters")}
    return bool(names & owners)


def _pure_bf16(source: Script) -> Finding | None:
    if not source.backwards:
        return None
    for call in source.named("to", "bfloat16", "set_default_dtype"):
        owner = source.owner(call).lower()
        text = unparse(call)
        made = isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Call)
        made = made and owner.split("(")[0] in {n.lower() for n in source.classes}
        whole = (
            made
            or last_name(call.func) == "set_default_dtype"
            or any(w in owner for w in ("model", "net"))
            or ("from_pretrained(" in owner and _trains(source, call))
        )
        if whole and ("torch.bfloat16" in text or last_name(call.func) == "bfloat16"):
            return at(source, call, "the parameters themselves are bf16, without fp32 master copies")
    for call in source.named("from_pretrained"):
        given = keyword(call, "torch_dtype") or keyword(call, "dtype")
        if given is not None and unparse(given) == "torch.bfloat16" and _trains(source, call):
            if _ADAPTERS.search(source.code):
                break
            return at(source, call, "the parameters are loaded in bf16, without fp32 master copies")
    casts = source.named("autocast")
    return ok(source, casts[0], "parameters stay in fp32 under autocast") if casts else None
