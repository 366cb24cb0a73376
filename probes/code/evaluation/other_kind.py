"""Scores of another kind than the training of scripts: a softmax of many labels, means of batches."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at, ok

_BINARY = ("BCEWithLogitsLoss", "binary_cross_entropy_with_logits", "MultiLabelSoftMarginLoss")
_CLASSES = ("CrossEntropyLoss", "cross_entropy", "NLLLoss", "nll_loss")
# not the mean of what they are for the batches (torchmetrics, pages of the metrics)
_WHOLE = re.compile(
    r"AUROC|AveragePrecision|F1Score|FBetaScore|JaccardIndex|Precision|Recall|CohenKappa|Matthews"
)


def softmax_of_many_labels(source: Script) -> Finding | None:
    """Training by a sigmoid for each label, and the answers scored through a softmax over the labels."""
    if not source.named(*_BINARY) or source.named(*_CLASSES):
        return None
    held = {unparse(t) for n in source.of(ast.Assign) if _multilabel(n.value) for t in n.targets}
    seen: ast.AST | None = None
    for call in source.named("update", *(h.split(".")[-1] for h in held)):
        owner = source.owner(call) if last_name(call.func) == "update" else unparse(call.func)
        if owner not in held or not call.args:
            continue
        seen = seen or call
        for value in (call.args[0], *flow(source).values(call.args[0], 3)):
            if isinstance(value, ast.Call) and last_name(value.func) == "softmax":
                return at(
                    source, value, "a softmax lets labels exclude one another, which are trained one by one"
                )
    return ok(source, seen, "labels are scored one by one, as they are trained") if seen is not None else None


def _multilabel(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and last_name(value.func).startswith("Multilabel")


def mean_of_batch_scores(source: Script) -> Finding | None:
    """Lightning: `self.log("val_map", self.val_map(p, y).item())`: the mean of the scores of the batches."""
    if not re.search(r"torchmetrics", source.text):
        return None
    held = {
        unparse(t)
        for n in source.of(ast.Assign)
        if isinstance(n.value, ast.Call) and _WHOLE.search(last_name(n.value.func))
        for t in n.targets
    }
    for call in source.named("log"):
        if source.owner(call) != "self" or len(call.args) < 2:
            continue
        value = call.args[1]
        plain = isinstance(value, ast.Call) and last_name(value.func) in ("item", "float")
        inner = [c for c in of(value, ast.Call) if unparse(c.func) in held and len(c.args) > 1]
        if plain and inner and not re.search(r"(?i)train", source.function_name(call)):
            return at(
                source, call, "the mean of the scores of the batches is told, which is not that of the data"
            )
    return None
