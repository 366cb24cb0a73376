"""Data and its distribution over processes in scripts."""

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
def labels_permuted_alone(view: View) -> Finding:
    """`y = y[randperm]` where no other array is indexed by the same permutation."""
    return first(view, _labels_alone, "the scripts do not reorder labels")


def _labels_alone(source: Script) -> Finding | None:
    reordered = []
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript):
            target = ast.unparse(node.targets[0]).lower()
            if any(w == target or w in target for w in ("label", "target")) or target in (
                "y",
                "y_train",
                "ys",
            ):
                reordered.append((node, ast.unparse(node.value.slice)))
    for node, index in reordered:
        if "randperm" in index or "permutation" in index:
            return at(source, node, "labels are reordered without their inputs")
    return None


@probe()
def evaluates_training_data(view: View) -> Finding:
    """A loader with an evaluation name is built over the training data."""
    return first(view, _evaluates_training, "the scripts show no evaluation loader")


def _evaluates_training(source: Script) -> Finding | None:
    seen = None
    for node in ast.walk(source.tree):
        if not (isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)):
            continue
        target = ast.unparse(node.targets[0]).lower()
        if last_name(node.value.func) != "DataLoader" or not node.value.args:
            continue
        if any(w in target for w in ("val", "test", "eval")) and "train" not in target:
            seen = node
            data = ast.unparse(node.value.args[0]).lower()
            if "train" in data and not any(w in data for w in ("val", "test", "eval")):
                return at(source, node, "the evaluation loader reads the training data")
    return ok(source, seen, "the evaluation loader reads its own data") if seen is not None else None


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


@probe()
def set_epoch_missing(view: View) -> Finding:
    """DistributedSampler over several epochs without set_epoch: the same order in every epoch."""
    return first(view, _no_set_epoch, "the scripts use no distributed sampler")


def _no_set_epoch(source: Script) -> Finding | None:
    samplers = source.named("DistributedSampler")
    if not samplers or imports_locals(source):
        return None
    if source.named("set_epoch"):
        return ok(source, source.named("set_epoch")[0], "set_epoch is called")
    return at(source, samplers[0], "set_epoch is never called, so every epoch has the same order")


@probe()
def no_gradient_synchronisation(view: View) -> Finding:
    """A process group is made, and neither a wrapper nor an all-reduce joins the gradients."""
    return first(view, _no_sync, "the scripts train in one process")


def _no_sync(source: Script) -> Finding | None:
    groups = source.named("init_process_group")
    if not groups or not source.backwards:
        return None
    names = (
        "DistributedDataParallel",
        "DDP",
        "FullyShardedDataParallel",
        "FSDP",
        "all_reduce",
        "fully_shard",
        "initialize",
        "prepare",
    )
    joined = [c for c in source.named(*names) if not _is_metric_reduce(source, c)]
    if joined:
        return ok(source, joined[0], "gradients are synchronised")
    if imports_locals(source):
        return None
    return at(source, groups[0], "processes are started and nothing synchronises their gradients")


def _is_metric_reduce(source: Script, call: ast.Call) -> bool:
    if last_name(call.func) != "all_reduce" or not call.args:
        return False
    return ".grad" not in ast.unparse(call.args[0]) and "grad" not in source.function_name(call).lower()


@probe()
def wrapper_bypassed(view: View) -> Finding:
    """The training loop calls `model.module(x)`: the wrapper never sees the forward pass."""
    return first(view, _bypassed, "the scripts wrap no model")


def _bypassed(source: Script) -> Finding | None:
    wrapped = source.named("DistributedDataParallel", "DDP")
    if not wrapped:
        return None
    for call in source.calls:
        if isinstance(call.func, ast.Attribute) and call.func.attr == "module" and call.args:
            if source.train_loop is not None and source.train_loop in source.loops_around(call):
                return at(source, call, "training calls the inner module, so gradients are not synchronised")
    return ok(source, wrapped[0], "training calls the wrapped model")
