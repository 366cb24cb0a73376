"""In which unit a value is: by what statistics of the data it was moved and divided, and brought back."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .values import Tensor

Step = tuple[str, frozenset[int]]
Units = tuple[Step, ...]

OWN = -1  # stands for the number of a statistic that a sample has of itself
MOST = 12

_BACK = {
    "sub": "add",
    "add": "sub",
    "div": "mul",
    "mul": "div",
    "transform": "back",
    "back": "transform",
    "log": "exp",
    "exp": "log",
    "log1p": "expm1",
    "expm1": "log1p",
}
_ARITHMETIC = ("sub", "add", "div", "mul")
_CURVED = ("log", "exp", "log1p", "expm1")
_OF_ITSELF = ("mean", "std", "var", "amax", "amin", "max", "min", "item", "clip", "clamp", "add", "sqrt")
_STATISTICS = frozenset(("mean", "std", "var", "amax", "amin"))


def of_joined(name: str, found: list[Tensor]) -> Units:
    """The unit of what is made of these by something that is done to them."""
    base = next((t for t in found if t.rows is not None or t.asked), found[0] if found else None)
    if base is None:
        return ()
    if name in _CURVED:
        return stepped(base.units, (name, frozenset()))
    if name not in _ARITHMETIC or len(found) != 2:
        return base.units
    other = found[1] if base is found[0] else found[0]
    if base is not found[0] and name in ("sub", "div"):
        return base.units  # the figure itself is made of it
    if other.rows is None and not other.asked and other.fits:
        return stepped(base.units, (name, other.fits))
    if not (other.asked or base.asked) and _of_itself(other):
        return stepped(base.units, (name, frozenset((OWN,))))
    return base.units


def stepped(units: Units, step: Step) -> Units:
    """A unit after one more step."""
    return units if len(units) > MOST else (*units, step)


def unknown(name: str) -> Step:
    """Something that is not known was done."""
    return f"?{name}", frozenset()


def plain(units: Units) -> Units:
    """A unit without what was done and undone."""
    left: list[Step] = []
    for name, fits in units:
        if left and left[-1] == (_BACK.get(name), fits):
            left.pop()
        else:
            left.append((name, fits))
    return tuple(left)


def undone(units: Units) -> Units:
    """What takes a unit back."""
    return tuple((_BACK.get(name, "?"), fits) for name, fits in reversed(units))


def known(units: Units) -> bool:
    """Whether nothing unknown was done, nor anything by a sample's own figures."""
    return len(units) <= MOST and not any(name[:1] == "?" or OWN in fits for name, fits in units)


def _of_itself(one: Tensor) -> bool:
    """A figure that a sample has of itself."""
    last = one.done[-3:]
    return bool(_STATISTICS & set(last)) and last[-1] in _OF_ITSELF
