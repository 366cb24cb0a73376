"""Calls of Python's own functions, of methods, and of the libraries of arrays."""

from __future__ import annotations

import ast
import math
import operator
from abc import abstractmethod
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np

from . import arrays, sizes, tf_functions
from .arrays import KINDS, SAME, Tensor, of_arrays, plain, tensor
from .draws import Source
from .sizes import Unfit, checked
from .things import Dotted, Method, Names, Own

LIBRARIES = ("np", "numpy", "torch", "F", "math", "collections", "jnp", "nn", "functional", "random")
QUIET = ("print",)
_OF_WHOLE = ("factorial", "comb", "perm")
_WHOLE = 1_000
_DEEP = (
    "str",
    "sorted",
    "set",
    "dict",
    "sum",
    "max",
    "min",
    "tuple",
    "zip",
)  # go through what they are given to its depth
_LOOKED_THROUGH = ("index", "count", "remove", "sort", "union", "intersection", "difference", "issubset")


class Calls:
    """What functions and methods that are none of the program's give."""

    def __init__(self) -> None:
        self.draws = Source()

    @abstractmethod
    def apply(self, callee: Any, given: list[Any], named: Names) -> Any:
        """What anything that is called gives."""

    @staticmethod
    def items(over: Any) -> Iterator[Any]:
        """The items that a loop goes over. Raises Unfit."""
        if isinstance(over, np.ndarray):
            yield from (over[i] for i in range(len(over)))
        elif isinstance(over, (list, tuple, str, range, dict)):
            yield from checked(over)
        elif isinstance(over, (set, frozenset)):
            yield from sorted(over, key=str)
        elif isinstance(over, (zip, enumerate, map, reversed)) or hasattr(over, "__next__"):
            yield from over
        else:
            yield from (
                list(over)
                if isinstance(over, type({}.items()) | type({}.keys()) | type({}.values()))
                else _no()
            )

    @staticmethod
    def holds(value: Any) -> bool:
        """Whether a value is true. Raises Unfit where that is not known."""
        if isinstance(value, (Dotted, Method)):
            raise Unfit
        if isinstance(value, np.ndarray) and value.size != 1:
            raise Unfit
        return bool(value)

    def library(self, callee: Dotted, given: list[Any], named: Names) -> Any:
        """What a function of a library gives. Raises Unfit."""
        name = callee.last
        if callee.path in QUIET or callee.path.endswith(("no_grad", "tqdm")):
            return given[0] if given and name == "tqdm" else None
        if callee.path in BUILTINS:
            return self._builtin(name, given, named)
        if callee.path.startswith("math.") or (
            name in ("sqrt", "log", "log2", "exp") and "." not in callee.path
        ):
            if name in _OF_WHOLE:
                sizes.demand(all(abs(g) <= _WHOLE for g in given))
            return getattr(math, name)(*given)
        if name == "defaultdict" and given:
            kind = given[0]
            if isinstance(kind, Dotted) and kind.path in ("int", "list", "float", "set", "dict"):
                return defaultdict(
                    {"int": int, "list": list, "float": float, "set": set, "dict": dict}[kind.path]
                )
            raise Unfit
        if name == "Counter":
            sizes.shallow(*given)
            return Counter(*given)
        if callee.path.startswith("random."):
            return self.draws.draw(name, given, named)
        if callee.path.split(".")[0] in tf_functions.ROOTS:
            return tf_functions.of_tensorflow(callee, given, named)
        if callee.path.split(".")[0] not in (*LIBRARIES, "functional") and "." in callee.path:
            raise Unfit
        if (
            ".random." in callee.path
            or callee.path.startswith("random.")
            or name in ("randperm", "default_rng")
        ):
            found = self.draws.draw(name, given, named)
            return tensor(found) if name == "randperm" else found
        torch = callee.path.startswith(("torch", "F.", "nn."))
        if name in ("tensor", "as_tensor", "FloatTensor", "LongTensor", "from_numpy"):
            sizes.shallow(given[0])
            return tensor(np.array(given[0]))
        if name in ("array", "asarray"):
            sizes.shallow(given[0])
            held = plain(np.array(given[0]))
            kind = named.get("dtype", given[1] if len(given) > 1 else None)
            return held if kind is None else held.astype(_kind(kind))
        if name in KINDS and len(given) == 1:
            return plain(given[0]).astype(KINDS[name])
        if name not in arrays.FUNCTIONS:
            raise Unfit
        kind = named.get("dtype")
        first = given[0] if given else None
        if torch and isinstance(first, (np.ndarray, np.generic)):
            given = [tensor(first), *given[1:]]
        found = of_arrays(name, given, named)
        if kind is not None and isinstance(found, np.ndarray):
            found = found.astype(_kind(kind))
        return tensor(found) if torch and isinstance(found, (np.ndarray, np.generic)) else found

    def _builtin(self, name: str, given: list[Any], named: Names) -> Any:
        if any(isinstance(g, (Own, Dotted, Method)) for g in given) and name not in (
            "map",
            "filter",
            "isinstance",
        ):
            raise Unfit
        if name == "isinstance":
            raise Unfit
        if name in _DEEP:
            sizes.shallow(*given)
        if name == "sum" and given[1:]:
            raise Unfit  # lists joined by it, over and over
        if name == "pow":
            sizes.operation(ast.Pow, *given[:2])
        if name == "range":
            return checked(range(*(operator.index(g) for g in given)))
        if name in ("map", "filter"):
            kept = [(self.apply(given[0], [x], {}), x) for x in self.items(given[1])]
            return [v for v, _ in kept] if name == "map" else [x for v, x in kept if self.holds(v)]
        if name in ("list", "tuple", "set", "sorted", "sum", "enumerate", "reversed", "any", "all", "zip"):
            held = [list(self.items(g)) for g in given[:1]] if name not in ("zip",) else []
            if name == "zip":
                named.pop("strict", None)
                return list(zip(*(list(self.items(g)) for g in given), strict=False))
            if name == "sorted":
                key = named.get("key")
                made = (lambda x: self.apply(key, [x], {})) if key is not None else None
                return sorted(held[0], key=made, reverse=bool(named.get("reverse", False)))
            if name == "enumerate":
                return list(enumerate(held[0], *given[1:], **named))
            return held[0][::-1] if name == "reversed" else BUILTINS[name](*held, *given[1:])
        if name in ("max", "min") and (named or len(given) != 1):
            key = named.pop("key", None)
            if key is not None:
                return BUILTINS[name](*given, key=lambda x: self.apply(key, [x], {}), **named)
        return BUILTINS[name](*given, **named)

    def of_method(self, owner: Any, name: str, given: list[Any], named: Names) -> Any:
        """What a method gives. Raises Unfit."""
        if isinstance(owner, Source):
            return owner.draw(name, given, named)
        if name == "_convert_data" and len(given) == 1:
            return plain(given[0])  # MindSpore's metrics: an array of a tensor
        if isinstance(owner, (np.ndarray, np.generic)):
            return self._of_array(owner, name, given, named)
        if isinstance(owner, (bool, int, float)) and name in ("item", "float", "cpu", "detach", "numpy"):
            return owner
        for kind, allowed in _METHODS.items():
            if isinstance(owner, kind) and name in allowed:
                if "key" in named:
                    raise Unfit
                sizes.of_text(owner, name, given)
                if name in _LOOKED_THROUGH:
                    sizes.shallow(owner, *given)
                found = getattr(owner, name)(*given, **named)
                return list(found) if name in ("items", "keys", "values") else found
        raise Unfit

    @staticmethod
    def _of_array(owner: Any, name: str, given: list[Any], named: Names) -> Any:
        if name in SAME:
            kind = next((g for g in given if isinstance(g, Dotted)), None)
            return owner.copy() if kind is None or name != "to" else owner.astype(_kind(kind))
        if name == "item":
            return owner.item()
        if name == "tolist":
            return owner.tolist()
        if name == "numpy":
            return plain(owner)
        if name == "size" and isinstance(owner, Tensor):
            return owner.shape[given[0]] if given else tuple(owner.shape)
        if name in ("dim", "numel", "nelement"):
            return owner.ndim if name == "dim" else owner.size
        if name in ("astype", "type") and given:
            return owner.astype(_kind(given[0]))
        if name in KINDS and not given and isinstance(owner, Tensor):
            return owner.astype(KINDS[name])
        if name == "expand_as" and given:
            return checked(np.broadcast_to(owner, given[0].shape))
        if name in ("add_", "sub_", "mul_", "div_") and len(given) == 1 and not named and owner.ndim:
            owner[...] = of_arrays(name[:-1], [owner, given[0]], {})
            return owner
        if name in ("view_as", "reshape_as") and given:
            return owner.reshape(given[0].shape)
        if name in ("argmax", "argmin", "sum", "mean", "cumsum") or name in arrays.FUNCTIONS:
            return of_arrays(name, [owner, *given], named)
        raise Unfit


