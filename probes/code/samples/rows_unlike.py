"""Inputs and targets that are handed over together by unlike rows, and pictures turned over on one side."""

from __future__ import annotations

import ast
import re
from itertools import pairwise

from ...readers._tree import names_in, of, unparse
from ...readers.script import argument, last_name, receiver
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at
from .moved_together import handed_on_together, lies_over

_INDEX = re.compile(r"^\w+$")


def inputs_and_targets_by_other_rows(source: Script) -> Finding | None:
    """`step(x[take], y[i:j])` of `x, y = windows(...)`, where `take` are drawn rows."""
    for call in source.calls:
        picked = [a for a in call.args if isinstance(a, ast.Subscript) and isinstance(a.value, ast.Name)]
        for one, other in pairwise(picked):
            if not isinstance(one.value, ast.Name) or not isinstance(other.value, ast.Name):
                continue
            if unparse(one.slice) == unparse(other.slice) or one.value.id == other.value.id:
                continue
            drawn = [s for s in (one, other) if isinstance(s.slice, ast.Name)]
            cut = [s for s in (one, other) if isinstance(s.slice, ast.Slice)]
            if len(drawn) != 1 or len(cut) != 1 or not _of_one_call(source, one.value, other.value):
                continue
            if _is_order(source, drawn[0].slice):
                return at(source, call, f"`{unparse(one)}` and `{unparse(other)}` are not the same rows")
    return None


def _of_one_call(source: Script, one: ast.Name, other: ast.Name) -> bool:
    """Both names were given by one call: inputs with their targets."""
    made = [flow(source).given(n) for n in (one, other)]
    return made[0] is not None and made[1] is not None and made[0].statement is made[1].statement


def _is_order(source: Script, node: ast.expr) -> bool:
    """Rows in a drawn order: a part of a permutation."""
    return any(
        re.search(r"permutation|randperm|shuffle|choice|randint", unparse(v))
        for v in flow(source).values(node, 6)
        if v is not node
    ) or any("perm" in n or "order" in n for g in flow(source).all_given(node) for n in names_in(g.value))


def sides_of_picture_exchanged(source: Script) -> Finding | None:
    """`x.permute(2, 1, 0)` of a picture of rows, columns and colours, beside boxes, points or a mask."""
    for function in source.of(ast.FunctionDef):
        if function.name not in ("__getitem__", "__call__") or not any(
            lies_over(n) for n in handed_on_together(function)
        ):
            continue
        for call in of(function, ast.Call):
            if last_name(call.func) not in ("permute", "transpose"):
                continue
            owner = receiver(call)
            library = owner is not None and unparse(owner) in ("np", "torch", "numpy")
            order = call.args[1:] if library else call.args
            if len(order) == 1 and isinstance(order[0], (ast.Tuple, ast.List)):
                order = order[0].elts
            if [unparse(o) for o in order] != ["2", "1", "0"]:
                continue
            text = unparse(function)
            turned = re.search(r"\.T\b|swapaxes|\[\[?1, 0|\[:, ::-1\]", text.replace(unparse(call), ""))
            about = argument(call, position=0) if library else owner
            if not turned and about is not None and not lies_over(unparse(about)):
                return at(
                    source, call, "rows and columns of the picture change places, and what lies over it stays"
                )
    return None
