"""Errors in scripts that came up again and again in the field: modes, scales, positions, workers, shards."""

from __future__ import annotations

import ast
import re

from ...readers._tree import unparse
from ...readers.script import argument, keyword, last_name
from ...registry import Finding, View, probe
from ...scripts.conditions import asks_main
from ...scripts.flow import Flow, flow
from ...scripts.learning import step_cells
from ...scripts.syntax import Script
from ..mindspore.one_step import step_keeps_scale
from ..mindspore.scaled_once import never_unscaled
from ..mindspore.steps import shards_of_unsorted
from ..samples.seeds import same_seed
from ..shared.checks import at, first, imports_locals, ok
from ..shared.nodes import is_false, is_true
from ..shared.sides import either, literal
from ..tensorflow.tape import scaled_and_left

_MODES = ("Dropout", "Dropout2d", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm")


@probe()
def set_train_missing(view: View) -> Finding:
    """A MindSpore step written by hand, dropout or batch norm in the model, and `set_train` is never called.

    Cells are created in evaluation mode (training=False); only `Model.train` switches by itself.
    """
    return first(view, _never_trains, "the scripts write no MindSpore step of their own")


def _never_trains(source: Script) -> Finding | None:
    if "mindspore" not in source.frameworks:
        return None
    steps = source.named(
        "value_and_grad", "GradOperation", "TrainOneStepCell", "TrainOneStepWithLossScaleCell"
    )
    steps = steps or step_cells(source)
    layers = source.named(*_MODES) or _models_with_modes(source)
    if not steps or not layers or source.named("Model") or imports_locals(source):
        return None
    switched = [c for c in source.named("set_train") if not (c.args and is_false(c.args[0]))]
    if switched:
        return ok(source, switched[0], "the model is put into training mode")
    return at(source, layers[0], "MindSpore cells start in evaluation mode and set_train is never called")


# models that hold batch normalisation or dropout, as libraries call them
_WITH_MODES = re.compile(
    r"(?i)^(?:(?:wide_?)?res_?ne[xs]?t|mobile_?net|efficient_?net|dense_?net|shuffle_?net|inception|xception)"
    r"_?(?:v?\d\w*)?$"
)
_OWN = re.compile(r"(?i)^(?:src|utils?|common|lib|core|tools|train\w*)(?:\.|$)")
_MODELS_AND_DATA = re.compile(
    r"(?i)(?:^|\.)(?:models?|nets?|networks?|backbones?|data\w*|transforms?|loss\w*)$"
)


def _models_with_modes(source: Script) -> tuple[ast.Call, ...]:
    """Models of known kinds, where what else is imported of the project holds models and data alone."""
    own = {n.module or "" for n in source.of(ast.ImportFrom) if _OWN.match(n.module or "")}
    if not all(_MODELS_AND_DATA.search(m) for m in own):
        return ()
    return tuple(c for c in source.calls if _WITH_MODES.search(last_name(c.func)))


@probe()
def scale_not_divided_out(view: View) -> Finding:
    """`FixedLossScaleManager(..., drop_overflow_update=False)` and no optimizer that knows the loss scale.

    The manager then multiplies the loss and leaves dividing to the optimizer's `loss_scale`, 1 by default.
    """
    return first(
        view,
        either(_scale_left, scaled_and_left, never_unscaled, step_keeps_scale),
        "the scripts use no fixed loss scale manager",
    )


def _scale_left(source: Script) -> Finding | None:
    managers = source.named("FixedLossScaleManager")
    if not managers:
        return _optimizer_gets_scaled(source)
    for call in managers:
        second = argument(call, position=1)
        drop = keyword(call, "drop_overflow_update") or second
        if drop is None or not is_false(drop):
            continue
        given = [c for c in source.calls if keyword(c, "loss_scale") is not None and c not in managers]
        made = [c for c in source.optimizer_calls if "Model" not in last_name(c.func)]
        if made and not any(c in made or _hands_on(source, c) for c in given):
            given = [c for c in made if _scale_of(c) is not None or any(k.arg is None for k in c.keywords)]
        if not given and not imports_locals(source):
            return at(source, call, "the loss is scaled and no optimizer is given its loss_scale")
    if (found := _scales_apart(source)) is not None:
        return found
    return ok(
        source, managers[0], "the optimizer divides the loss scale out, or steps with overflow are dropped"
    )


def _hands_on(source: Script, call: ast.Call) -> bool:
    """A function of the script takes the loss scale, and may give it to an optimizer."""
    return last_name(call.func) in flow(source).functions


def _scale_of(optimizer: ast.Call) -> ast.expr | None:
    """The loss scale that an optimizer of MindSpore divides by."""
    place = {"Momentum": 4, "SGD": 6}.get(last_name(optimizer.func), 99)
    given = argument(optimizer, position=place)
    return keyword(optimizer, "loss_scale") or given


def _scales_apart(source: Script) -> Finding | None:
    """Manager and optimizer have other scales; or both divide, where the manager drops steps with overflow.

    Left aside: managers and optimizers that a condition chooses.
    """
    managers = source.named("FixedLossScaleManager", "DynamicLossScaleManager")
    made = [c for c in source.optimizer_calls if _scale_of(c) is not None]
    if len(managers) != 1 or len(made) != 1 or not source.named("Model"):
        return None
    manager, optimizer = managers[0], made[0]
    for node in (manager, optimizer):
        if any(isinstance(p, ast.If) and not asks_main(p.test) for p in source.above(node)):
            return None
    own, dynamic = literal(source, _scale_of(optimizer)), "Dynamic" in last_name(manager.func)
    if not isinstance(own, (int, float)) or own <= 1:
        return None
    second = argument(manager, position=1)
    drop = keyword(manager, "drop_overflow_update") or second
    if dynamic or drop is None or is_true(drop):
        why = "the manager takes the loss scale out, and this optimizer divides by one again"
        return at(source, optimizer, why)
    first_ = argument(manager, "loss_scale", position=0)
    scale = literal(source, first_) if first_ is not None else 128.0
    if is_false(drop) and isinstance(scale, (int, float)) and scale != own:
        return at(
            source, manager, f"the loss is multiplied by {scale:g}, and the optimizer divides by {own:g}"
        )
    return None


def _optimizer_gets_scaled(source: Script) -> Finding | None:
    """MindSpore's `scaler.scale(loss)`, and gradients that reach the optimizer without `scaler.unscale`."""
    if "mindspore" not in source.frameworks:
        return None
    scales = [c for c in source.named("scale") if c.args and "scale" in source.owner(c).lower()]
    if not any(re.search(r"(?i)loss|cost|crit|nll|objective", unparse(c.args[0])) for c in scales):
        return None
    mine, seen = flow(source), None
    for call in source.calls:
        if len(call.args) != 1 or not re.search(r"(?i)(?:^|[._])opt(?:im\w*)?$", unparse(call.func)):
            continue
        seen = seen or call
        if _stays_scaled(mine, call.args[0], 8):
            return at(source, call, "the loss is scaled and nothing takes the scale out of these gradients")
    return ok(source, seen, "the scale is taken out of the gradients") if seen is not None else None


def _stays_scaled(mine: Flow, node: ast.expr, depth: int) -> bool:
    """Gradients come from `value_and_grad` by way of names and clipping alone, on every way."""
    ways = mine.all_given(node) if depth and isinstance(node, ast.Name) else []
    for way in ways:
        made = way.value
        if isinstance(made, ast.Name):
            if not _stays_scaled(mine, made, depth - 1):
                return False
        elif isinstance(made, ast.Call) and re.search(r"(?i)clip|reduc", last_name(made.func)) and made.args:
            if not _stays_scaled(mine, made.args[0], depth - 1):
                return False
        elif isinstance(made, ast.Call):
            taken = mine.given(made.func) if isinstance(made.func, (ast.Name, ast.Attribute)) else None
            by = taken.value if taken is not None else None
            if not (isinstance(by, ast.Call) and last_name(by.func) == "value_and_grad"):
                return False
        else:
            return False
    return bool(ways)


@probe()
def positions_in_half(view: View) -> Finding:
    """Position numbers are made in half precision: bf16 has no 257, fp16 no 2049."""
    return first(view, _half_positions, "the scripts make no positions or rotary frequencies")


_POSITIONS = re.compile(r"pos|rotary|rope|inv_freq|freqs|seq|timestep", re.IGNORECASE)
_HALF = re.compile(r"\b(?:bfloat16|float16|half)\b")


def _half_positions(source: Script) -> Finding | None:
    seen: ast.Call | None = None
    for call in source.named("arange"):
        statement = source.line(call)
        if not _POSITIONS.search(f"{statement} {source.function_name(call)}"):
            continue
        seen = seen or call
        dtype = keyword(call, "dtype")
        parent = source.parents.get(call)
        after = isinstance(parent, ast.Attribute) and parent.attr in ("half", "bfloat16")
        if after or (dtype is not None and _HALF.search(unparse(dtype))):
            return at(
                source, call, "positions in half precision are not exact beyond 256 (bf16) or 2048 (fp16)"
            )
    return ok(source, seen, "positions are made as integers or in fp32") if seen is not None else None


@probe()
def workers_share_seed(view: View) -> Finding:
    """`worker_init_fn` gives every data-loader worker the same NumPy or Python seed."""
    return first(view, same_seed, "the scripts seed no data-loader workers")


@probe()
def shards_in_listing_order(view: View) -> Finding:
    """Files are listed without sorting and divided over processes by their place in the list."""
    return first(
        view, either(_unsorted, shards_of_unsorted), "the scripts divide no list of files over processes"
    )


_BY_RANK = re.compile(r"\[\s*(?:\w+\.)*(?:rank|local_rank|rank_id|global_rank)\s*::|%\s*(?:\w+\.)*world_size")


def _unsorted(source: Script) -> Finding | None:
    listings = source.named("listdir", "glob", "iglob", "rglob", "iterdir", "scandir")
    if not listings or not _BY_RANK.search(source.text):
        return None
    for call in listings:
        above = [a for a in source.above(call) if isinstance(a, ast.Call)]
        if any(last_name(a.func) in ("sorted", "natsorted") for a in above):
            continue
        if source.named("sort") or source.named("sorted", "natsorted"):
            continue  # sorted somewhere else
        return at(source, call, "the order of a listing differs between machines, and shards are taken by it")
    return ok(source, listings[0], "the list of files is sorted before it is divided")
