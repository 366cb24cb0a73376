"""Scores in scripts that are handed the wrong kind of value, by where the value comes from."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse
from ...readers.script import argument, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.nodes import whole_number
from ..shared.sides import literal
from .kinds import ANSWERS, CLASSES, DECISIONS, LOGITS, SHARES, TRUTH, kinds

_TRUTH_FIRST = (
    *("r2_score", "precision_score", "recall_score", "classification_report", "roc_auc_score"),
    *("average_precision_score", "log_loss", "precision_recall_curve", "roc_curve"),
    *("precision_recall_fscore_support", "mean_absolute_percentage_error", "explained_variance_score"),
)
_AREAS = ("roc_auc_score", "average_precision_score", "roc_curve", "precision_recall_curve")
_TRUE_NAME = re.compile(r"(?i)^(?:y_?true|truth|trues?|labels?|targets?|y|gts?|actual|gold|references?)$")
_GUESS_NAME = re.compile(
    r"(?i)^(?:y_?(?:pred|prob|hat|score)s?|preds?|predictions?|predicted|probs?|logits?|outputs?|scores?|hyps?)$"
)


def wrong_kind(source: Script) -> Finding | None:
    """A metric is handed the truth for the answers, decisions for scores, or logits for chances."""
    for look in (_crosswise, _area_of_decisions, _logits_for_chances, _classes_of_the_truth):
        if (found := look(source)) is not None:
            return found
    return None


def _pairs(source: Script) -> Iterator[tuple[ast.Call, ast.expr, ast.expr]]:
    """(call, what stands for the truth, what stands for the answers) of metrics whose order is known."""
    mine = flow(source)
    for call in source.calls:
        if len(call.args) < 2 or any(isinstance(a, ast.Starred) for a in call.args[:2]):
            continue
        one, two = call.args[:2]
        name = last_name(call.func)
        if name in _TRUTH_FIRST and name not in mine.functions and "sklearn" in source.code:
            yield call, one, two
        elif name in ("update", "update_state", "forward", "__call__") or not mine.called(call):
            how = _order_of(source, call)
            if how is not None:
                yield call, *((one, two) if how else (two, one))
        else:
            for function in mine.called(call)[:1]:
                names = [a.arg for a in function.args.args if a.arg not in ("self", "cls")][:2]
                if len(names) == 2 and _TRUE_NAME.match(names[0]) and _GUESS_NAME.match(names[1]):
                    yield call, one, two
                elif len(names) == 2 and _GUESS_NAME.match(names[0]) and _TRUE_NAME.match(names[1]):
                    yield call, two, one


def _order_of(source: Script, call: ast.Call) -> bool | None:
    """True where a metric object takes the truth first (Keras), False where the answers (torchmetrics)."""
    if not isinstance(call.func, (ast.Attribute, ast.Name)):
        return None
    name = last_name(call.func)
    held = (
        call.func.value
        if name in ("update", "update_state") and isinstance(call.func, ast.Attribute)
        else call.func
    )
    if not isinstance(held, (ast.Name, ast.Attribute)):
        return None
    made = flow(source).whole_given(held)
    if not isinstance(made, ast.Call) or last_name(made.func) in source.classes:
        return None
    text = unparse(made.func)
    if name == "update_state" and re.search(r"(?:^|\.)metrics\.", text):
        return True
    if name != "update_state" and "torchmetrics" in source.code:
        root, last = text.split(".")[0], last_name(made.func)
        imported = any(
            (n.module or "").startswith("torchmetrics")
            and any((a.asname or a.name) in (root, last) for a in n.names)
            for n in source.of(ast.ImportFrom)
        ) or root in ("torchmetrics", "tm")
        score = not re.search(r"Metric$|Perplexity|Retrieval|Mean$|Sum$|Max|Min$", last)
        return False if imported and score else None
    return None


def _crosswise(source: Script) -> Finding | None:
    for call, truth, answers in _pairs(source):
        first, second = kinds(source, truth), kinds(source, answers)
        if first and first <= ANSWERS and second == {TRUTH}:
            return at(
                source, call, "the answers stand where the truth belongs, and the truth for the answers"
            )
    return None


def _area_of_decisions(source: Script) -> Finding | None:
    for call in source.named(*_AREAS):
        if last_name(call.func) in flow(source).functions or "sklearn" not in source.code:
            continue
        scores = argument(call, "y_score", position=1)
        told = kinds(source, scores) if scores is not None else frozenset()
        if told and told <= {DECISIONS, CLASSES}:
            return at(source, call, "the area is taken of decisions: there is one threshold alone")
    return None


def _is_column(node: ast.expr) -> bool:
    told = node.slice if isinstance(node, ast.Subscript) else None
    return isinstance(told, ast.Tuple) and isinstance(told.elts[-1], ast.Constant)


def _logits_for_chances(source: Script) -> Finding | None:
    for node in source.of(ast.Compare):
        if len(node.ops) != 1 or not isinstance(node.ops[0], (ast.Gt, ast.GtE)):
            continue
        limit = _limit(source, node.comparators[0])
        if limit is None or not 0.0 < limit < 1.0:
            continue
        told = kinds(source, node.left)
        if any(_is_column(v) for v in (node.left, *flow(source).values(node.left, 3))):
            continue  # `predict_proba(x)[:, 1]`: of two classes the second one
        if told == {LOGITS}:
            return at(source, node, "a threshold for chances is held against raw scores")
        alone = isinstance(node.comparators[0], ast.Constant)
        if told == {SHARES} and (limit >= 0.5 or not alone) and _many_labels(source):
            why = "the labels are independent, and shares of a softmax are held against a threshold for each"
            return at(source, node, why)
    for call in source.named("log_loss", "brier_score_loss"):
        scores = argument(call, "y_pred", position=1)
        if "sklearn" in source.code and scores is not None and kinds(source, scores) == {LOGITS}:
            return at(source, call, "this takes chances and is handed raw scores")
    return None


def _limit(source: Script, node: ast.expr) -> float | None:
    """The number that scores are held against, or the one that all limits begin at: `np.full(n, 0.5)`."""
    known = literal(source, node)
    if isinstance(known, float):
        return known
    for value in flow(source).values(node, 3) if isinstance(node, (ast.Name, ast.Attribute)) else []:
        if isinstance(value, ast.Call) and last_name(value.func) == "full" and len(value.args) > 1:
            filled = literal(source, value.args[1])
            return filled if isinstance(filled, float) else None
    return None


def _many_labels(source: Script) -> bool:
    """Every loss of the script takes each label by itself."""
    each = source.named("BCEWithLogitsLoss", "binary_cross_entropy_with_logits", "MultiLabelSoftMarginLoss")
    one = source.named("CrossEntropyLoss", "cross_entropy", "NLLLoss", "nll_loss")
    return bool(each) and not one


def _classes_of_the_truth(source: Script) -> Finding | None:
    """`np.argmax(labels, -1)` of what a Trainer hands over as class numbers: its pair is turned round."""
    for call in source.named("argmax"):
        library = source.owner(call) in ("np", "numpy", "torch", "tf")
        given = call.args[0] if library and call.args else getattr(call.func, "value", None)
        if not isinstance(given, ast.Name):
            continue
        found = flow(source).given(given)
        if found is None or found.places != (1,) or not isinstance(found.value, ast.Name):
            continue
        statement = found.statement
        first = statement.targets[0] if isinstance(statement, ast.Assign) else None
        label = isinstance(first, ast.Tuple) and _TRUE_NAME.match(unparse(first.elts[0]))
        if kinds(source, given) == {TRUTH} and label:
            return at(source, statement, "the answers come first in this pair, and the labels second")
    return None


def softmax_of_two_axes(source: Script) -> Finding | None:
    """`z = exp(z - z.max(axis=-1))`, then `z / z.sum(axis=0)`: the parts do not add up to one."""
    for node in source.of(ast.BinOp):
        below = node.right
        if (
            not isinstance(node.op, ast.Div)
            or not isinstance(below, ast.Call)
            or last_name(below.func) != "sum"
        ):
            continue
        values = [node.left, *flow(source).values(node.left, 2)]
        raised = next((v for v in values if isinstance(v, ast.Call) and last_name(v.func) == "exp"), None)
        if raised is None:
            continue
        tops = [c for c in of(raised, ast.Call) if last_name(c.func) in ("max", "amax")]
        axes = [_axis(c) for c in (*tops[:1], below)]
        if len(axes) == 2 and None not in axes and axes[0] != axes[1] and {axes[0], axes[1]} != {1, -1}:
            return at(source, node, "the largest is taken along one axis and the sum along another")
    return None


def _axis(call: ast.Call) -> int | None:
    library = isinstance(call.func, ast.Attribute) and unparse(call.func.value) in ("np", "numpy", "torch")
    place = 1 if library else 0
    given = argument(call, "axis", "dim", position=place)
    return whole_number(given)
