"""The weights that are kept as the best are others than those whose figure chose them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse
from ...readers.script import last_name, receiver
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at
from .choices import choices

_AVERAGE = re.compile(r"(?i)(?:^|[._])(?:ema|swa|avg|averaged?|shadow)(?:[._]|$)")
_NETWORK = re.compile(r"(?i)ema|swa|avg|net|model|params|weights|shadow")
# the averages are put in the model's place for a time
_SWAPS = re.compile(r"(?i)swap|apply_shadow|apply_ema|store|restore|copy_to|average_param|ema_scope|use_ema")


def kept_beside_scored(source: Script) -> Finding | None:
    """`acc = score(state.ema)`, and `if acc > best` writes `state.params`.

    Told of an average of weights and what it is an average of alone, where one of both stands in each place.
    """
    if any(_SWAPS.search(last_name(c.func)) for c in source.calls if not flow(source).called(c)):
        return None
    for choice in choices(source):
        scored = [unparse(a) for a in _asked_of(source, choice.new)]
        kept = [*_written(choice.files), *(unparse(w) for _, v in choice.kept for w in _weights(v))]
        if len(scored) != 1 or not kept or not source.loops_around(choice.node):
            continue
        mine, averages = _AVERAGE.search(scored[0]) is not None, [bool(_AVERAGE.search(k)) for k in kept]
        if all(a is not mine for a in averages):
            what = "an average of weights" if mine else "the weights themselves"
            why = f"{what} `{scored[0]}` gave the figure, and `{kept[0]}` is kept as the best"
            return at(source, choice.files[0] if choice.files else choice.kept[0][1], why)
    return None


def _asked_of(source: Script, figure: ast.expr) -> Iterator[ast.expr]:
    """The weights or the network that the call which gives a figure is handed first."""
    while isinstance(figure, ast.Subscript):
        figure = figure.value
    for given in flow(source).all_given(figure) if isinstance(figure, (ast.Name, ast.Attribute)) else ():
        value = given.value
        while isinstance(value, ast.Subscript):
            value = value.value
        if not isinstance(value, ast.Call) or not flow(source).called(value):
            continue
        parts = [a for a in value.args if isinstance(a, (ast.Name, ast.Attribute))]
        yield from [a for a in parts if _NETWORK.search(unparse(a))][:1]


def _written(files: tuple[ast.Call, ...]) -> Iterator[str]:
    for call in files:
        yield from (unparse(w) for w in _weights(call))


def _weights(node: ast.AST) -> Iterator[ast.expr]:
    for call in of(node, ast.Call):
        if last_name(call.func) == "state_dict" and (owner := receiver(call)) is not None:
            yield owner.value if isinstance(owner, ast.Attribute) and owner.attr == "module" else owner
        elif last_name(call.func) == "to_bytes" and call.args:
            yield call.args[0]
