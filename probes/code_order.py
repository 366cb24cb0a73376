"""The order of samples in scripts: shuffling and sorting."""

from __future__ import annotations

import ast

from .code import at, first, imports_locals, ok
from .readers.script import last_name
from .registry import Finding, View, probe
from .syntax import Script


@probe()
def no_shuffling(view: View) -> Finding:
    """A loop over slices of the data, and no word of shuffling, permutation or sampling in the script."""
    return first(view, _no_shuffling, "the scripts do not show how batches are drawn")


def _no_shuffling(source: Script) -> Finding | None:
    words = (
        "shuffle",
        "randperm",
        "permutation",
        "randint",
        "sampler",
        "random_split",
        "choice",
        "iterabledataset",
    )
    lower = source.text.lower()
    if not source.trains_by_hand or source.named("DataLoader"):
        return None
    if any(w in lower for w in words):
        return ok(source, None, "the script draws batches at random")
    loop = source.train_loop
    if loop is None or imports_locals(source):
        return None
    sliced = (
        isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call) and last_name(loop.iter.func) == "range"
    )
    sliced = (
        sliced and isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call) and len(loop.iter.args) == 3
    )
    return at(source, loop, "batches are taken in file order and nothing shuffles them") if sliced else None


@probe()
def sorts_training_data(view: View) -> Finding:
    """Training samples are put into the order of their labels."""
    return first(view, _sorts, "the scripts do not order samples")


def _sorts(source: Script) -> Finding | None:
    for call in source.named("argsort", "sort", "sorted", "sort_values"):
        text = ast.unparse(call).lower()
        labelled = any(w in text for w in ("label", "target", "y_train", "train_y", "ytr", "class"))
        if labelled and not any(w in text for w in ("set(", "unique", "pred", "logit", "score", "classes")):
            return at(source, call, "samples are put into the order of their labels")
    return None
