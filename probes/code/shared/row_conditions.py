"""Which rows a condition chooses, and the numbers and sets of numbers that conditions and slices are made of.

Every table of the stand-in has ROWS rows. What cannot be told is None, as in `rows`.
"""

from __future__ import annotations

import ast
import re
import zlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...scripts.flow import flow
from ...scripts.operators import COMPARISONS
from ...scripts.syntax import Script
from .checks import extractor
from .nodes import is_negative
from .row_sets import ALL, ROUNDS, ROWS, Rows, index, joined, worked_out

Known = Rows | float | ast.Lambda | None
Env = Mapping[tuple[ast.AST, str], Known]


class Asked(Protocol):
    """Who knows the rows of expressions, and what parameters are bound to in the call that is followed."""

    source: Script
    cut: int

    def rows_in(self, node: ast.expr, env: Env, depth: int) -> Rows | None:
        """The rows that an expression holds; None where that cannot be told."""

    def bound(self, node: ast.expr, env: Env) -> tuple[bool, Known]:
        """Whether a name is bound in that call, and to what."""


def condition(
    reader: Asked, test: ast.expr, name: str, held: Rows | None, env: Env, depth: int
) -> Rows | None:
    """The rows for which a condition holds: of the groups or the column that it asks about."""
    if depth <= 0:
        reader.cut += 1
        return None

    def again(inner: ast.expr) -> Rows | None:
        return condition(reader, inner, name, held, env, depth - 1)

    if isinstance(test, ast.UnaryOp) and isinstance(test.op, (ast.Not, ast.Invert)):
        inner = again(test.operand)
        return None if inner is None else replace(inner, rows=ALL - inner.rows)
    if isinstance(test, ast.BoolOp):
        return joined([again(v) for v in test.values], isinstance(test.op, ast.And))
    if isinstance(test, ast.BinOp) and isinstance(test.op, (ast.BitAnd, ast.BitOr)):
        return joined([again(test.left), again(test.right)], isinstance(test.op, ast.BitAnd))
    if isinstance(test, ast.Name):
        given = flow(reader.source).all_given(test)
        if (
            len(given) == 1
            and not given[0].places
            and isinstance(given[0].value, (ast.Compare, ast.UnaryOp, ast.BoolOp, ast.BinOp, ast.Call))
        ):
            return again(given[0].value)
        return None
    if isinstance(test, ast.Call) and isinstance(test.func, ast.Name):
        asked = reader.bound(test.func, env)[1]
        return again(asked.body) if isinstance(asked, ast.Lambda) else None
    if isinstance(test, ast.Call) and last_name(test.func) in ("isin", "is_in") and test.args:
        return _members(reader, test.args[-1], test.func, held, env, depth)
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return _compared(reader, test, held, env, depth)
    return None


def _members(
    reader: Asked, group: ast.expr, about: ast.expr, held: Rows | None, env: Env, depth: int
) -> Rows | None:
    numbers = set_of(reader, group, env, depth)
    if numbers is not None:
        return _column(about, held, numbers)
    return reader.rows_in(group, env, depth - 1)


def _column(about: ast.expr, held: Rows | None, rows: frozenset[int]) -> Rows | None:
    if held is None:
        return None
    text = re.sub(r"^\w+", "_", unparse(about)) if isinstance(about, (ast.Subscript, ast.Attribute)) else ""
    text = text or unparse(about)
    return Rows(f"{held.table}|{text}", rows, held.root or held.table, held.made_in)


def _compared(reader: Asked, test: ast.Compare, held: Rows | None, env: Env, depth: int) -> Rows | None:
    left, right, op = test.left, test.comparators[0], test.ops[0]
    if isinstance(op, (ast.In, ast.NotIn)):
        found = _members(reader, right, left, held, env, depth)
        return found if found is None or isinstance(op, ast.In) else replace(found, rows=ALL - found.rows)
    if isinstance(left, ast.Constant):
        return None
    value = number(reader, right, env, depth - 1)
    if value is None and isinstance(right, ast.Constant) and isinstance(right.value, str):
        value = float(sum(ord(c) * ROWS / 128 ** (i + 1) for i, c in enumerate(right.value[:8])))
        if isinstance(op, (ast.Eq, ast.NotEq)):
            value = None
    if value is None and any(reader.bound(n, env)[0] for n in of(right, ast.Name)):
        return None  # another value in each call: `mk("train")`, `mk("dev")`
    if value is None and isinstance(op, (ast.Eq, ast.NotEq)):
        value = float(zlib.crc32(unparse(right).encode()) % ROWS)
    if value is None or not 0 <= value < ROWS:
        return None
    holds = COMPARISONS.get(type(op))
    if holds is None:
        return None
    bound = value if isinstance(op, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)) else float(int(value))
    return _column(left, held, frozenset(i for i in ALL if holds(i, bound)))


