"""Counts that two scripts write in different ways and that come out alike: `ceil(a / b)` and `a // b`."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from ...script_diff.edit import Edit
from ...scripts.syntax import Script
from ..shared.numbers import Numbers, Unknown

_SIZES = (40_000.0, 90_000.0, 700_000.0)  # samples of a data set
_ALIKE = 0.02  # of a count: batches of an epoch differ by one


def counts_alike(edits: Iterable[Edit], mine: Script, theirs: Script) -> frozenset[Edit]:
    """Edits of a line that gives the same name a number, and the numbers of both differ by rounding alone."""
    return frozenset(
        e
        for e in edits
        if e.mine is not None and e.theirs is not None and e.mine_code and e.theirs_code
        if _alike(_line(mine, e.mine.line), _line(theirs, e.theirs.line), mine, theirs)
    )


def _line(source: Script, line: int | None) -> ast.Assign | None:
    found = [n for n in source.of(ast.Assign) if n.lineno == line and len(n.targets) == 1]
    return found[0] if len(found) == 1 else None


def _alike(here: ast.Assign | None, there: ast.Assign | None, mine: Script, theirs: Script) -> bool:
    if here is None or there is None or ast.dump(here.targets[0]) != ast.dump(there.targets[0]):
        return False
    if not isinstance(here.value, (ast.BinOp, ast.Call, ast.UnaryOp)):
        return False
    for size in _SIZES:
        one, other = Numbers(mine, size), Numbers(theirs, size)
        try:
            a, b = one.of(here.value), other.of(there.value)
        except (Unknown, RecursionError, OverflowError):
            return False
        counted = any(u.startswith("len(") for u in one.unknown)  # rates and shares are told exactly
        if not counted or one.unknown != other.unknown or min(a, b) <= 10:
            return False
        if abs(a - b) > _ALIKE * max(a, b):
            return False
    return True
