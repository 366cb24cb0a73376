"""MindSpore's graph mode: Python that runs once, when the graph is compiled, or that has no part in it.

What each construct does was tried out with MindSpore 2.10: a list on `self` that is appended to stays empty,
a counter stays as it was at compiling, gradients end at `asnumpy()`, and `try` is refused.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import names_in, of, unparse
from ...readers.script import last_name
from ...registry import Finding, View, probe
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..shared.checks import at, first, ok
from .steps import compiled

_GROWS = ("append", "extend", "insert", "add", "update", "pop", "clear", "setdefault", "appendleft")
_TO_PYTHON = ("asnumpy", "numpy", "tolist")
_NOT_DIFFERENTIATED = re.compile(
    r"(?i)eval|infer|predict|post_?proc|decod|metric|export|generat|TrainOneStep|optimi[sz]er|callback"
)


@probe()
def lost_in_graph(view: View) -> Finding:
    """MindSpore: what is compiled to a graph takes values to NumPy, keeps state in Python, or uses `try`.

    Counts where graph mode is asked for, or `jit`. Left aside: cells that are not differentiated (of
    evaluation, by their name), what is only printed, helpers that `constexpr` runs at compiling on purpose.
    """
    return first(view, _lost, "the scripts hold no model that is compiled to a graph")


def _lost(source: Script) -> Finding | None:
    if "mindspore" not in source.frameworks or source.loose:
        return None
    functions = [f for f in compiled(source) if isinstance(f, (ast.FunctionDef, ast.AsyncFunctionDef))]
    for check in (_tried, _kept_in_python, _counted, _by_numpy):
        for function in functions:
            for node, why in check(source, function):
                return at(source, node, why)
    return ok(source, functions[0], "the graph holds its own operations alone") if functions else None


_Found = Iterator[tuple[ast.AST, str]]


def _tried(_: Script, function: Function) -> _Found:
    for node in of(function, ast.Try):
        yield node, "graph mode compiles no `try`"


def _kept_in_python(source: Script, function: Function) -> _Found:
    """`self.states.append(x)`: the list is one of the compiler's, and that of the cell stays empty."""
    for call in of(function, ast.Call):
        if not (isinstance(call.func, ast.Attribute) and call.func.attr in _GROWS):
            continue
        if not isinstance(source.parents.get(call), ast.Expr):
            continue
        if _holds(source, function, call.func.value, (ast.List, ast.Dict, ast.Set)):
            yield call, "this runs once, when the graph is compiled, and what it adds is lost"


def _counted(source: Script, function: Function) -> _Found:
    """`self.step += 1` of a plain number: it does not go on from call to call."""
    for node in of(function, ast.AugAssign, ast.Assign):
        target = node.target if isinstance(node, ast.AugAssign) else node.targets[0]
        if not isinstance(target, (ast.Attribute, ast.Subscript)):
            continue
        if isinstance(node, ast.Assign) and unparse(target) not in {
            unparse(n) for n in of(node.value, ast.Attribute, ast.Subscript)
        }:
            continue
        kept = target.value if isinstance(target, ast.Subscript) else target
        kinds = (ast.Dict, ast.List) if isinstance(target, ast.Subscript) else (ast.Constant,)
        if _holds(source, function, kept, kinds):
            yield node, "a number of Python's is counted in the graph, where it stays as it was at compiling"


def _holds(source: Script, function: Function, kept: ast.expr, kinds: tuple[type[ast.expr], ...]) -> bool:
    """An attribute of the cell that its constructor sets to such a value, or a name of the module."""
    owner = source.class_around(function)
    if isinstance(kept, ast.Attribute) and unparse(kept.value) == "self" and owner is not None:
        made = next((f for f in owner.body if isinstance(f, ast.FunctionDef) and f.name == "__init__"), None)
        value = source.assigned(unparse(kept), made) if made is not None else None
    elif isinstance(kept, ast.Name) and not any(
        kept.id in {n.id for t in _targets(a) for n in of(t, ast.Name)} for a in of(function, ast.Assign)
    ):
        given = flow(source).given(kept)
        outside = given is not None and source.function_around(given.statement) is None
        value = given.value if outside and given is not None else None
    else:
        return False
    number = isinstance(value, ast.Constant) and isinstance(value.value, (int, float))
    if ast.Constant in kinds:
        return number and not isinstance(getattr(value, "value", None), bool)
    return isinstance(value, kinds) and (not isinstance(value, ast.List) or not value.elts)


def _targets(node: ast.Assign) -> list[ast.expr]:
    return [t for t in node.targets if isinstance(t, (ast.Name, ast.Tuple, ast.List))]


def _by_numpy(source: Script, function: Function) -> _Found:
    owner = source.class_around(function)
    named = f"{function.name} " + (
        " ".join([owner.name, *(unparse(b) for b in owner.bases)]) if owner is not None else ""
    )
    if _NOT_DIFFERENTIATED.search(named):
        return
    for call in of(function, ast.Call):
        if last_name(call.func) not in _TO_PYTHON or not isinstance(call.func, ast.Attribute) or call.args:
            continue
        statement = source.statement(call)
        if isinstance(statement, ast.Expr) or not _of_tensors(function, call.func.value):
            continue
        if any(isinstance(p, ast.If) and "training" in unparse(p.test) for p in source.above(call)):
            continue
        yield call, "no gradient passes what graph mode takes to NumPy, and PyNative alone runs it as written"


def _of_tensors(function: Function, node: ast.expr) -> bool:
    """What is handed in, or made of that: not a parameter of the cell that is only looked at."""
    names = {a.arg for a in function.args.args} - {"self"}
    made = {
        n.id
        for a in of(function, ast.Assign, ast.For)
        for t in (a.targets if isinstance(a, ast.Assign) else [a.target])
        for n in of(t, ast.Name)
    }
    return bool(names_in(node) & (names | made))
