"""The last layer of a model in scripts, told by its size, against what the losses of the program take."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse, walk
from ...readers.script import keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..model.wiring import held
from ..shared.checks import at

# a layer as wide as there are classes is the last one of its model, whatever it is called
_CLASSES = re.compile(
    r"(?i)^(?:\w+\.)*(?:(?:num|n|nb|no)_?(?:of_?)?(?:classes|labels|tags|classs|targets|outputs|out)"
    r"|(?:classes|labels|tags|n_?cls|num_?cls|out_classes|class_num|vocab_?size))$"
)
_LAYERS = re.compile(r"^(?:Linear|Dense|LazyLinear|Conv[123][dD])$")
_LOGIT_LOSSES = re.compile(
    r"^(?:CrossEntropyLoss|cross_entropy|BCEWithLogitsLoss|BCEWithLogits|binary_cross_entropy_with_logits"
    r"|(?:sparse_)?(?:softmax|sigmoid)_cross_entropy(?:_with_logits)?|SoftmaxCrossEntropyWithLogits"
    r"|MultiLabelSoftMarginLoss|sigmoid_focal_loss)$"
)
_CHANCE_LOSSES = re.compile(r"^(?:BCELoss|binary_cross_entropy|NLLLoss|nll_loss)$")
_SQUASHES = ("softmax", "sigmoid", "Softmax", "Sigmoid", "log_softmax", "LogSoftmax")
_CUTS = ("relu", "ReLU", "relu6", "ReLU6")


def last_layer_squashed(source: Script) -> Finding | None:
    """The layer of the classes ends in a softmax or sigmoid, and every loss of the program takes raw scores.

    `self.head = Dense(num_classes, activation="softmax")` in one file, `from_logits=True` in another.
    """
    for node in _activated(source, _SQUASHES):
        return at(source, node, "the output is a probability already, and the loss takes raw scores")
    return None


def last_layer_cut(source: Script) -> Finding | None:
    """The layer of the classes goes through a ReLU, and every loss of the program takes raw scores."""
    for node in _activated(source, _CUTS):
        return at(source, node, "scores of classes go through a ReLU: none can fall below zero")
    return None


def _activated(source: Script, activations: tuple[str, ...]) -> Iterator[ast.AST]:
    if not only_scores(source):
        return
    for owner in source.modules:
        if is_block(source, owner):
            continue
        heads = {n: made for n, made in held(owner) if _is_last(made)}
        for made in heads.values():
            given = keyword(made, "activation")
            word = given.value if isinstance(given, ast.Constant) else last_name(given) if given else ""
            if word in activations:
                yield made
        for function in (f for f in owner.body if f in source.forwards):
            for output in _returned(source, function):
                if _activation_of(owner, output, activations, set(heads)):
                    yield output


def is_block(source: Script, owner: ast.ClassDef) -> bool:
    """Other modules hold several of it: a part of their way, whatever its sizes are called."""
    made = [
        c
        for c in source.named(owner.name)
        for other in source.above(c)
        if other is not owner and isinstance(other, ast.ClassDef) and other in source.modules
    ]
    rounds = (ast.For, ast.ListComp, ast.GeneratorExp)
    return len(made) > 1 or any(isinstance(p, rounds) for c in made for p in source.above(c))


def only_scores(source: Script) -> bool:
    """The losses of the program take raw scores, all of them."""
    names = {last_name(c.func) for c in source.calls} | {
        n.attr for n in of(source.tree, ast.Attribute) if isinstance(n.ctx, ast.Load)
    }
    told = [k.value for c in source.calls for k in c.keywords if k.arg == "from_logits"]
    raw = any(_LOGIT_LOSSES.match(n) for n in names) or any(unparse(t) == "True" for t in told)
    chances = any(_CHANCE_LOSSES.match(n) for n in names) or any(unparse(t) == "False" for t in told)
    keras = [
        c
        for c in source.calls
        if re.match(r"(?:Sparse)?(?:Categorical|Binary)Crossentropy$", last_name(c.func))
    ]
    unsaid = any(keyword(c, "from_logits") is None for c in keras) or bool(
        re.search(r"['\"](?:sparse_)?(?:categorical|binary)_crossentropy", source.code)
    )
    return raw and not chances and not unsaid


def _is_last(made: ast.Call) -> bool:
    if not _LAYERS.match(last_name(made.func)):
        return False
    given = [*made.args[:2], *(k.value for k in made.keywords)]
    return any(_CLASSES.match(unparse(g)) for g in given)


def _returned(source: Script, function: Function) -> Iterator[ast.expr]:
    for output in source.output_of(function):
        guarded = any(isinstance(p, (ast.If, ast.IfExp)) for p in source.above(output))
        if not guarded:
            yield output


def _activation_of(owner: ast.ClassDef, output: ast.expr, names: tuple[str, ...], heads: set[str]) -> bool:
    """`self.relu(self.head(x))`, `F.softmax(self.head(x), dim=1)`, `torch.sigmoid(self.out(h))`"""
    if not isinstance(output, ast.Call):
        return False
    made = dict(held(owner))
    name = last_name(output.func)
    if unparse(output.func) == f"self.{name}" and name in made:
        name = last_name(made[name].func)
    if name not in names:
        return False
    inner = output.args[0] if output.args else getattr(output.func, "value", None)
    return any(
        isinstance(n, ast.Call) and unparse(n.func) in {f"self.{h}" for h in heads}
        for n in (walk(inner) if inner is not None else ())
    )


# ------------------------------------------------------------------------------------- chances into the loss


def chances_into_scores(source: Script) -> Finding | None:
    """A softmax is taken of what then goes, whole or in parts, into a cross-entropy of raw scores.

    `logits = s.softmax(dim=1)`, `start, end = logits.unbind(-1)`, then `ce(start, y)` in one function.
    """
    criteria = {n for n, kind in source.criteria.items() if kind in ("crossentropyloss", "bcewithlogitsloss")}
    for function in of(source.tree, ast.FunctionDef):
        for call in of(function, ast.Call):
            name = last_name(call.func)
            takes = unparse(call.func) in criteria or name in (
                "cross_entropy",
                "binary_cross_entropy_with_logits",
            )
            if not takes or not call.args:
                continue
            if (made := _squashed(source, call.args[0])) is not None and made is not call.args[0]:
                return at(source, made, "these are probabilities, and the loss takes raw scores")
    return None


_PARTS = (
    "unbind",
    "chunk",
    "split",
    "squeeze",
    "view",
    "reshape",
    "float",
    "transpose",
    "permute",
    "flatten",
)


def _squashed(source: Script, node: ast.expr, depth: int = 5) -> ast.expr | None:
    if depth == 0:
        return None
    if isinstance(node, (ast.Name, ast.Subscript)):
        given = flow(source).given(node) if isinstance(node, ast.Name) else None
        inner = given.value if given is not None else getattr(node, "value", None)
        return _squashed(source, inner, depth - 1) if inner is not None else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in ("softmax", "sigmoid"):
            return node
        if node.func.attr in _PARTS:
            return _squashed(source, node.func.value, depth - 1)
    return None
