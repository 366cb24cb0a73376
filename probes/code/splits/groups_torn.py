"""Groups of samples that belong together, known to a script and not heeded when it splits."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import argument, keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at, ok
from ..shared.nodes import chosen, is_none
from ..shared.row_names import names_given
from ..shared.uses import never_run
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
        groups = argument(call, "groups", position=2)
        if groups is None or is_none(groups):
            continue
        made = {last_name(v.func) for v in flow(source).values(call.func.value, 4) if isinstance(v, ast.Call)}
        if made & set(_HEEDS):
            if _of_each_row(source, groups):
                return at(source, call, "each row is a group of its own: nothing is kept together")
            seen = seen or call
        elif made and made <= set(_IGNORES) and not source.classes.keys() & made:
            return at(source, call, f"{sorted(made)[0]} does not look at the groups that it is handed")
    if (idle := _key_never_asked(source)) is not None:
        return at(
            source, idle, "this tells what a sample belongs to, and nothing asks for it when the data are cut"
        )
    if (loose := _once_without(source)) is not None:
        return at(source, loose, "rows of one group are divided by chance here, and kept together elsewhere")
    if (left := _listed_and_left(source)) is not None:
        return at(source, left, "these groups are listed and not asked for when the data are cut")
    return ok(source, seen, "the splitter heeds the groups") if seen is not None else None


def _of_each_row(source: Script, groups: ast.expr) -> bool:
    """`groups=table.index`, `np.arange(n)`, the column of `drop_duplicates("file")`."""
    if isinstance(groups, ast.Attribute) and groups.attr == "index":
        return not any(last_name(c.func) == "set_index" for c in source.calls)
    if isinstance(groups, ast.Call) and last_name(groups.func) in ("arange", "range"):
        return True
    column = _column(groups)
    if column is None:
        return False
    apart = [a for c in source.named("drop_duplicates") for a in (*c.args, *(k.value for k in c.keywords))]
    return any(isinstance(a, ast.Constant) and a.value == column for a in apart)


def _column(node: ast.expr) -> str | None:
    """The column that a value is of: `rest["patient"]`, `rest.patient.values`."""
    while isinstance(node, (ast.Attribute, ast.Call)):
        if isinstance(node, ast.Call):
            node = node.func
        elif node.attr in ("values", "to_numpy", "tolist"):
            node = node.value
        else:
            return node.attr
    key = node.slice if isinstance(node, ast.Subscript) else None
    return key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else None


def _once_without(source: Script) -> ast.Call | None:
    """One split of a table heeds its groups, and another split of it, or of what is left, does not."""
    heeded: dict[ast.AST | None, set[str]] = {}  # by the function that both stand in
    for call in source.named("split"):
        groups = argument(call, "groups", position=2)
        if groups is not None and _column(groups) is not None and call.args:
            heeded.setdefault(source.function_around(call), set()).update(_tables(source, call.args[0]))
    for call in source.named("split", "train_test_split") if heeded else ():
        if not call.args or keyword(call, "groups") is not None or len(call.args) > 2:
            continue
        if chosen(source, call):
            continue  # one way of several to divide
        if last_name(call.func) == "split":
            maker = call.func.value if isinstance(call.func, ast.Attribute) else call.func
            made = {last_name(v.func) for v in flow(source).values(maker, 4) if isinstance(v, ast.Call)}
            if not made or not made <= set(_IGNORES) - {"TimeSeriesSplit"}:
                continue
        if _tables(source, call.args[0]) & heeded.get(source.function_around(call), set()):
            return call
    return None


def _tables(source: Script, node: ast.expr) -> set[str]:
    """The names of tables that a value is, or is cut out of."""
    found: set[str] = set()
    for one in (node, *flow(source).values(node, 4)):
        while isinstance(one, (ast.Subscript, ast.Attribute, ast.Call)):
            one = one.func if isinstance(one, ast.Call) else one.value
        if isinstance(one, ast.Name):
            found.add(one.id)
            for given in flow(source).all_given(one):
                value: ast.expr = given.value
                if (
                    isinstance(value, ast.Tuple)
                    and len(given.places) == 1
                    and isinstance(given.places[0], int)
                ):
                    value = value.elts[given.places[0]]
                while isinstance(value, (ast.Subscript, ast.Attribute)):
                    value = value.value
                if isinstance(value, ast.Call) and last_name(value.func) == "train_test_split" and value.args:
                    value = value.args[0]
                if isinstance(value, ast.Name):
                    found.add(value.id)
    return found - {"pd", "np"}


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
    named = [n for n in source.of(ast.Name) if n.id == name]
    return any(not never_run(source, n) for n in named) or name in source.mentions


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
