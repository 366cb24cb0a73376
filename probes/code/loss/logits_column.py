"""The single score of a library's model against its labels, in a loss that a script computes itself."""

from __future__ import annotations

import ast

from ...readers._tree import of, unparse
from ...readers.script import keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow, losses
from ...scripts.syntax import Script
from ..shared.checks import at

_BROADCAST = ("mse_loss", "mseloss", "l1_loss", "l1loss", "smooth_l1_loss", "huber_loss")


def logits_against_labels(source: Script) -> Finding | None:
    """`mse_loss(outputs.logits, labels)` of a model with `num_labels=1`: (batch, 1) against (batch,).

    The library's own loss squeezes the logits. Only where no label of the program is made a list or a column.
    """
    singles = [c for c in source.calls if (n := keyword(c, "num_labels")) is not None and unparse(n) == "1"]
    if not singles or _labels_in_columns(source):
        return None
    mine = flow(source)
    for call, kind in losses(source):
        if kind not in _BROADCAST or len(call.args) < 2:
            continue
        output, target = call.args[:2]
        if isinstance(output, ast.Name):
            output = mine.whole_given(output) or output
        if not (isinstance(output, ast.Attribute) and output.attr == "logits"):
            continue
        if isinstance(target, ast.Name):
            target = mine.whole_given(target) or target
        taken = isinstance(target, ast.Call) and last_name(target.func) in ("pop", "get")
        if (taken or isinstance(target, ast.Subscript)) and "labels" in unparse(target):
            return at(source, call, "outputs of shape (batch, 1) are held against targets of shape (batch,)")
    return None


def _labels_in_columns(source: Script) -> bool:
    """Labels that are lists or columns: `"labels": [score]`, `torch.tensor([score])`, `unsqueeze(1)`."""
    for node in of(source.tree, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and key.value in ("labels", "label"):
                lists = isinstance(value, ast.List) or bool(of(value, ast.List))
                if lists or "unsqueeze" in unparse(value) or "view(" in unparse(value):
                    return True
    keyed = [c for c in source.calls if last_name(c.func) in ("unsqueeze", "reshape", "view")]
    return any("label" in unparse(c.func) for c in keyed)
