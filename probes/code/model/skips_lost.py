"""Skips that a network collects on its way down and never reads; softmaxes between its layers."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import names_in, of, unparse
from ...readers.script import keyword, last_name
from ...registry import Finding
from ...scripts.syntax import Function, Script
from ..shared.checks import at

_LAYERS = re.compile(r"^(?:Separable|Depthwise)?Conv\w*$|^(?:Dense|Linear|BatchNorm\w*)$")
_OPENS = ("zip", "reversed", "enumerate", "list", "tuple")


def skip_gathered_and_unread(source: Script) -> Finding | None:
    """`skips.append(x)`, then `for f, s in zip(widths, skips[::-1])` whose body never reads `s`."""
    for function in source.of(ast.FunctionDef):
        kept = {
            unparse(c.func.value)
            for c in of(function, ast.Call)
            if isinstance(c.func, ast.Attribute) and c.func.attr == "append" and len(c.args) == 1
            if isinstance(c.args[0], ast.Name)
        }
        if not kept or not any(_LAYERS.match(last_name(c.func)) for c in source.calls):
            continue
        for loop in of(function, ast.For):
            for name, over in _pairs(loop.target, loop.iter):
                if _whole(over) not in kept or name.startswith("_"):
                    continue
                read = {n.id for s in loop.body for n in of(s, ast.Name) if isinstance(n.ctx, ast.Load)}
                if name not in read and _passes_on(loop):
                    why = f"`{name}` goes through what was kept on the way down, and nothing reads it"
                    return at(source, loop, why)
    return None


def _pairs(target: ast.expr, over: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """The names of a loop, each with what it goes through."""
    if isinstance(over, ast.Call) and last_name(over.func) == "zip" and isinstance(target, ast.Tuple):
        for one, given in zip(target.elts, over.args, strict=False):
            yield from _pairs(one, given)
    elif isinstance(over, ast.Call) and last_name(over.func) == "enumerate" and isinstance(target, ast.Tuple):
        if over.args and len(target.elts) == 2:
            yield from _pairs(target.elts[1], over.args[0])
    elif isinstance(target, ast.Name):
        yield target.id, over


def _whole(node: ast.expr) -> str:
    """The list itself, of `reversed(skips)`, `skips[::-1]`, `skips[-2::-1]`."""
    while True:
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            node = node.value
        elif isinstance(node, ast.Call) and last_name(node.func) in _OPENS and len(node.args) == 1:
            node = node.args[0]
        else:
            return unparse(node)


def _passes_on(loop: ast.For) -> bool:
    """Each round gives one name anew of what it was: `x = up(x)`."""
    return any(
        isinstance(n.targets[0], ast.Name) and n.targets[0].id in names_in(n.value)
        for s in loop.body
        for n in of(s, ast.Assign)
    )


def softmax_in_each_round(source: Script) -> Finding | None:
    """`for _ in range(2): x = Conv2D(n, 3)(x); x = Activation("softmax")(x)`: the next layer gets shares."""
    for loop in source.of(ast.For):
        function = source.function_around(loop)
        if function is None or (function in source.forwards and _attends(function)):
            continue
        for node in of(loop, ast.Assign):
            target, call = node.targets[0], node.value
            if not isinstance(target, ast.Name) or not isinstance(call, ast.Call) or not call.args:
                continue
            if unparse(call.args[0]) != target.id and not _soft_layer(call):
                continue
            if not (_is_softmax(call) or _soft_layer(call)):
                continue
            layers = [
                c
                for s in loop.body
                for c in of(s, ast.Call)
                if isinstance(c.func, ast.Call) and _LAYERS.match(last_name(c.func.func))
                if c.args and unparse(c.args[0]) == target.id
            ]
            if layers and not _attends(function):
                return at(
                    source, node, "a softmax stands between the layers: each gets shares that sum to one"
                )
    return None


def _is_softmax(call: ast.Call) -> bool:
    """`Activation("softmax")(x)`, `Softmax()(x)`."""
    made = call.func
    if not isinstance(made, ast.Call):
        return False
    told = unparse(made.args[0]).strip("'") if made.args else ""
    return last_name(made.func) == "Softmax" or (last_name(made.func) == "Activation" and told == "softmax")


def _soft_layer(call: ast.Call) -> bool:
    """`Dense(64, activation="softmax")(x)`."""
    made = call.func
    if not isinstance(made, ast.Call) or not _LAYERS.match(last_name(made.func)):
        return False
    given = keyword(made, "activation")
    return given is not None and unparse(given).strip("'") == "softmax"


def _attends(function: Function) -> bool:
    return re.search(r"(?i)attention|attend|gate|expert|routing|query", unparse(function)) is not None
