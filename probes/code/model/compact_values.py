"""Values that modules of flax compute and lose, and gradients by an argument that nothing reads."""

from __future__ import annotations

import ast
from itertools import pairwise

from ...readers._tree import names_in, of, unparse, walk
from ...readers.script import all_arguments, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..shared.checks import at

_NOTES = ("sow", "perturb", "variable", "put_variable")


def compact_value_lost(source: Script) -> Finding | None:
    """`SqueezeExcite()(y)` whose answer nothing takes, or `y = nn.Conv(...)(x)` replaced unread.

    Of methods of flax that make their layers where they ask them; other modules are followed by their layers.
    """
    if not {"jax", "keras", "tensorflow"} & set(source.frameworks):
        return None
    flax = [f for f in source.forwards if any(last_name(d) == "compact" for d in f.decorator_list)]
    for function in flax if "jax" in source.frameworks else _of_keras(source):
        for node in of(function, ast.Expr) if function in flax else ():
            if _layer(node.value):
                return at(source, node, "what this layer gives is thrown away")
        for body in _blocks(function):
            for first, second in pairwise(body):
                if (lost := _replaced(first, second)) and (function in flax or _same_stream(first, second)):
                    return at(source, first, f"`{lost}` is given another value before anything reads it")
    return None


def _of_keras(source: Script) -> list[Function]:
    """Functions that let a stream through layers of Keras: `y = layers.Conv2D(8, 3)(x)`."""
    functions = source.of(ast.FunctionDef)
    return [f for f in functions if sum(_layer(n.value) for n in of(f, ast.Assign)) > 1]


def _layer(value: ast.expr) -> bool:
    """`nn.Dense(8)(x)`, `Block(width)(x)`: a layer that is made and asked at once."""
    made = value.func if isinstance(value, ast.Call) else None
    name = last_name(made.func) if isinstance(made, ast.Call) else ""
    return name[:1].isupper() and name not in _NOTES


def _blocks(function: Function) -> list[list[ast.stmt]]:
    held = [getattr(n, field, None) for n in walk(function) for field in ("body", "orelse")]
    return [b for b in held if isinstance(b, list)]


def _replaced(first: ast.stmt, second: ast.stmt) -> str:
    """The name that a layer's answer was given and that the next statement gives another value unread."""
    if not (isinstance(first, ast.Assign) and isinstance(second, ast.Assign)):
        return ""
    one, other = first.targets[0], second.targets[0]
    if not (isinstance(one, ast.Name) and isinstance(other, ast.Name) and one.id == other.id):
        return ""
    asked = any(isinstance(c.func, ast.Call) for c in of(first.value, ast.Call))
    return one.id if asked and one.id not in names_in(second.value) else ""


def _same_stream(first: ast.stmt, second: ast.stmt) -> bool:
    """The second takes nothing but what the first one took: else the first was tried and left."""
    calls = [s.value for s in (first, second) if isinstance(s, ast.Assign) and isinstance(s.value, ast.Call)]
    read = [{n for a in all_arguments(c) for n in names_in(a)} for c in calls]
    return len(read) == 2 and bool(read[1]) and read[1] <= read[0]


def gradient_by_nothing(source: Script) -> Finding | None:
    """`value_and_grad(loss_fn)(state.params)` where `loss_fn(params)` never reads `params`: zeros."""
    if "jax" not in source.frameworks:
        return None
    for call in source.named("grad", "value_and_grad"):
        told = [k for k in call.keywords if k.arg == "argnums"]
        if not call.args or told or not isinstance(call.args[0], (ast.Name, ast.Lambda)):
            continue
        given = call.args[0]
        found = [given] if isinstance(given, ast.Lambda) else flow(source).functions.get(given.id, [])
        for function in found:
            names = [a.arg for a in function.args.args]
            body = [function.body] if isinstance(function, ast.Lambda) else function.body
            if not names or names[0] in ("self", "model") or len(found) != 1:
                continue
            read = {n.id for s in body for n in of(s, ast.Name)} if body else set()
            if names[0] not in read and not any(n in read for n in ("locals", "vars")):
                why = f"gradients are taken by `{names[0]}`, which the loss does not read"
                return at(source, function, f"{why}: `{unparse(call)}` gives zeros")
    return None
