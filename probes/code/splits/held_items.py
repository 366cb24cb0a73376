"""Histories in scripts whose last items are held out: whether training keeps them, and which are last."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import names_in, of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.nodes import flat, paired, whole_number
from ..shared.roles import split_of


def held_items_kept(source: Script) -> Finding | None:
    """`train[u], valid[u], test[u] = seq, seq[-2], seq[-1]`: it learns what is held out."""
    for block in _blocks(source):
        held: dict[str, list[int]] = {}
        learnt: list[tuple[ast.AST, str, int]] = []
        for node, target, value in block:
            side = split_of(_name(target))
            if side is None:
                continue
            root, end = _part(value)
            if root is None:
                continue
            if isinstance(end, int) and not side.startswith("train") and end < 0 and _single(value):
                held.setdefault(root, []).append(end)
            elif side.startswith("train") and not _single(value):
                learnt.append((node, root, end if end is not None else 0))
        for node, root, stop in learnt:
            if stop <= 0 and any(place < stop or stop == 0 for place in held.get(root, [])):
                return at(source, node, "the items that are held out are in the history that is learnt from")
    return None


def _blocks(source: Script) -> Iterator[list[tuple[ast.AST, ast.expr, ast.expr]]]:
    """What one function, or the module, gives to places and puts into lists."""
    for scope in (*source.of(ast.FunctionDef), source.tree):
        found: list[tuple[ast.AST, ast.expr, ast.expr]] = []
        for node in of(scope, ast.Assign, ast.Call):
            if (source.function_around(node) or source.tree) is not scope:
                continue
            if isinstance(node, ast.Assign):
                found += [(node, t, v) for target in node.targets for t, v in paired(target, node.value)]
            elif isinstance(node.func, ast.Attribute) and node.func.attr == "append" and len(node.args) == 1:
                found.append((node, node.func.value, node.args[0]))
        yield found


def _name(target: ast.expr) -> str:
    while isinstance(target, ast.Subscript):
        target = target.value
    return last_name(target) if isinstance(target, (ast.Name, ast.Attribute)) else ""


def _single(value: ast.expr) -> bool:
    value = value.elts[0] if isinstance(value, ast.List) and len(value.elts) == 1 else value
    return isinstance(value, ast.Subscript) and not isinstance(value.slice, ast.Slice)


def _part(value: ast.expr) -> tuple[str | None, int | None]:
    """The history and the place of an item, or the end of a part of it from its first item on."""
    value = value.elts[0] if isinstance(value, ast.List) and len(value.elts) == 1 else value
    if isinstance(value, ast.Name):
        return value.id, None
    if not isinstance(value, ast.Subscript) or not isinstance(value.value, ast.Name):
        return None, None
    cut = value.slice
    if isinstance(cut, ast.Slice):
        begins = cut.lower is None or whole_number(cut.lower) == 0
        stop = 0 if cut.upper is None else whole_number(cut.upper)
        return (value.value.id, stop) if begins and stop is not None and cut.step is None else (None, None)
    place = whole_number(cut)
    return (value.value.id, place) if place is not None else (None, None)


def ranks_meet(source: Script) -> Finding | None:
    """`rows[rank == 0]`, `rows[rank == 1]` and `rows[rank >= 1]`, by how late a row comes."""
    for scope in (*source.of(ast.FunctionDef), source.tree):
        parts: dict[tuple[str, str], list[tuple[ast.AST, str, frozenset[int]]]] = {}
        for node in of(scope, ast.Assign):
            if (source.function_around(node) or source.tree) is not scope:
                continue
            value = node.value
            while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and not value.args:
                value = value.func.value
            if not isinstance(value, ast.Subscript) or not isinstance(value.slice, ast.Compare):
                continue
            test = value.slice
            number = whole_number(test.comparators[0])
            if len(test.ops) != 1 or number is None or not isinstance(node.targets[0], ast.Name):
                continue
            if not _counts_rows(source, test.left):
                continue
            places = frozenset(i for i in range(12) if _holds(test.ops[0], i, number))
            parts.setdefault((unparse(value.value), unparse(test.left)), []).append(
                (node, node.targets[0].id, places)
            )
        for found in parts.values():
            single = [p for p in found if len(p[2]) == 1]
            wide = [p for p in found if len(p[2]) > 2]
            if len(single) < 2 or len(wide) != 1:
                continue
            for one in single:
                if one[2] & wide[0][2]:
                    return at(source, wide[0][0], f"`{wide[0][1]}` holds the rows of `{one[1]}` as well")
    return None


def _counts_rows(source: Script, node: ast.expr) -> bool:
    """`groupby(...).cumcount()`, `.rank()`: how early or late a row comes."""
    return any(
        last_name(c.func) in ("cumcount", "rank")
        for v in (node, *flow(source).values(node, 3))
        for c in of(v, ast.Call)
    )


def _holds(operator: ast.cmpop, value: int, bound: int) -> bool:
    tests = {
        ast.Eq: value == bound,
        ast.NotEq: value != bound,
        ast.Gt: value > bound,
        ast.GtE: value >= bound,
        ast.Lt: value < bound,
        ast.LtE: value <= bound,
    }
    return tests.get(type(operator), False)


_TIMES = re.compile(r"(?i)(?:^|_)(?:time\w*|ts|date\w*|zeit\w*|unix\w*|day|when|timestamp)$")


def last_of_no_order(source: Script) -> Finding | None:
    """The last items of each history are held out, and nothing puts the histories into the order of time."""
    for scope in source.of(ast.FunctionDef):
        if re.search(r"\bsort", unparse(scope)):
            continue
        for comp in of(scope, ast.ListComp):
            target, over = comp.generators[0].target, comp.generators[0].iter
            if not isinstance(target, ast.Tuple) or not isinstance(target.elts[0], ast.Name):
                continue
            if not target.elts[0].id.startswith("_") or not isinstance(over, ast.Name):
                continue
            kept = source.statement(comp)
            names = (
                {t.id for t in flat(kept.targets) if isinstance(t, ast.Name)}
                if isinstance(kept, ast.Assign)
                else set()
            )
            ends = [
                s
                for s in of(scope, ast.Subscript)
                if unparse(s.value) in names and whole_number(s.slice) == -1
            ]
            puts = [c for c in of(scope, ast.Call) if last_name(c.func) == "append" and c.args]
            pairs = [
                c
                for c in puts
                if isinstance(c.args[0], ast.Tuple) and len(c.args[0].elts) == len(target.elts)
            ]
            if ends and pairs and not names_in(over) & {unparse(a) for a in scope.args.args}:
                return at(
                    source, ends[0], "the last items are held out of histories that nothing puts in order"
                )
    return _sorted_by_no_time(source)


def _sorted_by_no_time(source: Script) -> Finding | None:
    """`sort_values(["user", "item"])` before the last row of each user is taken."""
    counted = [c for c in source.calls if last_name(c.func) in ("cumcount", "tail", "nth", "last")]
    if not any("groupby" in unparse(c.func) for c in counted):
        return None
    sorts = source.named("sort_values")
    if len(sorts) != 1 or (not sorts[0].args and not sorts[0].keywords):
        return None
    given = sorts[0].args[0] if sorts[0].args else sorts[0].keywords[0].value
    columns = [n.value for n in of(given, ast.Constant) if isinstance(n.value, str)]
    if not columns or any(_TIMES.search(c) for c in columns):
        return None
    groups = {unparse(a) for c in source.named("groupby") for a in c.args}
    if repr(columns[0]) not in groups or len(columns) < 2:
        return None
    rest = columns[1:]
    ids = {
        unparse(s.slice).strip("'\"")
        for n in source.of(ast.Assign)
        if isinstance(n.value, ast.Attribute) and n.value.attr == "codes"
        for s in n.targets
        if isinstance(s, ast.Subscript)
    } | {
        t.attr
        for n in source.of(ast.Assign)
        if "codes" in unparse(n.value)
        for t in n.targets
        if isinstance(t, ast.Attribute)
    }
    if all(c in ids for c in rest):
        return at(
            source, sorts[0], "rows are sorted by a number of theirs, and the last of each is no later one"
        )
    return None


def placed_at_other_end(source: Script) -> Finding | None:
    """Histories are learnt at the right end of a row and scored at the left, or cut at the wrong end."""
    right = [n for n in source.of(ast.Assign) if _right_aligned(n.targets[0])]
    falls = [
        n
        for n in source.of(ast.AugAssign)
        if isinstance(n.op, ast.Sub) and isinstance(n.target, ast.Name) and whole_number(n.value) == 1
    ]
    reads_last = any(
        isinstance(n.slice, ast.Tuple) and len(n.slice.elts) >= 2 and whole_number(n.slice.elts[1]) == -1
        for n in source.of(ast.Subscript)
    )
    if not reads_last:
        return None
    for node in source.of(ast.Assign):
        target = node.targets[0]
        if (
            _left_aligned(target)
            and (falls or right)
            and not any(_same_array(target, r.targets[0]) for r in right)
        ):
            if isinstance(node.value, (ast.Name, ast.Subscript)):
                if not source.loose and not any("train" in source.function_name(n).lower() for n in (node,)):
                    return at(
                        source, node, "the row begins at the left here, and its last place is what is read"
                    )
    for node in right:
        if isinstance(node.value, ast.Name):
            for value in (g.value for g in flow(source).all_given(node.value)[:1]):
                cut = (
                    value.slice
                    if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Slice)
                    else None
                )
                if (
                    cut is not None
                    and cut.lower is None
                    and cut.upper is not None
                    and not unparse(cut.upper).startswith("-")
                ):
                    return at(
                        source,
                        value,
                        "a long history keeps its first items, and the last place is what is read",
                    )
    return None


def _right_aligned(target: ast.expr) -> bool:
    """`rows[r, width - len(h) :]`, `rows[r, -len(h) :]`."""
    cut = _last_slice(target)
    return (
        cut is not None
        and cut.upper is None
        and cut.lower is not None
        and "len(" in unparse(cut.lower)
        and "-" in unparse(cut.lower)
    )


def _left_aligned(target: ast.expr) -> bool:
    """`rows[r, : len(h)]`."""
    cut = _last_slice(target)
    return (
        cut is not None
        and cut.lower is None
        and cut.upper is not None
        and unparse(cut.upper).startswith("len(")
    )


def _last_slice(target: ast.expr) -> ast.Slice | None:
    place = target.slice if isinstance(target, ast.Subscript) else None
    place = place.elts[-1] if isinstance(place, ast.Tuple) and place.elts else place
    return place if isinstance(place, ast.Slice) else None


def _same_array(one: ast.expr, other: ast.expr) -> bool:
    return (
        isinstance(one, ast.Subscript)
        and isinstance(other, ast.Subscript)
        and unparse(one.value) == unparse(other.value)
    )
