"""Orders of samples in scripts that are counted up and not drawn: `order = np.arange(len(x))`."""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_in, of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.syntax import Script
from ..shared.checks import at, is_evaluation
from ..shared.sides import side

_MIXES = re.compile(
    r"(?i)shuffle(?!r)|permut|^sample\(|choice|train_test_split|sampler|kfold|random_index|random_split|argsort"
)
_IN_TURN = re.compile(
    r"(?i)hidden_?states?\b|init_?hidden|hidden = |stateful|carry|series|window|forecast|sliding|timestep"
    r"|seq_len|lookback"
)


def order_counted_up(source: Script) -> Finding | None:
    """Inputs and labels of a batch are picked by a piece of `np.arange(n)`, and nothing in the program mixes.

    Who makes an order of its own to pick by means to draw it. What keeps a state from batch to batch, and
    series, are left alone.
    """
    if source.loose or not source.trains or _IN_TURN.search(source.code) or _mixes(source):
        return None
    for made in source.of(ast.Assign):
        name = unparse(made.targets[0])
        if not isinstance(made.targets[0], ast.Name) or not _counts(made.value):
            continue
        function = source.function_around(made)
        if is_evaluation(source, made) or (function is not None and side(function.name) is False):
            continue
        scope = function or source.tree
        stored = [n for n in of(scope, ast.Name) if n.id == name and isinstance(n.ctx, ast.Store)]
        if all(_cuts(source, n, name) for n in stored if n is not made.targets[0]):
            arrays = _picked(scope, name)
            several = len(arrays) > 1 or _each_array(scope, arrays) or _taken_apart(scope, arrays)
            if several and not any(side(a) is False for a in arrays):
                return at(
                    source, made, f"`{name}` counts up: samples come in the stored order in every epoch"
                )
    return None


def _mixes(source: Script) -> bool:
    """Something puts samples out of order: a call of a library, an option, numbers drawn to pick rows by.

    How the program calls its own functions says nothing, nor do numbers that are drawn for another end.
    """
    own = {f.name for f in source.of(ast.FunctionDef)} | set(source.classes)
    for call in source.calls:
        name = last_name(call.func)
        if name not in own and _DRAWS.search(name):
            statement = source.statement(call)
            given = statement.targets if isinstance(statement, ast.Assign) else []
            names = {n for t in given for n in _bases(t)}
            if not names or any(names & _within(s.slice) for s in source.of(ast.Subscript)):
                return True
        elif name not in own and _MIXES.search(f"{name}("):
            return True
        if any(k.arg is not None and _MIXES.search(k.arg) for k in call.keywords):
            return True
    return any(_MIXES.search(last_name(b)) for c in source.of(ast.ClassDef) for b in c.bases)


def _within(node: ast.expr) -> set[str]:
    return {unparse(n) for n in of(node, ast.Name, ast.Attribute)}


def _bases(target: ast.expr) -> set[str]:
    """The names that an assignment fills: `j`, `j[k]`, `a, b`."""
    if isinstance(target, ast.Subscript):
        return _bases(target.value)
    if isinstance(target, (ast.Tuple, ast.List)):
        return {n for e in target.elts for n in _bases(e)}
    return {unparse(target)}


_DRAWS = re.compile(r"(?i)^rand_?int$|^integers$")


def _taken_apart(scope: ast.AST, arrays: set[str]) -> bool:
    """`u, i = pairs[rows].T`: inputs and labels are columns of one array."""
    return any(
        isinstance(t, ast.Tuple) and any(unparse(s.value) in arrays for s in of(n.value, ast.Subscript))
        for n in of(scope, ast.Assign)
        for t in n.targets
    )


def _counts(value: ast.expr) -> bool:
    """`np.arange(n)`, `list(range(n))`, `np.array(range(n))`."""
    if not isinstance(value, ast.Call) or len(value.args) != 1:
        return False
    if last_name(value.func) in ("list", "array", "asarray", "tensor"):
        return isinstance(value.args[0], ast.Call) and last_name(value.args[0].func) == "range"
    return last_name(value.func) == "arange"


def _cuts(source: Script, target: ast.Name, name: str) -> bool:
    """`order = order[: steps * size]`: still the same order."""
    given = source.statement(target)
    value = given.value if isinstance(given, ast.Assign) else None
    while isinstance(value, ast.Call) and last_name(value.func) == "reshape":
        value = value.func.value if isinstance(value.func, ast.Attribute) else None
    return (
        isinstance(value, ast.Subscript)
        and unparse(value.value) == name
        and isinstance(value.slice, ast.Slice)
    ) or (value is not None and unparse(value) == name)


def _each_array(scope: ast.AST, arrays: set[str]) -> bool:
    """`tuple(array[rows] for array in arrays)`"""
    loops = [g for n in of(scope, ast.GeneratorExp, ast.ListComp) for g in n.generators]
    return bool(arrays) and any(arrays <= names_in(g.target) for g in loops)


def _picked(scope: ast.AST, name: str) -> set[str]:
    """The arrays that pieces of an order pick rows of."""

    def piece(node: ast.expr) -> bool:
        cut = any(
            isinstance(s.slice, ast.Slice) and unparse(s.value) == name for s in of(node, ast.Subscript)
        )
        return cut or (isinstance(node, ast.Name) and node.id in rows)

    rows: set[str] = set()
    rows |= {unparse(n.targets[0]) for n in of(scope, ast.Assign) if piece(n.value)} - {name}
    for loop in of(scope, ast.For):
        whole = isinstance(loop.iter, ast.Name) and loop.iter.id == name and len(names_in(loop.target)) == 1
        if piece(loop.iter) or whole:
            rows |= names_in(loop.target)
    picks = (s for s in of(scope, ast.Subscript) if isinstance(s.ctx, ast.Load) and piece(s.slice))
    return {unparse(s.value) for s in picks if unparse(s.value) != name}
