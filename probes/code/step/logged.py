"""An update in scripts that stands where only some batches are logged."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.syntax import Script
from ..shared.checks import at

_LOGS = re.compile(r"(?i)log|print|display|verbose|report|show|summary|eval|save")


def stepped_when_logging(source: Script) -> Finding | None:
    """The optimizer steps under the condition that decides what is logged: `if step % log_every == 0:`.

    Right where the count is one of accumulation, told by its name; wrong where the same branch writes a log.
    """
    for step in source.steps:
        for parent in source.above(step):
            if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef, ast.For, ast.While)):
                break
            if not isinstance(parent, ast.If) or not _every(parent.test):
                continue
            said = [
                c
                for c in of(parent, ast.Call)
                if re.match(r"(?:info|log\w*|print|add_scalar|write)$", last_name(c.func))
            ]
            own = any(b in set(of(parent, ast.Call)) for b in source.backwards)
            if said and not own and _LOGS.search(unparse(parent.test)):
                return at(
                    source, step, "the update stands in the branch that logs: other batches change nothing"
                )
    return None


def _every(test: ast.expr) -> bool:
    """`step % n == 0`"""
    return any(isinstance(n.op, ast.Mod) for n in of(test, ast.BinOp))
