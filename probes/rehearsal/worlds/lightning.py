"""Lightning in a rehearsal: `Trainer.fit` goes through the hooks of a module in Lightning's order."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..journal import Loaded, Saved
from ..libraries import Call, base, function, method
from ..objects import Namespace
from ..statements import EPOCHS
from ..values import Instance, Net, Optimizer, Routine, Schedule, State, Tensor, Thing, Unknown
from .graph import backward
from .keras import Metric, figure
from .mindspore import round_of, switched
from .training import step

if TYPE_CHECKING:
    from ..machine import Machine

_PL = ("pytorch_lightning.", "lightning.", "lightning_fabric.")
_FEW = 2  # batches that validation is tried with before training


@dataclass(eq=False)
class Fitter(Thing):
    """Lightning's `Trainer`."""

    named: dict[str, Any] = field(default_factory=dict)


@function("Trainer", of=_PL)
def _trainer(call: Call) -> Any:
    return Fitter(
        named=call.named, fields={"current_epoch": Unknown("epoch"), "global_step": Unknown("step")}
    )


@base("LightningModule", "LightningDataModule", "Callback", of=_PL)
def _module(machine: Machine, made: Any, given: list[Any], named: dict[str, Any], node: ast.AST) -> None:
    made.attributes.setdefault("hparams", Namespace())


def _is_module(owner: Any) -> bool:
    return isinstance(owner, Instance) and owner.kind is not None and owner.kind.derives("LightningModule")


# ------------------------------------------------------------------------------------ what modules call


@method(Net, "log", "log_dict")
def _logged(call: Call) -> Any:
    if not _is_module(call.callee.owner):
        return NotImplemented
    held: Any = call.given[0] if call.given else call.named.get("dictionary", call.named.get("name"))
    if call.callee.name == "log":
        value = call.given[1] if len(call.given) > 1 else call.named.get("value")
        held = {held: value} if isinstance(held, str) else {}
    for label, value in held.items() if isinstance(held, dict) else ():
        if isinstance(value, Metric):
            value = figure(call.machine, value.name, value.gathered)
        if isinstance(value, Tensor):
            call.machine.tell(str(label), value, call.node)
    return None


@method(Net, "manual_backward")
def _manual_backward(call: Call) -> Any:
    backward(call.machine, call.given[0] if call.given else call.named.get("loss"), call.node)
    return None


@method(Net, "optimizers", "lr_schedulers")
def _optimizers(call: Call) -> Any:
    owner = call.callee.owner
    if not _is_module(owner):
        return NotImplemented
    held = owner.attributes.get(f"<{call.callee.name}>", [])
    return held[0] if len(held) == 1 else list(held) if held else Unknown(call.callee.name)


@method(
    Net, "toggle_optimizer", "untoggle_optimizer", "clip_gradients", "print", "log_grad_norm", "all_gather"
)
def _nothing(call: Call) -> Any:
    if not _is_module(call.callee.owner):
        call.callee.owner.escaped = True
        return NotImplemented
    return call.given[0] if call.callee.name == "all_gather" and call.given else None


@method(Instance, "save_hyperparameters")
def _hyperparameters(call: Call) -> Any:
    owner = call.callee.owner
    scope = call.machine.scopes[-1].names if call.machine.scopes else {}
    kept = Namespace({k: v for k, v in scope.items() if k not in ("self", "__class__") and k[:1] != "<"})
    for one in call.given:
        if isinstance(one, dict):
            kept.update(one)
    hidden = call.named.get("ignore")
    for name in [hidden] if isinstance(hidden, str) else call.machine.items_known(hidden) or []:
        kept.pop(name, None)
    owner.attributes["hparams"] = kept
    return None


@method(Net, "save_hyperparameters")
def _of_net(call: Call) -> Any:
    return _hyperparameters(call)


# ------------------------------------------------------------------------------------ fit


def hook(machine: Machine, owner: Any, name: str, given: list[Any], node: ast.AST) -> Any:
    """Call a hook if the program has it; None where it has not."""
    found = owner.kind.find(name) if isinstance(owner, Instance) and owner.kind is not None else None
    if found is None or not isinstance(found[1], Routine):
        return None
    wanted = found[1].node.args
    if wanted.vararg is None:
        given = given[: max(len(wanted.posonlyargs) + len(wanted.args) - 1, 0)]
    return machine.call(Routine(found[1].node, found[1].around, owner, found[0]), given, {}, node)