BUILTINS: dict[str, Any] = {
    "len": len,
    "range": range,
    "enumerate": enumerate,
    "zip": zip,
    "map": map,
    "filter": filter,
    "sorted": sorted,
    "reversed": reversed,
    "list": list,
    "tuple": tuple,
    "set": set,
    "dict": dict,
    "sum": sum,
    "any": any,
    "all": all,
    "max": max,
    "min": min,
    "abs": abs,
    "float": float,
    "int": int,
    "bool": bool,
    "str": str,
    "round": round,
    "isinstance": isinstance,
    "pow": pow,
}
_METHODS: dict[type, frozenset[str]] = {
    list: frozenset(["append", "extend", "index", "count", "pop", "insert", "sort", "reverse", "copy"]),
    dict: frozenset(["get", "items", "keys", "values", "setdefault", "update", "pop", "copy"]),
    set: frozenset(
        [
            "add",
            "discard",
            "union",
            "intersection",
            "difference",
            "issubset",
            "update",
            "copy",
            "remove",
            "intersection_update",
        ]
    ),
    str: frozenset(
        ["split", "strip", "lower", "upper", "join", "startswith", "endswith", "replace", "rstrip", "lstrip"]
    ),
    tuple: frozenset(("index", "count")),
}


def _no() -> Iterator[Any]:
    raise Unfit


def _kind(kind: Any) -> Any:
    if kind in (int, float, bool):
        return kind
    name = kind.last if isinstance(kind, Dotted) else kind
    if name not in KINDS:
        raise Unfit
    return KINDS[name]
