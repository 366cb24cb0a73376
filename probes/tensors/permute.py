"""Tensors that hold the same elements with their axes in another order: NCHW and NHWC, transposed weights."""

from __future__ import annotations

from dataclasses import replace

from .model import Tensor
from .stored import GATHERED, Stored

Order = tuple[int, ...]
# What frameworks do: images and their kernels with channels first or last, weights as (in, out) or (out, in),
# sequences as (time, batch, ...), heads before or behind time.
_USUAL: dict[int, tuple[Order, ...]] = {
    2: ((1, 0),),
    3: ((0, 2, 1), (1, 0, 2)),
    4: ((0, 2, 3, 1), (0, 3, 1, 2), (2, 3, 1, 0), (3, 2, 0, 1), (0, 2, 1, 3), (1, 0, 2, 3)),
    5: ((0, 2, 3, 4, 1), (0, 4, 1, 2, 3), (2, 3, 4, 1, 0), (4, 3, 0, 1, 2)),
}


def orders(tensor: Tensor, other: Tensor) -> list[Order]:
    """The usual orders of axes in which a tensor has the shape of the other (the one it has left out)."""
    shape = tensor.shape
    return [o for o in _USUAL.get(len(shape), ()) if tuple(shape[i] for i in o) == other.shape]


def reordered(stored: Stored, order: Order) -> Stored | None:
    """The elements with their axes in that order; None where they are too many to be read as a whole."""
    if stored.count * stored.storage.itemsize > GATHERED or len(order) != len(stored.shape):
        return None
    axes = stored.axes
    return replace(
        stored,
        shape=tuple(stored.shape[i] for i in order),
        strides=None,
        blocked=tuple(axes[i] for i in order),
    )
