"""Parts of a date in scripts that are put on a circle: its turn is as long as that part's own."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.sides import literal

# the last word that names a part of a date, and the turns that it may have
_TURNS: tuple[tuple[str, frozenset[float]], ...] = (
    (r"day_?of_?year|doy|yday", frozenset((365.0, 366.0, 365.25, 365.2425, 364.0))),
    (r"day_?of_?week|week_?day|dow", frozenset((7.0, 5.0, 6.0))),
    (r"hours?|hr", frozenset((24.0, 12.0, 23.0, 168.0, 8760.0, 8766.0, 6.0, 8.0))),
    (r"months?", frozenset((12.0, 3.0, 4.0, 6.0, 11.0))),
)


def turn_of_another_part(source: Script) -> Finding | None:
    """`np.sin(2 * np.pi * hour / 365)`: hours have come round after 24, and this never turns."""
    for call in source.named("sin", "cos"):
        for node in of(call, ast.BinOp):
            if not isinstance(node.op, ast.Div) or "pi" not in unparse(node.left):
                continue
            turn = literal(source, node.right)
            part = _part(source, node.left)
            if part is None or not isinstance(turn, (int, float)) or isinstance(turn, bool):
                continue
            name, known = part
            others = {t for p, turns in _TURNS for t in turns if turns is not known}
            if float(turn) not in known and float(turn) in others:
                return at(source, node, f"{name} is put on a circle of {turn:g}, which it never goes round")
    return None


def _part(source: Script, node: ast.expr) -> tuple[str, frozenset[float]] | None:
    """The one part of a date in an angle, by its name or by what it is given."""
    found = []
    for one in of(node, ast.Name, ast.Attribute, ast.Subscript):
        text = last_name(one) if not isinstance(one, ast.Subscript) else str(literal(source, one.slice))
        for pattern, turns in _TURNS:
            if re.fullmatch(rf"(?i)(?:.*_)?(?:{pattern})", text):
                found.append((text, turns))
                break
    told = {id(turns) for _, turns in found}
    if len(told) != 1:
        return None
    for name in of(node, ast.Name):
        given = flow(source).given(name)
        if given is not None and re.search(r"\*|\+|//|minute", unparse(given.value)):
            return None  # hours and minutes, days and hours
    return found[0] if "+" not in unparse(node) and "minute" not in unparse(node) else None
