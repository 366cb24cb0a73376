"""The share of all samples that training gets of a split, in scripts."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of
from ...readers.script import keyword
from ...registry import Finding
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.row_sets import ROWS
from ..shared.sides import literal, side
from ..splits.rows_met import sided
from .few import meant

# a twentieth: who learns from so few of the samples at hand does so on purpose, and says so
SHARE = 0.05
_ON_PURPOSE = re.compile(
    r"(?i)few.?shot|semi.?super|unlabel|labeled|pseudo|distill|label_rate|coreset|active.?learn|budget|subsampl"
    r"|linear.?prob|calibrat|n_shots?"
)


def few_of_all(source: Script) -> Finding | None:
    """`train_test_split(x, test_size=0.98)`, `train = rows[: int(0.02 * n)]`: nearly all is held back."""
    found = _by_splitter(source) or _by_slices(source)
    if found is None or _ON_PURPOSE.search(source.code):
        return None
    return at(source, found, "training gets at most a twentieth of the samples")


def _by_splitter(source: Script) -> ast.AST | None:
    for call in source.named("train_test_split"):
        held, kept = (literal(source, keyword(call, word)) for word in ("test_size", "train_size"))
        statement = source.statement(call)
        targets = statement.targets[0] if isinstance(statement, ast.Assign) else None
        names = targets.elts if isinstance(targets, ast.Tuple) else []
        if not names or side(ast.unparse(names[0])) is not True or meant(source, call):
            continue
        if any(
            isinstance(v, float) and low <= v <= high for v, low, high in ((held, 0.95, 1), (kept, 0, 0.05))
        ):
            return call
    return None


def _by_slices(source: Script) -> ast.AST | None:
    parts = sided(source)
    mine, held = [p for p in parts if p.learns], [p for p in parts if not p.learns]
    small = [p for p in mine if 0 < len(p.rows.rows) <= SHARE * ROWS and "|" not in p.rows.table]
    if not small or len(small) < len(mine) or not held:
        return None
    one = small[0]
    apart = any(h.rows.table == one.rows.table and not h.rows.rows & one.rows.rows for h in held)
    return one.node if apart and not meant(source, one.node) and not _counted(source, one.node) else None


def _counted(source: Script, node: ast.AST) -> bool:
    """`rows[:50]`: how large a share that is depends on the data."""
    bounds = [b for s in of(node, ast.Slice) for b in (s.lower, s.upper) if b is not None]
    return any(isinstance(value, int) and value for value in (literal(source, b) for b in bounds))
