"""Orders by chance that a program could take and does not: sources nobody hands over, graph loaders."""

from __future__ import annotations

import ast

from ...readers._tree import of, unparse
from ...readers.script import keyword, last_name, receiver
from ...registry import Finding
from ...scripts.syntax import Function, Script
from ..shared.checks import at
from ..shared.nodes import is_false
from ..shared.sides import side
from ..splits.sampled_nodes import LOADERS

_ORDERS = ("permutation", "shuffle", "permuted", "randperm")


def source_never_handed(source: Script) -> Finding | None:
    """`def batches(x, y, size, rng=None)` mixes rows where it is handed a generator; no call hands one."""
    if source.loose:
        return None
    for function in source.of(ast.FunctionDef):
        names = [a.arg for a in function.args.args]
        for place, default in zip(reversed(names), reversed(function.args.defaults), strict=False):
            if not (isinstance(default, ast.Constant) and default.value is None):
                continue
            if not _asked_whether(function, place) or not _mixes_by(function, place):
                continue
            inside = set(of(function, ast.Call))
            calls = [c for c in source.named(function.name) if c not in inside]
            at_place = names.index(place) - (names[:1] == ["self"])
            if calls and not any(_hands(c, place, at_place) for c in calls):
                why = f"`{function.name}` mixes the samples by `{place}`, and nobody hands it one"
                return at(source, calls[0], why)
    return None


def _asked_whether(function: Function, name: str) -> bool:
    tests = [n.test for n in of(function, ast.If, ast.IfExp)]
    return any(isinstance(n, ast.Name) and n.id == name for t in tests for n in of(t, ast.Name))


def _mixes_by(function: Function, name: str) -> bool:
    for call in of(function, ast.Call):
        if last_name(call.func) in _ORDERS:
            owner = receiver(call)
            told = [*(k.value for k in call.keywords), *call.args[:1]]
            if (owner is not None and unparse(owner) == name) or any(unparse(t) == name for t in told):
                return True
    return False


def _hands(call: ast.Call, name: str, place: int) -> bool:
    spread = any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords)
    held = keyword(call, name) or (call.args[place] if place < len(call.args) else None)
    return spread or (held is not None and not (isinstance(held, ast.Constant) and held.value is None))


def graph_loader_keeps_order(source: Script) -> Finding | None:
    """PyTorch Geometric: the loader over the training nodes does not shuffle, which is also its default."""
    for call in source.named(*LOADERS):
        seeds = next(
            (keyword(call, n) for n in ("input_nodes", "edge_label_index", "node_idx") if keyword(call, n)),
            None,
        )
        if seeds is None or side(unparse(seeds)) is not True:
            continue
        if any(k.arg is None or k.arg in ("sampler", "batch_sampler") for k in call.keywords):
            continue
        told = keyword(call, "shuffle")
        if told is None or is_false(told):
            return at(
                source, call, f"{last_name(call.func)} hands out the training nodes in their stored order"
            )
    return None


def files_in_order(source: Script) -> Finding | None:
    """`tf.data.Dataset.list_files(pattern, shuffle=False)` for training, and nothing shuffles afterwards."""
    mixes = (
        "shuffle",
        "shuffle_",
        "permutation",
        "sample_from_datasets",
        "choose_from_datasets",
        "random_shuffle",
    )
    if source.loose or source.named(*mixes) or "shuffle_files" in source.code:
        return None
    for call in source.named("list_files"):
        told = keyword(call, "shuffle")
        if told is not None and is_false(told) and source.named("fit", "apply_gradients", "minimize"):
            return at(source, call, "files come in the order of their names, and nothing shuffles them")
    return None
