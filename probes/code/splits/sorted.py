"""Splits in scripts that follow an order of the data."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of
from ...registry import Finding, View, probe
from ...scripts.syntax import Script
from ..shared.checks import at, first, ok
from ..shared.sides import given, part

_TIME = re.compile(
    r"(?i)^(?:\w*_)?(?:date|time|timestamp|datetime|step|day|month|year|week|ts|epoch)(?:_\w*)?$"
)
_MIXES = (
    "shuffle",
    "permutation",
    "randperm",
    "train_test_split",
    "random_split",
    "shuffled",
    "permuted",
    "choice",
)


@probe()
def split_by_order(view: View) -> Finding:
    """Data are sorted by a property, and cut by position into training and held-out data.

    False positive: a property that stands for time, or groups that are meant to be new in evaluation.
    """
    return first(view, _by_order, "the scripts cut no data by position")


def _by_order(source: Script) -> Finding | None:
    cut: dict[bool, ast.AST] = {}
    for one in given(source):
        if part(source, one.value).picked and _by_position(one.value):
            cut.setdefault(one.learns, one.node)
    for node in source.of(ast.Return):
        if isinstance(node.value, ast.Tuple) and len(node.value.elts) == 2:
            if "split" in source.function_name(node) and all(_by_position(e) for e in node.value.elts):
                cut |= {True: node, False: node}
    if len(cut) < 2:
        return None
    sorts = [c for c in source.named("sort_values") if c.args and _keys(c) and not _TIME.match(_keys(c)[0])]
    mixes = source.named(*_MIXES)
    mixes += tuple(c for c in source.named("sample") if any(k.arg == "frac" for k in c.keywords))
    if sorts and not mixes and not source.loose:
        return at(source, sorts[0], "held-out data are cut off by position from what is sorted by this")
    return ok(source, cut[False], "the split follows no sorted property")


def _keys(call: ast.Call) -> list[str]:
    return [n.value for n in of(call.args[0], ast.Constant) if isinstance(n.value, str)]


def _by_position(value: ast.expr) -> bool:
    return any(isinstance(n.slice, ast.Slice) for n in of(value, ast.Subscript))
