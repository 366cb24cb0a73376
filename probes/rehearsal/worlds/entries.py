"""What starts a program in a rehearsal: command lines of absl, click, typer and fire, several processes."""

from __future__ import annotations

from typing import Any

from ..libraries import Call, function, method
from ..objects import Namespace
from ..values import Routine, Thing, Unknown


@function("run", of=("absl.app.run", "tensorflow.compat.v1.app.run", "tensorflow.app.run"))
def _absl(call: Call) -> Any:
    return call.machine.call(call.given[0], [Unknown("argv")], {}, call.node) if call.given else None


@function("*", of=("absl.flags.DEFINE",))
def _defined(call: Call) -> Any:
    names = ("name", "default")
    given = {**dict(zip(names, call.given, strict=False)), **call.named}
    name = given.get("name")
    value = given.get("default")
    if value is None and given.get("required") is True:
        value = Unknown(str(name))
    if isinstance(name, str):
        flags(call.machine)[name] = value
    return Thing(fields={"value": value, "default": value, "name": name})


def flags(machine: Any) -> Namespace:
    """The flags of a program."""
    held: Namespace = machine.by_name.setdefault("<flags>", Namespace())
    return held


@function("Fire", of=("fire.",))
@function("run", of=("typer.run",))
def _called(call: Call) -> Any:
    return start(call, call.given[0]) if call.given else None


@function("spawn", of=("torch.multiprocessing.", "torch_xla."))
def _spawned(call: Call) -> Any:
    args = call.named.get("args", call.given[1] if len(call.given) > 1 else ())
    given = list(args) if isinstance(args, (tuple, list)) else [args]
    target = call.given[0] if call.given else call.named.get("fn")
    return call.machine.call(target, [0, *given], {}, call.node)


@function("notebook_launcher", of=("accelerate.",))
def _launched(call: Call) -> Any:
    args = call.named.get("args", call.given[1] if len(call.given) > 1 else ())
    given = list(args) if isinstance(args, (tuple, list)) else []
    return call.machine.call(call.given[0], given, {}, call.node)


@function("Process", "Thread", of=("torch.multiprocessing.", "multiprocessing.", "threading."))
def _process(call: Call) -> Any:
    return Thing(fields={"<target>": call.named.get("target"), "<args>": call.named.get("args", ())})


@method(Thing, "start")
def _started(call: Call) -> Any:
    held = call.callee.owner.fields
    if held.get("<target>") is None:
        return Unknown("start")
    args = held["<args>"]
    return call.machine.call(
        held["<target>"], list(args) if isinstance(args, (tuple, list)) else [], {}, call.node
    )


@function("create_study", of=("optuna.",))
def _study(call: Call) -> Any:
    return Study()


class Study(Thing):
    """Optuna's study: its function is called once."""


@method(Study, "*")
def _of_study(call: Call) -> Any:
    if call.callee.name == "optimize" and call.given:
        call.machine.call(call.given[0], [Unknown("trial")], {}, call.node)
        return None
    return Unknown(call.callee.name)


@function("agent", of=("wandb.",))
def _agent(call: Call) -> Any:
    target = call.named.get("function", call.given[1] if len(call.given) > 1 else None)
    return call.machine.call(target, [], {}, call.node) if isinstance(target, Routine) else None


def start(call: Call, target: Any) -> Any:
    """Call what a command line would call: parameters without a default are not known."""
    if isinstance(target, Routine):
        return call.machine.call(target, [], {}, call.node)
    if isinstance(target, dict):
        return [start(call, t) for t in target.values()][:1]
    return Unknown("command")


__all__ = ["flags", "start"]
