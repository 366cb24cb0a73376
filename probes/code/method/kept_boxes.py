"""Non-maximum suppression in scripts: by what boxes are kept, and how far they may overlap."""

from __future__ import annotations

import ast

from ...readers._tree import unparse
from ...readers.script import argument
from ...registry import Finding
from ...scripts.syntax import Script
from ..shared.checks import at, ok
from ..shared.nodes import is_negative
from ..shared.sides import literal

_LEAST, _MOST = 0.1, 0.95


def suppressed_wrongly(source: Script) -> Finding | None:
    """`nms(boxes, 1 - scores, 0.5)` keeps the worst; at an overlap of 0.01 all neighbours go."""
    seen: ast.AST | None = None
    for call in source.named("nms", "batched_nms", "non_max_suppression"):
        if len(call.args) < 2 or unparse(call.func) in source.classes:
            continue
        scores, at_most = call.args[1], argument(call, "iou_threshold", position=-1)
        at_most = at_most or call.args[-1]
        seen = seen or call
        turned = is_negative(scores) and not isinstance(scores.operand, ast.Constant)
        turned |= (
            isinstance(scores, ast.BinOp)
            and isinstance(scores.op, ast.Sub)
            and unparse(scores.left) in ("1", "1.0")
        )
        if turned:
            return at(source, call, "the boxes of the lowest scores are kept, and suppress the others")
        limit = literal(source, at_most)
        of_library = unparse(call.func).split(".")[0] in (
            "nms",
            "batched_nms",
            "torchvision",
            "ops",
            "box_ops",
        )
        if of_library and isinstance(limit, float) and (limit < _LEAST or limit > _MOST):
            far = "that touch at all" if limit < _LEAST else "that are all but one"
            return at(source, call, f"at an overlap of {limit:g} only boxes {far} suppress each other")
    return ok(source, seen, "boxes are kept by their scores") if seen is not None else None
