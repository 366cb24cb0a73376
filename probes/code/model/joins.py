"""Joins of a model, in scripts: what is put beside itself, where another branch was meant."""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_in, of, unparse, walk
from ...readers.script import last_name
from ...registry import Finding, View, probe
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..method.graphs import one_end_with_itself
from ..shared.checks import at, first, ok
from ..shared.sides import either

_JOINS = (
    "cat",
    "concat",
    "concatenate",
    "hstack",
    "Concatenate",
    "Concat",
    "Add",
    "add",
    "Average",
    "Multiply",
)
_SIZES = re.compile(r"shape|size\(|\.dim\(|len\(")


@probe()
def joined_with_itself(view: View) -> Finding:
    """A forward pass joins a value with itself, or with a part of itself, and leaves another one out.

    Counts only where another value is handed in, looped over or worked out, and only its size is read: the
    skip that was meant. A value that is doubled on purpose (a ring, halves of a window) has no such partner.
    """
    return first(view, either(_with_itself, one_end_with_itself), "the scripts join no branches")


def _with_itself(source: Script) -> Finding | None:
    seen = None
    for function in [*source.passes, *functional(source)]:
        if isinstance(source.parents.get(function), ast.ClassDef) and (
            source.parents.get(function) not in source.modules
        ):
            continue
        for call in of(function, ast.Call):
            maker = call.func.func if isinstance(call.func, ast.Call) else call.func
            if not (last_name(maker) in _JOINS and call.args):
                continue
            parts = call.args[0].elts if isinstance(call.args[0], (ast.List, ast.Tuple)) else []
            if len(parts) < 2 or any(isinstance(p, ast.Starred) for p in parts):
                continue
            seen = seen or call
            roots = {_root(source, p) for p in parts}
            left = _left_out(function, call) or _worked_out_for_nothing(source, function)
            if len(roots) == 1 and "" not in roots and left:
                return at(
                    source, call, f"a value is joined with itself, and nothing but the size of {left} is used"
                )
    return ok(source, seen, "what is joined differs") if seen is not None else None


def functional(source: Script) -> list[Function]:
    """Functions that apply layers of Keras: `x = layers.Conv2D(8, 3)(x)`."""
    if not {"keras", "tensorflow", "tf_keras"} & set(source.frameworks):
        return []
    return [
        f
        for f in source.of(ast.FunctionDef)
        if any(isinstance(c.func, ast.Call) and last_name(c.func.func)[:1].isupper() for c in of(f, ast.Call))
    ]


def _worked_out_for_nothing(source: Script, function: Function) -> str:
    """A name that is given a value of the forward pass, and of which at most the size is read.

    What only makes its own next value is not read: `skip = project(skip)`.
    """
    given: dict[str, list[ast.Assign]] = {}
    for node in of(function, ast.Assign):
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            given.setdefault(node.targets[0].id, []).append(node)
    for name, statements in given.items():
        of_values = all(
            isinstance(s.value, (ast.Call, ast.Subscript, ast.Name)) and not _SIZES.search(unparse(s.value))
            for s in statements
        )
        if not of_values or name.startswith("_"):
            continue
        reads = [n for n in of(function, ast.Name) if n.id == name and isinstance(n.ctx, ast.Load)]
        if all(_only_sized(source, n, statements) for n in reads):
            return name
    return ""


def _only_sized(source: Script, read: ast.Name, statements: list[ast.Assign]) -> bool:
    parent = source.parents.get(read)
    if isinstance(parent, ast.Attribute) and parent.attr in ("shape", "size", "ndim"):
        return True
    return source.statement(read) in statements


def _root(source: Script, node: ast.expr) -> str:
    """The name that a part is or is cut out of."""
    while isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Name):
        given = flow(source).given(node)
        if given is not None and isinstance(given.value, ast.Subscript) and not given.places:
            return _root(source, given.value)
        return node.id
    return unparse(node) if isinstance(node, ast.Call) else ""


def _left_out(function: Function, call: ast.Call) -> str:
    """A value of the forward pass of which only the size is read, from the loop or the arguments."""
    names = {a.arg for a in function.args.args[1:]}
    for node in walk(function):
        if isinstance(node, ast.For):
            names |= names_in(node.target)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            if isinstance(node.value, ast.Call) and last_name(node.value.func) == "pop":
                names.add(node.targets[0].id)
    for name in sorted(names):
        reads = [n for n in of(function, ast.Name) if n.id == name and isinstance(n.ctx, ast.Load)]
        sized = [
            n
            for n in of(function, ast.Attribute)
            if n.attr in ("shape", "size") and isinstance(n.value, ast.Name) and n.value.id == name
        ]
        inside = [n for n in of(call, ast.Name) if n.id == name]
        if sized and len(sized) == len(reads) and inside:
            return name
        if not reads and any(name in unparse(f.target) for f in of(function, ast.For)):
            if name not in ("_", "i", "j", "k", "idx") and any(
                call in walk(f) and name in names_in(f.target) for f in of(function, ast.For)
            ):
                return name
    return ""
