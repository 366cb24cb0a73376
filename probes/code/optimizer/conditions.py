"""Groups of parameters that are chosen by conditions which leave some out."""

from __future__ import annotations

import ast

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.nodes import whole_number

_DIMENSIONS = (1, 2, 3, 4)


def groups_leave_some(source: Script) -> Finding | None:
    """`[p for p in net.parameters() if p.dim() > 2]` beside `p.dim() < 2`: matrices are in no group."""
    for scope in (*source.of(ast.FunctionDef), source.tree):
        found: dict[str, list[tuple[ast.ListComp, list[ast.expr]]]] = {}
        for comp in of(scope, ast.ListComp):
            over = comp.generators[0].iter
            if (source.function_around(comp) or source.tree) is not scope or len(comp.generators) != 1:
                continue
            if isinstance(over, ast.Call) and last_name(over.func) in ("parameters", "named_parameters"):
                tests = [
                    t
                    for c in comp.generators[0].ifs
                    for t in (c.values if isinstance(c, ast.BoolOp) else [c])
                ]
                if tests and not any(
                    isinstance(c, ast.BoolOp) and isinstance(c.op, ast.Or) for c in comp.generators[0].ifs
                ):
                    found.setdefault(unparse(over), []).append((comp, tests))
        for groups in found.values():
            if len(groups) < 2:
                continue
            covered = [_covered([t for t in tests if not _of_gradient(t)]) for _, tests in groups]
            if None in covered:
                continue
            left = set(_DIMENSIONS) - {d for c in covered for d in c or ()}
            if left & {1, 2}:
                what = "matrices" if 2 in left else "biases and norms"
                return at(
                    source, groups[0][0], f"{what} are in no group of the optimizer: they are never trained"
                )
    return None


def _of_gradient(test: ast.expr) -> bool:
    return isinstance(test, ast.Attribute) and test.attr == "requires_grad"


def _covered(tests: list[ast.expr]) -> set[int] | None:
    """The numbers of dimensions that pass; None where something else is asked."""
    if len(tests) != 1 or not isinstance(tests[0], ast.Compare) or len(tests[0].ops) != 1:
        return None
    test = tests[0]
    left, bound = unparse(test.left), whole_number(test.comparators[0])
    if bound is None or not (
        left.endswith((".dim()", ".ndim")) or (left.startswith("len(") and left.endswith(".shape)"))
    ):
        return None
    operator = type(test.ops[0])
    return {
        d
        for d in _DIMENSIONS
        if {
            ast.Gt: d > bound,
            ast.GtE: d >= bound,
            ast.Lt: d < bound,
            ast.LtE: d <= bound,
            ast.Eq: d == bound,
            ast.NotEq: d != bound,
        }.get(operator, False)
    }
