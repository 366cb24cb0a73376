"""Values that a model's layers make and that reach no output, no test and nothing that does, in scripts.

A name is alive where a `return`, a test, or any statement that is not a plain assignment reads it, or where
the value of a name that is alive is made of it. What only makes itself anew (`h = self.act(h)`) does not.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator

from ...readers._tree import names_in, of, unparse, walk
from ...readers.script import keyword, last_name
from ...registry import Finding
from ...scripts.syntax import Function, Script
from ..shared.checks import at
from ..shared.nodes import raises
from .branches import methods_of_modules
from .wiring import held

_OPENED = {"locals", "vars", "eval", "exec"}
_WATCHED = re.compile(r"(?i)quant|observ|stub|hook|profil|warm_?up")
_SIZES = ("shape", "dtype", "ndim")
_FILLS = ("append", "extend", "insert", "add")
_TAKES_OUT = ("pop", "popleft", "clear")


def value_reaches_nothing(source: Script) -> Finding | None:
    """A layer's output is handed on to names that nothing reads; or kept in a list that nothing takes from.

    Looked at: what modules compute with, and functions that put a Keras model together.
    """
    for function, layers in _builders(source):
        if names_in(function) & _OPENED or raises(function) or _WATCHED.search(unparse(function)):
            continue
        alive = _alive(function)
        for node in walk(function):
            if isinstance(node, ast.Assign) and (names := _targets(node)):
                told = [n for n in names if not n.startswith("_")]
                if told and not alive & set(names) and _made_by_layer(source, node.value, layers):
                    return at(
                        source,
                        node,
                        f"{told[-1]} is computed in the model, and nothing of it reaches the output",
                    )
            elif (filled := _filled(function, node)) is not None and filled[0] not in alive:
                made = [a.value for a in of(function, ast.Assign) if filled[1] & set(_targets(a))]
                if not any(_made_by_layer(source, v, layers) for v in made) or filled[0].startswith("_"):
                    continue
                return at(source, node, f"what is kept in {filled[0]} is never taken from it")
    return None


def last_value_unread(source: Script) -> Finding | None:
    """`x = self.down(x)` below all that reads `x`: the way ends there, though the name was read before.

    Also `x = nn.Conv(8, (1, 1))(x)` of flax. Loops are left aside, where a later round may read it.
    """
    for function in source.passes:
        owner = source.parents.get(function)
        if not isinstance(owner, ast.ClassDef) or owner not in source.modules:
            continue
        layers = {n for n, made in held(owner) if last_name(made.func)[:1].isupper()}
        if names_in(function) & _OPENED or raises(function) or _WATCHED.search(unparse(function)):
            continue
        inner = {n for f in of(function, ast.FunctionDef, ast.Lambda) if f is not function for n in walk(f)}
        hidden = {n.id for n in inner if isinstance(n, ast.Name)}
        for node in of(function, ast.Assign):
            names = _targets(node)
            if len(names) != 1 or node in inner or names[0] in hidden or source.loops_around(node):
                continue
            if not _by_one_layer(source, node.value, layers):
                continue
            reads = [n for n in of(function, ast.Name) if n.id == names[0] and isinstance(n.ctx, ast.Load)]
            end = node.end_lineno or node.lineno
            beside = [r for r in reads if node.lineno <= r.lineno <= end]
            if reads and len(beside) < len(reads) and all(r.lineno <= end for r in reads):
                why = f"what this layer makes of {names[0]} is read by nothing that follows"
                return at(source, node, why)
    return None


def _by_one_layer(source: Script, value: ast.expr, layers: set[str]) -> bool:
    """`self.down(x)`, or `nn.Conv(8, (1, 1))(x)` of a layer that is made where it is asked."""
    if not isinstance(value, ast.Call):
        return False
    if isinstance(value.func, ast.Call):
        made = value.func.func
        flax = "jax" in source.frameworks and unparse(made).startswith("nn.")
        return flax and last_name(made)[:1].isupper()
    name = re.fullmatch(r"self\.(\w+)", unparse(value.func))
    return name is not None and name[1] in layers


def _builders(source: Script) -> Iterator[tuple[Function, set[str]]]:
    """Functions that compute with layers, and the attributes that hold layers there."""
    for owner, function in methods_of_modules(source):
        layers = {n for n, made in held(owner) if last_name(made.func)[:1].isupper()}
        yield function, layers
    if "keras" in source.text:
        for function in source.of(ast.FunctionDef):
            if source.class_around(function) is None and any(_keras_layer(c) for c in of(function, ast.Call)):
                yield function, set()


def _keras_layer(call: ast.Call) -> bool:
    """`layers.Dense(8)(x)`"""
    return isinstance(call.func, ast.Call) and re.match(
        r"(?:tf\.)?(?:keras\.)?(?:layers|L)\.\w+$", unparse(call.func.func)
    ) is not None  # fmt: skip


def _made_by_layer(source: Script, value: ast.expr, layers: set[str]) -> bool:
    """A layer of self, or one of Keras, makes the value, or a function of the script that calls some."""
    for call in of(value, ast.Call):
        name = re.match(r"self\.(\w+)", unparse(call.func))
        if (name and name[1] in layers) or _keras_layer(call):
            return True
        if isinstance(call.func, ast.Name):
            made = [f for f in source.of(ast.FunctionDef) if f.name == call.func.id]
            if len(made) == 1 and any(_keras_layer(c) for c in of(made[0], ast.Call)):
                return True
    return False


def _targets(node: ast.Assign) -> list[str]:
    """The names that an assignment gives values; none where it also stores elsewhere."""
    parts = [e for t in node.targets for e in (t.elts if isinstance(t, (ast.Tuple, ast.List)) else [t])]
    parts = [p.value if isinstance(p, ast.Starred) else p for p in parts]
    return (
        [p.id for p in parts if isinstance(p, ast.Name)]
        if all(isinstance(p, ast.Name) for p in parts)
        else []
    )


def _alive(function: Function) -> set[str]:
    feeds: dict[str, set[str]] = defaultdict(set)
    alive: set[str] = set()
    inner = {n for f in of(function, ast.FunctionDef, ast.Lambda) if f is not function for n in walk(f)}
    alive |= {n.id for n in inner if isinstance(n, ast.Name)}
    alive |= {n for s in of(function, ast.Global, ast.Nonlocal) for n in s.names}
    for node in walk(function):
        if not isinstance(node, ast.stmt) or node is function or node in inner:
            continue
        if isinstance(node, ast.Assign) and (names := _targets(node)):
            for name in names:
                feeds[name] |= names_in(node.value)
        elif isinstance(node, (ast.AnnAssign, ast.AugAssign)) and isinstance(node.target, ast.Name):
            feeds[node.target.id] |= names_in(node.value) if node.value is not None else set()
        elif isinstance(node, ast.For):
            for name in names_in(node.target):
                feeds[name] |= names_in(node.iter)
        elif (filled := _filled(function, node)) is not None:
            feeds[filled[0]] |= filled[1]
        elif not _takes_out(node):
            alive |= _read(node)
        alive |= {n.target.id for n in of(node, ast.NamedExpr)}
    waiting = list(alive)
    while waiting:
        for name in feeds.pop(waiting.pop(), ()):
            if name not in alive:
                alive.add(name)
                waiting.append(name)
    return alive


def _filled(function: Function, node: ast.AST) -> tuple[str, set[str]] | None:
    """`kept.append(x)` of a list that the function itself starts empty."""
    call = node.value if isinstance(node, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return None
    name = call.func.value
    if call.func.attr not in _FILLS or not isinstance(name, ast.Name) or not call.args:
        return None
    started = [a.value for a in of(function, ast.Assign) if name.id in _targets(a)]
    if len(started) == 1 and isinstance(started[0], ast.List) and not started[0].elts:
        return name.id, {n for a in call.args for n in names_in(a)}
    return None


def _takes_out(node: ast.stmt) -> bool:
    """`kept.pop()` whose value nobody takes."""
    call = node.value if isinstance(node, ast.Expr) else None
    return (
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and isinstance(call.func.value, ast.Name)
        and call.func.attr in _TAKES_OUT
    )


def _read(node: ast.stmt) -> set[str]:
    """The names that a statement itself reads, without the inputs of a Keras model."""
    own: list[ast.AST] = []
    waiting: list[ast.AST] = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, ast.stmt) and part is not node:
            continue
        own.append(part)
        waiting += list(ast.iter_child_nodes(part))
    calls = [c for c in own if isinstance(c, ast.Call) and last_name(c.func) == "Model"]
    inputs = {n for c in calls for a in _inputs(c) for n in walk(a)}
    if isinstance(node, ast.If):  # a test of its size alone does not make it count
        inputs |= {n.value for n in own if isinstance(n, ast.Attribute) and n.attr in _SIZES}
    return {n.id for n in own if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and n not in inputs}


def _inputs(call: ast.Call) -> list[ast.expr]:
    given = keyword(call, "inputs")
    return (
        [given]
        if given is not None
        else call.args[:1]
        if len(call.args) > 1 or keyword(call, "outputs")
        else []
    )
