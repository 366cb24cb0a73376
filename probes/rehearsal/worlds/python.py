"""Python's own functions and modules in a rehearsal."""

from __future__ import annotations

import ast
import copy as copying
import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from ...script_diff.vocabulary import word_set
from ..expressions import PLAIN, doubtful
from ..libraries import Call, function, method
from ..objects import Namespace
from ..values import (
    Bound,
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
    Routine,
    Schedule,
    State,
    Tensor,
    Unknown,
    Weight,
)

if TYPE_CHECKING:
    from ..machine import Machine

_B = ("builtins.",)
_TO: dict[str, Any] = {"int": int, "float": float, "bool": bool, "abs": abs, "round": round, "str": str}
_OF_MANY: dict[str, Any] = {"sum": sum, "any": any, "all": all, "max": max, "min": min}
_MOST = 10_000
Named = dict[str, Any]


@function("range", of=_B)
def _range(call: Call) -> Any:
    ends = [int(g) if isinstance(g, (int, np.integer)) else g for g in call.given]
    ends = [
        int(e.number) if isinstance(e, Tensor) and np.size(e.number) == 1 and e.number is not None else e
        for e in ends
    ]
    if all(isinstance(e, int) for e in ends) and 1 <= len(ends) <= 3:
        return range(*ends)
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
            return len(held.rows)
        if isinstance(held.number, np.ndarray) and held.number.ndim:
            return len(held.number)
    if isinstance(held, Data):
        return len(held.rows)
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
    if any(_holds_loader(g) for g in call.given):
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


def _holds_loader(value: Any) -> bool:
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
        return set(items) if all(isinstance(i, (*PLAIN, tuple)) for i in items) else items
    if kind == "sorted":
        return _sorted(call.machine, items, call.named, call.node)
    if kind == "reversed":
        return list(reversed(items))
    return tuple(items) if kind == "tuple" else list(items)


def _sorted(machine: Machine, items: list[Any], named: Named, node: ast.AST) -> Any:
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


# ------------------------------------------------------------------------------------ modules


@function("partial", of=("functools.",))
def _partial(call: Call) -> Any:
    return Partial(call.given[0], tuple(call.given[1:]), call.named)


@function("deepcopy", "copy", of=("copy.",))
def _copied(call: Call) -> Any:
    return copied(call.machine, call.given[0], {}, deep=call.callee.last == "deepcopy")


def copied(machine: Machine, value: Any, done: dict[int, Any], *, deep: bool = True) -> Any:
    """A copy: networks get weights of their own, states stand still."""
    if id(value) in done:
        return done[id(value)]
    made: Any = value
    if isinstance(value, State):
        made = State(value.net, value.now, deep or value.copied, value.kind)
    elif isinstance(value, Net) and deep:
        made = done[id(value)] = copying.copy(value)
        made.serial = len(machine.nets)
        machine.nets.append(made)
        made.copy_of = value
        made.children = {k: copied(machine, v, done) for k, v in value.children.items()}
        made.weights = {k: copied(machine, v, done) for k, v in value.weights.items()}
        made.attributes = {k: copied(machine, v, done) for k, v in value.attributes.items()}
    elif isinstance(value, Weight):
        made = machine.weight(value.name, trains=value.trains, buffer=value.buffer)
    elif isinstance(value, Tensor):
        made = value.like(number=value.number)
    elif isinstance(value, dict):
        made = type(value)() if deep else copying.copy(value)
        if deep:
            made.update({k: copied(machine, v, done) for k, v in value.items()})
    elif isinstance(value, list):
        made = [copied(machine, v, done) for v in value] if deep else list(value)
    elif isinstance(value, Instance) and deep:
        made = done[id(value)] = Instance(value.kind)
        made.attributes = {k: copied(machine, v, done) for k, v in value.attributes.items()}
    done[id(value)] = made
    return made


_MATH = word_set(
    "ceil floor sqrt exp log log2 log10 cos sin tan pow isnan isfinite isinf fabs tanh prod log1p gcd "
    "hypot atan2 erf"
)


