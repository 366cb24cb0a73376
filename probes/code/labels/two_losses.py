"""Labels that the loss of evaluation leaves out in scripts, and the loss of training does not."""

from __future__ import annotations

import ast

from ...readers.script import keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow, losses
from ...scripts.syntax import Script
from ...scripts.untaped import without_gradients
from ..loss.output_kind import is_trained
from ..shared.checks import at, is_evaluation, ok
from ..shared.sides import literal

_WITH_LABELS = ("crossentropyloss", "cross_entropy", "nllloss", "nll_loss")
_LEFT_OUT = -100  # what torch leaves out unless told otherwise


def left_out_on_one_side(source: Script) -> Finding | None:
    """`cross_entropy(..., ignore_index=0)` where the model is evaluated, and none where it is trained.

    Also two sides that leave out different labels. Losses that are weighted by hand are left aside.
    """
    told = [(c, _left_out(source, c)) for c, kind in losses(source) if kind in _WITH_LABELS]
    trained = [(c, v) for c, v in told if is_trained(source, c)]
    scored = [
        (c, v)
        for c, v in told
        if not is_trained(source, c) and (is_evaluation(source, c) or without_gradients(source, c))
    ]
    if not trained or not scored or any(v is None for _, v in told) or source.named("masked_select"):
        return None
    if any(isinstance(r := keyword(c, "reduction"), ast.Constant) and r.value == "none" for c, _ in trained):
        return None
    ours, theirs = {v for _, v in trained}, {v for _, v in scored}
    if len(ours) == len(theirs) == 1 and ours != theirs and theirs != {_LEFT_OUT}:
        left = next(iter(theirs))
        return at(
            source, trained[0][0], f"evaluation leaves label {left} out of its loss, and training does not"
        )
    return (
        ok(source, trained[0][0], "training and evaluation leave out the same labels")
        if ours == theirs
        else None
    )


def _left_out(source: Script, call: ast.Call) -> int | None:
    """The label that a loss leaves out; None where that cannot be told."""
    made = [v for v in flow(source).values(call.func, 4) if isinstance(v, ast.Call)]
    given = [k for c in (call, *made) if (k := keyword(c, "ignore_index")) is not None]
    if any(k.arg is None for c in (call, *made) for k in c.keywords):
        return None
    if not given:
        return _LEFT_OUT if last_name(call.func) else None
    value = literal(source, given[0])
    return value if isinstance(value, int) else None
