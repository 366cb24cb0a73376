"""What a symbolic run deals with besides numbers: frames, objects and functions of the program."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from ..readers.script import last_name
from .lines import Line, Program, Unit
from .terms import Term

NONE = Term("constant", "None")
FORWARD = ("forward", "construct", "call", "__call__")
CHAINS = {
    "Sequential": True,
    "SequentialCell": True,
    "ModuleList": False,
    "CellList": False,
}


class TooLong(Exception):
    """The run is longer than what is followed."""


class Enough(Exception):
    """What was to be learnt from the run is known."""


class Count(float):
    """How many items something has: true for sums and shares only, as at most three are run over."""


@dataclass(frozen=True)
class Key:
    """A value as the key of a dict: equal where the marks are."""

    mark: int
    value: Any = field(compare=False)


@dataclass(eq=False)
class Frame:
    """Names of a function that runs."""

    unit: Unit
    names: dict[str, Any] = field(default_factory=dict)
    outer: Frame | None = None
    yields: list[Any] = field(default_factory=list)


@dataclass(eq=False)
class Own:
    """A class of the program."""

    unit: Unit


@dataclass(eq=False)
class Instance:
    """An object of a class of the program; `order`: the how many-th one was made."""

    made_of: Own
    order: int
    attributes: dict[str, Any] = field(default_factory=dict)


def only_data(unit: Unit) -> bool:
    """Whether a class of the program holds settings and nothing more: no framework asks for what it holds."""
    node = unit.node
    if not isinstance(node, ast.ClassDef) or any(last_name(b) not in _PLAIN_BASES for b in node.bases):
        return False
    made = any(
        last_name(d.func if isinstance(d, ast.Call) else d) == "dataclass" for d in node.decorator_list
    )
    functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return made or not any(isinstance(s, functions) for s in node.body)


_PLAIN_BASES = ("object", "NamedTuple")


@dataclass(eq=False)
class Routine:
    """A function, method or lambda of the program."""

    unit: Unit | None
    frame: Frame | None
    owner: Instance | None = None
    term: Term | None = None
    given: tuple[Any, ...] = ()  # bound by functools.partial
    named: Mapping[str, Any] = field(default_factory=dict)


@dataclass(eq=False)
class Chain:
    """Modules in a registered list: Sequential, ModuleList."""

    items: list[Any]
    runs: bool


def written(term: Term, words: Sequence[str]) -> bool:
    """Whether the called function is written with one of these words: `mobilenet_v2.preprocess_input`."""
    text = ast.unparse(term.node.func) if isinstance(term.node, ast.Call) else ""
    return any(w in text.split(".") for w in words)


@lru_cache(maxsize=1024)
def unread(program: Program, unit: Unit) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names that a function gives values to: those no other line reads, those of which only items are."""
    given = [
        t
        for line in unit.lines
        if line.term.kind == "assign"
        and (of := line.term.part("target")) is not None
        and of.kind in ("name", "sequence")
        for t in line.targets
        if t != "_"
    ]
    reads: set[str] = set()
    items: set[str] = set()
    for other in program.units:
        if unit.name and other is not unit and not other.name.startswith(unit.name + "."):
            continue
        for line in other.lines:
            seen, parts = _reads(line)
            own = set(line.targets) if line.term.kind == "assign" else set()
            reads |= seen - own
            items |= parts - own
    plain = dict.fromkeys(t for t in given if t not in reads)
    return tuple(t for t in plain if t not in items), tuple(t for t in plain if t in items)


def _reads(line: Line) -> tuple[set[str], set[str]]:
    """Names that a line reads whole, and names of which it reads an item by its key."""
    target = line.term.part("target")
    waiting = [p for e, p in line.term.parts if e != "target"]
    if target is not None and target.kind not in ("name", "sequence"):
        waiting.append(target)
    whole: set[str] = set()
    items: set[str] = set()
    while waiting:
        term = waiting.pop()
        if term.kind in ("name", "call"):
            whole.add(term.label)
        of, index = term.part("of"), term.part("index")
        if (
            term.kind == "item"
            and of is not None
            and index is not None
            and (of.kind, index.kind) == ("name", "key")
        ):
            items.add(of.label)
            continue
        waiting += [p for _, p in term.parts]
    return whole, items


def counter(line: Line) -> str:
    """The counter of a loop over `enumerate(...)`, which its normal form leaves out."""
    node = line.node
    if (
        isinstance(node, (ast.For, ast.AsyncFor))
        and isinstance(node.target, ast.Tuple)
        and len(node.target.elts) == 2
    ):
        first, of = node.target.elts[0], line.term.part("target")
        if isinstance(first, ast.Name) and of is not None and first.id not in of.names:
            return first.id
    return ""


def builtin_name(term: Term) -> bool:
    """Whether a plain name is called, such as sum(...)."""
    return isinstance(term.node, ast.Call) and isinstance(term.node.func, ast.Name)


def inside(s: slice, length: int) -> bool:
    """Whether a slice of a list of two or three says what it would of a longer one."""
    return all(x is None or (isinstance(x, (int, float)) and abs(x) < length) for x in (s.start, s.stop))


def whole_slice(s: slice) -> slice:
    """The slice with whole numbers."""
    ends = [None if x is None else int(x) for x in (s.start, s.stop, s.step)]
    return slice(*ends)
