"""Optimizers, schedules, scalers, and what is kept in files, in a rehearsal."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any

from ...readers.script import OPTIMIZERS
from ..journal import Saved, Scheduled, Stepped
from ..libraries import Call, function, method
from ..values import (
    Library,
    Optimizer,
    Scaler,
    Schedule,
    State,
    Tensor,
    Unknown,
    Weight,
)
from .modules import Path, copied

if TYPE_CHECKING:
    from ..machine import Machine

Named = dict[str, Any]
_OPTIMIZER = re.compile(
    r"^(?:Adam\w*|SGD|RMSprop|Adagrad|Adadelta|NAdam|RAdam|LBFGS|Rprop|ASGD|Lion|LAMB|Lamb|Adafactor|AdaBelief|Momentum|FusedAdam|FusedLAMB|Muon|AdamWeightDecay|Adamax|AdaMax|LazyAdam|FTRL|Ftrl|LARS|LazyAdam|Ranger|MADGRAD|ASGD|SparseAdam)$"
)
_OF = (
    "torch.optim.",
    "mindspore.nn.",
    "transformers.",
    "apex.",
    "torch_optimizer.",
    "timm.optim",
    "bitsandbytes.",
    "lion_pytorch.",
    "deepspeed.",
    "paddle.optimizer.",
    "pytorch_optimizer.",
)


def _makes_optimizer(call: Call) -> Any:
    if not _OPTIMIZER.match(call.callee.last):
        return NotImplemented
    held = call.given[0] if call.given else call.named.get("params", call.named.get("parameters"))
    if call.callee.root == "paddle":  # the rate comes first
        held = call.named.get("parameters", call.given[1] if len(call.given) > 1 else None)
    weights, groups = _weights(call.machine, held)
    settings = {k: v for k, v in call.named.items() if k != "params"}
    if len(call.given) > 1:
        settings.setdefault("lr", call.given[1])
    made = Optimizer(call.callee.last, weights, settings, call.node)
    made.groups = [{"lr": settings.get("lr", Unknown("lr")), **g} for g in groups] or [
        {"lr": settings.get("lr", Unknown("lr")), "params": weights or []}
    ]
    call.machine.optimizers.append(made)
    return made


_NO_OPTIMIZER = re.compile(r"(?i)clip|norm|ema|averag|count|print|log|init|sum|size|ddp|grad|to_vector|swa")
_RATES = ("lr", "learning_rate", "max_lr", "weight_decay", "betas", "momentum")


def unnamed_optimizer(
    machine: Machine, callee: Any, given: list[Any], named: Named, node: ast.AST, name: str
) -> Optimizer | None:
    """An optimizer that only a setting or another library names: weights are handed to it as to any other."""
    held = given[0] if given else None
    for key in ("params", "parameters", "model_params"):
        held = named.get(key, held)
    if not isinstance(held, list) or not held or _NO_OPTIMIZER.search(name):
        return None
    weights, groups = _weights(machine, held)
    rated = any(r in named for r in _RATES)
    made_by = isinstance(callee, Unknown) or name in ("instantiate", "build_optimizer", "create_optimizer")
    if not weights or not (made_by or (isinstance(callee, Library) and rated)):
        return None
    if isinstance(callee, Unknown) and not rated and "params" not in named and not _OPTIMIZES.search(name):
        return None
    made = Optimizer(name or "optimizer", weights, dict(named), node)
    made.groups = groups or [{"lr": named.get("lr", Unknown("lr")), "params": weights}]
    machine.optimizers.append(made)
    return made


_OPTIMIZES = re.compile(r"(?i)optim|adam|sgd|getattr")


for _name in sorted(
    {
        *OPTIMIZERS,
        "Adam",
        "AdamW",
        "SGD",
        "RMSprop",
        "Adagrad",
        "Adadelta",
        "NAdam",
        "RAdam",
        "LBFGS",
        "Rprop",
        "ASGD",
        "Lion",
        "Lamb",
        "LAMB",
        "Adafactor",
        "Adamax",
        "Momentum",
        "FusedAdam",
        "AdamWeightDecay",
        *("SparseAdam", "LazyAdam", "Muon", "AdaBelief", "FusedLAMB", "LARS", "Ranger", "MADGRAD", "FTRL"),
    }
):
    function(str(_name), of=_OF)(_makes_optimizer)


_LIKE_ONE = re.compile(r"^[A-Z]\w*$")


@function("*")
def _makes_optimizer_of_any(call: Call) -> Any:
    """`schedulefree.AdamWScheduleFree(model.parameters(), lr=...)`: a class of any library.

    It is given weights, all of them known, and a rate.
    """
    if not _LIKE_ONE.match(call.callee.last) or not {"lr", "learning_rate"} & call.named.keys():
        return NotImplemented
    held = call.given[0] if call.given else call.named.get("params")
    weights, groups = _weights(call.machine, held) if held is not None else (None, [])
    if not weights:
        return NotImplemented
    settings = {k: v for k, v in call.named.items() if k != "params"}
    made = Optimizer(call.callee.last, weights, settings, call.node)
    rate = settings.get("lr", settings.get("learning_rate"))
    made.groups = [{"lr": rate, **g} for g in groups] or [{"lr": rate, "params": weights}]
    call.machine.optimizers.append(made)
    return made


def _weights(machine: Machine, held: Any) -> tuple[list[Weight] | None, list[dict[str, Any]]]:
    """The weights that an optimizer is given, and its groups; None where they are not all known."""
    items = machine.items_known(held) if not isinstance(held, Weight) else [held]
    if items is None:
        return None, []
    found: list[Weight] = []
    groups: list[dict[str, Any]] = []
    for one in items:
        if isinstance(one, dict) and "params" not in one and "order_params" in one:
            continue  # MindSpore's order of the other groups' weights
        if isinstance(one, dict):
            inner, _ = _weights(machine, one.get("params"))
            if inner is None:
                return None, []
            groups.append({**one, "params": inner})
            found += inner
        elif isinstance(one, Weight):
            found.append(one)
        elif isinstance(one, tuple) and len(one) == 2 and isinstance(one[1], Weight):
            found.append(one[1])
        elif not isinstance(one, Tensor):
            return None, []
    return list({id(w): w for w in found}.values()), groups


def _held_back(owner: Any) -> bool:
    """Whether what the optimizer or schedule was handed to holds its steps back at this batch."""
    return bool(getattr(owner.gate, "holds_back", False))


@method(Optimizer, "step")
def _stepped(call: Call) -> Any:
    if _held_back(call.callee.owner):
        return None
    closure = call.given[0] if call.given else call.named.get("closure")
    held = call.machine.call(closure, [], {}, call.node) if closure is not None else None
    step(call.machine, call.callee.owner, call.node)
    return held


def step(machine: Machine, optimizer: Optimizer, node: ast.AST, *, scaled: bool = False) -> None:
    """An optimizer moves its weights by the gradients that they hold."""
    optimizer.steps += 1
    gradients: dict[int, tuple[int, ...]] = {}
    stale: set[int] = set()
    moved: set[int] = set()
    for weight in {w.serial: w for w in optimizer.weights or ()}.values():
        if not weight.trains:
            continue
        gradients[weight.serial] = tuple(weight.gradients)
        used = machine.used.setdefault(weight.serial, set())
        stale |= used & set(weight.gradients)
        if weight.gradients:
            weight.moved += 1
            moved.add(weight.serial)
        used |= set(weight.gradients)
    machine.note(
        Stepped(
            **machine.now(node),
            optimizer=optimizer,
            gradients=gradients,
            stale=frozenset(stale),
            scaled=scaled,
        )
    )
    machine.moved(moved, everything=optimizer.weights is None)


@method(Optimizer, "zero_grad", "clear_grad")
def _cleared(call: Call) -> Any:
    if not _held_back(call.callee.owner):
        call.machine.clear(call.callee.owner.weights, call.node)
    return None


@method(Optimizer, "add_param_group")
def _added(call: Call) -> Any:
    weights, _ = _weights(call.machine, [call.given[0]] if call.given else None)
    owner: Optimizer = call.callee.owner
    if weights is None or owner.weights is None:
        owner.weights = None
    else:
        owner.weights += weights
        owner.groups.append(
            {"lr": owner.settings.get("lr"), **call.given[0]} if isinstance(call.given[0], dict) else {}
        )
    return None


@method(Optimizer, "state_dict")
@method(Schedule, "state_dict")
@method(Scaler, "state_dict")
def _state(call: Call) -> Any:
    return State(call.callee.owner, 0, kind=type(call.callee.owner).__name__.lower())


@method(Optimizer, "load_state_dict")
@method(Schedule, "load_state_dict")
@method(Scaler, "load_state_dict")
def _load_state(call: Call) -> Any:
    call.callee.owner.loaded = call.given[0] if call.given else None
    return None


@function(
    "*",
    of=(
        "torch.optim.lr_scheduler.",
        "transformers.optimization.",
        "transformers.get_",
        "timm.scheduler.",
        "diffusers.optimization.",
    ),
)
def _schedule(call: Call) -> Any:
    optimizer = call.given[0] if call.given else call.named.get("optimizer")
    made = Schedule(call.callee.last, optimizer, tuple(call.given), call.named, call.node)
    call.machine.schedules.append(made)
    return made


@method(Schedule, "step", "step_update")
def _scheduled(call: Call) -> Any:
    if not _held_back(call.callee.owner):
        given = call.given[0] if call.given else call.named.get("metrics")
        scheduled(call.machine, call.callee.owner, call.node, given)
    return None


def scheduled(machine: Machine, schedule: Schedule, node: ast.AST, given: Any = None) -> None:
    """A schedule goes on by one."""
    schedule.steps += 1
    held = schedule.optimizer
    after = held.steps if isinstance(held, Optimizer) else -1
    machine.note(Scheduled(**machine.now(node), schedule=schedule, after=after, given=given))
    if isinstance(held, Optimizer):
        for group in held.groups:
            group["lr"] = Unknown("lr")


@method(Schedule, "get_last_lr", "get_lr")
def _rates(call: Call) -> Any:
    return [Unknown("lr")]


@function("GradScaler", of=("torch.",))
def _scaler(call: Call) -> Any:
    return Scaler(call.node)


@method(Scaler, "scale")
def _scaled(call: Call) -> Any:
    return (
        call.given[0].then("scaled")
        if call.given and isinstance(call.given[0], Tensor)
        else (call.given[0] if call.given else None)
    )


@method(Scaler, "step")
def _scaler_step(call: Call) -> Any:
    if call.given and isinstance(call.given[0], Optimizer):
        step(call.machine, call.given[0], call.node, scaled=True)
    return None


@method(Scaler, "unscale_", "update", "get_scale", "is_enabled")
def _unscaled(call: Call) -> Any:
    return Unknown("scale") if call.callee.name in ("get_scale", "is_enabled") else None


# ------------------------------------------------------------------------------------ files


@function("save", of=("torch.", "numpy.", "joblib.", "safetensors."))
@function(
    "savez",
    "savez_compressed",
    "dump",
    "save_file",
    "save_checkpoint",
    of=("numpy.", "joblib.", "pickle.", "json.", "safetensors.", "mindspore.", "yaml."),
)
def _saved(call: Call) -> Any:
    value, path = (
        (call.given[0] if call.given else None),
        (call.given[1] if len(call.given) > 1 else call.named.get("f")),
    )
    if call.callee.root == "numpy":
        value, path = path, value
        if call.callee.last.startswith("savez"):
            value = dict(call.named)
    held = copied(call.machine, value, {})
    key = path_key(path)
    if key:
        call.machine.files[key] = held
    call.machine.note(Saved(**call.machine.now(call.node), path=key, value=held))
    return None


@function(
    "load",
    "load_file",
    "load_checkpoint",
    of=("torch.", "numpy.", "joblib.", "pickle.", "json.", "safetensors.", "mindspore.", "yaml."),
)
def _loaded(call: Call) -> Any:
    if call.given and isinstance(call.given[0], Tensor):
        return call.given[0].then("load")
    key = path_key(call.given[0] if call.given else call.named.get("f"))
    if key and key in call.machine.files:
        return copied(call.machine, call.machine.files[key], {})
    if call.callee.root == "numpy":
        from .samples import read_array

        return read_array(call)
    return Unknown(f"file {key}")


def path_key(path: Any) -> str:
    """What stands for a path: the same text, the same file."""
    if isinstance(path, str):
        return path
    if isinstance(path, Path):
        return path.name
    return path.key if isinstance(path, Unknown) else ""
