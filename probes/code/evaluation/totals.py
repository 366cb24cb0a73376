"""Sums over batches in scripts: only the last one kept, never begun anew."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import takewhile

from ...readers._tree import names_in, of, unparse, walk
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.learning import takes_gradients
from ...scripts.syntax import Script
from ..shared.checks import at, ok
from ..shared.nodes import assigned, flat, is_appended_to, paired

_SHOWS = re.compile(
    r"(?i)^(?:print|info|debug|log|write|set_description|set_postfix|add_scalar|format|update)"
)


# what is meant to be of the last round, and sizes in memory
_LAST = re.compile(r"(?i)(?:^|_)(?:final|last|best|current|latest|[kmg]b|bytes|mem\w*)(?:_|$)")


def last_round_only(source: Script) -> Finding | None:
    """`loss = 0`, then `loss = ...` in each round of a loop, and `loss / len(loader)` behind it."""
    seen: ast.AST | None = None
    for loop in _loops(source):
        if any(isinstance(n, (ast.Break, ast.Return)) for n in walk(loop)):
            continue
        starts = _zeroed_before(source, loop)
        for node in _once(loop.body):
            if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
                name = unparse(node.target)
                divided = any(top == name for top, _, _ in _quotients(source, loop, after=True))
                seen = seen or (node if name in starts and divided else None)
            if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
                continue
            name = node.targets[0].id
            if name not in starts or _is_read(source, loop, name) or _is_added(loop, name):
                continue
            if isinstance(node.value, ast.Constant) or _LAST.search(name):
                continue
            divisors = [below for top, below, _ in _quotients(source, loop, after=True) if top == name]
            if any(not isinstance(below, ast.Constant) for below in divisors):
                return at(source, node, f"`{name}` holds only the last round and is divided like a sum")
    return ok(source, seen, "sums are added up") if seen is not None else None


def last_count_only(source: Script) -> Finding | None:
    """`hits += ...` and `n = len(y)` in each round, then `hits / n`: the count of the last batch.

    Also `hits, n = f(x), len(x)` in each round. Only for names that were set to zero before the loop.
    """
    for loop in _loops(source):
        if any(isinstance(n, (ast.Break, ast.Return)) for n in walk(loop)):
            continue
        starts = _zeroed_before(source, loop)
        replaced: dict[str, ast.AST] = {}
        for node in _once(loop.body):
            if not isinstance(node, ast.Assign):
                continue
            for one, given in assigned(node):
                if isinstance(one, ast.Name) and one.id in starts and not isinstance(given, ast.Constant):
                    if not _is_read(source, loop, one.id) and not _is_added(loop, one.id):
                        replaced[one.id] = node
        grown = {unparse(n.target) for n in of(loop, ast.AugAssign)}
        for top, below, _ in _quotients(source, loop, after=True):
            counts = [n.id for n in of(below, ast.Name) if n.id in replaced]
            if counts and (top in grown or top in replaced):
                name = counts[0]
                return at(
                    source,
                    replaced[name],
                    f"`{name}` is of the last round alone, and `{top}` is divided by it",
                )
    return None


def _in_one_round(source: Script, loop: ast.AST, node: ast.AST) -> bool:
    """It stands under `if key == "text":` of the loop over keys: one round comes by."""
    own = names_in(loop.target) if isinstance(loop, ast.For) else set()
    return any(
        isinstance(p, ast.If)
        and loop in source.above(p)
        and isinstance(p.test, ast.Compare)
        and isinstance(p.test.ops[0], (ast.Eq, ast.Is))
        and any(isinstance(s, ast.Name) and s.id in own for s in (p.test.left, *p.test.comparators))
        for p in source.above(node)
    )


def emptied_each_round(source: Script) -> Finding | None:
    """`scores = []` in each round, `scores.append(...)` and all of `scores` is read behind."""
    for loop in _loops(source):
        if of(loop, ast.Break) or takes_gradients(source, loop):
            continue  # of the last epoch all that it holds is meant
        own = list(_once(loop.body))
        last = loop.end_lineno or loop.lineno
        for node in own:
            if not isinstance(node, ast.Assign):
                continue
            names = [unparse(t) for t in flat(node.targets)]
            values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value] * len(names)
            for name, value in zip(names, values, strict=False):
                if not (isinstance(value, ast.List) and not value.elts) or not name.isidentifier():
                    continue
                reads = [n for n in of(_block(source, loop), ast.Name) if n.id == name]
                inside = [n for n in reads if loop.lineno < n.lineno <= last and isinstance(n.ctx, ast.Load)]
                filled = [n for n in inside if is_appended_to(source, n)]
                behind = [n for n in reads if n.lineno > last]
                if filled and len(filled) == len(inside) and behind and isinstance(behind[0].ctx, ast.Load):
                    joined = [c for c in source.named(*_JOINED) if any(n is behind[0] for n in walk(c))]
                    if joined and not _in_one_round(source, loop, node):
                        return at(
                            source, node, f"`{name}` is emptied in each round and read as if it held all"
                        )
    return None


_JOINED = ("cat", "concatenate", "concat", "stack", "vstack", "hstack", "mean", "sum", "array")


def never_begun_anew(source: Script) -> Finding | None:
    """`total = 0` before the epochs, `total += ...` in each batch, `total / len(loader)` in each epoch.

    Also the count that a sum is divided by, and a sum of losses that is only shown in each epoch. A sum and a
    count that both go on are a running mean.
    """
    for loop in _loops(source):
        inner = [s for s in _once(loop.body) if isinstance(s, (ast.For, ast.AsyncFor))]
        if not inner:
            continue
        anew = {unparse(t) for n in of(loop, ast.Assign) for t in flat(n.targets)}
        added = [n for n in of(loop, ast.AugAssign) if isinstance(n.op, ast.Add)]
        grown = {unparse(n.target) for n in added} - anew
        rounds = {unparse(n) for n in walk(loop.target)}
        quotients = list(_quotients(source, loop, after=False))
        starts = _zeroed_before(source, loop)
        for name in sorted(grown & set(starts)):
            lines = [n for n in added if unparse(n.target) == name and not isinstance(n.value, ast.Constant)]
            ends = [x.end_lineno or x.lineno for x in inner if any(n in walk(x) for n in lines)]
            if not lines or not ends:
                continue
            for top, below, place in quotients:
                parts = {unparse(n) for n in of(below, ast.Name, ast.Attribute)}
                fixed = not parts & (grown | rounds) and (parts & anew or _FIXED.search(unparse(below)))
                wrong = (top == name and fixed) or (top in anew and unparse(below) == name)
                if wrong and place.lineno > min(ends):
                    return at(
                        source,
                        starts[name],
                        f"`{name}` goes on from epoch to epoch, and a quotient of each epoch is taken of it",
                    )
            if _shown_alone(source, loop, name, min(ends)):
                told = f"`{name}` goes on from epoch to epoch, and is shown as the loss of each one"
                return at(source, starts[name], told)
    return None


def _shown_alone(source: Script, loop: ast.For | ast.AsyncFor, name: str, line: int) -> bool:
    """In each epoch a sum of losses is printed or logged as it stands, and nothing else is done with it."""
    if (
        not re.search(r"(?i)^(?!.*cum).*loss", name)
        or "epoch" not in unparse(loop.target) + unparse(loop.iter).lower()
    ):
        return False
    if not any(takes_gradients(source, s) for s in loop.body if isinstance(s, (ast.For, ast.AsyncFor))):
        return False
    reads = [n for n in of(loop, ast.Name) if n.id == name and isinstance(n.ctx, ast.Load)]
    after = [n for n in reads if n.lineno > line]
    return after == reads and bool(after) and all(_only_shown(source, loop, n) for n in reads)


def _only_shown(source: Script, loop: ast.AST, name: ast.Name) -> bool:
    """It is handed to what prints or logs as it is, or put into a text: `"%.3f" % total_loss`."""
    around = list(takewhile(lambda p: p is not loop, source.above(name)))
    worked = (ast.Compare, ast.Assign, ast.AugAssign, ast.Return)
    return any(isinstance(p, ast.Call) and _SHOWS.match(last_name(p.func)) for p in around) and not any(
        isinstance(p, worked) or (isinstance(p, ast.BinOp) and not isinstance(p.op, ast.Mod)) for p in around
    )


def goes_on_to_held_out(source: Script) -> Finding | None:
    """`running = 0` before the training batches alone: the held-out batches add to the sum of those."""
    for loop in _loops(source):
        inner = [n for n in of(loop, ast.For, ast.AsyncFor) if n is not loop]
        trained = [n for n in inner if takes_gradients(source, n)]
        for held in (n for n in inner if n not in trained):
            before = [t for t in trained if (t.end_lineno or t.lineno) < held.lineno]
            if (
                not before
                or any(held in walk(t) for t in trained)
                or any(n is not held for n in of(held, ast.For))
            ):
                continue
            first = before[-1]
            begun = {
                unparse(t) for n in of(loop, ast.Assign) for t in flat(n.targets) if n.lineno > first.lineno
            }
            for node in of(held, ast.AugAssign):
                name = unparse(node.target)
                grown = name in {unparse(n.target) for n in of(first, ast.AugAssign)}
                if not grown or name in begun or isinstance(node.value, ast.Constant):
                    continue
                quotients = [
                    (below, at_) for top, below, at_ in _quotients(source, loop, after=False) if top == name
                ]
                mine = [b for b, at_ in quotients if at_.lineno > (held.end_lineno or held.lineno)]
                theirs = [b for b, at_ in quotients if (first.end_lineno or 0) < at_.lineno < held.lineno]
                if mine and theirs and unparse(mine[0]) != unparse(theirs[0]):
                    return at(source, node, f"`{name}` still holds the sum of the training batches")
    return None


def kept_between_evaluations(source: Script) -> Finding | None:
    """`self.right` starts at zero in `__init__` alone, and each evaluation adds to it and divides it.

    Of methods that go over batches and take no gradients; what is set to zero anywhere else is begun anew.
    """
    for owner in source.classes.values():
        methods = [f for f in owner.body if isinstance(f, ast.FunctionDef)]
        start = next((f for f in methods if f.name == "__init__"), None)
        if start is None:
            continue
        zero = {unparse(t) for n in of(start, ast.Assign) for t, v in _pairs(n) if _is_zero(v)}
        if not zero:
            continue
        set_ = {
            unparse(t)
            for n in of(owner, ast.Assign)
            for t in flat(n.targets)
            if source.function_around(n) is not start
        }
        for method in methods:
            if method is start or takes_gradients(source, method) or not _modes_off(method):
                continue
            for loop in of(method, ast.For):
                for node in of(loop, ast.AugAssign):
                    name = unparse(node.target)
                    if not isinstance(node.op, ast.Add) or name not in zero or name in set_:
                        continue
                    if _set_in(source).get(name.split(".")[-1], set()) - {owner}:
                        continue
                    if any(top == name for top, _, _ in _quotients(source, loop, after=True)):
                        return at(source, node, f"`{name}` goes on from one evaluation to the next")
    return None


@lru_cache(maxsize=16)
def _set_in(source: Script) -> dict[str, set[ast.ClassDef | None]]:
    """The classes in which an attribute of some name is set, None where it is set outside of any."""
    found: dict[str, set[ast.ClassDef | None]] = {}
    for node in source.of(ast.Assign):
        for target in flat(node.targets):
            if isinstance(target, ast.Attribute):
                found.setdefault(target.attr, set()).add(source.class_around(node))
    return found


def _modes_off(method: ast.AST) -> bool:
    """The method sets the model to evaluation."""
    return any(last_name(c.func) == "eval" for c in of(method, ast.Call)) or any(
        last_name(c.func) in ("train", "set_train") and c.args and unparse(c.args[0]) == "False"
        for c in of(method, ast.Call)
    )


def _pairs(node: ast.Assign) -> Iterator[tuple[ast.expr, ast.expr]]:
    for target in node.targets:
        yield from paired(target, node.value)


_FIXED = re.compile(r"(?:^|[^a-z])(?:len|num|n|batches|steps|count)(?:[^a-z]|$)")


# ------------------------------------------------------------------------------------------ what they share


def _loops(source: Script) -> Iterator[ast.For | ast.AsyncFor]:
    yield from source.of(ast.For, ast.AsyncFor)


def _once(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements of a loop's own rounds."""
    for statement in body:
        yield statement
        if isinstance(statement, (ast.For, ast.AsyncFor, ast.While, ast.FunctionDef, ast.ClassDef)):
            continue
        for part in ("body", "orelse", "finalbody"):
            yield from _once(getattr(statement, part, []))


