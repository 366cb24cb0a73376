"""Programs that draw one batch and train on it again and again."""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_in, of, unparse
from ...readers.script import argument, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.learning import taken
from ...scripts.syntax import Loop, Script
from ..shared.checks import at, runs_in
from ..shared.sides import side

_TRIES_OUT = re.compile(
    r"(?i)over_?fit|sanity|smoke|debug|profil|bench|warm|lr_?find|dry|memor|one_?batch|test"
)
# what one batch is kept for beside: to look at samples of a generator, to estimate slopes
_FIXED = re.compile(r"(?i)fixed|vis|sample|show|plot|example|ref|probe")


def one_batch_kept(source: Script) -> Finding | None:
    """`x, y = next(iter(train_loader))` before the loop that trains on `x`: it never sees another batch.

    Also `[next(iter(loader))] * n` as what the loop goes over.
    """
    for call in source.named("next"):
        inner = argument(call, position=0)
        if not isinstance(inner, ast.Call) or last_name(inner.func) != "iter" or not inner.args:
            continue
        if side(_name(inner.args[0])) is False or _TRIES_OUT.search(source.function_name(call)):
            continue
        for step in taken(source):
            loops = source.loops_around(step)
            if not loops or _TRIES_OUT.search(source.function_name(step)):
                continue
            if _trained_on(source, call, loops) and not _goes_over(source, inner.args[0]):
                return at(source, call, "one batch is drawn here, and trained on again and again")
    return None


def begun_again(source: Script) -> Finding | None:
    """`while True: i = 0; yield x[i:i + n], y[i:i + n]; i += n`: each round begins at the first sample.

    What is counted up is set back at the top of the endless loop that gives one batch in a round.
    """
    for loop in source.of(ast.While):
        gives = [n for n in of(loop, ast.Yield) if source.loops_around(n)[:1] == [loop]]
        if not gives or not (isinstance(loop.test, ast.Constant) and loop.test.value):
            continue
        starts: dict[str, ast.stmt] = {}
        for statement in loop.body:
            if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant):
                starts |= {t.id: statement for t in statement.targets if isinstance(t, ast.Name)}
            if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
                begun = starts.get(statement.target.id)
                cuts = [n for n in of(loop, ast.Slice) if n.lower is not None]
                named = any(unparse(n.lower) == statement.target.id for n in cuts if n.lower is not None)
                if begun is not None and named and begun.lineno < gives[0].lineno < statement.lineno:
                    return at(
                        source, begun, "each round begins at the first sample again: one batch is given"
                    )
    return None


def _name(node: ast.expr) -> str:
    return last_name(node) if isinstance(node, (ast.Name, ast.Attribute)) else ""


def _trained_on(source: Script, call: ast.Call, loops: list[Loop]) -> bool:
    """What is drawn is what the loop reads, and the loop draws nothing itself."""
    nearest = loops[0]
    statement = source.statement(call)
    if isinstance(nearest, ast.For) and call in set(of(nearest.iter, ast.Call)):
        return True  # `for x, y in [next(iter(loader))] * n:`
    if not isinstance(statement, ast.Assign) or nearest in source.above(call):
        return False
    if source.function_around(statement) is not source.function_around(nearest):
        return False
    if statement.lineno > nearest.lineno:
        return False
    names = {n.id for t in statement.targets for n in of(t, ast.Name)}
    if any(_FIXED.search(n) for n in names):
        return False
    if isinstance(nearest, ast.For) and names & names_in(nearest.iter):
        return _repeated(nearest.iter)
    inside = [n for s in nearest.body for n in of(s, ast.Name)]
    read = [n for n in inside if n.id in names and isinstance(n.ctx, ast.Load)]
    return bool(read) and not _bound_before(nearest, names)


def _repeated(over: ast.expr) -> bool:
    """`[batch] * n`, `repeat(batch, n)`"""
    listed = isinstance(over, ast.BinOp) and isinstance(over.op, ast.Mult) and isinstance(over.left, ast.List)
    return listed or (isinstance(over, ast.Call) and last_name(over.func) in ("repeat", "cycle"))


def _bound_before(loop: Loop, names: set[str]) -> bool:
    """The loop gives the name another value: `for x, y in loader`, `x, y = sample()`, not of itself."""
    if isinstance(loop, ast.For) and names & names_in(loop.target):
        return True
    for node in of(loop, ast.Assign, ast.AugAssign, ast.NamedExpr):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        told = {n.id for t in targets for n in of(t, ast.Name) if isinstance(n.ctx, ast.Store)}
        if told & names and not names_in(node.value) & names:
            return True
    return False


def _goes_over(source: Script, loader: ast.expr) -> bool:
    """A loop that a step stands in, or is called in, goes over all batches of the loader."""
    made = set(flow(source).values(loader, 3))
    for loop in source.of(ast.For):
        mine = (
            set(flow(source).values(loop.iter, 3))
            if isinstance(loop.iter, (ast.Name, ast.Attribute))
            else set()
        )
        same = bool(mine & made) or _name(loop.iter) == _name(loader) != ""
        if same and any(runs_in(source, step, loop) for step in taken(source)):
            return True
    return False
