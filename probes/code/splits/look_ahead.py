"""Columns of tables that hold later rows, or the row that is to be told, and stand among the inputs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse
from ...readers.script import argument, keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at, ok
from ..shared.nodes import is_true
from ..shared.sides import literal

_WINDOWS = ("rolling", "expanding", "ewm", "cumsum", "cummax", "diff", "pct_change")
_AS_NUMBERS = ("values", "to_numpy")
_TAKES = ("tensor", "as_tensor", "from_numpy", "array", "asarray", "float32")
_PAST = re.compile(r"(?i)(?:^|_)(?:lag|prev|previous|past|last|before|hist|history|yesterday|ago)(?:\d|_|$)")
_SCALES = ("fit_transform", "transform")


def inputs_look_ahead(source: Script) -> Finding | None:
    """`df["lag"] = df["y"].shift(-1)`, `df["y"].rolling(7).mean()`: inputs hold it, and `y` is told.

    The inputs are a list of columns whose numbers are scaled or handed to a framework, and that the column
    that is told does not stand in. Other columns may be known ahead (`holiday`, `planned`): of those only
    what its name calls past is judged, and windows that end at the row itself are not.
    """
    if (own := _smoothed_over_later_rows(source)) is not None:
        return own
    made = dict(_made(source))
    if not made:
        return None
    seen: ast.AST | None = None
    for node in source.of(ast.Assign):
        columns, name = _strings(source, node.value), node.targets[0]
        if not columns or not isinstance(name, (ast.Name, ast.Attribute)) or not _is_read(source, name):
            continue
        everything = _told(source)
        told = everything - set(columns)
        if not everything or not set(columns) & set(made):
            continue
        seen = seen or node
        for column in columns:
            if column not in made or column in everything:
                continue
            statement, base = made[column]
            if (base in everything or _PAST.search(column)) and _steps_ahead(source, statement.value):
                return at(source, statement, f"`{column}` is an input and is computed from later rows")
            if base in told and base not in made and _holds_its_row(source, statement.value):
                return at(
                    source, statement, f"`{column}` is an input and holds the `{base}` that is to be told"
                )
    return ok(source, seen, "inputs are computed from earlier rows") if seen is not None else None


def _smoothed_over_later_rows(source: Script) -> Finding | None:
    """`table["load"] = table["load"].rolling(25, center=True).mean()` of a forecast, and `load` is read.

    A column that was there before is written anew from rows below, and stands in a list of columns that are
    read. What a script adds may be what is to be told: `table["next"] = table["load"].shift(-1)`.
    """
    if not _FORECASTS.search(source.code):
        return None
    for node in source.of(ast.Assign):
        target = node.targets[0]
        if not isinstance(target, ast.Subscript) or not _steps_ahead(source, node.value):
            continue
        column = literal(source, target.slice) if not isinstance(target.slice, ast.Tuple) else None
        before = [
            s
            for s in source.of(ast.Subscript)
            if unparse(s) == unparse(target) and isinstance(s.ctx, ast.Load) and s.lineno <= node.lineno
        ]
        if not isinstance(column, str) or not before:
            continue
        for listed in source.of(ast.Assign):
            columns, name = _strings(source, listed.value), listed.targets[0]
            plain = isinstance(name, (ast.Name, ast.Attribute))
            if plain and column in columns and len(columns) > 1 and _is_read(source, name):
                return at(source, node, f"`{column}` is an input and is computed from later rows")
    return None


_FORECASTS = re.compile(r"(?i)forecast|horizon|look_?back|\bwindow|seq_?len|context")


def _made(source: Script) -> Iterator[tuple[str, tuple[ast.Assign, str]]]:
    """Columns that are computed of one other, once: their statement, and of which."""
    found: dict[str, list[tuple[ast.Assign, str]]] = {}
    for node in source.of(ast.Assign):
        target = node.targets[0]
        if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
            if isinstance(target.slice.value, str) and isinstance(node.value, ast.Call):
                found.setdefault(target.slice.value, []).append((node, _base(source, node.value)))
    for name, makers in found.items():
        if len(makers) == 1 and makers[0][1]:
            yield name, makers[0]


def _base(source: Script, call: ast.Call) -> str:
    """The column that a chain of calls begins at: `by.shift(1)` of `by = df.groupby("who")["home"]`."""
    node: ast.expr = call
    for _ in range(8):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            node = node.func.value
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            return node.slice.value if isinstance(node.slice.value, str) else ""
        elif isinstance(node, ast.Name) and (given := flow(source).given(node)) is not None:
            node = given.value
        else:
            break
    return ""


def _strings(source: Script, node: ast.expr, depth: int = 3) -> list[str]:
    """The texts of a list; of `COLS + ["lag"]` those of both, where `COLS` is written out."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and depth:
        both = [_strings(source, n, depth - 1) for n in (node.left, node.right)]
        return both[0] + both[1] if all(both) else []
    if isinstance(node, ast.Name) and depth < 3:
        made = flow(source).all_given(node)
        return (
            _strings(source, made[0].value, depth - 1)
            if len(made) == 1 and depth and not made[0].places
            else []
        )
    parts = node.elts if isinstance(node, (ast.List, ast.Tuple)) else []
    texts = [p.value for p in parts if isinstance(p, ast.Constant) and isinstance(p.value, str)]
    return texts if len(texts) == len(parts) else []


