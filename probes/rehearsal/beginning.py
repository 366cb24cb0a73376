"""How a training begins that nothing in a program calls: of a library, a notebook, or another file's."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from .journal import Asked, Backward, Stepped
from .values import Data, Kind, Loader, Net, Optimizer, Routine, Tensor, Unknown

if TYPE_CHECKING:
    from .machine import Machine

_BEGINS = re.compile(
    r"(?i)^(?:main|_?main_?|_?train|training|_?run|fit|train_model|run_training|cli|train_loop|train_and_\w+|fit_model|train_net(?:work)?)$"
)
_METHODS = ("fit", "train", "run", "train_model", "training", "learn", "_train", "_fit")
_MODEL = re.compile(r"(?i)^(?:model|net|network|module|classifier|encoder|backbone|regressor)$")
_OPTIMIZER = re.compile(r"(?i)^(?:optimizer|optim|opt|optimiser)$")
_LOADER = re.compile(r"(?i)loader|(?:^|_)(?:dl|iter(?:ator)?|batches)(?:_|$)")
_SET = re.compile(r"(?i)dataset|(?:^|_)(?:ds|set)(?:_|$)|^data$|_data$")
_ARRAY = re.compile(
    r"(?i)^(?:x|y|inputs?|targets?|labels?|features?)(?:_(?:train|val|valid|test|tr|te|va))?$"
)
_SIDE = re.compile(r"(?i)(?:^|_)(val|valid|test|eval|dev)\w*")


def begin(machine: Machine) -> None:
    """Begin what trains and was not begun: functions by their names, then classes that fit or train."""
    held = list(machine.top.names.values())
    for one in held:
        if isinstance(one, Routine) and _BEGINS.match(one.name) and one.node not in machine.visited:
            _called(machine, one)
            if _went(machine):
                return
    for one in held:
        if not isinstance(one, Kind) or one.derives("TestCase", "Enum", "Protocol"):
            continue
        found = next((f for n in _METHODS if (f := one.find(n)) is not None), None)
        if found is None or not isinstance(found[1], Routine) or found[1].node in machine.visited:
            continue
        if any(_abstract(r) for r in (found[1],)) or not _takes_gradients(found[0]):
            continue
        start = one.find("__init__")
        given = _given(machine, start[1], skip=1) if start and isinstance(start[1], Routine) else {}
        made = machine.instance(one, [], given, one.node)
        if not isinstance(made, Unknown):
            _called(machine, Routine(found[1].node, found[1].around, made, found[0]), skip=1)
        if _went(machine):
            return


def _went(machine: Machine) -> bool:
    return bool(machine.journal.of(Backward, Stepped, Asked))


def _called(machine: Machine, routine: Routine, skip: int = 0) -> None:
    machine.call(routine, [], _given(machine, routine, skip), routine.node)


def _abstract(routine: Routine) -> bool:
    body = getattr(routine.node, "body", [])
    return len(body) <= 2 and any(isinstance(s, (ast.Raise, ast.Pass)) for s in body)


def _takes_gradients(kind: Kind) -> bool:
    """Whether one of its methods takes gradients, so that it is worth being begun."""
    return any(
        isinstance(n, ast.Attribute) and n.attr in ("backward", "value_and_grad", "gradient")
        for one in kind.line()
        for n in ast.walk(one.node)
    )


def _given(machine: Machine, routine: Routine, skip: int = 0) -> dict[str, Any]:
    """What stands for parameters without a default: a network, its optimizer, loaders, by kind and name."""
    args = routine.node.args
    places = [*args.posonlyargs, *args.args]
    free = places[skip : len(places) - len(args.defaults)]
    free += [a for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True) if d is None]
    made: dict[str, Any] = {}
    nets: list[Net] = []
    for one in free:
        kind = _kind(one)
        if kind in ("Module", "Cell", "Layer") or (not kind and _MODEL.match(one.arg)):
            net = machine.network(one.arg, routine.node)
            nets.append(net)
            made[one.arg] = net
    for one in free:
        if one.arg not in made:
            held = _of_parameter(machine, one, nets, routine.node)
            if held is not None:
                made[one.arg] = held
    return made


def _kind(one: ast.arg) -> str:
    """The last name of an annotation: `nn.Module`, `Optional[DataLoader]`."""
    note = one.annotation
    while isinstance(note, ast.Subscript):
        inner = note.slice
        note = inner if isinstance(inner, (ast.Name, ast.Attribute)) else note.value
    if isinstance(note, ast.BinOp):
        note = note.left
    if isinstance(note, ast.Constant) and isinstance(note.value, str):
        return note.value.rpartition(".")[2]
    return note.attr if isinstance(note, ast.Attribute) else getattr(note, "id", "")


def _of_parameter(machine: Machine, one: ast.arg, nets: list[Net], node: ast.AST) -> Any:
    kind = _kind(one)
    if kind == "Optimizer" or (not kind and _OPTIMIZER.match(one.arg)):
        made = Optimizer("Optimizer", [w for n in nets for w in n.parameters()] or None, {}, node)
        made.groups = [{"lr": Unknown("lr"), "params": made.weights or []}]
        machine.optimizers.append(made)
        return made
    known = {"DataLoader": "loader", "Dataset": "set", "Tensor": "array", "ndarray": "array"}.get(kind, "")
    if not kind or kind in ("Iterable", "Any", "ArrayLike"):
        known = "loader" if _LOADER.search(one.arg) else "array" if _ARRAY.match(one.arg) else ""
        known = known or ("set" if _SET.search(one.arg) else "")
    if not known:
        return None
    side = found[1].lower() if (found := _SIDE.search(one.arg)) else "train"
    table = machine.table(f"given for {side}")
    rows = np.arange(machine.tables[table][1])
    if known == "array":
        return Tensor(rows, table, held=frozenset((one.arg,)))
    data = Data(rows, table, node, None, one.arg)
    if known == "set":
        return data
    loader = Loader(data, node, {}, None)
    machine.loaders.append(loader)
    return loader
