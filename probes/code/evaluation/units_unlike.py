"""Answers and truths of scripts in unlike units: one is turned back, the other is not."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import names_in, of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.learning import takes_gradients
from ...scripts.syntax import Script
from ..shared.checks import at, is_evaluation, ok

_SPREAD = re.compile(r"(?i)(?:^|[._])(?:stds?|sd|sigma|scale_?|stdev|spread|range)(?:$|[_\[(.])")
_CENTRE = re.compile(r"(?i)(?:^|[._])(?:means?|mu|mn|avg|min_?|offset|centre|center)(?:$|[_\[(.])")
_PREDICTS = re.compile(r"(?i)^(?:predict\w*|model|net|network|forward|regressor|forecaster)$")
_PLAIN = (
    "numpy",
    "cpu",
    "detach",
    "squeeze",
    "ravel",
    "flatten",
    "reshape",
    "float",
    "item",
    "astype",
    "asarray",
)
_ERRORS = ("mean_absolute_error", "mean_squared_error", "r2_score", "mean_absolute_percentage_error")


def one_side_turned_back(source: Script) -> Finding | None:
    """`truth = t * sd + mu` beside `pred = model.predict(x)`, or beside `... * sd - mu`, in one error."""
    seen: ast.AST | None = None
    for node, one, other in _held_together(source):
        mine, theirs = _turned(source, one), _turned(source, other)
        if mine is None and theirs is None:
            continue
        seen = seen or node
        if mine is not None and theirs is not None:
            if mine != theirs and mine[1:] == theirs[1:]:
                return at(source, node, "prediction and target are turned back to their unit in unlike ways")
            continue
        rest, back = (other, one) if mine is not None else (one, other)
        if _TRUTH.match(unparse(back)) and _gathered(source, rest) and (mine or theirs or "")[0] == "+":
            return at(source, node, "the targets are turned back to their unit, and the predictions are not")
        if _as_predicted(source, rest) and (mine or theirs or "")[0] == "+":
            return at(source, node, "only one of prediction and target is turned back to its unit")
    return ok(source, seen, "prediction and target are turned back alike") if seen is not None else None


_TRUTH = re.compile(r"(?i)^(?:y|ys|true|truths?|targets?|gts?|labels?|actual|y_true)$")
_SAID = re.compile(r"(?i)^(?:p|preds?|predictions?|said|outs?|outputs?|y_?(?:hat|pred))$")


def _gathered(source: Script, node: ast.expr) -> bool:
    """`said = torch.cat(said)`: the answers of all batches, as the model gave them."""
    if not _SAID.match(unparse(node)):
        return False
    made = flow(source).all_given(node)
    value = made[0].value if made and not made[0].places else None
    joined = isinstance(value, ast.Call) and last_name(value.func) in (
        "cat",
        "concatenate",
        "hstack",
        "vstack",
    )
    return joined and isinstance(value, ast.Call) and isinstance(value.args[0], ast.Name)


def _held_together(source: Script) -> Iterator[tuple[ast.AST, ast.expr, ast.expr]]:
    for node in source.of(ast.BinOp):
        if (
            isinstance(node.op, ast.Sub)
            and isinstance(node.left, ast.Name)
            and isinstance(node.right, ast.Name)
        ):
            function = source.function_around(node)
            if function is None or not takes_gradients(source, function) or source.named("predict"):
                yield node, node.left, node.right
    for call in source.named(*_ERRORS):
        if len(call.args) > 1:
            yield call, call.args[0], call.args[1]


def _value(source: Script, node: ast.expr) -> ast.expr | None:
    if not isinstance(node, ast.Name):
        return node
    made = flow(source).all_given(node)
    one = len(made) == 1 or (bool(made) and node.id in names_in(made[0].value))  # `x = cat(x) * s + m`
    return made[0].value if one and not made[0].places else None


def _turned(source: Script, node: ast.expr) -> tuple[str, str, str] | None:
    """(`+`, scale, centre) of `v * scale + centre`; the sign as it is written."""
    value = _value(source, node)
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, (ast.Add, ast.Sub)):
        return None
    scaled, centre = value.left, value.right
    if not isinstance(scaled, ast.BinOp) or not isinstance(scaled.op, ast.Mult):
        return None
    parts = [p for p in (scaled.left, scaled.right) if _SPREAD.search(unparse(p)) and len(unparse(p)) < 40]
    if len(parts) != 1 or not _CENTRE.search(unparse(centre)):
        return None
    return ("+" if isinstance(value.op, ast.Add) else "-"), unparse(parts[0]), unparse(centre)


def _as_predicted(source: Script, node: ast.expr) -> bool:
    """What a model gives, and nothing more is done with it."""
    value = _value(source, node)
    for _ in range(6):
        if not isinstance(value, ast.Call):
            return False
        name = last_name(value.func)
        if _PREDICTS.match(name):
            inner = [n for a in value.args for n in names_in(a)]
            return not any(_CENTRE.search(n) for n in inner) and not of(value.func, ast.BinOp)
        if name not in _PLAIN:
            return False
        value = value.args[0] if name == "asarray" and value.args else getattr(value.func, "value", None)
    return False


_LOSSES = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")


def truth_scaled_in_training_alone(source: Script) -> Finding | None:
    """`mse_loss(model(x), (t - mean) / std)` in training, `model(x) - t` where it is scored.

    Only where the scoring function knows neither of the two figures: it cannot turn anything back.
    """
    seen: ast.AST | None = None
    for truth, centre, spread in scaled_truths(source):
        for node in (*source.of(ast.BinOp), *source.named(*_LOSSES)):
            function = source.function_around(node)
            if function is None or takes_gradients(source, function) or not is_evaluation(source, node):
                continue
            sides = _sides_of(node)
            other = next((s for s in sides if unparse(s) != truth), None)
            if other is None or len(sides) != 2 or truth not in map(unparse, sides):
                continue
            seen = seen or node
            figures = {centre.partition(".")[0], spread.partition(".")[0]}
            if figures & set(names_in(function)) or not _from_batch(function, truth):
                continue
            if _as_predicted(source, other):
                why = "predictions on the scale that the loss is taken on are held against raw targets"
                return at(source, node, why)
    return ok(source, seen, "predictions are scored on the scale of their targets") if seen else None


def scaled_truths(source: Script) -> Iterator[tuple[str, str, str]]:
    """(target, centre, spread) of targets that are standardised where the loss is taken."""
    for node in source.of(ast.BinOp):
        if not (isinstance(node.op, ast.Div) and isinstance(node.left, ast.BinOp)):
            continue
        inner = node.left
        if isinstance(inner.op, ast.Sub) and isinstance(inner.left, ast.Name):
            truth, centre, spread = inner.left.id, unparse(inner.right), unparse(node.right)
            held = _TRUTH.match(truth) and _CENTRE.search(centre) and _SPREAD.search(spread)
            call = source.parents.get(node)
            if held and isinstance(call, ast.Call) and "loss" in last_name(call.func).lower():
                yield truth, centre, spread


def _sides_of(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.BinOp):
        return [node.left, node.right] if isinstance(node.op, ast.Sub) else []
    return list(node.args[:2]) if isinstance(node, ast.Call) else []


def _from_batch(function: ast.AST, name: str) -> bool:
    """A name that a loop over batches gives, and that nothing in the function sets again."""
    loops = [n for n in of(function, ast.For) if name in names_in(n.target)]
    again = [n for n in of(function, ast.Assign) if any(name in names_in(t) for t in n.targets)]
    moved = all(last_name(n.value.func) in ("to", "cuda") for n in again if isinstance(n.value, ast.Call))
    return bool(loops) and moved and all(isinstance(n.value, ast.Call | ast.Tuple) for n in again)