def _block(source: Script, node: ast.AST) -> ast.AST:
    return source.function_around(node) or source.tree


def _zeroed_before(source: Script, loop: ast.AST) -> dict[str, ast.stmt]:
    """Names that were set to zero above a loop, in its function, as the last thing that was done to them."""
    last: dict[str, tuple[ast.stmt, bool]] = {}
    scope = _block(source, loop)
    line = getattr(loop, "lineno", 0)
    for node in of(scope, ast.Assign, ast.AnnAssign):
        if node.value is None or node.lineno >= line:
            continue
        if source.function_around(node) is not source.function_around(loop):
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            pairs = [(target, node.value)]
            if isinstance(target, ast.Tuple):
                values = node.value.elts if isinstance(node.value, ast.Tuple) else []
                pairs = list(zip(target.elts, values, strict=False))
            for one, value in pairs:
                if unparse(one) not in last or node.lineno >= last[unparse(one)][0].lineno:
                    last[unparse(one)] = (node, _is_zero(value))
    return {name: node for name, (node, zero) in last.items() if zero}


def _is_zero(value: ast.expr) -> bool:
    """`0`, `0.0`, `torch.tensor(0.0)`."""
    if isinstance(value, ast.Call) and last_name(value.func) in ("tensor", "array") and value.args:
        value = value.args[0]
    return isinstance(value, ast.Constant) and value.value == 0 and value.value is not False


