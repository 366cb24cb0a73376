"""MindSpore in a rehearsal: cells, gradient functions, training cells and `Model`."""

from __future__ import annotations

import ast
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...script_diff.vocabulary import word_set
from ..journal import Switched
from ..libraries import Call, base, function, method
from ..statements import EPOCHS
from ..values import Instance, Kind, Net, Optimizer, Tensor, Thing, Unknown
from .gradients import paired, stepped_by, taken, weights_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..machine import Machine

_MS = ("mindspore.",)
_NO_LAYERS = word_set(
    "Accuracy Precision Recall F1 MAE MSE Loss Top1CategoricalAccuracy Top5CategoricalAccuracy "
    "TopKCategoricalAccuracy ConfusionMatrix ConfusionMatrixMetric Fbeta Dice ROC Perplexity "
    "OcclusionSensitivity MeanSurfaceDistance HausdorffDistance CosineSimilarity BleuScore "
    "CosineDecayLR ExponentialDecayLR NaturalExpDecayLR InverseDecayLR PolynomialDecayLR WarmUpLR "
    "DynamicLossScaleUpdateCell FixedLossScaleUpdateCell"
)


@function(*sorted(_NO_LAYERS), of=("mindspore.nn.", "mindspore.train."))
def _no_layer(call: Call) -> Any:
    return Unknown(call.callee.last)


@function("DistributedGradReducer", of=("mindspore.nn.",))
def _reducer(call: Call) -> Any:
    return Same()


class Same(Thing):
    """What gives back what it is given."""


@method(Same, "__call__")
def _same(call: Call) -> Any:
    return call.given[0] if call.given else Unknown("same")


@function("depend", of=_MS)
def _depend(call: Call) -> Any:
    return call.given[0] if call.given else NotImplemented


@function("auto_mixed_precision", of=_MS)
def _wrapped(call: Call) -> Any:
    return call.given[0] if call.given else call.named.get("network", NotImplemented)


@function("ParameterTuple", of=_MS)
def _parameters(call: Call) -> Any:
    return list(call.machine.items_known(call.given[0]) or []) if call.given else []


@function("jit", "ms_function", "ms_class", "jit_class", "_no_grad", of=_MS)
def _jit(call: Call) -> Any:
    return call.given[0] if call.given else Same()


@function("dropout", of=_MS)
def _dropout(call: Call) -> Any:
    asked = call.named.get("training", call.given[2] if len(call.given) > 2 else True)
    if call.machine.modal and isinstance(asked, bool):
        call.machine.modal[-1].append(("dropout", asked))
    held = call.given[0] if call.given else None
    return held.then("dropout") if isinstance(held, Tensor) else NotImplemented


# ------------------------------------------------------------------------------------ gradient functions


@dataclass(eq=False)
class GradientOf(Thing):
    """A function that gives gradients of another one. `value`: it gives the answer as well."""

    function: Any = None
    weights: Any = None
    value: bool = True


@dataclass(eq=False)
class GradOperation(Thing):
    """MindSpore's `GradOperation`: called with a function, and weights with `get_by_list`."""

    by_list: bool = False


@function("value_and_grad", "grad", of=_MS)
def _gradient_function(call: Call) -> Any:
    names = ("fn", "grad_position", "weights", "has_aux", "return_ids")
    given = {**dict(zip(names, call.given, strict=False)), **call.named}
    return GradientOf(
        function=given.get("fn"), weights=given.get("weights"), value=call.callee.last == "value_and_grad"
    )


@function("GradOperation", of=_MS)
def _grad_operation(call: Call) -> Any:
    names = ("get_all", "get_by_list", "sens_param")
    given = {**dict(zip(names, call.given, strict=False)), **call.named}
    return GradOperation(by_list=given.get("get_by_list") is True)


@method(GradOperation, "__call__")
def _operated(call: Call) -> Any:
    owner = call.callee.owner
    weights = call.given[1] if owner.by_list and len(call.given) > 1 else None
    return GradientOf(function=call.given[0] if call.given else None, weights=weights, value=False)


@contextmanager
def recorded(machine: Machine) -> Iterator[None]:
    """What is computed within is recorded for a gradient: MindSpore records nothing else."""
    graph, machine.graph = machine.graph, True
    machine.taped += 1
    try:
        yield
    finally:
        machine.taped -= 1
        machine.graph = graph


