"""What functions of arrays come to, where all that they are given is known as numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...made_numbers.arrays import SAME, Pair, of_arrays
from ...scripts.bounds import is_small_shape
from ..values import Tensor

if TYPE_CHECKING:
    from ..machine import Machine

Named = dict[str, Any]
LARGEST = 100_000  # items of an array


def computed(name: str, given: list[Any], named: Named) -> Any:
    """What a function of arrays comes to, or None where a value is not known or the function is not."""
    plain = [plain_of(g) for g in given]
    if name == "bincount":
        return _counted(plain, named)
    if name == "topk" and len(plain) > 2 and all(p is True or p in (1, -1) for p in plain[2:]):
        plain = plain[:2]  # along the last axis, the largest first, in order
    keys = {k: plain_of(v) for k, v in named.items() if k not in ("device", "dtype", "non_blocking")}
    if name not in SAME and any(p is None and g is not None for p, g in zip(plain, given, strict=True)):
        return None
    if (plain and plain[0] is None) or any(v is None and named[k] is not None for k, v in keys.items()):
        return None
    try:
        found = of_arrays(name, plain, keys, places=True)
    except Exception:
        return None
    return found if isinstance(found, (np.ndarray, np.generic, int, float, Pair)) else None


def _counted(plain: list[Any], named: Named) -> Any:
    size = named.get("minlength", plain[2] if len(plain) > 2 else 0)
    if not plain or plain[0] is None or not isinstance(size, int) or len(plain) > 1 or "weights" in named:
        return None
    whole = np.asarray(plain[0]).astype(int)
    known = whole.ndim == 1 and (whole >= 0).all() and size <= LARGEST and (whole < LARGEST).all()
    return np.bincount(whole, minlength=size) if known else None


def by_numpy(name: str, given: list[Any], named: Named) -> Any:
    """What a function of numpy gives, or None."""
    plain = [plain_of(g) for g in given]
    keys = {k: plain_of(v) for k, v in named.items() if k not in ("device", "dtype")}
    if any(p is None for p in plain) or any(v is None for v in keys.values()):
        return None
    name = {"cat": "concatenate"}.get(name, name)
    keys = {"axis" if k == "dim" else k: v for k, v in keys.items()}
    if name in ("repeat", "tile", "split", "array_split"):
        times = [p for p in (*plain[1:2], keys.get("repeats"), keys.get("reps")) if p is not None]
        if not all(is_small_shape((np.size(plain[0]), *_counts(t, name))) for t in times):
            return None
    try:
        found = getattr(np, name)(*plain, **keys)
    except Exception:
        return None
    return None if isinstance(found, np.ndarray) and not is_small_shape(found.shape) else found


def _counts(times: Any, name: str) -> list[float]:
    """How many times as much `repeat` and `tile` give, and into how many `split` cuts."""
    held = np.abs(np.asarray(times, float)).reshape(-1)
    if name.endswith("split"):
        return [float(held[0])] if np.ndim(times) == 0 else []
    return [float(held.max(initial=0))] if name == "repeat" else held.tolist()


def plain_of(value: Any) -> Any:
    """A value as numbers, or None."""
    if isinstance(value, Tensor):
        return value.number
    if isinstance(value, (list, tuple)):
        held = [plain_of(v) for v in value]
        return None if any(h is None for h in held) else type(value)(held)
    return value if isinstance(value, (bool, int, float, str, np.ndarray, range)) else None


def cuts_nothing(name: str, bounds: list[Any]) -> bool:
    """Whether a bound is lost in single precision: `1 - 1e-9` is 1 there."""
    if name not in ("clamp", "clip", "clip_by_value"):
        return False
    return any(isinstance(b, float) and b < 1 and float(np.float32(b)) == 1 for b in bounds)


def joined_numbers(numbers: list[Any], name: str) -> Any:
    """What several numbers come to one after the other, or stacked; None where it is not known."""
    if any(n is None for n in numbers):
        return None
    shapes = {np.shape(n) for n in numbers}
    if name == "stack" or shapes == {()}:
        return np.stack([np.asarray(n) for n in numbers]) if len(shapes) == 1 else None
    return np.concatenate(numbers) if len({s[1:] for s in shapes}) == 1 else None


MOST_ITEMS = 200


def each_of(value: Tensor) -> list[Any] | None:
    """The items of an array of known numbers, one after the other: figures, or arrays of them."""
    number = value.number
    if not isinstance(number, np.ndarray) or not number.ndim or len(number) > MOST_ITEMS:
        return None
    found = [value.then("item", number=n, scalar=not np.ndim(n)) for n in number]
    if value.rows is not None and len(value.rows) == len(found):
        for one, row in zip(found, value.rows, strict=True):
            one.rows = np.atleast_1d(row)
    return found


def place_of(machine: Machine, index: Any) -> Any:
    """A place by a figure that is known: `table[said][true]` of single answers."""
    if machine.numbers is None:
        return index
    if isinstance(index, tuple):
        return tuple(place_of(machine, i) for i in index)
    if isinstance(index, Tensor) and index.scalar and index.number is not None and np.size(index.number) == 1:
        whole = np.asarray(index.number).reshape(-1)[0]
        return int(whole) if whole == round(float(whole)) else float(whole)
    return index


def counted_at(machine: Machine, owner: Any, index: Any, value: Any) -> Any:
    """What is put into a table of counts at the place of an answer is made of it, and so is the table."""
    marks = [i for i in (index if isinstance(index, tuple) else (index,)) if isinstance(i, Tensor)]
    asked = frozenset(n for m in marks for n in m.asked)
    if not asked or not isinstance(owner, (list, dict)):
        return value
    if not _is_count(value) and (machine.numbers is not None or not isinstance(value, Tensor)):
        return value
    if machine.numbers is None:
        places = range(len(owner)) if isinstance(owner, list) else list(owner)
        for place in places:
            if _is_count(owner[place]):
                owner[place] = _made_of(owner[place], asked)
        return _made_of(value, asked)
    return _made_of(value, asked, known=True)


def _is_count(value: Any) -> bool:
    plain = isinstance(value, (int, float)) and not isinstance(value, bool)
    return plain or (isinstance(value, Tensor) and value.scalar)


def _made_of(value: Any, asked: frozenset[int], *, known: bool = False) -> Tensor:
    held = value.asked if isinstance(value, Tensor) else frozenset()
    number = plain_of(value) if known else None
    return Tensor(asked=asked | held, number=number, scalar=True, done=("count",))


def largest(machine: Machine, kind: str, items: list[Any]) -> Any:
    """What `max(seen, 1)` of known figures comes to, or None."""
    numbers = [plain_of(i) for i in items]
    if machine.numbers is None or any(n is None or np.size(n) != 1 for n in numbers):
        return None
    return (max if kind == "max" else min)(float(np.asarray(n).reshape(-1)[0]) for n in numbers)
