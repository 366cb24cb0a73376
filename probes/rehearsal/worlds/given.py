"""Parts of objects that a program gives a value in a rehearsal: `a[i] = v`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import marks
from ..values import NOTHING, Filled, Frame, Tensor, Unknown, Weight
from .frames import Places, set_part
from .made_data import filled

if TYPE_CHECKING:
    from ..machine import Machine


def set_item(machine: Machine, owner: Any, index: Any, value: Any, node: ast.AST) -> None:
    """Give a part of one of our objects a value."""
    if isinstance(owner, Weight):
        machine.written(owner, [value], "item", node)
    elif isinstance(owner, (Frame, Places)):
        set_part(owner, index, value)
    elif isinstance(owner, Tensor):
        others = list(machine.tensors([value, index if isinstance(index, Tensor) else None]))
        whole = isinstance(owner.number, np.ndarray)
        everything = index is Ellipsis or (isinstance(index, slice) and index == slice(None))
        made = machine.joined_tensors("set", others if everything else [owner, *others])
        made.mark = marks.of_set(machine, owner, index, value)
        given = value.asked if isinstance(value, Tensor) else NOTHING
        if isinstance(value, Tensor) and value.number is not None and np.ndim(value.number) == 0:
            value = float(value.number)
        if whole and isinstance(value, (bool, int, float)) and not isinstance(index, Unknown):
            try:
                number = owner.number.copy()
                at = index.number if isinstance(index, Tensor) else index
                number[at] = value
                made.number = number
            except (IndexError, TypeError, ValueError):
                made.number = None
        made.rows, made.table = owner.rows, owner.table
        made.scalar = owner.scalar
        if isinstance(index, int) and owner.rows is None:
            made.asked = _asked_by_places(machine, owner, index, given)
        owner.become(made)
        filled(machine, owner, index, others)


def of_its_place(machine: Machine, owner: Any, index: Any, part: Any) -> None:
    """One place of an array that was given values place by place is made of what it was given."""
    if not machine.by_places or not isinstance(owner, Tensor) or not isinstance(index, int):
        return
    held = machine.by_places.get(id(owner))
    if held is not None and held.is_of(owner) and isinstance(part, Tensor):
        part.asked = held.before | held.places.get(index, NOTHING)


def _asked_by_places(machine: Machine, owner: Tensor, index: int, given: frozenset[int]) -> frozenset[int]:
    """The answers in an array whose places are given values one by one: what stood there before is gone."""
    held = machine.by_places.get(id(owner))
    if held is None or not held.is_of(owner):
        held = Filled(owner, owner.asked, owner.asked, {})
    places = {**held.places, index: given}
    asked = held.before.union(*places.values())
    machine.by_places[id(owner)] = Filled(owner, asked, held.before, places)
    return asked
