"""A schedule of the script's own that is asked for the same step again and again."""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_in, of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at

_RATE = re.compile(r"""^\w+(?:\.\w+)*\[['"](?:lr|learning_rate)['"]\]$|(?:^|\.)(?:lr|learning_rate)$""")


def asked_for_one_step(source: Script) -> Finding | None:
    """`group["lr"] = get_lr(0)` in the training loop: the rate of one step is set for all of them."""
    functions = flow(source).functions
    for node in source.of(ast.Assign):
        value = node.value
        if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Name) or len(value.args) != 1:
            continue
        if not any(_RATE.search(unparse(t)) for t in node.targets) or not isinstance(
            value.args[0], ast.Constant
        ):
            continue
        loops = source.loops_around(node)
        trains = any(loop in source.above(b) for b in source.backwards for loop in loops)
        for function in functions.get(last_name(value.func), []):
            first = function.args.args[0].arg if function.args.args else ""
            asks = any(first in names_in(n) for n in of(function, ast.Compare, ast.BinOp))
            if trains and first and asks:
                return at(
                    source, node, f"the schedule is asked for step {unparse(value.args[0])} in every step"
                )
    return None
