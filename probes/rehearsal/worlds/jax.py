"""JAX in a rehearsal: weights in trees, gradients by functions, optax's steps, flax's and equinox's networks.

Weights are values here: a step gives new ones. In a rehearsal a weight stays one object over its steps, so
that what gathers, moves and is asked of it is known as in any other framework.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...script_diff.vocabulary import word_set
from ..expressions import ODD
from ..libraries import Call, function, method
from ..objects import home_of
from ..values import Broken, Instance, Kind, Net, Optimizer, Partial, Routine, Tensor, Thing, Unknown, Weight
from .gradients import stepped_by, taken
from .networks import make_layer

if TYPE_CHECKING:
    from ..machine import Machine

Tree = Any  # tensors in lists, tuples, mappings, objects

_SAME = (
    "jit",
    "pmap",
    "vmap",
    "checkpoint",
    "remat",
    "named_call",
    "filter_jit",
    "filter_vmap",
    "custom_vjp",
)


@function(*_SAME, of=("jax.", "flax.", "equinox.", "haiku."))
def _same(call: Call) -> Any:
    if call.given:
        return call.given[0]
    return Partial(call.callee, (), {}) if call.named else NotImplemented  # `@eqx.filter_jit(donate="all")`


@function("PRNGKey", "key", "fold_in", of=("jax.random.",))
def _key(call: Call) -> Any:
    return Unknown("key")


@function("split", of=("jax.random.",))
def _keys(call: Call) -> Any:
    count = call.given[1] if len(call.given) > 1 else call.named.get("num", 2)
    return [Unknown("key") for _ in range(count if isinstance(count, int) and count <= 64 else 2)]


@function("permutation", of=("jax.random.",))
def _permuted(call: Call) -> Any:
    held = call.given[1] if len(call.given) > 1 else call.named.get("x")
    if isinstance(held, int):
        return Tensor(number=call.machine.draw().permutation(min(held, 100_000)))
    if isinstance(held, Tensor) and isinstance(held.number, np.ndarray):
        return held.like(number=call.machine.draw().permutation(held.number))
    return held.then("permutation") if isinstance(held, Tensor) else Unknown("order")


# ------------------------------------------------------------------------------------ trees


def mapped(tree: Tree, made_of: Callable[[Tensor], Any]) -> Tree:
    """A tree with something made of each of its tensors."""
    if isinstance(tree, Tensor):
        return made_of(tree)
    if isinstance(tree, (list, tuple)):
        held = [mapped(t, made_of) for t in tree]
        return tuple(held) if isinstance(tree, tuple) else held
    if isinstance(tree, dict):
        return {k: mapped(v, made_of) for k, v in tree.items()}
    return tree


def weights_of(machine: Machine, tree: Tree) -> list[Weight]:
    """The weights of a tree or a network."""
    if isinstance(tree, Net):
        return [w for w in tree.parameters() if w.trains]
    return list({id(t): t for t in machine.tensors([tree], 8) if isinstance(t, Weight)}.values())


def weighed(machine: Machine, tree: Tree) -> Tree:
    """A tree whose tensors are weights: the same tensor is the same weight each time."""

    def weight(one: Tensor) -> Tensor:
        if isinstance(one, Weight) or one.rows is not None:
            return one
        if id(one) not in machine.leaves:
            machine.leaves[id(one)] = (one, machine.weight("leaf"))
        return machine.leaves[id(one)][1]

    return mapped(tree, weight)


@function("map", "tree_map", "tree_multimap", of=("jax.tree_util.", "jax.tree.", "jax.tree_", "optax.tree"))
def _tree_mapped(call: Call) -> Any:
    trees = call.given[1:]
    if not trees:
        return NotImplemented
    lists = [list(call.machine.tensors([t], 8)) for t in trees]
    first = iter(range(len(lists[0])))

    def made_of(one: Tensor) -> Any:
        place = next(first)
        others = [held[place] if place < len(held) else Unknown("leaf") for held in lists[1:]]
        return call.machine.call(call.given[0], [one, *others], {}, call.node)

    return mapped(trees[0], made_of)


# ------------------------------------------------------------------------------------ gradients


@dataclass(eq=False)
class Gradient(Thing):
    """What `grad(f)` gives. `first`: whether it also gives what the function does."""

    of: Any = None
    first: bool = False
    more: bool = False
    place: int = 0


@function(
    *("grad", "value_and_grad", "filter_grad", "filter_value_and_grad"),
    of=("jax.", "flax.nnx.", "equinox.", "haiku."),
)
def _gradient(call: Call) -> Any:
    place = call.named.get("argnums", call.given[1] if len(call.given) > 1 else 0)
    place = place[0] if isinstance(place, (tuple, list)) and place else place
    if not call.given:
        return Partial(call.callee, (), call.named)
    return Gradient(
        of=call.given[0],
        first="value" in call.callee.last,
        more=call.named.get("has_aux") is True,
        place=place if isinstance(place, int) else 0,
    )


@method(Gradient, "__call__")
def _taken(call: Call) -> Any:
    owner, machine = call.callee.owner, call.machine
    given = list(call.given)
    if owner.place >= len(given):
        return NotImplemented
    given[owner.place] = weighed(machine, given[owner.place])
    graph, machine.graph = machine.graph, True
    machine.taped += 1
    try:
        told = machine.call(owner.of, given, call.named, call.node)
    finally:
        machine.graph = graph
        machine.taped -= 1
    rest = list(told) if isinstance(told, (tuple, list)) and owner.more else [told]
    weights = weights_of(machine, given[owner.place])
    found = taken(machine, rest[0], weights or None, call.node)
    by = {id(w): g for w, g in zip(weights, found, strict=False)}
    tree = given[owner.place]
    gradients = found if isinstance(tree, (Net, Instance)) else mapped(tree, lambda w: by.get(id(w), w))
    if not owner.first:
        return (gradients, rest[1]) if owner.more and len(rest) > 1 else gradients
    return (tuple(rest) if owner.more else rest[0], gradients)


# ------------------------------------------------------------------------------------ optax


_NO_STEP = frozenset(
    ("clip", "clip_by_global_norm", "adaptive_grad_clip", "add_decayed_weights", "zero_nans", "centralize")
)


@function("*", of=("optax.",))
def _of_optax(call: Call) -> Any:
    name = call.callee.last
    if name in ("chain", "named_chain"):
        known = [g for g in call.given if isinstance(g, Optimizer)]
        return known[-1] if known else _optimizer(call, "chain")
    if name in ("inject_hyperparams", "masked"):
        return call.given[0] if call.given else NotImplemented
    if name in ("MultiSteps", "apply_if_finite"):
        held = call.given[0] if call.given else None
        if isinstance(held, Optimizer):
            held.escaped = True  # it is not known which of its steps are taken
        return held
    if name in _OPTIMIZERS:
        return _optimizer(call, name)
    if name == "apply_updates":
        return _applied(call)
    if name in _NO_STEP or "schedule" in name or name in ("Params", "OptState"):
        return Unknown(name)
    from .networks import function_of

    return function_of(call.machine, name, call.given, call.named, call.node)


_OPTIMIZERS = word_set(
    "adam adamw sgd rmsprop adagrad adadelta lion lamb lars nadam nadamw radam adabelief yogi adafactor "
    "noisy_sgd adamax adamaxw fromage novograd sm3 scale_by_adam scale scale_by_learning_rate "
    "multi_transform partition contrib amsgrad rprop"
)


def _optimizer(call: Call, name: str) -> Optimizer:
    settings = dict(call.named)
    if call.given:
        settings.setdefault("learning_rate", call.given[0])
    made = Optimizer(name, [], settings, call.node, late=True)
    call.machine.optimizers.append(made)
    return made


@method(Optimizer, "init")
def _begun(call: Call) -> Any:
    tree = weighed(call.machine, call.given[0]) if call.given else None
    known = {id(w) for w in call.callee.owner.weights or ()}
    call.callee.owner.weights = [
        *(call.callee.owner.weights or ()),
        *(w for w in weights_of(call.machine, tree) if id(w) not in known),
    ]
    return Thing(fields={})


@dataclass(eq=False)
class Updates(Thing):
    """What an optimizer of optax makes of gradients, to be added to weights."""

    optimizer: Any = None
    gradients: Tree = None


@method(Optimizer, "update")
def _updated(call: Call) -> Any:
    owner: Optimizer = call.callee.owner
    if not owner.late or not call.given:
        return NotImplemented
    state = call.given[1] if len(call.given) > 1 else Thing(fields={})
    return (Updates(optimizer=owner, gradients=call.given[0]), state)


def _applied(call: Call) -> Any:
    updates = call.given[1] if len(call.given) > 1 else None
    tree = weighed(call.machine, call.given[0]) if call.given else None
    if isinstance(updates, Updates):
        _step(call.machine, updates.optimizer, updates.gradients, tree, call.node)
    return tree


@function("apply_updates", of=("equinox.",))
def _applied_of(call: Call) -> Any:
    return _applied(call)


def _step(machine: Machine, optimizer: Optimizer, gradients: Tree, tree: Tree, node: ast.AST) -> None:
    weights = weights_of(machine, tree)
    found = list(machine.tensors([gradients], 8))
    by: dict[str, Tensor] = {}
    for one in found:
        for mark in one.held:
            by.setdefault(mark.partition(":")[2].partition(":")[0], one)
    stepped_by(machine, optimizer, [(by.get(str(w.serial)), w) for w in weights], node)


# ------------------------------------------------------------------------------------ flax and equinox


@dataclass(eq=False)
class TrainState(Thing):
    """Flax's state of training: the weights and what moves them."""


