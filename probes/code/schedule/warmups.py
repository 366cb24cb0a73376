"""Warm-ups in scripts against the length of their schedule, by numbers or by what both are multiples of."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from ...readers._tree import of, unparse
from ...readers.script import argument, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..shared.checks import at
from ..shared.sides import literal

Product = tuple[float, Counter[str]]  # a number, and what it is multiplied by
_ROUND = ("int", "round", "float", "ceil", "floor")


def longer_than_all(source: Script) -> Finding | None:
    """A schedule whose warm-up takes longer than the whole of it, as the script's own numbers say.

    `get_..._with_warmup(optimizer, warmup, total)`, DeepSpeed's `warmup_num_steps` and `total_num_steps`, and
    functions with `if step < warmup:` and `/ (total - warmup)`. Both are compared as numbers times the same
    unknowns: `40 * updates` against `30 * updates`.
    """
    for node, warm, total in _pairs(source):
        mine, whole = _product(source, warm), _product(source, total)
        if mine is None or whole is None or mine[1] != whole[1] or whole[0] <= 0:
            continue
        if mine[0] > whole[0]:
            times = f"{mine[0] / whole[0]:.3g}"
            return at(source, node, f"the warm-up takes {times} times as long as the schedule")
    return None


def _pairs(source: Script) -> Iterator[tuple[ast.AST, ast.expr, ast.expr]]:
    for call in source.calls:
        name = last_name(call.func)
        if name.endswith("_schedule_with_warmup"):
            warm = argument(call, "num_warmup_steps", position=1)
            total = argument(call, "num_training_steps", position=2)
            if warm is not None and total is not None:
                yield call, warm, total
    for node in source.of(ast.Dict):
        items = {
            k.value: v for k, v in zip(node.keys, node.values, strict=True) if isinstance(k, ast.Constant)
        }
        if "warmup_num_steps" in items and "total_num_steps" in items:
            yield items["warmup_num_steps"], items["warmup_num_steps"], items["total_num_steps"]
    for function in source.of(ast.FunctionDef):
        yield from _of_function(function)


def _of_function(function: Function) -> Iterator[tuple[ast.AST, ast.expr, ast.expr]]:
    """`if step < warmup: ...` and `(step - warmup) / (total - warmup)` in one function."""
    steps = {a.arg for a in function.args.args}
    for test in of(function, ast.Compare):
        if len(test.ops) != 1 or not isinstance(test.ops[0], (ast.Lt, ast.LtE)):
            continue
        step, warm = test.left, test.comparators[0]
        if not isinstance(step, ast.Name) or step.id not in steps or "warm" not in unparse(warm).lower():
            continue
        for node in of(function, ast.BinOp):
            if isinstance(node.op, ast.Sub) and unparse(node.right) == unparse(warm):
                if unparse(node.left) != step.id and isinstance(node.left, (ast.Name, ast.Attribute)):
                    yield test, warm, node.left
                    return


def _product(source: Script, node: ast.expr, depth: int = 8) -> Product | None:
    """An expression as a number times unknowns, by their texts; None where it is no such thing."""
    value = literal(source, node)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value), Counter()
    if depth == 0:
        return 1.0, Counter([unparse(node)])
    if isinstance(node, ast.Call):
        name = last_name(node.func)
        if name in _ROUND and len(node.args) == 1:
            return _product(source, node.args[0], depth - 1)
        if name == "max" and len(node.args) == 2 and isinstance(node.args[0], ast.Constant):
            return _product(source, node.args[1], depth - 1)
        return 1.0, Counter([unparse(node)])
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        one, other = _product(source, node.left, depth - 1), _product(source, node.right, depth - 1)
        return (one[0] * other[0], one[1] + other[1]) if one is not None and other is not None else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Div, ast.FloorDiv)):
        one, other = _product(source, node.left, depth - 1), _product(source, node.right, depth - 1)
        if one is None or other is None or not other[0]:
            return None
        return one[0] / other[0], one[1] + Counter({f"1 / {k}": n for k, n in other[1].items()})
    if isinstance(node, (ast.Name, ast.Attribute)):
        given = flow(source).all_given(node)
        if len(given) == 1 and not given[0].places:
            return _product(source, given[0].value, depth - 1)
        handed = flow(source).arguments(node) if not given else []
        if len(handed) == 1:
            return _product(source, handed[0], depth - 1)
        return 1.0, Counter([unparse(node)])
    if isinstance(node, ast.Subscript):
        ends = [literal(source, v) for v in flow(source).values(node, 5)]
        if len(ends) == 1 and isinstance(ends[0], (int, float)) and not isinstance(ends[0], bool):
            return float(ends[0]), Counter()
        return 1.0, Counter([unparse(node)])
    return None
