"""Targets of scripts that are sorted, shuffled or moved on by rows where they are made, and inputs not."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import argument, keyword, last_name
from ...registry import Finding
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.nodes import assigned, whole_number
from ..shared.roles import are_targets, base, targets

_KEEPS = re.compile(
    r"^(?:from_numpy|tensor|as_tensor|array|asarray|to_numpy|values|astype|long|float|int|to|copy|clone|tolist|list|log"
    r"|log1p|log10|sqrt|map|replace|fillna|bfill|ffill|dropna|reset_index|reshape|squeeze|unsqueeze|ravel|flatten|float32"
    r"|int64|Series|clip)$"
)
_CONTROL = re.compile(
    r"(?i)permut|importance|null|control|random_?label|ablat|corrupt|baseline|negative|contrast|quantile|rank|plot|hist"
)


def target_column_moved(source: Script) -> Finding | None:
    """`y = log(frame["price"].sample(frac=1).values)`, `tr_y = from_numpy(np.sort(tr_y))`, `.shift(1)`.

    What is moved is the target itself, and what it is made into is the target again: not a list of classes,
    a lag among the inputs or a figure.
    """
    if not source.trains:
        return None
    names = targets(source)
    for node in source.of(ast.Assign):
        for target, value in _pairs(node):
            if base(target) not in names or not isinstance(target, (ast.Name, ast.Attribute)):
                continue
            for call in of(value, ast.Call):
                moved = _moved(call)
                by_chance = last_name(call.func) in ("sample", "permutation")
                alike = by_chance and are_targets(base(target).lower())
                if moved is None or not (alike or _same(base(moved), base(target), names)):
                    continue
                if _CONTROL.search(source.function_name(node)) or not _reaches(source, call, value):
                    continue
                if last_name(call.func) == "sorted" and _are_kinds(source, call, target):
                    continue
                if not _moved_beside(source, node, call):
                    return at(
                        source, node, f"`{unparse(moved)}` is put into another order, the inputs are not"
                    )
    return None


_OF_KINDS = re.compile(r"\.keys\(|\.items\(|\bset\(|unique|listdir|iterdir|classes|categories|names")


def _are_kinds(source: Script, call: ast.Call, target: ast.expr) -> bool:
    """What is sorted are the classes, each once: keys, or what is numbered or gone through afterwards."""
    if _OF_KINDS.search(unparse(call)):
        return True
    name = unparse(target)
    for node in source.of(ast.Call):
        if last_name(node.func) in ("enumerate", "set", "index", "join", "dict"):
            if name in (*map(unparse, node.args), source.owner(node)):
                return True
    loops = [n.iter for n in source.of(ast.For, ast.comprehension)]
    asked = [
        c for n in source.of(ast.Compare) if isinstance(n.ops[0], (ast.In, ast.NotIn)) for c in n.comparators
    ]
    return any(unparse(n) == name for n in (*loops, *asked))


def _pairs(node: ast.Assign) -> list[tuple[ast.expr, ast.expr]]:
    return [(t, v) for t, v in assigned(node) if not (isinstance(t, ast.Tuple) and isinstance(v, ast.Call))]


def _same(moved: str, target: str, names: frozenset[str]) -> bool:
    """The target's own values: by its name, or by the name of one target for another."""
    return moved == target or (moved in names and are_targets(moved) and are_targets(target))


def _moved(call: ast.Call) -> ast.expr | None:
    """What a call puts into another order, row by row."""
    name = last_name(call.func)
    library = isinstance(call.func, ast.Attribute) and unparse(call.func.value) in _LIBRARIES
    owner = call.func.value if isinstance(call.func, ast.Attribute) and not library else None
    first = argument(call, position=0)
    along = keyword(call, "axis") or keyword(call, "dim")
    if along is not None and unparse(along) != "0":
        return None  # each row for itself
    if name in ("sort", "permutation") and library and first is not None:
        return first if len(call.args) == 1 else None
    if name == "sorted" and owner is None:
        return first
    if owner is None:
        return None
    if name == "sample" and "frac=1" in unparse(call):
        return owner
    if name == "permutation":
        return first  # of a generator
    if name == "shift":
        by = first if first is not None else keyword(call, "periods")
        return owner if by is None or (whole_number(by) or 0) > 0 else None
    return owner if name == "sort_values" and not isinstance(owner, ast.Name) else None


_LIBRARIES = ("np", "numpy", "torch", "np.random", "numpy.random", "random", "jnp", "tf")


def _reaches(source: Script, call: ast.Call, value: ast.expr) -> bool:
    """From the call to the value nothing counts, picks or looks up: it goes on row by row."""
    inner: ast.AST = call
    for outer in source.above(call):
        if isinstance(outer, ast.stmt):
            return True
        if isinstance(outer, ast.Subscript):
            return False
        if (
            isinstance(outer, ast.Call)
            and inner is not outer.func
            and not _KEEPS.match(last_name(outer.func))
        ):
            return False
        if isinstance(outer, ast.Attribute) and not _KEEPS.match(outer.attr):
            return False
        if isinstance(outer, (ast.comprehension, ast.Dict, ast.Compare, ast.Lambda)):
            return False
        inner = outer
    return inner is value


def _moved_beside(source: Script, node: ast.Assign, call: ast.Call) -> bool:
    """The inputs are moved alike in the same block, or the order comes back: `iloc[order]`."""
    scope = source.function_around(node) or source.tree
    name = last_name(call.func)
    same = [c for c in of(scope, ast.Call) if last_name(c.func) == name and c is not call]
    return any(abs(c.lineno - call.lineno) <= 6 for c in same)
