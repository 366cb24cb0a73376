"""Losses that nothing is left of: multiplied by next to nothing, or without weight for most classes."""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_in, walk
from ...readers.script import keyword, last_name
from ...registry import Finding, View
from ...scripts.flow import flow, losses, objectives
from ...scripts.syntax import Script
from ..shared.checks import at, first, ok
from ..shared.sides import either, literal
from .terms import NAMED


def loss_emptied(view: View) -> Finding:
    """What gradients are taken of is multiplied by next to nothing, or some classes weigh nothing in it."""
    return first(view, either(_scaled_away, _weighed_with_nought), "no gradient of a loss in the scripts")


# a loss times less than this moves a network of usual rates by nothing in a usual number of steps (practice)
_NOTHING_LEFT = 1e-4


def _scaled_away(source: Script) -> Finding | None:
    """What gradients are taken of is a loss times nought or next to nothing: `(loss * 1e-6).backward()`.

    Only a factor that is written out as a number, and nothing added: a weight of one term among others may
    be as small as it likes, and a division by a count makes a mean of a sum.
    """
    mine = flow(source)
    for call, handed in objectives(source):
        for value in mine.values(handed, 3):
            if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Mult):
                continue
            for factor, loss in ((value.left, value.right), (value.right, value.left)):
                number = literal(source, factor) if isinstance(factor, ast.Constant) else None
                if not isinstance(number, (int, float)) or not _is_loss_value(source, loss):
                    continue
                if abs(number) <= _NOTHING_LEFT:
                    return at(
                        source, value, f"the loss is multiplied by {number:g}, so its gradient moves nothing"
                    )
                return ok(source, call, "the loss is not multiplied away")
    return None


def _is_loss_value(source: Script, node: ast.expr) -> bool:
    """A call of a known loss, or what is named as one and is no sum by hand."""
    if any(isinstance(n, ast.Call) and last_name(n.func) in ("sum", "item") for n in walk(node)):
        return False
    known = {c for c, _ in losses(source)}
    return node in known or any(NAMED.search(name) for name in names_in(node))


def _weighed_with_nought(source: Script) -> Finding | None:
    """`CrossEntropyLoss(weight=torch.tensor([1.0, 0, 0]))`: classes without weight are never learned.

    Left alone: programs that speak of padding, a background or an ignored class, which may weigh nothing.
    """
    if re.search(
        r"(?i)pad|blank|background|void|ignore|unlabel|bos|eos|<s>|special",
        re.sub(r"padding(?:_mode)?=", "", source.code),
    ):
        return None
    for call in source.named("CrossEntropyLoss", "NLLLoss", "cross_entropy", "nll_loss"):
        given = keyword(call, "weight")
        for value in flow(source).values(given, 3) if given is not None else ():
            parts = value.args[0] if isinstance(value, ast.Call) and value.args else value
            if not isinstance(parts, (ast.List, ast.Tuple)) or len(parts.elts) < 2:
                continue
            numbers = [e.value for e in parts.elts if isinstance(e, ast.Constant)]
            if (
                len(numbers) == len(parts.elts)
                and any(n == 0 for n in numbers)
                and any(n != 0 for n in numbers)
            ):
                lost = sum(n == 0 for n in numbers)
                return at(source, call, f"{lost} of {len(numbers)} classes weigh nothing in this loss")
    return None
