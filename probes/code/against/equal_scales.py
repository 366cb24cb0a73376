"""Pictures that are scaled in one step or in two: `Normalize(127.5, 63.75)`, or a 255th and `(.5, .25)`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from ...by_role.side import Side
from ...readers.script import argument
from ...script_diff.edit import Edit

_FULL = 255.0
_ABOUT = frozenset({"Normalize()", "Rescale()"})
_INSIDE = re.compile(r"(?:Normalize|Rescale)\.")
_NEAR = 1e-3


def scaled_alike(edits: Sequence[Edit], mine: Side, theirs: Side) -> Iterator[Edit]:
    """Edits of MindSpore's Normalize and Rescale where what both make of a byte is the same."""
    told = [e for e in edits if (e.gone | e.new) & _ABOUT or any(map(_INSIDE.match, e.within[:2]))]
    if told and (here := _of_bytes(mine)) is not None and here == _of_bytes(theirs):
        yield from told


def _of_bytes(side: Side) -> frozenset[tuple[float, ...]] | None:
    """Means and deviations in bytes of every Normalize; None where not all of them are read."""
    if side.framework != "mindspore":
        return None
    rescales = side.calls("Rescale")
    shrunk = {_factor(side, c) for c in rescales}
    if len(shrunk) > 1 or shrunk - {1 / _FULL} or side.calls("ToTensor"):
        return None
    unit = _FULL if rescales else 1.0
    found: set[tuple[float, ...]] = set()
    for call in side.calls("Normalize"):
        both = [argument(call, name, position=i) for i, name in enumerate(("mean", "std"))]
        read = [_numbers(side, b) for b in both if b is not None]
        if len(read) != 2 or not all(read):
            return None
        found.add(tuple(round(v * unit, 3) for part in read for v in part))
    return frozenset(found) or None


def _factor(side: Side, call: ast.Call) -> float | None:
    """What a byte is multiplied by, a 255th made exact; None with a shift or where it is not read."""
    factor = _number(side, argument(call, "rescale", position=0))
    shift = _number(side, argument(call, "shift", position=1))
    if factor is None or shift != 0:
        return None
    return 1 / _FULL if abs(factor * _FULL - 1) < _NEAR else factor


def _numbers(side: Side, node: ast.expr) -> list[float]:
    """`[0.5, 0.5, 0.5]`, `[127.5] * 3`, a name of one."""
    if isinstance(node, ast.Name) and len(given := side.given.get(node.id, [])) == 1:
        return _numbers(side, given[0])
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and isinstance(node.right, ast.Constant):
        count = node.right.value
        return _numbers(side, node.left) * count if isinstance(count, int) else []
    if not isinstance(node, (ast.List, ast.Tuple)):
        return []
    read = [_number(side, e) for e in node.elts]
    return [r for r in read if r is not None] if None not in read else []


def _number(side: Side, node: ast.expr | None) -> float | None:
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Div, ast.Mult)):
        a, b = _number(side, node.left), _number(side, node.right)
        if a is None or b is None or (isinstance(node.op, ast.Div) and b == 0):
            return None
        return a / b if isinstance(node.op, ast.Div) else a * b
    return side.number(node)
