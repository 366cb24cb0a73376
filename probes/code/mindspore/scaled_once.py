"""MindSpore's loss scalers in a step written by hand: one of `scale` and `unscale` is never called."""

from __future__ import annotations

import ast
import builtins

from ...readers._tree import unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at
from .steps import of_mindspore

_SCALERS = ("StaticLossScaler", "DynamicLossScaler")


def never_unscaled(source: Script) -> Finding | None:
    """The loss is multiplied by the scaler's scale, and no gradient is divided by it."""
    found = _calls(source)
    if found is None or not found["scale"] or found["unscale"] or _handed_away(source):
        return None
    return at(source, found["scale"][0], "the loss is scaled here, and nothing unscales its gradients")


def _handed_away(source: Script) -> bool:
    """`grads = divide(grads)`: a function of elsewhere gets the gradients, and may take the scale out."""
    known = set(flow(source).functions) | set(source.classes)
    return any(
        isinstance(c.func, ast.Name)
        and c.func.id not in known
        and not any(unparse(t) == c.func.id for n in source.of(ast.Assign) for t in n.targets)
        and any("grad" in unparse(a).lower() for a in c.args)
        for c in source.calls
        if c.args and not hasattr(builtins, unparse(c.func))
    )


def never_scaled(source: Script) -> Finding | None:
    """Gradients are divided by the scaler's scale, and the loss was never multiplied by it."""
    found = _calls(source)
    if found is None or found["scale"] or not found["unscale"]:
        return None
    return at(source, found["unscale"][0], "these gradients are unscaled, and their loss was never scaled")


def _calls(source: Script) -> dict[str, list[ast.Call]] | None:
    """The calls of `scale` and `unscale` of a scaler that nobody else gets; None where there is none."""
    if not of_mindspore(source) or (not source.backwards and not source.named("value_and_grad", "grad")):
        return None
    names = {
        last_name(target)
        for node in source.of(ast.Assign)
        if isinstance(node.value, ast.Call) and last_name(node.value.func) in _SCALERS
        for target in node.targets
    }
    if not names:
        return None
    handed = [
        a
        for call in source.calls
        for a in (*call.args, *(k.value for k in call.keywords))
        if isinstance(a, (ast.Name, ast.Attribute)) and last_name(a) in names
    ]
    taken = [n for n in source.of(ast.Attribute) if _takes_methods(n, names) and not _told(source, n)]
    if handed or taken:
        return None
    owned = [
        c for c in source.calls if isinstance(c.func, ast.Attribute) and last_name(c.func.value) in names
    ]
    return {kind: [c for c in owned if last_name(c.func) == kind] for kind in ("scale", "unscale")}


def _told(source: Script, node: ast.AST) -> bool:
    """It is printed or logged."""
    return any(
        isinstance(p, (ast.JoinedStr, ast.Dict))
        or (isinstance(p, ast.Call) and last_name(p.func) in ("print", "info"))
        for p in source.above(node)
    )


def _takes_methods(node: ast.Attribute, names: set[str]) -> bool:
    """`scaler.scale_value`: the number itself is taken, and multiplied by hand."""
    return last_name(node.value) in names and node.attr in ("scale_value", "loss_scale")
