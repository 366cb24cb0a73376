"""Values of a script as terms: what was done to what, with the place where it was done."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..code.shared.roles import RANDOM
from ..scripts.syntax import Function

_DRAWS = re.compile(
    r"(?i)^(?:stateless_|tf_)?random(?!_split|sampler|_seed)|jitter|mix_?up|cut_?mix|augment|noise|^aug(?:s|ment\w*)?$"
    r"|erasing|dropout|trivialaug|shuffled?$|sample_distorted"
)


# what draws numbers: no data, and neither is the seed that it is made of
GENERATORS = frozenset(
    f"call:{n}" for n in ("default_rng", "RandomState", "Generator", "Random", "key", "PRNGKey")
)
# lengths of data, and what draws numbers: no data
_SIZES = GENERATORS | {"call:len", "call:shape", "call:size", "attr:shape", "attr:size", "attr:ndim"}
_ORDERS = ("shuffle", "permutation", "permuted", "choice", "choices", "sample", "shuffled")


@dataclass(eq=False)
class Term:
    """One value: `head` says what made it, of `args` and keywords `kw`; `key` is equal for equal values.

    Heads: const, leaf, func, obj, tuple, dict, list_of, item, slice, attr, setitem, each, count, phi, `op:+`,
    `call:name`. `drawn`: it is random numbers. `sampled`: it is of
    one sample, of a place in a sequence or of a round of a loop.
    """

    head: str
    args: tuple[Term, ...]
    kw: dict[str, Term]
    value: Any
    node: ast.AST
    key: int
    drawn: bool
    sampled: bool

    @property
    def name(self) -> str:
        """The name of what is called, or the sign of an operation."""
        return self.head.partition(":")[2]

    @cached_property
    def plain(self) -> bool:
        """A number, or several, or a setting; not data."""
        if self.head == "tuple":
            return all(a.plain for a in self.args)
        if self.head.startswith("op:"):
            return all(a.plain for a in self.args)
        return self.head in ("const", "leaf") or self.head.startswith("attr:") or self.head in _SIZES

    @property
    def is_number(self) -> bool:
        """A number that is written out."""
        return self.head == "const" and type(self.value) in (int, float)


@dataclass(eq=False)
class Func:
    """A function of the script with what it is bound to."""

    node: Function | ast.Lambda
    env: Env
    bound: Term | None = None
    given: tuple[Term, ...] = ()
    named: dict[str, Term] = field(default_factory=dict)


@dataclass(eq=False)
class Obj:
    """An instance of a class of the script."""

    owner: ast.ClassDef
    env: Env
    attrs: dict[str, Term] = field(default_factory=dict)


@dataclass(eq=False)
class Env:
    """Names in force, of one call."""

    names: dict[str, Term]
    outer: Env | None = None

    def get(self, name: str) -> Term | None:
        """The value of a name, here or further out."""
        here: Env | None = self
        while here is not None:
            if name in here.names:
                return here.names[name]
            here = here.outer
        return None


class Store:
    """Makes terms, and gives equal ones the same key."""

    def __init__(self, closures: bool = False) -> None:
        self._keys: dict[tuple[Any, ...], int] = {}
        self.closures = closures  # functions count by the names that they see, too

    def make(
        self,
        head: str,
        node: ast.AST,
        args: tuple[Term, ...] = (),
        kw: dict[str, Term] | None = None,
        value: Any = None,
    ) -> Term:
        """A term; the value of a function or an instance counts by identity."""
        kw = kw or {}
        told: Any = value
        if isinstance(value, Func):
            told = (
                id(value.node),
                value.bound.key if value.bound else 0,
                tuple(g.key for g in value.given),
                tuple((k, v.key) for k, v in sorted(value.named.items())),
                id(value.env) if self.closures else 0,
            )
        elif isinstance(value, dict):
            told = tuple((k, v.key) for k, v in value.items())
        elif isinstance(value, (Obj, ast.AST, tuple)):
            told = id(value)
        asked = (
            head,
            type(told).__name__,
            told,
            tuple(a.key for a in args),
            tuple((k, v.key) for k, v in sorted(kw.items())),
        )
        key = self._keys.setdefault(asked, len(self._keys) + 1)
        return Term(
            head, args, kw, value, node, key, _is_drawn(head, args), _is_sampled(head, args, kw, value)
        )


def _is_sampled(head: str, args: tuple[Term, ...], kw: dict[str, Term], value: Any) -> bool:
    if head in _SIZES:
        return False
    if head in ("each", "count", "list_of"):  # a list of all is none of a sample
        return head != "list_of"
    if head == "leaf":
        return value in ("<n>", "<samples>", "<key>")
    inner = value.values() if head == "dict" else ()
    return any(t.sampled for t in (*args, *kw.values(), *inner))


def _is_drawn(head: str, args: tuple[Term, ...]) -> bool:
    """Whether a value is random numbers, and not data that random numbers were put to."""
    if head in _SIZES:
        return False
    if head.startswith("call:"):
        name = head[5:]
        data = [a for a in args if not a.plain]
        if name in _ORDERS and data:
            return all(a.drawn for a in data)
        return name.startswith("drawn_") or RANDOM.search(name) is not None or (bool(args) and args[0].drawn)
    if head.startswith("op:"):
        return any(a.drawn for a in args) and all(a.drawn or a.plain for a in args)
    if head in ("item", "slice", "setitem"):
        return args[0].drawn
    return any(a.drawn for a in args)


def draws(name: str) -> bool:
    """Whether a function of this name draws random numbers, or augments."""
    drawn = name.startswith("drawn_") or RANDOM.search(name) is not None
    return drawn or _DRAWS.search(name) is not None


Apply = Callable[[Term, tuple[Term, ...], ast.AST], Term]
