"""Keras in a rehearsal: layers, networks that are made of calls, modes, optimizers and metrics."""

from __future__ import annotations

import ast
import copy as copying
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ...made_numbers.arrays import Unfit
from ...made_numbers.measures import SCORES, score
from .. import marks
from ..asking import FORWARD
from ..libraries import Call, base, function, method
from ..values import (
    NOTHING,
    Library,
    Net,
    Optimizer,
    Routine,
    State,
    Tensor,
    Thing,
    Unknown,
    Way,
    Weight,
    file_key,
    mixed,
)
from .gradients import stepped_by
from .known_numbers import plain_of
from .networks import function_of, layer, loaded, make_layer

if TYPE_CHECKING:
    from ..machine import Machine

Named = dict[str, Any]
KERAS = ("keras.", "tensorflow.keras.", "tf_keras.", "tensorflow.python.keras.")
SYMBOL = "<symbol>"  # marks, among what a tensor holds, what stands for a network's input
_LAYER = "layer:"
_INPUTS = ("Input", "InputLayer")


def _of(*parts: str) -> tuple[str, ...]:
    return tuple(f"{k}{p}" for k in KERAS for p in parts)


# ------------------------------------------------------------------------------------ layers and networks


@function("Input", of=KERAS)
def _input(call: Call) -> Any:
    made = Tensor(held=frozenset((SYMBOL,)), done=("Input",), mark=marks.of_input(call.machine.symbols))
    call.machine.symbols += 1
    return made


@function("*", of=_of("layers."))
def _layer(call: Call) -> Any:
    name = call.callee.last
    if name in _INPUTS:
        return _input(call)
    if name[:1].islower():
        return function_of(call.machine, name, call.given, call.named, call.node)
    made = make_layer(call.machine, name, call.given, call.named, call.node, "keras")
    if call.named.get("trainable") is False:
        trained(made, False)
    if name == "TorchModuleWrapper":
        made.opaque = True
    return made


@function("*", of=_of("applications."))
@function("KerasLayer", of=("tensorflow_hub.",))
def _application(call: Call) -> Any:
    if call.callee.last[:1].islower():
        return NotImplemented
    made = make_layer(call.machine, call.callee.last, [], call.named, call.node, "keras")
    made.opaque = True
    if not made.weights:
        made.weights["weight"] = call.machine.weight(call.callee.last)
    if call.named.get("trainable") is False:
        trained(made, False)
    return made


@function("*", of=_of("losses."))
def _loss(call: Call) -> Any:
    if call.callee.last[:1].islower():
        return function_of(call.machine, call.callee.last, call.given, call.named, call.node)
    return Loss(name=call.callee.last, named=call.named)


@dataclass(eq=False)
class Loss(Thing):
    """A loss of Keras: called with what is right and what is answered."""

    name: str = ""
    named: Named = field(default_factory=dict)


@method(Loss, "__call__", "call")
def _loss_called(call: Call) -> Any:
    owner = call.callee.owner
    reduction = owner.named.get("reduction")
    whole = reduction not in ("none", None) or reduction is None
    if isinstance(reduction, Library):
        whole = reduction.last != "NONE"
    made = loss_of(call.machine, owner.name, [*call.given, *call.named.values()], whole=whole)
    if isinstance(made, Tensor):
        made.mark = mixed(made.mark, marks.settings(call.machine, owner.name, [], owner.named))
        made.how = Way(owner.name, tuple(call.given), {**owner.named, **call.named})
    return made


def loss_of(machine: Machine, name: str, given: list[Any], *, whole: bool = True) -> Any:
    """A loss of what is given: one number, or one for each sample."""
    found = list(machine.tensors(given))
    if not found:
        return Unknown(name)
    made = machine.joined_tensors(name, found)
    made.how = Way(name, tuple(given))
    made.scalar = whole
    if whole:
        made.rows = None
    return made


@function("Sequential", of=KERAS)
def _sequential(call: Call) -> Any:
    held = call.given[0] if call.given else call.named.get("layers")
    known = call.machine.items_known(held) if held is not None else []
    nets = [k for k in known or () if not isinstance(k, Tensor)]
    made = make_layer(call.machine, "Sequential", [nets], {}, call.node, "keras")
    if known is None:
        made.opaque = True
        made.weights["unknown"] = call.machine.weight("unknown")
    return made