@function(*sorted(_MATH), of=("math.",))
def _math(call: Call) -> Any:
    if call.given and all(isinstance(g, (int, float)) for g in call.given):
        return getattr(math, call.callee.last)(*call.given)
    found = list(call.machine.tensors(call.given))
    if call.callee.last.startswith("is"):
        return Maybe(tuple(call.given))
    return call.machine.joined_tensors(call.callee.last, found) if found else Unknown(call.callee.last)


@function("ArgumentParser", of=("argparse.", "configargparse."))
def _parser(call: Call) -> Any:
    return Parser()


class Parser:
    """An argument parser: what is added to it is its default."""

    def __init__(self) -> None:
        self.held = Namespace()


@method(Parser, "add_argument")
def _added(call: Call) -> Any:
    flags = [g for g in call.given if isinstance(g, str)]
    if not flags:
        return None
    long = [f for f in flags if f.startswith("--")] or flags
    name = call.named.get("dest") or long[0].lstrip("-").replace("-", "_")
    action = call.named.get("action")
    value = call.named.get("default")
    if value is None and action in ("store_true", "store_false"):
        value = action == "store_false"
    if value is None and not flags[0].startswith("-"):
        value = Unknown(str(name))
    if (
        isinstance(value, str)
        and isinstance(call.named.get("type"), Library)
        and call.named["type"].last in ("int", "float")
    ):
        value = float(value) if call.named["type"].last == "float" else int(value)
    if call.named.get("required") is True:
        value = Unknown(str(name))
    call.callee.owner.held[name] = value
    return None


@method(Parser, "add_argument_group", "add_mutually_exclusive_group")
def _group(call: Call) -> Any:
    return call.callee.owner


@method(Parser, "set_defaults")
def _defaults(call: Call) -> Any:
    call.callee.owner.held.update(call.named)
    return None


@method(Parser, "parse_args", "parse_known_args", "*")
def _parsed(call: Call) -> Any:
    if call.callee.name == "parse_args":
        return call.callee.owner.held
    if call.callee.name == "parse_known_args":
        return (call.callee.owner.held, [])
    return None


@function("field", of=("dataclasses.",))
def _field(call: Call) -> Any:
    return ("<field>", call.named)


@function("asdict", of=("dataclasses.",))
def _asdict(call: Call) -> Any:
    return (
        dict(call.given[0].attributes)
        if call.given and isinstance(call.given[0], Instance)
        else Unknown("asdict")
    )


@function("replace", of=("dataclasses.",))
def _replaced(call: Call) -> Any:
    if not isinstance(call.given[0], Instance):
        return Unknown("replace")
    return Instance(call.given[0].kind, {**call.given[0].attributes, **call.named})


@function(
    "nullcontext",
    "suppress",
    "redirect_stdout",
    "autocast",
    "amp_guard",
    "profile",
    "record_function",
    "device",
    "stream",
)
def _plain_context(call: Call) -> Any:
    return call.given[0] if call.callee.last == "nullcontext" and call.given else Unknown(call.callee.last)


@function(
    "chain",
    "from_iterable",
    "islice",
    "cycle",
    "product",
    "count",
    "accumulate",
    "repeat",
    "combinations",
    of=("itertools.",),
)
def _itertools(call: Call) -> Any:
    name = call.callee.last
    if name == "cycle" and isinstance(call.given[0], (Loader, Lazy)):

        def again() -> Any:
            for _ in range(4):
                yield from call.machine.iterated(call.given[0], call.node)

        return Lazy(again, call.given[0])
    if name == "count":
        start = call.given[0] if call.given and isinstance(call.given[0], int) else 0
        return range(start, start + 1_000_000)
    if name == "islice" and isinstance(call.given[0], (Loader, Lazy)):
        return Lazy(
            lambda: iter(
                list(call.machine.iterated(call.given[0], call.node))[
                    : call.given[1] if isinstance(call.given[1], int) else None
                ]
            ),
            call.given[0],
        )
    if name in ("chain", "from_iterable"):
        over = call.given if name == "chain" else call.machine.items_known(call.given[0]) or []
        if any(_holds_loader(o) for o in over):
            return Lazy(lambda: (i for o in over for i in call.machine.iterated(o, call.node)), over)
        return [i for o in over for i in call.machine.iterated(o, call.node)]
    if name == "product" and call.given:
        lists = [call.machine.items_known(g) for g in call.given]
        if all(one is not None for one in lists):
            import itertools

            return list(itertools.islice(itertools.product(*lists), 200))  # type: ignore[arg-type]
    return Unknown(name)


