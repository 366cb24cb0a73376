"""Metrics in scripts that misread what a model gives: scores for classes, logits for chances, signs."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import argument, keyword, last_name, receiver
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at
from ..splits.learnt_and_scored import learnt
from ..tensorflow.keras import compiled

# not BinaryAccuracy: the guides of Keras hand it logits, and one threshold a little off costs next to nothing
_OF_CHANCES = ("AUC", "Precision", "Recall", "BinaryIoU", "F1Score", "FBetaScore")
_ERROR = re.compile(r"(?i)(?:^|_)(?:mae|mse|rmse|err(?:or)?s?|abs|deviation|loss)(?:_|$)|^(?:error|mae)")


def scores_misread(source: Script) -> Finding | None:
    """`Accuracy()` on scores, chances asked of logits, errors that cancel, an axis that holds no classes."""
    for look in (_equal_to_scores, _chances_of_logits, _cancelling, _threshold_at_zero, _along_samples):
        if (found := look(source)) is not None:
            return found
    return None


def _metrics(source: Script) -> list[ast.Call]:
    """Metrics of Keras that the script makes."""
    if not {"keras", "tensorflow"} & set(source.frameworks):
        return []
    return [
        c for c in source.calls if source.owner(c).endswith("metrics") and last_name(c.func)[:1].isupper()
    ]


def _equal_to_scores(source: Script) -> Finding | None:
    """Keras' `Accuracy` asks whether numbers are equal: scores never equal classes."""
    for call in _metrics(source):
        if last_name(call.func) != "Accuracy":
            continue
        outer = [p for p in source.above(call) if isinstance(p, ast.Call) and last_name(p.func) == "compile"]
        if outer and any(c.call in outer and c.takes in ("classes", "binary") for c in compiled(source)):
            return at(source, call, "this asks whether scores equal class numbers, and they never do")
        for update in _updates(source, call):
            given = argument(update, position=1)
            ends = [given, *flow(source).values(given, 3)] if given is not None else []
            if ends and not any(
                re.search(r"argmax|round|>|cast|int", unparse(e)) for e in ends if e is not None
            ):
                return at(source, call, "this asks whether scores equal class numbers, and they never do")
    return None


def _updates(source: Script, made: ast.Call) -> list[ast.Call]:
    """Where a metric is fed: `acc.update_state(labels, scores)`."""
    statement = source.parents.get(made)
    names = {last_name(t) for t in statement.targets} if isinstance(statement, ast.Assign) else set()
    return [c for c in source.named("update_state") if source.owner(c).split(".")[-1] in names]


def _chances_of_logits(source: Script) -> Finding | None:
    """A metric with thresholds between 0 and 1 gets what the loss takes as logits."""
    for call in _metrics(source):
        if last_name(call.func) not in _OF_CHANCES or keyword(call, "from_logits") is not None:
            continue
        threshold = keyword(call, "threshold") or keyword(call, "thresholds")
        if threshold is not None and unparse(threshold) in ("0", "0.0", "[0.0]", "[0]"):
            continue
        outer = [p for p in source.above(call) if isinstance(p, ast.Call) and last_name(p.func) == "compile"]
        for one in compiled(source):
            if one.call in outer and one.logits and one.ends == "linear":
                return at(source, call, "its thresholds lie between 0 and 1, and the model gives logits")
        for update in _updates(source, call):
            if len(update.args) > 1 and unparse(update.args[1]) in _logits(source, update):
                return at(source, update, "its thresholds lie between 0 and 1, and these are logits")
    return None


def _logits(source: Script, node: ast.AST) -> set[str]:
    """Names of logits: said so, and taken so by a loss of the same class or script."""
    owner: ast.AST = source.class_around(node) or source.tree
    text = unparse(owner)
    if not re.search(r"from_logits=True|_with_logits", text):
        return set()
    return {n.id for n in of(owner, ast.Name) if re.search(r"(?i)logit", n.id)}


def _cancelling(source: Script) -> Finding | None:
    """`error = (predicted - truth).mean()`: too high and too low cancel each other."""
    for call in source.named("mean", "reduce_mean", "average"):
        given = argument(call, position=0)
        owner = receiver(call)
        if isinstance(owner, ast.BinOp):
            given = owner
        if not (isinstance(given, ast.BinOp) and isinstance(given.op, ast.Sub)):
            continue
        sides = [unparse(given.left), unparse(given.right)]
        guess = [
            s for s in sides if re.search(r"(?i)pred|guess|output|forecast|y_hat|net\w*\(|model\w*\(", s)
        ]
        truth = [s for s in sides if re.search(r"(?i)(?:^|_)y(?:_|$)|true|truth|target|label|actual|test", s)]
        if len(guess) != 1 or not truth or guess == truth or "bias" in source.line(call).lower():
            continue
        statement = source.statement(call)
        targets = [last_name(t) for t in statement.targets] if isinstance(statement, ast.Assign) else []
        summed = isinstance(statement, ast.Expr) and "append" in unparse(statement)
        if (any(_ERROR.search(t) for t in targets) or summed) and not re.search(
            r"(?i)gan|critic|wasserstein|advantage", source.code
        ):
            return at(source, call, "errors above and below cancel in this mean: it is no size of the error")
    return None


def _threshold_at_zero(source: Script) -> Finding | None:
    """`model.predict(x) > 0` of a model that ends in a sigmoid or softmax: always true."""
    if not any(c.ends in ("sigmoid", "softmax") for c in compiled(source)):
        return None
    for node in source.of(ast.Compare):
        zero = isinstance(node.comparators[0], ast.Constant) and node.comparators[0].value == 0
        if not zero or not isinstance(node.ops[0], (ast.Gt, ast.GtE)):
            continue
        ends = [node.left, *flow(source).values(node.left, 3)]
        if any(isinstance(e, ast.Call) and last_name(e.func) == "predict" for e in ends):
            return at(source, node, "a probability is always above zero")
    return None


def _along_samples(source: Script) -> Finding | None:
    """The largest of what `predict` gives, or of logits under `tf.argmax`, is looked for among samples."""
    if not learnt(source):
        return None
    for call in source.named("argmax"):
        library = source.owner(call) in ("np", "tf", "tf.math", "ops", "keras.ops", "mnp")
        scores = call.args[0] if library and call.args else getattr(call.func, "value", None)
        place = 1 if library else 0
        axis = argument(call, "axis", position=place)
        if not isinstance(scores, ast.expr) or not (isinstance(axis, ast.Constant) and axis.value == 0):
            continue
        ends = [scores, *flow(source).values(scores, 3)]
        whole = [
            e
            for e in ends
            if isinstance(e, ast.Call)
            and (
                last_name(e.func) == "predict"
                or re.fullmatch(r"(?:self\.)?(?:model|net|network)", unparse(e.func))
            )
        ]
        if whole and not any(isinstance(e, ast.Subscript) for e in ends):
            return at(source, call, "the class is looked for along the batch, not along the classes")
    return None
