"""Slips with Keras in scripts: layers that learn nothing of the data, clipping far off, orders that stay."""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_in, of, unparse
from ...readers.script import argument, keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.nodes import is_false
from ..shared.sides import literal, number, side
from .tape import taken


def never_adapted(source: Script) -> Finding | None:
    """`Normalization()` without mean and variance, and nothing adapts it: it passes raw values on.

    Left aside: programs that adapt anything, or that read weights or a whole model.
    """
    if "keras" not in source.text or source.loose:
        return None
    fits = [c.lineno for c in source.named("fit")]
    reads = source.named("load_weights", "load_model", "set_weights", "restore", "from_config")
    # what is read behind the training was written by it
    if source.named("adapt") or not fits or any(c.lineno < min(fits) for c in reads):
        return None
    for call in source.named("Normalization"):
        owner = source.owner(call)
        if owner and not re.search(r"layers|preprocessing", owner):
            continue
        if keyword(call, "mean") is not None or any(k.arg is None for k in call.keywords):
            continue
        if len(call.args) < 2:
            return at(source, call, "nothing adapts this layer: its mean stays 0 and its variance 1")
    return None


def learned_from_whole(source: Script) -> Finding | None:
    """`norm.adapt(meta)` where rows of `meta` are picked for training and for held-out data elsewhere.

    By `meta[train_part]` and `meta[test_part]`, or `meta[part]` in a function that is called for both.
    """
    for call in source.named("adapt", "fit", "fit_transform"):
        if len(call.args) != 1 or not isinstance(call.args[0], ast.Name) or call.keywords:
            continue
        name = call.args[0].id
        made = flow(source).values(call.func.value, 3) if isinstance(call.func, ast.Attribute) else []
        told = " ".join(last_name(m.func) for m in made if isinstance(m, ast.Call))
        if side(name) is not None or not re.search(r"(?i)normalization|scaler|pca|imputer|discretiz", told):
            continue
        sides: set[bool | None] = set()
        for node in source.of(ast.Subscript):
            if unparse(node.value) == name and isinstance(node.slice, ast.Name):
                sides.add(side(node.slice.id))
                sides |= {side(unparse(a)) for a in flow(source).arguments(node.slice)}
        same = source.function_around(call) is None and len(flow(source).all_given(call.args[0])) == 1
        if {True, False} <= sides and same:
            return at(source, call, "this is learned from all samples, those held out among them")
    return None


# ------------------------------------------------------------------------------------- what is cut off

_BOUNDS = ("clipnorm", "global_clipnorm", "clipvalue")
_FAR = 1e4  # a norm of gradients of this size is no training any more


def clipped_far_off(source: Script) -> Finding | None:
    """`Adam(clipnorm=1e6)`, `tf.clip_by_global_norm(grads, 1e6)` for its gradients: none is clipped."""
    if not {"keras", "tensorflow"} & set(source.frameworks):
        return None
    for call in source.optimizer_calls:
        for name in _BOUNDS:
            bound = number(source, keyword(call, name))
            if bound is not None and bound >= _FAR:
                return at(source, keyword(call, name) or call, f"no gradient comes near a bound of {bound:g}")
    for call in source.named("clip_by_global_norm", "clip_by_norm"):
        given = argument(call, "clip_norm", position=1)
        bound = number(source, given)
        holder = source.statement(call)
        target = holder.targets[0] if isinstance(holder, ast.Assign) else None
        asked = isinstance(target, ast.Tuple) and unparse(target.elts[-1]) != "_"
        if bound is not None and bound >= _FAR and not asked:
            return at(source, call, f"no gradient comes near a bound of {bound:g}")
    return None


# ------------------------------------------------------------------------------------- order

_IN_TIME = re.compile(
    r"(?i)stateful|lstm|gru|rnn|series|forecast|timesteps|window|lag\b|sequence_length|sparse_?matrix"
)


def fit_in_order(source: Script) -> Finding | None:
    """`model.fit(x, y, shuffle=False)`: every epoch goes through the same batches.

    Left aside: networks with a state, series in time, data sets that do not come as two arrays, and
    programs that shuffle each epoch themselves.
    """
    if "keras" not in source.text or source.loose or _IN_TIME.search(source.code):
        return None
    if source.named("compile") and not source.named("shuffle", "from_tensor_slices", "flow"):
        for call in source.named("fit"):
            told, owner = keyword(call, "shuffle"), source.owner(call)
            if not is_false(told) or not owner:
                continue
            targets = argument(call, "y", position=1)
            epochs = keyword(call, "epochs")
            once = epochs is None or literal(source, epochs) == 1
            if targets is not None and not once and not source.loops_around(call):
                return at(source, told, "the samples come in the same batches in every epoch")
    return None


