"""Windows of a series that hold the very element that is to be told."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at, ok
from ..shared.sides import literal

Sum = dict[str, int]  # of names and a constant (""): `t - 59` -> {"t": 1, "": -59}
_ALIKE = ("array", "asarray", "tensor", "as_tensor", "float", "copy", "astype", "from_numpy")


def windows_hold_the_answer(source: Script) -> Finding | None:
    """`xs.append(v[t - n + 1 : t + 1])` with `ys.append(v[t])`: the window reaches over what is to be told.

    Told of windows and answers of the same series and columns, by numbers that the script knows. A window
    whose answer is a window, too, is another task.
    """
    seen: ast.AST | None = None
    for pair in _pairs(source):
        windows = [c for c in pair if isinstance(_rows(c), ast.Slice)]
        answers = [c for c in pair if not isinstance(_rows(c), ast.Slice)]
        if len(windows) == 2 and not answers and (met := _windows_meet(source, *windows)) is not None:
            return at(source, met, "the input holds the first of what is to be told")
        if len(windows) == 2 and not answers and _holds_all(source, *windows):
            return at(source, windows[0], f"the input holds all of `{unparse(windows[1])}`, the answer")
        for window in windows:
            for answer in answers:
                if unparse(window.value) != unparse(answer.value) or not _same_columns(window, answer):
                    continue
                inside = _inside(source, window, answer)
                seen = window if inside is not None and seen is None else seen
                if inside:
                    return at(source, window, f"the window holds `{unparse(answer)}`, which is to be told")
    return ok(source, seen, "windows end before what is to be told") if seen is not None else None


def _windows_meet(source: Script, one: ast.Subscript, other: ast.Subscript) -> ast.Subscript | None:
    """`xs.append(s[t - n:t])`, `ys.append(s[t - 1:t + m - 1])`: the later one begins too soon.

    Not where the second is the first moved on by one, which is how a language model is taught.
    """
    cuts = [_rows(c) for c in (one, other)]
    if unparse(one.value) != unparse(other.value) or not all(isinstance(c, ast.Slice) for c in cuts):
        return None
    ends = [
        _sum(source, e) if e is not None else None
        for c in cuts
        if isinstance(c, ast.Slice)
        for e in (c.lower, c.upper)
    ]
    if any(e is None for e in ends):
        return None
    low, high, begin, _ = ends
    gap = {n: (high or {}).get(n, 0) - (begin or {}).get(n, 0) for n in {*(high or {}), *(begin or {})}}
    moved = {n: (begin or {}).get(n, 0) - (low or {}).get(n, 0) for n in {*(begin or {}), *(low or {})}}
    few = not any(v for n, v in gap.items() if n) and 0 < gap.get("", 0) <= 2
    far = any(v > 0 for n, v in moved.items() if n) or moved.get("", 0) > 2
    return other if few and far else None


def _holds_all(source: Script, one: ast.Subscript, other: ast.Subscript) -> bool:
    """`past = v[s:e + ahead]`, `future = v[e:e + ahead, 0]`: the input goes on to the end of the answer.

    Not where both begin at one place: a part of the input is told, as its middle or what is hidden of it.
    """
    cuts = [_rows(c) for c in (one, other)]
    if unparse(one.value) != unparse(other.value) or not _same_columns(one, other):
        return False
    ends = [
        _sum(source, e) if e is not None else None
        for c in cuts
        if isinstance(c, ast.Slice) and c.step is None
        for e in (c.lower, c.upper)
    ]
    if len(ends) < 4 or ends[0] is None or ends[1] is None or ends[2] is None or ends[3] is None:
        return False
    later, length, past = (_less(ends[2], ends[0]), _less(ends[3], ends[2]), _less(ends[1], ends[3]))
    ahead = [v for v in later.values() if v] and [v for v in length.values() if v]
    return bool(ahead) and all(v >= 0 for each in (later, length, past) for v in each.values())


def _less(one: Sum, other: Sum) -> Sum:
    return {n: one.get(n, 0) - other.get(n, 0) for n in {*one, *other}}


def _pairs(source: Script) -> Iterator[list[ast.Subscript]]:
    """What is put aside together: by calls of `append` in one block, or as a pair."""
    blocks: dict[ast.AST, list[ast.Subscript]] = defaultdict(list)
    for call in source.named("append"):
        if len(call.args) != 1 or not isinstance(source.parents.get(call), ast.Expr):
            continue
        parent = source.parents.get(source.parents[call])
        if isinstance(call.args[0], ast.Tuple):
            yield _cuts(source, call.args[0].elts)
        elif isinstance(parent, (ast.For, ast.While)):
            blocks[parent] += _cuts(source, [call.args[0]])
    yield from (cuts for cuts in blocks.values() if len(cuts) == 2)
    for node in source.of(ast.Return, ast.Yield):
        if isinstance(node.value, ast.Tuple) and len(node.value.elts) == 2:
            yield _cuts(source, node.value.elts)


def _cuts(source: Script, values: list[ast.expr]) -> list[ast.Subscript]:
    found = []
    for one in values:
        value = _named(source, one)
        while isinstance(value, ast.Call) and last_name(value.func) in _ALIKE:
            of_itself = isinstance(value.func, ast.Attribute) and last_name(value.func) in (
                "astype",
                "float",
                "copy",
            )
            if not of_itself and not value.args:
                break
            value = value.func.value if of_itself else value.args[0]  # type: ignore[attr-defined]
        if isinstance(value, ast.Subscript):
            found.append(value)
    return found if len(found) == len(values) else []


def _named(source: Script, value: ast.expr) -> ast.expr:
    """What a name was cut as, where nothing of it is written over afterwards."""
    given = flow(source).all_given(value) if isinstance(value, ast.Name) else []
    if len(given) != 1 or given[0].places:
        return value
    scope = source.function_around(value) or source.tree
    stored = [n for n in of(scope, ast.Subscript) if not isinstance(n.ctx, ast.Load)]
    hidden = any(unparse(n.value) == unparse(value) for n in stored)
    return value if hidden else given[0].value


def _rows(cut: ast.Subscript) -> ast.expr:
    return cut.slice.elts[0] if isinstance(cut.slice, ast.Tuple) and cut.slice.elts else cut.slice


def _same_columns(window: ast.Subscript, answer: ast.Subscript) -> bool:
    """The window has all columns, or the one of the answer: `v[a:b, 1:]` holds nothing of `v[t, 0]`."""
    mine = window.slice.elts[1:] if isinstance(window.slice, ast.Tuple) else []
    theirs = answer.slice.elts[1:] if isinstance(answer.slice, ast.Tuple) else []
    if [unparse(m) for m in mine] == [unparse(t) for t in theirs]:
        return True
    return all(isinstance(m, ast.Slice) and m.lower is m.upper is m.step is None for m in mine)


def _inside(source: Script, window: ast.Subscript, answer: ast.Subscript) -> bool | None:
    """The place of the answer lies within the window; None where the numbers do not tell."""
    cut = _rows(window)
    if not isinstance(cut, ast.Slice) or cut.lower is None or cut.upper is None or cut.step is not None:
        return None
    place = _sum(source, _rows(answer))
    low, high = _sum(source, cut.lower), _sum(source, cut.upper)
    if place is None or low is None or high is None or not (set(place) - {""}):
        return None
    left = {n: high.get(n, 0) - place.get(n, 0) for n in {*high, *place}}
    if any(v for n, v in left.items() if n):
        return None
    before = {n: place.get(n, 0) - low.get(n, 0) for n in {*low, *place}}
    if any(v < 0 for n, v in before.items() if n):
        return None
    from_low = before.get("", 0) >= 0 or any(v > 0 for n, v in before.items() if n)
    return left.get("", 0) > 0 and from_low


def _sum(source: Script, node: ast.expr, deep: int = 3) -> Sum | None:
    """A sum of names and whole numbers; what a script gives one number or sum to is that number or sum."""
    number = literal(source, node)
    if isinstance(number, int) and not isinstance(number, bool):
        return {"": number}
    if isinstance(node, (ast.Name, ast.Attribute)):
        given = flow(source).all_given(node) if isinstance(node, ast.Name) and deep else []
        made = given[0].value if len(given) == 1 and not given[0].places else None
        told = _sum(source, made, deep - 1) if isinstance(made, ast.BinOp) else None
        return told if told is not None else {unparse(node): 1}
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        left, right = _sum(source, node.left, deep), _sum(source, node.right, deep)
        if left is None or right is None:
            return None
        sign = 1 if isinstance(node.op, ast.Add) else -1
        return {n: left.get(n, 0) + sign * right.get(n, 0) for n in {*left, *right}}
    return None
