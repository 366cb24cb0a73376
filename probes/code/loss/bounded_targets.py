"""Targets in scripts that leave the range that a loss or the last activation of a model can reach."""

from __future__ import annotations

import ast

from ...readers._tree import of
from ...registry import Finding
from ...scripts.flow import flow, losses
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.roles import model_calls

_BOUNDED = ("binary_cross_entropy", "bceloss", "binary_cross_entropy_with_logits", "bcewithlogitsloss")
_SAME = ("view", "reshape", "flatten", "to", "cuda", "detach", "float")


def standardised_pixels_as_shares(source: Script) -> Finding | None:
    """`binary_cross_entropy(model(x), x)` of pictures that `Normalize` took out of 0 to 1."""
    whole = [c for c in source.named("Normalize") if len(c.args) > 1 or c.keywords]
    pipelines = source.named("Compose")
    if not whole or not pipelines:
        return None
    if len([c for c in pipelines if any(w in of(c, ast.Call) for w in whole)]) < len(pipelines):
        return None  # some pictures are left as they are
    inputs = {_root(c.args[0]) for c in model_calls(source) if c.args}
    for call, kind in losses(source):
        if kind.replace("_", "") not in {b.replace("_", "") for b in _BOUNDED} or len(call.args) < 2:
            continue
        for target in (call.args[1], *_handed(source, call.args[1])):
            if _root(target) and _root(target) in inputs:
                return at(
                    source,
                    call,
                    "the targets are standardised pixels, and this loss is one of shares from 0 to 1",
                )
    return None


def _root(node: ast.expr) -> str:
    """The name of a batch, its form left aside: `x.view(-1, 784)` -> `x`."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _SAME:
        node = node.func.value
    return node.id if isinstance(node, ast.Name) else ""


def _handed(source: Script, node: ast.expr) -> list[ast.expr]:
    """What callers hand over for the parameter that an expression is made of."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _SAME:
        node = node.func.value
    return list(flow(source).arguments(node)) if isinstance(node, ast.Name) else []