_NNX = ("flax.nnx.", "equinox.nn.")


@function("create", of=("flax.training.train_state.TrainState", "train_state.TrainState"))
def _created(call: Call) -> Any:
    return created(call.machine, call.named)


def created(machine: Machine, named: dict[str, Any]) -> TrainState:
    """A state of training with the weights that it is given."""
    params, optimizer = weighed(machine, named.get("params")), named.get("tx")
    if isinstance(optimizer, Optimizer):
        optimizer.weights = weights_of(machine, params)
    return TrainState(
        fields={**named, "params": params, "step": Unknown("step"), "opt_state": Thing(fields={})}
    )


@function("from_bytes", "from_state_dict", of=("flax.serialization.",))
@function("restore_checkpoint", of=("flax.training.checkpoints.",))
def _restored(call: Call) -> Any:
    """A tree like the one that is given, with values of a file."""
    names = ("from_bytes", "from_state_dict")
    held = call.given[0 if call.callee.last in names else 1 :][:1] or [call.named.get("target")]
    return mapped(held[0], lambda one: one) if isinstance(held[0], (dict, list, tuple)) else _again(held[0])


def _again(held: Any) -> Any:
    return TrainState(fields=dict(held.fields)) if isinstance(held, TrainState) else held


@method(TrainState, "apply_gradients")
def _gradients_applied(call: Call) -> Any:
    held: TrainState = call.callee.owner
    grads = call.named.get("grads", call.given[0] if call.given else None)
    optimizer = held.fields.get("tx")
    if isinstance(optimizer, Optimizer):
        _step(call.machine, optimizer, grads, held.fields.get("params"), call.node)
    held.fields.update({k: v for k, v in call.named.items() if k != "grads"})
    return held


