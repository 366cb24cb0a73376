"""Metrics that are handed answers for truth: by keywords, and where the answers are asked for in place."""

from __future__ import annotations

import ast

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...script_diff.vocabulary import word_set
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.sides import words

_ANSWERS = word_set(
    "pred preds prediction predictions predicted guess guesses guessed hyp hyps hypothesis"
    " hypotheses output outputs logits answer answers decoded generated"
)
_TRUTH = word_set("true truth truths gold golds label labels target targets reference references ref refs")
_FOR_ANSWERS = ("predictions", "preds", "y_pred", "prediction", "hypotheses")
_FOR_TRUTH = ("references", "y_true", "labels", "target", "targets", "reference")
# of torchmetrics: what is not the same with its two arguments exchanged
_UNEVEN = (
    *("R2Score", "Precision", "Recall", "F1Score", "FBetaScore", "AUROC", "AveragePrecision", "Specificity"),
    *("ExplainedVariance", "MeanAbsolutePercentageError", "ConfusionMatrix", "Accuracy", "ROC"),
    "KLDivergence",
    *("Dice", "JaccardIndex", "WordErrorRate", "CharErrorRate", "BLEUScore", "RelativeSquaredError"),
)


def handed_by_wrong_name(source: Script) -> Finding | None:
    """`metric.compute(predictions=true, references=guessed)`: each name says that it is the other."""
    for call in source.of(ast.Call):
        told = {k.arg: k.value for k in call.keywords if k.arg}
        answers = next((told[n] for n in _FOR_ANSWERS if n in told), None)
        truth = next((told[n] for n in _FOR_TRUTH if n in told), None)
        if answers is None or truth is None:
            continue
        first, second = set(words(_root(answers))), set(words(_root(truth)))
        if first & _TRUTH and not first & _ANSWERS and second & _ANSWERS and not second & _TRUTH:
            why = f"{last_name(call.func)} is handed `{_root(answers)}` for its answers"
            return at(source, call, f"{why} and `{_root(truth)}` for the truth")
    return None


_OF_DATA = word_set("loader loaders dl set dataset data ds split part gallery query")

_SIDES = word_set("train val valid test query gallery probe reference support target source")


def one_for_two(source: Script) -> Finding | None:
    """`retrieval(net, q, q)` of `def retrieval(net, query, gallery)`: one set of data stands for two.

    Of functions of the program whose two parameters are both named after data.
    """
    mine = flow(source)
    for call in source.of(ast.Call):
        names = [unparse(a) if isinstance(a, (ast.Name, ast.Attribute)) else "" for a in call.args]
        twice = {n for n in names if n and names.count(n) > 1 and set(words(n)) & _OF_DATA}
        for function in mine.called(call) if twice else ():
            params = [a.arg for a in function.args.args]
            params = params[1:] if params[:1] == ["self"] else params
            asked = [p for p, n in zip(params, names, strict=False) if n in twice]
            if len(asked) > 1 and all(set(words(p)) & (_OF_DATA | _SIDES) for p in asked):
                return at(source, call, f"`{twice.pop()}` is handed over for {' and for '.join(asked)}")
    return None


def _root(node: ast.expr) -> str:
    for _ in range(6):
        if isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args:
            node = node.func.value
        elif isinstance(node, ast.Call) and node.args:
            node = node.args[0]
        else:
            break
    return last_name(node) if isinstance(node, (ast.Name, ast.Attribute)) else ""


def answers_asked_second(source: Script) -> Finding | None:
    """`self.scores.update(y, self(x))` of torchmetrics, which takes the answers first.

    Only where a metric of the program is not the same with its arguments exchanged.
    """
    if "torchmetrics" not in source.code or not source.named(*_UNEVEN):
        return None
    for call in source.named("update"):
        if len(call.args) != 2 or call.keywords or not isinstance(call.func, ast.Attribute):
            continue
        about = set(words(unparse(call.func.value)))
        if not about & {"metric", "metrics", "score", "scores", *(w for n in _UNEVEN for w in words(n))}:
            continue
        if _asks(call.args[1]) and not _asks(call.args[0]):
            return at(source, call, "torchmetrics takes the answers first and is handed the truth first")
    return None


def _asks(node: ast.expr) -> bool:
    """A model is asked in place: `self(x)`, `model(x)`, `self.net(x)`."""
    return any(
        unparse(c.func) == "self" or set(words(last_name(c.func))) & {"model", "net", "network", "forward"}
        for c in of(node, ast.Call)
    )
