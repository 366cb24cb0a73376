"""Evaluation in scripts: what is evaluated, and how its metric is computed."""

from __future__ import annotations

import ast

from .code import at, first, ok, outer_loop
from .readers.script import keyword, last_name
from .registry import Finding, View, probe
from .syntax import Script


@probe()
def predicts_over_batch(view: View) -> Finding:
    """The predicted class is taken over the batch axis: `output.argmax(0)`."""
    return first(view, _over_batch, "the scripts predict no classes")


def _over_batch(source: Script) -> Finding | None:
    calls = [c for c in source.named("argmax") if isinstance(c.func, ast.Attribute)]
    seen = None
    for call in calls:
        axis = keyword(call, "dim") or keyword(call, "axis") or (call.args[-1] if call.args else None)
        owner = source.owner(call).lower()
        if not any(w in owner for w in ("out", "logit", "pred", "score", "model(")):
            continue
        seen = seen or call
        if isinstance(axis, ast.Constant) and axis.value == 0 and "[" not in owner:
            return at(source, call, "the class is looked for along the batch, not along the classes")
    return ok(source, seen, "the class is looked for along the classes") if seen is not None else None


@probe()
def evaluates_stale_copy(view: View) -> Finding:
    """Evaluation uses a copy of the model made before training and never refreshed."""
    return first(view, _stale_copy, "the scripts copy no model")


def _stale_copy(source: Script) -> Finding | None:
    loop = outer_loop(source)
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and loop is not None:
            if last_name(node.value.func) == "deepcopy" and "model" in ast.unparse(node.value).lower():
                name = ast.unparse(node.targets[0])
                again: list[ast.AST] = [a for a in _assignments(source, name) if loop in source.above(a)]
                again += [
                    c for c in source.named("load_state_dict", "update", "lerp_") if name in source.owner(c)
                ]
                used = [c for c in source.calls if ast.unparse(c.func) == name]
                before = node.lineno < loop.lineno
                if before and not again and used:
                    return at(source, node, "evaluation uses this copy, which is never refreshed")
                return ok(source, node, "the copy of the model is refreshed")
    return None


def _assignments(source: Script, name: str) -> list[ast.Assign]:
    found = [n for n in ast.walk(source.tree) if isinstance(n, ast.Assign)]
    return [n for n in found if any(ast.unparse(t) == name for t in n.targets)]


@probe()
def evaluates_training_data(view: View) -> Finding:
    """A loader with an evaluation name is built over the training data."""
    return first(view, _evaluates_training, "the scripts show no evaluation loader")


def _evaluates_training(source: Script) -> Finding | None:
    seen = None
    for node in ast.walk(source.tree):
        if not (isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)):
            continue
        target = ast.unparse(node.targets[0]).lower()
        if last_name(node.value.func) != "DataLoader" or not node.value.args:
            continue
        if any(w in target for w in ("val", "test", "eval")) and "train" not in target:
            seen = node
            data = ast.unparse(node.value.args[0]).lower()
            if "train" in data and not any(w in data for w in ("val", "test", "eval")):
                return at(source, node, "the evaluation loader reads the training data")
    return ok(source, seen, "the evaluation loader reads its own data") if seen is not None else None
