"""Masks and weights of samples that a loss is handed and never reads."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...registry import Finding
from ...scripts.flow import flow, returns
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.nodes import is_none, left_to_heirs, raises

_LOSS = re.compile(r"(?i)loss|criterion|objective")
_MASKS = re.compile(
    r"(?i)^(?:\w+_)?(?:masks?|valid|visible|visibility|vis|weights?|keep|known|present|observed|lengths?)$"
)


def mask_of_loss_unread(source: Script) -> Finding | None:
    """`def loss(pred, maps, weight): return ((pred - maps) ** 2).mean()`: what is masked counts as well."""
    for function in source.of(ast.FunctionDef):
        if not _LOSS.search(function.name) or raises(function) or not returns(function):
            continue
        owner = source.class_around(function)
        if owner is not None and (left_to_heirs(owner) or any(unparse(b) not in _PLAIN for b in owner.bases)):
            continue
        args = [*function.args.posonlyargs, *function.args.args]
        read = {n.id for n in of(function, ast.Name)}
        if read & {"locals", "kwargs"} or function.args.kwarg is not None or function.args.vararg is not None:
            continue
        for place, one in enumerate(args):
            if one.arg in read or not _MASKS.match(one.arg):
                continue
            start = place - (1 if args[0].arg in ("self", "cls") else 0)
            given = [
                g
                for c in flow(source).calls_of(function)
                for g in [
                    next((k.value for k in c.keywords if k.arg == one.arg), None)
                    or (c.args[start] if 0 <= start < len(c.args) else None)
                ]
                if g is not None and not is_none(g) and not isinstance(g, ast.Constant)
            ]
            if given and len(args) > 2:
                return at(
                    source, function, f"`{one.arg}` is handed over and not read: all count in this loss"
                )
    return None


_PLAIN = ("object", "nn.Module", "torch.nn.Module", "nn.Cell", "Module")
