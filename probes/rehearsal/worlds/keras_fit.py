"""`compile`, `fit`, `evaluate` and `predict` of Keras in a rehearsal."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..journal import Loaded, Saved, Switched
from ..libraries import Call, base, function, method
from ..statements import EPOCHS
from ..values import Data, Instance, Loader, Net, Optimizer, Routine, State, Tensor, Thing, Unknown, file_key
from .flows import Flow, Structure, flow
from .gradients import taken
from .keras import KERAS, Loss, Metric, apply_pairs, figure, loss_of, optimizer_of
from .mindspore import round_of
from .tensors import joined

if TYPE_CHECKING:
    from ..machine import Machine

Named = dict[str, Any]


def _named(call: Call, *names: str) -> Named:
    return {**dict(zip(names, call.given, strict=False)), **call.named}


@method(Net, "compile")
def _compiled(call: Call) -> Any:
    net: Net = call.callee.owner
    if net.home != "keras":
        return net
    given = _named(call, "optimizer", "loss", "metrics")
    asked = given.get("optimizer", "rmsprop")
    if isinstance(asked, str):
        asked = optimizer_of(call.machine, asked, [], {}, call.node)
    net.attributes["optimizer"] = asked
    net.attributes["<loss>"] = given.get("loss")
    net.attributes["<metrics>"] = given.get("metrics")
    return None


# ------------------------------------------------------------------------------------ data


def batches_of(machine: Machine, given: Named, node: ast.AST, *, shuffles: bool) -> Any:
    """What is gone through: arrays beside each other as a loader, or what gives batches itself."""
    x, y = given.get("x"), given.get("y")
    if isinstance(x, (Loader, Instance)) or (y is None and not _arrays(x)):
        return x
    first = next((t for t in machine.tensors([x]) if t.rows is not None), None)
    count = len(first.rows) if first is not None and first.rows is not None else machine.made_rows
    parts = tuple(p for p in (x, y, given.get("sample_weight")) if p is not None)
    cut = given.get("validation_split")
    share = cut if isinstance(cut, float) and 0 < cut < 1 else 0.0
    plain = all(isinstance(p, Tensor) for p in parts)
    data = Data(np.arange(count), 0, node, parts if plain else Structure(parts), "arrays")
    chain = flow(machine, data, node)
    if share:
        chain = chain.then("between", *((0.0, 1 - share) if shuffles else (1 - share, 1.0)))
    if shuffles and given.get("shuffle") is not False:
        chain = chain.then("shuffle", True, None)
    return chain


def _arrays(value: Any) -> bool:
    if isinstance(value, dict):
        return any(isinstance(v, Tensor) for v in value.values())
    return isinstance(value, Tensor) or (
        isinstance(value, (list, tuple)) and bool(value) and all(isinstance(v, Tensor) for v in value)
    )


def _each(machine: Machine, data: Any, node: ast.AST) -> Iterator[list[Any]]:
    """The batches: inputs, what is right, weights."""
    if isinstance(data, Instance) and data.kind is not None and data.kind.find("__getitem__"):
        held: Any = [machine.item(data, i, node) for i in range(3)]
    else:
        held = machine.iterated(data, node)
    for count, one in enumerate(held):
        if count >= 8:
            break
        yield list(one) if isinstance(one, (tuple, list)) else [one]


# ------------------------------------------------------------------------------------ fit


def _of_keras(net: Net) -> bool:
    """A network of Keras; of another library its method is its own, and does what is not known."""
    if net.home != "keras":
        net.escaped = True
    return net.home == "keras"


@method(Net, "fit", "fit_generator")
def _fitted(call: Call) -> Any:
    net: Net = call.callee.owner
    if not _of_keras(net):
        return NotImplemented
    machine = call.machine
    given = _named(call, "x", "y", "batch_size", "epochs", "verbose", "callbacks", "validation_split")
    given.setdefault("x", given.get("generator"))
    asked = given.get("epochs", 1)
    data = batches_of(machine, given, call.node, shuffles=True)
    held_out = _held_out(machine, given, call.node)
    callbacks = _callbacks(machine, net, given.get("callbacks"))
    history: dict[str, list[Any]] = {}
    machine.note(Switched(**machine.now(call.node), net=net, mode=True))
    _told(machine, callbacks, "on_train_begin", [{}], call.node)
    for number in range(min(asked, EPOCHS) if isinstance(asked, int) else EPOCHS):
        with round_of(machine, call.node, number):
            _told(machine, callbacks, "on_epoch_begin", [number, {}], call.node)
            logs = _epoch(machine, net, data, call.node)
            if held_out is not None:
                found = scored(machine, net, held_out, call.node)
                logs.update({f"val_{k}": v for k, v in found.items()})
                for label, value in logs.items():
                    machine.tell(label, value, call.node)
            for label, value in logs.items():
                history.setdefault(label, []).append(value)
            _told(machine, callbacks, "on_epoch_end", [number, logs], call.node)
            _kept(machine, net, callbacks, call.node)
    _told(machine, callbacks, "on_train_end", [{}], call.node)
    _restored(machine, net, callbacks, call.node)
    return Thing(fields={"history": history, "epoch": Unknown("epoch"), "model": net})


def _held_out(machine: Machine, given: Named, node: ast.AST) -> Any:
    held = given.get("validation_data")
    if held is None:
        cut = given.get("validation_split")
        return batches_of(machine, given, node, shuffles=False) if isinstance(cut, float) and cut else None
    if isinstance(held, (tuple, list)) and len(held) >= 2:
        return batches_of(machine, {"x": held[0], "y": held[1]}, node, shuffles=False)
    return held


def _epoch(machine: Machine, net: Net, data: Any, node: ast.AST) -> dict[str, Any]:
    logs: dict[str, Any] = {}
    own = net.kind.find("train_step") if net.kind is not None else None
    for count, parts in enumerate(_each(machine, data, node)):
        with round_of(machine, node, count):
            if own is not None and isinstance(own[1], Routine):
                held = tuple(parts) if len(parts) > 1 else parts[0]
                told = machine.call(Routine(own[1].node, own[1].around, net, own[0]), [held], {}, node)
                logs = dict(told) if isinstance(told, dict) else logs
            else:
                logs["loss"] = learnt(machine, net, parts, node)
    return {str(k): v for k, v in logs.items()}


def learnt(machine: Machine, net: Net, parts: list[Any], node: ast.AST) -> Any:
    """A step of Keras's own training on a batch; its loss."""
    graph, machine.graph = machine.graph, True
    machine.taped += 1
    try:
        answer = machine.ask(net, parts[:1], {"training": True}, node)
        loss = compiled_loss(machine, net, parts[1] if len(parts) > 1 else parts[0], answer, node)
    finally:
        machine.taped -= 1
        machine.graph = graph
    optimizer = net.attributes.get("optimizer")
    weights = [w for w in net.parameters() if w.trains]
    gradients = taken(machine, loss, weights, node)
    if isinstance(optimizer, Optimizer):
        apply_pairs(machine, optimizer, list(zip(gradients, weights, strict=True)), node)
    return loss.like(deps=frozenset(), scalar=True) if isinstance(loss, Tensor) else loss


