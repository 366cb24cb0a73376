"""Arguments of optimizers that are given by their place: `AdamW(parameters, lr, (0.9, 0.98), 1e-9, 0.01)`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from .._tree import of

_ADAM = ("", "", "betas", "adam_epsilon", "weight_decay")
# After the parameters and the rate; "" is not read. PyTorch and MindSpore agree for SGD.
_TORCH = {
    "adam": _ADAM,
    "adamw": _ADAM,
    "nadam": _ADAM,
    "radam": _ADAM,
    "adamax": _ADAM,
    "sgd": ("", "", "momentum", "", "weight_decay", "nesterov"),
    "rmsprop": ("", "", "", "adam_epsilon", "weight_decay", "momentum"),
    "momentum": ("", "", "momentum", "weight_decay"),
}
_MINDSPORE_ADAM = ("", "", "adam_beta1", "adam_beta2", "adam_epsilon")


def rate_first(tree: ast.AST, call: ast.Call) -> bool:
    """Whether an optimizer of Keras, Optax or Paddle is called: the rate is what it is given first."""
    if any(n.id in ("keras", "tf", "optimizers", "optax", "paddle") for n in of(call.func, ast.Name)):
        return True
    if any(k.arg in ("parameters", "parameter_list") for k in call.keywords):
        return True  # Paddle's name for them: they stand behind the rate
    name = next((n.id for n in of(call.func, ast.Name)), "")
    for taken in of(tree, ast.ImportFrom, ast.Import):
        for one in taken.names:
            source = f"{taken.module}.{one.name}" if isinstance(taken, ast.ImportFrom) else one.name
            if (one.asname or one.name) == name and _RATE_FIRST.match(source) is not None:
                return True
    return False


_RATE_FIRST = re.compile(r"(?:tf_|tensorflow\.(?:python\.)?)?keras\b|optax\b|paddle\b")


def by_place(call: ast.Call, name: str) -> Iterator[tuple[str, ast.expr]]:
    """Settings (their canonical names; "betas" is a pair) that an optimizer is given by their place.

    `name` is the optimizer's in small letters. Calls whose first argument is a number (Keras' rate) or that
    hand on lists (`*given`) are left aside.
    """
    if not call.args or isinstance(call.args[0], ast.Constant):
        return
    if any(isinstance(a, ast.Starred) for a in call.args):
        return
    names = _TORCH.get(name, ())
    if names is _ADAM and len(call.args) > 2 and isinstance(call.args[2], ast.Constant):
        names = _MINDSPORE_ADAM  # a number where PyTorch takes a pair
    for key, given in zip(names, call.args, strict=False):
        if key:
            yield key, given
