"""Data and its distribution over processes in scripts."""

from __future__ import annotations

import ast
import re

from .code import at, first, imports_locals, ok, outer_loop
from .readers.script import keyword, last_name
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
    alone = []
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript):
            target, taken = ast.unparse(node.targets[0]), ast.unparse(node.value.value)
            if target == taken and isinstance(node.targets[0], ast.Name):
                alone.append((node, ast.unparse(node.value.slice)))
    for node, index in alone:
        fresh = "randperm" in index or "permutation" in index
        if fresh or (
            "perm" in index.lower() and sum(i == index for _, i in alone) == 1 and _used_once(source, index)
        ):
            return at(source, node, "inputs and labels are not reordered together")
    return ok(source, alone[0][0], "inputs and labels are reordered together") if alone else None


def _used_once(source: Script, index: str) -> bool:
    """The permutation indexes one array only."""
    uses = [
        n for n in ast.walk(source.tree) if isinstance(n, ast.Subscript) and ast.unparse(n.slice) == index
    ]
    return len(uses) == 1


_EVALUATION = ("val", "valid", "validation", "test", "eval")
_LABELS = ("label", "target", "_y", "y_")


@probe()
def labels_overwritten(view: View) -> Finding:
    """Labels are assigned random values."""
    return first(view, _overwritten, "the scripts do not touch labels")


def _overwritten(source: Script) -> Finding | None:
    seen = None
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Assign):
            target = ast.unparse(node.targets[0]).lower()
            if any(w in target for w in _LABELS) or target in ("y", "ys"):
                seen = seen or node
                value = ast.unparse(node.value)
                inside = isinstance(node.targets[0], ast.Subscript)
                if inside and any(w in value for w in ("randint", "random", "rand(")):
                    return at(source, node, "labels are overwritten with random values")
    return ok(source, seen, "labels are not overwritten") if seen is not None else None


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


# What belongs to training data alone: augmentation, soft labels, order.
_TRAINING_ONLY = ("rand", "augment", "noise", "jitter", "flip", "crop", "mixup", "smooth", "shuffle", "perm")


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
def predicts_over_batch(view: View) -> Finding:
    """The predicted class is taken over the batch axis: `output.argmax(0)`."""
    return first(view, _over_batch, "the scripts predict no classes")


def _over_batch(source: Script) -> Finding | None:
    calls = [c for c in source.named("argmax") if isinstance(c.func, ast.Attribute)]
    seen = None
    for call in calls:
        axis = keyword(call, "dim") or keyword(call, "axis") or (call.args[-1] if call.args else None)
        owner = source.owner(call).lower()
        if not any(w in owner for w in ("out", "logit", "pred", "score", "model(")):
            continue
        seen = seen or call
        if isinstance(axis, ast.Constant) and axis.value == 0 and "[" not in owner:
            return at(source, call, "the class is looked for along the batch, not along the classes")
    return ok(source, seen, "the class is looked for along the classes") if seen is not None else None


@probe()
def evaluates_stale_copy(view: View) -> Finding:
    """Evaluation uses a copy of the model made before training and never refreshed."""
    return first(view, _stale_copy, "the scripts copy no model")


def _stale_copy(source: Script) -> Finding | None:
    loop = outer_loop(source)
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and loop is not None:
            if last_name(node.value.func) == "deepcopy" and "model" in ast.unparse(node.value).lower():
                name = ast.unparse(node.targets[0])
                again: list[ast.AST] = [a for a in _assignments(source, name) if loop in source.above(a)]
                again += [
                    c for c in source.named("load_state_dict", "update", "lerp_") if name in source.owner(c)
                ]
                used = [c for c in source.calls if ast.unparse(c.func) == name]
                before = node.lineno < loop.lineno
                if before and not again and used:
                    return at(source, node, "evaluation uses this copy, which is never refreshed")
                return ok(source, node, "the copy of the model is refreshed")
    return None


def _assignments(source: Script, name: str) -> list[ast.Assign]:
    found = [n for n in ast.walk(source.tree) if isinstance(n, ast.Assign)]
    return [n for n in found if any(ast.unparse(t) == name for t in n.targets)]


@probe()
def drops_training_samples(view: View) -> Finding:
    """Training samples are left out by their label or by a slice, and evaluation samples are not."""
    return first(view, _drops, "the scripts do not select training samples")


def _drops(source: Script) -> Finding | None:
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Assign) and "train" in ast.unparse(node.targets[0]).lower():
            for part in ast.walk(node.value):
                if isinstance(part, ast.Subscript) and isinstance(part.slice, ast.Compare):
                    if "train" in ast.unparse(part.value).lower():
                        return at(source, node, "training samples are left out by a condition")
    return None


@probe()
def augmentation_extreme(view: View) -> Finding:
    """Augmentation that leaves little of the sample: large rotations, tiny crops, masking."""
    return first(view, _extreme, "the scripts augment nothing")


