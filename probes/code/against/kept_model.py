"""Edits of a model that are right by themselves: zeros that may stand there, freezing that ends.

What the two programs differ in is asked of the run's own program, as where there is no benchmark.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from ...by_role.side import Side
from ...readers._tree import names_in, unparse
from ...readers.script import keyword, last_name, receiver
from ...script_diff.edit import Edit
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..model.extraction import keeps_lower_layers
from ..model.zero_starts import ends_branch, layer_ends_branch, may_start_at_zero
from ..optimizer.frozen import switches

_ZEROS = frozenset({"zeros_()", "zero_()", "constant_()", "'zeros'", "Zero()"})


def right_alone(edits: Sequence[Edit], mine: Side, theirs: Side) -> Iterator[Edit]:
    """The edits of weights at zero and of frozen parameters that are right in the run's own program."""
    del theirs
    source = mine.source
    for e in edits:
        if e.mine is None or e.kind in ("removed", "moved") or e.mine.file != source.path:
            continue
        zero = e.new & _ZEROS and _zero_is_right(source, e.mine.line)
        if zero or (_FREEZES.search(e.mine_code) and _freezing_is_right(source, e.mine.line)):
            yield e


_FREEZES = re.compile(r"requires_grad|trainable|freeze")


def _zero_is_right(source: Script, line: int | None) -> bool:
    """Every weight that is set to zero in this line is an output's, or one that ends a branch."""
    found = []
    for call in (c for c in source.calls if c.lineno == line):
        name = last_name(call.func)
        if name in ("zeros_", "zero_", "constant_") and (target := _target(call)) is not None:
            found.append(may_start_at_zero(source, target, call) or ends_branch(source, target))
        elif (given := keyword(call, "gamma_init") or keyword(call, "gamma_initializer")) is not None:
            owner, kept = source.class_around(call), source.parents.get(call)
            layers = kept.targets if isinstance(kept, ast.Assign) else []
            zero = "zero" in unparse(given).lower()
            found.append(zero and any(layer_ends_branch(source, owner, layer) for layer in layers))
    return bool(found) and all(found)


def _target(call: ast.Call) -> ast.expr | None:
    """What is filled: the first argument of a function, the owner of a method."""
    if call.args and unparse(call.func).startswith(("nn.init.", "init.", "torch.nn.init.")):
        return call.args[0]
    return receiver(call)


def _freezing_is_right(source: Script, line: int | None) -> bool:
    found = []
    for node, owner, value in switches(source):
        if getattr(node, "lineno", None) == line:
            found.append(ends_later(source, value) or keeps_lower_layers(source, node, owner, value))
    return bool(found) and all(found)


_COUNTS = re.compile(r"(?i)(?:^|_|\.)(?:ep|epoch|current_epoch|global_step|step|round|stage|it|i)$")


def ends_later(source: Script, value: ast.expr, turned: bool = False) -> bool:
    """`requires_grad = epoch >= 1`, `not (epoch < warm)`: what is frozen trains from some epoch on."""
    if isinstance(value, ast.Name):
        values = [g.value for g in flow(source).all_given(value)]
        return len(values) == 1 and ends_later(source, values[0], turned)
    if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not):
        return ends_later(source, value.operand, not turned)
    if not isinstance(value, ast.Compare) or len(value.ops) != 1:
        return False
    sides = [_COUNTS.search(unparse(s)) is not None for s in (value.left, value.comparators[0])]
    if sides[0] == sides[1] or not names_in(value):
        return False
    grows = isinstance(value.ops[0], (ast.Gt, ast.GtE)) == sides[0]
    ordered = isinstance(value.ops[0], (ast.Gt, ast.GtE, ast.Lt, ast.LtE))
    return ordered and grows != turned


__all__ = ["ends_later", "right_alone"]
