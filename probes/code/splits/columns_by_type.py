"""Inputs of scripts that are picked by the type of their columns: `df.select_dtypes("number")`."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import all_arguments
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at, extractor, ok
from ..shared.sides import literal


def all_columns(source: Script) -> Finding | None:
    """All numeric columns become inputs, and nothing takes the target out of them."""
    calls = [c for c in source.named("select_dtypes") if isinstance(c.func, ast.Attribute)]
    seen: ast.AST | None = None
    for call in calls:
        statement = source.statement(call) or call
        seen = seen or call
        if isinstance(statement, ast.For) or _OF_TEXTS.search(" ".join(map(unparse, _included(call)))):
            continue  # columns that are gone through, or of texts: no inputs yet
        if _only_changed(source, statement):
            continue
        text = unparse(statement)
        target = _target_column(source)
        left = _filtered(source, statement)
        takes_out = re.search(r"drop|difference|remove|pop|if |!=|- ?\{|exclude", text) is not None
        if left is not None and target:
            named = _column_names(source, target)
            takes_out = not named or bool(left & named) or target in text
        later = [
            c
            for c in source.named("drop", "remove", "pop", "difference", "discard")
            if target and any(target in unparse(a) for a in all_arguments(c))
        ]
        if target and not takes_out and not later:
            return at(source, statement, f"all numeric columns are inputs, the target `{target}` among them")
    return ok(source, seen, "the target is taken out of the columns") if seen is not None else None


def _only_changed(source: Script, statement: ast.AST) -> bool:
    """`df[numbers] = df[numbers].fillna(0)`: the columns are changed where they stand, and picked nowhere."""
    if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
        return False
    name = statement.targets[0].id
    changed = {
        n
        for s in source.of(ast.Assign)
        if isinstance(s.targets[0], ast.Subscript) and unparse(s.targets[0].slice) == name
        for n in of(s, ast.Name)
    }
    read = [n for n in source.of(ast.Name) if n.id == name and isinstance(n.ctx, ast.Load)]
    return bool(read) and all(n in changed for n in read)


_OF_TEXTS = re.compile(r"object|categor|str|bool")


def _included(call: ast.Call) -> list[ast.expr]:
    """What `select_dtypes` is asked for; what it is told to leave out is not."""
    return [*call.args[:1], *(k.value for k in call.keywords if k.arg == "include")]


def _filtered(source: Script, statement: ast.AST) -> set[object] | None:
    """The columns that `[c for c in ... if c not in ("id", "day")]` leaves out; None of another filter."""
    tests = [t for c in of(statement, ast.ListComp) for g in c.generators for t in g.ifs]
    if len(tests) != 1 or not isinstance(tests[0], ast.Compare) or len(tests[0].ops) != 1:
        return None
    test = tests[0]
    group = test.comparators[0]
    ends = [v for v in flow(source).values(group, 3) if isinstance(v, (ast.Tuple, ast.List, ast.Set))]
    if not isinstance(test.ops[0], ast.NotIn) or not isinstance(test.left, ast.Name) or len(ends) != 1:
        return None
    names = {literal(source, e) for e in ends[0].elts}
    return None if None in names else names


def _column_names(source: Script, target: str) -> set[object]:
    """The column that the text of a target stands for."""
    keys = [s.slice for s in source.of(ast.Subscript) if unparse(s.slice) == target]
    found = {literal(source, k) or extractor(source).value(k)[1] for k in keys}
    return {f for f in found if isinstance(f, str)}


def _target_column(source: Script) -> str | None:
    """How a script names its target column: `df[cfg.target]`, `table["price"]` assigned to y."""
    for node in source.of(ast.Subscript):
        if isinstance(node.slice, (ast.Name, ast.Attribute)):
            name = unparse(node.slice)
            if re.search(r"(?i)(?:^|[._])(?:target|label|y)(?:_col|_column|_name)?$", name):
                return name
    for assigned in source.of(ast.Assign):
        if isinstance(assigned.targets[0], ast.Name):
            if re.search(r"^(?:y|target|targets|labels?)(?:_|$)", assigned.targets[0].id.lower()):
                for part_ in of(assigned.value, ast.Subscript):
                    if isinstance(literal(source, part_.slice), str):
                        return unparse(part_.slice)
    return None
