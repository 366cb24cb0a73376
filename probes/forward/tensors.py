"""Tensors of a network that is worked out, and what PyTorch's functions and methods make of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..by_hand.sizes import TooLong, Unfit

Array = np.ndarray
Function = Callable[..., Any]
LARGEST = 2_000_000  # numbers in one tensor
ROOM = 30_000_000  # numbers that one question makes in all
FLOPS = 8e8  # products that one question takes


class Mismatch(Unfit):
    """Something is given so many times fewer features, or places, than it takes."""

    def __init__(self, ratio: float) -> None:
        super().__init__()
        self.ratio = ratio


class Room:
    """What one question may still make."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """A new question."""
        self.numbers, self.products = float(ROOM), FLOPS
        self.attended = False  # places were weighed by shares over places
        self.packed = False  # rows were packed by their lengths, which are not looked at

    def take(self, numbers: float, products: float = 0.0) -> None:
        """Take room for numbers and products.

        Raises TooLong.
        """
        self.numbers -= numbers
        self.products -= products
        if numbers > LARGEST or self.numbers < 0 or self.products < 0:
            raise TooLong


class Tensor:
    """A tensor: its numbers. Operators make new ones; sizes are asked for before anything is made."""

    __slots__ = ("a", "room")
    __hash__ = object.__hash__

    def __init__(self, a: Any, room: Room) -> None:
        self.a = np.asarray(a)
        self.room = room
        room.take(self.a.size)

    def like(self, a: Any) -> Tensor:
        """Another tensor in the same room."""
        return Tensor(a, self.room)

    @property
    def shape(self) -> tuple[int, ...]:
        """Its sizes."""
        return self.a.shape

    def __len__(self) -> int:
        return len(self.a)

    def __getitem__(self, at: Any) -> Tensor:
        return self.like(self.a[_place(at)])

    def __setitem__(self, at: Any, value: Any) -> None:
        self.a[_place(at)] = array(value)

    def __bool__(self) -> bool:
        if self.a.size != 1:
            raise Unfit
        return bool(self.a)

    def __int__(self) -> int:
        return int(self.a.reshape(-1)[0]) if self.a.size == 1 else self._one()

    def __float__(self) -> float:
        return float(self.a.reshape(-1)[0]) if self.a.size == 1 else self._one()

    __index__ = __int__

    @staticmethod
    def _one() -> Any:
        raise Unfit

    def __neg__(self) -> Tensor:
        return self.like(-self.a)

    def __invert__(self) -> Tensor:
        return self.like(~self.a)

    def __matmul__(self, other: Any) -> Tensor:
        return matmul(self, other)

    def with_(self, other: Any, step: Callable[[Any, Any], Any], turned: bool = False) -> Tensor:
        """This one and another one, or a number, under an operator. Raises Unfit."""
        if not isinstance(other, (Tensor, int, float, bool, np.generic)):
            raise Unfit
        b = array(other)
        try:
            self.room.take(math.prod(np.broadcast_shapes(self.a.shape, b.shape)))
        except ValueError as odd:
            both = zip(self.a.shape[::-1], b.shape[::-1], strict=False)
            apart = [(m, n) for m, n in both if m != n and 1 not in (m, n)]
            raise (Mismatch(apart[0][1] / max(apart[0][0], 1)) if len(apart) == 1 else Unfit()) from odd
        return self.like(step(b, self.a) if turned else step(self.a, b))


def _operator(step: Callable[[Any, Any], Any], turned: bool = False) -> Any:
    def ask(self: Tensor, other: Any) -> Any:
        return self.with_(other, step, turned)

    return ask


for _name, _step in {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "truediv": np.true_divide,
    "pow": np.power,
    "floordiv": np.floor_divide,
    "mod": np.remainder,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}.items():
    setattr(Tensor, f"__{_name}__", _operator(_step))
    setattr(Tensor, f"__r{_name}__", _operator(_step, turned=True))
for _name, _step in {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}.items():
    setattr(Tensor, f"__{_name}__", _operator(_step))


def array(value: Any) -> Array:
    """The numbers of a tensor, or of a number."""
    return value.a if isinstance(value, Tensor) else np.asarray(value)


def _place(at: Any) -> Any:
    if isinstance(at, tuple):
        return tuple(_place(a) for a in at)
    if isinstance(at, list):
        return [_place(a) for a in at]
    if isinstance(at, Tensor):
        return at.a if at.a.dtype == bool else at.a.astype(int)
    return at


def sizes_of(given: Sequence[Any]) -> tuple[int, ...]:
    """`(2, 3)` and `((2, 3),)` -> 2, 3."""
    held = given[0] if len(given) == 1 and isinstance(given[0], (tuple, list)) else given
    return tuple(int(array(s)) for s in held)


def axis_of(given: Sequence[Any], named: dict[str, Any], name: str = "dim") -> Any:
    """The axis that a function is given, by place or by name; None where there is none."""
    found = named.get(name, named.get("axis", given[0] if given else None))
    return tuple(int(f) for f in found) if isinstance(found, (tuple, list)) else found


def matmul(a: Tensor, b: Tensor) -> Tensor:
    """`a @ b`."""
    x, y = array(a), array(b)
    if not x.ndim or not y.ndim:
        raise Unfit
    rows = math.prod(np.broadcast_shapes(x.shape[:-2], y.shape[:-2]))
    most = max(x.shape[-2] if x.ndim > 1 else 1, 1) * (y.shape[-1] if y.ndim > 1 else 1)
    a.room.take(rows * most, rows * most * x.shape[-1])
    x, y = (v if v.dtype.kind == "f" else v.astype(float) for v in (x, y))
    if y.ndim == 2 and x.ndim > 2 and x.shape[-1] == y.shape[0]:
        return a.like(
            (x.reshape(-1, x.shape[-1]) @ y).reshape(*x.shape[:-1], y.shape[1])
        )  # one product, not many
    return a.like(x @ y)
