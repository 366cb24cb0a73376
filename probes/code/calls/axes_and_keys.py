"""Framework calls in scripts that do something else than was meant: axes, devices, keys, reductions."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...forward.judged import answers_show
from ...readers._tree import names_in, of, unparse
from ...readers.script import argument, keyword, last_name, receiver
from ...registry import Finding, View, probe
from ...scripts.flow import Flow, flow
from ...scripts.syntax import Function, Script
from ..model.recurrent import steps_along_batch
from ..shared.checks import at, first, ok
from ..shared.nodes import is_false, is_negative
from ..shared.sides import either

_SEQUENTIAL = (
    *("LSTM", "GRU", "RNN", "MultiheadAttention", "Transformer"),
    *("TransformerEncoderLayer", "TransformerDecoderLayer"),
)


@probe()
def batch_first_missing(view: View) -> Finding:
    """A recurrent or attention layer without `batch_first=True` that is given, or read as, batch first.

    These layers expect (time, batch, features) by default; `out[:, -1]` or `out.mean(1)` then runs over
    the batch. Left aside where axes are swapped on the way.
    """
    checks = either(_batch_first, _batch_first_of_some, steps_along_batch, answers_show("met-in-layer"))
    return first(view, checks, "the scripts hold no layer over sequences whose output can be followed")


_ATTEND = ("TransformerEncoderLayer", "TransformerDecoderLayer", "MultiheadAttention")
_TURNS = re.compile(r"transpose|permute|rearrange|swapaxes|movedim|einsum|\.t\(\)|\.mT\b")


def _batch_first_of_some(source: Script) -> Finding | None:
    """One class builds attention layers with the batch first and others without, and turns nothing."""
    for owner in source.modules if source.named(*_ATTEND) else ():
        made = [c for c in of(owner, ast.Call) if last_name(c.func) in _ATTEND]
        if any(k.arg is None for c in made for k in c.keywords) or _TURNS.search(unparse(owner)):
            continue
        told = [c for c in made if (g := keyword(c, "batch_first")) is not None and not is_false(g)]
        if told and len(told) < len(made):
            left = next(c for c in made if c not in told)
            return at(
                source, left, "this layer takes the first axis for time, the others beside it for the batch"
            )
    return None


def _batch_first(source: Script) -> Finding | None:
    if not {"pytorch", "mindspore"} & set(source.frameworks):
        return None
    mine, judged = flow(source), None
    for call in source.named(*_SEQUENTIAL):
        if last_name(call.func) in source.classes:
            continue
        given = keyword(call, "batch_first")
        swapped = any(
            w in source.text
            for w in ("transpose(0, 1)", "permute(1, 0", "swapaxes(0, 1)", "(1, 0, 2)", ".t()")
        )
        if given is not None and not is_false(given):
            judged = judged or call
            continue
        if swapped or any(k.arg is None for k in call.keywords):
            continue
        for name in _held(source, call):
            for node, base in _per_sample(source):
                if any(f"{name}(" in unparse(v) for v in (base, *mine.values(base, 4))):
                    why = (
                        "the layer takes the first axis for time, and its output is used with the batch there"
                    )
                    return at(source, node, why)
            if not re.search(r"transpose|permute|rearrange|swapaxes|movedim|einsum", source.code):
                for used in source.calls:
                    function = source.function_around(used)
                    if unparse(used.func) == name and function is not None and used.args:
                        if _time_second(function):
                            return at(
                                source, call, "the layer takes the first axis for time; here it is the second"
                            )
    return ok(source, judged, "layers over sequences are told that the batch comes first") if judged else None


def _time_second(function: Function) -> bool:
    """Positions go along the second axis: `arange(x.size(1))`, `arange(t)` of `b, t = x.shape`."""
    given = {a.arg for a in function.args.args}
    second = {
        unparse(n.targets[0].elts[1])
        for n in of(function, ast.Assign)
        if isinstance(n.targets[0], ast.Tuple) and len(n.targets[0].elts) == 2
        if re.fullmatch(r"(\w+)\.(?:shape|size\(\))", unparse(n.value))
        and unparse(n.value).split(".")[0] in given
    }
    for node in of(function, ast.Assign):
        found = re.fullmatch(r"(\w+)\.(?:size\(1\)|shape\[1\])", unparse(node.value))
        if found and found.group(1) in given and isinstance(node.targets[0], ast.Name):
            second.add(node.targets[0].id)
    for call in of(function, ast.Call):
        if last_name(call.func) in ("arange", "generate_square_subsequent_mask") and call.args:
            length = unparse(call.args[-1] if len(call.args) < 3 else call.args[1])
            found = re.fullmatch(r"(\w+)\.(?:size\(1\)|shape\[1\])", length)
            if length in second or (found and found.group(1) in given):
                return True
    return False


def _held(source: Script, call: ast.Call) -> list[str]:
    """What a layer is kept as, also within an encoder or a list: `self.encoder`."""
    names = []
    for parent in source.above(call):
        if isinstance(parent, ast.Assign):
            target = parent.targets[0]
            names.append(unparse(target))
            if isinstance(target, ast.Name):
                around = source.function_around(call)
                for other in of(around or source.tree, ast.Assign):
                    if other is not parent and target.id in names_in(other.value):
                        names.append(unparse(other.targets[0]))
        if isinstance(parent, ast.stmt):
            break
    return [n for n in names if n.startswith("self.")] or names


def _per_sample(source: Script) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Expressions that take the second axis for time, with their sequence: `h[:, -1]`, `h.mean(1)`."""
    for node in source.of(ast.Subscript, ast.Call):
        if (
            isinstance(node, ast.Subscript)
            and isinstance(node.slice, ast.Tuple)
            and len(node.slice.elts) in (2, 3)
        ):
            before, at_ = node.slice.elts[:2]
            whole = isinstance(before, ast.Slice) and before.lower is None and before.upper is None
            if whole and unparse(at_) in ("-1", "0"):
                yield node, node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            axis = node.args[0] if node.args else keyword(node, "dim") or keyword(node, "axis")
            if last_name(node.func) in ("mean", "amax") and axis is not None and unparse(axis) == "1":
                yield node, node.func.value


