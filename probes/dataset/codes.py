"""Numbers that stand for a missing value: they repeat, look like a code and lie apart from all the others."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..run import Floats
from .model import Column

LEAST = 3  # times that a code repeats among the values looked at
DISTINCT = 20  # different values beside it: of few there is no telling what is apart
SHARE = 0.002
ZEROS = 0.05  # a larger share of zeros is a quantity that is often nothing
# 8-, 16- and 32-bit limits, and what netCDF, GIS and Fortran programs write where nothing was measured.
_LIMITS = frozenset([-128.0, -32768.0, 32767.0, 65535.0, -2147483648.0, 2147483647.0, 1e20, -1e20, 1e30])
_FILLS = (9.96921e36, -3.4028235e38, 3.4028235e38)


@dataclass(frozen=True, slots=True)
class Code:
    """A value that stands for none: how many of the values looked at it makes up."""

    value: float
    share: float


def _by_look(value: float) -> bool:
    """Whether a number is one written for "no value": all nines, all eights, a limit of its type."""
    digits = f"{abs(value):.0f}" if abs(value) < 1e9 and value == round(value) else ""
    same = len(digits) >= 2 and set(digits) in ({"9"}, {"8"})
    return same or value in _LIMITS or any(abs(value / f - 1) < 1e-4 for f in _FILLS)


def _is_code(value: float, others: Floats, share: float) -> bool:
    """Whether a value at one end of a column stands for none; `others` are sorted and hold it no more."""
    low, high = float(others[0]), float(others[-1])
    gap = low - value if value < low else value - high
    width = max(high - low, 1e-300)
    if value == 0:
        spread = float(np.quantile(others, 0.75) - np.quantile(others, 0.25)) / 1.349
        return share <= ZEROS and gap >= 2 * spread > 0
    if value < 0 <= low and value == round(value):
        # The one negative number of a column that has no others.
        return (value in (-1.0, -9.0) and high >= DISTINCT) or _by_look(value) or gap >= 2 * width
    if _by_look(value):
        return gap >= width or (abs(value) >= 999 and gap >= 0.5 * width and value < low)
    return value < 0 and value == round(value) and gap >= 3 * width


def codes_of(values: Floats) -> tuple[Code, ...]:
    """Return the codes among a sample of a column's finite values, at most two at either end."""
    count = len(values)
    kinds, times = np.unique(values, return_counts=True)
    found: list[Code] = []
    for _ in range(2):
        for at in (0, -1):
            if len(kinds) <= DISTINCT:
                break
            value, n = float(kinds[at]), int(times[at])
            rest = slice(1, None) if at == 0 else slice(None, -1)
            if n < max(LEAST, SHARE * count):
                continue
            if _is_code(value, np.repeat(kinds[rest], times[rest]), n / count):
                found.append(Code(value, n / count))
                kinds, times = kinds[rest], times[rest]
    return tuple(found)


def apart(column: Column) -> Column:
    """Return a column of numbers with its codes named and left out of its values and statistics.

    Mean, deviation and range are then those of the sample of the values that is kept.
    """
    found = codes_of(column.values) if column.number and not column.constant else ()
    if not found:
        return column
    values = column.values[~np.isin(column.values, [c.value for c in found])]
    low, high = float(values.min()), float(values.max())
    return replace(
        column,
        values=values,
        mean=float(values.mean()),
        std=float(values.std()),
        low=low,
        high=high,
        low_at=column.low_at if low == column.low else None,
        high_at=column.high_at if high == column.high else None,
        codes=tuple((c.value, c.share) for c in found),
        code_at=column.low_at if column.low == found[0].value else column.high_at,
    )
