"""Training steps of TensorFlow in scripts that run their model in the mode of inference."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.nodes import is_false

_MOODY = (
    "Dropout",
    "BatchNormalization",
    "SpatialDropout1D",
    "SpatialDropout2D",
    "GaussianNoise",
    "AlphaDropout",
)


def taped_in_inference(source: Script) -> Finding | None:
    """`logits = model(images)` under a tape: dropout is off and statistics stay fixed.

    Outside of `fit` a Keras model runs in inference unless it is told. Counts where the tape's gradient goes
    to the variables of that very model, and the program makes layers that have two modes.
    """
    if not source.named(*_MOODY) or source.named("set_learning_phase"):
        return None
    several = len(_trained(source.tree)) > 1
    for tape in of(source.tree, ast.With):
        if not any("GradientTape" in unparse(i.context_expr) for i in tape.items):
            continue
        around = source.function_around(tape) or source.tree
        trained = _trained(around)
        for call in of(tape, ast.Call):
            if unparse(call.func) not in trained or len(call.args) != 1 or _modeless(source, call, several):
                continue
            if keyword(call, "training") is None and not call.keywords:
                return at(
                    source, call, "the model trains in the mode of inference: it is not told training=True"
                )
    return None


def _trained(tree: ast.AST) -> set[str]:
    """What the variables that are trained belong to."""
    found = of(tree, ast.Attribute)
    return {unparse(n.value) for n in found if n.attr in ("trainable_variables", "trainable_weights")}


def _modeless(source: Script, call: ast.Call, several: bool) -> bool:
    """A list of layers of one mode; of several models one of unknown making may well be one."""
    made = flow(source).made(call.func)
    if made is None:
        return several
    listed = last_name(made.func) == "Sequential" if isinstance(made, ast.Call) else False
    return listed and not any(last_name(c.func) in _MOODY for c in of(made, ast.Call))


def block_drops_mode(source: Script) -> Finding | None:
    """A block that is told its mode runs a part with dropout or batch norm in the mode of inference, always.

    `self.conv2(y, training=False)` beside `self.conv1(x, training=training)`.
    """
    for function in source.forwards:
        owner = source.parents.get(function)
        names = [a.arg for a in (*function.args.args, *function.args.kwonlyargs)]
        if not isinstance(owner, ast.ClassDef) or "training" not in names:
            continue
        fixed: list[ast.Call] = []
        handed = False
        for call in of(function, ast.Call):
            given = keyword(call, "training")
            if not re.fullmatch(r"self\.\w+", unparse(call.func)) or given is None:
                continue
            handed = handed or unparse(given) == "training"
            if is_false(given) and _has_modes(source, call):
                fixed.append(call)
        idle = not any(
            n.id == "training" and isinstance(n.ctx, ast.Load) for s in function.body for n in of(s, ast.Name)
        )
        if idle:
            fixed = [c for c in of(function, ast.Call) if _runs_part(c) and _is_off(c)]
        if fixed and (handed or idle):
            return at(
                source, fixed[0], "this part never leaves the mode of inference, whatever the block is told"
            )
    return None


def _runs_part(call: ast.Call) -> bool:
    return re.fullmatch(r"self\.\w+", unparse(call.func)) is not None and bool(call.args)


def _is_off(call: ast.Call) -> bool:
    given = keyword(call, "training")
    return is_false(given)


def _has_modes(source: Script, call: ast.Call) -> bool:
    """A part of this program's own making that holds layers of two modes; nothing that was pretrained."""
    made = flow(source).made(call.func)
    if made is None:
        return any(
            isinstance(v, ast.Call) and last_name(v.func) in _MOODY for v in flow(source).values(call.func, 2)
        )
    return any(last_name(c.func) in _MOODY for c in of(made, ast.Call))
