"""Lists of samples that are gathered class by class, and cut into parts as they are."""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_in, of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.nodes import assigned
from ..shared.sides import side

_CLASSES = re.compile(r"(?i)class|label|categor|species|listdir|iterdir|scandir|folders|subdirs|cls")
_MIXES = re.compile(
    r"shuffle|permutation|permuted|randperm|train_test_split|random_split|KFold|stratif|\bsample\("
)


def cut_class_by_class(source: Script) -> Finding | None:
    """`[(f, i) for i, c in enumerate(classes) for f in files(c)]`, then `rows[:n]` and `rows[n:]` unmixed.

    The first classes alone are on one side.
    """
    if source.loose:
        return None
    mixed = [c for c in source.of(ast.Call) if _MIXES.search(f"{last_name(c.func)}(")]
    if mixed:
        return None
    for name in _gathered(source):
        cuts: dict[bool, ast.AST] = {}
        for node in source.of(ast.Assign):
            for target, value in assigned(node):
                learns = side(unparse(target))
                if learns is None or not isinstance(value, ast.Subscript) or unparse(value.value) != name:
                    continue
                if isinstance(value.slice, ast.Slice) and value.slice.step is None:
                    cuts[learns] = node
        if len(cuts) == 2:
            why = f"`{name}` lies class by class, and is cut in two as it is: classes are on one side alone"
            return at(source, cuts[False], why)
    return None


def _gathered(source: Script) -> set[str]:
    """Names of lists of (sample, label), put together in a loop over classes around one over their files."""
    found: set[str] = set()
    for node in source.of(ast.Assign):
        for target, value in assigned(node):
            if (
                isinstance(value, ast.ListComp)
                and len(value.generators) == 2
                and isinstance(value.elt, ast.Tuple)
            ):
                outer, inner = value.generators
                if _over_classes(outer.target, outer.iter, inner.iter, value.elt):
                    found.add(unparse(target))
    for outer_loop in source.of(ast.For):
        for inner_loop in of(outer_loop, ast.For):
            for call in of(inner_loop, ast.Call):
                one = call.args[0] if last_name(call.func) == "append" and call.args else None
                if (
                    isinstance(one, ast.Tuple)
                    and isinstance(call.func, ast.Attribute)
                    and inner_loop is not outer_loop
                ):
                    if _over_classes(outer_loop.target, outer_loop.iter, inner_loop.iter, one):
                        found.add(unparse(call.func.value))
    return found


def _over_classes(target: ast.expr, over: ast.expr, files: ast.expr, one: ast.Tuple) -> bool:
    """The outer loop goes over classes, the inner over what a class holds, and a pair ends with the class."""
    names = names_in(target)
    told = _CLASSES.search(unparse(over)) is not None
    return (
        told and len(one.elts) == 2 and bool(names & names_in(files)) and bool(names & names_in(one.elts[1]))
    )
