"""Class numbers in scripts that begin at one, where the loss takes them for places in the output."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import argument, keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow, losses
from ...scripts.syntax import Script
from ..shared.checks import at
from .marks import is_label

_OF_CLASSES = re.compile(r"cross_?entropy(?!.*binary)|nll_?loss|crossentropyloss|softmaxcrossentropy")
_CLASSES = re.compile(r"(?i)class|categor|label|breed|intent|species|tag|name|genre|type|emotion|kind|topic")
# a place is kept for something: padding, background, a blank, what is unknown
_RESERVED = re.compile(
    r"(?i)\+ ?1\b|pad|blank|background|unk|ignore_index|<|null|none_class|other|ctc|reduce_zero"
)


def numbered_from_one(source: Script) -> Finding | None:
    """`{name: i for i, name in enumerate(classes, 1)}`, `label + 1` of classes that are as many as outputs.

    Present where the output has one place for each class (`len(classes)`, or a number that the table of
    classes does not exceed), and nothing says that the first place is kept for something else.
    """
    kinds = [k for _, k in losses(source)]
    heads = [c for c in source.named("from_pretrained") if keyword(c, "num_labels") is not None]
    indices = re.search(r"(?i)sparse_?(?:softmax_?cross_?entropy|categorical_?crossentropy)", source.code)
    kinds += [last_name(c.func).lower() for c in source.named("CrossEntropyLoss", "log_softmax", "one_hot")]
    if source.loose or not (heads or indices or any(_OF_CLASSES.search(k) or k == "one_hot" for k in kinds)):
        return None
    for node in source.of(ast.BinOp):
        one_more = (
            isinstance(node.op, ast.Add) and isinstance(node.right, ast.Constant) and node.right.value == 1
        )
        inner = node.left
        if one_more and isinstance(inner, ast.Subscript) and _CLASSES.search(unparse(inner.value)):
            looked_up = not isinstance(inner.slice, (ast.Constant, ast.Slice, ast.Tuple))
            if looked_up and _has_as_many(source, inner.value):
                return at(source, node, "classes are numbered from 1, and the output has places from 0")
        if one_more and isinstance(inner, ast.Call) and last_name(inner.func) == "index" and inner.args:
            table = inner.func.value if isinstance(inner.func, ast.Attribute) else inner
            if isinstance(table, (ast.Name, ast.Attribute)) and _has_as_many(source, table):
                return at(source, node, "classes are numbered from 1, and the output has places from 0")
    for call in source.named("enumerate"):
        start = argument(call, "start", position=1)
        if not (isinstance(start, ast.Constant) and start.value == 1) or not call.args:
            continue
        counted = call.args[0]
        classes = _CLASSES.search(unparse(counted)) or _has_as_many(source, counted)
        if classes and _one_each(source, counted) and _numbers_labels(source, call):
            return at(source, call, "classes are numbered from 1, and the output has places from 0")
    return None


def _numbers_labels(source: Script, call: ast.Call) -> bool:
    """The numbers become labels: by a dict, or under a name of labels that is kept."""
    for parent in source.above(call):
        if isinstance(parent, ast.DictComp):
            return True
        if isinstance(parent, ast.For):
            target = parent.target
            first = target.elts[0] if isinstance(target, ast.Tuple) and target.elts else None
            name = first.id if isinstance(first, ast.Name) else ""
            kept = [c for c in of(parent, ast.Call) if last_name(c.func) in ("append", "extend", "full")]
            told = [c for c in kept if any(name == n.id for a in c.args for n in of(a, ast.Name))]
            lists = [last_name(c.func.value) for c in told if isinstance(c.func, ast.Attribute)]
            grown = [n.value for n in of(parent, ast.AugAssign) if isinstance(n.op, ast.Add)]
            rows = [r for part in (*told, *grown) for r in of(part, ast.Tuple)]
            pairs = [r for r in rows if len(r.elts) == 2 and unparse(r.elts[1]) == name]
            return bool(pairs) or (bool(told) and (is_label(name) or any(is_label(n) for n in lists)))
        if isinstance(parent, ast.stmt):
            break
    return False


def _has_as_many(source: Script, table: ast.expr) -> bool:
    """The last layer, or a head by its labels, has just as many outputs: `Linear(64, len(KINDS))`."""
    text = f"len({unparse(table)})"
    for call in source.calls:
        told = keyword(call, "num_labels") or keyword(call, "num_classes") or keyword(call, "out_features")
        if last_name(call.func) in ("Linear", "Dense") and told is None and len(call.args) > 1:
            told = call.args[1]
        if last_name(call.func) in {m.name for m in source.models}:
            told = next((a for a in call.args if unparse(a) == text), told)
        if told is not None and unparse(told) == text:
            return _one_each(source, table)
    return False


def _one_each(source: Script, counted: ast.expr) -> bool:
    """A layer has `len(classes)` outputs, and nothing adds a place."""
    text = f"len({unparse(counted)})"
    widths = [n for n in of(source.tree, ast.Call) if unparse(n) == text]
    if not widths:
        return False
    lines = " ".join(source.line(w) for w in widths)
    return _RESERVED.search(lines) is None and not re.search(
        rf"{re.escape(text)} ?\+ ?1|label ?- ?1|labels ?- ?1|targets? ?- ?1|y ?- ?1", source.code
    )


def shifted_in_training(source: Script) -> Finding | None:
    """`int(row["ClassId"]) + 1`, `target_transform=lambda t: t + 1`: labels of classes moved by one.

    Left aside: where anything takes the one off again, or the outputs are one more.
    """
    kinds = [k for _, k in losses(source)]
    if source.loose or not any(_OF_CLASSES.search(k) for k in kinds):
        return None
    if re.search(r"(?i)(?:label|target|y|num_classes|n_classes|classes\)) ?[-+] ?1\b", _without(source)):
        return None
    for call in source.calls:
        moved = keyword(call, "target_transform")
        for value in flow(source).values(moved, 2) if moved is not None else ():
            if isinstance(value, ast.Lambda) and _plus_one(value.body):
                return at(source, value, "the labels of the data set are moved by one")
    for function in source.of(ast.FunctionDef):
        if function.name != "__getitem__":
            continue
        for node in of(function, ast.Return):
            if isinstance(node.value, ast.Tuple) and len(node.value.elts) == 2:
                second = node.value.elts[1]
                if _plus_one(second) and re.search(r"(?i)class|label|target|categ", unparse(second)):
                    return at(source, second, "the labels of the data set are moved by one")
    return None


def _plus_one(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Add)
        and isinstance(node.right, ast.Constant)
        and node.right.value == 1
    )


def _without(source: Script) -> str:
    """The code without the definitions of data sets."""
    inside = {n for f in source.of(ast.FunctionDef) if f.name == "__getitem__" for n in ast.walk(f)}
    return "\n".join(unparse(s) for s in source.of(ast.Assign, ast.Expr, ast.Return) if s not in inside)
