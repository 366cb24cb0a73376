"""The paths of files that calls of a script write and read, as far as they are written out."""

from __future__ import annotations

import ast

from ...readers.script import last_name
from ...scripts.flow import flow
from ...scripts.syntax import Script


def path_pattern(source: Script, node: ast.expr) -> str:
    """A path, `*` for what is worked out in it: `f"ckpt/epoch{i}.pt"` -> "ckpt/epoch*.pt"; else ""."""
    for _ in range(3):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return node.value
        if isinstance(node, ast.JoinedStr):
            return "".join(str(p.value) if isinstance(p, ast.Constant) else "*" for p in node.values)
        if isinstance(node, ast.Call) and last_name(node.func) in ("join", "Path") and node.args:
            return "/".join(path_pattern(source, a) or "*" for a in node.args)
        given = flow(source).whole_given(node)
        if given is None:
            return ""
        node = given
    return ""