@probe()
def softmax_by_hand(view: View) -> Finding:
    """exp(x) divided by its own sum, without the largest x subtracted: exp overflows above 88 in fp32."""
    return first(view, _softmax_bare, "the scripts write out no softmax")


def _softmax_bare(source: Script) -> Finding | None:
    mine, seen = flow(source), None
    for node in source.of(ast.BinOp):
        if not isinstance(node.op, ast.Div):
            continue
        total = node.right
        summed = isinstance(total, ast.Call) and last_name(total.func) in ("sum", "reduce_sum")
        if not (summed and isinstance(total, ast.Call)) or _summed(total) != unparse(node.left):
            continue
        for value in mine.values(node.left, 3):
            if isinstance(value, ast.Call) and last_name(value.func) == "exp":
                seen = seen or node
                if not _kept_small(mine, value):
                    return at(
                        source, value, "exp of raw scores, without their maximum subtracted, may overflow"
                    )
    return ok(source, seen, "the largest score is subtracted before exp") if seen is not None else None


def _summed(call: ast.Call) -> str:
    """What is summed: `x` of `x.sum(-1)` and of `torch.sum(x, -1)`."""
    owner = receiver(call)
    if owner is not None and not _is_library(owner):
        return unparse(owner)
    return unparse(call.args[0]) if call.args else ""


def _is_library(owner: ast.expr) -> bool:
    """`np`, and what stands for it in other libraries: `jnp`, `anp`, `cp`."""
    return (
        isinstance(owner, ast.Name)
        and re.fullmatch(r"torch|tf|ops|math|cp|\w*np|numpy", owner.id) is not None
    )


def _kept_small(mine: Flow, call: ast.Call) -> bool:
    """The argument of exp is a difference, negated, or bounded from above."""
    owner = receiver(call)
    argument = call.args[0] if call.args and (owner is None or _is_library(owner)) else owner
    if argument is None:
        return True
    for value in mine.values(argument, 4):
        if any(isinstance(n.op, ast.Sub) for n in of(value, ast.BinOp)):
            return True
        if any(
            isinstance(n.operand, ast.BinOp | ast.Name | ast.Attribute | ast.Subscript | ast.Call)
            for n in of(value, ast.UnaryOp)
        ):
            return True
        if any(is_negative(n.left) for n in of(value, ast.BinOp)):
            return True  # `exp(-0.5 * z ** 2)`
        if any(w in unparse(value) for w in ("clamp", "clip", "minimum", "log_softmax", "tanh", "sigmoid")):
            return True
        if any(last_name(c.func) == "log" for c in of(value, ast.Call)):
            return True  # `exp(log(p) / t)`: what has been a probability stays below one
    return False


