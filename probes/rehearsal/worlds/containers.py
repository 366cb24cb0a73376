"""Methods of Python's lists, mappings, sets and texts in a rehearsal."""

from __future__ import annotations

import copy as copying
from typing import TYPE_CHECKING, Any

from ...script_diff.vocabulary import word_set
from ..expressions import PLAIN, doubtful, is_key
from ..libraries import Call, method
from ..values import (
    Maybe,
    Partly,
    Tensor,
    Unknown,
)
from .python import in_order

if TYPE_CHECKING:
    pass

_B = ("builtins.",)
_TO: dict[str, Any] = {"int": int, "float": float, "bool": bool, "abs": abs, "round": round, "str": str}
_OF_MANY: dict[str, Any] = {"sum": sum, "any": any, "all": all, "max": max, "min": min}
_MOST = 10_000
Named = dict[str, Any]


@method(
    list, "append", "extend", "insert", "pop", "clear", "sort", "reverse", "index", "copy", "remove", "count"
)
def _of_list(call: Call) -> Any:
    owner, name = call.callee.owner, call.callee.name
    if name == "append" and call.given and len(owner) < _MOST:
        owner.append(doubtful(call.given[0]) if call.machine.guessed else call.given[0])
        call.machine.grows(owner)
    elif name == "extend" and call.given:
        held = call.given[0]
        if isinstance(held, Tensor) and held.number is None:
            owner.append(held)
        else:
            more = call.machine.items_known(held) or [Unknown("item")]
            owner.extend(more[: max(0, _MOST - len(owner))])
    elif name == "insert" and len(call.given) == 2 and isinstance(call.given[0], int) and len(owner) < _MOST:
        owner.insert(call.given[0], call.given[1])
    elif name == "pop":
        return owner.pop(*[g for g in call.given[:1] if isinstance(g, int)]) if owner else Unknown("pop")
    elif name in ("clear", "reverse"):
        getattr(owner, name)()
    elif name == "sort":
        owner[:] = in_order(call.machine, list(owner), call.named, call.node)
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
        if call.given and is_key(call.given[0])
        else call.machine.key_of(call.given[0])
        if call.given
        else None
    )
    default = call.given[1] if len(call.given) > 1 else call.named.get("default")
    if key not in owner and name in ("get", "pop"):
        if isinstance(owner, Partly):
            return call.machine.item(owner.rest, key, call.node)
        if name == "pop" and len(call.given) == 1:
            return call.machine.missing(owner, key, call.node)
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
        if is_key(call.given[0]):
            owner.add(call.given[0]) if name == "add" else owner.discard(call.given[0])
        return None
    if name == "copy":
        return set(owner)
    others = [{i for i in call.machine.items(g, call.node) if is_key(i)} for g in call.given]
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
            long = len(call.callee.owner) * len(items) + sum(map(len, items)) > 100 * _MOST
            return Unknown("text") if long else call.callee.owner.join(items)[:_MOST]
        return Unknown("text")
    if call.callee.name in ("ljust", "rjust", "center", "zfill") or len(call.callee.owner) > _MOST:
        return call.callee.owner
    if call.callee.name != "format" and all(isinstance(g, (str, int, tuple)) for g in call.given):
        if call.callee.name == "replace" and len(call.given) > 1 and isinstance(call.given[1], str):
            if (len(call.callee.owner) + 1) * len(call.given[1]) > 100 * _MOST:
                return Unknown("text")
        return getattr(call.callee.owner, call.callee.name)(*call.given)
    return Unknown("text")
