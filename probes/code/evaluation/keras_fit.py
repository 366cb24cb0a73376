"""Figures by class in scripts: weights that go by rank, shares of a confusion matrix under another name."""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_in, of, unparse
from ...readers.script import keyword, last_name, receiver
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at, ok
from ..shared.sides import literal


def weights_by_rank(source: Script) -> Finding | None:
    """`{i: total / n for i, n in enumerate(table["y"].value_counts())}`: counted by rank, not by class."""
    for node in source.of(ast.DictComp):
        loop = node.generators[0]
        if len(node.generators) != 1 or not isinstance(loop.iter, ast.Call):
            continue
        if last_name(loop.iter.func) != "enumerate" or not isinstance(loop.target, ast.Tuple):
            continue
        counted, worth = (unparse(e) for e in loop.target.elts[:2])
        if unparse(node.key) != counted or worth not in names_in(node.value) or not loop.iter.args:
            continue
        ends = flow(source).values(loop.iter.args[0], 4)
        ranked = [
            e
            for e in ends
            if isinstance(e, ast.Call)
            and (
                (last_name(e.func) == "value_counts" and keyword(e, "sort") is None)
                or last_name(e.func) == "most_common"
            )
        ]
        if ranked and len(ranked) == len(ends) and "index" not in unparse(loop.iter.args[0]):
            holder = source.statement(node)
            target = unparse(holder.targets[0]) if isinstance(holder, ast.Assign) else ""
            around = source.parents.get(node)
            target = around.arg or target if isinstance(around, ast.keyword) else target
            if "weight" in target.lower() or _is_class_weight(source, target):
                return at(
                    source, node, "counts are ordered by size here: each class gets the weight of a rank"
                )
    return None


def _is_class_weight(source: Script, name: str) -> bool:
    given = [keyword(c, "class_weight") for c in source.named("fit")]
    return any(g is not None and unparse(g) == name for g in given)


_AXES = {"recall": 1, "sensitivity": 1, "precision": 0}


def share_of_other_axis(source: Script) -> Finding | None:
    """`recall = diag(c) / c.sum(axis=0)` of a matrix whose rows are the truth: that is precision."""
    seen: ast.AST | None = None
    for node in source.of(ast.Assign):
        name = unparse(node.targets[0]).lower()
        wanted = [axis for word, axis in _AXES.items() if re.search(rf"(?:^|_){word}s?(?:_|$)", name)]
        if (
            len(wanted) != 1
            or not isinstance(node.value, ast.BinOp)
            or not isinstance(node.value.op, ast.Div)
        ):
            continue
        upper, lower = node.value.left, node.value.right
        if not any(last_name(c.func) in ("diag", "diagonal", "diag_part") for c in of(upper, ast.Call)):
            continue
        for call in of(lower, ast.Call):
            if last_name(call.func) not in ("sum", "reduce_sum"):
                continue
            owner = receiver(call)
            library = owner is None or unparse(owner) in ("np", "tf", "tf.math", "torch")
            matrix = call.args[0] if library and call.args else owner
            rest = call.args[1:] if library else call.args
            axis = literal(
                source, keyword(call, "axis") or keyword(call, "dim") or (rest[0] if rest else None)
            )
            if matrix is None or axis not in (0, 1, -1) or _rows_are_truth(source, matrix) is not True:
                continue
            seen = seen or node
            if (1 if axis == -1 else axis) != wanted[0]:
                other = "precision" if wanted[0] else "recall"
                return at(
                    source, node, f"the sum along axis {axis} makes this {other}, and it is called {name}"
                )
    return ok(source, seen, "the shares are of what they are called") if seen is not None else None


_GUESS = re.compile(r"(?i)pred|guess|hat|output|argmax")


def _rows_are_truth(source: Script, matrix: ast.expr) -> bool | None:
    """`confusion_matrix(truth, guess)` of scikit-learn or TensorFlow, given in this order."""
    for end in flow(source).values(matrix, 4):
        for call in of(end, ast.Call):
            if last_name(call.func) == "confusion_matrix" and len(call.args) > 1:
                first, second = (bool(_GUESS.search(unparse(a))) for a in call.args[:2])
                return None if first == second else second
    return None
