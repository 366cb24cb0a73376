"""The figures that a statistics dump would have recorded, measured where a dump holds values instead.

MindSpore on a CPU dumps values alone, on an accelerator often statistics alone: so the two can be compared.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from .model import Statistics, Tensor


def with_figures(tensor: Tensor, other: Tensor) -> Tensor:
    """`tensor` with its values measured, where `other` has nothing but figures to hold against them."""
    if (
        tensor.stored is None
        or tensor.statistics.known
        or other.stored is not None
        or not other.statistics.known
    ):
        return tensor
    try:
        return replace(tensor, statistics=_measured(tensor))
    except (OSError, ValueError, EOFError):
        return tensor


def _measured(tensor: Tensor) -> Statistics:
    """Extremes, mean and norm as PyTorch and NumPy have them: one NaN makes all of them NaN."""
    low, high, total, squares, nan, inf, zero = math.inf, -math.inf, 0.0, 0.0, 0, 0, 0
    for block in tensor.blocks() or ():
        with np.errstate(all="ignore"):
            wide = block.astype(np.float64)
            low, high = min(low, float(np.fmin.reduce(wide))), max(high, float(np.fmax.reduce(wide)))
            total += float(wide.sum())
            squares += float(np.dot(wide, wide))
            nan += int(np.isnan(wide).sum())
            inf += int(np.isinf(wide).sum())
            zero += int((wide == 0).sum())
    if not tensor.count:
        return Statistics()
    mean, norm = total / tensor.count, math.sqrt(squares) if squares >= 0 else math.nan
    if nan:
        return Statistics(math.nan, math.nan, math.nan, math.nan, nan, inf, zero)
    return Statistics(low, high, mean, norm, nan, inf, zero)
