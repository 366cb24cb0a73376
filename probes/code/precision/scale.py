"""Loss scaling in scripts: a scaler that is made and not used, switched the wrong way, or missing."""

from __future__ import annotations

import ast
import re

from ...readers._tree import unparse
from ...readers.script import keyword, last_name
from ...registry import Finding, View, any_of, probe
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..mindspore.overflow import sens_without_scale
from ..mindspore.scaled_once import never_scaled
from ..shared.checks import at, first, ok
from .half import half_without_scaler
from .scaled import dropped


@probe()
def scaler_without_effect(view: View) -> Finding:
    """fp16 training whose scaler exists and never multiplies the loss, or is on for every format but fp16.

    PyTorch's GradScaler without `scale`, Keras' LossScaleOptimizer without `scale_loss` under a tape, policy
    "float16" (the weights themselves), `.half()` on a model that a Hugging Face trainer gets, level
    O3 of MindSpore without a loss scale manager.
    """
    return first(view, _without_effect, "the scripts use no half precision that needs a loss scale")


def _without_effect(source: Script) -> Finding | None:
    seen: ast.AST | None = None
    for look in (_grad_scaler, _keras, _half_model, _mindspore, sens_without_scale, never_scaled):
        found = look(source)
        if isinstance(found, Finding):
            return found
        seen = seen or found
    return ok(source, seen, "the loss is scaled") if seen is not None else None


def _grad_scaler(source: Script) -> Finding | ast.AST | None:
    made = source.named("GradScaler")
    for call in made:
        given = keyword(call, "enabled")
        if given is not None and _turned_round(given):
            return at(source, call, "the scaler is on for every format but fp16, the only one that needs it")
    if (past := _past_scaler(source, made)) is not None:
        return at(source, past, "the optimizer steps past the scaler that the loss is multiplied by")
    fp16 = [c for c in source.named("autocast") if re.search(r"torch\.(?:float16|half)\b", unparse(c))]
    if not made or not fp16 or not source.backwards or source.loose:
        return made[0] if made else None
    scaled = [c for c in source.named("scale") if c.args]
    if not scaled and not source.named("NativeScaler", "Accelerator", "Fabric"):
        return at(source, source.backwards[0], "the gradient scaler never multiplies the loss")
    return made[0]


def _past_scaler(source: Script, made: tuple[ast.Call, ...]) -> ast.Call | None:
    """`scaler.scale(loss).backward()`, then `optimizer.step()` with gradients that are still scaled."""
    scaled = [
        b
        for b in source.backwards
        if isinstance(b.func, ast.Attribute)
        and isinstance(b.func.value, ast.Call)
        and last_name(b.func.value.func) == "scale"
        and source.is_scaler(b.func.value.func)
    ]
    if not made or not scaled or source.loose:
        return None
    if any(source.is_scaler(c.func) for c in source.named("step")):
        return None
    for step in source.steps:
        if any(source.function_around(step) is source.function_around(b) for b in scaled):
            if not any(isinstance(p, ast.If) and "scaler" in unparse(p.test) for p in source.above(step)):
                return step
    return None


def _turned_round(given: ast.expr) -> bool:
    """`enabled=(dtype != "float16")`, `enabled=dtype == torch.bfloat16`."""
    if not isinstance(given, ast.Compare) or len(given.ops) != 1:
        return False
    over = unparse(given.comparators[0])
    fp16 = re.search(r"(?<!b)float16|\bfp16|\bhalf", over) is not None
    bf16 = "bfloat16" in over or "bf16" in over
    return (fp16 and isinstance(given.ops[0], ast.NotEq)) or (bf16 and isinstance(given.ops[0], ast.Eq))


def _keras(source: Script) -> Finding | ast.AST | None:
    for call in source.named("set_global_policy", "set_policy", "set_dtype_policy"):
        if call.args and isinstance(call.args[0], ast.Constant) and call.args[0].value == "float16":
            return at(
                source, call, "the policy float16 keeps the weights in half precision and scales no loss"
            )
    made = source.named("LossScaleOptimizer")
    if not made or not source.named("GradientTape"):
        return made[0] if made else None
    if any(not dropped(source, c) for c in source.named("scale_loss", "get_scaled_loss")):
        return made[0]
    applied = [
        c for c in source.named("apply_gradients") if source.place(c).file == source.place(made[0]).file
    ]
    if not applied:
        return None  # another file scales the loss, or fit does
    return at(source, made[0], "this optimizer divides by a scale that the loss was never multiplied with")


def _half_model(source: Script) -> Finding | ast.AST | None:
    mine = flow(source)
    trainers = [
        c for c in source.calls if last_name(c.func).endswith("Trainer") and keyword(c, "model") is not None
    ]
    for call in trainers:
        given = keyword(call, "model")
        for value in mine.values(given, 3) if given is not None else ():
            while isinstance(value, ast.Call) and last_name(value.func) in ("to", "cuda", "train"):
                value = value.func.value if isinstance(value.func, ast.Attribute) else value.args[0]
            if isinstance(value, ast.Call) and last_name(value.func) == "half" and not _adapts(source):
                return at(
                    source, value, "the weights are trained in fp16 themselves, and nothing scales the loss"
                )
    return trainers[0] if trainers else None


def _adapts(source: Script) -> bool:
    """Adapters in fp32 beside frozen weights in half precision."""
    return "peft" in source.text or "Lora" in source.text or "load_in_8bit" in source.text


def _mindspore(source: Script) -> Finding | ast.AST | None:
    for call in source.named("Model"):
        level = keyword(call, "amp_level")
        if level is None or "mindspore" not in source.text:
            continue
        whole = isinstance(level, ast.Constant) and level.value == "O3"
        if whole and keyword(call, "loss_scale_manager") is None:
            return at(source, call, "level O3 trains in fp16 throughout, and no loss scale is given")
        return call
    return None


@probe()
def scale_missing(view: View) -> Finding:
    """fp16 training without a loss scale that works; see each."""
    return any_of((scaler_without_effect(view), half_without_scaler(view)))
