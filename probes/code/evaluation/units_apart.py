"""Answers and targets that an evaluation holds against each other in unlike units, or by another column.

Told by what is done: `v * s + m` with two plain figures, a function or method of the program that does it, a
scaler's `inverse_transform`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from ...readers._tree import names_in, of, unparse
from ...readers.script import last_name, receiver
from ...registry import Finding
from ...scripts.flow import flow, returns
from ...scripts.learning import takes_gradients
from ...scripts.syntax import Function, Script
from ..shared.checks import at

_PLAIN = (
    *(
        "asnumpy",
        "numpy",
        "cpu",
        "detach",
        "squeeze",
        "reshape",
        "view",
        "ravel",
        "flatten",
        "asarray",
        "array",
    ),
    *("astype", "float", "item", "tolist", "abs", "cat", "concatenate", "concat", "stack", "device_get"),
)
_LIBRARY = ("np", "torch", "tf", "ops", "jnp", "jax", "numpy", "mnp")
_INVERSE = ("inverse_transform", "denormalize", "denormalise", "unscale", "inverse_scale", "destandardize")
_ANSWERS = ("apply", "apply_fn", "predict", "forward", "predict_on_batch", "predict_step")


def truth_turned_alone(source: Script) -> Finding | None:
    """`truth = y * std + mean` held against `net(x)`, and training holds `net(x)` against `y`."""
    if source.loose:
        return None
    for node in source.of(ast.BinOp):
        function = source.function_around(node)
        if not isinstance(node.op, ast.Sub) or function is None or takes_gradients(source, function):
            continue
        if any(takes_gradients(source, loop) for loop in source.loops_around(node)):
            continue
        left, right = _end(source, node.left, 6), _end(source, node.right, 6)
        if left is None or right is None:
            continue
        (one, turned), (other, back) = left, right
        if {one, other} == {"answer", "given"} and turned != back and (turned if one == "given" else back):
            if not _turned_in_training(source):
                return at(source, node, "the targets are turned back to their unit, and the answers are not")
    return _another_column(source)


def answers_turned_back(source: Script) -> bool:
    """What a model gives is turned back by a mean and a deviation: `net(x) * std + mean`."""
    if not source.named("std", "nanstd") or source.named("min", "max"):
        return False
    for node in source.of(ast.BinOp, ast.Call):
        if (inner := _turned_back(source, node)) is not None:
            end = _end(source, inner, 6)
            if end is not None and end[0] == "answer":
                return True
    return False


def _end(source: Script, node: ast.expr, depth: int, turned: bool = False) -> tuple[str, bool] | None:
    """What a value is, "answer" of a model or "given", and whether it was turned back on the way."""
    if depth == 0:
        return None
    if isinstance(node, ast.Subscript):
        return _end(source, node.value, depth, turned)
    if isinstance(node, ast.Name):
        made = flow(source).all_given(node)
        if len(made) == 1 and not made[0].places:
            return _end(source, made[0].value, depth - 1, turned)
        return ("given", turned) if not made else None
    if (inner := _turned_back(source, node)) is not None:
        return _end(source, inner, depth - 1, True)
    if not isinstance(node, ast.Call):
        return None
    name, owner = last_name(node.func), receiver(node)
    if name in _PLAIN:
        library = owner is None or unparse(owner) in _LIBRARY
        part = node.args[0] if library and node.args else owner
        return _end(source, part, depth - 1, turned) if part is not None else None
    return ("answer", turned) if _is_answer(source, node, 3) else None


def _is_answer(source: Script, node: ast.Call, depth: int) -> bool:
    """A model is asked: `net(x)` of an object, `model.apply(params, x)`, a function that gives such."""
    name = last_name(node.func)
    own = flow(source).functions.get(name, [])
    if name in _ANSWERS and isinstance(node.func, ast.Attribute):
        return True
    if own and isinstance(node.func, ast.Name):
        ends = [r for f in own for r in returns(f)]
        calls = [r for r in ends if isinstance(r, ast.Call)]
        return (
            bool(ends)
            and depth > 0
            and len(calls) == len(ends)
            and all(_is_answer(source, c, depth - 1) for c in calls)
        )
    called = flow(source).called(node)
    return bool(called) and all(f in source.forwards for f in called)


def _turned_back(source: Script, node: ast.expr) -> ast.expr | None:
    """What is turned back: `v` of `v * s + m`, of `back(v)`, of `scaler.inverse_transform(v)`."""
    if isinstance(node, ast.BinOp):
        return _unscaled(node)
    if not isinstance(node, ast.Call) or not node.args:
        return None
    if last_name(node.func) in _INVERSE:
        return node.args[0]
    for function in flow(source).called(node) or flow(source).functions.get(last_name(node.func), []):
        if _unscales(function):
            return node.args[0]
    return None


def _unscaled(node: ast.BinOp) -> ast.expr | None:
    if not isinstance(node.op, ast.Add) or not isinstance(node.left, ast.BinOp):
        return None
    product = node.left
    if not isinstance(product.op, ast.Mult) or not _is_figure(product.right) or not _is_figure(node.right):
        return None
    return product.left if unparse(product.right) != unparse(node.right) else None


def _is_figure(node: ast.expr) -> bool:
    """A plain name, or an entry of it: `std`, `self.mean`, `scale.std[0]`."""
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    return isinstance(node, ast.Name)


def _unscales(function: Function) -> bool:
    """A function of one value that gives it back times one figure and plus another."""
    names = [a.arg for a in function.args.args if a.arg not in ("self", "cls")]
    for value in returns(function):
        if isinstance(value, ast.BinOp) and (inner := _unscaled(value)) is not None:
            if names and names[0] in names_in(inner):
                return True
    return False


def _turned_in_training(source: Script) -> bool:
    """Something is turned back where gradients are taken: what is learnt is in that unit."""
    for scope in source.of(ast.FunctionDef, ast.For, ast.While):
        if not takes_gradients(source, scope) and scope not in source.forwards:
            continue
        around = scope if isinstance(scope, ast.FunctionDef) else source.function_around(scope)
        nodes: list[ast.BinOp | ast.Call] = [*of(scope, ast.BinOp), *of(scope, ast.Call)]
        if any(_turned_back(source, n) is not None for n in nodes if source.function_around(n) is around):
            return True
    return False


# ------------------------------------------------------------------------------------- another column


def _another_column(source: Script) -> Finding | None:
    """Targets are column 0 of a scaled table, and answers are turned back by `mean[1]`, `std[1]`."""
    columns = dict(_target_columns(source))
    figures = list(_figures_by_column(source))
    if len(set(columns.values())) != 1:
        return None
    asked = next(iter(columns.values()))
    for node, given in figures:
        if asked != given:
            why = f"the targets are column {asked}, and answers turned back by figures of column {given}"
            return at(source, node, why)
    return None


def _target_columns(source: Script) -> Iterator[tuple[ast.AST, int]]:
    """The column of a table that is told: `x = t[i:i + n]`, `y = t[i + n:j, 0]`, or appended to lists."""
    for function in source.of(ast.FunctionDef):
        cuts = [s for s in of(function, ast.Subscript) if isinstance(s.ctx, ast.Load)]
        rows = {unparse(s.value) for s in cuts if isinstance(s.slice, ast.Slice)}
        for cut in cuts:
            parts = cut.slice.elts if isinstance(cut.slice, ast.Tuple) else []
            if len(parts) == 2 and isinstance(parts[0], ast.Slice) and unparse(cut.value) in rows:
                if isinstance(parts[1], ast.Constant) and type(parts[1].value) is int:
                    yield cut, parts[1].value


def _figures_by_column(source: Script) -> Iterator[tuple[ast.AST, int]]:
    """The column whose mean and deviation turn answers back, in an expression or as they are handed over."""
    for node in source.of(ast.BinOp):
        if _unscaled(node) is None or not isinstance(node.left, ast.BinOp):
            continue
        one, other = node.left.right, node.right
        if (column := _same_column(one, other)) is not None:
            yield node, column
    for call in source.calls:
        places = [a for a in call.args if isinstance(a, ast.Subscript)]
        for one, other in pairwise(places):
            column = _same_column(one, other)
            if column is None:
                continue
            for function in flow(source).called(call):
                names = [a.arg for a in function.args.args]
                start = 1 if names[:1] == ["self"] else 0
                put = {
                    names[call.args.index(a) + start]
                    for a in (one, other)
                    if call.args.index(a) + start < len(names)
                }
                turns = [n for n in of(function, ast.BinOp) if _unscaled(n) is not None]
                if any(put <= names_in(n) for n in turns):
                    yield call, column


def _same_column(one: ast.expr, other: ast.expr) -> int | None:
    if not isinstance(one, ast.Subscript) or not isinstance(other, ast.Subscript):
        return None
    places = [s.slice.value if isinstance(s.slice, ast.Constant) else None for s in (one, other)]
    told = places[0]
    return told if type(told) is int and places[0] == places[1] and unparse(one) != unparse(other) else None
