"""Loops of scripts in which what should move stands still: places, states, decisions; counts left unread.

Each check tells of a name that a line of a loop keeps and no line asks for, or asks for and none moves.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import names_in, names_read, of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.learning import learns_within
from ...scripts.syntax import Function, Script
from ..shared.checks import at
from ..shared.nodes import flat
from ..shared.origins import origins
from .answer_order import asks_network

_DECIDES = ("argmax", "argmin")
_LEARNS = re.compile(r"(?i)step|train|backward|update|fit|minimi[sz]e|apply_gradients|grad|learn|opti|load")


def _scopes(source: Script) -> Iterator[Function]:
    yield from source.of(ast.FunctionDef)


def _own(source: Script, scope: ast.AST, node: ast.AST) -> bool:
    return source.function_around(node) is scope


def _stores(scope: ast.AST, name: str) -> list[ast.Name]:
    return [n for n in of(scope, ast.Name) if n.id == name and isinstance(n.ctx, ast.Store)]


def _loads(scope: ast.AST, name: str) -> list[ast.Name]:
    return [n for n in of(scope, ast.Name) if n.id == name and isinstance(n.ctx, ast.Load)]


def slices_stand_still(source: Script) -> Finding | None:
    """`start = 0`, and in the loop `y[start : start + n]`, where nothing moves `start`."""
    for scope in _scopes(source):
        for cut in of(scope, ast.Slice):
            name = cut.lower.id if isinstance(cut.lower, ast.Name) else ""
            if not name or not isinstance(cut.upper, ast.BinOp) or not isinstance(cut.upper.op, ast.Add):
                continue
            if name not in (unparse(cut.upper.left), unparse(cut.upper.right)):
                continue
            stores = _stores(scope, name)
            given = source.statement(stores[0]) if len(stores) == 1 else None
            if not isinstance(given, ast.Assign) or not isinstance(given.value, ast.Constant):
                continue
            loops = source.loops_around(cut)
            if loops and all(given is not s for s in of(loops[0], ast.Assign)) and _own(source, scope, cut):
                return at(source, cut, f"`{name}` is never moved: each round takes the same rows")
    return None


def count_beside_sum_unread(source: Script) -> Finding | None:
    """`total += loss * n`, `count += n`, and then `total / len(loader)`."""
    for scope in (*_scopes(source), source.tree):
        sums = [
            n
            for n in of(scope, ast.AugAssign)
            if isinstance(n.op, ast.Add)
            and isinstance(n.target, ast.Name)
            and source.loops_around(n)
            and (source.function_around(n) or source.tree) is scope
        ]
        for count in sums:
            name = unparse(count.target)
            if isinstance(count.value, ast.Constant) or _loads(scope, name) or name in _global(source, scope):
                continue
            loop = source.loops_around(count)[0]
            beside = [s for s in sums if s is not count and loop in source.above(s)]
            for share in of(scope, ast.BinOp):
                if not isinstance(share.op, ast.Div) or share.lineno <= count.lineno:
                    continue
                weighed = [s for s in beside if unparse(s.target) == unparse(share.left)]
                if not any(_of_one_measure(source, s.value, count.value) for s in weighed):
                    continue
                if not _is_of(source, share.right, count.value):
                    return at(source, share, f"`{name}` is counted for this, and nothing divides by it")
    return None


def _of_one_measure(source: Script, summed: ast.expr, counted: ast.expr) -> bool:
    """`loss * len(x)` beside `len(x)`, `nll.item()` beside `n.item()` of `nll, n = score(batch)`."""
    if any(unparse(f) == unparse(counted) for n in of(summed, ast.BinOp) for f in (n.left, n.right)):
        return True
    statements = []
    for value in (summed, counted):
        root = value
        while isinstance(root, (ast.Call, ast.Attribute)):
            root = root.func if isinstance(root, ast.Call) else root.value
        given = flow(source).given(root) if isinstance(root, ast.Name) else None
        statements.append(given.statement if given is not None and given.places else None)
    return statements[0] is not None and statements[0] is statements[1]


def _global(source: Script, scope: ast.AST) -> set[str]:
    if isinstance(scope, ast.Module):
        return {n.id for f in source.of(ast.FunctionDef) for n in of(f, ast.Name)}
    return {n for g in of(scope, ast.Global, ast.Nonlocal) for n in g.names}


def _is_of(source: Script, divisor: ast.expr, counted: ast.expr) -> bool:
    """`len(loader.dataset)` counts the rows that `len(y)` counts batch by batch."""
    told = unparse(divisor) + " ".join(unparse(v) for v in flow(source).values(divisor, 3))
    rows = unparse(counted)
    simple = rows.startswith("len(") or ".size(0)" in rows or ".shape[0]" in rows
    return simple and ("dataset" in told or "data" in told or "len(" in told) and "loader)" not in told


def kept_and_never_asked(source: Script) -> Finding | None:
    """`last = symbol` at the end of each round, and nothing asks for `last`."""
    return _kept_and_never_asked(source, of_samples=False)


def before_left_in_samples(source: Script) -> Finding | None:
    """Samples are made in a loop that keeps what came before and never asks, or asks and never keeps it."""
    return _kept_and_never_asked(source, of_samples=True) or _asked_and_never_kept(source)


def _makes_samples(source: Script, scope: Function) -> bool:
    """A method of a data set, or a function that a table of samples is sent through or put together by."""
    owner = source.class_around(scope)
    if owner is not None and any(
        isinstance(f, ast.FunctionDef) and f.name == "__getitem__" for f in owner.body
    ):
        return True
    handed = {
        unparse(a)
        for c in source.named("map", "DataLoader")
        for a in (*c.args, *(k.value for k in c.keywords))
    }
    return scope.name in handed


def _kept_and_never_asked(source: Script, of_samples: bool) -> Finding | None:
    for scope in _scopes(source):
        if _makes_samples(source, scope) is not of_samples:
            continue
        for loop in of(scope, ast.For):
            if not isinstance(loop.target, ast.Name) or not _own(source, scope, loop):
                continue
            for node in loop.body:
                if not isinstance(node, ast.Assign) or len(node.targets) != 1:
                    continue
                target = node.targets[0]
                if not isinstance(target, ast.Name) or unparse(node.value) != loop.target.id:
                    continue
                first = [s for s in _stores(scope, target.id) if s is not target]
                if first and first[0].lineno < loop.lineno and not _loads(scope, target.id):
                    return at(
                        source, node, f"`{target.id}` is kept for the next round, and no line asks for it"
                    )
    return None


def _asked_and_never_kept(source: Script) -> Finding | None:
    """`previous = None` before a loop that asks `word != previous`, and nothing keeps the word."""
    for scope in _scopes(source):
        if not _makes_samples(source, scope) and "word_ids" not in unparse(scope):
            continue
        for test in of(scope, ast.Compare):
            if len(test.ops) != 1 or not isinstance(test.ops[0], (ast.Eq, ast.NotEq)):
                continue
            pair = [n.id for n in (test.left, test.comparators[0]) if isinstance(n, ast.Name)]
            loops = source.loops_around(test)
            if len(pair) != 2 or not loops or not isinstance(loops[0], ast.For):
                continue
            turns = {n.id for n in of(loops[0].target, ast.Name)}
            still = [n for n in pair if n not in turns]
            stores = _stores(scope, still[0]) if len(still) == 1 else []
            if len(stores) != 1 or stores[0].lineno >= loops[0].lineno:
                continue
            given = source.statement(stores[0])
            value = _given_to(given, still[0])
            if isinstance(value, ast.Constant) and value.value in (None, -1):
                return at(
                    source, test, f"`{still[0]}` stays `{value.value}`: no round keeps what came before"
                )
    return None


def _given_to(statement: ast.AST | None, name: str) -> ast.expr | None:
    if not isinstance(statement, ast.Assign):
        return None
    for target in statement.targets:
        if isinstance(target, ast.Name) and target.id == name:
            return statement.value
        if isinstance(target, ast.Tuple) and isinstance(statement.value, ast.Tuple):
            for one, value in zip(target.elts, statement.value.elts, strict=False):
                if isinstance(one, ast.Name) and one.id == name:
                    return value
    return None


def decision_stands_still(source: Script) -> Finding | None:
    """`for _ in range(n): k = joint(h, g).argmax()`, where nothing in the loop changes `h` or `g`."""
    for loop in source.of(ast.For):
        over, turn = loop.iter, unparse(loop.target)
        if not (isinstance(over, ast.Call) and last_name(over.func) == "range"):
            continue
        if learns_within(source, loop) or any(_LEARNS.search(last_name(c.func)) for c in of(loop, ast.Call)):
            continue
        changed = {n.id for n in of(loop, ast.Name) if isinstance(n.ctx, ast.Store)}
        touched = {unparse(t) for n in of(loop, ast.Assign, ast.AugAssign) for t in _targets(n)}
        for node in of(loop, ast.Assign):
            if source.loops_around(node)[:1] != [loop] or not _decides(node.value):
                continue
            read = names_read(node.value)
            asks = any(
                isinstance(c.func, (ast.Name, ast.Attribute)) and c.args for c in of(node.value, ast.Call)
            )
            if asks and turn not in read and not read & changed and not _random(node.value):
                said = unparse(node.targets[0])
                written = any(
                    last_name(c.func) in ("append", "add") and c.args and said in names_in(c.args[0])
                    for c in of(loop, ast.Call)
                )
                if written and not any(t.split("[")[0].split(".")[0] in read for t in touched):
                    return at(
                        source, node, "nothing in this loop changes what is decided by: each round is alike"
                    )
    return None


def _targets(node: ast.Assign | ast.AugAssign) -> list[ast.expr]:
    return list(flat(node.targets)) if isinstance(node, ast.Assign) else [node.target]


def _decides(value: ast.expr) -> bool:
    return any(last_name(c.func) in _DECIDES for c in of(value, ast.Call))


def _random(value: ast.expr) -> bool:
    return any("rand" in last_name(c.func) or "sample" in last_name(c.func) for c in of(value, ast.Call))


def state_left_behind(source: Script) -> Finding | None:
    """`out, state = predictor(token)` in a loop, of `forward(y, state=None)`, and it goes nowhere."""
    for call in source.calls:
        statement = source.statement(call)
        scope = source.function_around(call)
        if scope is None or not source.loops_around(call) or not isinstance(statement, ast.Assign):
            continue
        target = statement.targets[0]
        if statement.value is not call or not isinstance(target, ast.Tuple) or len(target.elts) != 2:
            continue
        kept = target.elts[1]
        if not isinstance(kept, ast.Name) or kept.id.startswith("_") or _loads(scope, kept.id):
            continue
        if len(_stores(scope, kept.id)) < 2:
            continue  # it was made before the loop, for the loop to take it up
        for function in flow(source).called(call):
            empty = [
                a.arg
                for a, d in zip(reversed(function.args.args), reversed(function.args.defaults), strict=False)
                if isinstance(d, ast.Constant) and d.value is None
            ]
            if len(empty) == 1 and len(call.args) + len(call.keywords) < len(function.args.args) - 1:
                used = [c for c in of(function, ast.Call) if empty[0] in {unparse(a) for a in c.args}]
                if used:
                    return at(
                        source, call, f"`{kept.id}` is never handed on: each round begins without a past"
                    )
    return None


def lengths_unread(source: Script) -> Finding | None:
    """`scores, n = net(x, lengths)` where `n` is never read, and training reads it."""
    for scope in _scopes(source):
        for node in of(scope, ast.Assign):
            call, target = node.value, node.targets[0]
            if not isinstance(call, ast.Call) or not isinstance(target, ast.Tuple) or len(target.elts) != 2:
                continue
            length = target.elts[1]
            if not isinstance(length, ast.Name) or length.id.startswith("_") or len(call.args) < 2:
                continue
            if any(n.lineno > (node.end_lineno or 0) for n in _loads(scope, length.id)):
                continue
            bound = {n.id for p in source.loops_around(node) for n in of(getattr(p, "target", p), ast.Name)}
            if length.id in names_in(call) and source.loops_around(node) and length.id not in bound:
                continue  # it is what the round before gave back
            if not asks_network(source, call) or not _walks(scope):
                continue
            elsewhere = [c for c in source.calls if c is not call and unparse(c.func) == unparse(call.func)]
            if any(_reads_second(source, c) for c in elsewhere):
                return at(
                    source,
                    node,
                    f"`{length.id}` is not asked for: what stands behind the end is decoded, too",
                )
    return None


def _walks(scope: Function) -> bool:
    return any(last_name(c.func) in _DECIDES for c in of(scope, ast.Call)) and bool(of(scope, ast.For))


def _reads_second(source: Script, call: ast.Call) -> bool:
    statement, scope = source.statement(call), source.function_around(call)
    if (
        not isinstance(statement, ast.Assign)
        or scope is None
        or not isinstance(statement.targets[0], ast.Tuple)
    ):
        return False
    second = statement.targets[0].elts[-1]
    return isinstance(second, ast.Name) and any(n.lineno > statement.lineno for n in _loads(scope, second.id))


def next_from_first_place(source: Script) -> Finding | None:
    """`nxt = net(out)[:, 0].argmax(-1)`, `out = cat([out, nxt])`: what follows is read at the first place."""
    for loop in source.of(ast.For, ast.While):
        grown = set()
        for node in of(loop, ast.Assign):
            target = node.targets[0]
            if isinstance(target, ast.Name) and isinstance(node.value, ast.Call):
                if last_name(node.value.func) in ("cat", "concat", "concatenate", "hstack"):
                    if node.value.args and target.id in names_in(node.value.args[0]):
                        grown.add(target.id)
        if not grown:
            continue
        for place in of(loop, ast.Subscript):
            places = place.slice.elts if isinstance(place.slice, ast.Tuple) else []
            if len(places) < 2 or not isinstance(places[0], ast.Slice) or unparse(places[0]) != ":":
                continue
            if not (isinstance(places[1], ast.Constant) and places[1].value == 0 and len(places) == 2):
                continue
            told = [o for o in origins(source, place.value, 3) if isinstance(o, ast.Call)]
            if any(grown & {unparse(a) for a in c.args} for c in told) and not isinstance(
                place.ctx, ast.Store
            ):
                if _decided_later(source, place, loop):
                    return at(
                        source, place, "what comes next is read at the first place, not behind the last"
                    )
    return None


def _decided_later(source: Script, node: ast.Subscript, loop: ast.AST) -> bool:
    """The place goes into a decision: by itself, or under the name that it is given."""
    if any(
        isinstance(p, ast.Call) and last_name(p.func) in (*_DECIDES, "multinomial", "topk")
        for p in source.above(node)
    ):
        return True
    parent = source.parents.get(node)
    if isinstance(parent, ast.Attribute) and parent.attr in (*_DECIDES, "topk", "max"):
        return True
    statement = source.statement(node)
    names = {t.id for t in getattr(statement, "targets", []) if isinstance(t, ast.Name)}
    return any(
        last_name(c.func) in (*_DECIDES, "multinomial", "topk") and names & names_in(c)
        for c in of(loop, ast.Call)
    )


def rows_sorted_apart(source: Script) -> Finding | None:
    """`zip(sorted(said), truth)`: one side is put into an order of its own."""
    for call in source.named("zip"):
        inner = [isinstance(a, ast.Call) and last_name(a.func) == "sorted" for a in call.args]
        if len(call.args) > 1 and any(inner) and not all(inner):
            first = call.args[inner.index(True)]
            rest = [a for a, s in zip(call.args, inner, strict=True) if not s]
            if isinstance(first, ast.Call) and not any(_ordered(source, r) for r in rest):
                if any(
                    isinstance(o, ast.Call) and asks_network(source, o) for o in origins(source, first, 6)
                ) or any("predict" in unparse(o) or "greedy" in unparse(o) for o in first.args):
                    return at(source, call, "what was answered is sorted, and what it is held against is not")
    return None


def _ordered(source: Script, node: ast.expr) -> bool:
    return any(
        isinstance(o, ast.Call)
        and last_name(o.func) in ("sorted", "range", "count", "arange", "sort", "linspace")
        for o in origins(source, node, 4)
    )
