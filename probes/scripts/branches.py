"""Which statements of a function never run together: those of opposite branches, or opposite conditions."""

from __future__ import annotations

import ast
from functools import lru_cache

from ..readers._tree import unparse
from .syntax import Script

_NEGATED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.NotEq: ast.Eq,
    ast.IsNot: ast.Is,
    ast.NotIn: ast.In,
}
_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)
Condition = tuple[str, bool]


def never_together(source: Script, a: ast.AST, b: ast.AST) -> bool:
    """Say whether two nodes of one function stand under conditions that exclude each other.

    Branches of one `if`, the same test asked twice and answered in two ways (`if training: ...`,
    `if not training: ...`), and what is behind `if training: ... return`.
    """
    if source.function_around(a) is not source.function_around(b):
        return False
    here, there = conditions(source, a), conditions(source, b)
    if not here or not there:
        return False
    if any((text, not holds) in there for text, holds in here):
        return True
    asked = {text.partition(" == ")[0]: text for text, holds in here if holds and " == '" in text}
    return any(
        holds and " == '" in text and asked.get(text.partition(" == ")[0], text) != text
        for text, holds in there
    )


@lru_cache(maxsize=4096)
def conditions(source: Script, node: ast.AST) -> frozenset[Condition]:
    """The tests that have to be answered so for a node to be reached, up to its function."""
    found: set[Condition] = set()
    inner = node
    for parent in source.above(node):
        if isinstance(parent, ast.If):
            if inner in parent.body:
                found |= _answered(parent.test, True)
            elif inner in parent.orelse:
                found |= _answered(parent.test, False)
        elif isinstance(parent, ast.IfExp) and inner is not parent.test:
            found |= _answered(parent.test, inner is parent.body)
        for block in (getattr(parent, name, None) for name in ("body", "orelse")):
            if isinstance(block, list) and inner in block:
                for before in block[: block.index(inner)]:
                    if (
                        isinstance(before, ast.If)
                        and not before.orelse
                        and isinstance(before.body[-1], _LEAVES)
                    ):
                        found |= _answered(before.test, False)
        if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            break
        inner = parent
    return frozenset(found)


def _answered(test: ast.expr, holds: bool) -> set[Condition]:
    """What is known where a test holds, or does not: of `a and b` both parts, of `not a` the opposite."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _answered(test.operand, not holds)
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And if holds else ast.Or):
        return {c for value in test.values for c in _answered(value, holds)}
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and type(test.ops[0]) in _NEGATED:
        turned = ast.Compare(test.left, [_NEGATED[type(test.ops[0])]()], test.comparators)
        return {(ast.unparse(turned), not holds)}
    return {(unparse(test), holds)}