@method(Fitter, "fit")
def _fit(call: Call) -> Any:
    names = ("model", "train_dataloaders", "val_dataloaders", "datamodule")
    given = {**dict(zip(names, call.given, strict=False)), **call.named}
    machine, node, trainer = call.machine, call.node, call.callee.owner
    model = given.get("model")
    if not isinstance(model, Net) or not _is_module(model):
        if isinstance(model, Net):
            model.escaped = True
        return None
    train, held_out = _loaders(machine, trainer, model, given, "fit", node)
    model.attributes.setdefault("trainer", trainer)
    _configured(machine, model, hook(machine, model, "configure_optimizers", [], node))
    hook(machine, model, "on_fit_start", [], node)
    _validate(machine, trainer, model, held_out, "validation", node, few=_FEW)
    hook(machine, model, "on_train_start", [], node)
    asked = trainer.named.get("max_epochs")
    if isinstance(asked, int) and asked > 0:
        machine.lengths[node] = asked
    for number in range(min(asked, EPOCHS) if isinstance(asked, int) and asked > 0 else EPOCHS):
        with round_of(machine, node, number):
            model.attributes["current_epoch"] = trainer.fields["current_epoch"] = number
            _epoch(machine, trainer, model, train, node)
            _validate(machine, trainer, model, held_out, "validation", node)
            hook(machine, model, "on_train_epoch_end", [], node)
            _checkpointed(machine, trainer, model, node)
            if model.attributes.get("automatic_optimization") is not False:
                _scheduled(machine, model, "epoch", node)
    hook(machine, model, "on_train_end", [], node)
    hook(machine, model, "on_fit_end", [], node)
    return None


def _loaders(
    machine: Machine, trainer: Fitter, model: Net, given: dict[str, Any], stage: str, node: ast.AST
) -> tuple[Any, Any]:
    module = given.get("datamodule")
    train = given.get("train_dataloaders", given.get("train_dataloader"))
    if isinstance(train, Instance) and train.kind is not None and train.kind.derives("LightningDataModule"):
        module, train = train, None
    owner = module if module is not None else model
    if module is not None:
        module.attributes.setdefault("trainer", trainer)
        hook(machine, module, "prepare_data", [], node)
        hook(machine, module, "setup", [stage], node)
    hook(machine, model, "setup", [stage], node)
    if train is None:
        train = hook(machine, owner, "train_dataloader", [], node)
    held_out = given.get("val_dataloaders")
    if held_out is None:
        held_out = hook(machine, owner, "val_dataloader", [], node)
    return train, held_out


def _configured(machine: Machine, model: Net, held: Any) -> None:
    """What `configure_optimizers` gives: optimizers and schedules, each schedule with its interval."""
    optimizers: list[Any] = []
    schedules: list[tuple[Any, str]] = []
    if isinstance(held, tuple) and len(held) == 2 and all(isinstance(h, (list, tuple)) for h in held):
        optimizers += held[0]
        schedules += [_schedule(s) for s in held[1]]
    else:
        for one in held if isinstance(held, (list, tuple)) else [held]:
            if isinstance(one, dict):
                optimizers.append(one.get("optimizer"))
                if one.get("lr_scheduler") is not None:
                    schedules.append(_schedule(one["lr_scheduler"]))
            else:
                optimizers.append(one)
    model.attributes["<optimizers>"] = [o for o in optimizers if isinstance(o, Optimizer)]
    model.attributes["<lr_schedulers>"] = [s for s, _ in schedules if isinstance(s, Schedule)]
    model.attributes["<intervals>"] = [i for s, i in schedules if isinstance(s, Schedule)]


def _schedule(held: Any) -> tuple[Any, str]:
    if isinstance(held, dict):
        interval = held.get("interval", "epoch")
        return held.get("scheduler"), interval if isinstance(interval, str) else "epoch"
    return held, "epoch"


def _scheduled(machine: Machine, model: Net, interval: str, node: ast.AST) -> None:
    from .training import scheduled

    held = zip(model.attributes["<lr_schedulers>"], model.attributes["<intervals>"], strict=True)
    for one, when in held:
        if when == interval:
            scheduled(machine, one, node)


def _epoch(machine: Machine, trainer: Fitter, model: Net, data: Any, node: ast.AST) -> None:
    hook(machine, model, "on_train_epoch_start", [], node)
    every = trainer.named.get("accumulate_grad_batches", 1)
    every = every if isinstance(every, int) and every > 0 else 1
    manual = model.attributes.get("automatic_optimization") is False
    for count, batch in enumerate(machine.iterated(data, node)):
        with round_of(machine, node, count):
            hook(machine, model, "on_train_batch_start", [batch, count], node)
            if count >= 64:
                break
            told = hook(machine, model, "training_step", [batch, count], node)
            if not manual:
                _automatic(machine, model, told, count + 1, every, node)
            hook(machine, model, "on_train_batch_end", [told, batch, count], node)


