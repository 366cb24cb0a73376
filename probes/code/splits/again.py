"""Splits in scripts whose parts meet: rows by a condition, one whole that is split twice or taken whole."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.operators import COMPARISONS
from ...scripts.syntax import Script
from ..shared.checks import at, ok
from ..shared.nodes import whole_number
from ..shared.sides import given, literal, side


def folds_meet(source: Script) -> Finding | None:
    """`table[table.fold <= 8]` for training and `table[table.fold == 8]` held out: one fold is in both."""
    picked = [(g, c) for g in given(source) for c in _conditions(g.value)]
    seen: ast.AST | None = None
    for held, (about, test) in picked:
        for mine, (other, theirs) in picked:
            if held.learns or not mine.learns or about != other or mine.scope is not held.scope:
                continue
            seen = seen or held.node
            numbers = range(-2, 102)
            if any(test(n) and theirs(n) for n in numbers) and any(not theirs(n) for n in numbers):
                return at(source, mine.node, f"the parts that `{about}` tells apart have rows in common")
    return ok(source, seen, "no row meets both conditions") if seen is not None else None


def _conditions(value: ast.expr) -> Iterator[tuple[str, Callable[[int], bool]]]:
    """`table[table["fold"] < 8]` anywhere in a value: what is compared, and the test on whole numbers."""
    for node in of(value, ast.Subscript):
        test = node.slice
        if isinstance(test, ast.Compare) and len(test.ops) == 1 and type(test.ops[0]) in COMPARISONS:
            bound = whole_number(test.comparators[0])
            if bound is not None and 0 <= bound <= 100:
                compare = COMPARISONS[type(test.ops[0])]
                yield unparse(test.left), lambda n, f=compare, b=bound: f(n, b)  # type: ignore[misc]
        elif isinstance(test, ast.Call) and last_name(test.func) == "isin" and test.args:
            listed = test.args[0]
            if isinstance(listed, (ast.List, ast.Tuple)) and isinstance(test.func, ast.Attribute):
                numbers = {e.value for e in listed.elts if isinstance(e, ast.Constant)}
                if len(numbers) == len(listed.elts):
                    yield unparse(test.func.value), lambda n, s=frozenset(numbers): n in s  # type: ignore[misc]


_SPLITS = ("train_test_split", "random_split")


def split_twice(source: Script) -> Finding | None:
    """`rest, test = train_test_split(table)` and then `train, val = train_test_split(table)`, drawn anew."""
    seen: ast.AST | None = None
    made = [n for n in source.of(ast.Assign) if _is_split(n) and not source.loops_around(n)]
    for one in made:
        seen = seen or one
        for other in made:
            if other.lineno <= one.lineno or source.function_around(one) is not source.function_around(other):
                continue
            first, second = _whole(one), _whole(other)
            if not first or first != second or _written_between(source, first, one, other):
                continue
            names = {side(unparse(e)) for n in (one, other) for e in of(n.targets[0], ast.Name)}
            if (
                isinstance(one.targets[0], ast.Tuple)
                and names >= {True, False}
                and not _drawn_alike(one, other)
            ):
                if _apart(one, other):
                    return at(
                        source, other, f"`{first}` is split a second time: the parts of both draws overlap"
                    )
    return ok(source, seen, "each whole is split once") if seen is not None else None


def _apart(one: ast.Assign, other: ast.Assign) -> bool:
    """The two draws give parts of other names, and no part of one is named for the same side alone."""
    names = [{unparse(e) for e in of(n.targets[0], ast.Name)} for n in (one, other)]
    if any(side(n) is True for n in names[0]) and all(side(n) is False for n in names[1]):
        return not names[0] & names[1]  # `train, rest = split(table)`, then `val, test = split(table)`
    held = [{n for n in some if side(n) is False} for some in names]
    return not names[0] & names[1] and bool(held[0]) and bool(held[1]) and held[0] != held[1]


def _is_split(node: ast.Assign) -> bool:
    return isinstance(node.value, ast.Call) and last_name(node.value.func) in _SPLITS


def _whole(node: ast.Assign) -> str:
    call = node.value
    if not isinstance(call, ast.Call):
        return ""
    if last_name(call.func) == "train_test_split" and isinstance(call.func, ast.Attribute):
        owner = unparse(call.func.value)
        if not owner.startswith(("sklearn", "model_selection")):
            return owner
    return unparse(call.args[0]) if call.args and isinstance(call.args[0], (ast.Name, ast.Attribute)) else ""


def _drawn_alike(one: ast.Assign, other: ast.Assign) -> bool:
    """Both draws are the same: they split other columns of the same rows."""
    told = [
        {(k.arg, unparse(k.value)) for k in n.value.keywords}
        for n in (one, other)
        if isinstance(n.value, ast.Call)
    ]
    seeds = {k for some in told for k in some if k[0] in ("random_state", "seed", "generator")}
    return told[0] == told[1] and len(seeds) == 1


def _written_between(source: Script, name: str, one: ast.Assign, other: ast.Assign) -> bool:
    return any(
        one.lineno <= n.lineno < other.lineno and unparse(t) == name
        for n in source.of(ast.Assign)
        for t in n.targets
    )


def whole_beside_part(source: Script) -> Finding | None:
    """`parts = rows.train_test_split()` gives the held-out data, and training data are all of `rows`."""
    seen: ast.AST | None = None
    for node in source.of(ast.Assign):
        if not _is_split(node) or not isinstance(node.targets[0], ast.Name):
            continue
        whole, parts = _whole(node), node.targets[0].id
        later = [g for g in given(source) if getattr(g.node, "lineno", 0) > node.lineno]
        reads = any(
            isinstance(n.ctx, ast.Load) and n.id == parts and n.lineno > node.lineno
            for n in source.of(ast.Name)
        )
        seen = seen or node
        for mine in later if whole and reads else ():
            value = mine.value
            while (
                isinstance(value, ast.Call)
                and isinstance(value.func, ast.Attribute)
                and value.func.attr in _KEEPS
            ):
                value = value.func.value
            if mine.learns and unparse(value) == whole and isinstance(mine.node, ast.Assign):
                return at(source, mine.node, f"training takes all of `{whole}`, of which a part is held out")
    return ok(source, seen, "training takes its part") if seen is not None else None


_KEEPS = ("map", "with_transform", "shuffle", "filter", "remove_columns", "rename_column", "with_format")


def one_file_for_both(source: Script) -> Finding | None:
    """`{"train": "a.csv", "validation": "a.csv"}`: one file is read for both sides."""
    seen: ast.AST | None = None
    for node in source.of(ast.Dict):
        sides: dict[bool, set[str]] = {True: set(), False: set()}
        for key, value in zip(node.keys, node.values, strict=True):
            name = key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else ""
            file = literal(source, value)
            if (learns := side(name)) is not None and isinstance(file, str) and ("." in file or "/" in file):
                sides[learns].add(file)
        if sides[True] and sides[False]:
            seen = seen or node
            if (both := sides[True] & sides[False]) and not any("[" in b for b in both):
                return at(source, node, f"{min(both)} is read for training and as held-out data")
    return ok(source, seen, "each side has files of its own") if seen is not None else None
