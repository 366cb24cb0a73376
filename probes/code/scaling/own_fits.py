"""Parts that scripts scale by figures of their own, or leave as they are where the others are scaled."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..shared.checks import at
from ..shared.rows import rows_of
from ..shared.sides import side
from ..splits.rows_met import learned_from, names_figures, reaches_inputs, sided

_FITS = ("fit", "fit_transform", "adapt", "partial_fit")
_DRAWS = re.compile(r"(?i)aug|random|noise|jitter|shuffle|mix|perm|sample|balance|weight|drop")
_SCALES = re.compile(r"(?i)scal|norm|standard|whiten|transform|prepare|preprocess|clean|encode|featur")


def own_fits(source: Script) -> ast.AST | None:
    """`scaler.fit_transform(part)` in a function of every part, or figures of a held-out part."""
    for function in source.of(ast.FunctionDef):
        names = [a.arg for a in function.args.args]
        for call in of(function, ast.Call):
            about = learned_from(source, call)
            if about is None or not (
                last_name(call.func) in _FITS or _own(source, call) or _of_a_slice(source, call, about)
            ):
                continue
            root = next((n for n in of(about, ast.Name) if n.id in names), None)
            if (
                root is None
                or source.function_around(call) is not function
                or _in_branch(source, call, function)
            ):
                continue
            if _handed_each(source, function, names.index(root.id), names[:1] == ["self"]):
                return call
    return _of_one_part(source)


def _own(source: Script, call: ast.Call) -> bool:
    """`self.fit_scale(rows)`: a method of the script that learns figures."""
    return bool(flow(source).called(call)) and names_figures(source, call)


def _of_a_slice(source: Script, call: ast.Call, about: ast.expr) -> bool:
    """`x - x[a:b].mean(0)`: the mean of a part is taken off at once."""
    outer = source.parents.get(call)
    cut = isinstance(about, ast.Subscript) and isinstance(about.slice, ast.Slice)
    return cut and isinstance(outer, ast.BinOp) and isinstance(outer.op, ast.Sub) and outer.right is call


def _in_branch(source: Script, node: ast.AST, function: Function) -> bool:
    for parent in source.above(node):
        if parent is function:
            return False
        if isinstance(parent, (ast.If, ast.IfExp, ast.Try)):
            return True
    return False


def _handed_each(source: Script, function: Function, place: int, method: bool) -> bool:
    """Training data and held-out data go through it, by the names of what is handed over or of who calls."""
    found: set[bool | None] = set()
    for call in flow(source).calls_of(function):
        at_ = place - 1 if method and isinstance(call.func, ast.Attribute) else place
        if 0 <= at_ < len(call.args):
            told = side(unparse(call.args[at_]))
            found.add(told if told is not None else side(source.function_name(call)))
            found |= {p.learns for p in sided(source) if p.node is source.statement(call)}
    # `make = self.to_dataset; make(train)`
    for given in source.of(ast.Assign):
        if isinstance(given.value, ast.Attribute) and given.value.attr == function.name:
            name = unparse(given.targets[0])
            found |= {side(unparse(c.args[0])) for c in source.calls if unparse(c.func) == name and c.args}
    return {True, False} <= found


def _of_one_part(source: Script) -> ast.AST | None:
    """`m, d = moments(test_rows)` that scale the test rows, where training has figures of its own."""
    parts = sided(source)
    mine = [p for p in parts if p.learns]
    held = [p for p in parts if not p.learns and not p.rows.whole]
    for call in source.calls:
        told = held and (last_name(call.func) in _FITS or _own(source, call))
        about = learned_from(source, call) if told else None
        found = rows_of(source).rows(about) if about is not None else None
        if found is None or not found.rows or not reaches_inputs(source, call):
            continue
        for part in held:
            apart = [m for m in mine if m.rows.table == part.rows.table and not m.rows.rows & found.rows]
            if part.rows.table == found.table and found.rows <= part.rows.rows and apart:
                return call
    return None


# ----------------------------------------------------------------------------------- one part left as it is


def one_part_left(source: Script) -> Finding | None:
    """`Windows(scale(train))` and `Windows(scale(val))`, and then `Windows(test)`.

    Asked of at least three parts, or of two where the name of the step tells that it scales. What draws at
    random is for training alone.
    """
    made: dict[str, list[tuple[bool, ast.Call]]] = defaultdict(list)
    for learns, call in _made_for_parts(source):
        if call.args and last_name(call.func) in source.classes:
            made[last_name(call.func)].append((learns, call))
    for calls in made.values():
        through = {last_name(c.args[0].func) for _, c in calls if isinstance(c.args[0], ast.Call)}
        if len(through) != 1 or {True, False} - {learns for learns, _ in calls}:
            continue
        step = next(iter(through))
        plain = [c for _, c in calls if isinstance(c.args[0], (ast.Name, ast.Attribute))]
        trained = [c for learns, c in calls if learns and isinstance(c.args[0], ast.Call)]
        if (
            len(plain) != 1
            or not trained
            or _DRAWS.search(step)
            or (len(calls) < 3 and not _SCALES.search(step))
        ):
            continue
        held = [c for learns, c in calls if c is plain[0] and not learns]
        if held and step in flow(source).functions and not _stepped(source, plain[0].args[0], step):
            return at(source, plain[0], f"`{step}` is applied to the other parts and not to this one")
    return None


def _made_for_parts(source: Script) -> Iterator[tuple[bool, ast.Call]]:
    """Calls that make data, with the side that the name they are given to, or the function, tells."""
    for node in source.of(ast.Assign, ast.Return):
        if node.value is None:
            continue
        name = unparse(node.targets[0]) if isinstance(node, ast.Assign) else source.function_name(node)
        told = side(name)
        if told is None:
            told = side(source.function_name(node)) if isinstance(node, ast.Assign) else None
        if told is not None:
            yield from ((told, c) for c in of(node.value, ast.Call))


def _stepped(source: Script, node: ast.expr, step: str) -> bool:
    """What the name stands for went through the step before."""
    for _ in range(4):
        given = flow(source).given(node)
        if given is None:
            return bool(flow(source).arguments(node))  # what callers hand over is not known
        if any(last_name(c.func) == step for c in of(given.value, ast.Call)):
            return True
        if not isinstance(given.value, (ast.Name, ast.Attribute)):
            return False
        node = given.value
    return False
