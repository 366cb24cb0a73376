"""Maps of channels, rows and columns that are reshaped into rows of channels without being turned first."""

from __future__ import annotations

import ast

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.syntax import Script
from ..shared.checks import at

_TURN = ["0", "2", "3", "1"]


def channels_torn(source: Script) -> Finding | None:
    """`n, _, h, w = cls.shape`, then `cls.reshape(n, -1, classes)`, where others are permuted before it.

    Rows are cut out of the channels; right is `cls.permute(0, 2, 3, 1).reshape(n, -1, classes)`.
    """
    for function in source.of(ast.FunctionDef):
        maps = {
            unparse(n.value.value)
            for n in of(function, ast.Assign)
            if isinstance(n.value, ast.Attribute) and n.value.attr == "shape"
            if isinstance(n.targets[0], ast.Tuple) and len(n.targets[0].elts) == 4
        }
        turned = [
            c
            for c in of(function, ast.Call)
            if last_name(c.func) in ("permute", "transpose")
            and [unparse(a) for a in (c.args[0].elts if _is_row(c) else c.args)] == _TURN  # type: ignore[attr-defined]
        ]
        if not maps or not turned:
            continue
        for call in of(function, ast.Call):
            if last_name(call.func) not in ("reshape", "view") or not isinstance(call.func, ast.Attribute):
                continue
            sizes = [unparse(a) for a in (call.args[0].elts if _is_row(call) else call.args)]  # type: ignore[attr-defined]
            name = unparse(call.func.value)
            if name in maps and len(sizes) == 3 and sizes[1] == "-1" and sizes[2] not in ("1", "-1"):
                if not any(unparse(c.func).startswith(f"{name}.") for c in turned):
                    return at(
                        source, call, f"`{name}` has its channels second: rows of this are of many places"
                    )
    return None


def _is_row(call: ast.Call) -> bool:
    return len(call.args) == 1 and isinstance(call.args[0], (ast.Tuple, ast.List))
