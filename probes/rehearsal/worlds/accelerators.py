"""Accelerate's and Fabric's objects in a rehearsal: what is prepared stays what it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...script_diff.vocabulary import word_set
from ..journal import Saved
from ..libraries import Call, function, method
from ..values import Net, Optimizer, Schedule, State, Tensor, Thing, Unknown
from .graph import backward
from .modules import copied
from .networks import loaded
from .training import path_key

_HANDED_BACK = word_set(
    "unwrap_model gather gather_for_metrics reduce pad_across_processes prepare_model prepare_optimizer "
    "prepare_data_loader prepare_scheduler setup_module setup_optimizers all_gather all_reduce to_device "
    "broadcast prepare_module setup_module"
)
_MAIN = word_set("is_main_process is_local_main_process is_last_process is_global_zero sync_gradients")


@dataclass(eq=False)
class Accelerator(Thing):
    """Accelerate's object. `every`: batches that it gathers before a step; `gone`: those that it saw."""

    every: int | None = 1
    gone: int = 0
    held: tuple[Any, ...] = ()

    @property
    def holds_back(self) -> bool:
        """Whether steps are held back at this batch."""
        return bool(self.every and self.gone and self.gone % self.every)


@function("Accelerator", of=("accelerate.",))
def _accelerator(call: Call) -> Any:
    every = call.named.get("gradient_accumulation_steps", 1)
    known = (
        isinstance(every, int)
        and not isinstance(every, bool)
        and "gradient_accumulation_plugin" not in (call.named)
    )
    return Accelerator(fields=dict.fromkeys(_MAIN, True), every=max(every, 1) if known else None)


@method(Accelerator, "prepare", "setup")
def _prepared(call: Call) -> Any:
    owner: Accelerator = call.callee.owner
    owner.held = (*owner.held, *call.given)
    for one in call.given:
        if isinstance(one, (Optimizer, Schedule)):
            one.gate = owner
            if owner.every is None and isinstance(one, Optimizer):
                one.escaped = True  # it is not known which of its steps are taken
    return call.given[0] if len(call.given) == 1 else tuple(call.given)


@method(Accelerator, "backward")
def _backward(call: Call) -> Any:
    from .lightning import divided

    loss = call.given[0] if call.given else None
    every = call.callee.owner.every
    if every is None and isinstance(loss, Tensor):
        loss = loss.then("div", scale=None)
    backward(call.machine, divided(call.machine, loss, every or 1), call.node)
    return None


@method(Accelerator, "accumulate", "no_backward_sync", "no_sync")
def _gathering(call: Call) -> Any:
    owner: Accelerator = call.callee.owner
    if call.callee.name == "accumulate":
        owner.gone += 1
        owner.fields["sync_gradients"] = not owner.holds_back
    return Unknown(call.callee.name)


@method(Accelerator, "save", "save_state", "save_model")
def _saved(call: Call) -> Any:
    owner: Accelerator = call.callee.owner
    first, rest = (call.given[0] if call.given else None), call.given[1:]
    value: Any = [State(n, n.version) for n in owner.held if isinstance(n, Net)]
    path = first
    if call.callee.name == "save":  # Accelerate's says what first, Fabric's where
        other = rest[0] if rest else None
        path, value = (first, other) if isinstance(owner, Fabric) else (other, first)
    key = path_key(path) or f"state of line {getattr(call.node, 'lineno', 0)}"
    kept = copied(call.machine, _states(value), {})
    call.machine.files[key] = kept
    call.machine.note(Saved(**call.machine.now(call.node), path=key, value=kept))
    return None


def _states(value: Any) -> Any:
    """What is kept of networks are their weights."""
    if isinstance(value, Net):
        return State(value, value.version)
    if isinstance(value, dict):
        return {k: _states(v) for k, v in value.items()}
    return value


@method(Accelerator, "load_state", "load", "load_raw")
def _loaded(call: Call) -> Any:
    owner: Accelerator = call.callee.owner
    key = path_key(call.given[0] if call.given else call.named.get("path"))
    kept = call.machine.files.get(key)
    into: Any = call.given[1] if len(call.given) > 1 else call.named.get("state")
    if not isinstance(into, dict):
        into = dict(enumerate(n for n in owner.held if isinstance(n, Net)))
    for place, one in into.items():
        if not isinstance(one, Net):
            continue
        state = kept.get(place) if isinstance(kept, dict) else None
        if isinstance(kept, list) and isinstance(place, int) and place < len(kept):
            state = kept[place]
        loaded(call.machine, one, state, call.node)
    return Unknown("state")


@method(Accelerator, "*")
def _accelerated(call: Call) -> Any:
    name = call.callee.name
    if name in _HANDED_BACK:
        return call.given[0] if call.given else None
    if name in ("clip_grad_norm_", "clip_gradients", "clip_grad_value_"):
        return Tensor(scalar=True)
    return Unknown(name)


class Fabric(Accelerator):
    """Lightning Fabric's object."""


@function("Fabric", of=("pytorch_lightning.", "lightning.", "lightning_fabric."))
def _fabric(call: Call) -> Any:
    return Fabric(fields=dict.fromkeys(_MAIN, True))


@method(Fabric, "setup_dataloaders")
def _loaders(call: Call) -> Any:
    return call.given[0] if len(call.given) == 1 else list(call.given)


@method(Fabric, "launch")
def _launched(call: Call) -> Any:
    if call.given and not isinstance(call.given[0], Unknown):
        return call.machine.call(call.given[0], [call.callee.owner, *call.given[1:]], call.named, call.node)
    return None


__all__ = ["Accelerator", "Fabric"]