def set_of(reader: Asked, node: ast.expr, env: Env, depth: int) -> frozenset[int] | None:
    """Small numbers or texts that are written out: `[8]`, `range(0, 8)`, `{"Savo"}`."""
    known, value = reader.bound(node, env)
    if known and isinstance(value, Rows) and value.table == "numbers":
        return value.rows
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        found = [index(e.value) if isinstance(e, ast.Constant) else None for e in node.elts]
        return None if None in found else frozenset(f for f in found if f is not None)
    if isinstance(node, ast.Call) and last_name(node.func) == "range":
        bounds = [number(reader, a, env, depth - 1) for a in node.args]
        if any(b is None for b in bounds):
            return None
        return frozenset(range(*(int(b or 0) for b in bounds))) & ALL
    if isinstance(node, ast.Call) and last_name(node.func) in ("set", "list", "tuple") and node.args:
        return set_of(reader, node.args[0], env, depth - 1)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.BitOr, ast.Add)):
        left, right = set_of(reader, node.left, env, depth - 1), set_of(reader, node.right, env, depth - 1)
        return None if left is None or right is None else left | right
    if isinstance(node, (ast.Name, ast.Attribute)) and depth > 0:
        given = flow(reader.source).all_given(node)
        if len(given) == 1 and not given[0].places:
            return set_of(reader, given[0].value, env, depth - 1)
    return None


def cut_somewhere(reader: Asked, call: ast.Call, env: Env, depth: int) -> bool:
    """`scale(rows[cut:], figures)`: how far a part goes is not known, and no other argument tells it."""
    parts = (a for a in call.args if isinstance(a, ast.Subscript) and isinstance(a.slice, ast.Slice))
    return any(reader.rows_in(a, env, depth - 1) is None for a in parts)


def number(reader: Asked, node: ast.expr, env: Env, depth: int) -> float | None:
    """The number behind a bound where every table has ROWS rows."""
    if depth <= 0:
        return None
    known, bound = reader.bound(node, env)
    if known:
        return bound if isinstance(bound, float) else None
    told, value, _ = extractor(reader.source).value(node)
    if told and isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    if isinstance(node, ast.Call):
        name = last_name(node.func)
        if name == "len" and node.args:
            about = reader.rows_in(node.args[0], env, depth - 1)
            return float(len(about.rows)) if about is not None else None
        given = [number(reader, a, env, depth - 1) for a in node.args]
        of_array = name in ("max", "min") and len(given) == 1  # the largest of what is no number
        if name in ROUNDS and given and all(g is not None for g in given) and not of_array:
            return float(ROUNDS[name](*given))  # type: ignore[operator]
        return None
    if isinstance(node, ast.Subscript) and unparse(node).endswith(".shape[0]"):
        return float(ROWS)
    if is_negative(node):
        inner = number(reader, node.operand, env, depth - 1)
        return None if inner is None else -inner
    if isinstance(node, ast.BinOp):
        return worked_out(
            node.op, number(reader, node.left, env, depth - 1), number(reader, node.right, env, depth - 1)
        )
    if isinstance(node, (ast.Name, ast.Attribute)):
        given_ = flow(reader.source).all_given(node)
        if len(given_) == 1 and not given_[0].places:
            return number(reader, given_[0].value, env, depth - 1)
        if len(given_) == 1 and isinstance(given_[0].value, ast.Tuple) and len(given_[0].places) == 1:
            return number(reader, given_[0].value.elts[given_[0].places[0]], env, depth - 1)
        handed = flow(reader.source).arguments(node) if not given_ else []
        return number(reader, handed[0], {}, depth - 1) if len(handed) == 1 else None
    return None


def ends_early(made: ast.expr, names: set[str]) -> bool:
    """`s[:-28] for s in series`, `s[-28:]`: the last steps of each are left off, or kept alone."""
    for part in of(made, ast.Subscript):
        if isinstance(part.slice, ast.Slice) and isinstance(part.value, ast.Name) and part.value.id in names:
            bounds = [b for b in (part.slice.lower, part.slice.upper) if b is not None]
            if any(isinstance(n.op, ast.USub) for b in bounds for n in of(b, ast.UnaryOp)):
                return True
    return False
