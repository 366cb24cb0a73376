"""Python's own functions and modules in a rehearsal."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import numpy as np

from ..expressions import PLAIN, is_key
from ..libraries import Call, function
from ..objects import Namespace
from ..values import (
    Data,
    Ended,
    Instance,
    Kind,
    Library,
    Loader,
    Maybe,
    Net,
    Optimizer,
    Partial,
    Partly,
    Routine,
    RowCount,
    Tensor,
    Unknown,
    Weight,
)
from .known_numbers import largest

if TYPE_CHECKING:
    from ..machine import Machine

_B = ("builtins.",)
_TO: dict[str, Any] = {"int": int, "float": float, "bool": bool, "abs": abs, "round": round, "str": str}
_OF_MANY: dict[str, Any] = {"sum": sum, "any": any, "all": all, "max": max, "min": min}
_MOST = 10_000
Named = dict[str, Any]


@function("range", of=_B)
def counted(call: Call) -> Any:
    """What `range` gives."""
    ends = [int(g) if isinstance(g, (int, np.integer)) else g for g in call.given]
    ends = [
        int(e.number) if isinstance(e, Tensor) and np.size(e.number) == 1 and e.number is not None else e
        for e in ends
    ]
    if all(isinstance(e, int) for e in ends) and 1 <= len(ends) <= 3:
        return range(*ends)
    if call.machine.exact:
        return [Unknown("count"), Unknown("count")]  # what is added up over these has no value
    return (
        [Unknown("count"), Unknown("count")] if len(ends) > 1 and not isinstance(ends[0], int) else range(2)
    )


@function("len", of=_B)
def _len(call: Call) -> Any:
    held = call.given[0]
    if isinstance(held, (str, bytes, list, tuple, dict, set, range)):
        return len(held)
    if isinstance(held, Tensor):
        if held.rows is not None:
            return RowCount(len(held.rows))
        if isinstance(held.number, np.ndarray) and held.number.ndim:
            return len(held.number)
    if isinstance(held, Data):
        return RowCount(len(held.rows))
    if isinstance(held, Loader):
        from ..machine import BATCHES

        return BATCHES
    if isinstance(held, Instance) and held.kind is not None and (found := held.kind.find("__len__")):
        return call.machine.call(call.machine._bound_routine(found[1], held, found[0]), [], {}, call.node)
    return Unknown("len")


@function("print", "input", "breakpoint", of=_B)
def _nothing(call: Call) -> Any:
    return None


@function("enumerate", of=_B)
def _enumerate(call: Call) -> Any:
    start = call.given[1] if len(call.given) > 1 else call.named.get("start", 0)
    return Lazy(
        lambda: (
            (start + i if isinstance(start, int) else Unknown("count"), v)
            for i, v in enumerate(call.machine.iterated(call.given[0], call.node))
        ),
        call.given[0],
    )


@function("zip", of=_B)
def _zip(call: Call) -> Any:
    if any(holds_loader(g) for g in call.given):
        return Lazy(
            lambda: zip(*(call.machine.iterated(g, call.node) for g in call.given), strict=False), call.given
        )
    return [
        tuple(z) for z in zip(*(list(call.machine.iterated(g, call.node)) for g in call.given), strict=False)
    ]


class Lazy:
    """What is gone through when it is asked for."""

    def __init__(self, make: Any, of: Any) -> None:
        self.make = make
        self.of = of


def holds_loader(value: Any) -> bool:
    """Whether something is gone through when it is asked for."""
    return isinstance(value, (Loader, Lazy))


@function("iter", "list", "tuple", "reversed", "sorted", "set", "frozenset", of=_B)
def _collected(call: Call) -> Any:
    kind = call.callee.last
    if not call.given:
        return {"list": [], "tuple": (), "set": set(), "frozenset": set()}.get(kind, [])
    held = call.given[0]
    if kind == "iter" and isinstance(held, (Loader, Lazy)):
        return Lazy(lambda: call.machine.iterated(held, call.node), held)
    if isinstance(held, (Tensor, Data)):
        if kind == "sorted" and isinstance(held, Tensor):
            return held.like(number=np.sort(held.number) if isinstance(held.number, np.ndarray) else None)
        if kind in ("set", "frozenset") and isinstance(held, Tensor) and isinstance(held.number, np.ndarray):
            return set(held.number.reshape(-1).tolist())
        if isinstance(held, Tensor) and kind in ("list", "tuple", "reversed"):
            return held.then(kind, number=held.number)
        return held
    items = call.machine.items_known(held)
    if items is None:
        if isinstance(held, Lazy):
            items = list(call.machine.iterated(held, call.node))[:64]
        elif isinstance(held, Loader):
            items = list(call.machine.iterated(held, call.node))
        else:
            return Unknown(kind)
    items = items[:_MOST]
    if kind in ("set", "frozenset"):
        return set(items) if all(is_key(i) for i in items) else items
    if kind == "sorted":
        return in_order(call.machine, items, call.named, call.node)
    if kind == "reversed":
        return list(reversed(items))
    return tuple(items) if kind == "tuple" else list(items)


def in_order(machine: Machine, items: list[Any], named: Named, node: ast.AST) -> Any:
    """Items in the order of their keys, where these are known."""
    keys = (
        [machine.call(named["key"], [i], {}, node) for i in items] if named.get("key") is not None else items
    )
    if all(isinstance(k, (bool, int, float)) for k in keys) or all(isinstance(k, str) for k in keys):
        order = sorted(range(len(items)), key=lambda i: keys[i], reverse=named.get("reverse") is True)
        return [items[i] for i in order]
    return list(items)


@function("next", of=_B)
def _next(call: Call) -> Any:
    if isinstance(call.given[0], Lazy):
        if not hasattr(call.given[0], "running"):
            call.given[0].running = iter(call.given[0].make())  # type: ignore[attr-defined]
        return next(call.given[0].running, call.given[1] if len(call.given) > 1 else Unknown("next"))  # type: ignore[attr-defined]
    held = call.machine.items_known(call.given[0])
    if held:
        return held[0]
    if isinstance(call.given[0], (Loader, Instance)) and not isinstance(call.given[0], Net):
        return next(iter(call.machine.iterated(call.given[0], call.node)), Unknown("next"))
    return call.given[1] if held is not None and len(call.given) > 1 else Unknown("next")


@function("int", "float", "bool", "abs", "round", "str", of=_B)
def _number(call: Call) -> Any:
    kind = call.callee.last
    if not call.given:
        return {"int": 0, "float": 0.0, "bool": False, "str": ""}.get(kind)
    held = call.given[0]
    if isinstance(held, Tensor):
        number = held.number
        if held.asked and kind in ("int", "float") and number is not None and np.size(number) == 1:
            return held.then(
                kind, deps=frozenset(), scalar=True, number=_TO[kind](np.asarray(number).reshape(-1)[0])
            )
        if kind in ("int", "float", "bool") and number is not None and np.size(number) == 1:
            return _TO[kind](np.asarray(number).reshape(-1)[0])
        if kind == "bool":
            return Maybe((held,))
        if kind == "str":
            return held.then("text") if held.rows is not None and not held.scalar else Unknown("text")
        return held.then("item", deps=frozenset(), scalar=True)
    if isinstance(held, PLAIN) and held is not None:
        return _TO[kind](*call.given[:2])
    if kind == "bool":
        told = call.machine.truth(held)
        return Maybe((held,)) if told is None else told
    return Unknown(kind)


@function("sum", "max", "min", "any", "all", "pow", "divmod", of=_B)
def _gathered(call: Call) -> Any:
    kind = call.callee.last
    items = (
        call.machine.items_known(call.given[0]) if len(call.given) == 1 or kind == "sum" else list(call.given)
    )
    if items is None:
        found = list(call.machine.tensors(call.given))
        return call.machine.joined_tensors(kind, found).like(scalar=True) if found else Unknown(kind)
    if kind == "sum" and len(call.given) > 1:
        items = [call.given[1], *items]
    if items and all(isinstance(i, (bool, int, float)) for i in items):
        if kind in ("max", "min") and call.named.get("key") is None:
            return _OF_MANY[kind](items)
        if kind in ("sum", "any", "all"):
            return _OF_MANY[kind](items)
    if kind in ("any", "all"):
        told = [call.machine.truth(i) for i in items]
        if (kind == "any") in told:
            return kind == "any"
        return Maybe(tuple(items)) if None in told else kind == "all"
    if not items:
        return 0 if kind == "sum" else call.named.get("default", Unknown(kind))
    found = list(call.machine.tensors(items))
    if found:
        made = call.machine.joined_tensors(kind, found)
        made.scalar = all(t.scalar for t in found)
        if kind in ("max", "min"):
            made.number = largest(call.machine, kind, items)
        return made
    return Unknown(kind)


@function(
    "dict",
    "OrderedDict",
    "Counter",
    "defaultdict",
    "EasyDict",
    of=("builtins.dict", "collections.", "easydict."),
)
def _dict(call: Call) -> Any:
    from ..machine import Defaults

    made: dict[Any, Any] = {}
    if call.callee.last == "defaultdict":
        made = Defaults()
        made.factory = call.given[0] if call.given else None
    elif call.given:
        held = call.given[0]
        if isinstance(held, dict):
            made.update(held)
        elif call.callee.last == "Counter":
            return Unknown("Counter")
        elif type(held) is Unknown and call.callee.last == "dict":
            made = Partly()
            made.rest = held
        else:
            for one in call.machine.items_known(held) or ():
                if isinstance(one, tuple) and len(one) == 2 and isinstance(one[0], PLAIN):
                    made[one[0]] = one[1]
    made.update(call.named)
    return made


@function("SimpleNamespace", "Namespace", of=("types.", "argparse."))
def _namespace(call: Call) -> Any:
    return Namespace(call.named)


@function("isinstance", "issubclass", "hasattr", "callable", of=_B)
def _asked(call: Call) -> Any:
    if call.callee.last == "hasattr" and len(call.given) == 2 and isinstance(call.given[1], str):
        return _has(call.machine, call.given[0], call.given[1])
    if call.callee.last == "isinstance" and len(call.given) == 2:
        kinds = call.given[1] if isinstance(call.given[1], tuple) else (call.given[1],)
        told = [_is(call.given[0], k) for k in kinds]
        return True if True in told else None if not told else Maybe(()) if None in told else False
    if call.callee.last == "callable":
        return True if isinstance(call.given[0], (Routine, Partial, Net, Kind)) else Maybe(())
    return Maybe(tuple(call.given))


_TYPES: dict[str, Any] = {
    "int": int,
    "float": (float,),
    "str": str,
    "dict": dict,
    "list": list,
    "tuple": tuple,
    "bool": bool,
    "set": set,
}
_KINDS = {
    "Tensor": Tensor,
    "ndarray": Tensor,
    "DataLoader": Loader,
    "Optimizer": Optimizer,
    "Parameter": Weight,
}


def _is(value: Any, kind: Any) -> bool | None:
    if isinstance(value, (Unknown, Maybe)):
        return None
    if isinstance(kind, Kind):
        return isinstance(value, Instance) and value.kind is not None and kind in value.kind.line()
    if not isinstance(kind, Library):
        return None
    if kind.root == "builtins" and kind.last in _TYPES:
        return isinstance(value, _TYPES[kind.last]) and not (kind.last == "int" and isinstance(value, bool))
    if kind.last in _KINDS and kind.last not in ("Tensor", "ndarray"):
        return isinstance(value, _KINDS[kind.last])
    if kind.last in ("Tensor", "ndarray"):
        return None if isinstance(value, Tensor) else False
    if isinstance(value, Net):
        if kind.last in ("Module", "Cell"):
            return True
        if value.layer:
            return value.layer == kind.last or (None if kind.last.startswith("_") else False)
        return value.kind.derives(kind.last)
    if isinstance(value, Instance):
        return value.kind.derives(kind.last)
    return False if isinstance(value, (*PLAIN, list, tuple, dict)) else None


def _has(machine: Machine, owner: Any, name: str) -> Any:
    if isinstance(owner, Instance):
        inside = name in owner.attributes or (owner.kind is not None and owner.kind.find(name) is not None)
        if isinstance(owner, Net):
            inside = (
                inside
                or name in owner.children
                or name in owner.weights
                or name in ("parameters", "train", "eval", "modules", "state_dict")
            )
            if owner.opaque:
                return Maybe(())
            if owner.layer and name in ("weight", "bias"):
                return name in owner.weights
        return bool(inside)
    return Maybe(())


@function("getattr", of=_B)
def _getattr(call: Call) -> Any:
    if len(call.given) >= 2 and isinstance(call.given[1], str):
        if len(call.given) == 3 and _has(call.machine, call.given[0], call.given[1]) is False:
            return call.given[2]
        if isinstance(call.given[0], dict) and len(call.given) == 3 and call.given[1] not in call.given[0]:
            return call.given[2]
        return call.machine.attribute(call.given[0], call.given[1], call.node)
    return Unknown("getattr")


@function("setattr", of=_B)
def _setattr(call: Call) -> Any:
    if len(call.given) == 3 and isinstance(call.given[1], str):
        call.machine.set_attribute(call.given[0], call.given[1], call.given[2], call.node)
    return None


@function("vars", of=_B)
def _vars(call: Call) -> Any:
    if call.given and isinstance(call.given[0], dict):
        return call.given[0]
    return call.given[0].attributes if call.given and isinstance(call.given[0], Instance) else Unknown("vars")


@function("map", "filter", of=_B)
def _mapped(call: Call) -> Any:
    if len(call.given) < 2:
        return Unknown(call.callee.last)
    if call.callee.last == "map":
        return [
            call.machine.call(call.given[0], [i], {}, call.node)
            for i in list(call.machine.iterated(call.given[1], call.node))[:200]
        ]
    kept = []
    for one in list(call.machine.iterated(call.given[1], call.node))[:_MOST]:
        told = (
            call.machine.truth(call.machine.call(call.given[0], [one], {}, call.node))
            if call.given[0] is not None
            else call.machine.truth(one)
        )
        if told is not False:
            kept.append(one)
    return kept


@function("type", of=_B)
def _type(call: Call) -> Any:
    held = call.given[0] if call.given else None
    return held.kind if isinstance(held, Instance) and held.kind is not None else Unknown("type")


@function("object", of=_B)
def _object(call: Call) -> Any:
    return Unknown("object")


@function("exit", "quit", "_exit", of=("builtins.", "sys.", "os."))
def _exit(call: Call) -> Any:
    if call.machine.guessed:
        return None
    raise Ended("exit")
