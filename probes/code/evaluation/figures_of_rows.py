"""Figures under another figure's name, means of batches over rows, and tests that choose the best epoch."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.sides import words
from .choices import choices
from .parts_named import part_of

_FIGURES = {
    **dict.fromkeys(("f1",), "f1"),
    **dict.fromkeys(("acc", "accuracy"), "accuracy"),
    **dict.fromkeys(("precision",), "precision"),
    **dict.fromkeys(("recall", "sensitivity"), "recall"),
    **dict.fromkeys(("auc", "auroc", "roc"), "auc"),
    **dict.fromkeys(("mae",), "mae"),
    **dict.fromkeys(("rmse",), "rmse"),
    **dict.fromkeys(("mse",), "mse"),
    **dict.fromkeys(("r2",), "r2"),
    **dict.fromkeys(("bleu",), "bleu"),
    **dict.fromkeys(("iou",), "iou"),
    **dict.fromkeys(("dice",), "dice"),
}


def figure_of_another_name(source: Script) -> Finding | None:
    """`{"f1": scores["overall_accuracy"]}`: a figure is told under the name of another one."""
    pairs: list[tuple[str, ast.expr]] = []
    for node in source.of(ast.Dict):
        keys = zip(node.keys, node.values, strict=True)
        pairs += [(str(k.value), v) for k, v in keys if isinstance(k, ast.Constant)]
    for call in source.named("dict"):
        pairs += [(k.arg, k.value) for k in call.keywords if k.arg]
    for name, value in pairs:
        inner = value
        while (
            isinstance(inner, ast.Call) and last_name(inner.func) in ("float", "round", "item") and inner.args
        ):
            inner = inner.args[0]
        if not isinstance(inner, ast.Subscript) or not isinstance(inner.slice, ast.Constant):
            continue
        told, taken = figure_called(name), figure_called(str(inner.slice.value))
        if told and taken and told != taken:
            return at(source, value, f"what is called {name} is {inner.slice.value!r}")
    return None


def figure_called(name: str) -> str:
    """Which figure a name tells of, or none."""
    apart = re.split(r"[^a-z0-9]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower())
    found = {_FIGURES[w] for w in apart if w in _FIGURES}
    return found.pop() if len(found) == 1 else ""


_MEANS = (
    "cross_entropy",
    "mse_loss",
    "l1_loss",
    "nll_loss",
    "binary_cross_entropy_with_logits",
    "huber_loss",
)


def means_over_rows(source: Script) -> Finding | None:
    """`total += float(loss)` of a mean, `rows += len(y)`, and `total / rows`."""
    for loop in source.of(ast.For):
        sums = [
            n for n in of(loop, ast.AugAssign) if isinstance(n.op, ast.Add) and isinstance(n.target, ast.Name)
        ]
        rows = {unparse(n.target) for n in sums if _rows(n.value)}
        means = {unparse(n.target): n for n in sums if _mean(source, n.value)}
        scope = source.function_around(loop) or source.tree
        if any(
            isinstance(n, ast.AugAssign) and isinstance(n.op, (ast.Mult, ast.Div))
            for n in of(scope, ast.AugAssign)
        ):
            continue
        for node in of(scope, ast.BinOp):
            if not isinstance(node.op, ast.Div) or unparse(node.right) not in rows:
                continue
            if (mean := means.get(unparse(node.left))) is not None:
                return at(source, mean, "means of batches are added up and divided by the number of rows")
    return None


def _rows(value: ast.expr) -> bool:
    """`len(y)`, `x.size(0)`, `y.shape[0]`, `batch.batch_size`, `y.numel()`."""
    text = unparse(value)
    return (
        re.fullmatch(
            r"len\([\w.]+\)|[\w.]+\.size\(0\)|[\w.]+\.shape\[0\]|[\w.]+\.numel\(\)|(?:batch|data)\.(?:batch_size|num_graphs)",
            text,
        )
        is not None
    )


def _mean(source: Script, value: ast.expr) -> bool:
    """`loss.item()`, `float(loss)` of a loss that is the mean of its batch."""
    inner = value
    while isinstance(inner, ast.Call) and last_name(inner.func) in ("float", "item", "detach", "cpu"):
        inner = (
            inner.args[0]
            if inner.args
            else inner.func.value
            if isinstance(inner.func, ast.Attribute)
            else inner
        )
        if isinstance(inner, ast.Call) and not inner.args and not isinstance(inner.func, ast.Attribute):
            break
    if not isinstance(inner, ast.Name):
        return False
    made = flow(source).whole_given(inner)
    if not isinstance(made, ast.Call) or last_name(made.func) not in _MEANS:
        return False
    return keyword(made, "reduction") is None


def test_figure_chooses(source: Script) -> Finding | None:
    """`if test_acc > best: ...` beside a `val_acc` that is told and chooses nothing."""
    taken = {part_of(unparse(e)) for n in source.of(ast.Assign) for t in n.targets for e in _elements(t)}
    if "val" not in taken or "test" not in taken:
        return None
    chosen = [c for c in choices(source) if c.sets and (c.kept or c.files)]
    if any(part_of(unparse(c.new)) == "val" for c in chosen):
        return None
    for choice in chosen:
        name = choice.new
        if part_of(unparse(name)) == "test" and isinstance(name, ast.Name) and set(words(name.id)) - {"test"}:
            return at(source, choice.node, f"`{name.id}` chooses the best epoch, and is told as the result")
    return None


def _elements(target: ast.expr) -> list[ast.expr]:
    return list(target.elts) if isinstance(target, ast.Tuple) else []
