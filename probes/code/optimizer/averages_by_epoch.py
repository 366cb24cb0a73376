"""Moving averages that follow by epochs, with a share that is meant for steps."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import keyword, last_name
from ...registry import Finding, View
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..shared.checks import at, number
from ..shared.units import EPOCH, runs_per

_WEIGHTS = re.compile(r"\b(?:parameters|state_dict|get_weights|trainable_weights|weights|variables)\b")
_KEPT = 0.5  # more than this share of the first weights is left at the end
_SHARE = re.compile(r"(?i)decay|momentum|alpha|tau|beta|rate")


def followed_by_epochs(view: View, source: Script) -> Finding | None:
    """`ema.update(model)` behind the loop over batches: at the end it is mostly what it was at first.

    Told where share and epochs are known: a copy that follows by epochs can be meant, with a small share.
    """
    for call in source.calls:
        moved = [f for f in flow(source).called(call) if _WEIGHTS.search(unparse(f))]
        moved = [f for f in moved if _share_kept(f) is not None]
        if len(moved) != 1 or runs_per(source, call) != EPOCH:
            continue
        kept = _share_kept(moved[0])
        share = _number(view, source, kept, moved[0]) if kept is not None else None
        rounds = _rounds(view, source, call)
        if share is None or rounds is None or not 0 < share < 1 or rounds < 2:
            continue
        left = share**rounds
        if left > _KEPT:
            return at(
                source,
                call,
                f"the average follows once an epoch: after {rounds:.0f} of them {left:.0%} of it are the"
                " weights that it began with",
            )
    return None


def _share_kept(function: Function) -> ast.expr | None:
    """The share of the old weights: `a.mul_(d).add_(b, alpha=1 - d)`, `a.lerp_(b, 1 - d)`, or written out."""
    for call in of(function, ast.Call):
        if last_name(call.func) == "mul_" and len(call.args) == 1:
            above = _alpha(function, call)
            if above is not None and unparse(above).replace("1.0", "1") == f"1 - {unparse(call.args[0])}":
                return call.args[0]
        if last_name(call.func) == "lerp_" and len(call.args) == 2 and isinstance(call.args[1], ast.BinOp):
            weight = call.args[1]
            one = isinstance(weight.left, ast.Constant) and weight.left.value == 1
            if one and isinstance(weight.op, ast.Sub):
                return weight.right
    for node in of(function, ast.BinOp):
        if (
            isinstance(node.op, ast.Add)
            and isinstance(node.left, ast.BinOp)
            and isinstance(node.right, ast.BinOp)
        ):
            old, new = node.left, node.right
            if isinstance(old.op, ast.Mult) and isinstance(new.op, ast.Mult):
                factors = {unparse(e).replace("1.0", "1") for e in (new.left, new.right)}
                for one_ in (old.left, old.right):
                    if f"1 - {unparse(one_)}" in factors and _SHARE.search(unparse(one_)):
                        return one_
    return None


def _alpha(function: Function, inner: ast.Call) -> ast.expr | None:
    """`alpha` of the `add_` that is called on what `mul_` gives back."""
    for call in of(function, ast.Call):
        if (
            last_name(call.func) == "add_"
            and isinstance(call.func, ast.Attribute)
            and call.func.value is inner
        ):
            return keyword(call, "alpha")
    return None


def _number(view: View, source: Script, node: ast.expr, function: Function) -> float | None:
    """The number of a share: written, of the settings, or handed to the object or the function."""
    if isinstance(node, ast.Constant):
        return float(node.value) if isinstance(node.value, (int, float)) else None
    for given in flow(source).values(node, 6):
        if isinstance(given, ast.Constant) and isinstance(given.value, (int, float)):
            return float(given.value)
        if isinstance(given, (ast.Subscript, ast.Attribute)) and unparse(given) != unparse(node):
            if (told := number(view, source, given)) is not None:
                return told
    owner = source.class_around(function)
    init = [m for m in owner.body if isinstance(m, ast.FunctionDef) and m.name == "__init__"] if owner else []
    if owner is None or not init:
        return number(view, source, node)
    names, defaults = [a.arg for a in init[0].args.args[1:]], init[0].args.defaults
    handed = dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))
    for call in source.named(owner.name):
        handed.update(zip(names, call.args, strict=False))
        handed.update({k.arg: k.value for k in call.keywords if k.arg})
    if (name := last_name(node)) in handed:
        return number(view, source, handed[name])
    return number(view, source, node)


def _rounds(view: View, source: Script, call: ast.Call) -> float | None:
    """How often the loop of epochs around a call runs."""
    loops = [p for p in source.loops_around(call) if isinstance(p, ast.For)]
    over = loops[-1].iter if loops else None
    if not isinstance(over, ast.Call) or last_name(over.func) not in ("range", "trange") or not over.args:
        return None
    return number(view, source, over.args[1] if len(over.args) > 1 else over.args[0])
