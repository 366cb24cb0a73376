"""Splits in scripts that follow an order of the data."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import keyword, last_name
from ...registry import Finding, View, probe, unframed
from ...scripts.syntax import Script
from ..shared.checks import at, first, ok
from ..shared.sides import given, part
from .one_end import MIXES

_TIME = re.compile(
    r"(?i)^(?:\w*_)?(?:date|time|timestamp|datetime|step|day|month|year|week|ts|epoch)(?:_\w*)?$"
)
_GROUPS = re.compile(r"(?i)(?:^|_)(?:id|ids|user|patient|group|session|subject|site|fold|split|index)(?:_|$)")


@probe()
@unframed
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
    sorts = [c for c in source.named("sort_values") if c.args and _keys(c) and not _meant(_keys(c)[0])]
    mixes = source.named(*MIXES)
    mixes += tuple(c for c in source.named("sample") if any(k.arg == "frac" for k in c.keywords))
    sorts += [c for c in source.named("sort", "sorted") if _by_content(source, c, cut)]
    for sort in sorts if not source.loose else ():
        places = [n for n in cut.values() if source.function_around(n) is source.function_around(sort)]
        last = max((n.lineno for n in places if isinstance(n, ast.stmt)), default=0)
        if not any(sort.lineno <= m.lineno <= last for m in mixes) if places else not mixes:
            return at(source, sort, "held-out data are cut off by position from what is sorted by this")
    return ok(source, cut[False], "the split follows no sorted property")


def _meant(key: str) -> bool:
    """The property stands for time, or for groups that are to be new in evaluation."""
    return _TIME.match(key) is not None or _GROUPS.search(key) is not None


def _by_content(source: Script, call: ast.Call, cut: dict[bool, ast.AST]) -> bool:
    """`pairs.sort(key=lambda p: p[1])` of the very list that is cut below."""
    key = keyword(call, "key")
    if not isinstance(key, ast.Lambda) or re.search(r"(?i)time|date|year|stamp|path|name|stem", unparse(key)):
        return False
    owner = source.owner(call) if last_name(call.func) == "sort" else ""
    statement = source.statement(call)
    if last_name(call.func) == "sorted" and isinstance(statement, ast.Assign) and statement.value is call:
        owner = unparse(statement.targets[0])
    wholes = {
        unparse(s.value) for n in cut.values() for s in of(n, ast.Subscript) if isinstance(s.slice, ast.Slice)
    }
    return (
        bool(owner) and owner in wholes and all(getattr(n, "lineno", 0) > call.lineno for n in cut.values())
    )


def _keys(call: ast.Call) -> list[str]:
    return [n.value for n in of(call.args[0], ast.Constant) if isinstance(n.value, str)]


def _by_position(value: ast.expr) -> bool:
    return any(isinstance(n.slice, ast.Slice) for n in of(value, ast.Subscript))