@function("tqdm", "trange", "track", "progress_bar", "prange", "tqdm_notebook")
def _shown(call: Call) -> Any:
    held = call.given[0] if call.given else call.named.get("iterable", call.named.get("total"))
    if call.callee.last == "trange":
        return _range(call)
    return held if not isinstance(held, int) else Unknown("bar")


# ------------------------------------------------------------------------------------ methods


@method(
    list, "append", "extend", "insert", "pop", "clear", "sort", "reverse", "index", "copy", "remove", "count"
)
def _of_list(call: Call) -> Any:
    owner, name = call.callee.owner, call.callee.name
    if name == "append" and call.given and len(owner) < _MOST:
        owner.append(doubtful(call.given[0]) if call.machine.guessed else call.given[0])
    elif name == "extend" and call.given:
        held = call.given[0]
        if isinstance(held, Tensor) and held.number is None:
            owner.append(held)
        else:
            owner.extend((call.machine.items_known(held) or [Unknown("item")])[:_MOST])
    elif name == "insert" and len(call.given) == 2 and isinstance(call.given[0], int):
        owner.insert(call.given[0], call.given[1])
    elif name == "pop":
        return owner.pop(*[g for g in call.given[:1] if isinstance(g, int)]) if owner else Unknown("pop")
    elif name in ("clear", "reverse"):
        getattr(owner, name)()
    elif name == "sort":
        owner[:] = _sorted(call.machine, list(owner), call.named, call.node)
    elif name == "copy":
        return list(owner)
    elif name in ("index", "count"):
        plain = (
            bool(call.given) and isinstance(call.given[0], PLAIN) and all(isinstance(o, PLAIN) for o in owner)
        )
        return getattr(owner, name)(call.given[0]) if plain else Unknown(name)
    return None


@method(tuple, "index", "count")
def _of_tuple(call: Call) -> Any:
    return Unknown(call.callee.name)


@method(
    dict,
    "items",
    "keys",
    "values",
    "get",
    "update",
    "pop",
    "setdefault",
    "copy",
    "clear",
    "popitem",
    "move_to_end",
)
def _of_dict(call: Call) -> Any:
    owner, name = call.callee.owner, call.callee.name
    if name == "items":
        return [tuple(i) for i in owner.items()]
    if name in ("keys", "values"):
        return list(getattr(owner, name)())
    if name == "update":
        if call.given and isinstance(call.given[0], dict):
            owner.update(call.given[0])
        owner.update(call.named)
        return None
    if name in ("copy",):
        return copying.copy(owner)
    if name == "clear":
        owner.clear()
        return None
    if name == "move_to_end" or name == "popitem":
        return None
    key = (
        call.given[0]
        if call.given and isinstance(call.given[0], (*PLAIN, tuple))
        else call.machine.key_of(call.given[0])
        if call.given
        else None
    )
    default = call.given[1] if len(call.given) > 1 else call.named.get("default")
    if name == "get":
        return (
            owner.get(key, default) if not isinstance(call.given[0], (Unknown, Maybe)) else Unknown("entry")
        )
    if name == "pop":
        return owner.pop(key, default)
    if key not in owner:
        owner[key] = default
    return owner[key]