@method(TrainState, "replace")
def _replaced(call: Call) -> Any:
    return TrainState(fields={**call.callee.owner.fields, **call.named})


@method(Kind, "create")
def _created_of(call: Call) -> Any:
    derived = call.callee.owner.derives("TrainState")
    return created(call.machine, call.named) if derived else Unknown("create")


@function("*", of=_NNX)
def _layer(call: Call) -> Any:
    name = call.callee.last
    if name in ("Optimizer", "ModelAndOptimizer"):
        return _nnx_optimizer(call)
    if name[:1].islower():
        from .networks import function_of

        return function_of(call.machine, name, call.given, call.named, call.node)
    if name in ("Rngs", "Param", "Variable", "State", "GraphDef", "RngStream", "MultiMetric", "metrics"):
        return NotImplemented
    return make_layer(call.machine, name, call.given, call.named, call.node, home_of([call.callee.name]))


def _nnx_optimizer(call: Call) -> Any:
    net = call.given[0] if call.given else None
    inner = call.given[1] if len(call.given) > 1 else call.named.get("tx")
    if not isinstance(net, Net) or not isinstance(inner, Optimizer):
        return NotImplemented
    inner.weights = weights_of(call.machine, net)
    return Stepper(fields={"model": net}, optimizer=inner)


