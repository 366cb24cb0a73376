"""How tensors flow: what several of them make together, and what becomes of what is handed to the unknown."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from . import marks, units
from .forms import crosswise, of_several
from .journal import Asked
from .statements import Statements
from .values import (
    NOTHING,
    Instance,
    Maybe,
    Net,
    Optimizer,
    Scope,
    Tensor,
    Unknown,
    Way,
    Weight,
    mixed,
)

if TYPE_CHECKING:
    from .machine import Machine


# operators that hold an array against another one
_HELD_AGAINST = frozenset(("sub", "eq", "noteq"))


class Flowing(Statements):
    """Tensors that are joined, combined and lost sight of."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.yields: list[list[Any]] = []
        self.nets: list[Net] = []
        self.weights: dict[int, Weight] = {}
        self.asks: dict[int, Asked] = {}
        self.inside_net = 0
        self.kept_elsewhere: frozenset[int] = NOTHING  # weights whose values went to what is not known
        self.graph = True
        self.modal: list[list[tuple[str, bool]]] = []
        self.scopes: list[Scope] = []  # of the functions that are gone through
        self.visited: set[ast.AST] = set()  # functions that were gone through
        self.not_known: set[str] = set()  # names of functions of tensors that are not known
        self.learning: list[bool] = []  # modes that Keras's networks are asked in, outermost first
        self.single: list[Tensor] = []  # conditions on the answers to single rows
        self.leaves: dict[int, tuple[Tensor, Weight]] = {}  # tensors in trees of weights, as JAX has them
        self.taped = 0  # gradient tapes and steps of `fit` that are open

    @property
    def machine(self) -> Machine:
        """This, as what it is a part of."""
        return cast("Machine", self)

    def tensors(self, values: list[Any], depth: int = 4) -> Iterator[Tensor]:
        """All tensors among values, and in what they hold; of long lists the first ones."""
        most = 4_000 if self.exact else 64
        for one in values:
            if isinstance(one, Tensor):
                yield one
            elif depth and isinstance(one, (list, tuple)):
                yield from self.tensors(list(one[:most]), depth - 1)
            elif depth and isinstance(one, dict):
                yield from self.tensors(list(one.values())[:most], depth - 1)
            elif depth and isinstance(one, Instance) and not isinstance(one, Net):
                yield from self.tensors(list(one.attributes.values())[:64], depth - 2 if depth > 1 else 0)

    # ------------------------------------------------------------------------------------ what is not known

    def unknown_call(
        self, callee: Any, given: list[Any], named: dict[str, Any], node: ast.AST, name: str
    ) -> Any:
        """A call of what is not known: tensors in it go on, objects in it may have been changed."""
        everything = [*given, *named.values()]
        known = self.machine.perhaps_optimizer(callee, given, named, node, name)
        if known is not None:
            return known
        owner = callee if isinstance(callee, (Tensor, Net, Optimizer)) else None
        self.escape(everything)
        found = list(self.tensors([owner, *everything] if isinstance(owner, Tensor) else everything))
        if isinstance(callee, Unknown):
            self.kept_elsewhere |= frozenset(s for t in found for s in t.deps)
        if found:
            self.not_known.add(name or "unknown")
            made = self.joined_tensors(name or "unknown", found, marked=False)
            made.units = units.stepped(made.units, units.unknown(name))
            held = [callee, *given] if isinstance(callee, (Tensor, Unknown)) else given
            made.mark = marks.called(self.machine, name or "unknown", held, named)
            made.how = Way(name or "unknown", tuple(held), named)
            return made
        key = name or getattr(callee, "key", "")
        held = [callee, *given] if isinstance(callee, Unknown) else given
        fresh = marks.unknown(self.machine, key, held, named)
        fresh.source = Way(key, tuple(held), named)
        return fresh

    def unknown_of(self, key: str, parts: list[Any]) -> Unknown:
        """What is not known, made of these parts: another one where they are others."""
        fresh = marks.unknown(self.machine, key, parts)
        fresh.source = Way("part", tuple(parts))
        return fresh

    def told_apart(self, held: Any, name: str, parts: list[Any]) -> Any:
        """What a call gave; where it is not known, told from what the same call gives of other parts."""
        if isinstance(held, Unknown) and not held.mark and not any(p is held for p in parts):
            held.mark = marks.unknown(self.machine, name, parts).mark
            held.source = held.source or Way(name, tuple(parts))
        return held

    def escape(self, values: list[Any], depth: int = 3) -> None:
        """Objects that are handed to something that is not known may be changed by it."""
        for one in values:
            if isinstance(one, (Net, Optimizer, Weight)):
                one.escaped = True
                held = one.parameters() if isinstance(one, Net) else getattr(one, "weights", [one])
                self.machine.perhaps_cleared(held or [])
            elif depth and isinstance(one, (list, tuple)):
                self.escape(list(one[:64]), depth - 1)
            elif depth and isinstance(one, dict):
                self.escape(list(one.values())[:64], depth - 1)

    def joined_tensors(
        self, name: str, found: list[Tensor], *, marked: bool = True, beside: bool = True
    ) -> Tensor:
        """A tensor made of several, by something that is done to them.

        Not `marked`: the caller marks it. Not `beside`: one comes after the other, so that no rows meet.
        """
        if len(found) == 1:
            return self.of_one_tensor(name, found[0], marked=marked)
        made = Tensor(deps=NOTHING)
        if len(found) > 1 and not self.inside_net and beside:
            self.machine.meet(found)
        for one in found:
            if made.rows is None and one.rows is not None:
                made.rows, made.table = one.rows, one.table
            elif one.rows is not None and _other_rows(made, one):
                made.mixed = True
            elif one.rows is not None and one.table != made.table and beside:
                self.put_together(made, one)
            made.fits |= one.fits
            made.by |= one.by
            made.vague, made.mixed = made.vague or one.vague, made.mixed or one.mixed
            made.deps |= self.reaching(one)
            made.asked |= one.asked
            made.held |= one.held
            made.drawn = made.drawn or one.drawn
            if len(one.done) > len(made.done):
                made.done = one.done
        made.done = (*made.done[-39:], name)
        if marked:
            made.mark = mixed(name, *[marks.of_tensor(self.machine, t) for t in found])
        made.how = Way(name, tuple(found))
        made.scalar = all(t.scalar for t in found)
        made.units = units.of_joined(name, found)
        if not self.graph:
            made.deps = NOTHING
        return made

    def of_one_tensor(self, name: str, one: Tensor, *, marked: bool = True) -> Tensor:
        """A tensor made of one, by something that is done to it; not `marked`: the caller marks it."""
        made = one.like(done=(*one.done[-39:], name), how=Way(name, (one,)), mark=0)
        made.deps = self.reaching(one) if self.graph else NOTHING
        made.units = units.of_joined(name, [one])
        if made.rows is None:
            made.table = 0
        if marked:
            made.mark = mixed(name, marks.of_tensor(self.machine, one))
        return made

    def put_together(self, one: Tensor, other: Tensor) -> None:
        """Rows that the program drew apart and puts together one by one are the same rows from now on."""
        mine, theirs = self.machine.one_table(one.table), self.machine.one_table(other.table)
        known = mine != theirs and {one.table, other.table} <= self.machine.made_tables
        rows, others = one.rows, other.rows
        if rows is None or others is None or self.inside_net or not known:
            return
        if np.array_equal(rows, others):
            self.machine.same[theirs] = mine

    @staticmethod
    def reaching(one: Tensor) -> frozenset[int]:
        """The weights that a gradient through a tensor would reach; of a weight itself it is the weight."""
        if isinstance(one, Weight):
            return frozenset((one.serial,)) if one.trains and not one.buffer else NOTHING
        return one.deps

    def combined(self, name: str, given: list[Any], function: Callable[[Any, Any], Any] | None) -> Any:
        """Two values, one at least a tensor, and an operator."""
        numbers = [g.number if isinstance(g, Tensor) else g for g in given]
        found = list(self.tensors(given))
        made = self.joined_tensors(name, found, marked=False)
        made.mark = marks.called(self.machine, name, given, {})
        made.how = Way(name, tuple(given))
        if len(found) == 1 and len(given) == 2:
            made.scale = _scaled(name, given, found[0])
        elif len({t.scale for t in found if t.asked}) == 1:
            made.scale = next(t.scale for t in found if t.asked)
        if name in _HELD_AGAINST and crosswise(given):
            self.machine.crossed.append((self.here, name, made.asked, tuple(self.guessed)))
        made.form = of_several(given)
        if any(isinstance(g, (Unknown, Maybe)) for g in given):
            return made
        if function is not None and all(
            isinstance(n, (bool, int, float, np.ndarray, np.generic)) for n in numbers
        ):
            made.number = function(*numbers)
        return made


def _scaled(name: str, given: list[Any], held: Tensor) -> float | None:
    """The constant of a figure after it was multiplied or divided by a number."""
    other = given[1] if given[0] is held else given[0]
    if name not in ("mul", "div") or held.scale is None:
        return held.scale
    if isinstance(other, bool) or not isinstance(other, (int, float)) or not other:
        return None
    if name == "mul":
        return held.scale * other
    return held.scale / other if given[0] is held else None


def _other_rows(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors hold as many samples, and other ones: a sample is mixed with another one."""
    if one.rows is None or other.rows is None or len(one.rows) != len(other.rows):
        return False
    return one.table == other.table and not np.array_equal(one.rows, other.rows)
