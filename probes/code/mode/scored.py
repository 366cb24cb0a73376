"""The mode of a model while it is scored, in scripts: never switched off, or switched on for it."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import argument, keyword, last_name, receiver
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


_LOADS = ("load_param_into_net", "load_state_dict", "load_checkpoint")
_LEARNS = (
    *(
        "backward",
        "step",
        "value_and_grad",
        "grad",
        "GradOperation",
        "TrainOneStepCell",
        "TrainOneStepWithLossScaleCell",
    ),
    *("fit", "minimize", "Model", "train_on_batch", "Trainer"),
)
_UNCERTAIN = re.compile(
    r"(?i)mc[_ -]?dropout|monte.?carlo|uncertain|update_bn|recalibrat|calibrat|running_mean|momentum"
)


def loaded_and_left_in_training(source: Script) -> Finding | None:
    """A program that trains nothing: loaded weights are put into training mode and answer batches."""
    if not source.named(*_LOADS) or source.named(*_LEARNS) or _UNCERTAIN.search(source.text):
        return None
    for call in source.named("set_train", "train"):
        owner = _owner(call)
        if not owner or not _on(call) or (last_name(call.func) == "train" and call.args):
            continue
        if not isinstance(source.parents.get(call), ast.Expr) or not _is_loaded(source, owner):
            continue
        function = source.function_around(call)
        back = [
            c
            for c in source.named("eval", "set_train", "train")
            if c is not call and _owner(c) == owner and c.lineno > call.lineno
        ]
        answers = [
            c
            for c in of(function or source.tree, ast.Call)
            if unparse(c.func) == owner and c.lineno > call.lineno and list(source.loops_around(c))
            if not isinstance(source.parents.get(c), ast.Expr)
        ]
        if answers and not back:
            return at(
                source,
                call,
                f"`{unparse(call)}` stands before loaded weights are measured; nothing trains here",
            )
    return None


def _owner(call: ast.Call) -> str:
    found = receiver(call)
    return "" if found is None else unparse(found)


def _is_loaded(source: Script, owner: str) -> bool:
    """Whether weights are loaded into it: `load_param_into_net(net, ...)`, `net.load_state_dict(...)`."""
    for call in source.named(*_LOADS):
        first = argument(call, "net", position=0)
        if _owner(call) == owner or (first is not None and unparse(first) == owner):
            return True
    return False
