"""Rounds of a loop that are asked whether they are the last, by a number that no round has."""

from __future__ import annotations

import ast

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.syntax import Script
from ..shared.checks import at


def synchronised_never(source: Script) -> Finding | None:
    """`last = k == n` in `for k in range(n)`, and all but the last run in `no_sync()`."""
    if not source.named("no_sync"):
        return None
    for loop in source.of(ast.For):
        over = loop.iter
        if not (isinstance(over, ast.Call) and last_name(over.func) == "range" and len(over.args) == 1):
            continue
        if not isinstance(loop.target, ast.Name) or not any(
            last_name(c.func) == "no_sync" for c in of(loop, ast.Call)
        ):
            continue
        for test in of(loop, ast.Compare):
            if len(test.ops) != 1 or not isinstance(test.ops[0], (ast.Eq, ast.NotEq)):
                continue
            if [unparse(test.left), unparse(test.comparators[0])] == [loop.target.id, unparse(over.args[0])]:
                if _gates(source, test, loop):
                    return at(
                        source, test, "no round has this number: the gradients of the processes never meet"
                    )
    return None


def _gates(source: Script, test: ast.Compare, loop: ast.For) -> bool:
    """The test, or the name it is given, stands where `no_sync` is chosen."""
    statement = source.statement(test)
    names = {t.id for t in getattr(statement, "targets", []) if isinstance(t, ast.Name)}
    for call in of(loop, ast.Call):
        if last_name(call.func) == "no_sync":
            around = [p for p in source.above(call) if isinstance(p, (ast.IfExp, ast.If))]
            asked = [n for p in around for n in of(p.test, ast.Name, ast.Compare)]
            if any(n is test or (isinstance(n, ast.Name) and n.id in names) for n in asked):
                return True
    return False
