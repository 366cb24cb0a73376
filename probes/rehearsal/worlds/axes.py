"""Along which axis a function of arrays works, by what it is given."""

from __future__ import annotations

from typing import Any


def beside(given: list[Any], named: dict[str, Any]) -> bool:
    """Whether arrays are put side by side, row by row."""
    axis = named.get("dim", named.get("axis", given[1] if len(given) > 1 else 0))
    return isinstance(axis, int) and axis != 0


def along(given: list[Any], named: dict[str, Any]) -> bool:
    """Whether a function of many numbers is taken along an axis."""
    if any(k in named and named[k] is not None for k in ("dim", "axis")):
        return True
    return any(isinstance(g, (int, tuple, list)) and not isinstance(g, bool) for g in given[1:2])


def along_rows(given: list[Any], named: dict[str, Any], place: int) -> bool:
    """Whether a figure is taken over the rows, not of each of them."""
    axis = named.get("dim", named.get("axis"))
    rest = given[place:]
    if axis is None and rest and isinstance(rest[-1], (int, tuple, list)) and not isinstance(rest[-1], bool):
        axis = rest[-1]
    if axis is None:
        return True
    return 0 in axis if isinstance(axis, (tuple, list)) else axis in (0, "index")
