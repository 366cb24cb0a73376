"""Paddle's `Model` in a rehearsal: a network with an optimizer and a loss, which trains by itself."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..journal import Saved
from ..libraries import Call, function, method
from ..statements import EPOCHS
from ..values import Loader, Net, Optimizer, State, Tensor, Thing, Unknown
from .graph import backward
from .keras import Metric
from .lightning import evaluating
from .mindspore import round_of, switched
from .training import step

if TYPE_CHECKING:
    from ..machine import Machine

_FIT = ("train_data", "eval_data", "batch_size", "epochs")


@dataclass(eq=False)
class Trained(Thing):
    """`paddle.Model(net)` and what it was prepared with."""

    net: Any = None
    given: dict[str, Any] = field(default_factory=dict)


@function("Model", of=("paddle.Model",))
def _made(call: Call) -> Any:
    net = call.given[0] if call.given else call.named.get("network")
    return Trained(fields={"network": net}, net=net)


@method(Trained, "prepare")
def _prepared(call: Call) -> Any:
    names = ("optimizer", "loss", "metrics")
    call.callee.owner.given = {**dict(zip(names, call.given, strict=False)), **call.named}
    return None


def _loader(machine: Machine, data: Any, node: ast.AST, *, shuffles: bool) -> Any:
    if data is None or isinstance(data, (Loader, Unknown)):
        return data
    made = Loader(data, node, {}, shuffles)
    machine.loaders.append(made)
    return made


@method(Trained, "fit")
def _fitted(call: Call) -> Any:
    machine, owner, node = call.machine, call.callee.owner, call.node
    given = {**dict(zip(_FIT, call.given, strict=False)), **call.named}
    optimizer = owner.given.get("optimizer")
    if not isinstance(owner.net, Net) or not isinstance(optimizer, Optimizer):
        return NotImplemented
    learnt = _loader(machine, given.get("train_data"), node, shuffles=given.get("shuffle") is not False)
    held = _loader(machine, given.get("eval_data"), node, shuffles=False)
    for count in range(EPOCHS):
        with round_of(machine, node, count):
            switched(machine, owner.net, True, node)
            for batch in machine.iterated(learnt, node):
                _, loss = _asked(machine, owner, batch, node)
                backward(machine, loss, node)
                step(machine, optimizer, node)
                machine.clear(optimizer.weights, node)
            if held is not None:
                _scored(machine, owner, held, node)
    if given.get("save_dir") is not None:
        state = State(owner.net, owner.net.version, copied=True)
        machine.note(Saved(**machine.now(node), path="<checkpoint>", value=state))
    return None


def _asked(machine: Machine, owner: Trained, batch: Any, node: ast.AST) -> tuple[Any, Any]:
    parts = list(batch) if isinstance(batch, (list, tuple)) else [batch]
    answer = machine.ask(owner.net, parts[:-1] or parts, {}, node)
    loss = owner.given.get("loss")
    told = machine.call(loss, [answer, parts[-1]], {}, node) if loss is not None else answer
    return answer, told


def _scored(machine: Machine, owner: Trained, held: Any, node: ast.AST) -> None:
    asked = owner.given.get("metrics")
    metrics = [m for m in (asked if isinstance(asked, (list, tuple)) else [asked]) if isinstance(m, Metric)]
    answers: list[Tensor] = []
    with evaluating(machine, owner.net, node):
        for count, batch in enumerate(machine.iterated(held, node)):
            with round_of(machine, node, count):
                answer, loss = _asked(machine, owner, batch, node)
                answers += [t for t in (answer, loss) if isinstance(t, Tensor)]
    if answers:
        made = machine.joined_tensors("metric", answers)
        made.scalar, made.rows = True, None
        for name in ("loss", *(m.name for m in metrics)):
            machine.tell(f"eval {name}", made, node)


@method(Trained, "evaluate")
def _evaluated(call: Call) -> Any:
    owner = call.callee.owner
    data = call.given[0] if call.given else call.named.get("eval_data")
    if isinstance(owner.net, Net):
        _scored(call.machine, owner, _loader(call.machine, data, call.node, shuffles=False), call.node)
    return Unknown("figures")


@method(Trained, "*")
def _other(call: Call) -> Any:
    return Unknown(call.callee.name)


__all__ = ["Trained"]
