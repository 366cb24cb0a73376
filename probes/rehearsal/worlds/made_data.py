"""Data that a program draws itself: their rows are those of a table of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..forms import COLUMN, ROW
from ..values import DrawnPlaces, Tensor, Way
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
    made = Tensor(drawn=True, done=(name,), how=Way(name, tuple(given), named))
    shape = _shape(name, given, named)
    if shape and not machine.asks:
        made.length = shape[0]
    if not shape or not FEWEST <= shape[0] <= LARGEST or machine.loops or machine.sampling:
        return made
    if machine.inside_net or machine.asks:
        return made
    own_rows(machine, made, shape[0])
    if name in ("integers", "randint"):
        made.places = DrawnPlaces(shape[0])
    made.form = ROW if len(shape) == 1 else COLUMN if shape[1:] == (1,) else ""
    return made


def own_rows(machine: Machine, made: Tensor, count: int) -> None:
    """Give an array so many rows of a table of its own."""
    made.rows, made.table = np.arange(count), machine.table(f"drawn {len(machine.tables)}", count)
    machine.made_tables.add(made.table)


def listed(machine: Machine, made: Any, held: Any) -> Any:
    """An array of a list of samples that a program draws in a loop: rows of its own, as many as there are."""
    count = machine.true_length(held) if isinstance(held, list) else 0
    if isinstance(held, list) and count > len(held) and isinstance(made, Tensor) and made.rows is not None:
        return made.like(vague=True)  # the first of its rows: the loop that fills the list was left early
    if count < FEWEST or count > LARGEST or count == len(held):
        return made
    if machine.asks or machine.inside_net or machine.sampling:
        return made
    if made is None:
        made = Tensor(done=("array",))  # of what is not known, one by one
    if not isinstance(made, Tensor) or made.rows is not None or made.asked or made.deps or made.held:
        return made
    made.number = None
    made.done = (*made.done[:-1], "samples")  # one after the other: no columns side by side
    own_rows(machine, made, count)
    return made


def one_after_another(machine: Machine, made: Tensor, parts: list[Tensor]) -> None:
    """Parts that are made in a loop (`rng.normal(k, 1, (500, 8))`) and joined along the rows are data."""
    counts = [p.length for p in parts]
    if made.rows is None and all(counts) and all(p.rows is None for p in parts):
        if FEWEST <= sum(counts) <= LARGEST and not machine.loops:
            own_rows(machine, made, sum(counts))


def drawn_places(machine: Machine, index: Tensor, count: int) -> np.ndarray | None:
    """Places of rows that whole numbers choose which are drawn one by one: some twice, some never."""
    known = index.places
    if known is None or index.rows is None or index.number is not None or not count:
        return None
    if count not in known.chosen:
        known.chosen[count] = machine.draw().integers(0, count, known.drawn)
    chosen: np.ndarray = known.chosen[count][index.rows]
    return chosen


def again(name: str, given: list[Any], named: dict[str, Any], rows: np.ndarray) -> np.ndarray | None:
    """Rows that are given several times, each at once (`repeat`) or all again (`tile`); None of others."""
    times = given[1] if len(given) > 1 else named.get("repeats", named.get("reps"))
    axis = named.get("axis", named.get("dim", given[2] if len(given) > 2 and name != "tile" else None))
    if isinstance(times, (tuple, list)) and times and all(t == 1 for t in times[1:]):
        times = times[0] if name == "tile" else None
    if not isinstance(times, int) or isinstance(times, bool) or not 1 < times <= 64 or axis not in (None, 0):
        return None
    return np.tile(rows, times) if name == "tile" else np.repeat(rows, times)


def to_be_filled(machine: Machine, made: Tensor, sizes: Any) -> Tensor:
    """Note how long an array of zeros is that a program makes before any network is asked."""
    count = sizes[0] if isinstance(sizes, (list, tuple)) and sizes else None
    if isinstance(count, int) and not (isinstance(count, bool) or machine.asks):
        made.length = count
    if isinstance(count, int) and not isinstance(count, bool) and FEWEST <= count <= LARGEST:
        if not (machine.loops or machine.sampling or machine.inside_net or machine.asks):
            made.unfilled = True
    return made


def filled(machine: Machine, owner: Tensor, index: Any, others: list[Tensor]) -> None:
    """`images[i] = draw(k)`, row by row: what is drawn into an array of zeros makes it data of its own."""
    first = index[0] if isinstance(index, tuple) and index else index
    if not owner.unfilled or owner.rows is not None or isinstance(first, bool) or not isinstance(first, int):
        return
    if not any(o.drawn for o in others) or any(o.asked or o.deps for o in others):
        return
    if all(o.rows is None or o.table in machine.made_tables for o in others):
        own_rows(machine, owner, owner.length)


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
