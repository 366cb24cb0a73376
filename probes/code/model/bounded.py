"""Outputs that an activation bounds, in scripts of regressions whose loss does not move."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from ....engine.model import State
from ...curves.shapes import shape
from ...readers._tree import unparse
from ...readers.script import argument, last_name, receiver
from ...registry import Finding, View, absent, probe, unknown
from ...scripts.flow import flow, losses
from ...scripts.syntax import Script
from ..shared.checks import at, first, ok, script_and_loss

_BOUNDS = frozenset(("relu", "relu6", "sigmoid", "tanh", "softmax", "hardsigmoid", "hard_sigmoid"))
_REGRESSIONS = ("mseloss", "l1loss", "smoothl1loss", "huberloss", "mse_loss", "l1_loss", "smooth_l1_loss")
_SHAPES = ("squeeze", "view", "reshape", "flatten", "float")
_KERAS = frozenset(("mse", "mae", "mean_squared_error", "mean_absolute_error", "huber", "huber_loss"))


@probe()
def output_bounded_met(view: View, progress: float = 0.02, points: int = 5) -> Finding:
    """A regression ends in a ReLU, sigmoid, tanh or softmax, and its loss hardly moves.

    Targets that lie outside of what the activation gives cannot be met; where it is saturated or dead, no
    gradient comes back. Where targets are scaled to the same range the loss falls, and nothing is said.
    """
    if (lacks := script_and_loss(view.run)) is not None:
        return unknown(lacks)
    curve = shape(view.run.series["train/loss"])
    if curve is None or curve.count < points:
        return unknown(f"fewer than {points} losses")
    if curve.best_progress > progress:
        return absent(f"{curve.name} falls by {curve.best_progress:.0%}")
    found = first(view, _bounded, "no regression whose model's last operation can be told")
    if found.state is not State.PRESENT:
        return found
    return replace(found, why=f"{found.why}; {curve.name} goes from {curve.y[0]:.4g} to {curve.y[-1]:.4g}")


def _bounded(source: Script) -> Finding | None:
    if not _regresses(source):
        return None
    judged: ast.AST | None = None
    for ends, node in _outputs(source):
        judged = judged or node
        if ends.lower() in _BOUNDS:
            return at(source, node, f"the output of a regression goes through {ends}")
    last = _last_dense(source)
    if last is not None:
        judged = judged or last
        name = _activation(last)
        if name in _BOUNDS:
            return at(source, last, f"the output of a regression goes through {name}")
    return ok(source, judged, "the output is not bounded") if judged is not None else None


def _outputs(source: Script) -> Iterator[tuple[str, ast.expr]]:
    """The last operation of the one model of a script, changes of shape left out, and where it stands."""
    if len(source.models) != 1:
        return
    for function in (f for f in source.forwards if f in source.models[0].body):
        for output in source.output_of(function):
            node: ast.expr = output
            while isinstance(node, ast.Call) and last_name(node.func) in _SHAPES:
                inner = receiver(node)
                node = node.args[0] if inner is None or unparse(inner) in ("torch", "F") else inner
            if not isinstance(node, ast.Call):
                continue
            made = flow(source).given(node.func) if isinstance(node.func, ast.Attribute) else None
            stack = made.value if made is not None and isinstance(made.value, ast.Call) else None
            if stack is not None and last_name(stack.func) == "Sequential" and stack.args:
                yield last_name(getattr(stack.args[-1], "func", stack)), output
            else:
                yield last_name((stack or node).func), output


def _regresses(source: Script) -> bool:
    """Every loss of the script is one of distances."""
    by_hand = {kind.lower() for _, kind in losses(source)}
    told = [argument(c, "loss", position=1) for c in source.named("compile")]
    named = {t.value for t in told if isinstance(t, ast.Constant) and isinstance(t.value, str)}
    if by_hand:
        return all(kind in _REGRESSIONS for kind in by_hand)
    return bool(named) and named <= _KERAS


def _last_dense(source: Script) -> ast.Call | None:
    """The last layer of the one stack of Keras layers of a script."""
    if len(source.named("Sequential")) != 1 or source.named("Model") or source.models:
        return None
    layers = sorted(source.named("Dense"), key=lambda c: (c.lineno, c.col_offset))
    return layers[-1] if layers else None


def _activation(layer: ast.Call) -> str:
    given = argument(layer, "activation", position=1)
    if isinstance(given, ast.Constant):
        return str(given.value)
    return last_name(given) if given is not None and unparse(given) else ""
