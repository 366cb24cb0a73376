"""Validation data that scripts set aside and never look at, while the test data choose the model."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse
from ...readers.script import keyword, last_name
from ...registry import Finding
from ...scripts.syntax import Function, Script
from ..shared.checks import at
from ..shared.row_names import names_given
from ..shared.sides import words
from .learnt_and_scored import is_learning
from .rows_met import sided

_VALID = {"val", "valid", "validation", "dev", "vl", "va"}
_TEST = {"test", "testing", "tst", "te", "query", "gallery"}
_DATA = re.compile(
    r"(?i)load|data|set|dl$|ds$|split|iter|batches|rows|^[a-z_]*x|^(?:val|valid|validation|dev|va|query|gallery)$"
)
_NO_DATA = re.compile(
    r"(?i)loss|acc|metric|score|len|num|path|dir|file|transform|step|frac|ratio|size|batch_?size"
)


def test_chooses(source: Script) -> Finding | None:
    """`valid` is made and never read, and `test` is scored where the best epoch is kept, and at the end."""
    unused = next(_left_aside(source), None)
    if unused is None:
        return _test_key_chooses(source)
    for place in _where_chosen(source):
        for node in of(place, ast.Name, ast.Attribute):
            kinds = set(words(last_name(node)))
            if isinstance(node.ctx, ast.Load) and kinds & _TEST and not kinds & _VALID and _is_data(node):
                if _read_outside(source, node, place):
                    return at(
                        source,
                        node,
                        f"these choose the model, and `{unused}`, set aside for it, is never read",
                    )
    return None


def _test_key_chooses(source: Script) -> Finding | None:
    """`run(net, loaders["test"])` in the epochs and at the end, and `loaders["val"]` is read by nothing."""
    read: dict[str, list[ast.Subscript]] = {}
    for node in source.of(ast.Subscript):
        if isinstance(node.ctx, ast.Load) and isinstance(node.slice, ast.Constant):
            if isinstance(node.slice.value, str) and isinstance(node.value, ast.Name):
                read.setdefault(node.slice.value, []).append(node)
    left = [n.value for n in source.of(ast.Constant) if isinstance(n.value, str) and n.value in _VALID]
    if not left or any(k in _VALID for k in read) or source.loose or not any(k in _TEST for k in read):
        return None
    tests = [n for k, nodes in read.items() if k in _TEST for n in nodes if _is_loaders(unparse(n.value))]
    for place in _where_chosen(source):
        inside = set(of(place, ast.Subscript))
        for node in tests:
            same = [n for n in tests if n not in inside and unparse(n) == unparse(node)]
            if node in inside and same:
                why = f"these choose the model, and `{left[0]}`, set aside for it, is never read"
                return at(source, node, why)
    return None


def _is_loaders(name: str) -> bool:
    return re.search(r"(?i)load|data|set|dl|ds|split|part", name) is not None


def _is_data(node: ast.Name | ast.Attribute) -> bool:
    name = last_name(node)
    return _DATA.search(
        name.replace("test", "val").replace("Test", "Val")
    ) is not None and not _NO_DATA.search(name)


def _left_aside(source: Script) -> Iterator[str]:
    """Names and methods of validation data that nothing reads."""
    reads = [
        n
        for n in source.of(ast.Name, ast.Attribute)
        if isinstance(n.ctx, ast.Load) and not _with_others(source, n)
    ]
    everywhere = {last_name(n) for n in reads}
    by_function = {(source.function_around(n), last_name(n)) for n in reads if isinstance(n, ast.Name)}
    for node in source.of(ast.Assign):
        scope = source.function_around(node)
        for target in node.targets:
            for one in of(target, ast.Name, ast.Attribute):
                name = last_name(one)
                if not isinstance(one.ctx, ast.Store) or not _is_validation(source, name):
                    continue
                local = isinstance(one, ast.Name) and (
                    scope is not None or source.function_around(one) is None
                )
                if any(_read_beside(source, by_function, scope, t, name) for t in node.targets):
                    continue  # `x_val, y_val, rows_val = split(...)`, and only the rows' numbers are left
                if name not in everywhere or (local and not _read_within(source, by_function, scope, name)):
                    yield name
    hooks = ("val_dataloader", "validation_step", "validate")
    for function in source.of(ast.FunctionDef):
        if function.name not in hooks and "_step" not in function.name and function.name not in everywhere:
            if _is_validation(source, function.name):
                yield function.name


def _read_beside(
    source: Script,
    by_function: set[tuple[Function | None, str]],
    scope: Function | None,
    target: ast.expr,
    name: str,
) -> bool:
    """Another thing of the same part, that one statement gives with this one, is read."""
    others = [e.id for e in getattr(target, "elts", []) if isinstance(e, ast.Name) and e.id != name]
    return any(_is_validation(source, o) and _read_within(source, by_function, scope, o) for o in others)


def _is_validation(source: Script, name: str) -> bool:
    """The name of validation data, which no text of the script names."""
    told = set(words(name)) & _VALID and _DATA.search(name) and not _NO_DATA.search(name)
    return bool(told) and not any(isinstance(m, ast.Constant) for m in source.mentions.get(name, ()))


def _read_within(
    source: Script, by_function: set[tuple[Function | None, str]], scope: Function | None, name: str
) -> bool:
    """A name of a function is read in it or in one inside it; one of the script in any that sets none."""
    for around, read in by_function:
        if read != name:
            continue
        while around is not None and around is not scope:
            if any(n.id == name and isinstance(n.ctx, ast.Store) for n in of(around, ast.Name)):
                break
            around = source.function_around(around)
        if around is scope:
            return True
    return False


def _with_others(source: Script, node: ast.AST) -> bool:
    """It is only counted, or handed over together with both other parts: `fill(train, valid, test)`."""
    call = source.parents.get(node)
    if not isinstance(call, ast.Call) or node not in call.args:
        return False
    if re.fullmatch(r"print|len|info|debug", last_name(call.func)):
        return True
    told = [set(words(unparse(a))) for a in call.args if isinstance(a, (ast.Name, ast.Attribute))]
    alone = isinstance(source.parents.get(call), ast.Expr)
    return alone and any("train" in t for t in told) and any(t & _TEST for t in told)


def _where_chosen(source: Script) -> Iterator[ast.AST]:
    """Loops over epochs that keep the best, what `fit` is told to watch, and what Lightning validates on."""
    for loop in source.of(ast.For, ast.While):
        outer = any(isinstance(p, (ast.For, ast.While)) for p in source.above(loop))
        best = any(re.search(r"(?i)best", unparse(c)) or _kept_by(source, c) for c in of(loop, ast.Compare))
        if best and not outer and is_learning(source, loop):
            yield loop
    for call in source.calls:
        for name in ("validation_data", "eval_dataset"):
            if (given := keyword(call, name)) is not None:
                yield given
    for function in source.of(ast.FunctionDef):
        if function.name == "val_dataloader":
            yield function


def _kept_by(source: Script, test: ast.Compare) -> bool:
    """`if f1 > top: top = f1`: the best one by another name."""
    block = source.parents.get(test)
    if not isinstance(block, ast.If) or block.test is not test or len(test.comparators) != 1:
        return False
    sides = {unparse(test.left), unparse(test.comparators[0])}
    return any(
        isinstance(s, ast.Assign) and {unparse(s.targets[0]), unparse(s.value)} == sides for s in block.body
    )


def _read_outside(
    source: Script, node: ast.Name | ast.Attribute, place: ast.AST, below: bool = False
) -> bool:
    """The same data are read elsewhere as well, or below, for the final score."""
    end = getattr(place, "end_lineno", 0) if below else 0
    inside = set(of(place, ast.Name, ast.Attribute))
    return any(
        unparse(n) == unparse(node) and n not in inside and isinstance(n.ctx, ast.Load) and n.lineno > end
        for n in source.of(ast.Name, ast.Attribute)
    )


def part_never_read(source: Script) -> Finding | None:
    """A part is cut and never read, and the part that gives the final score chooses the best epoch.

    Told by the rows, where no name tells it: `xv` of `xa, xv, xt`.
    """
    parts = sided(source)
    mine = [p for p in parts if p.learns]
    read = {n.id for n in source.of(ast.Name) if isinstance(n.ctx, ast.Load)}
    for left in names_given(source):
        if left.name in read or left.rows.whole or not left.rows.rows or "." in left.name:
            continue
        if not any(m.rows.table == left.rows.table and not m.rows.rows & left.rows.rows for m in mine):
            continue
        for held in parts:
            if held.learns or held.rows.table != left.rows.table or held.rows.rows & left.rows.rows:
                continue
            if set(words(held.name)) & _VALID or set(words(left.name)) & _TEST:
                continue  # the validation part chooses, and the test is run elsewhere
            for place in _where_chosen(source):
                for node in of(place, ast.Name):
                    if node.id == held.name and isinstance(node.ctx, ast.Load):
                        if _read_outside(source, node, place):
                            return at(
                                source,
                                node,
                                f"these choose the model, and `{left.name}` is cut and never read",
                            )
    return None