def compiled_loss(machine: Machine, net: Net, right: Any, answer: Any, node: ast.AST) -> Any:
    """The loss that a network was compiled with."""
    asked = net.attributes.get("<loss>")
    if isinstance(asked, (Loss, Routine, Net, Instance)):
        held = machine.call(asked, [right, answer], {}, node)
        if isinstance(held, Tensor):
            return held.like(scalar=True, rows=None)
    return loss_of(machine, asked if isinstance(asked, str) else "loss", [right, answer])


@method(Net, "compute_loss", "compiled_loss", "compute_metrics")
def _computed(call: Call) -> Any:
    if not _of_keras(call.callee.owner):
        return NotImplemented
    if call.callee.name == "compute_metrics":
        return {}
    given = {**dict(zip(("x", "y", "y_pred"), call.given, strict=False)), **call.named}
    if call.callee.name == "compiled_loss":
        given = {
            "y": call.given[0] if call.given else None,
            "y_pred": call.given[1] if len(call.given) > 1 else None,
        }
    return compiled_loss(call.machine, call.callee.owner, given.get("y"), given.get("y_pred"), call.node)


# ------------------------------------------------------------------------------------ evaluate, predict


def scored(machine: Machine, net: Net, data: Any, node: ast.AST) -> dict[str, Any]:
    """The figures of a network on data."""
    gathered: list[Tensor] = []
    own = net.kind.find("test_step") if net.kind is not None else None
    logs: dict[str, Any] = {}
    for count, parts in enumerate(_each(machine, data, node)):
        with round_of(machine, node, count):
            if own is not None and isinstance(own[1], Routine):
                held = tuple(parts) if len(parts) > 1 else parts[0]
                told = machine.call(Routine(own[1].node, own[1].around, net, own[0]), [held], {}, node)
                logs = dict(told) if isinstance(told, dict) else logs
                continue
            answer = machine.ask(net, parts[:1], {"training": False}, node)
            gathered += list(machine.tensors([answer, *parts[1:2]]))
    if logs:
        return {str(k): v for k, v in logs.items()}
    return {name: figure(machine, name, gathered[-80:]) for name in ("loss", *_metric_names(machine, net))}


