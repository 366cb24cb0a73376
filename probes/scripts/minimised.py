"""What training minimises, in any framework: standard losses, and the expressions that gradients are of.

`flow.objectives` knows where a script takes gradients itself. Here stand, too, the losses that a framework is
handed: `model.compile(loss=f)`, MindSpore's `Model(net, loss)`, and the cell that a TrainOneStepCell runs.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache

from ..readers._tree import unparse
from ..readers.script import LOSSES, argument, last_name
from . import flow as _flow
from .flow import Flow, first_of, flow, returns
from .syntax import Function, Script

_OF_KERAS = frozenset(
    [
        "meansquarederror",
        "meanabsoluteerror",
        "meanabsolutepercentageerror",
        "meansquaredlogarithmicerror",
        "huber",
        "logcosh",
        "kldivergence",
        "poisson",
        "hinge",
        "squaredhinge",
        "categoricalhinge",
        "binaryfocalcrossentropy",
        "binarycrossentropy",
        "categoricalfocalcrossentropy",
        "categoricalcrossentropy",
        "sparsecategoricalcrossentropy",
        "mse",
        "mae",
        "msle",
    ]
)
_OF_MINDSPORE = frozenset(
    [
        "crossentropyloss",
        "nllloss",
        "mseloss",
        "l1loss",
        "smoothl1loss",
        "huberloss",
        "bceloss",
        "bcewithlogitsloss",
        "kldivloss",
        "rmseloss",
        "maeloss",
        "softmarginloss",
        "focalloss",
        "diceloss",
        "cosineembeddingloss",
        "ctcloss",
        "sampledsoftmaxloss",
        "softmaxcrossentropywithlogits",
    ]
)
_OF_TENSORFLOW = re.compile(r"^(?:sparse_)?(?:softmax|sigmoid|weighted)_cross_entropy_with_logits(?:_v2)?$")
_STEP_CELL = re.compile(r"^TrainOneStep(?:With\w+)?Cell$")
_DEPTH = 5


@lru_cache(maxsize=32)
def kind_of(made: ast.expr, of_tensorflow: bool) -> str | None:
    """The kind of loss that a class or function is, by its name: "huber", "crossentropyloss"; else None."""
    name = last_name(made)
    if name.lower() in LOSSES:
        return name.lower()
    if _OF_TENSORFLOW.match(name):
        return name
    owner = unparse(made.value) if isinstance(made, ast.Attribute) else ""
    plain = name.lower().replace("_", "")
    if of_tensorflow and plain in _OF_KERAS and not owner.endswith("metrics"):
        if owner.endswith("losses") or (not owner and name[:1].isupper()):
            return plain
    if name[:1].isupper() and plain in _OF_MINDSPORE:
        return plain
    return None


def _kind(source: Script, made: ast.expr) -> str | None:
    return kind_of(made, bool({"keras", "tensorflow"} & set(source.frameworks)))


@lru_cache(maxsize=16)
def losses(source: Script) -> tuple[tuple[ast.Call, str], ...]:
    """Calls that compute a standard loss, with its kind; "" where a table or a setting chooses it."""
    known = dict(_flow.losses(source))
    mine = flow(source)
    for call in source.calls:
        given = len(call.args) + len([k for k in call.keywords if k.arg is not None])
        if call in known or given < 2 or last_name(call.func) in mine.functions:
            continue
        kind = _kind_called(mine, call.func)
        if kind is not None:
            known[call] = kind
    return tuple(sorted(known.items(), key=lambda k: (k[0].lineno, k[0].col_offset)))


def _kind_called(mine: Flow, called: ast.expr) -> str | None:
    """The loss that a call computes: by a function, `Huber()(y, p)`, or what a name holds."""
    if isinstance(called, ast.Call):
        return _kind(mine.source, called.func)
    if not last_name(called)[:1].islower():
        return None
    if (kind := _kind(mine.source, called)) is not None:
        return kind
    made = mine.values(called, _DEPTH) if isinstance(called, (ast.Name, ast.Attribute)) else []
    kinds = (_kind(mine.source, m.func) for m in made if isinstance(m, ast.Call))
    return next((k for k in kinds if k is not None), None)


@lru_cache(maxsize=16)
def loss_objects(source: Script) -> tuple[tuple[ast.Call, str], ...]:
    """Calls that build a standard loss, to be called or handed over, with its kind."""
    found = []
    for call in source.calls:
        if last_name(call.func)[:1].isupper() and (kind := _kind(source, call.func)) is not None:
            found.append((call, kind))
    return tuple(found)


@lru_cache(maxsize=16)
def handed(source: Script) -> tuple[tuple[ast.Call, ast.expr], ...]:
    """Losses that a trainer of the framework minimises, with the call that hands them over."""
    return tuple(_handed(source))


def _handed(source: Script) -> Iterator[tuple[ast.Call, ast.expr]]:
    frameworks = set(source.frameworks)
    if {"keras", "tensorflow"} & frameworks:
        for call in source.named("compile"):
            loss = argument(call, "loss", position=1)
            if loss is not None and isinstance(call.func, ast.Attribute):
                yield call, loss
    if "mindspore" in frameworks:
        for call in source.named("Model", "WithLossCell"):
            loss = argument(call, "loss_fn", position=1)
            if loss is not None:
                yield call, loss


@lru_cache(maxsize=16)
def objectives(source: Script) -> tuple[tuple[ast.Call, ast.expr], ...]:
    """What is minimised, with the call that takes gradients of it or that hands it to a trainer."""
    steps = {source.classes[n] for n in _own_steps(source)}
    # `self.grad(self.network, self.weights)` of such a cell takes gradients of what it is built with
    found = [(c, v) for c, v in _flow.objectives(source) if source.class_around(c) not in steps]
    mine = flow(source)
    for call, loss in handed(source):
        found += [(call, value) for value in _of_function(mine, loss)]
    for cell in _cells_of_steps(source):
        owner = mine.made(cell.args[0]) if cell.args else None
        for function in source.forwards:
            if owner is not None and function in owner.body:
                found += [(cell, first_of(r)) for r in returns(function)]
    return tuple(dict.fromkeys(found))


def _own_steps(source: Script) -> set[str]:
    return {n for n, c in source.classes.items() if any(_STEP_CELL.match(last_name(b)) for b in c.bases)}


def _cells_of_steps(source: Script) -> list[ast.Call]:
    """`TrainOneStepCell(net_with_loss, optimizer)`, of the library or of a class that derives from it."""
    if "mindspore" not in source.frameworks:
        return []
    own = _own_steps(source)
    return [c for c in source.calls if last_name(c.func) in own or _STEP_CELL.match(last_name(c.func))]


def _of_function(mine: Flow, loss: ast.expr) -> list[ast.expr]:
    """What a loss gives that the script writes itself: a function, or a class with a call of its own."""
    found: list[ast.expr] = []
    for end in (loss, *mine.values(loss, _DEPTH)):
        if isinstance(end, ast.Lambda):
            found.append(end.body)
        elif isinstance(end, (ast.Name, ast.Attribute)) and last_name(end) in mine.functions:
            found += [r for f in mine.functions[last_name(end)] for r in returns(f)]
        elif isinstance(end, ast.Call):
            owner = mine.source.classes.get(last_name(end.func))
            if owner is not None:
                names = ("call", "construct", "forward")
                inside = [f for f in owner.body if isinstance(f, ast.FunctionDef) and f.name in names]
                found += [first_of(r) for f in inside for r in returns(f)]
            elif last_name(end.func) in mine.functions:  # a function that makes the loss: `focal(2.0)`
                for function in mine.functions[last_name(end.func)]:
                    inner = {f.name: f for f in ast.walk(function) if isinstance(f, ast.FunctionDef)}
                    for value in returns(function):
                        if isinstance(value, ast.Name) and value.id in inner:
                            found += returns(inner[value.id])
    return list(dict.fromkeys(found))


_KEEPS = (
    *("mean", "sum", "reduce_mean", "reduce_sum", "scale", "scale_loss", "get_scaled_loss", "squeeze"),
    *("float", "to", "cast", "add", "mul", "multiply", "div"),
)
_MOST = 600  # expressions that are gone through on the way back from what is minimised


@lru_cache(maxsize=16)
def makers(source: Script) -> frozenset[Function]:
    """The functions of a script that make what is minimised, or a term of it: `a(x) + 0.3 * b(x)` -> a, b.

    Sums, products, reductions, names and calls of the script's own functions are followed; what a function is
    given is not, so that a model whose output a loss takes is none of them.
    """
    mine = flow(source)
    found: set[Function] = set()
    seen: set[ast.expr] = set()
    waiting: list[ast.expr] = [value for _, value in objectives(source)]
    while waiting and len(seen) < _MOST:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        if isinstance(node, ast.BinOp):
            waiting += [node.left, node.right]
        elif isinstance(node, ast.UnaryOp):
            waiting.append(node.operand)
        elif isinstance(node, ast.Call) and (called := mine.called(node)):
            found.update(called)
            waiting += [first_of(r) for f in called for r in returns(f)]
        elif isinstance(node, ast.Call) and last_name(node.func) == "sum" and _each(node) is not None:
            waiting.append(_each(node) or node)  # `sum(part(out, y) for part in parts)`
        elif isinstance(node, ast.Call) and last_name(node.func) in _KEEPS:
            waiting += node.args[:1] or ([node.func.value] if isinstance(node.func, ast.Attribute) else [])
        elif isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.IfExp)):
            waiting += [value for value in mine.values(node, 1) if value is not node]
    return frozenset(found)


def _each(call: ast.Call) -> ast.expr | None:
    """The term of a sum over a generator or a list that is written out."""
    over = argument(call, position=0)
    return over.elt if isinstance(over, (ast.GeneratorExp, ast.ListComp)) else None