def _is_read(source: Script, name: ast.expr) -> bool:
    """Rows of these columns become numbers: `table[cols].values`, `(part[cols] - mean) / std`."""
    text = unparse(name)
    for read in source.of(ast.Subscript):
        if isinstance(read.ctx, ast.Load) and _last_index(read) == text and _numbers(source, read):
            return True
    return False


def _last_index(read: ast.Subscript) -> str:
    """What picks the columns: `rows[cols]`, `rows.loc[mask, cols]`."""
    index = read.slice.elts[-1] if isinstance(read.slice, ast.Tuple) and read.slice.elts else read.slice
    return unparse(index)


def _numbers(source: Script, read: ast.expr) -> bool:
    inner: ast.AST = read
    for parent in source.above(read):
        if isinstance(parent, ast.Attribute) and parent.attr in _AS_NUMBERS:
            return True
        if isinstance(parent, ast.Call) and inner is not parent.func:
            return last_name(parent.func) in (*_TAKES, *_SCALES)
        if isinstance(parent, ast.BinOp) and parent.left is inner:
            return isinstance(parent.op, (ast.Sub, ast.Div))
        if not isinstance(parent, (ast.Attribute, ast.Call)):
            return False
        inner = parent
    return False


def _told(source: Script) -> set[str]:
    """Columns whose numbers are taken alone: `rows["y"].to_numpy()`, `np.log1p(rows["y"].values)`."""
    found: set[str] = set()
    for read in source.of(ast.Subscript):
        column = literal(source, read.slice) if not isinstance(read.slice, ast.Tuple) else None
        if isinstance(column, str) and isinstance(read.ctx, ast.Load) and _numbers(source, read):
            statement = source.statement(read)
            stored = isinstance(statement, ast.Assign) and any(
                isinstance(t, ast.Subscript) for t in statement.targets
            )
            if not stored:  # else it makes another column
                found.add(column)
    return found


def _steps_ahead(source: Script, value: ast.expr) -> bool:
    """`shift(-1)`, `rolling(5, center=True)`: rows below take part."""
    for call in of(value, ast.Call):
        name = last_name(call.func)
        centre = keyword(call, "center")
        if name == "rolling" and is_true(centre):
            return True
        if name in ("shift", "diff", "pct_change"):
            by = argument(call, "periods", position=0)
            steps = literal(source, by) if by is not None else None
            if isinstance(steps, (int, float)) and steps < 0:
                return True
    return False


def _holds_its_row(source: Script, value: ast.expr) -> bool:
    """A window that ends at the row itself, and nothing is shifted."""
    calls = list(of(value, ast.Call))
    names = {last_name(c.func) for c in calls}
    if not names & set(_WINDOWS) or "shift" in names or any(keyword(c, "closed") for c in calls):
        return False
    functions = [f for c in calls for f in flow(source).called(c)]
    handed = [a for c in calls for a in c.args if isinstance(a, ast.Name) and a.id in flow(source).functions]
    return not functions and not handed
