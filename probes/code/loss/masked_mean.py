"""A mean over what a mask lets through, in a run whose loss is no number at single steps."""

from __future__ import annotations

import ast
import re

from ....engine.model import State
from ...curves.numerics import loss_not_finite_transient
from ...readers._tree import unparse
from ...readers.script import last_name
from ...registry import Finding, View, absent, probe, unknown
from ...scripts.syntax import Script
from ..shared.checks import at, first, script_and_loss

_MASK = re.compile(
    r"(?i)(?:^|[._])(?:\w*mask\w*|valid\w*|is_valid|weights?|keep|present|not_pad\w*|non_pad\w*)$"
)

_CAST = re.compile(r"\.(?:float|half|long|int|to|astype|type|type_as)\([^()]*\)$")


@probe()
def masked_mean_meets_zero(view: View) -> Finding:
    """`(loss * mask).sum() / mask.sum()` without a floor, and the loss is NaN at single steps and recovers.

    The form alone is common and harmless: it is a fault where a batch without any valid element came by.
    """
    if (lacks := script_and_loss(view.run)) is not None:
        return unknown(lacks)
    seen = loss_not_finite_transient(view)
    if seen.state is not State.PRESENT:
        return absent(seen.why) if seen.state is State.ABSENT else unknown(seen.why)
    return first(view, _bare, "the scripts divide by no sum of a mask")


def _bare(source: Script) -> Finding | None:
    for node in source.of(ast.BinOp):
        if isinstance(node.op, ast.Div) and _sum_of_mask(node.right) and ".sum(" in unparse(node.left):
            return at(source, node, "a batch without a valid element makes this 0 / 0")
    return None


def _sum_of_mask(node: ast.expr) -> bool:
    """`mask.sum()`, `torch.sum(mask)`, with a cast around; nothing that keeps it from zero."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        name = last_name(node.func)
        if name == "sum":
            if node.args and last_name(node.func.value) in (
                "torch",
                "ops",
                "mindspore",
                "np",
                "tf",
                "paddle",
            ):
                return _MASK.search(unparse(node.args[0])) is not None
            return not node.args and _MASK.search(_CAST.sub("", unparse(node.func.value))) is not None
        if name not in ("float", "to", "astype", "type_as", "type", "half", "item"):
            return False
        node = node.func.value
    return False
