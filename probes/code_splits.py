"""Training and evaluation data in scripts: what is done to one and not to the other."""

from __future__ import annotations

import ast
import re

from .code import at, first, ok
from .readers.script import last_name
from .registry import Finding, View, probe
from .syntax import Script

_EVALUATION = ("val", "valid", "validation", "test", "eval")
_LABELS = ("label", "target", "_y", "y_")


# What belongs to training data alone: augmentation, soft labels, order.
_TRAINING_ONLY = ("rand", "augment", "noise", "jitter", "flip", "crop", "mixup", "smooth", "shuffle", "perm")


@probe()
def splits_processed_differently(view: View, *, labels: bool) -> Finding:
    """A statement processes the data of one split, and the other split has no statement of the kind.

    `labels`: look at labels instead of inputs. False positive: augmentation, which belongs to training only
    (statements with random parts are passed over).
    """
    return first(view, lambda s: _split_mismatch(s, labels), "the scripts do not process splits by name")


def _split_mismatch(source: Script, labels: bool) -> Finding | None:
    processed = _processing(source, labels)
    seen = None
    for (split, stem), nodes in processed.items():
        for other in _counterparts(split):
            if not _is_assigned(source, stem, other):
                continue
            seen = nodes[0]
            theirs = {_shape(n, other) for n in processed.get((other, stem), [])}
            for node in nodes:
                if _shape(node, split) not in theirs:
                    return at(source, node, f"this is done to the {split} data and not to the {other} data")
    return ok(source, seen, "both splits are processed alike") if seen is not None else None


def _processing(source: Script, labels: bool) -> dict[tuple[str, str], list[ast.Assign]]:
    """Statements that change a split's data in place (`val_x = (val_x - mean) / std`), by split and stem."""
    found: dict[tuple[str, str], list[ast.Assign]] = {}
    for node in ast.walk(source.tree):
        if not (isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)):
            _pairs(node, labels, found)
            continue
        name = node.targets[0].id
        split = _split_of(name)
        text = ast.unparse(node.value)
        used = {n.id for n in ast.walk(node.value) if isinstance(n, ast.Name)}
        arithmetic = any(isinstance(n, ast.BinOp) for n in ast.walk(node.value))
        is_label = _names_labels(name)
        legitimate = _selects(node.value) or any(w in text.lower() for w in _TRAINING_ONLY)
        if split and name in used and arithmetic and is_label == labels and not legitimate:
            found.setdefault((split, name.lower().replace(split, "*")), []).append(node)
    return found


def _selects(value: ast.expr) -> bool:
    """`train_x[train_y < 4]`, `train_x[:100]`: other samples, not another processing of them."""
    if isinstance(value, (ast.Subscript, ast.Name)):
        return True
    return isinstance(value, ast.Call) and last_name(value.func) in (
        "filter",
        "select",
        "sample",
        "head",
        "take",
        "dropna",
    )


def _names_labels(name: str) -> bool:
    """`train_labels`, `val_y`, `y_test`: labels by their name."""
    lower = name.lower()
    return any(w in lower for w in _LABELS) or lower.endswith("y")


def _pairs(node: ast.AST, labels: bool, found: dict[tuple[str, str], list[ast.Assign]]) -> None:
    """`train_y, val_y = f(train_labels), g(val_labels)`: each half as a statement of its own."""
    if not isinstance(node, ast.Assign):
        return
    target, value = node.targets[0], node.value
    if not (
        isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts)
    ):
        return
    for one, made in zip(target.elts, value.elts, strict=True):
        split = _split_of(one.id) if isinstance(one, ast.Name) else None
        text = ast.unparse(made).lower()
        legitimate = _selects(made) or any(w in text for w in _TRAINING_ONLY)
        if split and isinstance(one, ast.Name) and split in text and not legitimate:
            is_label = _names_labels(one.id)
            if is_label == labels:
                half = ast.copy_location(ast.Assign(targets=[one], value=made), node)
                found.setdefault((split, one.id.lower().replace(split, "*")), []).append(half)


def _split_of(name: str) -> str | None:
    words = re.split(r"[_\d]+", name.lower())
    return next((w for w in ("train", *_EVALUATION) if w in words), None)


def _counterparts(split: str) -> tuple[str, ...]:
    return _EVALUATION if split == "train" else ("train",)


def _is_assigned(source: Script, stem: str, split: str) -> bool:
    wanted = stem.replace("*", split)
    return any(isinstance(n, ast.Name) and n.id.lower() == wanted for n in ast.walk(source.tree))


def _shape(node: ast.Assign, split: str) -> str:
    return ast.unparse(node.value).lower().replace(split, "*")


@probe()
def normalises_one_split(view: View) -> Finding:
    """Normalisation stands in the pipeline of one split and not of the other."""
    return first(view, _one_split, "the scripts show no pair of pipelines")


def _one_split(source: Script) -> Finding | None:
    pipelines: dict[str, ast.Assign] = {}
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            if last_name(node.value.func) == "Compose":
                pipelines[ast.unparse(node.targets[0]).lower()] = node
    train = [n for t, n in pipelines.items() if "train" in t]
    other = [n for t, n in pipelines.items() if any(w in t for w in ("val", "test", "eval"))]
    if not train or not other:
        return None
    has = ["Normalize" in ast.unparse(n.value) for n in (train[0], other[0])]
    if has[0] != has[1]:
        return at(
            source,
            other[0] if has[0] else train[0],
            "this pipeline does not normalise and the other one does",
        )
    return ok(source, train[0], "both pipelines treat normalisation alike") if has[0] else None
