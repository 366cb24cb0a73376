"""Cuts in scripts that put rows into both parts, worked out on a stand-in of a thousand rows."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from ...readers._tree import unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..shared.checks import at, extractor, ok
from ..shared.nodes import assigned, is_negative
from ..shared.roles import TARGET_WORDS
from ..shared.row_sets import reaches_back, worked_out
from ..shared.sides import development_names, given_back, side, words

ROWS = 1000  # of the stand-in
SHARE = 0.3  # of the held-out rows that training has as well; a window of context that reaches back is less
_FILLED = 0.9  # of the stand-in lies before the last cut that is written as a count
_SAME_ROWS = ("list", "tuple", "array", "asarray", "tensor", "from_numpy", "as_tensor", "tolist", "copy")
_ROUNDS = {"int": int, "round": round, "floor": int, "ceil": lambda x: -int(-x // 1), "max": max, "min": min}
_FIGURES = re.compile(
    r"(?i)loss|acc|metric|score|len|num|count|step|path|dir|curve|hist|log|mean|std|^n_|_n$|size"
)
_Picked = tuple[str, Sequence[int]]  # whose rows, and which of them


def cuts_meet(source: Script) -> Finding | None:
    """`train, val = rows[:cut], rows[-cut:]`, `files[:n], files[n // 2:]`: rows stand in both parts.

    Bounds that no constant or default tells are not judged, nor a part that begins some steps before the
    other ends (`rows[cut - window:]`: context for the first forecast).
    """
    seen: ast.AST | None = None
    parts = [(name, node, scope, rows) for name, node, scope, rows in _parts(source) if rows is not None]
    for name, node, scope, (base, rows) in parts:
        if side(name) is not False or not rows or name in development_names(source):
            continue
        for other, there, around, (whose, theirs) in parts:
            if around is not scope or whose != base or not theirs or (node is there and name == other):
                continue
            if len(rows) == ROWS and len(theirs) == ROWS:
                continue
            if TARGET_WORDS.search(name.lower()) and TARGET_WORDS.search(other.lower()):
                continue  # what the inputs are tells: they may be drawn anew
            both = len(set(rows) & set(theirs))
            if side(other) is True:
                seen = seen or node
                if (
                    both >= SHARE * len(rows)
                    and not _shuffled_between(source, base, node, there)
                    and not _taken_out(source, name, other)
                ):
                    return at(source, node, f"`{name}` and `{other}` take the same rows of `{base}`")
            elif _chosen_and_final(name, other) and both >= SHARE * len(theirs) and base not in (name, other):
                if not _taken_out(source, name, other) and len(rows) < ROWS:
                    return at(source, node, f"`{name}` and `{other}` take the same rows of `{base}`")
    return ok(source, seen, "the parts share no rows") if seen is not None else None


_CHOSEN = frozenset(("val", "valid", "validation", "va", "vl", "dev"))
_FINAL = frozenset(("test", "testing", "te", "tst"))


def _chosen_and_final(name: str, other: str) -> bool:
    """One part is to choose by, the other for the last figure."""
    one, two = set(words(name)), set(words(other))
    return bool(one & _CHOSEN and not one & _FINAL and two & _FINAL and not two & _CHOSEN)


def handed_back(source: Script, node: ast.Assign) -> Iterator[tuple[ast.expr, ast.expr]]:
    """`a, b = parts(x)`, `a, b = (tensor(p) for p in parts(x))`: each with its place in what comes back.

    Of a function that is called once: else each call gives back parts of something else.
    """
    target, given = node.targets[0], node.value
    if not isinstance(target, ast.Tuple):
        return
    if isinstance(given, (ast.GeneratorExp, ast.ListComp)) and len(given.generators) == 1:
        given = given.generators[0].iter
    elif isinstance(given, ast.Call) and last_name(given.func) == "map" and len(given.args) == 2:
        given = given.args[1]
    if not isinstance(given, ast.Call):
        return
    functions = flow(source).functions.get(last_name(given.func), [])
    if len(functions) == 1 and len(flow(source).calls_of(functions[0])) == 1:
        yield from given_back(source, target, given)


def _parts(source: Script) -> Iterator[tuple[str, ast.stmt, Function | None, _Picked | None]]:
    """The last value of each name of a split in a function: its rows."""
    last: dict[tuple[Function | None, str], tuple[ast.Assign, ast.expr]] = {}
    for node in source.of(ast.Assign):
        if source.loops_around(node):
            continue
        for one, given in (*assigned(node), *handed_back(source, node)):
            if isinstance(one, (ast.Name, ast.Attribute)):
                name = unparse(one)
                if side(name) is not None and _FIGURES.search(name) is None:
                    last[source.function_around(node), name] = (node, given)
            if isinstance(given, ast.Dict):  # `{"train": rows[:cut], "val": rows[cut:]}`
                for key, held in zip(given.keys, given.values, strict=True):
                    told = key.value if isinstance(key, ast.Constant) else None
                    if isinstance(told, str) and side(told) is not None and _FIGURES.search(told) is None:
                        last[source.function_around(node), f"{unparse(one)}[{told!r}]"] = (node, held)
    for (scope, name), (node, given) in last.items():
        if any(isinstance(p, (ast.If, ast.Try)) for p in source.above(node) if p is not scope):
            continue
        yield name, node, scope, _rows(source, given)


def _rows(source: Script, node: ast.expr, depth: int = 8) -> _Picked | None:
    """Whose rows an expression holds, and which; None where that cannot be told."""
    if depth == 0:
        return None
    if isinstance(node, ast.Subscript):
        cut = node.slice
        if isinstance(cut, ast.Tuple):
            if not cut.elts or any(unparse(e) != ":" for e in cut.elts[1:]):
                return None
            cut = cut.elts[0]
        whole = node.value
        if isinstance(whole, ast.Attribute) and whole.attr in ("iloc", "values"):
            whole = whole.value
        if not isinstance(cut, ast.Slice):
            return None
        held = _rows(source, whole, depth - 1)
        bounds = [None if b is None else _bound(source, b) for b in (cut.lower, cut.upper, cut.step)]
        missing = [b is None for b in bounds] != [b is None for b in (cut.lower, cut.upper, cut.step)]
        if held is None or missing or reaches_back(cut):
            return None
        low, high, step = (None if b is None else int(b) for b in bounds)
        return None if step == 0 else (held[0], held[1][slice(low, high, step)])
    if isinstance(node, ast.ListComp):
        first = node.generators[0]
        return None if any(g.ifs for g in node.generators) else _rows(source, first.iter, depth - 1)
    if isinstance(node, ast.Call) and last_name(node.func) in _SAME_ROWS:
        inner = node.args[0] if node.args else getattr(node.func, "value", None)
        return _rows(source, inner, depth - 1) if inner is not None else None
    if isinstance(node, (ast.Name, ast.Attribute)):
        found = flow(source).all_given(node)
        if len(found) == 1 and not found[0].places and not source.loops_around(found[0].statement):
            value = found[0].value
            if isinstance(value, (ast.Subscript, ast.ListComp, ast.Name)):
                inner_rows = _rows(source, value, depth - 1)
                if inner_rows is not None or isinstance(value, ast.Subscript):
                    return inner_rows
        return (unparse(node), range(ROWS)) if len(found) < 2 else None
    return None


def _bound(source: Script, node: ast.expr) -> float | None:
    """A bound on the stand-in: `int(90e6)` of a file of bytes is told in a unit that it holds."""
    count = _count(source, node)
    return count / _unit(source) if count is not None else _number(source, node)


def _count(source: Script, node: ast.expr) -> float | None:
    """A number of rows that is written out: `5000`, `int(90e6)`, a constant of them."""
    if isinstance(node, ast.Call) and unparse(node.func) in ("int", "round") and len(node.args) == 1:
        node = node.args[0]
    told, value, _ = extractor(source).value(node)
    return value if told and isinstance(value, (int, float)) and not isinstance(value, bool) else None


@lru_cache(maxsize=8)
def _unit(source: Script) -> float:
    """How many rows one of the stand-in is where cuts are written as counts: the last part is small."""
    largest = 0.0
    for node in source.of(ast.Slice):
        for bound in (node.lower, node.upper):
            largest = max(largest, abs((_count(source, bound) if bound is not None else None) or 0.0))
    return largest / (_FILLED * ROWS) if largest > ROWS else 1.0


def _number(source: Script, node: ast.expr, depth: int = 8) -> float | None:
    """The number behind a bound where every list has ROWS items."""
    if depth == 0:
        return None
    known, value, _ = extractor(source).value(node)
    if known and isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    if isinstance(node, ast.Call):
        name = last_name(node.func)
        if name == "len" or unparse(node.func).endswith(".size"):
            return float(ROWS)
        given = [_number(source, a, depth - 1) for a in node.args]
        of_array = name in ("max", "min") and len(given) == 1  # the largest of what is no number
        if name in _ROUNDS and given and all(g is not None for g in given) and not of_array:
            return float(_ROUNDS[name](*given))  # type: ignore[operator]
        return None
    if isinstance(node, ast.Subscript) and unparse(node).endswith(".shape[0]"):
        return float(ROWS)
    if is_negative(node):
        inner = _number(source, node.operand, depth - 1)
        return None if inner is None else -inner
    if isinstance(node, ast.BinOp):
        left, right = (_number(source, n, depth - 1) for n in (node.left, node.right))
        return worked_out(node.op, left, right)
    if isinstance(node, (ast.Name, ast.Attribute)):
        ends = flow(source).all_given(node)
        if len(ends) == 1 and not ends[0].places:
            return _number(source, ends[0].value, depth - 1)
        handed = flow(source).arguments(node) if not ends else []
        if len(handed) == 1:
            return _number(source, handed[0], depth - 1)
        if not ends and not handed and isinstance(node, ast.Name):
            return _default(source, node)
    return None


def _default(source: Script, node: ast.Name) -> float | None:
    """What a parameter stands for where no caller gives another value: `def split(rows, held=0.1)`."""
    function = source.function_around(node)
    if function is None:
        return None
    names = [a.arg for a in function.args.args]
    values = dict(zip(names[::-1], function.args.defaults[::-1], strict=False))
    value = values.get(node.id)
    if isinstance(value, ast.Constant) and isinstance(value.value, (int, float)):
        return float(value.value)
    return None


def _shuffled_between(source: Script, base: str, one: ast.stmt, other: ast.stmt) -> bool:
    """The whole is put into another order, or taken anew, between two cuts; or rows are taken out of it."""
    low, high = sorted((one.lineno, other.lineno))
    turned = [c.lineno for c in source.named("shuffle") if any(unparse(a) == base for a in c.args)]
    again = [n.lineno for n in source.of(ast.Assign) if any(unparse(t) == base for t in n.targets)]
    emptied = [
        c for c in source.named("remove", "pop", "clear", "difference_update") if source.owner(c) == base
    ]
    deleted = [n for n in source.of(ast.Delete) if any(unparse(t).startswith(base) for t in n.targets)]
    return bool(emptied or deleted) or any(low < line < high for line in (*turned, *again))


def _taken_out(source: Script, *names: str) -> bool:
    """Rows are taken out of a part after it was made: `train.remove(row)`."""
    taken = source.named("remove", "pop", "difference_update")
    return any(source.owner(c) in names for c in taken) or any(
        unparse(t).startswith(tuple(f"{n}[" for n in names)) for d in source.of(ast.Delete) for t in d.targets
    )
