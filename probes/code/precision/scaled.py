"""Loss scales in PyTorch's scripts that are made and not used: native AMP, apex, FSDP, and ports to NPU."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import argument, keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.nodes import is_false
from ..shared.numbers import known
from ..shared.sides import literal

SCALERS = ("GradScaler", "ShardedGradScaler")
_LOW, _NEVER = 8.0, 1_000_000  # a scale that shifts next to nothing; steps without growth that no run lasts
# libraries whose autocast takes fp16 where nothing else is said
_FP16_BY_ITSELF = re.compile(r"(?:^|\.)(?:cuda|npu)\.amp$|^amp$")


def scale_never_used(source: Script) -> Finding | None:
    """A scaler is made, an autocast in fp16 runs the forward pass, and `backward` takes the loss as it is.

    Left aside: a scaler that some way of the program uses, be it in a helper of elsewhere, and programs
    whose only half format is bf16, or that name none and run no autocast.
    """
    names = {n: c for n, c in source.scalers.items() if not _is_off(source, c)}
    if not names or source.loose or not source.backwards or _needs_no_scale(source):
        return None
    scales = [c for c in source.named("scale") if source.is_scaler(c.func)]
    handed = any(c.args and "scaler" in unparse(c).lower() for c in source.backwards)
    scales = [c for c in scales if not dropped(source, c)]
    if scales or handed or source.named("scale_loss") or _called_itself(source, names):
        return None
    plain = [c for c in source.backwards if not c.args and "scale" not in source.owner(c).lower()]
    if not plain or any(isinstance(p, ast.If) and not _asks_for_training(p) for p in source.above(plain[0])):
        return None  # on the way that scales nothing: a callback may scale on the other
    return at(source, plain[0], "a gradient scaler is made, and this backward takes the loss unscaled")


def scale_stands(source: Script) -> Finding | None:
    """`GradScaler(init_scale=1.0, growth_interval=10**9)`: small fp16 gradients gain nothing of it.

    Growth that is far away counts with a first scale up to `_LOW`; a larger one may be fixed on purpose.
    """
    if _needs_no_scale(source):
        return None
    for call in source.named(*SCALERS):
        names = ("init_scale", "growth_interval", "growth_factor")
        begins, grows, factor = (known(source, keyword(call, name)) for name in names)
        if begins is None or begins > _LOW or _is_off(source, call):
            continue
        if (grows is not None and grows >= _NEVER) or factor == 1:
            return at(source, call, f"the loss scale begins at {begins:g} and never grows: it does nothing")
    return None


def _asks_for_training(choice: ast.If) -> bool:
    """`if training:`, `if optimizer is not None:` of one function for both, and no other way beside it."""
    return (
        not choice.orelse and re.search(r"(?i)train|optim|\bopt\b|update", unparse(choice.test)) is not None
    )


def _is_off(source: Script, made: ast.Call) -> bool:
    """`GradScaler(enabled=use_amp)` where `use_amp` is False and nothing else."""
    told = keyword(made, "enabled")
    ends = flow(source).values(told, 4) if told is not None else []
    return bool(ends) and all(is_false(e) for e in ends)


def dropped(source: Script, call: ast.Call) -> bool:
    """`scaled = scaler.scale(loss)`, and nothing asks for `scaled`: backward takes another value."""
    parent, scope = source.parents.get(call), source.function_around(call) or source.tree
    if isinstance(parent, ast.Expr):
        return True
    if not (isinstance(parent, ast.Assign) and len(parent.targets) == 1):
        return False
    name = parent.targets[0]
    return isinstance(name, ast.Name) and not any(
        n.id == name.id and isinstance(n.ctx, ast.Load) for n in of(scope, ast.Name)
    )


def _needs_no_scale(source: Script) -> bool:
    """Training runs in bf16, and no word of the program names fp16; or nothing in it runs in half."""
    if re.search(r"(?<!b)float16|(?i:fp16)|\.half\b|\bhalf\b", source.code):
        return False
    casts = source.named("autocast")
    if any(keyword(c, "dtype") is None for c in casts):
        return False
    return "bfloat16" in source.code or not casts


def _called_itself(source: Script, names: dict[str, ast.Call]) -> bool:
    """`loss_scaler(loss, optimizer)`: a class of the script's own does the steps."""
    own = {n.rsplit(".", 1)[-1] for n in names}
    return any(last_name(c.func) in own for c in source.calls)


def default_fp16_unscaled(source: Script) -> Finding | None:
    """`torch.cuda.amp.autocast()`, `torch_npu.npu.amp.autocast()` around training, its scaler switched off.

    Their format is fp16 unless `dtype=` says otherwise.
    """
    scalers = source.named(*SCALERS)
    off = [c for c in scalers if is_false(keyword(c, "enabled"))]
    if len(off) != len(scalers) or not source.backwards:
        return None
    if not scalers and not _surely_unscaled(source):
        return None
    if re.search(r"bfloat16|bf16|set_autocast\w*dtype", source.code):
        return None
    for block in source.of(ast.With):
        for item in block.items:
            if not _is_fp16(source, item.context_expr):
                continue
            if source.backwards and _trains(source, block):
                if not off:
                    return at(source, block, "the forward pass runs in fp16, and no scaler scales the loss")
                return at(
                    source, off[0], "the forward pass runs in fp16, and its gradient scaler is switched off"
                )
    return None


