"""A table whose parts begin at numbers, `int(len(rows) * 0.7)`, scaled whole by figures of all its rows."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import names_in, of, unparse
from ...readers.script import argument, keyword, last_name, receiver
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.nodes import assigned
from ..shared.sides import side

_WHOLE_NUMBERS = ("int", "round", "floor", "ceil", "trunc")
_SHARES = re.compile(r"(?i)(?:^|_)(?:ratio|frac\w*|share|splits?|portion|percent|pct|part)(?:_|$)")
_STATISTICS = frozenset(("mean", "std", "min", "max", "median", "nanmean", "nanstd", "amin", "amax"))
_SCALERS = frozenset(("StandardScaler", "MinMaxScaler", "RobustScaler", "MaxAbsScaler", "Normalizer"))
_LIBRARIES = ("np", "numpy", "torch", "jnp")
_DEPTH = 3


def figures_before_cut(source: Script) -> ast.AST | None:
    """`mu = rows.mean(0)`, `z = (rows - mu) / sd`, and training ends at row `int(len(rows) * 0.7)`."""
    cut = {_table(w) for w in _cut(source)}
    if not cut:
        return None
    for node in source.of(ast.Assign):
        for target, value in assigned(node):
            about = _figure_of(value) if isinstance(target, ast.Name) else None
            if about is not None and isinstance(target, ast.Name) and _table(about) in cut:
                if side(target.id) is None and _scaled_by(source, target.id, _table(about)):
                    return value
    for call in source.named("fit", "fit_transform"):
        owner = receiver(call)
        if owner is None or not call.args or _table(call.args[0]) not in cut:
            continue
        made = [owner, *flow(source).values(owner, 2)]
        if any(isinstance(m, ast.Call) and last_name(m.func) in _SCALERS for m in made):
            return call
    return None


def _table(node: ast.expr) -> str:
    """`df` of `df.values`, `df.to_numpy()`."""
    while True:
        if isinstance(node, ast.Attribute) and node.attr == "values":
            node = node.value
        elif isinstance(node, ast.Call) and last_name(node.func) in ("to_numpy", "astype"):
            inner = receiver(node)
            if inner is None:
                return unparse(node)
            node = inner
        else:
            return unparse(node)


def _cut(source: Script) -> Iterator[ast.expr]:
    """Tables of whose length a share is taken for where a part begins or ends."""
    for node in source.of(ast.Assign):
        for target, value in assigned(node):
            if not isinstance(target, (ast.Name, ast.Attribute)) or not _is_share(target, value):
                continue
            yield from _lengths(source, value, _DEPTH)


def _is_share(target: ast.expr, value: ast.expr) -> bool:
    """`int(n * 0.7)`, `n * 8 // 10`, `int(n * cfg.split[0])`."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.FloorDiv):
        return isinstance(value.right, ast.Constant) and isinstance(value.left, ast.BinOp)
    if not (isinstance(value, ast.Call) and last_name(value.func) in _WHOLE_NUMBERS and value.args):
        return False
    product = value.args[0]
    if not (isinstance(product, ast.BinOp) and isinstance(product.op, ast.Mult)):
        return False
    figures = [c.value for c in of(product, ast.Constant) if isinstance(c.value, float)]
    told = any(_SHARES.search(w) for w in names_in(product))
    told = told or any(_SHARES.search(a.attr) for a in of(product, ast.Attribute))
    return any(0 < f < 1 for f in figures) or told or side(last_name(target)) is not None


def _lengths(source: Script, value: ast.expr, depth: int) -> Iterator[ast.expr]:
    """What the length is of: `rows` of `len(rows)`, `rows.shape[0]`, also by way of a name."""
    for call in of(value, ast.Call):
        if last_name(call.func) == "len" and call.args:
            yield call.args[0]
    for part in of(value, ast.Subscript):
        if isinstance(part.value, ast.Attribute) and part.value.attr == "shape":
            yield part.value.value
    for name in of(value, ast.Name) if depth else ():
        given = flow(source).given(name)
        if given is not None and not given.places:
            yield from _lengths(source, given.value, depth - 1)


def _figure_of(value: ast.expr) -> ast.expr | None:
    """The table that a figure is taken of, over its rows: not `x.mean(1)`, not that of a part."""
    if not (isinstance(value, ast.Call) and last_name(value.func) in _STATISTICS):
        return None
    owner = receiver(value)
    library = owner is None or unparse(owner) in _LIBRARIES
    about = argument(value, position=0) if library else owner
    rest = value.args[1:] if library else value.args
    axis = keyword(value, "axis") or keyword(value, "dim") or (rest[0] if rest else None)
    if axis is not None and not (isinstance(axis, ast.Constant) and axis.value == 0):
        return None
    return about


def _scaled_by(source: Script, figure: str, table: str) -> bool:
    """The whole table is moved or divided by it: `rows - mu`."""
    for one in source.of(ast.BinOp):
        if isinstance(one.op, (ast.Sub, ast.Div)) and figure in names_in(one.right):
            left = one.left.left if isinstance(one.left, ast.BinOp) else one.left
            if _table(left) == table:
                return True
    return False
