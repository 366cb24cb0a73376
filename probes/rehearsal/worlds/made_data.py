"""Data that a program draws itself: their rows are those of a table of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..forms import COLUMN, ROW
from ..values import Tensor
from .known_numbers import LARGEST

if TYPE_CHECKING:
    from ..machine import Machine

FEWEST = 100  # numbers along the first axis: fewer are weights, centres, a batch of noise
# where a function of numpy or PyTorch is given the shape, if not by name
_AFTER_OTHERS = {
    "normal": 2, "uniform": 2, "binomial": 2, "randint": 2, "integers": 2, "poisson": 1, "lognormal": 2,
    "exponential": 1,
}  # fmt: skip


def drawn(machine: Machine, name: str, given: list[Any], named: dict[str, Any]) -> Tensor:
    """An array of random numbers; many of them, drawn before any network is asked, are rows of data."""
    made = Tensor(drawn=True, done=(name,))
    shape = _shape(name, given, named)
    if not shape or not FEWEST <= shape[0] <= LARGEST or machine.loops or machine.sampling:
        return made
    if machine.inside_net or machine.asks:
        return made
    made.rows, made.table = np.arange(shape[0]), machine.table(f"drawn {len(machine.tables)}", shape[0])
    machine.made_tables.add(made.table)
    made.form = ROW if len(shape) == 1 else COLUMN if shape[1:] == (1,) else ""
    return made


def _shape(name: str, given: list[Any], named: dict[str, Any]) -> tuple[int, ...]:
    """The shape that random numbers are drawn in; () where it is not known."""
    size = named.get("size", named.get("shape"))
    if size is None:
        place = _AFTER_OTHERS.get(name, 0)
        rest = given[place:]
        if name in ("randint", "integers", "poisson") and given and isinstance(given[-1], (tuple, list)):
            rest = given[-1:]  # randint(10, (500,)) of PyTorch
        size = rest[0] if rest and isinstance(rest[0], (tuple, list)) else rest
    sizes = list(size) if isinstance(size, (tuple, list)) else [size]
    if not sizes or not isinstance(sizes[0], int) or isinstance(sizes[0], bool):
        return ()
    return tuple(s if isinstance(s, int) else 0 for s in sizes)
