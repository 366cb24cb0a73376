"""A stack inside a module that ends in a ReLU, and what it gives is the module's answer."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..evaluation.units_unlike import scaled_truths
from ..loss.outputs import is_block, only_scores
from ..shared.checks import at
from .wiring import held

_CUTS = ("ReLU", "ReLU6")
_LAST = re.compile(r"^(?:Linear|Dense|LazyLinear|Conv[123][dD])$")
_CLASSES = re.compile(
    r"(?i)^(?:\w+\.)*(?:n_?|num_?|nb_?)?(?:classes|labels|tags|vocab(?:_?size)?|cls|tokens|kinds)$"
)
# what leaves each value as it is, or only adds values up
_KEEPS = frozenset(("squeeze", "view", "reshape", "flatten", "float", "permute", "transpose", "contiguous"))
_ADDS = frozenset(("index_add", "index_add_", "scatter_add", "scatter_add_", "sum", "mean", "unsqueeze"))


def stack_cut(source: Script) -> Finding | None:
    """`self.ff = Sequential(..., Linear(h, vocab), ReLU())`, returned by the `forward` of its module.

    Of classes where every loss takes raw scores; of a single number where its target is standardised.
    """
    scores = only_scores(source)
    signed = next(iter(scaled_truths(source)), None) is not None
    if not scores and not signed:
        return None
    for owner in source.modules:
        stacks = {name: made for name, made in held(owner) if _ends_cut(made, scores, signed)}
        if not stacks or is_block(source, owner):
            continue
        for function in (f for f in owner.body if f in source.forwards and isinstance(f, ast.FunctionDef)):
            for call in _answers(source, function):
                name = unparse(call.func).removeprefix("self.")
                if name in stacks:
                    why = "the answer of the model goes through a ReLU, and the loss needs values below zero"
                    return at(source, stacks[name].args[-1], why)
    return None


def _ends_cut(made: ast.Call, scores: bool, signed: bool) -> bool:
    if last_name(made.func) not in ("Sequential", "SequentialCell") or len(made.args) < 2:
        return False
    before, end = made.args[-2:]
    if not (isinstance(before, ast.Call) and isinstance(end, ast.Call)) or last_name(end.func) not in _CUTS:
        return False
    width = before.args[1] if len(before.args) > 1 else None
    if width is None or not _LAST.match(last_name(before.func)):
        return False
    single = isinstance(width, ast.Constant) and width.value == 1
    return (scores and _CLASSES.match(unparse(width)) is not None) or (signed and single)


def _answers(source: Script, function: Function) -> Iterator[ast.Call]:
    """The calls whose values a function returns; of a tuple those of the first element."""
    mine = flow(source)
    for back in of(function, ast.Return):
        value = back.value
        if isinstance(value, ast.Tuple) and value.elts:
            value = value.elts[0]
        for _ in range(8):
            if isinstance(value, ast.Name):
                value = mine.whole_given(value)
            if not isinstance(value, ast.Call):
                break
            name = last_name(value.func)
            if name in _KEEPS and isinstance(value.func, ast.Attribute):
                value = value.func.value
            elif name in _ADDS and isinstance(value.func, ast.Attribute):
                placed = name.startswith(("index", "scatter")) and value.args
                value = value.args[-1] if placed else value.func.value
            else:
                yield value
                break
