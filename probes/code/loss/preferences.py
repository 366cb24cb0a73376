"""Losses of pairs in scripts: what is preferred has to be scored above what is not."""

from __future__ import annotations

import ast
import re

from ...readers._tree import unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at, ok
from ..shared.nodes import is_negative
from ..shared.sides import words

_BETTER = frozenset(
    ("pos", "positive", "positives", "better", "chosen", "winner", "preferred", "win", "liked")
)
_WORSE = frozenset(
    ("neg", "negative", "negatives", "worse", "rejected", "loser", "lose", "random", "sampled", "unliked")
)
_DISTANCE = re.compile(r"(?i)dist|cdist|norm|energy|loss|err")


def pairs_turned(source: Script) -> Finding | None:
    """`-logsigmoid(neg - pos)`: the loss falls as what is not preferred is scored higher.

    Scores that are named as distances are left aside: there the order is the other one.
    """
    seen: ast.AST | None = None
    for call in source.calls:
        name = last_name(call.func)
        if name not in ("logsigmoid", "log_sigmoid", "softplus") or not call.args:
            continue
        better_first = _order(source, call.args[0])
        if better_first is None or _minus_before(source, call) != (name != "softplus"):
            continue
        seen = seen or call
        if better_first == (name == "softplus"):
            return at(source, call, "the loss falls as what is not preferred is scored higher")
    told = "the loss falls as what is preferred is scored higher"
    return ok(source, seen, told) if seen is not None else None


def _order(source: Script, given: ast.expr) -> bool | None:
    """Of a difference of scores: whether what is preferred stands first; None where its names do not tell."""
    for one in flow(source).values(given, 4):
        if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Mult):
            parts = [v for p in (one.left, one.right) for v in flow(source).values(p, 3)]
            parts = [p for p in parts if isinstance(p, ast.BinOp)]
            one = parts[0] if len(parts) == 1 else one
        if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Sub):
            first, second = _kind(one.left), _kind(one.right)
            if None not in (first, second) and first != second:
                return first
    return None


def _kind(score: ast.expr) -> bool | None:
    text = unparse(score)
    told = set(words(text))
    if _DISTANCE.search(text):
        return None
    better, worse = bool(told & _BETTER), bool(told & _WORSE)
    return better if better != worse else None


def _minus_before(source: Script, call: ast.Call) -> bool:
    """A minus in front of the call, or of its mean or sum."""
    held: ast.AST = call
    for parent in source.above(call):
        if is_negative(parent):
            return True
        if isinstance(parent, ast.Call) and held not in (parent.func, *parent.args):
            return False
        if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Sub) and held is parent.right:
            return True
        if not isinstance(parent, (ast.Call, ast.Attribute, ast.BinOp)):
            return False
        held = parent
    return False
