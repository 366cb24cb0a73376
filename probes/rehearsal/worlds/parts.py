"""Parts of arrays and lists in a rehearsal: which rows stand between the brackets."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import marks
from ..forms import of_part
from ..values import Series, Tensor, Unknown, Way, mixed
from .columns import column_of
from .made_data import drawn_places

if TYPE_CHECKING:
    from ..machine import Machine


def part(machine: Machine, held: Tensor, index: Any) -> Any:
    """A part of an array. Rows of places that are not known are a guess."""
    first = index[0] if isinstance(index, tuple) and index else index
    made = held.then("part", number=None, form=of_part(held, index))
    made.mark, made.how = marks.part(machine, held, index), Way("part", (held, index))
    if not machine.graph:
        made.deps = frozenset()
    if isinstance(first, str):
        made.held = frozenset((*held.held, first)) if not held.asked else held.held
        return _of_side(machine, made, first)
    if isinstance(held.number, np.ndarray):
        made.number = _number_at(held.number, index)
        if made.number is not None and np.ndim(made.number) == 0:
            plain = made.number.item() if hasattr(made.number, "item") else made.number
            if not held.asked and held.rows is None:
                return plain
            made.scalar = True
    if isinstance(held.number, float) and held.fits:
        made.number = held.number  # of each column alike
    if isinstance(index, tuple) and len(index) > 1:
        told = _written(index if first is Ellipsis else index[1:])
        made.done = (*made.done[:-1], f"part {told}")
        made.held |= {f"{h[:-1]}!?" for h in made.held if h.endswith("#*")}
    if first is None or first is Ellipsis or isinstance(first, Unknown):
        if isinstance(first, Unknown):
            made.rows = None
        return made
    if isinstance(first, Tensor) and first.drawn and first is index and _is_sample(machine, held):
        return made.like(vague=True)  # `p[rng.permutation(len(p))]` mixes the points of a sample, no samples
    if machine.sampling and not held.asked and _is_stretch(index):
        made.vague = True  # a stretch of a long row: which of its places are known says more than the row
    if isinstance(first, Tensor):
        made.asked = made.asked | first.asked
        made.by |= first.by
        made.vague = made.vague or first.vague
        if (
            first.number is None
            and first.done[-1:]
            and first.done[-1] in _MASKS
            and not isinstance(first, Series)
        ):
            return made.like(vague=True)  # which rows meet the condition is not known
        if isinstance(first.number, np.ndarray) and first.number.dtype == bool and not first.number.any():
            return made.like(vague=True)  # no row of those that are made: no program asks for none
    if isinstance(first, slice) and _is_sample(machine, held):
        if first.step == -1 and made.done[-1] == "part":
            made.done = (*made.done[:-1], "rows ::-1")
        return made
    if held.rows is None:
        if isinstance(first, Tensor) and first.rows is not None and first.table > 0:
            made.rows, made.table, made.held = first.rows, first.table, made.held | first.held
            mask = first.number
            if isinstance(mask, np.ndarray) and mask.dtype == bool and mask.shape == first.rows.shape:
                made.rows = first.rows[mask]
        return made
    at = _places(machine, first)
    if isinstance(first, Tensor) and (chosen := drawn_places(machine, first, len(held.rows))) is not None:
        at = chosen
    if isinstance(at, slice):
        at = _within(at, len(held.rows))
    try:
        if isinstance(at, (int, slice)) or (isinstance(at, (list, np.ndarray)) and np.ndim(at) == 1):
            made.rows = np.atleast_1d(held.rows[at])
        elif isinstance(first, Tensor):
            made.rows = first.rows if first.rows is not None and first.table == held.table else None
            made.vague = True
    except (IndexError, TypeError, ValueError):
        made.rows = None
    if made.rows is not None:
        made.places = held.places
    if made.rows is not None and first is index and held.table > 0 and not (held.asked or made.vague):
        # which rows they are is known; those of a batch are another thing than those of a part of the data
        batch = bool(machine.loops or machine.sampling)
        whole = marks.of_tensor(machine, held)
        made.mark = whole if batch else mixed("rows", whole, str(made.rows.tolist()))
    return made


_MASKS = frozenset(("lt", "lte", "gt", "gte", "eq", "noteq", "not", "and", "or", "mask"))
_SIDE = re.compile(r"(?i)(?:^|_)(train|trn|tr|val|valid|validation|dev|test|te|holdout)(?:$|_|\d)")


def _is_stretch(index: Any) -> bool:
    """`data[station, start:start + 144]`, and no crop by chance and none of two sides."""
    if not (isinstance(index, tuple) and len(index) >= 2) or isinstance(index[0], slice):
        return False
    cut = [i for i in index[1:] if i != slice(None) and (isinstance(i, slice) or _cut_unknown(i) is not None)]
    if len(cut) != 1 or cut[0] is not index[1]:
        return False
    ends = _cut_unknown(cut[0]) or (cut[0].start, cut[0].stop)
    return ends[0] is not None and not any(isinstance(e, Tensor) and e.drawn for e in ends)


def _cut_unknown(part: Any) -> tuple[Any, ...] | None:
    """The ends of a cut that are not known numbers."""
    if isinstance(part, Unknown) and part.key == "slice" and part.source is not None:
        return tuple(part.source.given)
    return None


def _is_sample(machine: Machine, held: Tensor) -> bool:
    """Samples that a data set is about to give, or one alone: a cut lies within each."""
    if held.rows is None or held.asked or not machine.sampling:
        return False
    return len(held.rows) < machine.tables.get(held.table, ("", 0))[1]


def _of_side(machine: Machine, held: Tensor, name: str) -> Tensor:
    """An entry of a file: those of each side, `x_train`, `x_val`, are rows of a table of their own."""
    side = _SIDE.search(name)
    file = machine.tables.get(held.table, ("", 0))[0]
    if side and file.startswith("file ") and not held.asked and "|" not in file:
        held.table = machine.table(f"{file}|{side[1].lower()}")
    return held


def _within(at: slice, count: int) -> slice:
    """`x[:9000]` and `x[9000:]` of a table that was made with fewer rows: cut at one place within it."""
    if at.step is not None or (at.start is None) == (at.stop is None):
        return at
    end = at.start if at.stop is None else at.stop
    if not isinstance(end, int) or abs(end) < max(count, 1):
        return at
    cut = cut_at(end, count) if end > 0 else -max(1, int(0.3 * count))
    return slice(cut, None) if at.stop is None else slice(None, cut)


def cut_at(number: int, count: int) -> int:
    """Where a number of samples cuts; a larger number cuts later, also where there are not so many."""
    return number if number < count else int(count * (0.5 + 0.4 * number / (number + 10_000)))


def _places(machine: Machine, first: Any) -> Any:
    if isinstance(first, Series) and first.number is None and first.rows is not None and not first.vague:
        column = column_of(machine, first) if first.table in machine.tables else None
        return column.is_equal(True, first.rows) if column is not None else None
    at = first.number if isinstance(first, Tensor) else first
    if isinstance(at, range):
        return list(at)
    if isinstance(at, np.ndarray) and at.ndim == 0 and at.dtype.kind in "iu":
        return int(at)
    return at


def _written(index: tuple[Any, ...]) -> str:
    """What stands behind the first comma: `:, ::-1`."""
    told = []
    for one in index:
        if isinstance(one, slice):
            ends = ("" if e is None else str(e) for e in (one.start, one.stop, one.step))
            told.append(":".join(ends))
        else:
            told.append(str(one) if isinstance(one, (int, list, str)) or one is Ellipsis else "?")
    return ",".join(told)[:40]


def _number_at(number: np.ndarray, index: Any) -> Any:
    parts = index if isinstance(index, tuple) else (index,)
    plain = [p.number if isinstance(p, Tensor) else list(p) if isinstance(p, range) else p for p in parts]
    if any(p is None and isinstance(q, Tensor) for p, q in zip(plain, parts, strict=True)):
        return None
    if any(isinstance(p, (Unknown, str)) for p in plain):
        return None
    try:
        return number[tuple(plain)] if isinstance(index, tuple) else number[plain[0]]
    except (IndexError, TypeError, ValueError):
        return None


def item_by_tensor(machine: Machine, owner: Any, index: Tensor) -> Any:
    """Items of a list at the places that a tensor holds: one, or several samples at once."""
    places = None
    if index.number is not None and len(owner) and not isinstance(owner, str):
        at = np.asarray(index.number).reshape(-1)
        if at.dtype.kind in "iu" and len(at) and at.min() >= -len(owner) and at.max() < len(owner):
            places = at
    if places is not None and len(places) == 1:
        held = owner[int(places[0])]
        if isinstance(held, Tensor) and index.rows is not None and held.rows is None and index.table > 0:
            return held.then("item", rows=index.rows, table=index.table)
        return held
    if places is not None:
        return several(machine, [owner[int(p)] for p in places])
    inner = [o for o in owner[:1] if isinstance(o, Tensor)] if not isinstance(owner, str) else []
    made = machine.joined_tensors("item", [index, *inner])
    made.vague = True
    return made


def several(machine: Machine, items: list[Any]) -> Any:
    """Several samples as one: tensors one after the other, tuples and mappings entry by entry."""
    from .tensors import joined

    if all(isinstance(i, Tensor) for i in items):
        made = joined(machine, items, "item")
        if len({i.table for i in items}) > 1:
            made.vague = True
        return made
    first = items[0]
    if isinstance(first, (tuple, list)) and all(
        isinstance(i, (tuple, list)) and len(i) == len(first) for i in items
    ):
        return type(first)(several(machine, list(column)) for column in zip(*items, strict=True))
    if isinstance(first, dict) and all(isinstance(i, dict) for i in items):
        return {k: several(machine, [i[k] for i in items]) for k in first if all(k in i for i in items)}
    if all(isinstance(i, (bool, int, float)) for i in items):
        return Tensor(number=np.asarray(items))
    return first if all(i is first for i in items) else Unknown("items")
