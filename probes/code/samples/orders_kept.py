"""Pipelines of `tf.data` in scripts that a Keras network is fitted to, and that nothing shuffles."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import keyword, last_name
from ...registry import Finding
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.sides import literal

_MIXES = re.compile(
    r"(?i)shuffle|permut|\.sample\(|randint|choice\(|train_test_split|sampler|KFold|take\(|random_index|interleave"
)
_GROUPS = re.compile(r"[\w.()\d]*\bshuffle\((\w+)\)")
_MADE = ("from_tensor_slices", "from_generator")


def pipeline_keeps_order(source: Script) -> Finding | None:
    """`from_tensor_slices(...).batch(n)` is fitted for several epochs, and no word of a shuffle anywhere.

    Keras does not shuffle a `tf.data.Dataset` (keras.io, `Model.fit`: the argument is ignored for it).
    """
    if "keras" not in source.text or source.loose or _MIXES.search(_without_groups(source)):
        return None
    made = [c for c in source.named(*_MADE) if isinstance(c.func, ast.Attribute)]
    batches = [c for c in source.named("batch", "padded_batch") if isinstance(c.func, ast.Attribute)]
    if not made or not batches:
        return None
    for call in source.named("fit"):
        epochs = keyword(call, "epochs")
        given = call.args[0] if call.args else keyword(call, "x")
        if epochs is None or given is None or literal(source, epochs) == 1 or len(call.args) > 1:
            continue
        if keyword(call, "y") is None and isinstance(call.func, ast.Attribute):
            return at(source, batches[-1], "nothing shuffles the samples, which come in the stored order")
    return None


def _without_groups(source: Script) -> str:
    """The program without shuffles of groups that are only asked whether they hold a sample."""
    code = source.code
    for match in _GROUPS.finditer(source.code):
        name = match[1]
        rest = re.sub(rf"shuffle\({name}\)|\b{name} = |len\({name}\)", "", source.code)
        reads = re.findall(rf"(.{{0,4}})\b{name}\b", rest)
        if reads and all(before.endswith("set(") for before in reads):
            code = code.replace(match[0], "")
    return code


_LATER = re.compile(
    r"(?i)shuffle(?!=)|\.sample\(|randint|choice\(|sampler|take\(|interleave|forecast|series|lstm|gru\b"
)


def same_order_each_epoch(source: Script) -> Finding | None:
    """A pipeline of `tf.data` that is made for training by a flag, split by chance once and never shuffled.

    The rows come in one and the same order and the same batches in every epoch.
    """
    if not {"keras", "tensorflow"} & set(source.frameworks) or source.loose or _LATER.search(source.code):
        return None
    for function in source.of(ast.FunctionDef):
        made = [c for c in of(function, ast.Call) if last_name(c.func) == "from_tensor_slices"]
        batches = [c for c in of(function, ast.Call) if last_name(c.func) in ("batch", "padded_batch")]
        flags = {a.arg for a in function.args.args}
        asked = [i for i in of(function, ast.If, ast.IfExp) if unparse(i.test) in flags]
        if not made or not batches or not asked:
            continue
        told = {
            unparse(a) for c in source.named(function.name) for a in [*c.args, *(k.value for k in c.keywords)]
        }
        fits = [
            c
            for c in source.named("fit")
            if literal(source, keyword(c, "epochs")) != 1 and keyword(c, "epochs")
        ]
        if {"True", "False"} <= told and fits:
            return at(source, batches[0], "training rows come in one order, the same in every epoch")
    return None