@method(GradientOf, "__call__")
def _gradients(call: Call) -> Any:
    owner, machine = call.callee.owner, call.machine
    with recorded(machine):
        answer = machine.call(owner.function, call.given, call.named, call.node)
    loss = answer[0] if isinstance(answer, (tuple, list)) and answer else answer
    weights = weights_in(machine, owner.weights) if owner.weights is not None else None
    found: Any = taken(machine, loss, weights, call.node)
    if weights is None and owner.weights is not None:
        found = Unknown("gradients")
    return (answer, found) if owner.value else found


@method(Optimizer, "__call__")
def _optimizer_called(call: Call) -> Any:
    owner: Optimizer = call.callee.owner
    apply(call.machine, owner, call.given[0] if call.given else None, call.node)
    return True


def apply(machine: Machine, optimizer: Optimizer, gradients: Any, node: ast.AST) -> None:
    """An optimizer over known weights is given their gradients, in their order."""
    if optimizer.weights is None or isinstance(gradients, Unknown):
        optimizer.escaped = True
        stepped_by(machine, optimizer, [], node)
    else:
        stepped_by(machine, optimizer, paired(gradients, optimizer.weights), node)


# ------------------------------------------------------------------------------------ training cells


@function("WithLossCell", "WithEvalCell", of=("mindspore.nn.",))
@function("TrainOneStepCell", "TrainOneStepWithLossScaleCell", of=("mindspore.nn.",))
def _cell(call: Call) -> Any:
    machine = call.machine
    made = Net(layer=call.callee.last, serial=len(machine.nets), node=call.node, home="mindspore", mode=False)
    machine.nets.append(made)
    _filled(machine, made, call.given, call.named, call.node)
    return made


@base("WithLossCell", "TrainOneStepCell", "TrainOneStepWithLossScaleCell", "WithEvalCell", of=_MS)
def _filled(machine: Machine, made: Any, given: list[Any], named: dict[str, Any], node: ast.AST) -> None:
    lossy = "Loss" in _kind_of(made) and "Scale" not in _kind_of(made)
    names = ("backbone", "loss_fn") if lossy else ("network", "optimizer", "scale_sense")
    held = {**dict(zip(names, given, strict=False)), **named}
    for name, value in held.items():
        machine.set_attribute(made, name, value, node)
    if lossy:
        made.attributes["_backbone"] = held.get("backbone")
        made.attributes["_loss_fn"] = held.get("loss_fn")
    else:
        optimizer = held.get("optimizer")
        made.attributes["weights"] = optimizer.weights if isinstance(optimizer, Optimizer) else Unknown("w")
        made.attributes["grad"] = GradOperation(by_list=True)
        made.attributes["grad_reducer"] = Same()
        made.attributes["sens"] = 1.0


def _kind_of(made: Any) -> str:
    if isinstance(made, Net) and made.layer:
        return made.layer
    return next((n.rpartition(".")[2] for n in made.kind.foreign()), "") if made.kind is not None else ""


def cell_asked(machine: Machine, net: Net, given: list[Any], node: ast.AST) -> Any:
    """What MindSpore's own training cells give, or `NotImplemented`."""
    if net.layer in ("WithLossCell", "WithEvalCell"):
        answer = machine.ask(net.attributes["_backbone"], given[:-1], {}, node)
        return machine.call(net.attributes["_loss_fn"], [answer, given[-1]], {}, node)
    if net.layer in ("TrainOneStepCell", "TrainOneStepWithLossScaleCell"):
        with recorded(machine):
            loss = machine.call(net.children.get("network"), given, {}, node)
        optimizer = net.attributes.get("optimizer")
        if isinstance(optimizer, Optimizer):
            learnt(machine, optimizer, loss, node)
        return loss
    return NotImplemented


def learnt(machine: Machine, optimizer: Optimizer, loss: Any, node: ast.AST) -> None:
    """A gradient is taken of a loss, and an optimizer moves its weights by it."""
    apply(machine, optimizer, taken(machine, loss, optimizer.weights, node), node)


# ------------------------------------------------------------------------------------ Model


@dataclass(eq=False)
class Model(Thing):
    """MindSpore's `Model`: a network, a loss, an optimizer and metrics."""

    given: dict[str, Any] = field(default_factory=dict)


@function("Model", of=_MS)
def _model(call: Call) -> Any:
    names = ("network", "loss_fn", "optimizer", "metrics", "eval_network")
    return Model(given={**dict(zip(names, call.given, strict=False)), **call.named})