@method(Net, "add")
def _added(call: Call) -> Any:
    owner = call.callee.owner
    if owner.home == "keras" and call.given and isinstance(call.given[0], Net):
        owner.children[str(len(owner.children))] = call.given[0]
    return None


@function("Model", "Functional", of=KERAS)
def _functional(call: Call) -> Any:
    made = Net(layer="Functional", serial=len(call.machine.nets), node=call.node, home="keras", mode=False)
    call.machine.nets.append(made)
    _made_of_calls(call.machine, made, call.given, call.named, call.node)
    return made


@base("Model", "Sequential", "Functional", of=KERAS)
def _made_of_calls(machine: Machine, made: Any, given: list[Any], named: Named, node: ast.AST) -> None:
    """A network of the layers that lie between its inputs and its outputs."""
    inputs = given[0] if given else named.get("inputs")
    outputs = given[1] if len(given) > 1 else named.get("outputs")
    if outputs is None:
        return
    found = list(machine.tensors([outputs]))
    known = {n.serial: n for n in machine.nets}
    serials = {int(h[len(_LAYER) :]) for t in found for h in t.held if h.startswith(_LAYER)}
    made.children.update({f"layer{s}": known[s] for s in sorted(serials) if s in known})
    made.attributes["<outputs>"] = outputs
    made.attributes["<inputs>"] = inputs
    if not made.children or not any(SYMBOL in t.held for t in found):
        made.opaque = True
        made.weights["unknown"] = machine.weight("unknown")


def symbol_of(net: Net) -> Tensor:
    """What stands for a network's output while another one is made of it."""
    return Tensor(held=frozenset((SYMBOL, f"{_LAYER}{net.serial}")), done=(net.layer or net.kind.node.name,))


def trained(net: Net, asked: bool) -> None:
    """Give a network and all in it `trainable`."""
    for one in net.nets():
        one.attributes["trainable"] = asked
        for weight in one.weights.values():
            weight.trains = asked and not weight.buffer


# ------------------------------------------------------------------------------------ asked


def asked(machine: Machine, net: Net, given: list[Any], named: Named, node: ast.AST) -> Any:
    """What a network of Keras answers: in the mode of `training`, of what asks it, or in evaluation."""
    mode = _mode(machine, net, named)
    if any(SYMBOL in t.held for t in machine.tensors([*given, *named.values()])):
        return _symbolic(machine, net, given, named)
    named = {k: v for k, v in named.items() if k != "training"}
    fixed = net.attributes.get("<fixed>")
    net.mode = mode if fixed is None else fixed
    if net.layer.startswith("BatchNorm") and net.attributes.get("trainable") is False:
        net.mode = False
    graph = machine.graph
    if not machine.taped and not machine.others:
        machine.graph = False
    machine.learning.append(net.mode if fixed is not None else mode)
    try:
        return _answer(machine, net, given, named, node)
    finally:
        machine.learning.pop()
        machine.graph = graph


def _mode(machine: Machine, net: Net, named: Named) -> bool:
    told = named.get("training")
    if isinstance(told, bool):
        return told
    if told is not None:
        net.escaped = True
    if machine.learning:
        return machine.learning[-1]
    forward = _forward(net)
    return isinstance(forward, Routine) and _default(forward) is True


def _forward(net: Net) -> Any:
    if net.kind is None:
        return None
    found = next((f for n in FORWARD if (f := net.kind.find(n)) is not None), None)
    return Routine(found[1].node, found[1].around, net, found[0]) if found is not None else None


def _default(routine: Routine) -> Any:
    """The default of `training` in a signature."""
    args = routine.node.args
    names = [a.arg for a in args.args][len(args.args) - len(args.defaults) :]
    found = dict(zip(names, args.defaults, strict=False))
    found.update({a.arg: d for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True) if d is not None})
    return getattr(found.get("training"), "value", None)


