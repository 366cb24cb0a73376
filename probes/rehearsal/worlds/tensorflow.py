"""TensorFlow in a rehearsal: tapes, variables, strategies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..libraries import Call, function, method
from ..values import Optimizer, Tensor, Thing, Unknown, Weight
from .gradients import taken, weights_in
from .keras import apply_pairs

_TF = ("tensorflow.",)


@dataclass(eq=False)
class Tape(Thing):
    """A `GradientTape`."""

    graph: bool = True


@function("GradientTape", of=_TF)
def _tape(call: Call) -> Any:
    return Tape()


@function("DistributedGradientTape", of=("horovod.",))
def _distributed(call: Call) -> Any:
    return call.given[0] if call.given else NotImplemented


@method(Tape, "__enter__")
def _entered(call: Call) -> Any:
    owner: Tape = call.callee.owner
    owner.graph, call.machine.graph = call.machine.graph, True
    call.machine.taped += 1
    return owner


@method(Tape, "__exit__")
def _left(call: Call) -> Any:
    call.machine.taped -= 1
    # what is computed after a tape is not recorded; a program without tapes has another library's graph
    call.machine.graph = bool(call.machine.taped)
    return None


@method(Tape, "watch", "reset", "stop_recording")
def _watched(call: Call) -> Any:
    return ("<graph>", False) if call.callee.name == "stop_recording" else None


@method(Tape, "gradient", "jacobian")
def _gradient(call: Call) -> Any:
    given = {**dict(zip(("target", "sources"), call.given, strict=False)), **call.named}
    loss, sources = given.get("target"), given.get("sources")
    if isinstance(sources, Tensor) and not isinstance(sources, Weight):
        return call.machine.joined_tensors("gradient", [t for t in (loss, sources) if isinstance(t, Tensor)])
    held = call.machine.items_known(sources) if not isinstance(sources, Weight) else [sources]
    if held is not None and held and not any(isinstance(h, (Weight, Unknown)) for h in held):
        found = list(call.machine.tensors(held))
        return [call.machine.joined_tensors("gradient", [f]) for f in found]
    weights = weights_in(call.machine, sources)
    found = taken(call.machine, loss, weights, call.node)
    if weights is None:
        return Unknown("gradients")
    return found[0] if isinstance(sources, Weight) else found


@method(Optimizer, "minimize")
def _minimized(call: Call) -> Any:
    given = {
        **dict(zip(("loss", "var_list", "grad_loss", "name", "tape"), call.given, strict=False)),
        **call.named,
    }
    machine, loss = call.machine, given.get("loss")
    if not isinstance(loss, Tensor):
        graph, machine.graph = machine.graph, True
        machine.taped += 1
        try:
            loss = machine.call(loss, [], {}, call.node)
        finally:
            machine.taped -= 1
            machine.graph = graph
    variables = given.get("var_list")
    weights = weights_in(machine, variables)
    found = taken(machine, loss, weights, call.node)
    apply_pairs(machine, call.callee.owner, list(zip(found, weights or (), strict=False)), call.node)
    return None


@function("function", "recompute_grad", "autograph.experimental.do_not_convert", of=_TF)
def _traced(call: Call) -> Any:
    return call.given[0] if call.given else Unknown("function")


@function("Variable", of=_TF)
def _variable(call: Call) -> Any:
    held = call.given[0] if call.given else call.named.get("initial_value")
    # counters and factors are variables as well; what is trained is an array
    if isinstance(held, (bool, int, float)) or call.named.get("trainable") is False:
        return Tensor(done=("Variable",), scalar=isinstance(held, (bool, int, float)))
    made = call.machine.weight("Variable")
    made.done = held.done if isinstance(held, Tensor) else ()
    return made


@method(Weight, "assign", "assign_add", "assign_sub")
def _assigned(call: Call) -> Any:
    call.machine.written(call.callee.owner, list(call.given), call.callee.name, call.node)
    return call.callee.owner


@function("stop_gradient", of=(*_TF, "keras.", "jax."))
def _stopped(call: Call) -> Any:
    held = call.given[0] if call.given else None
    return held.then("stop_gradient", deps=frozenset()) if isinstance(held, Tensor) else NotImplemented


# ------------------------------------------------------------------------------------ strategies


@dataclass(eq=False)
class Strategy(Thing):
    """A strategy of `tf.distribute`: one replica."""


@function(
    "MirroredStrategy",
    "MultiWorkerMirroredStrategy",
    "OneDeviceStrategy",
    "TPUStrategy",
    "ParameterServerStrategy",
    "get_strategy",
    of=_TF,
)
def _strategy(call: Call) -> Any:
    return Strategy(fields={"num_replicas_in_sync": 1})


@method(Strategy, "*")
def _of_strategy(call: Call) -> Any:
    name, given = call.callee.name, call.given
    if name in ("run", "experimental_run_v2"):
        held = call.named.get("args", given[1] if len(given) > 1 else ())
        named = call.named.get("kwargs", {})
        parts = list(held) if isinstance(held, (tuple, list)) else [held]
        return call.machine.call(given[0], parts, named if isinstance(named, dict) else {}, call.node)
    if name == "reduce":
        return given[1] if len(given) > 1 else call.named.get("value")
    if name in ("experimental_distribute_dataset", "experimental_local_results", "gather"):
        return given[0] if given else Unknown(name)
    if "from_function" in name:
        return call.machine.call(given[0], [Unknown("context")], {}, call.node)
    return Unknown(name)


__all__ = ["Strategy", "Tape"]
