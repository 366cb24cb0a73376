"""One-hot maps in losses of scripts whose places are put in another order than those of the answers."""

from __future__ import annotations

import ast

from ...readers._tree import of, unparse
from ...readers.script import last_name, receiver
from ...registry import Finding
from ...scripts.syntax import Script
from ..shared.checks import at, ok
from ..shared.nodes import whole_number


def places_exchanged_in_one_hot(source: Script) -> Finding | None:
    """`one_hot(y, n).permute(0, 4, 3, 2, 1)`: the classes come second, and height and width change places."""
    seen: ast.AST | None = None
    for call in source.named("permute", "transpose", "moveaxis"):
        owner = receiver(call)
        if last_name(call.func) != "permute" or owner is None:
            continue
        if not any(last_name(c.func) == "one_hot" for c in of(owner, ast.Call)):
            continue
        axes = [place for a in call.args if (place := whole_number(a)) is not None]
        if len(axes) != len(call.args) or len(axes) < 4 or axes[0] != 0 or axes[1] not in (len(axes) - 1, -1):
            continue
        seen = seen or call
        if axes[2:] != sorted(axes[2:]):
            return at(source, call, f"the places are put in another order: {unparse(call)[-30:]}")
    return ok(source, seen, "the places of one-hot maps keep their order") if seen is not None else None


def softmax_over_the_batch(source: Script) -> Finding | None:
    """`logits.softmax(dim=0)` in a function of the loss that takes logits and target of a batch."""
    for function in source.of(ast.FunctionDef):
        names = [a.arg for a in function.args.args]
        if source.class_around(function) is not None or not any("logit" in n.lower() for n in names):
            continue
        hot = any(last_name(c.func) == "one_hot" for c in of(function, ast.Call))
        if not hot or not any(
            n.lower() in ("target", "targets", "labels", "y", "label", "mask") for n in names
        ):
            continue
        for call in of(function, ast.Call):
            if last_name(call.func) not in ("softmax", "log_softmax") or not isinstance(
                call.func, ast.Attribute
            ):
                continue
            method = unparse(call.func.value) in names
            axis = [unparse(k.value) for k in call.keywords if k.arg in ("dim", "axis")]
            axis += [unparse(a) for a in (call.args if method else call.args[1:2])]
            given = unparse(call.func.value) if method else (unparse(call.args[0]) if call.args else "")
            if "logit" in given.lower() and axis == ["0"]:
                return at(source, call, "this softmax runs over the batch: samples compete with one another")
    return None
