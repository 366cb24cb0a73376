"""The mode of a model while it is scored, in scripts: never switched off, or switched on for it."""

from __future__ import annotations

import ast

from ...readers._tree import of, unparse
from ...readers.script import keyword, last_name
from ...registry import Finding
from ...scripts.syntax import Script
from ..shared.checks import at, gets_false
from ..shared.nodes import is_false
from ..splits.learnt_and_scored import learnt, scored

_MODES = ("Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d")


def _on(call: ast.Call) -> bool:
    told = keyword(call, "mode")
    return not gets_false(call) and not is_false(told)


def never_quiet(source: Script) -> Finding | None:
    """MindSpore: `set_train()` in the loop over epochs, and a score in it that never takes it back."""
    switches = source.named("set_train")
    if "mindspore" not in source.frameworks or source.loose or not source.named(*_MODES):
        return None
    if not switches or not all(map(_on, switches)) or source.named("Model", "eval"):
        return None
    for one in scored(source):
        if one.chooses:
            return at(source, one.node, "the model is scored in training mode: nothing switches it off")
    return None


def switched_on_to_score(source: Script) -> Finding | None:
    """A model is put into training mode, and all that follows in the function scores it."""
    for call in source.named("set_train", "train"):
        if last_name(call.func) == "train" and (call.args or "pytorch" not in source.frameworks):
            continue
        function = source.function_around(call)
        if not isinstance(source.parents.get(call), ast.Expr) or not _on(call) or source.loops_around(call):
            continue
        later = [
            s
            for s in scored(source)
            if isinstance(s.node, ast.For) and source.function_around(s.node) is function
            if s.node.lineno > call.lineno and not s.chooses
        ]
        taught = [u for u in learnt(source) if source.function_around(u.node) is function]
        after = [u for u in taught if getattr(u.node, "lineno", 0) > call.lineno]
        back = [
            c
            for c in of(function or source.tree, ast.Call)
            if last_name(c.func) in ("eval", "set_train", "train")
            and c is not call
            and c.lineno > call.lineno
        ]
        if later and taught and not after and not back:
            return at(source, call, f"`{unparse(call)}` stands right before the model is scored")
    return None