def _is_read(source: Script, loop: ast.AST, name: str) -> bool:
    """A loop's body uses a name for more than to show it."""
    for node in of(loop, ast.Name):
        if node.id == name and isinstance(node.ctx, ast.Load):
            shown = [p for p in source.above(node) if isinstance(p, ast.Call)]
            if not any(_SHOWS.match(last_name(c.func)) for c in shown if c in walk(loop)):
                return True
    return False


def _is_added(loop: ast.AST, name: str) -> bool:
    return any(unparse(n.target) == name for n in of(loop, ast.AugAssign))


def _quotients(
    source: Script, loop: ast.AST, *, after: bool
) -> Iterator[tuple[str, ast.expr, ast.BinOp | ast.AugAssign]]:
    """(name that is divided, what by, where) behind a loop, or anywhere in its rounds.

    `total / len(x)`, `100.0 * total / n`, `total.item() / n`, `total /= n`.
    """
    scope = _block(source, loop) if after else loop
    line = getattr(loop, "end_lineno", 0) if after else getattr(loop, "lineno", 0)
    for node in walk(scope):
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Div, ast.FloorDiv)):
            top, below = node.left, node.right
        elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Div):
            top, below = node.target, node.value
        else:
            continue
        if node.lineno > line and source.function_around(node) is source.function_around(loop):
            if (name := _bare(top)) and not _is_divided_again(source, node):
                yield name, below, node


def _is_divided_again(source: Script, node: ast.AST) -> bool:
    outer = source.parents.get(node)
    return isinstance(outer, ast.BinOp) and isinstance(outer.op, ast.Div)


def _bare(node: ast.expr) -> str:
    """The name that a numerator is made of, constants and conversions left aside."""
    for _ in range(6):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            node = node.right if isinstance(node.left, ast.Constant) else node.left
        elif isinstance(node, ast.Call) and last_name(node.func) in ("float", "int", "item", "cpu", "double"):
            if node.args:
                node = node.args[0]
            elif isinstance(node.func, ast.Attribute):
                node = node.func.value
        else:
            break
    return unparse(node) if isinstance(node, (ast.Name, ast.Attribute)) else ""