def _extreme(source: Script) -> Finding | None:
    seen: ast.AST | None = None
    for call in source.named(
        "RandomRotation", "RandomErasing", "RandomResizedCrop", "ColorJitter", "RandomCrop"
    ):
        seen = seen or call
        numbers = [
            n.value
            for n in ast.walk(call)
            if isinstance(n, ast.Constant) and isinstance(n.value, (int, float))
        ]
        name = last_name(call.func)
        if name == "RandomRotation" and numbers and max(abs(n) for n in numbers) >= 90:
            return at(source, call, "rotations this large change what the image shows")
        scale = keyword(call, "scale")
        if (
            name == "RandomResizedCrop"
            and isinstance(scale, ast.Tuple)
            and isinstance(scale.elts[0], ast.Constant)
        ):
            if isinstance(scale.elts[0].value, float) and scale.elts[0].value < 0.05:
                return at(source, call, "crops this small leave little of the image")
    for node in ast.walk(source.tree):
        if (
            isinstance(node, ast.Compare)
            and isinstance(node.left, ast.Call)
            and last_name(node.left.func) == "rand"
        ):
            limit = node.comparators[0]
            parent = source.parents.get(node)
            if (
                isinstance(parent, ast.BinOp)
                and isinstance(parent.op, ast.Mult)
                and isinstance(limit, ast.Constant)
            ):
                seen = seen or node
                small = isinstance(limit.value, float) and limit.value < 0.3
                if small and isinstance(node.ops[0], (ast.Lt, ast.LtE)):
                    return at(source, node, "masking keeps only a small share of the input")
    return ok(source, seen, "augmentation is moderate") if seen is not None else None


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


@probe()
def same_shard(view: View) -> Finding:
    """Every process asks the distributed sampler for the same fixed shard."""
    return first(view, _same_shard, "the scripts use no distributed sampler")


def _same_shard(source: Script) -> Finding | None:
    for call in source.named("DistributedSampler"):
        rank = keyword(call, "rank")
        if isinstance(rank, ast.Constant) and isinstance(rank.value, int):
            return at(source, call, "every process reads the same shard")
        return ok(source, call, "each process reads its own shard")
    return None


@probe()
def no_normalisation(view: View) -> Finding:
    """Real-valued inputs enter the model and nothing in the script scales them.

    Scripts with an embedding (token inputs) are passed over. False positive: data stored scaled.
    """
    return first(view, _no_normalisation, "the scripts show no real-valued inputs")


def _no_normalisation(source: Script) -> Finding | None:
    if (
        not source.trains_by_hand
        or source.named("Embedding")
        or not source.named("Linear", "Conv2d", "Conv1d", "LSTM", "GRU")
    ):
        return None
    text = source.text.lower()
    words = (
        "normaliz",
        "normalis",
        ".std(",
        "/ std",
        "/ sigma",
        "scaler.fit",
        "standardscaler",
        "minmax",
        "/ 255",
        "/255",
    )
    unused = _unused_spread(source)
    if unused is not None and not any(w in text for w in words if "std" not in w and "sigma" not in w):
        return at(source, unused, "a spread is computed and never applied, so nothing scales the inputs")
    scaled = any(w in text for w in words) or "totensor" in text
    if scaled:
        return ok(source, None, "the script scales its inputs")
    if imports_locals(source):
        return None
    return at(
        source, source.train_loop or source.backwards[0], "nothing in the script scales the inputs before"
    )


def _unused_spread(source: Script) -> ast.Assign | None:
    """`mu, sigma = x.mean(0), x.std(0)` where no spread of the script is ever read."""
    found: list[tuple[ast.Assign, str]] = []
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Assign):
            pairs = [(node.targets[0], node.value)]
            if isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = list(zip(node.targets[0].elts, node.value.elts, strict=False))
            for target, value in pairs:
                if isinstance(value, ast.Call) and last_name(value.func) in ("std", "nanstd"):
                    found.append((node, ast.unparse(target)))
    every = [c for c in source.named("std", "nanstd") if not any(c in ast.walk(n) for n, _ in found)]
    if not found or every:
        return None
    names = {name for _, name in found}
    read = [
        n
        for n in ast.walk(source.tree)
        if isinstance(n, (ast.Name, ast.Attribute))
        and isinstance(n.ctx, ast.Load)
        and ast.unparse(n) in names
    ]
    return None if read else found[0][0]


@probe()
def seed_by_rank(view: View) -> Finding:
    """Each process seeds with its rank before it builds the model, and nothing makes the replicas equal.

    A data-parallel wrapper or a broadcast makes them equal: then this is right, and wanted for the data.
    """
    return first(view, _seed_by_rank, "the scripts train in one process")


def _seed_by_rank(source: Script) -> Finding | None:
    seeds = [c for c in source.named("manual_seed", "set_seed", "seed") if c.args]
    if not seeds or not source.named("init_process_group"):
        return None
    joined = source.named(
        "DistributedDataParallel", "DDP", "broadcast", "FSDP", "FullyShardedDataParallel", "prepare"
    )
    ranked = [c for c in seeds if "rank" in ast.unparse(c.args[0]).lower()]
    if ranked and not joined:
        return at(
            source, ranked[0], "each process starts from weights of its own, and nothing makes them equal"
        )
    return ok(source, seeds[0], "replicas start equal")