def _metric_names(machine: Machine, net: Net) -> list[str]:
    held = net.attributes.get("<metrics>")
    found = []
    for one in machine.items_known(held) or () if isinstance(held, (list, tuple)) else ():
        if isinstance(one, str):
            found.append(one)
        elif isinstance(one, (Metric, Routine)):
            found.append(one.name)
    return found


@method(Net, "evaluate", "evaluate_generator", "test_on_batch")
def _evaluated(call: Call) -> Any:
    net: Net = call.callee.owner
    if not _of_keras(net):
        return NotImplemented
    given = _named(call, "x", "y")
    given.pop("validation_split", None)
    data = batches_of(call.machine, {**given, "shuffle": False}, call.node, shuffles=False)
    found = scored(call.machine, net, data, call.node)
    for label, value in found.items():
        call.machine.tell(label, value, call.node)
    if given.get("return_dict") is True:
        return found
    return list(found.values()) if len(found) > 1 else next(iter(found.values()), Unknown("loss"))


@method(Net, "predict", "predict_on_batch", "predict_generator", "predict_proba", "predict_classes")
def _predicted(call: Call) -> Any:
    net: Net = call.callee.owner
    if not _of_keras(net):
        return NotImplemented
    machine = call.machine
    x = call.given[0] if call.given else call.named.get("x")
    if isinstance(x, (Loader, Instance)) and not isinstance(x, Tensor):
        found = [
            machine.ask(net, parts[:1], {"training": False}, call.node)
            for parts in _each(machine, x, call.node)
        ]
        answers = [f for f in found if isinstance(f, Tensor)]
        return joined(machine, answers, "concatenate") if answers else Unknown("predictions")
    return machine.ask(net, [x], {"training": False}, call.node)


@method(Net, "train_on_batch")
def _one_batch(call: Call) -> Any:
    net: Net = call.callee.owner
    if not _of_keras(net):
        return NotImplemented
    return learnt(call.machine, net, list(call.given[:2]), call.node)


@method(Net, "save", "save_weights", "export")
def _saved(call: Call) -> Any:
    net: Net = call.callee.owner
    if not _of_keras(net):
        return NotImplemented
    path = call.given[0] if call.given else next(iter(call.named.values()), None)
    _keep(call.machine, net, path, call.node)
    return None


