"""Measures in scripts that cannot say what they are named for: of a value with itself, or with a sign."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse
from ...readers.script import argument, last_name
from ...registry import Finding
from ...scripts.flow import flow, returns
from ...scripts.syntax import Script
from ..shared.checks import at, ok
from ..shared.nodes import only_shown

_MEASURES = re.compile(r"(?:_score|_error|_loss)$|^(?:accuracy|f1|auc|auroc|mae|mse|rmse|wer|bleu)$")
_OF_ERRORS = re.compile(r"(?i)(?:^|[_/. ])(?:mae|mse|rmse|mape|l1|l2|abs_?err\w*|mean_abs\w*)(?:$|[_/. ])")
_UNSIGNED = re.compile(r"abs|\*\* ?2|pow\(|square|norm\(|l1_|mse|sqrt")


def measures_itself(source: Script) -> Finding | None:
    """`accuracy_score(labels, labels)`: a value is scored against itself."""
    seen: ast.AST | None = None
    for call in source.calls:
        if _MEASURES.search(last_name(call.func)) and len(call.args) >= 2:
            seen = seen or call
            one, other = call.args[:2]
            if isinstance(one, (ast.Name, ast.Attribute, ast.Subscript)) and unparse(one) == unparse(other):
                asserted = isinstance(source.statement(call), ast.Assert)
                meant = (
                    asserted
                    or _tried_out(source, call)
                    or _is_yardstick(source, call)
                    or _asks_network(source, call)
                )
                if source.function_name(call) != "test" and not meant:
                    return at(source, call, f"`{unparse(one)}` is scored against itself")
    return ok(source, seen, "answers are scored against what they should be") if seen is not None else None


def _tried_out(source: Script, call: ast.Call) -> bool:
    """`print(bce_loss(x, x))` by itself: what a loss is where nothing is wrong."""
    alone = source.function_around(call) is None and not source.loops_around(call)
    return alone and last_name(call.func).endswith("_loss") and only_shown(source, call)


def _asks_network(source: Script, call: ast.Call) -> bool:
    """`self.est_score(clean, clean)`: what a network says of two, a pair to learn from."""
    known = flow(source).functions.get(last_name(call.func), [])
    given = [end for function in known for end in returns(function)]
    return bool(given) and all(
        isinstance(end, ast.Call) and unparse(end.func).startswith("self.") and last_name(end.func) != "mean"
        for end in given
    )


_IDEAL = re.compile(r"(?i)ideal|perfect|oracle|upper|normali[sz]er|(?:max|best|^|_)_?i?dcg")


def _is_yardstick(source: Script, call: ast.Call) -> bool:
    """`dcg(y, out) / dcg(y, y)`: what the best answers would score, which others are divided by."""
    values: list[ast.expr] = [call]
    statement = source.statement(call)
    if isinstance(statement, ast.Assign) and statement.value is call:
        names = [t for t in statement.targets if isinstance(t, (ast.Name, ast.Attribute))]
        if any(_IDEAL.search(last_name(t)) for t in names):
            return True
        around = source.function_around(call) or source.tree
        called = {unparse(t) for t in names}
        values += [n for n in of(around, ast.Name, ast.Attribute) if unparse(n) in called]
    for value in values:
        inner, outer = value, source.parents.get(value)
        while isinstance(outer, (ast.Call, ast.IfExp)) or (
            isinstance(outer, ast.BinOp) and not isinstance(outer.op, ast.Div)
        ):
            inner, outer = outer, source.parents.get(outer)
        if isinstance(outer, ast.BinOp) and outer.right is inner:
            return True
    return False


def errors_cancel_out(source: Script) -> Finding | None:
    """`mae = (out - y).mean()`: errors of both signs cancel out in what is named after their size."""
    seen: ast.AST | None = None
    for name, value in _named(source):
        if not _OF_ERRORS.search(name):
            continue
        seen = seen or value
        for call in of(value, ast.Call):
            if last_name(call.func) not in ("mean", "sum") or _UNSIGNED.search(_without_outer(value)):
                continue
            inner = call.func.value if isinstance(call.func, ast.Attribute) and not call.args else None
            inner = inner or argument(call, position=0)
            if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Sub):
                if isinstance(inner.left, (ast.Name, ast.Call)) and isinstance(
                    inner.right, (ast.Name, ast.Call)
                ):
                    return at(source, value, f"errors of both signs cancel out in what is named {name}")
    return ok(source, seen, "errors are measured by their size") if seen is not None else None


def _without_outer(value: ast.expr) -> str:
    """The text within `abs(...)` of a mean: the size of a mean is no mean of sizes."""
    if isinstance(value, ast.Call) and last_name(value.func) in ("abs", "absolute", "fabs"):
        inner = value.args[0] if value.args else getattr(value.func, "value", value)
        if isinstance(inner, ast.Call) and last_name(inner.func) in ("mean", "sum"):
            return unparse(inner)
    return unparse(value)


def _named(source: Script) -> Iterator[tuple[str, ast.expr]]:
    """What a value is named: by assignment, by a sum that it is added to, by the text it is logged under."""
    for node in source.of(ast.Assign, ast.AugAssign):
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        if isinstance(target, (ast.Name, ast.Attribute)):
            yield last_name(target), node.value
    for call in source.named("log", "add_scalar", "log_metric"):
        if len(call.args) >= 2 and isinstance(call.args[0], ast.Constant):
            yield str(call.args[0].value), call.args[1]
