"""Where the functions and methods of libraries are known by name: `worlds` register theirs here."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from .values import Library

if TYPE_CHECKING:
    from .machine import Machine


@dataclass(frozen=True, eq=False)
class Call:
    """A call of a library's function or of a method: `callee` is a `Library` or a `Bound`."""

    machine: Machine
    callee: Any
    given: list[Any]
    named: dict[str, Any]
    node: ast.AST


Function = Callable[[Call], Any]

FUNCTIONS: dict[str, list[tuple[tuple[str, ...], Function]]] = {}
METHODS: dict[tuple[type, str], Function] = {}


def function(*names: str, of: tuple[str, ...] = ()) -> Callable[[Function], Function]:
    """Register what functions of these last names give; `of`: beginnings of their dotted names.

    `NotImplemented` says that a call is not known after all.
    """

    def mark(known: Function) -> Function:
        for name in names:
            FUNCTIONS.setdefault(name, []).append((of, known))
        return known

    return mark


def method(kind: type, *names: str) -> Callable[[Function], Function]:
    """Register what methods of a kind of value give; "*" for all that are not registered otherwise."""

    def mark(known: Function) -> Function:
        for name in names:
            METHODS[kind, name] = known
        return known

    return mark


_CONSTANTS = {
    "math.pi": math.pi,
    "numpy.pi": math.pi,
    "torch.pi": math.pi,
    "math.e": math.e,
    "math.tau": math.tau,
}


def library(name: str) -> Any:
    """What a library has of this dotted name; the value of a constant."""
    return _CONSTANTS.get(name) or Library(name)


Start = Callable[["Machine", Any, list[Any], dict[str, Any], ast.AST], None]

STARTS: dict[str, list[tuple[tuple[str, ...], Start]]] = {}


def base(*names: str, of: tuple[str, ...] = ()) -> Callable[[Start], Start]:
    """Register what a library's class does to an object of a class of the program that derives from it."""

    def mark(known: Start) -> Start:
        for name in names:
            STARTS.setdefault(name, []).append((of, known))
        return known

    return mark


def find_start(kinds: list[str]) -> Start | None:
    """What is known of the first of a library's classes of these dotted names."""
    for name in kinds:
        for beginnings, known in STARTS.get(name.rpartition(".")[2], ()):
            if not beginnings or name.startswith(beginnings):
                return known
    return None


def find_method(owner: Any, name: str) -> Function | None:
    """What is known of a method of a value, by its kind."""
    found = (METHODS.get((kind, name)) for kind in type(owner).__mro__)
    return next((f for f in found if f is not None), None)


def find_function(callee: Library) -> Function | None:
    """What is known of a library's function: the one with the longest beginning that fits."""
    return _function_of(callee.name, callee.last)


@lru_cache(maxsize=4096)
def _function_of(name: str, last: str) -> Function | None:
    best: tuple[int, Function] | None = None
    for beginnings, known in (*FUNCTIONS.get(last, ()), *FUNCTIONS.get("*", ())):
        fits = [len(b) for b in beginnings if name.startswith(b)]
        if fits or not beginnings:
            size = max(fits, default=0)
            if best is None or size > best[0]:
                best = size, known
    return best[1] if best is not None else None
