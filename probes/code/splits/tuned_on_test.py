"""Thresholds in scripts that are searched for on the very rows that the final score is of."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import names_in, of
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..shared.checks import at, ok
from ..shared.nodes import flat
from ..shared.sides import words

_GRIDS = ("linspace", "arange", "precision_recall_curve", "roc_curve", "unique")
_TEST = frozenset(("test", "testing", "tst", "te"))
_VALID = frozenset(("val", "valid", "validation", "dev", "va", "vl", "oof", "cal", "calib", "calibration"))


def tuned_on_test(source: Script) -> Finding | None:
    """`threshold = best_threshold(*predict(test_loader))`, in a script that has validation data as well.

    A search is a function that holds scores against each of a row of limits and takes the best.
    """
    if not any(_VALID & set(words(last_name(n))) for n in source.of(ast.Name, ast.Attribute)):
        return None
    seen: ast.AST | None = None
    for function in source.of(ast.FunctionDef):
        if not _searches(function):
            continue
        for call in flow(source).calls_of(function):
            told = set(_words(source, call))
            seen = seen or call
            if told & _TEST and not told & _VALID and _is_kept(source, call):
                return at(source, call, "the threshold is searched for on the test data")
    for loop, test in _in_place(source):
        told = set(_words(source, test))
        seen = seen or loop
        if told & _TEST and not told & _VALID:
            return at(source, test, "the threshold is searched for on the test data")
    return ok(source, seen, "thresholds are searched for on other data than the test's") if seen else None


def _searches(function: Function) -> bool:
    """It goes through limits, holds scores against each, and keeps the best: for training nothing is left."""
    return any(True for _ in _limits(function)) and _takes_best(function)


def _limits(scope: ast.AST) -> Iterator[tuple[ast.AST, ast.Compare]]:
    """Comparisons `scores >= t` with the `t` of a loop over limits: the loop, the comparison."""
    loops: list[tuple[ast.AST, ast.expr, ast.expr]] = [(n, n.target, n.iter) for n in of(scope, ast.For)]
    for made in of(scope, ast.ListComp, ast.GeneratorExp, ast.DictComp):
        loops += [(made, g.target, g.iter) for g in made.generators]
    given = {t.id: n.value for n in of(scope, ast.Assign) for t in flat(n.targets) if isinstance(t, ast.Name)}
    for call in of(scope, ast.Call):  # `max(grid, key=lambda t: f1_score(y, p > t))`
        key = next((k.value for k in call.keywords if k.arg == "key"), None)
        if isinstance(key, ast.Lambda) and key.args.args and call.args and last_name(call.func) == "max":
            loops.append((key, ast.Name(key.args.args[0].arg), call.args[0]))
    for loop, target, over in loops:
        behind = [over, *(given[n] for n in names_in(over) if n in given)]
        if not any(last_name(c.func) in _GRIDS for b in behind for c in of(b, ast.Call)):
            continue
        limits = names_in(target)
        for test in of(loop, ast.Compare):
            if isinstance(test.ops[0], (ast.Gt, ast.GtE)) and names_in(test.comparators[0]) & limits:
                if isinstance(test.comparators[0], ast.Name) and not isinstance(test.left, ast.Constant):
                    yield loop, test


def _takes_best(scope: ast.AST) -> bool:
    picks = any(last_name(c.func) in ("argmax", "nanargmax", "max") for c in of(scope, ast.Call))
    better = any(isinstance(n.test, ast.Compare) for n in of(scope, ast.If))
    return picks or better


def _in_place(source: Script) -> Iterator[tuple[ast.AST, ast.expr]]:
    """The scores that a search in the open goes through: of no function that is called with them."""
    for loop, test in _limits(source.tree):
        function = source.function_around(loop)
        scope: ast.AST = function if function is not None else source.tree
        if function is None or not (names_in(test.left) & {a.arg for a in function.args.args}):
            if not isinstance(loop, ast.For) and not _takes_best(scope):
                continue
            if isinstance(loop, ast.For) and not _takes_best(loop):
                continue
            yield loop, test.left


def _words(source: Script, node: ast.expr, depth: int = 3) -> Iterator[str]:
    """The words of the names in an expression and of what these were given, the last ones before it."""
    called = {id(c.func) for c in of(node, ast.Call)}
    for one in of(node, ast.Name, ast.Attribute):
        if id(one) in called:
            continue
        told = words(last_name(one))
        yield from told
        if depth and not set(told) & (_TEST | _VALID):
            for given in flow(source).all_given(one)[:1]:
                yield from _words(source, given.value, depth - 1)


def _is_kept(source: Script, call: ast.Call) -> bool:
    """What the search gives is put under a name: it is used afterwards."""
    statement = source.statement(call)
    return (
        isinstance(statement, (ast.Assign, ast.AnnAssign))
        and re.search(r"(?i)oracle|upper_?bound|curve", source.line(call)) is None
    )