@dataclass(eq=False)
class Stepper(Thing):
    """Flax's optimizer over a network: `optimizer.update(grads)`, `optimizer.update(model, grads)`."""

    optimizer: Any = None


@method(Stepper, "update")
def _stepper(call: Call) -> Any:
    owner: Stepper = call.callee.owner
    _step(
        call.machine,
        owner.optimizer,
        call.given[-1] if call.given else None,
        owner.fields["model"],
        call.node,
    )
    return None


@method(Net, "init", "init_with_output")
def _initialised(call: Call) -> Any:
    net: Net = call.callee.owner
    if net.home != "flax":
        return NotImplemented
    if "params" not in net.weights:
        net.weights["params"] = call.machine.weight("params")
    net.opaque = True  # its layers are made where it is asked
    params = {"all": net.weights["params"]}
    if net.layer:
        return params  # Haiku's
    made = {"params": params, "batch_stats": {}}
    return (Unknown("answer"), made) if call.callee.name == "init_with_output" else made


@function("transform", "without_apply_rng", of=("haiku.",))
def _transformed(call: Call) -> Any:
    held = call.given[0] if call.given else None
    return held if isinstance(held, Net) else make_layer(call.machine, "haiku", [], {}, call.node, "flax")


def asked_with(call: Call) -> Any:
    """`net.apply(variables, x, train=True)`: a network is asked with weights that are handed to it."""
    machine = call.machine
    net = _whose(machine, call.callee.owner, call.given[:1])
    weights = weights_of(machine, call.given[:1])
    rest = {k: v for k, v in call.named.items() if k not in ("rngs", "mutable", "method")}
    inputs = [*call.given[1:], *rest.values()]
    plain = call.named.get("method") is None and net.home == "flax" and net.kind is not None
    modes = _modes_within(machine, net, call.given[1:], rest, call.node) if plain else []
    trains = rest.get("train", rest.get("training", rest.get("is_training")))
    told = rest.get("deterministic")
    before = net.mode
    net.mode = trains if isinstance(trains, bool) else not told if isinstance(told, bool) else before
    answer = _asked_of(machine, net, weights, inputs, call.node, modes)
    net.mode = before
    given_too = call.named.get("mutable") not in (None, False)
    return (answer, {"batch_stats": {}}) if given_too else answer


def _whose(machine: Machine, net: Net, variables: list[Any]) -> Net:
    """The network whose weights these are, or are made of: each `ViT()` that is written is the same."""
    serials = {s for t in machine.tensors(variables, 8) for s in t.deps}
    serials |= {w.serial for w in weights_of(machine, variables)}
    if net.kind is None or any(w.serial in serials for w in net.weights.values()):
        return net
    same = (n for n in machine.nets if n.kind is net.kind and n.home == net.home)
    return next((n for n in same if any(w.serial in serials for w in n.weights.values())), net)


