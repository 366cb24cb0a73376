"""Figures of scripts that are taken apart in another order than the function gives them back."""

from __future__ import annotations

import ast
import re

from ...readers.script import last_name
from ...registry import Finding
from ...scripts.flow import flow, returns
from ...scripts.syntax import Script
from ..shared.checks import at
from .watched import better_when_higher

_NUMBERED = re.compile(
    r"(?i)((?:\w*_)?(?:top|acc|accuracy|prec|precision|hits?|recall|ndcg|map|mrr|err|error|correct|rank|r|p)_?(?:at|@)?_?)(\d+)"
)
_ASKS = ("eval", "result", "compute", "item", "mean", "numpy", "cpu", "tolist", "avg", "float", "round")


def figures_exchanged(source: Script) -> Finding | None:
    """`acc, loss = check(model)`, where `check` ends in `return loss / n, acc / n`.

    Told where of both figures it is known, by both of their names, which way they get better, or where both
    bear the numbers of how many answers count: `acc5, acc1 = accuracy(out, y, topk=(1, 5))`.
    """
    for node in source.of(ast.Assign):
        target, call = node.targets[0], node.value
        if not isinstance(target, ast.Tuple) or not isinstance(call, ast.Call):
            continue
        names = [last_name(t) if isinstance(t, (ast.Name, ast.Attribute)) else "" for t in target.elts]
        numbers = _numbers(names)
        if (asked := _asked_for(call)) and _in_another_order(numbers, asked):
            return at(source, node, f"the figures come in the order of {asked}, and are taken in another one")
        made = flow(source).called(call)
        ends = returns(made[0]) if len(made) == 1 else ()
        if len(ends) != 1 or not isinstance(ends[0], ast.Tuple) or len(ends[0].elts) != len(target.elts):
            continue
        if _in_another_order(numbers, order := _numbers([_called(e) for e in ends[0].elts])):
            return at(source, node, f"the figures come in the order of {order}, and are taken in another one")
        told = [
            (better_when_higher(n), better_when_higher(_called(e)))
            for n, e in zip(names, ends[0].elts, strict=True)
        ]
        off = [pair for pair in told if None not in pair and pair[0] is not pair[1]]
        if (True, False) in off and (False, True) in off:
            given = ", ".join(_called(e) for e in ends[0].elts)
            return at(source, node, f"the figures come as ({given}) and are taken in another order")
    return None


def _numbers(names: list[str]) -> tuple[int, ...]:
    """`acc1, acc5` -> (1, 5): of figures that differ by the number alone; else nothing."""
    found = [_NUMBERED.fullmatch(n) for n in names]
    told = [m for m in found if m is not None]
    alike = len(told) == len(names) and len({m[1].lower() for m in told}) == 1
    return tuple(int(m[2]) for m in told) if alike else ()


def _asked_for(call: ast.Call) -> tuple[int, ...]:
    """`topk=(1, 5)`."""
    for given in call.keywords:
        if given.arg in ("topk", "top_k", "ks", "k") and isinstance(given.value, (ast.Tuple, ast.List)):
            values = [e.value for e in given.value.elts if isinstance(e, ast.Constant)]
            whole = [v for v in values if isinstance(v, int)]
            return tuple(whole) if len(whole) == len(given.value.elts) else ()
    return ()


def _in_another_order(names: tuple[int, ...], given: tuple[int, ...]) -> bool:
    unlike = len(set(names)) == len(names) > 1
    return unlike and names != given and sorted(names) == sorted(given)


def _called(value: ast.expr) -> str:
    """The name of a figure: `loss_sum / n` -> "loss_sum", `accuracy.eval()` -> "accuracy"."""
    for _ in range(6):
        if isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Div, ast.Mult)):
            value = value.right if isinstance(value.left, ast.Constant) else value.left
        elif isinstance(value, ast.Call) and last_name(value.func) in _ASKS:
            inner = value.args[0] if value.args else getattr(value.func, "value", None)
            if not isinstance(inner, ast.expr):
                break
            value = inner
        elif isinstance(value, ast.Attribute) and value.attr in ("avg", "global_avg", "value"):
            value = value.value
        else:
            break
    if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Constant):
        return str(value.slice.value)
    return last_name(value).replace("losses", "loss") if isinstance(value, (ast.Name, ast.Attribute)) else ""
