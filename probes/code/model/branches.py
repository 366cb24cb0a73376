"""Branches of a model that lead nowhere, in scripts: overwritten, left for a twin, added to themselves."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator

from ...readers._tree import names_in, names_read, of, unparse, walk
from ...readers.script import argument, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..shared.checks import at
from ..shared.nodes import is_false, raises
from .joins import functional
from .reused import NO_WEIGHTS
from .wiring import held, is_made, is_read

_HOOKS = re.compile(r"^(?:__|training_|validation_|test_|predict_|on_|configure_|log|_?init|reset|save|load)")
_ADDS = ("add", "Add", "tensor_add")
_JOINS = ("cat", "concat", "concatenate", "hstack", "Concatenate")


def methods_of_modules(source: Script) -> Iterator[tuple[ast.ClassDef, Function]]:
    """What modules compute with: their forward pass and what it calls, not the hooks of a trainer."""
    for owner in source.modules:
        for function in owner.body:
            if isinstance(function, ast.FunctionDef) and not _HOOKS.match(function.name):
                yield owner, function


# ----------------------------------------------------------------------------------- handed in, not read

# what a decoder gets of another sequence
_OTHER_SEQUENCE = re.compile(
    r"(?i)^(?:memory|context|ctx|enc(?:oder)?_?(?:out|outs|output|outputs|states?|hidden(?:_states)?))$"
)

_ATTENDS = re.compile(r"(?i)^self\..*(?:att|cross)")


def memory_unread(source: Script) -> Finding | None:
    """A layer with two attentions is handed the other sequence and never reads it: both look at its own."""
    passes = ((o, f) for o in source.classes.values() for f in o.body if isinstance(f, ast.FunctionDef))
    for owner, function in passes:
        if function.name not in ("forward", "call", "construct", "__call__") or raises(function):
            continue
        args = [*function.args.posonlyargs, *function.args.args]
        plain = args[: len(args) - len(function.args.defaults)]
        asked = {
            unparse(c.func) for c in of(function, ast.Call) if re.search(r"(?i)att|cross", unparse(c.func))
        }
        whole = any(isinstance(n, ast.Name) and n.id in ("locals", "args", "kwargs") for n in walk(function))
        for arg in plain if len(asked) > 1 and not whole else ():
            if _OTHER_SEQUENCE.match(arg.arg) and arg.arg not in names_read(function):
                return at(source, arg, f"{arg.arg} is handed to {owner.name} and never read")
    return None


# ------------------------------------------------------------------------------ overwritten, not looked at


def overwritten_unread(source: Script) -> Finding | None:
    """A layer's output is given a name, and the name another value before anything has read it.

    `h = self.embed(ids)`, then `h = self.position(steps)` where `h = h + ...` was meant.
    """
    for owner, function in methods_of_modules(source):
        weights = {n for n, _ in held(owner)}
        for first, second in zip(function.body, function.body[1:], strict=False):
            name = _plain_target(first)
            if name is None or name != _plain_target(second):
                continue
            if not isinstance(first, ast.Assign) or not isinstance(first.value, ast.Call):
                continue
            made = unparse(first.value.func)
            layer = made.startswith("self.") and last_name(first.value.func) in weights
            read = [n for n in of(second, ast.Name) if isinstance(n.ctx, ast.Load)]
            if layer and name not in {n.id for n in read} and name not in names_in(first.value):
                return at(
                    source, second, f"{name} is computed by a layer, and overwritten before anything reads it"
                )
    return _overwritten_in_keras(source)


def _overwritten_in_keras(source: Script) -> Finding | None:
    """`both = Concatenate()([x, z])`, then `both = Dropout(0.3)(x)`: branches are joined for nothing."""
    for function in functional(source):
        for first, second in zip(function.body, function.body[1:], strict=False):
            name = _plain_target(first)
            if name is None or name != _plain_target(second):
                continue
            if not isinstance(first, ast.Assign) or not isinstance(second, ast.Assign):
                continue
            if (
                _joins(first.value)
                and isinstance(second.value, ast.Call)
                and name not in names_in(second.value)
            ):
                return at(source, second, f"branches are joined as {name}, which is overwritten unread")
    return None


def _joins(value: ast.expr) -> bool:
    maker = value.func if isinstance(value, ast.Call) else None
    maker = maker.func if isinstance(maker, ast.Call) else maker
    return maker is not None and last_name(maker) in (*_JOINS, *_ADDS, "Multiply", "Average")


def _plain_target(node: ast.stmt) -> str | None:
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    return None


# --------------------------------------------------------------------------------------- one of two, twice


def twin_called_twice(source: Script) -> Finding | None:
    """Of two layers that are made alike one is called twice in the forward pass, and the other one never."""
    for owner, left, twin in twins(source):
        call = next(c for c in of(owner, ast.Call) if unparse(c.func) == f"self.{twin}")
        return at(source, call, f"{twin} is called twice, and {left}, which is made like it, never")
    return None


def twins(source: Script) -> Iterator[tuple[ast.ClassDef, str, str]]:
    """Classes with a layer that is never used and the one, made alike, that is called in its place."""
    for owner in source.modules:
        layers = dict(held(owner))
        called = Counter(
            n.func.attr
            for f in owner.body
            if isinstance(f, ast.FunctionDef) and f.name != "__init__"
            for n in of(f, ast.Call)
            if isinstance(n.func, ast.Attribute) and unparse(n.func.value) == "self"
        )
        for left, made in layers.items():
            for twin, other in layers.items():
                same = unparse(made) == unparse(other) and not NO_WEIGHTS.match(last_name(made.func))
                same = same and (_named_alike(left, twin) or _same_again(owner, twin))
                if twin != left and same and called[twin] > 1 and not called[left]:
                    if not is_read(source, owner, left):
                        yield owner, left, twin


def _named_alike(one: str, other: str) -> bool:
    """`conv1` and `conv2`, `fc_h` and `fc_c`, `key_proj` and `value_proj`: one number or word differs."""
    if re.sub(r"\d+$", "", one) == re.sub(r"\d+$", "", other):
        return True
    pairs = list(zip(one.split("_"), other.split("_"), strict=False))
    same_length = one.count("_") == other.count("_") > 0
    return same_length and sum(a != b for a, b in pairs) == 1


def _same_again(owner: ast.ClassDef, name: str) -> bool:
    """One statement calls a layer twice: `self.mean(h), self.mean(h)`, `self.w(query) + self.w(keys)`."""
    return any(
        sum(unparse(c.func) == f"self.{name}" for c in of(node, ast.Call)) > 1
        for node in of(owner, ast.Assign, ast.Return)
    )


# ------------------------------------------------------------------------------------------ the same twice


def added_to_itself(source: Script) -> Finding | None:
    """A branch is added to, or joined with, itself, where a skip connection or another branch was meant.

    `skip = self.proj(x) if self.proj is not None else y`, then `y + skip`; `cat([deep, deep], dim=1)` of what
    a layer made.
    """
    for owner, function in methods_of_modules(source):
        layers = {n for n, _ in held(owner)}
        for node in walk(function):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
                sides = (node.left, node.right)
                if _doubled(source, function, *sides):
                    return at(
                        source, node, "a branch is added to itself: its input does not get past the block"
                    )
                for one, other in (sides, sides[::-1]):
                    if _chosen_as(function, one, other):
                        return at(
                            source, node, "a branch is added to itself: its input does not get past the block"
                        )
            elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
                if isinstance(node.left, ast.Name) and unparse(node.left) == unparse(node.right):
                    return at(source, node, f"{node.left.id} is taken from itself: nothing of it gets on")
            elif isinstance(node, ast.Call) and last_name(node.func) in _ADDS and len(node.args) == 2:
                if _doubled(source, function, *node.args):
                    return at(
                        source, node, "a branch is added to itself: its input does not get past the block"
                    )
            elif isinstance(node, ast.Call) and last_name(node.func) in _JOINS and node.args:
                parts = node.args[0].elts if isinstance(node.args[0], (ast.List, ast.Tuple)) else []
                names = [p.id for p in parts if isinstance(p, ast.Name)]
                if len({unparse(p) for p in parts}) == 1 < len(parts) and _across_features(node):
                    if isinstance(parts[0], ast.Call) and unparse(parts[0].func).split("[")[0].startswith(
                        "self."
                    ):
                        if re.split(r"[.\[(]", unparse(parts[0]))[1] in layers:
                            return at(source, node, "the output of a layer is joined with itself")
                if len(parts) == len(names) > 1 and len(set(names)) == 1 and _across_features(node):
                    if _made_by_layer(source, parts[0], layers):
                        return at(source, node, f"{names[0]} is joined with itself")
    return None


def _doubled(source: Script, function: Function, one: ast.expr, other: ast.expr) -> bool:
    """`y + y` of what layers made, in a method whose input goes into layers and nowhere else."""
    if not (isinstance(one, ast.Name) and isinstance(other, ast.Name) and one.id == other.id):
        return False
    given = flow(source).given(one)
    inputs = [a.arg for a in function.args.args[1:]]
    if given is None or not isinstance(given.value, ast.Call) or len(inputs) != 1 or one.id in inputs:
        return False
    return unparse(given.value.func).startswith("self.") or any(
        unparse(c.func).startswith("self.") for c in of(given.value, ast.Call)
    )


def _chosen_as(function: Function, one: ast.expr, other: ast.expr) -> bool:
    """`one` may be `other`: a name that takes it in one of two cases."""
    if not isinstance(one, ast.Name) or not isinstance(other, ast.Name):
        return False
    for node in of(function, ast.Assign):
        if _plain_target(node) == one.id and isinstance(node.value, ast.IfExp):
            ways = (node.value.body, node.value.orelse)
            plain = [w for w in ways if isinstance(w, ast.Name) and w.id == other.id]
            called = [w for w in ways if isinstance(w, ast.Call) and other.id not in names_in(w)]
            if plain and called:
                return True
    return False


def _across_features(call: ast.Call) -> bool:
    """Not along the batch, where the same samples may be run twice on purpose."""
    given = argument(call, "dim", "axis", position=1)
    return given is not None and unparse(given) not in ("0",)


def _made_by_layer(source: Script, node: ast.expr, layers: set[str]) -> bool:
    given = flow(source).given(node)
    if given is None or not isinstance(given.value, ast.Call):
        return False
    name = unparse(given.value.func)
    return name.startswith("self.") and last_name(given.value.func) in layers


# ---------------------------------------------------------------------------------- computed and not joined


def branch_unjoined(source: Script) -> Finding | None:
    """A value that a layer makes is never read: in a method that the forward pass is made of, or in Keras.

    Keras: `hour = Embedding(24, 8)(hour_in)` in a function that builds a model, and nothing takes `hour`.
    """
    for _, function in methods_of_modules(source):
        if function in source.forwards or "hook" in unparse(function):
            continue  # a hook takes what a call gives
        for node in _unread(function):
            layer = isinstance(node.value, (ast.Call, ast.BinOp)) and "self." in unparse(node.value)
            if layer and is_made(function, node.value):
                return at(source, node, "this value is computed in the model and never used")
    for function in source.of(ast.FunctionDef):
        if not any(last_name(n.func) == "Model" for n in of(function, ast.Call)):
            continue
        for node in _unread(function):
            value = node.value
            if isinstance(value, ast.Call) and isinstance(value.func, ast.Call):
                if unparse(value.func.func).startswith(
                    ("layers.", "keras.layers.", "tf.keras.layers.", "L.")
                ):
                    return at(source, node, "this branch of the model is made and never joined to it")
    return None


def _unread(function: Function) -> Iterator[ast.Assign]:
    read = names_read(function)
    if read & {"locals", "vars", "eval", "exec"}:
        return
    for node in of(function, ast.Assign):
        if (name := _plain_target(node)) is not None:
            if name not in read and not name.startswith("_"):
                yield node


# ----------------------------------------------------------------------------------------- handed in, unread

_MASK = re.compile(r"(?i)^(?:\w+_)?(?:mask|masks|causal|lengths|lens)$")


def mask_unread(source: Script) -> Finding | None:
    """The forward pass of a model demands a mask, or lengths, and never looks at it."""
    return _mask_unread(source, losses=False)


def kept_mask_unread(source: Script) -> Finding | None:
    """`self.register_buffer("mask", tril(...))` of a model, and nothing reads `mask` anywhere.

    Where a library's attention is told `is_causal`, the mask is left over.
    """
    read = {n.attr for n in source.of(ast.Attribute) if isinstance(n.ctx, ast.Load)}
    if source.loose or source.named("get_buffer", "getattr", "named_buffers"):
        return None
    told = [k for c in source.calls for k in c.keywords if k.arg == "is_causal"]
    if any(not is_false(k.value) for k in told):
        return None
    for call in source.named("register_buffer"):
        if len(call.args) < 2 or not isinstance(call.args[0], ast.Constant):
            continue
        name, made = str(call.args[0].value), unparse(call.args[1])
        if _KEPT_MASK.search(name) and name not in read and re.search(r"tril|triu|mask|view", made):
            return at(source, call, f"the mask `{name}` is kept in the model and nothing reads it")
    return None


_KEPT_MASK = re.compile(r"(?i)(?:^|_)(?:mask|causal|tril|triu)(?:_|$)")


def loss_mask_unread(source: Script) -> Finding | None:
    """A loss demands a mask, or lengths, and never looks at it."""
    return _mask_unread(source, losses=True)


def _makes_own_mask(function: Function, names: list[str]) -> bool:
    """`ids == 0`: padding is told by its number, so that no lengths are needed."""
    for test in of(function, ast.Compare):
        if isinstance(test.ops[0], (ast.Eq, ast.NotEq)) and isinstance(test.left, ast.Name):
            if test.left.id in names:
                return True
    return False


def _mask_unread(source: Script, losses: bool) -> Finding | None:
    for function in source.passes:
        owner = source.parents.get(function)
        if owner not in source.modules or not isinstance(owner, ast.ClassDef) or len(function.body) < 2:
            continue
        if any(last_name(b) in source.classes for b in owner.bases):
            continue
        given = function.args.args[1 : len(function.args.args) - len(function.args.defaults)]
        names = [a.arg for a in given]
        if any(f is not function and names == [a.arg for a in f.args.args[1:]] for f in source.forwards):
            continue  # one of several that are called alike
        of_loss = bool({"target", "targets", "labels", "label", "y", "gt"} & set(names))
        if of_loss is not losses or _makes_own_mask(function, names):
            continue
        for name in names:
            if _MASK.match(name) and name not in names_in(ast.Module(function.body, [])):
                if not any(isinstance(n, ast.Raise) for n in function.body):
                    return at(source, function, f"{name} is handed in and never looked at")
    return None
