"""Along which axis a function of arrays works, by what it is given."""

from __future__ import annotations

from typing import Any

from ..values import Frame, Series, Tensor


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


BELOW = "stacked"  # what is done to samples that are put one under the other
_SIDE_BY_SIDE = ("stack", "column_stack", "get_dummies", "c_")
# what leaves a table the table that it is
_AS_IT_IS = frozenset(
    [
        *("part", "to_numpy", "values", "astype", "float32", "float", "double", "numpy", "from_numpy"),
        *("tensor", "array", "asarray", "dropna", "fillna", BELOW),
    ]
)


def over_columns(held: Tensor, given: list[Any], named: dict[str, Any]) -> bool:
    """Whether one figure is taken of all columns of a table that stand for different things."""
    if (
        isinstance(held, (Series, Frame))
        or held.form
        or named
        or len([g for g in given if not isinstance(g, Tensor)])
    ):
        return False
    columns = {h.partition("#")[2] for h in held.held if "#" in h}
    named_apart = len(columns) > 1 and not any(c[:1] in ("*", "?", "!") for c in columns)
    at = max((i for i, d in enumerate(held.done) if d in _SIDE_BY_SIDE), default=-1)
    return (named_apart or at >= 0) and _AS_IT_IS.issuperset(held.done[at + 1 :])
