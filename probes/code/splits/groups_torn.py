"""Groups of samples that belong together, known to a script and not heeded when it splits."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at, ok
from ..shared.nodes import is_none
from ..shared.row_names import names_given
from .rows_met import sided

_HEEDS = ("GroupKFold", "GroupShuffleSplit", "StratifiedGroupKFold", "LeaveOneGroupOut", "LeavePGroupsOut")
_IGNORES = (
    *("KFold", "StratifiedKFold", "ShuffleSplit", "StratifiedShuffleSplit", "RepeatedKFold"),
    *("RepeatedStratifiedKFold", "TimeSeriesSplit"),
)


def groups_torn(source: Script) -> Finding | None:
    """`KFold(5).split(x, y, groups=patients)`: this splitter does not look at the groups.

    Also groups that are listed, put into a random order and then not asked for, while what they are groups of
    is cut into parts.
    """
    seen: ast.AST | None = None
    for call in source.named("split"):
        if not isinstance(call.func, ast.Attribute):
            continue
        groups = keyword(call, "groups") or (call.args[2] if len(call.args) > 2 else None)
        if groups is None or is_none(groups):
            continue
        made = {last_name(v.func) for v in flow(source).values(call.func.value, 4) if isinstance(v, ast.Call)}
        if made & set(_HEEDS):
            seen = seen or call
        elif made and made <= set(_IGNORES) and not source.classes.keys() & made:
            return at(source, call, f"{sorted(made)[0]} does not look at the groups that it is handed")
    if (idle := _key_never_asked(source)) is not None:
        return at(
            source, idle, "this tells what a sample belongs to, and nothing asks for it when the data are cut"
        )
    if (left := _listed_and_left(source)) is not None:
        return at(source, left, "these groups are listed and not asked for when the data are cut")
    return ok(source, seen, "the splitter heeds the groups") if seen is not None else None


_KEY = re.compile(
    r"(?i)^_?(?:get_)?(?:patient|subject|speaker|session|site|scene|video|recording|author|user|customer|area|plot|drive"
    r"|group|writer|donor|animal|station)(?:_?(?:of|id|id_of|key|name|from_\w+))?$"
)


def _key_never_asked(source: Script) -> ast.FunctionDef | None:
    """`def patient_of(path)` that nobody calls, where samples are put into another order and cut."""
    if source.loose or not source.named(
        "shuffle", "random_split", "train_test_split", "permutation", "randperm"
    ):
        return None
    for function in source.of(ast.FunctionDef):
        one = len(function.args.args) == 1 and len(function.body) <= 2 and "split" in unparse(function)
        if one and _KEY.match(function.name) and not _is_named(source, function.name):
            return function
    return None


def _is_named(source: Script, name: str) -> bool:
    return any(n.id == name for n in source.of(ast.Name)) or name in source.mentions


def _listed_and_left(source: Script) -> ast.AST | None:
    """`cows = sorted({f.split("_")[0] for f in files})`, shuffled, and then `files[:n]`, `files[n:]`."""
    shuffled = {unparse(c.args[0]) for c in source.named("shuffle") if c.args}
    cut: set[tuple[str, bool]] = {(p.rows.table, p.learns) for p in sided(source) if not p.rows.whole}
    for one in names_given(source):
        if "|groups of" not in one.rows.table or one.name not in shuffled:
            continue
        reads = [
            n
            for n in (of(one.scope, ast.Name) if one.scope is not None else source.of(ast.Name))
            if n.id == one.name and isinstance(n.ctx, ast.Load)
        ]
        told = [n for n in reads if not _only_shuffled(source, n)]
        table = one.rows.table.split("|")[0]
        if not told and {(table, True), (table, False)} <= cut:
            return one.node
    return None


def _only_shuffled(source: Script, name: ast.Name) -> bool:
    """The name is put into another order, counted or shown, and nothing else."""
    call = source.parents.get(name)
    return isinstance(call, ast.Call) and last_name(call.func) in ("shuffle", "len", "print", "info")