@method(
    set,
    "add",
    "update",
    "discard",
    "union",
    "intersection",
    "difference",
    "remove",
    "issubset",
    "isdisjoint",
    "copy",
)
def _of_set(call: Call) -> Any:
    owner, name = call.callee.owner, call.callee.name
    if name in ("add", "discard", "remove"):
        if isinstance(call.given[0], (*PLAIN, tuple)):
            owner.add(call.given[0]) if name == "add" else owner.discard(call.given[0])
        return None
    if name == "copy":
        return set(owner)
    others = [
        {i for i in call.machine.items(g, call.node) if isinstance(i, (*PLAIN, tuple))} for g in call.given
    ]
    return getattr(owner, name)(*others)


_TEXT = word_set(
    "split strip lower upper replace startswith endswith join format lstrip rstrip rsplit splitlines "
    "title partition rpartition find isdigit removeprefix removesuffix encode count zfill ljust rjust "
    "center capitalize isspace isalpha index"
)


@method(str, *sorted(_TEXT))
def _of_text(call: Call) -> Any:
    if call.callee.name == "join":
        items = call.machine.items_known(call.given[0]) if call.given else None
        if items is not None and all(isinstance(i, str) for i in items):
            return call.callee.owner.join(items)[:_MOST]
        return Unknown("text")
    if call.callee.name in ("ljust", "rjust", "center", "zfill") or len(call.callee.owner) > _MOST:
        return call.callee.owner
    if call.callee.name != "format" and all(isinstance(g, (str, int, tuple)) for g in call.given):
        return getattr(call.callee.owner, call.callee.name)(*call.given)
    return Unknown("text")


_ENVIRON = re.compile(r"(?i)rank|world_size|master")


@function("get", "getenv", of=("os.environ.get", "os.getenv"))
def _environ(call: Call) -> Any:
    return call.given[1] if len(call.given) > 1 else call.named.get("default", Unknown("environ"))


@function(
    "Path", "PurePath", "join", "abspath", "dirname", "basename", "expanduser", of=("pathlib.", "os.path.")
)
def _path(call: Call) -> Any:
    found = [g for g in call.given if isinstance(g, Tensor) and g.rows is not None]
    if found:
        return found[-1].then("path")
    parts = [g.name if isinstance(g, Path) else g for g in call.given]
    if parts and all(isinstance(p, str) for p in parts):
        return Path("/".join(parts))
    return Path("/".join(str(getattr(p, "key", p)) for p in parts))


class Path:
    """A path of a file."""

    def __init__(self, name: str) -> None:
        self.name = name[:300]

    def joined(self, other: Any) -> Path:
        """`folder / name`."""
        return Path(f"{self.name}/{other if isinstance(other, str) else getattr(other, 'key', '?')}")


@method(Path, "*")
def _of_path(call: Call) -> Any:
    name = call.callee.name
    if name in ("joinpath",):
        return Path("/".join([call.callee.owner.name, *(str(getattr(g, "name", g)) for g in call.given)]))
    if name in ("mkdir", "write_text", "unlink", "touch", "rename", "write_bytes"):
        return None
    if name in ("exists", "is_file", "is_dir"):
        return Maybe(())
    if name in ("resolve", "expanduser", "absolute", "with_suffix"):
        return call.callee.owner
    return Unknown(f"{call.callee.owner.name}.{name}")


@function("exists", "isfile", "isdir", of=("os.path.",))
def _exists(call: Call) -> Any:
    return Maybe(())


@function(
    "makedirs",
    "mkdir",
    "getLogger",
    "basicConfig",
    "filterwarnings",
    "simplefilter",
    "seed",
    "manual_seed",
    "manual_seed_all",
    "set_random_seed",
    "seed_everything",
)
def _no_effect(call: Call) -> Any:
    return Unknown(call.callee.last) if call.callee.last == "getLogger" else None


@function("is_available", "is_initialized", "is_bf16_supported", "device_count")
def _available(call: Call) -> Any:
    if call.callee.last == "device_count":
        return 1
    return (
        call.callee.last == "is_available"
        and "dist" not in call.callee.name
        and "mps" not in call.callee.name
    )


__all__ = ["Bound", "Data", "Lazy", "Parser", "Path", "Schedule", "copied"]
