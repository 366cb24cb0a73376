"""Slips of scores and marks in scripts: metrics handed crosswise, powers of two of nats, marks none skips."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse, walk
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..labels.marks import USUAL, ignored_labels, is_label
from ..shared.checks import at, ok
from ..shared.sides import literal

# metrics of scikit-learn that are not the same with their arguments exchanged; all take the truth first
_CROSSWISE = (
    *("r2_score", "precision_score", "recall_score", "classification_report", "roc_auc_score"),
    *("average_precision_score", "log_loss", "explained_variance_score", "precision_recall_curve"),
    *("mean_absolute_percentage_error", "roc_curve", "balanced_accuracy_score"),
)
_ANSWERS = re.compile(r"(?:^|_)(?:y_?)?(?:preds?|predicted|predictions?|y_hat|yhat|probs?|outputs?)(?:_|$)")
_TRUTH = re.compile(r"(?:^|_)(?:true|truth|targets?|labels?|gt|actual|answers|y_test|y_val|y_valid)(?:_|$)")


def metric_crosswise(source: Script) -> Finding | None:
    """`r2_score(predicted, true)`: the names say that the truth, which comes first, is handed second."""
    seen: ast.AST | None = None
    for call in source.named(*_CROSSWISE):
        if (
            len(call.args) < 2
            or last_name(call.func) in flow(source).functions
            or not _of_sklearn(source, call)
        ):
            continue
        seen = seen or call
        first_, second = (_name(a) for a in call.args[:2])
        answers = _ANSWERS.search(first_) is not None and _TRUTH.search(first_) is None
        truth = _TRUTH.search(second) is not None and _ANSWERS.search(second) is None
        if answers and truth:
            return at(source, call, f"{last_name(call.func)} takes the truth first and is handed the answers")
    return ok(source, seen, "metrics are handed the truth first") if seen is not None else None


def _of_sklearn(source: Script, call: ast.Call) -> bool:
    name = last_name(call.func)
    imported = any(
        n.module is not None and n.module.startswith("sklearn") and any(a.name == name for a in n.names)
        for n in source.of(ast.ImportFrom)
    )
    owner = source.owner(call)
    return (imported and not owner) or (
        owner.split(".")[-1] in ("metrics", "skm") and "sklearn" in source.code
    )


def _name(node: ast.expr) -> str:
    """The name that an argument goes by: `y_pred.cpu().numpy()` -> "y_pred", `np.array(y)` -> "y"."""
    for _ in range(8):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            library = unparse(node.func.value) in ("np", "numpy", "torch", "pd")
            node = node.args[0] if library and node.args else node.func.value
        elif isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call) and node.args:
            node = node.args[0]
        else:
            break
    return last_name(node).lower() if isinstance(node, (ast.Name, ast.Attribute)) else ""


def power_of_nats(source: Script) -> Finding | None:
    """`2 ** loss` shown as perplexity, of a cross-entropy of PyTorch or Keras, which counts in nats."""
    if re.search(r"log2|log\(2(?:\.0)?\)|/ ?0?\.693|LN2|ln2", source.code):
        return None
    for node in source.of(ast.BinOp):
        if (
            not isinstance(node.op, ast.Pow)
            or not isinstance(node.left, ast.Constant)
            or node.left.value != 2
        ):
            continue
        statement = source.statement(node)
        told = unparse(statement) if statement is not None and not isinstance(statement, _BLOCKS) else ""
        rises = isinstance(node.right, (ast.Name, ast.Attribute, ast.Call))
        figure = re.search(r"(?i)loss|nll|entropy|val|total|mean|avg|\bce\b", unparse(node.right))
        if rises and figure and re.search(r"(?i)perplex|\bppl\b|ppl_|_ppl", told):
            if source.named("cross_entropy", "CrossEntropyLoss", "nll_loss", "NLLLoss") or source.named(
                "SparseCategoricalCrossentropy", "sparse_categorical_crossentropy"
            ):
                return at(source, node, "the loss counts in nats: its perplexity is a power of e, not of two")
    return None


_BLOCKS = (ast.For, ast.While, ast.If, ast.With, ast.FunctionDef, ast.ClassDef, ast.Try)


def marked_otherwise(source: Script) -> Finding | None:
    """`y[y == PAD] = -1`, and the loss leaves out -100: the mark is taken for a class.

    Silent where a comparison asks for the mark, or a mask is made by it.
    """
    ignored = ignored_labels(source)
    losses = source.named("CrossEntropyLoss", "NLLLoss", "cross_entropy", "nll_loss")
    if ignored is None or not losses or "pytorch" not in source.frameworks:
        return None
    left_out = ignored or {USUAL}
    seen: ast.AST | None = None
    for node in source.of(ast.Assign):
        target = node.targets[0]
        if not isinstance(target, ast.Subscript) or not isinstance(target.slice, ast.Compare):
            continue
        name, mark = unparse(target.value), literal(source, node.value)
        if (
            not isinstance(mark, int)
            or isinstance(mark, bool)
            or mark >= 0
            or not is_label(name.split(".")[-1])
        ):
            continue
        seen = seen or node
        if mark not in left_out and not _asked_for(source, mark):
            numbers = ", ".join(map(str, sorted(left_out)))
            return at(source, node, f"these labels are marked with {mark}, and the loss leaves out {numbers}")
    return ok(source, seen, "the loss leaves out what is marked") if seen is not None else None


def _asked_for(source: Script, mark: int) -> bool:
    """`labels != -1`, `labels >= 0`, `labels > -1`, `labels < 0` anywhere."""
    for test in source.of(ast.Compare):
        for part in walk(test):
            if isinstance(part, ast.expr) and literal(source, part) == mark:
                return True
        signs = isinstance(test.ops[0], (ast.GtE, ast.Lt)) and unparse(test.comparators[0]) == "0"
        if signs and is_label(unparse(test.left).split(".")[-1]):
            return True
    return any(
        literal(source, a) == mark for c in source.named("ne", "eq", "ge", "gt") for a in c.args
    ) or any(
        k.arg in ("padding_idx", "pad_value", "ignore_value")
        for c in source.calls
        for k in c.keywords
        if of(k.value, ast.Constant) and literal(source, k.value) == mark
    )
