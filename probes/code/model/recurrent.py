"""Recurrent layers in scripts: dropout without effect or of the share to keep, a sample taken for a step."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse
from ...readers.script import argument, keyword, last_name
from ...registry import Finding, View, probe
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at, first, ok
from ..shared.nodes import is_true
from ..shared.shares import complement_of_drop, names_keep
from ..shared.sides import literal

RECURRENT = ("LSTM", "GRU", "RNN")
_LAYERS = (
    *(*RECURRENT, "LSTMCell", "GRUCell", "SimpleRNN", "MultiheadAttention", "MultiHeadAttention"),
    *("Transformer", "TransformerEncoderLayer", "TransformerDecoderLayer"),
)


@probe()
def dropout_between_no_layers(view: View) -> Finding:
    """`nn.LSTM(..., num_layers=1, dropout=0.2)`: PyTorch and MindSpore drop between layers, and there is one.

    Silent for Keras, whose layers drop inputs, and where the number of layers or the share is not known.
    """
    return first(view, _without_effect, "the scripts make no recurrent layers with dropout")


def _without_effect(source: Script) -> Finding | None:
    if not {"pytorch", "mindspore"} & set(source.frameworks):
        return None
    seen: ast.AST | None = None
    for call in source.named(*RECURRENT):
        share = keyword(call, "dropout")
        plain = not any(isinstance(a, ast.Starred) for a in call.args) and all(k.arg for k in call.keywords)
        if share is None or not plain or source.owner(call).split(".")[-1] not in ("nn", "torch.nn", ""):
            continue
        if last_name(call.func) in source.classes:
            continue
        dropped = stated(source, share)
        layers = argument(call, "num_layers", position=2)
        count = 1 if layers is None else stated(source, layers)
        if not isinstance(dropped, float) or not isinstance(count, int):
            continue
        seen = seen or call
        if count == 1 and dropped > 0:
            why = f"one layer has no place between layers: dropout={dropped:g} does nothing"
            return at(source, call, why)
    return ok(source, seen, "dropout stands between layers") if seen is not None else None


def stated(source: Script, node: ast.expr) -> object:
    """The constant that an expression stands for, also the default of a parameter that nobody hands over."""
    known = literal(source, node)
    function = source.function_around(node)
    if (
        known is not None
        or function is None
        or not isinstance(node, ast.Name)
        or flow(source).arguments(node)
    ):
        return known
    owner = source.class_around(function)
    if not source.named(owner.name if owner is not None else function.name):
        return None
    names = [a.arg for a in function.args.args]
    defaults = dict(zip(reversed(names), reversed(function.args.defaults), strict=False))
    return literal(source, defaults[node.id]) if node.id in defaults else None


def recurrent_keeps(source: Script) -> Finding | None:
    """`nn.LSTM(..., dropout=keep_prob)`, `dropout=1 - dropout`: all of these take the share to drop."""
    seen: ast.AST | None = None
    for call in source.named(*_LAYERS):
        if last_name(call.func) in source.classes or last_name(call.func) in flow(source).functions:
            continue
        for name in ("dropout", "recurrent_dropout"):
            share = keyword(call, name)
            if share is None or isinstance(share, ast.Constant):
                continue
            seen = seen or call
            if complement_of_drop(share) or names_keep(source, share):
                return at(source, call, f"`{name}` is the share to drop, and is given what is left of it")
    return ok(source, seen, "layers are given the share to drop") if seen is not None else None


def last_of_batch(source: Script) -> Finding | None:
    """`out, _ = self.rnn(x)` of a layer with `batch_first=True`, then `out[-1]`: the last sample, no step."""
    for owner in source.modules:
        built = {
            unparse(n.targets[0]): n.value
            for n in of(owner, ast.Assign)
            if isinstance(n.value, ast.Call) and last_name(n.value.func) in ("LSTM", "GRU", "RNN")
        }
        first = {name for name, call in built.items() if is_true(keyword(call, "batch_first"))}
        for function in (f for f in owner.body if isinstance(f, ast.FunctionDef)):
            outputs = {
                n.targets[0].elts[0].id: n
                for n in of(function, ast.Assign)
                if isinstance(n.targets[0], ast.Tuple)
                and isinstance(n.targets[0].elts[0], ast.Name)
                and isinstance(n.value, ast.Call)
                and unparse(n.value.func) in first
            }
            for node in of(function, ast.Subscript):
                told = unparse(node)
                name = node.value.id if isinstance(node.value, ast.Name) else ""
                if name not in outputs or told != f"{name}[-1]" or node.lineno < outputs[name].lineno:
                    continue
                given = [n for n in of(function, ast.Name) if n.id == name and isinstance(n.ctx, ast.Store)]
                if len(given) == 1:  # it is what the layer gave, in no other order
                    return at(source, node, "batch_first=True: this is the last sample, not the last step")
    return None


_TURNS = re.compile(
    r"transpose|permute|swapaxes|\.t\(\)|\.T\b|rearrange|pack_padded|batch_first=False|movedim"
)
_LAST_AXES = re.compile(r"transpose\((?:1, 2|2, 1|-1, -2|-2, -1)\)|permute\(0, ")


def steps_along_batch(source: Script) -> Finding | None:
    """`nn.LSTM(d, h)` without `batch_first=True` is given batches as a loader makes them: samples for steps.

    Told where the network hands its input on as it is, through tables and layers alone, and nothing in the
    program turns axes.
    """
    if _TURNS.search(_LAST_AXES.sub("", source.code)) or source.loose or not _rows_first(source):
        return None
    for owner in source.modules:
        for name, made in _plain_recurrent(owner):
            for function in (f for f in source.forwards if f in owner.body):
                if len(function.args.args) < 2:
                    continue
                given = function.args.args[1].arg
                for call in of(function, ast.Call):
                    if unparse(call.func) == name and call.args and _hands_on(source, call.args[0], given):
                        return at(
                            source, made, "without batch_first=True samples of a batch are taken for steps"
                        )
    return None


def _rows_first(source: Script) -> bool:
    """Every loader puts samples together along the first axis."""
    loaders = source.named("DataLoader")
    collates = [c for c in loaders if keyword(c, "collate_fn") is not None]
    if not loaders or source.named("TextDataset", "BucketIterator"):
        return False
    pads = source.named("pad_sequence")
    if pads:
        return all(is_true(keyword(p, "batch_first")) for p in pads)
    return (
        not collates or re.search(r"torch\.(?:tensor|stack|LongTensor|from_numpy)\(", source.code) is not None
    )


def _plain_recurrent(owner: ast.ClassDef) -> Iterator[tuple[str, ast.Call]]:
    """Layers of PyTorch that take steps first."""
    for node in of(owner, ast.Assign):
        made = node.value
        if isinstance(made, ast.Call) and unparse(made.func) in (
            "nn.LSTM",
            "nn.GRU",
            "nn.RNN",
            "torch.nn.LSTM",
        ):
            if not any(k.arg in (None, "batch_first") for k in made.keywords) and len(made.args) < 5:
                yield unparse(node.targets[0]), made


def _hands_on(source: Script, node: ast.expr, given: str) -> bool:
    """The input itself, or what layers of the network made of it."""
    for _ in range(6):
        if isinstance(node, ast.Name):
            if node.id == given and flow(source).given(node) is None:
                return True
            found = flow(source).whole_given(node)
            if found is None:
                return False
            node = found
        elif isinstance(node, ast.Call) and unparse(node.func).startswith("self.") and len(node.args) == 1:
            node = node.args[0]
        else:
            return False
    return False
