"""What scripts say is the test, and which rows were scored; answers held against other rows."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse, walk
from ...readers.script import all_arguments, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.nodes import assigned, flat
from ..shared.sides import words

_VALID = frozenset(("val", "valid", "validation", "dev", "xv", "yv"))
_SHOWS = ("print", "info", "log", "write", "echo")


def test_of_other_rows(source: Script) -> Finding | None:
    """`print("test", score(valid))`, and the test rows that the program has are never scored."""
    if source.loose:
        return None
    unused = _unused_tests(source)
    if not unused:
        return None
    for call in source.calls:
        said = [
            n.value
            for a in all_arguments(call)
            for n in of(a, ast.Constant)
            if isinstance(n.value, str) and re.search(r"(?i)(?:^|[^a-z])test(?:[^a-z]|$)", n.value)
        ]
        key = any(k.arg == "metric_key_prefix" for k in call.keywords)
        if not said or not (last_name(call.func) in _SHOWS or key):
            continue
        if any(re.search(r"(?i)val|dev", t) for t in said):
            continue
        scored = [call] if key else [c for a in all_arguments(call) for c in _behind(source, a)]
        for one in scored:
            told = {w for a in all_arguments(one) for w in _words(a)}
            if told & _VALID and "test" not in told and not _is_keyed_test(one):
                return at(
                    source, one, f"this is called the test and scores other rows; `{unused}` is never used"
                )
    return None


def _is_keyed_test(call: ast.Call) -> bool:
    return any(
        isinstance(n.slice, ast.Constant) and n.slice.value == "test"
        for a in all_arguments(call)
        for n in of(a, ast.Subscript)
    )


def _words(node: ast.expr) -> set[str]:
    """The words of the names and keys in an argument."""
    found: set[str] = set()
    for one in of(node, ast.Name, ast.Attribute):
        found |= set(words(last_name(one)))
    for item in of(node, ast.Subscript):
        if isinstance(item.slice, ast.Constant) and isinstance(item.slice.value, str):
            found |= set(words(item.slice.value))
    return found


def _behind(source: Script, node: ast.expr) -> Iterator[ast.Call]:
    """Calls that give what is shown: in the argument itself, or in what its names were given."""
    yield from of(node, ast.Call)
    for name in of(node, ast.Name):
        for given in flow(source).all_given(name)[:1]:
            yield from of(given.value, ast.Call)


def _unused_tests(source: Script) -> str:
    """A name or key of test rows that is made and never read; empty where there is none, or one is read."""
    made: list[str] = []
    for node in source.of(ast.Assign):
        for target in flat(node.targets):
            if isinstance(target, (ast.Name, ast.Attribute)) and "test" in words(last_name(target)):
                made.append(unparse(target))
    stores = {
        n.value
        for n in source.of(ast.Subscript)
        if isinstance(n.ctx, ast.Store) and isinstance(n.value, (ast.Name, ast.Attribute))
    }
    for read in source.of(ast.Name, ast.Attribute):
        if not isinstance(read.ctx, ast.Load) or read in stores or "test" not in words(last_name(read)):
            continue
        parent = source.parents.get(read)
        if isinstance(parent, ast.Attribute) and parent.value is read and not made:
            continue
        if _is_carried(source, read):
            continue
        return ""
    if made:
        return made[-1]
    keys = [
        n
        for n in source.of(ast.Constant)
        if n.value == "test" and isinstance(source.parents.get(n), (ast.Tuple, ast.List, ast.Dict))
    ]
    asked = [
        n for n in source.of(ast.Subscript) if isinstance(n.slice, ast.Constant) and n.slice.value == "test"
    ]
    got = [
        c
        for c in source.calls
        if c.args and isinstance(c.args[0], ast.Constant) and c.args[0].value == "test"
    ]
    parts = {
        n.value
        for k in keys
        for n in walk(source.parents[k])
        if isinstance(n, ast.Constant) and isinstance(n.value, str)
    }
    return "test" if keys and not asked and not got and parts & _VALID else ""


def _is_carried(source: Script, node: ast.AST) -> bool:
    """`xe = (xe - m) / s` of test rows: it is read to be made anew under a name of test."""
    statement = source.statement(node)
    return isinstance(statement, ast.Assign) and all(
        isinstance(t, (ast.Name, ast.Attribute)) and "test" in words(last_name(t))
        for t in flat(statement.targets)
    )


# ------------------------------------------------------------------------------------ rows that go together


def answers_of_other_rows(source: Script) -> Finding | None:
    """`p = grade(x_valid)` against `y_test`, where `x_valid, y_valid = x[a:b], y[a:b]` were cut as a pair."""
    pairs = _partners(source)
    if not pairs:
        return None
    labels = {y for _, y in pairs}
    rows = dict(pairs)
    if len(rows) != len(pairs) or len(labels) != len(pairs):
        return None
    for one, other, place in _held_against(source):
        for guess, truth in ((one, other), (other, one)):
            if not isinstance(truth, ast.Name) or truth.id not in labels or not isinstance(guess, ast.Name):
                continue
            given = flow(source).all_given(guess)
            if len(given) != 1 or not isinstance(given[0].value, ast.Call):
                continue
            used = {a.id for a in given[0].value.args if isinstance(a, ast.Name)} & set(rows)
            if len(used) == 1 and rows[min(used)] != truth.id:
                x = min(used)
                return at(
                    source, place, f"`{guess.id}` is of `{x}`, whose labels are `{rows[x]}`, not `{truth.id}`"
                )
    return None


def _partners(source: Script) -> list[tuple[str, str]]:
    """Rows and labels that were cut alike: `xv, yv = x[a:b], y[a:b]`, and those of `train_test_split`."""
    found: list[tuple[str, str]] = []
    for node in source.of(ast.Assign):
        if source.function_around(node) is not None:
            continue
        pairs = assigned(node)
        if len(pairs) == 2 and all(
            isinstance(v, ast.Subscript) and isinstance(t, ast.Name) for t, v in pairs
        ):
            (x, a), (y, b) = pairs
            if isinstance(a, ast.Subscript) and isinstance(b, ast.Subscript):
                if unparse(a.slice) == unparse(b.slice) and unparse(a.value) != unparse(b.value):
                    if isinstance(a.slice, (ast.Slice, ast.Name)):
                        found.append((unparse(x), unparse(y)))
        target, value = node.targets[0], node.value
        if isinstance(target, ast.Tuple) and len(target.elts) == 4 and isinstance(value, ast.Call):
            if last_name(value.func) == "train_test_split" and len(value.args) == 2:
                x1, x2, y1, y2 = map(unparse, target.elts)
                found += [(x1, y1), (x2, y2)]
    return [] if len(found) < 2 or any(x == y for x, y in found) else list(dict.fromkeys(found))


_SCORES = re.compile(
    r"(?i)acc|score|kappa|f1|mae|mse|rmse|auc|error|report|confusion|r2|metric|precision|recall"
)


def _held_against(source: Script) -> Iterator[tuple[ast.expr, ast.expr, ast.AST]]:
    for node in source.of(ast.Compare):
        if len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq):
            yield node.left, node.comparators[0], node
    for difference in source.of(ast.BinOp):
        if isinstance(difference.op, ast.Sub):
            yield difference.left, difference.right, difference
    for call in source.calls:
        if len(call.args) >= 2 and _SCORES.search(last_name(call.func)):
            yield call.args[0], call.args[1], call


def scored_against_itself(source: Script) -> Finding | None:
    """`kappa(y, y)`: a score of the script's own is handed one name twice, and different ones elsewhere."""
    for call in source.calls:
        if (twice := _named_twice(call)) is not None:
            return at(source, call, f"`{twice}` is scored against itself")
        if len(call.args) < 2 or not all(isinstance(a, ast.Name) for a in call.args[:2]):
            continue
        if unparse(call.args[0]) != unparse(call.args[1]) or not flow(source).called(call):
            continue
        others = [c for c in source.named(last_name(call.func)) if c is not call and len(c.args) >= 2]
        apart = [c for c in others if unparse(c.args[0]) != unparse(c.args[1])]
        if apart and len(apart) == len(others) and _SCORES.search(last_name(call.func)):
            return at(source, call, f"`{unparse(call.args[0])}` is scored against itself")
    return None


_SIDES = (("predictions", "references"), ("y_pred", "y_true"), ("preds", "target"), ("hypothesis", "truth"))


def _named_twice(call: ast.Call) -> str | None:
    """`metric.compute(predictions=told, references=told)`: both sides of a library's metric are one name."""
    given = {k.arg: unparse(k.value) for k in call.keywords if isinstance(k.value, ast.Name)}
    return next((given[a] for a, b in _SIDES if a in given and given[a] == given.get(b)), None)
