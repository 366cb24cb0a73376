"""Figures of an evaluation in scripts that are quotients of counts, and no word on a count of zero."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import argument, last_name
from ...registry import Finding, View, probe
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at, first, ok
from ..shared.sides import either

_GUARDED = re.compile(
    r"(?i)max\(|maximum|clamp|clip|eps|1e-|tiny|where|nan|errstate|divide\(|\+ 1\b|\bif\b|> 0|!= 0|>= 1|ma\."
    r"|smooth"
)
_ADDED = (ast.Name, ast.Attribute, ast.Subscript)


@probe()
def count_may_be_zero(view: View) -> Finding:
    """A figure by class is averaged though a class may be missing, or precision and recall may both be zero.

    The one is no number, and no comparison with the best so far holds any more; the other stops the run.
    """
    return first(view, either(_harmonic, _by_class), "the scripts score by no quotient of counts")


def _harmonic(source: Script) -> Finding | None:
    """`2 * p * r / (p + r)`, where neither what it stands in nor the sum asks for zero."""
    seen = None
    for node in source.of(ast.BinOp):
        below = node.right
        if not isinstance(node.op, ast.Div) or not isinstance(below, ast.BinOp):
            continue
        if not isinstance(below.op, ast.Add) or not _product(node.left, below):
            continue
        if not all(_is_share(source, part) for part in (below.left, below.right)):
            continue
        seen = seen or node
        if not _asked(source, node):
            return at(source, node, "where nothing is hit, precision and recall are both zero")
    return ok(source, seen, "the sum of precision and recall has a floor") if seen is not None else None


def _product(over: ast.expr, below: ast.BinOp) -> bool:
    """Whether both parts of the sum are multiplied above it."""
    parts = {unparse(n) for n in of(over, ast.Name, ast.Attribute, ast.Subscript)}
    plain = isinstance(below.left, _ADDED) and isinstance(below.right, _ADDED)
    return plain and {unparse(below.left), unparse(below.right)} <= parts and "+" not in unparse(over)


def _is_share(source: Script, node: ast.expr) -> bool:
    """A quotient of counts, as precision and recall are."""
    given = flow(source).given(node)
    return given is not None and any(isinstance(b.op, ast.Div) for b in of(given.value, ast.BinOp))


def _asked(source: Script, node: ast.AST) -> bool:
    """A condition or a handler around, or a test above that leaves the function."""
    for parent in source.above(node):
        if isinstance(parent, (ast.If, ast.IfExp, ast.Try, ast.With)):
            if not isinstance(parent, ast.With) or _GUARDED.search(unparse(parent.items[0].context_expr)):
                return True
        if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return any(isinstance(s, ast.Return) for i in of(parent, ast.If) for s in i.body)
    return False


def _by_class(source: Script) -> Finding | None:
    """`(hits / seen).mean()` of counts by class that were made in the script."""
    seen = None
    for node in source.of(ast.BinOp):
        if not isinstance(node.op, ast.Div) or not isinstance(node.right, (ast.Name, ast.Call)):
            continue
        if not all(_counts_by_class(source, part) for part in (node.left, node.right)):
            continue
        statement = source.statement(node)
        around = unparse(statement) if statement is not None else ""
        mean = _averaged(source, node, statement)
        if mean is None or source.function_around(node) in source.passes:
            continue
        seen = seen or node
        if not _GUARDED.search(f"{around} {unparse(mean)}") and not _asked(source, node):
            return at(source, node, "a class that is not there divides zero by zero, and the mean is NaN")
    return ok(source, seen, "classes that are not there are asked for") if seen is not None else None


def _counts_by_class(source: Script, node: ast.expr) -> bool:
    """A vector of counts: made of zeros and added to, the diagonal or the sums of a confusion matrix."""
    while isinstance(node, ast.Call) and last_name(node.func) in ("float", "double", "astype", "to"):
        if not isinstance(node.func, ast.Attribute):
            return False
        node = node.func.value
    values = [g.value for g in flow(source).all_given(node)] or [node]
    for value in values:
        text = unparse(value)
        if _GUARDED.search(text):
            return False
        if re.search(r"\b(?:diag|diagonal|bincount)\(|\.sum\((?:axis=|dim=)?-?[01][,)]", text):
            return True
        if re.search(r"\bzeros\((?!\))", text) and isinstance(node, ast.Name) and _added_to(source, node):
            return "," not in text.split("zeros(")[1].split("dtype")[0].rstrip(", )")
    return False


def _added_to(source: Script, name: ast.Name) -> bool:
    scope = source.function_around(name) or source.tree
    return any(
        unparse(n.target).split("[")[0] == name.id and isinstance(n.op, ast.Add)
        for n in of(scope, ast.AugAssign)
    )


def _averaged(source: Script, node: ast.expr, statement: ast.stmt | None) -> ast.AST | None:
    """The statement in which a quotient's mean is taken: its own, or one that reads its name."""
    scope = source.function_around(node) or source.tree
    names = {unparse(t) for t in statement.targets} if isinstance(statement, ast.Assign) else set()
    for call in of(scope, ast.Call):
        if last_name(call.func) not in ("mean", "nanmean", "average"):
            continue
        of_what = call.func.value if isinstance(call.func, ast.Attribute) and not call.args else None
        of_what = of_what or argument(call, position=0)
        if of_what is None:
            continue
        inside = any(n is node for n in ast.walk(of_what))
        named = any(unparse(n) in names for n in of(of_what, ast.Name))
        if inside or named:
            return source.statement(call)
    return None