@probe()
def load_not_strict(view: View) -> Finding:
    """`load_state_dict(..., strict=False)` whose answer, the keys that did not fit, nobody looks at.

    False positive: a head that is new on purpose.
    """
    return first(view, _not_strict, "the scripts load no weights")


def _not_strict(source: Script) -> Finding | None:
    calls = source.named("load_state_dict", "load_param_into_net")
    loads = [c for c in calls if not any(w in source.owner(c).lower() for w in ("opt", "sched", "scaler"))]
    for call in loads:
        given = argument(call, "strict", "strict_load", position=1)
        if last_name(call.func) == "load_state_dict" and is_false(given):
            if isinstance(source.parents.get(call), ast.Expr):
                return at(source, call, "keys that do not fit are passed over, and nothing looks at which")
    return ok(source, loads[0], "weights that do not fit raise an error, or are looked at") if loads else None


@probe()
def autocast_elsewhere(view: View) -> Finding:
    """autocast is opened for a device that the rest of the script never names: it has no effect elsewhere."""
    check = either(_switched_off, _elsewhere)
    return first(view, check, "the scripts open no autocast for a device by its name")


def _switched_off(source: Script) -> Finding | None:
    """`autocast("cuda", enabled=False)` wherever it is opened, and the loss is scaled for half precision."""
    opened = source.named("autocast")
    scaled = [c for c in source.named("GradScaler") if not _disabled(c)]
    off = [c for c in opened if _disabled(c)]
    if off and len(off) == len(opened) and scaled and source.named("scale"):
        return at(source, off[0], "autocast is switched off here, and the loss is scaled for half precision")
    return None


def _disabled(call: ast.Call) -> bool:
    told = keyword(call, "enabled")
    return is_false(told)


_DEVICES = ("cuda", "npu", "cpu", "xpu", "mps")


def _elsewhere(source: Script) -> Finding | None:
    seen = None
    for call in source.named("autocast"):
        given = call.args[0] if call.args else keyword(call, "device_type")
        if not (isinstance(given, ast.Constant) and given.value in _DEVICES):
            continue
        seen = seen or call
        if given.value == "cpu" or not source.backwards:
            continue  # what names no device runs there; what takes no step has its device from elsewhere
        if not any(_names_device(source, node, str(given.value)) for node in source.nodes):
            return at(
                source, call, f"autocast is opened for {given.value}, where nothing else of the script runs"
            )
    return ok(source, seen, "autocast is opened for the device that is used") if seen is not None else None


def _names_device(source: Script, node: ast.AST, device: str) -> bool:
    """A device that is named outside of autocast, or a device that only the command line knows."""
    if (
        isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node.value.partition(":")[0] == device
    ):
        return not any(
            isinstance(p, ast.Call) and last_name(p.func) == "autocast" for p in source.above(node)
        )
    if isinstance(node, ast.Attribute):
        return node.attr in (device, "device", "device_type") or (
            device == "cuda" and node.attr == "local_rank"
        )
    return isinstance(node, ast.Name) and node.id in (
        "device",
        "device_type",
        "accelerator",
        "Accelerator",
        "Trainer",
    )


@probe()
def gradients_reduced_twice(view: View) -> Finding:
    """Gradients are reduced by hand although a data-parallel wrapper has averaged them in backward."""
    return first(view, _twice, "the scripts wrap no model for data-parallel training")


def _twice(source: Script) -> Finding | None:
    wraps = source.named("DistributedDataParallel", "DDP", "FullyShardedDataParallel", "FSDP")
    if not wraps or source.named("no_sync"):
        return None
    for call in source.named("all_reduce", "allreduce", "all_reduce_coalesced"):
        if keyword(call, "group") is not None or any("group" in unparse(a) for a in call.args[1:]):
            continue  # among some of the devices
        if call.args and ".grad" in unparse(call.args[0]) and "norm" not in unparse(call):
            owner = source.class_around(call)
            if owner is not None and re.search(
                r"Opt(?:im\w*)?$", " ".join([owner.name, *map(unparse, owner.bases)])
            ):
                return None  # an optimizer that reduces by itself may go with models that do not
            return at(
                source, call, "the wrapper has averaged these gradients already, and they are reduced again"
            )
    return ok(source, wraps[0], "only the wrapper reduces gradients")