# ------------------------------------------------------------------------------------- frozen layers

_LAYERS = re.compile(
    r"^(?:Embedding|Dense|Conv[123]D|LSTM|GRU|SeparableConv2D|DepthwiseConv2D|Bidirectional)$"
)
_MEANT = re.compile(
    r"\.trainable\s*=|set_weights|load_weights\(.*pre|glove|word2vec|fasttext|pretrain|teacher|target_"
)
_FROM_ELSEWHERE = ("weights", "embeddings_initializer", "kernel_initializer", "initializer")


def new_layer_untrained(source: Script) -> Finding | None:
    """`layers.Embedding(n, dim, trainable=False)` that starts at random: it never learns.

    Left aside: layers that are given weights or an initializer, programs that set weights or `trainable`
    later, read pretrained vectors, or copy a network.
    """
    if "keras" not in source.text or source.loose:
        return None
    if _MEANT.search(source.code.lower()):
        return None
    for call in source.named(*(n for n in _names(source) if _LAYERS.match(n))):
        told = keyword(call, "trainable")
        if not is_false(told):
            continue
        if any(k.arg is None or k.arg in _FROM_ELSEWHERE for k in call.keywords):
            continue
        holder = source.statement(call)
        target = " ".join(map(unparse, holder.targets)) if isinstance(holder, ast.Assign) else ""
        if re.search(r"(?i)pos|random|proj|fixed|frozen|hash|fourier", target):
            continue
        return at(source, told, "these weights are drawn at random and never trained")
    return None


def _names(source: Script) -> set[str]:
    return {last_name(c.func) for c in source.calls}


# ------------------------------------------------------------------------------------- out of the tape


def array_under_tape(source: Script) -> Finding | None:
    """`loss_fn(y, tf.convert_to_tensor(logits.numpy()))` under a tape: an array knows no gradient."""
    for one in taken(source):
        if not isinstance(one.objective, ast.Name):
            continue
        wanted, seen = {one.objective.id}, set[str]()
        for node in sorted(of(one.tape, ast.Assign), key=lambda n: -n.lineno):
            names = {n for t in node.targets for n in names_in(t)}
            if not names & wanted:
                continue
            for call in of(node.value, ast.Call):
                if last_name(call.func) != "numpy" or call.args or not isinstance(call.func, ast.Attribute):
                    continue
                inner = unparse(call.func.value)
                whole = len([n for n in of(node.value, ast.Name, ast.Attribute) if unparse(n) == inner])
                if whole == 1 and _of_model(call.func.value, one.tape):
                    return at(source, call, "an array has no gradient: what stands before this never trains")
            seen |= names
            wanted |= names_in(node.value) - seen
    return None


def _of_model(node: ast.expr, tape: ast.With) -> bool:
    """A call that is told its mode gave it, under the same tape."""
    for given in of(tape, ast.Assign):
        if any(unparse(t) == unparse(node) for t in given.targets) and isinstance(given.value, ast.Call):
            return keyword(given.value, "training") is not None
    return False


# ------------------------------------------------------------------------------------- resuming


def counter_never_moved(source: Script) -> Finding | None:
    """`Checkpoint(epoch=epoch)` and `range(int(epoch.numpy()), n)`, and nothing ever moves the counter."""
    if source.loose or not source.named("restore", "restore_or_initialize"):
        return None
    written = {source.owner(c) for c in source.named("assign", "assign_add", "increment", "assign_sub")}
    for loop in source.of(ast.For):
        over = loop.iter
        if not (isinstance(over, ast.Call) and last_name(over.func) == "range" and len(over.args) > 1):
            continue
        for node in of(over.args[0], ast.Name, ast.Attribute):
            name = unparse(node)
            ends = [v for v in flow(source).values(node, 2) if isinstance(v, ast.Call)]
            if name in written or not ends or any(last_name(v.func) != "Variable" for v in ends):
                continue
            kept = any(
                k.arg and unparse(k.value) == name for c in source.named("Checkpoint") for k in c.keywords
            )
            if kept:
                return at(source, over, f"`{name}` is restored, and nothing counts it up")
    return None