def divided(machine: Machine, loss: Any, every: int) -> Any:
    """A loss as trainers take its gradient: divided by the batches that they gather."""
    return machine.combined("div", [loss, every], None) if every > 1 and isinstance(loss, Tensor) else loss


def _automatic(machine: Machine, model: Net, told: Any, count: int, every: int, node: ast.AST) -> None:
    """Lightning's own step: the gradient of the loss, and where enough batches were gathered, the step."""
    loss = told.get("loss") if isinstance(told, dict) else told
    if loss is None or isinstance(loss, Unknown):
        return
    backward(machine, divided(machine, loss, every), node)
    if count % every:
        return
    for one in model.attributes.get("<optimizers>", ()):
        hook(machine, model, "on_before_optimizer_step", [one], node)
        step(machine, one, node)
        machine.clear(one.weights, node)
    _scheduled(machine, model, "step", node)


@contextmanager
def evaluating(machine: Machine, model: Net, node: ast.AST) -> Iterator[None]:
    """All of a module in evaluation mode and without a graph; each part gets back the mode that it had."""
    before = [(n, n.mode) for n in model.nets()]
    switched(machine, model, False, node)
    graph, machine.graph = machine.graph, False
    try:
        yield
    finally:
        machine.graph = graph
        for net, mode in before:
            net.mode = mode


def _validate(
    machine: Machine, trainer: Fitter, model: Net, data: Any, kind: str, node: ast.AST, few: int = 64
) -> None:
    if data is None or model.kind.find(f"{kind}_step") is None:
        return
    loaders = list(data) if isinstance(data, (list, tuple)) else [data]
    with evaluating(machine, model, node):
        hook(machine, model, f"on_{kind}_epoch_start", [], node)
        for place, loader in enumerate(loaders):
            for count, batch in enumerate(machine.iterated(loader, node)):
                if count >= few:
                    break
                with round_of(machine, node, count):
                    hook(machine, model, f"{kind}_step", [batch, count, place], node)
        hook(machine, model, f"on_{kind}_epoch_end", [], node)


def _checkpointed(machine: Machine, trainer: Fitter, model: Net, node: ast.AST) -> None:
    if trainer.named.get("enable_checkpointing") is False:
        return
    machine.note(
        Saved(**machine.now(node), path="<checkpoint>", value=State(model, model.version, copied=True))
    )


@method(Fitter, "test", "validate", "predict")
def _evaluated(call: Call) -> Any:
    machine, node, trainer = call.machine, call.node, call.callee.owner
    names = ("model", "dataloaders", "ckpt_path")
    given = {**dict(zip(names, call.given, strict=False)), **call.named}
    kind = {"test": "test", "validate": "validation", "predict": "predict"}[call.callee.name]
    model = given.get("model")
    if model is None:
        model = next((n for n in reversed(machine.nets) if _is_module(n)), None)
    if not isinstance(model, Net) or not _is_module(model):
        return Unknown(call.callee.name)
    data = given.get("dataloaders")
    module = given.get("datamodule")
    if isinstance(data, Instance) and data.kind is not None and data.kind.derives("LightningDataModule"):
        module, data = data, None
    if data is None:
        owner = module if module is not None else model
        if module is not None:
            hook(machine, module, "setup", [call.callee.name], node)
        short = {"test": "test", "validate": "val", "predict": "predict"}[call.callee.name]
        data = hook(machine, owner, f"{short}_dataloader", [], node)
    if given.get("ckpt_path") is not None:
        state = State(model, model.version, copied=True)
        machine.note(Loaded(**machine.now(node), net=model, state=state, version=model.version))
    if kind == "predict":
        return _predicted(machine, model, data, node)
    _validate(machine, trainer, model, data, kind, node)
    return [Unknown("figures")]


def _predicted(machine: Machine, model: Net, data: Any, node: ast.AST) -> list[Any]:
    found = []
    with evaluating(machine, model, node):
        for count, batch in enumerate(machine.iterated(data, node)):
            with round_of(machine, node, count):
                if model.kind.find("predict_step") is not None:
                    found.append(hook(machine, model, "predict_step", [batch, count], node))
                else:
                    parts = batch if isinstance(batch, (list, tuple)) else [batch]
                    found.append(machine.ask(model, list(parts[:1]), {}, node))
    return found


@method(Fitter, "*")
def _other(call: Call) -> Any:
    return Unknown(call.callee.name)


__all__ = ["Fitter", "evaluating", "hook"]