def _modes_within(
    machine: Machine, net: Net, given: list[Any], named: dict[str, Any], node: ast.AST
) -> list[tuple[str, bool]]:
    """The modes that layers of a flax module get by argument: its `__call__` is gone through for them alone.

    What it makes on the way (layers, weights, notes) is forgotten again.
    """
    forward = net.kind.find("__call__") if net.kind is not None else None
    if forward is None or not isinstance(forward[1], Routine) or machine.inside_net:
        return []
    nets, events, notes = len(machine.nets), len(machine.journal.events), len(machine.journal.notes)
    graph, uses = machine.graph, machine.first_uses
    machine.graph, machine.first_uses, machine.modes_alone = False, {}, True
    machine.inside_net += 1
    machine.modal.append([])
    try:
        routine = Routine(forward[1].node, forward[1].around, net, forward[0])
        machine.call_routine(routine, given, named, node)
    except (*ODD, Broken):
        machine.modal[-1].clear()
    finally:
        found = machine.modal.pop()
        machine.inside_net -= 1
        machine.graph, machine.first_uses, machine.modes_alone = graph, uses, False
        del machine.nets[nets:], machine.journal.events[events:], machine.journal.notes[notes:]
    return found


@function("Dropout", "BatchNorm", of=("flax.linen.",))
def _layer_with_modes(call: Call) -> Any:
    """A layer that is told its mode, while a module is gone through for the modes alone."""
    if not call.machine.modes_alone:
        return NotImplemented
    return Net(layer=call.callee.last, given=tuple(call.given), named=call.named, node=call.node, home="flax")


def _asked_of(
    machine: Machine,
    net: Net,
    weights: list[Weight],
    inputs: list[Any],
    node: ast.AST,
    modes: list[tuple[str, bool]] | None = None,
) -> Any:
    def run() -> Any:
        if machine.modal and modes:
            machine.modal[-1] += modes
        made = machine.joined_tensors(net.layer or "apply", list(machine.tensors(inputs)))
        if machine.graph:
            made.deps |= frozenset(w.serial for w in weights)
        made.scalar = False
        return made

    graph = machine.graph
    machine.graph = graph and bool(machine.taped)
    try:
        return machine.noted(net, inputs, {}, node, run)
    finally:
        machine.graph = graph


_NO_NETWORK = re.compile(
    r"(?i)loss|cost|objective|step|update|train|grad|eval|accura|metric|score|error|norm|init|sgd|l2"
)


def function_asked(
    machine: Machine, routine: Routine, given: list[Any], named: dict[str, Any], node: ast.AST
) -> Any:
    """What a function of a tree of weights and one tensor of rows gives; else `NotImplemented`."""
    if _NO_NETWORK.search(routine.name or "loss") or named or isinstance(routine.node, ast.Lambda):
        return NotImplemented
    trees = [g for g in given if isinstance(g, (list, tuple, dict)) and _all_weights(machine, g)]
    data = [g for g in given if isinstance(g, Tensor) and g.rows is not None and not isinstance(g, Weight)]
    if len(trees) != 1 or len(data) != 1:
        return NotImplemented
    key = f"function {id(routine.node)}"
    if key not in machine.by_name:
        made = Net(layer=routine.name, serial=len(machine.nets), node=routine.node, home="flax", opaque=True)
        machine.nets.append(made)
        machine.by_name[key] = made
    net: Net = machine.by_name[key]
    weights = weights_of(machine, weighed(machine, trees[0]))
    net.weights = {w.name + str(w.serial): w for w in weights}
    return _asked_of(machine, net, weights, data, node)


def _all_weights(machine: Machine, tree: Tree) -> bool:
    found = list(machine.tensors([tree], 8))
    return bool(found) and all(isinstance(t, Weight) or id(t) in machine.leaves for t in found)


__all__ = ["asked_with", "created", "function_asked", "weighed", "weights_of"]