def _answer(machine: Machine, net: Net, given: list[Any], named: Named, node: ast.AST) -> Any:
    if net.layer == "Functional":
        return _asked_through(machine, net, given, named, node)
    if net.layer:
        return layer(machine, net, given, named, node)
    routine = _forward(net)
    if routine is None and net.children and "<outputs>" in net.attributes:
        return _asked_through(machine, net, given, named, node)
    if routine is not None and _takes_mode(routine) and len(given) < _place(routine):
        named = {**named, "training": net.mode}
    found = (routine.of, routine) if routine is not None else None
    if machine.inside_net or routine is None or machine.is_loss(net):
        return machine._forward(net, found, given, named, node)
    return machine.noted(net, given, named, node, lambda: machine._forward(net, found, given, named, node))


def _asked_through(machine: Machine, net: Net, given: list[Any], named: Named, node: ast.AST) -> Any:
    if machine.inside_net:
        return _through(machine, net, given, named, node)
    return machine.noted(net, given, named, node, lambda: _through(machine, net, given, named, node))


def _takes_mode(routine: Routine) -> bool:
    args = routine.node.args
    return any(a.arg == "training" for a in (*args.args, *args.kwonlyargs))


def _place(routine: Routine) -> int:
    names = [a.arg for a in routine.node.args.args]
    return names.index("training") if "training" in names else 99


def _symbolic(machine: Machine, net: Net, given: list[Any], named: Named) -> Tensor:
    """A network is called while another one is made: nothing is asked yet."""
    made = machine.joined_tensors(
        net.layer or net.kind.node.name, list(machine.tensors([*given, *named.values()]))
    )
    made.held = made.held | {f"{_LAYER}{net.serial}"}
    if net.layer:
        made.mark = marks.layer(machine, net, given, named, modal=False)
        made.how = Way(net.layer, (*given, *named.values()), {"<layer>": net})
    made.deps, made.scalar, made.rows = NOTHING, False, None
    told = named.get("training")
    if isinstance(told, bool):
        net.attributes["<fixed>"] = told
    return made


def _through(machine: Machine, net: Net, given: list[Any], named: Named, node: ast.AST) -> Any:
    """A network of calls: all its layers work on what it is given, in the order in which they were made."""
    found = list(machine.tensors([*given, *named.values()]))
    held = machine.joined_tensors("Functional", found) if found else Tensor()
    held.scalar = False
    for child in list(net.children.values()):
        if isinstance(child, Net):
            answer = machine.ask(child, [held], {}, node)
            held = answer if isinstance(answer, Tensor) else held
    outputs = net.attributes.get("<outputs>")
    if isinstance(outputs, (list, tuple)):
        return [held.like(how=o.how) if isinstance(o, Tensor) else held.like() for o in outputs]
    if isinstance(outputs, dict):
        return {k: held.like() for k in outputs}
    if isinstance(outputs, Tensor):
        return held.like(done=outputs.done, mark=outputs.mark, how=outputs.how)
    return held.like(done=held.done)


# ------------------------------------------------------------------------------------ fields


def keras_field(machine: Machine, owner: Net, name: str) -> Any:
    """A field of a network of Keras, or None."""
    weights = [w for n in owner.nets() for w in n.weights.values()]
    if name in ("trainable_variables", "trainable_weights"):
        return [w for w in weights if w.trains and not w.buffer]
    if name in ("non_trainable_variables", "non_trainable_weights"):
        return [w for w in weights if w.buffer or not w.trains]
    if name in ("variables", "weights"):
        return weights
    if name == "layers":
        return _layers(machine, owner)
    if name in ("output", "outputs"):
        return owner.attributes.get("<outputs>") or symbol_of(owner)
    if name in ("input", "inputs"):
        return owner.attributes.get("<inputs>") or Tensor(held=frozenset((SYMBOL,)), done=("Input",))
    if name == "losses":
        return []
    if name == "metrics":
        return [v for v in owner.attributes.values() if isinstance(v, Metric)]
    if name in ("optimizer", "history", "name", "stop_training", "metrics_names", "output_shape"):
        return Unknown(name)
    if name == "trainable":
        return True
    return None


