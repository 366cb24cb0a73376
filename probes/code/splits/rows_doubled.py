"""Rows that scripts hold several times before they cut their data into parts: copies stand on both sides."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import names_in, of, unparse
from ...readers.script import argument, keyword, last_name
from ...registry import Finding
from ...scripts.syntax import Function, Script
from ..shared.checks import at
from ..shared.nodes import assigned
from ..shared.sides import side

_JOINS = ("concatenate", "concat", "cat", "vstack")
_SPLITS = ("train_test_split", "random_split")
_SAYS = re.compile(r"fit_resample|replace=True|\.repeat\(|\brepeat\(|concat|\bcat\(|vstack|resample\(")
# copies go to one side together, or are taken out again
_APART = re.compile(r"(?i)Group\w*Split|Group\w*Fold|groups=|drop_duplicates|np\.unique|isin\(")


def rows_doubled(source: Script) -> Finding | None:
    """`df = pd.concat([df, df[df.y == 1]])`, `x, y = smote.fit_resample(x, y)`, and the split comes later."""
    if not _SAYS.search(source.code) or _APART.search(source.code):
        return None
    for node in source.of(ast.Assign):
        names = {n.id for t in node.targets for n in of(t, ast.Name)}
        if not names or any(side(n) is not None for n in names) or not _doubles(source, node.value):
            continue
        scope = source.function_around(node)
        if source.loops_around(node) or any(isinstance(p, ast.ClassDef) for p in source.above(node)):
            continue
        if (cut := _cut_later(source, scope, names, node)) is not None:
            return at(source, node, f"rows stand here several times, and line {cut.lineno} parts them")
    return None


def _doubles(source: Script, value: ast.expr) -> bool:
    """Whether some rows of what is made stand in it more than once."""
    for call in of(value, ast.Call):
        name = last_name(call.func)
        if name == "fit_resample":
            return re.search(r"(?i)under|nearmiss|tomek|clean", unparse(call.func)) is None
        if name == "sample" and _is(keyword(call, "replace"), True) and keyword(call, "weights") is None:
            return isinstance(call.func, ast.Attribute)
        if name in _JOINS and call.args and _along_rows(call):
            if any(_twice(source, one, other) for one, other in _pairs(call.args[0])):
                return True
        if name == "repeat" and isinstance(call.func, ast.Attribute) and "index" in unparse(call.func.value):
            return True
    return False


def _along_rows(call: ast.Call) -> bool:
    axis = argument(call, "axis", "dim", position=1)
    return axis is None or _is(axis, 0)


def _is(node: ast.expr | None, value: object) -> bool:
    return isinstance(node, ast.Constant) and node.value == value


def _pairs(given: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Parts that are joined, two by two."""
    if isinstance(given, ast.BinOp) and isinstance(given.op, ast.Mult) and isinstance(given.left, ast.List):
        yield from ((e, e) for e in given.left.elts)
    if isinstance(given, (ast.List, ast.Tuple)):
        yield from ((a, b) for i, a in enumerate(given.elts) for b in given.elts[i + 1 :])


def _twice(source: Script, one: ast.expr, other: ast.expr) -> bool:
    """The same rows, or some of them: `df, df`, `df, df[df.y == 1]`, `x, np.repeat(x[rare], 3, 0)`."""
    if not isinstance(one, ast.Name):
        one, other = other, one
    if not isinstance(one, ast.Name):
        return False
    if isinstance(other, ast.Name):
        made = [n.value for n in source.of(ast.Assign) if unparse(n.targets[0]) == other.id]
        inner = made[0] if len(made) == 1 and other.id != one.id else None
        return other.id == one.id or (inner is not None and _some_of(inner, one.id))
    return _some_of(other, one.id) or any(
        isinstance(n, ast.Name) and n.id != one.id and _some_of(v, one.id)
        for n in (_drawn_of(other),)
        for v in (m.value for m in source.of(ast.Assign) if n is not None and unparse(m.targets[0]) == n.id)
    )


def _drawn_of(node: ast.expr) -> ast.Name | None:
    """`rare` of `rare.sample(500, replace=True)`, `resample(rare)`."""
    if isinstance(node, ast.Call) and last_name(node.func) in ("sample", "resample", "repeat"):
        method = isinstance(node.func, ast.Attribute) and last_name(node.func) == "sample"
        given = [node.func.value] if method and isinstance(node.func, ast.Attribute) else node.args[:1]
        return given[0] if given and isinstance(given[0], ast.Name) else None
    return None


def _some_of(node: ast.expr, whole: str) -> bool:
    """Some rows of a table as they are: chosen by a condition, by places, at random."""
    if isinstance(node, ast.Subscript):
        owner = node.value
        if isinstance(owner, ast.Attribute) and owner.attr in ("loc", "iloc"):
            owner = owner.value
        plain = not isinstance(node.slice, (ast.Slice, ast.Constant, ast.List, ast.Tuple))
        return plain and unparse(owner) == whole
    if isinstance(node, ast.Call):
        name = last_name(node.func)
        if name in ("sample", "query", "copy") and isinstance(node.func, ast.Attribute):
            inner = node.func.value
            return unparse(inner) == whole or _some_of(inner, whole)
        if name in ("repeat", "resample", "tile") and node.args:
            return unparse(node.args[0]) == whole or _some_of(node.args[0], whole)
    return False


def _cut_later(source: Script, scope: Function | None, names: set[str], after: ast.Assign) -> ast.expr | None:
    """Where these are cut into a part to learn from and one to hold out."""
    for call in source.named(*_SPLITS):
        if call.lineno > after.lineno and source.function_around(call) is scope:
            if any(isinstance(a, ast.Name) and a.id in names for a in call.args):
                return call
    for call in source.named("split"):
        folds = re.search(r"(?i)fold|split|cv|kf|skf", source.owner(call)) is not None
        if folds and call.lineno > after.lineno and source.function_around(call) is scope:
            if any(isinstance(a, ast.Name) and a.id in names for a in call.args):
                return call
    told: set[bool] = set()
    for node in source.of(ast.Assign):
        if node.lineno <= after.lineno or source.function_around(node) is not scope:
            continue
        pairs = assigned(node)
        for target, value in pairs:
            cuts = [s for s in of(value, ast.Subscript) if isinstance(s.slice, ast.Slice)]
            of_these = any(names_in(c.value) & names for c in cuts)
            which = side(unparse(target))
            if of_these and which is not None:
                told.add(which)
                if len(told) == 2:
                    return value
    return None