def _keep(machine: Machine, net: Net, path: Any, node: ast.AST) -> None:
    held = State(net, net.version, copied=True)
    key = file_key(path)
    if key:
        machine.files[key] = held
    machine.note(Saved(**machine.now(node), path=key, value=held))


# ------------------------------------------------------------------------------------ callbacks


@dataclass(eq=False)
class Callback(Thing):
    """A callback of Keras."""

    name: str = ""
    named: Named = field(default_factory=dict)
    given: list[Any] = field(default_factory=list)


@function("*", of=tuple(f"{k}callbacks." for k in KERAS))
def _callback(call: Call) -> Any:
    return Callback(name=call.callee.last, named=call.named, given=call.given)


def _callbacks(machine: Machine, net: Net, held: Any) -> list[Any]:
    found = list(machine.items_known(held) or ()) if isinstance(held, (list, tuple)) else [held]
    for one in found:
        if isinstance(one, Instance):
            one.attributes["model"] = net
    return found


def _told(machine: Machine, callbacks: list[Any], name: str, given: list[Any], node: ast.AST) -> None:
    for one in callbacks:
        found = one.kind.find(name) if isinstance(one, Instance) and one.kind is not None else None
        if found is not None and isinstance(found[1], Routine):
            machine.call(Routine(found[1].node, found[1].around, one, found[0]), given, {}, node)


def _kept(machine: Machine, net: Net, callbacks: list[Any], node: ast.AST) -> None:
    for one in callbacks:
        if isinstance(one, Callback) and one.name == "ModelCheckpoint":
            _keep(machine, net, one.given[0] if one.given else one.named.get("filepath"), node)


def _restored(machine: Machine, net: Net, callbacks: list[Any], node: ast.AST) -> None:
    for one in callbacks:
        if isinstance(one, Callback) and one.named.get("restore_best_weights") is True:
            state = State(net, net.version, copied=True)
            machine.note(Loaded(**machine.now(node), net=net, state=state, version=net.version))


# ------------------------------------------------------------------------------------ ImageDataGenerator


@dataclass(eq=False)
class Generator(Thing):
    """Keras's `ImageDataGenerator`."""

    named: Named = field(default_factory=dict)


@function("ImageDataGenerator", of=KERAS)
def _generator(call: Call) -> Any:
    return Generator(named=call.named)


@method(Generator, "flow_from_directory", "flow_from_dataframe", "flow")
def _flowed(call: Call) -> Any:
    machine, owner = call.machine, call.callee.owner
    share, part = owner.named.get("validation_split"), call.named.get("subset")
    if call.callee.name == "flow":
        given = _named(call, "x", "y")
        chain = batches_of(machine, {**given, "shuffle": False}, call.node, shuffles=False)
    else:
        held = call.given[0] if call.given else next(iter(call.named.values()), None)
        key = held if isinstance(held, str) else str(getattr(held, "key", getattr(held, "name", id(held))))
        table = machine.table(f"flow {key}")
        data = Data(np.arange(machine.tables[table][1]), table, call.node, None, call.callee.name)
        chain = flow(machine, data, call.node)
    if not isinstance(chain, Flow):
        return chain
    if isinstance(share, float) and part in ("training", "validation"):
        # Keras takes the validation part from the beginning
        ends = (share, 1.0) if part == "training" else (0.0, share)
        chain = replace(chain, steps=(("between", *ends), *chain.steps))
    return chain if call.named.get("shuffle") is False else chain.then("shuffle", True, None)


@method(Generator, "fit", "standardize", "random_transform")
def _fit_statistics(call: Call) -> Any:
    return None if call.callee.name == "fit" else (call.given[0] if call.given else None)


@base("Callback", "Sequence", "PyDataset", of=KERAS)
def _plain_base(machine: Machine, made: Any, given: list[Any], named: Named, node: ast.AST) -> None:
    made.attributes.update(named)


__all__ = ["Callback", "batches_of", "compiled_loss", "learnt", "scored"]