def _layers(machine: Machine, owner: Net) -> list[Any]:
    if owner.opaque and not owner.children:
        for place in range(6):
            made = make_layer(machine, f"part{place}", [], {}, owner.node or ast.Pass(), "keras")
            made.opaque = True
            owner.children[f"part{place}"] = made
        owner.weights.clear()
    return list(owner.children.values())


@method(Net, "get_layer")
def _get_layer(call: Call) -> Any:
    held = _layers(call.machine, call.callee.owner)
    index = call.named.get("index", call.given[1] if len(call.given) > 1 else None)
    if isinstance(index, int) and -len(held) <= index < len(held):
        return held[index]
    name = call.given[0] if call.given else call.named.get("name")
    return next((h for h in held if isinstance(h, Net) and h.named.get("name") == name), Unknown("layer"))


@method(Net, "get_weights")
def _get_weights(call: Call) -> Any:
    return State(call.callee.owner, call.callee.owner.version, copied=True)


@method(Net, "set_weights", "load_weights")
def _set_weights(call: Call) -> Any:
    held = call.given[0] if call.given else next(iter(call.named.values()), None)
    if not isinstance(held, State):
        held = call.machine.files.get(file_key(held))
    loaded(call.machine, call.callee.owner, held, call.node)
    return None


@function("load_model", "clone_model", of=KERAS)
def _loaded_model(call: Call) -> Any:
    from .modules import copied

    held = call.given[0] if call.given else Unknown("model")
    if call.callee.last == "clone_model" and isinstance(held, Net):
        return copied(call.machine, held, {})
    kept = call.machine.files.get(file_key(held))
    if isinstance(kept, State) and isinstance(kept.net, Net):
        made = copied(call.machine, kept.net, {})
        made.version = kept.now
        return made
    made = make_layer(call.machine, "load_model", [], {}, call.node, "keras")
    made.opaque = True
    made.attributes["optimizer"] = optimizer_of(call.machine, "loaded", [], {}, call.node)
    return made


# ------------------------------------------------------------------------------------ optimizers

_OPTIMIZERS = (
    "Adam AdamW SGD RMSprop Nadam Adagrad Adadelta Adamax Ftrl Lion Adafactor Lamb LAMB Muon RectifiedAdam"
)


@function(*_OPTIMIZERS.split(), of=(*KERAS, "tensorflow_addons.", "tensorflow.optimizers."))
def _optimizer(call: Call) -> Any:
    return optimizer_of(call.machine, call.callee.last, call.given, call.named, call.node)


def optimizer_of(machine: Machine, name: str, given: list[Any], named: Named, node: ast.AST) -> Optimizer:
    """An optimizer that gets to know its weights when it moves them."""
    rate = given[0] if given else named.get("learning_rate", Unknown("lr"))
    made = Optimizer(name, None, {**named, "lr": rate}, node)
    made.late = True
    made.groups = [{"lr": rate}]
    machine.optimizers.append(made)
    return made


@function("LossScaleOptimizer", of=KERAS)
@function("MovingAverage", "Lookahead", "SWA", "DistributedOptimizer", of=("tensorflow_addons.", "horovod."))
def _wrapping(call: Call) -> Any:
    held = call.given[0] if call.given else next(iter(call.named.values()), None)
    return held if isinstance(held, Optimizer) else NotImplemented


@method(Optimizer, "get_scaled_loss", "scale_loss", "get_unscaled_gradients", "aggregate_gradients")
def _unchanged(call: Call) -> Any:
    return call.given[0] if call.given else Unknown("loss")


@method(Optimizer, "build")
def _built(call: Call) -> Any:
    return None


@method(Optimizer, "apply_gradients", "apply")
def _applied(call: Call) -> Any:
    held = call.given[0] if call.given else next(iter(call.named.values()), None)
    if call.callee.name == "apply" and len(call.given) > 1:
        pairs = list(
            zip(
                call.machine.items(held, call.node),
                call.machine.items(call.given[1], call.node),
                strict=False,
            )
        )
    else:
        pairs = list(call.machine.iterated(held, call.node)) if held is not None else []
    apply_pairs(call.machine, call.callee.owner, pairs, call.node)
    return None