def _surely_unscaled(source: Script) -> bool:
    """Nothing of the program or of a library that it trains with may multiply the loss."""
    if source.loose or re.search(
        r"(?i)accelerat(?:e\b|or)|deepspeed|lightning|fabric|loss_?scal|megatron", source.text
    ):
        return False
    return bool(source.backwards) and not source.named("scale", "scale_loss", "unscale_")


def _is_fp16(source: Script, node: ast.expr) -> bool:
    """An autocast that takes fp16: of CUDA's or NPU's library, switched on, without a format of its own."""
    if (
        not isinstance(node, ast.Call)
        or last_name(node.func) != "autocast"
        or keyword(node, "dtype") is not None
    ):
        return False
    enabled = argument(node, "enabled", position=0)
    if enabled is not None and not (
        isinstance(enabled, ast.Constant) and enabled.value in (True, "cuda", "npu")
    ):
        return False
    owner = source.owner(node)
    if _FP16_BY_ITSELF.search(owner) or (owner == "" and _imported(source, "autocast")):
        return True
    given = node.args[0] if node.args else keyword(node, "device_type")
    return isinstance(given, ast.Constant) and given.value in ("cuda", "npu")


def _imported(source: Script, name: str) -> bool:
    return any(
        re.search(r"(?:cuda|npu)\.amp$", n.module or "") and any(a.name == name for a in n.names)
        for n in source.of(ast.ImportFrom)
    )


def _trains(source: Script, block: ast.With) -> bool:
    """The block stands in the loop or the function that takes gradients."""
    for backward in source.backwards:
        loops = source.loops_around(backward)
        around = loops[0] if loops else source.function_around(backward)
        if around is not None and around in source.above(block):
            return True
    return False


def sharded_fp16_unscaled(source: Script) -> Finding | None:
    """FSDP with `MixedPrecision(param_dtype=float16)` and no gradient scaler."""
    if source.loose or source.named(*SCALERS) or "loss_scale" in source.text or not source.backwards:
        return None
    if (call := _fp16_shards(source)) is None:
        return None
    return at(source, call, "parameters and gradients are fp16, and no gradient scaler scales the loss")


def scaler_of_one_shard(source: Script) -> Finding | None:
    """A plain `GradScaler` under FSDP in fp16: it looks for infinities in the shard of its process alone."""
    plain = source.named("GradScaler")
    if len(plain) != 1 or source.named("ShardedGradScaler") or "fully_shard" in source.code or source.loose:
        return None
    if not source.named("FSDP", "FullyShardedDataParallel") or not source.backwards:
        return None
    if _fp16_shards(source) is None:
        return None
    return at(
        source, plain[0], "each process judges its own shard with this scaler: FSDP has ShardedGradScaler"
    )


def _fp16_shards(source: Script) -> ast.Call | None:
    for call in source.named("MixedPrecision", "MixedPrecisionPolicy"):
        given = argument(call, "param_dtype", position=0)
        ends = flow(source).values(given, 3) if given is not None else []
        if ends and all(unparse(e) in ("torch.float16", "torch.half") for e in ends):
            return call
    return None


# ------------------------------------------------------------------------------------------------- apex

_HALF_LEVELS = ("O1", "O2", "O3")


def _apex(source: Script) -> ast.Call | None:
    """`amp.initialize(model, optimizer, opt_level="O2")` of apex, at a level that works in fp16."""
    for call in source.named("initialize"):
        if source.owner(call).split(".")[-1] == "amp":
            level = keyword(call, "opt_level")
            if level is None or literal(source, level) in _HALF_LEVELS:
                return call
    return None


def apex_unscaled(source: Script) -> Finding | None:
    """apex works in fp16, and backward takes the loss without `amp.scale_loss`, or at a scale of one."""
    made = _apex(source)
    if made is None or source.loose or not source.backwards:
        return None
    scale = keyword(made, "loss_scale")
    if isinstance(scale, ast.Constant) and scale.value in (1, 1.0, "1", "1.0"):
        return at(source, made, "the loss scale is fixed at one: small fp16 gradients become zero")
    plain = [c for c in source.backwards if not c.args]
    for backward in plain:
        if (name := _scaled_as(source, backward)) is not None and source.owner(backward) != name:
            return at(source, backward, f"`{name}` is the scaled loss, and this backward takes another")
    if source.named("scale_loss", "scale", "backward_loss"):
        return None
    return (
        at(source, plain[0], "apex works in fp16, and this backward goes past amp.scale_loss")
        if plain
        else None
    )


def _scaled_as(source: Script, backward: ast.Call) -> str | None:
    """The name that `with amp.scale_loss(...) as scaled:` around a line gives to the scaled loss."""
    for parent in source.above(backward):
        if isinstance(parent, ast.With):
            for item in parent.items:
                call, name = item.context_expr, item.optional_vars
                if isinstance(call, ast.Call) and last_name(call.func) == "scale_loss":
                    return name.id if isinstance(name, ast.Name) else None
    return None


def clipped_inside_scale(source: Script) -> Finding | None:
    """Gradients are clipped within `with amp.scale_loss(...)`: they are unscaled when the block ends."""
    for block in source.of(ast.With):
        if not any(
            last_name(i.context_expr.func) == "scale_loss"
            for i in block.items
            if isinstance(i.context_expr, ast.Call)
        ):
            continue
        inside = [c for s in block.body for c in of(s, ast.Call)]
        clips = [
            c
            for c in inside
            if last_name(c.func) in ("clip_grad_norm_", "clip_grad_value_", "clip_grad_norm")
        ]
        if clips and any(c in source.backwards for c in inside):
            return at(
                source, clips[0], "the gradients are still multiplied by the loss scale inside this block"
            )
    return None
