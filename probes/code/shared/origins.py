"""What the items of a value are made of: through lists that grow, loops over several rows, comprehensions.

`flow(source).values` follows what a name was given; here a list is what was put into it, a loop's name is a
part of what the loop goes over, and a call stands for what it was handed. Lengths, masks and places that only
choose among items are left out.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...readers._tree import of, unparse, walk
from ...readers.script import last_name
from ...scripts.flow import flow, returns
from ...scripts.syntax import Script

_DEPTH = 14
_MOST = 600
_GROWS = ("append", "extend", "add", "update", "insert")
Comprehension = (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)


def origins(source: Script, node: ast.expr, depth: int = _DEPTH) -> tuple[ast.expr, ...]:
    """The expressions that the items of a value come from, and those on the way, each once."""
    seen: dict[ast.expr, None] = {}
    _collect(source, node, depth, seen)
    return tuple(seen)


def _collect(source: Script, node: ast.expr, depth: int, seen: dict[ast.expr, None]) -> None:
    if node in seen or depth == 0 or len(seen) > _MOST:
        return
    seen[node] = None
    for part in _parts(source, node):
        _collect(source, part, depth - 1, seen)


def _parts(source: Script, node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.Name):
        yield from _named(source, node)
    elif isinstance(node, ast.Attribute):
        found = flow(source).all_given(node)
        yield from (g.value for g in found)
        yield from _grown(source, node)
        if not found:
            yield node.value
    elif isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and not _is_module(source, node.func.value):
            yield node.func.value
        yield from node.args
        yield from (
            k.value for k in node.keywords if k.arg not in ("dim", "axis", "key", "skip_special_tokens")
        )
    elif isinstance(node, ast.Subscript):
        yield node.value
        if not isinstance(node.slice, (ast.Slice, ast.Tuple, ast.Constant, ast.Compare)):
            yield node.slice  # a table is asked for an item: `names[k]`
    elif isinstance(node, ast.IfExp):
        yield from (node.body, node.orelse)
    elif isinstance(node, ast.BoolOp):
        yield from node.values
    elif isinstance(node, ast.BinOp):
        yield from (node.left, node.right)
    elif isinstance(node, ast.UnaryOp):
        yield node.operand
    elif isinstance(node, ast.Compare):
        yield node.left
    elif isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        yield from node.elts
    elif isinstance(node, ast.Starred):
        yield node.value
    elif isinstance(node, (ast.ListComp, ast.GeneratorExp, ast.SetComp)):
        yield node.elt
    elif isinstance(node, ast.DictComp):
        yield node.value
    elif isinstance(node, ast.Dict):
        yield from node.values
    elif isinstance(node, ast.JoinedStr):
        yield from (v.value for v in node.values if isinstance(v, ast.FormattedValue))
    elif isinstance(node, (ast.NamedExpr, ast.Await)):
        yield node.value


def _is_module(source: Script, node: ast.expr) -> bool:
    root = node
    while isinstance(root, ast.Attribute):
        root = root.value
    return isinstance(root, ast.Name) and root.id in flow(source).imported


def _named(source: Script, name: ast.Name) -> Iterator[ast.expr]:
    rows = list(_of_loops(source, name))
    if rows:
        yield from rows
        return
    mine = flow(source)
    given = mine.all_given(name)
    for one in given:
        yield from _given_back(source, one.value, one.places) or [_at_places(one.value, one.places)]
    yield from _grown(source, name)
    if not given:
        yield from mine.arguments(name)


def _given_back(source: Script, value: ast.expr, places: tuple[int, ...]) -> list[ast.expr]:
    """The part that a name takes of what a function of the program gives back: `rows, n = read(path)`."""
    if not places or not isinstance(value, ast.Call):
        return []
    ends = [r for f in flow(source).called(value) for r in returns(f) if isinstance(r, ast.Tuple)]
    return [_at_places(r, places) for r in ends]


def _at_places(value: ast.expr, places: tuple[int, ...]) -> ast.expr:
    for place in places:
        if isinstance(value, (ast.Tuple, ast.List)) and place < len(value.elts):
            value = value.elts[place]
    return value


def _grown(source: Script, node: ast.expr) -> Iterator[ast.expr]:
    """What is put into a list, a set or a table: `out.append(x)`, `out += x`, `out[k] = x`."""
    text = unparse(node)
    scope: ast.AST = source.function_around(node) or source.tree
    if isinstance(node, ast.Attribute):
        scope = source.class_around(node) or source.tree
    for call in of(scope, ast.Call):
        if isinstance(call.func, ast.Attribute) and call.func.attr in _GROWS and call.args:
            held = call.func.value
            held = held.value if isinstance(held, ast.Subscript) else held
            if unparse(held) == text:
                yield call.args[-1]
    for grown in of(scope, ast.AugAssign):
        if unparse(grown.target) == text:
            yield grown.value
    for put in of(scope, ast.Assign):
        for target in put.targets:
            if isinstance(target, ast.Subscript) and unparse(target.value) == text:
                yield put.value


def _of_loops(source: Script, name: ast.Name) -> Iterator[ast.expr]:
    """What the name of a loop or a comprehension around goes over; of `zip` its own row alone."""
    for parent in source.above(name):
        pairs: list[tuple[ast.expr, ast.expr]] = []
        if isinstance(parent, Comprehension):
            pairs = [(g.target, g.iter) for g in parent.generators]
        elif isinstance(parent, (ast.For, ast.AsyncFor)) and not _within(name, parent.iter):
            pairs = [(parent.target, parent.iter)]
        elif isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return
        for target, over in pairs:
            if not _within(name, over):
                found = list(_row_of(source, target, over, name.id))
                if found:
                    yield from found
                    return


def _within(node: ast.AST, whole: ast.AST) -> bool:
    return any(n is node for n in walk(whole))


def _row_of(source: Script, target: ast.expr, over: ast.expr, name: str) -> Iterator[ast.expr]:
    if isinstance(target, ast.Name):
        if target.id == name:
            yield over
        return
    if not isinstance(target, (ast.Tuple, ast.List)) or not any(
        isinstance(n, ast.Name) and n.id == name for n in of(target, ast.Name)
    ):
        return
    while isinstance(over, ast.Call) and over.args and last_name(over.func) in ("tqdm", "track", "list"):
        over = over.args[0]
    for place, part in enumerate(target.elts):
        if not any(n.id == name for n in of(part, ast.Name)):
            continue
        if isinstance(over, ast.Call) and last_name(over.func) == "zip" and place < len(over.args):
            yield from _row_of(source, part, over.args[place], name)
        elif isinstance(over, ast.Call) and last_name(over.func) == "enumerate" and over.args:
            if place == 1:
                yield from _row_of(source, part, over.args[0], name)
        else:
            made = [_at_places(r, (place,)) for r in _rounds(source, over)]
            yield from made or [over]


def _rounds(source: Script, over: ast.expr) -> Iterator[ast.Tuple]:
    """What each round of a loop gets from a generator of the program, or from a loader of its data set."""
    mine = flow(source)
    for value in (over, *mine.values(over, 4)):
        if not isinstance(value, ast.Call):
            continue
        for function in mine.called(value):
            yield from (y.value for y in of(function, ast.Yield) if isinstance(y.value, ast.Tuple))
        if last_name(value.func) == "DataLoader" and value.args:
            owner = mine.made(value.args[0])
            for method in owner.body if owner is not None else []:
                if isinstance(method, ast.FunctionDef) and method.name == "__getitem__":
                    yield from (r for r in returns(method) if isinstance(r, ast.Tuple))
