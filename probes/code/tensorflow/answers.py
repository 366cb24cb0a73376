"""Keras models in scripts whose loss and metrics take their answers in two forms: class numbers, one-hot."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse
from ...readers.script import argument, keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.nodes import is_true

_NUMBERS = re.compile(r"^(?:SparseCategorical\w+|SparseTopK\w+|sparse_categorical_\w+|sparse_top_k_\w+)$")
_HOT = re.compile(r"^(?:Categorical(?:Crossentropy|Accuracy)|TopKCategorical\w+|categorical_\w+|top_k_\w+)$")
_MAKES_HOT = re.compile(
    r"one_hot|to_categorical|OneHot|get_dummies|LabelBinarizer|CategoryEncoding|label_mode=['\"]categorical"
    r"|class_mode=['\"]categorical|flow_from_d|np\.eye|tf\.eye|label_binarize|depth="
)


def loss_of_other_answers(source: Script) -> Finding | None:
    """`compile(loss=CategoricalCrossentropy(), metrics=[SparseCategoricalAccuracy()])` of class numbers.

    A metric and the loss take the same answers. Counts where nothing in the program makes them one-hot. Also
    a loss of class numbers that is called with `tf.one_hot(...)`.
    """
    for loss, metrics in _compiled(source):
        if _form(loss) == "hot" and any(_form(m) == "numbers" for m in metrics):
            why = "takes one-hot answers, and the metric beside it class numbers"
            return at(source, loss, f"the loss {_name(loss)} {why}")
    return _called_on_hot(source)


def metric_of_other_answers(source: Script) -> Finding | None:
    """`compile(loss=SparseCategoricalCrossentropy(), metrics=[CategoricalAccuracy()])` of class numbers."""
    for loss, metrics in _compiled(source):
        other = [m for m in metrics if _form(m) == "hot"]
        if _form(loss) == "numbers" and other:
            why = "takes one-hot answers, and the loss beside it class numbers"
            return at(source, other[0], f"the metric {_name(other[0])} {why}")
    return None


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    return last_name(node.func) if isinstance(node, ast.Call) else last_name(node)


def _form(node: ast.expr) -> str:
    name = _name(node)
    return "numbers" if _NUMBERS.match(name) else "hot" if _HOT.match(name) else ""


def _compiled(source: Script) -> Iterator[tuple[ast.expr, list[ast.expr]]]:
    """The loss and the metrics of each `compile` in a program where nothing makes answers one-hot."""
    if not {"keras", "tensorflow"} & set(source.frameworks) or source.loose or _MAKES_HOT.search(source.code):
        return
    mine = flow(source)
    for call in source.named("compile"):
        loss, listed = keyword(call, "loss"), keyword(call, "metrics")
        ends = mine.values(loss, 4) if loss is not None and listed is not None else []
        if len(ends) != 1 or listed is None:
            continue
        lists = [v for v in mine.values(listed, 3) if isinstance(v, (ast.List, ast.Tuple))]
        yield ends[0], [e for one in lists for i in one.elts for e in (mine.values(i, 3) or [i])]


_SPARSE = ("SparseCategoricalCrossentropy",)


def _called_on_hot(source: Script) -> Finding | None:
    """`loss_fn = SparseCategoricalCrossentropy(...)` and `loss_fn(tf.one_hot(y, n), logits)`."""
    if not {"keras", "tensorflow"} & set(source.frameworks):
        return None
    for node in source.of(ast.Assign):
        made = node.value
        if not isinstance(made, ast.Call) or last_name(made.func) not in _SPARSE:
            continue
        name = unparse(node.targets[0])
        for call in source.calls:
            if unparse(call.func) != name or len(call.args) < 2:
                continue
            if _only_hot(source, call.args[0], call):
                return at(source, call, "this loss takes class numbers, and its answers are one-hot")
    functions = ("sparse_categorical_crossentropy", "sparse_softmax_cross_entropy_with_logits")
    for call in source.named(*functions):
        labels = argument(call, "labels", "y_true", position=0)
        if labels is not None and _only_hot(source, labels, call):
            return at(source, call, "this loss takes class numbers, and its answers are one-hot")
    return None


def _only_hot(source: Script, labels: ast.expr, call: ast.Call) -> bool:
    """Answers are one-hot on every way to the call: no condition of their own stands over them."""
    around = set(source.above(call))
    ends = flow(source).values(labels, 3) or [labels]
    free = [not any(isinstance(p, ast.If) and p not in around for p in source.above(e)) for e in ends]
    return all(_is_hot(e) for e in ends) and all(free)


def _is_hot(node: ast.expr) -> bool:
    while isinstance(node, (ast.BinOp, ast.Subscript)):
        node = node.left if isinstance(node, ast.BinOp) else node.value
    if isinstance(node, ast.Call) and last_name(node.func) == "cast" and node.args:
        node = node.args[0]
    return isinstance(node, ast.Call) and last_name(node.func) in ("one_hot", "to_categorical")


# ------------------------------------------------------------------------------------- fixed modes


def part_always_trains(source: Script) -> Finding | None:
    """`x = base(x, training=True)` in a functional model whose base comes of `keras.applications`.

    The flag is kept in the model: what is random in the base, and its batch norms, act in `evaluate`, too.
    """
    if not source.named("fit", "evaluate", "predict") or "keras" not in source.text:
        return None
    for call in source.calls:
        told = keyword(call, "training")
        if not is_true(told) or not call.args:
            continue
        if source.class_around(call) is not None or any(isinstance(p, ast.With) for p in source.above(call)):
            continue
        if not isinstance(call.func, ast.Name):
            continue
        made = flow(source).values(call.func, 3)
        known = [m for m in made if isinstance(m, ast.Call) and "applications" in unparse(m.func)]
        symbolic = any("Input(" in unparse(e) for a in call.args for e in (a, *flow(source).values(a, 6)))
        built = source.named("Model", "Functional")
        if known and len(known) == len(made) and built and (symbolic or _feeds_model(source, call)):
            return at(source, call, "this part of the model stays in training mode when it is evaluated")
    return None


def _feeds_model(source: Script, call: ast.Call) -> bool:
    """The statement stands where a functional model is built: `keras.Model(inputs, outputs)` follows."""
    scope = source.function_around(call) or source.tree
    return any(
        last_name(c.func) in ("Model", "Functional") and c.lineno > call.lineno for c in of(scope, ast.Call)
    )
