"""Losses of single positions under a tape (TensorFlow) that are averaged over padding, too."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at, ok

_EACH = ("sparse_softmax_cross_entropy_with_logits", "softmax_cross_entropy_with_logits")
_ONE_ANSWER = re.compile(r"Pooling1D|\[:, ?-1|Flatten\(|return_state=True|reduce_(?:mean|max|sum)\(h|\[:, ?0")


def averaged_with_padding(source: Script) -> Finding | None:
    """`reduce_mean(each(y, logits))` of a tagger whose embedding masks padding: all positions count.

    `reduce_mean(each(y, logits) * mask)` divides by the padding as well. Only where each step has an answer:
    nothing pools the steps, and the model's recurrent layer or encoder gives all of them.
    """
    steps = "mask_zero=True" in source.code and "return_sequences=True" in source.code
    if not steps or _ONE_ANSWER.search(source.code):
        return None
    seen: ast.AST | None = None
    for call in source.named("reduce_mean"):
        if not call.args or len(call.args) > 1 or keyword(call, "axis") is not None:
            continue
        if not any(isinstance(p, ast.With) and "Tape" in unparse(p.items[0]) for p in source.above(call)):
            continue
        about = call.args[0]
        one = next((c for c in of(about, ast.Call) if _of_each(source, c)), None)
        if one is None or any(last_name(c.func) == "boolean_mask" for c in of(about, ast.Call)):
            continue
        if keyword(one, "sample_weight") is not None or len(one.args) > 2:
            continue
        if isinstance(about, ast.BinOp) and isinstance(about.op, ast.Div):
            seen = seen or call
            continue
        return at(source, call, "padding counts in this mean over positions")
    return ok(source, seen, "losses are averaged over positions with a label") if seen is not None else None


def _of_each(source: Script, call: ast.Call) -> bool:
    """A loss that is not reduced: one number for each position."""
    if last_name(call.func) in _EACH:
        return True
    if not isinstance(call.func, (ast.Name, ast.Attribute)):
        return False
    made = [v for v in flow(source).values(call.func, 3) if isinstance(v, ast.Call)]
    told = [keyword(m, "reduction") for m in made if "entropy" in last_name(m.func).lower()]
    return any(t is not None and "none" in unparse(t).lower() for t in told)