@method(Model, "train", "fit")
def _trained(call: Call) -> Any:
    owner, machine = call.callee.owner, call.machine
    names = ("epoch", "train_dataset", "valid_dataset" if call.callee.name == "fit" else "callbacks")
    given = {**dict(zip(names, call.given, strict=False)), **call.named}
    net = owner.given.get("network")
    asked = given.get("epoch")
    for number in range(min(asked, EPOCHS) if isinstance(asked, int) else EPOCHS):
        with round_of(machine, call.node, number):
            switched(machine, net, True, call.node)
            _epoch(machine, owner, given.get("train_dataset"), call.node)
            if call.callee.name == "fit" and given.get("valid_dataset") is not None:
                _evaluate(machine, owner, given["valid_dataset"], call.node)
            _called_back(machine, given.get("callbacks"), net, number, call.node)
    return None


def _epoch(machine: Machine, model: Model, data: Any, node: ast.AST) -> None:
    for count, held in enumerate(machine.iterated(data, node)):
        with round_of(machine, node, count):
            parts = list(held) if isinstance(held, (tuple, list)) else [held]
            with recorded(machine):
                loss = _loss(machine, model, parts, node)
            optimizer = model.given.get("optimizer")
            if isinstance(optimizer, Optimizer):
                learnt(machine, optimizer, loss, node)


def _loss(machine: Machine, model: Model, parts: list[Any], node: ast.AST) -> Any:
    net, function = model.given.get("network"), model.given.get("loss_fn")
    if function is None:
        return machine.call(net, parts, {}, node)
    answer = machine.call(net, parts[:-1], {}, node)
    return machine.call(function, [answer, parts[-1]], {}, node)


@method(Model, "eval")
def _evaluated(call: Call) -> Any:
    data = call.given[0] if call.given else call.named.get("valid_dataset")
    return _evaluate(call.machine, call.callee.owner, data, call.node)


def _evaluate(machine: Machine, model: Model, data: Any, node: ast.AST) -> Any:
    net = model.given.get("eval_network") or model.given.get("network")
    switched(machine, net, False, node)
    metrics = model.given.get("metrics")
    labels = [str(m) for m in (machine.items_known(metrics) or ()) if isinstance(m, str)] or ["metric"]
    told: dict[str, Any] = {}
    for held in machine.iterated(data, node):
        parts = list(held) if isinstance(held, (tuple, list)) else [held]
        answer = machine.call(net, parts[: max(len(parts) - 1, 1)], {}, node)
        found = list(machine.tensors([answer, *parts[-1:], *told.values()]))
        if found:
            figure = machine.joined_tensors("metric", found)
            figure.scalar, figure.rows = True, None
            told = dict.fromkeys(labels, figure)
    for label, figure in told.items():
        machine.tell(f"eval {label}", figure, node)
    return told or Unknown("metrics")


@method(Model, "predict")
def _predicted(call: Call) -> Any:
    net = call.callee.owner.given.get("network")
    switched(call.machine, net, False, call.node)
    return call.machine.call(net, call.given, {}, call.node)


def switched(machine: Machine, net: Any, mode: bool, node: ast.AST) -> None:
    """A network and all in it are put into a mode."""
    if isinstance(net, Net):
        for one in net.nets():
            one.mode = mode
        machine.note(Switched(**machine.now(node), net=net, mode=mode))


@contextmanager
def round_of(machine: Machine, node: ast.AST, count: int) -> Iterator[None]:
    """A round of a loop that a library goes through."""
    machine.tick()
    machine.loops.append((node, count))
    try:
        yield
    finally:
        machine.loops.pop()


@dataclass(eq=False)
class Context(Thing):
    """What callbacks are given."""


@method(Context, "original_args")
def _arguments(call: Call) -> Any:
    return Thing(fields=call.callee.owner.fields)


def _called_back(machine: Machine, held: Any, net: Any, number: int, node: ast.AST) -> None:
    """The program's own callbacks at the end of an epoch."""
    for one in machine.items_known(held) if isinstance(held, (list, tuple)) else [held]:  # type: ignore[union-attr]
        if not isinstance(one, Instance) or not isinstance(one.kind, Kind):
            continue
        fields = {"cur_epoch_num": number + 1, "network": net, "train_network": net}
        for name in ("on_train_epoch_end", "epoch_end"):
            found = one.kind.find(name)
            if found is not None:
                routine = machine.attribute(one, name, node)
                machine.call(routine, [Context(fields=fields)], {}, node)


@function("load_param_into_net", of=_MS)
def _loaded(call: Call) -> Any:
    from .networks import loaded

    held = [*call.given, *call.named.values()]
    if held and isinstance(held[0], Net):
        loaded(call.machine, held[0], held[1] if len(held) > 1 else None, call.node)
    return Unknown("missing")


__all__ = ["GradientOf", "Model", "cell_asked", "learnt", "round_of", "switched"]