def apply_pairs(machine: Machine, optimizer: Optimizer, pairs: list[Any], node: ast.AST) -> None:
    """Gradients beside their weights move the weights."""
    known = [p for p in pairs if isinstance(p, (tuple, list)) and len(p) == 2 and isinstance(p[1], Weight)]
    if len(known) != len(pairs) or not pairs:
        optimizer.escaped = True
    elif optimizer.late and optimizer.weights is None:
        optimizer.weights = []
    stepped_by(machine, optimizer, [(p[0], p[1]) for p in known], node)


# ------------------------------------------------------------------------------------ metrics


@dataclass(eq=False)
class Metric(Thing):
    """A metric that gathers: Keras's, torchmetrics'. `gathered`: all that it was given since it was reset."""

    name: str = ""
    gathered: list[Tensor] = field(default_factory=list)
    kind: str = ""  # its class
    settings: Named = field(default_factory=dict)
    truth_first: bool = True
    pairs: list[tuple[Any, Any]] = field(default_factory=list)  # truth and answers as numbers


@function("*", of=(*_of("metrics."), "torchmetrics.", "ignite.metrics."))
def _metric(call: Call) -> Any:
    if not re.match(r"[A-Z]", call.callee.last):
        return NotImplemented
    if "functional" in call.callee.name:
        return NotImplemented
    label = call.named.get("name", call.given[0] if call.given and isinstance(call.given[0], str) else None)
    kind = call.callee.last
    made = Metric(name=label if isinstance(label, str) else kind, kind=kind, settings=dict(call.named))
    made.truth_first = call.callee.name.startswith(KERAS)
    if kind.startswith("Multiclass"):
        made.settings.setdefault("average", "macro")  # torchmetrics' own
    return made


@method(Metric, "update_state", "update", "__call__", "forward", "update_on_step")
def _gathered(call: Call) -> Any:
    owner = call.callee.owner
    found = list(call.machine.tensors([*call.given, *call.named.values()]))
    owner.gathered = [*owner.gathered[-40:], *found]
    if call.machine.numbers is not None:
        known = len(call.given) == 2 and not call.named
        owner.pairs.append((plain_of(call.given[0]), plain_of(call.given[1])) if known else (None, None))
    return figure(call.machine, owner.name, found) if call.callee.name in ("__call__", "forward") else None


@method(Metric, "result", "compute")
def _figure(call: Call) -> Any:
    made = figure(call.machine, call.callee.owner.name, call.callee.owner.gathered)
    if isinstance(made, Tensor) and call.machine.numbers is not None:
        made.number = worked_out(call.callee.owner)
    return made


def worked_out(held: Metric) -> float | None:
    """What a metric comes to, where all that it was given is known as numbers and its definition is."""
    pairs = held.pairs if held.truth_first else [(b, a) for a, b in held.pairs]
    if not pairs or any(a is None or b is None for a, b in pairs) or not SCORES.match(held.kind):
        return None
    settings = {k: v for k, v in held.settings.items() if k != "name"}
    try:
        truth, said = (np.concatenate([np.asarray(p[i], float) for p in pairs]) for i in (0, 1))
        return float(score(held.kind, truth, said, settings, cuts=True))
    except (Unfit, ArithmeticError, TypeError, ValueError):
        return None


@method(Metric, "reset_states", "reset_state", "reset")
def _reset(call: Call) -> Any:
    call.callee.owner.gathered, call.callee.owner.pairs = [], []
    return None


@method(Metric, "to", "cuda", "clone", "eval", "train")
def _same(call: Call) -> Any:
    if call.callee.name == "clone":
        made = copying.copy(call.callee.owner)
        made.name, made.gathered, made.pairs = str(call.named.get("prefix", "")) + made.name, [], []
        return made
    return call.callee.owner


def figure(machine: Machine, name: str, found: list[Tensor]) -> Any:
    """One number of all that is given."""
    if not found:
        return Unknown(name)
    made = machine.joined_tensors(name, found)
    made.scalar, made.rows, made.deps = True, None, NOTHING
    return made


__all__ = ["KERAS", "Loss", "Metric", "asked", "figure", "keras_field", "loss_of", "optimizer_of", "trained"]
