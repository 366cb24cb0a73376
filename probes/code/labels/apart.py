"""Sequences in scripts that belong together, row by row, and are put into order or filtered apart."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ...readers._tree import of, unparse, walk
from ...readers.script import last_name, receiver
from ...registry import Finding
from ...script_diff.vocabulary import word_set
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..shared.checks import at, ok
from ..shared.nodes import assigned
from ..shared.roles import INPUT_WORDS, are_targets

_DRAWS = ("shuffle", "permutation", "permuted", "randperm")
_ORDERS = (
    "sort",
    "sorted",
    "flip",
    "flipud",
    "reversed",
    "sample",
    "sort_values",
    "roll",
    "argsort",
    *_DRAWS,
)
_PLAIN = word_set(
    "tensor from_numpy as_tensor array asarray float long int to astype numpy to_numpy tolist list "
    "tuple copy view reshape unsqueeze squeeze stack Tensor FloatTensor LongTensor cat values reset_index "
    "contiguous"
)


@dataclass(frozen=True)
class _Turn:
    """One change of order, or choice of rows: what it goes by, and its statement."""

    by: str
    node: ast.stmt
    drawn: bool = False  # by a generator's next numbers


def ordered_apart(source: Script) -> Finding | None:
    """`x, y` are one sample a row, and only one of the two is shuffled, sorted, mirrored or filtered."""
    seen: ast.AST | None = None
    for sink, one, other, scope, before in _named(source):
        turns = {n: list(_turns(source, scope, n, before)) for n in (one, other)}
        if not turns[one] and not turns[other]:
            continue
        for mine, theirs in ((one, other), (other, one)):
            start = _taken_from(scope, theirs, mine, before)
            later = [t for t in turns[mine] if t.node.lineno > start]
            there = [t.by for t in turns[theirs]] + _indexed_by(scope, theirs, before)
            for turn in later:
                if turn.by not in there and not _taken_from(scope, mine, theirs, before):
                    return at(
                        source, turn.node, f"`{mine}` is put into another order here, and `{theirs}` is not"
                    )
                twice = [t for t in turns[theirs] if t.by == turn.by and t.drawn and turn.drawn]
                if twice and not _seeded_between(source, turn.node, twice[0].node):
                    return at(source, twice[0].node, f"`{mine}` and `{theirs}` are shuffled in two orders")
        seen = seen or sink
    found = _labels_alone(source)
    return found or (
        ok(source, seen, "what belongs together is ordered together") if seen is not None else None
    )


# ------------------------------------------------------------------------------- what belongs together


def _pairs(source: Script) -> Iterator[tuple[ast.AST, ast.expr, ast.expr, ast.AST]]:
    """Two sequences that are taken row by row: where, both, and the function or module it stands in."""
    for call in source.calls:
        name = last_name(call.func)
        scope: ast.AST = source.function_around(call) or source.tree
        given = call.args
        if name in ("from_tensor_slices", "NumpySlicesDataset") and given and isinstance(given[0], ast.Tuple):
            given = given[0].elts
        elif name not in ("train_test_split", "TensorDataset", "ArrayDataset", "fit", "from_tensor_slices"):
            if not _named_as_pair(source, call):
                continue
        for i, second in enumerate(given[1:3], 1):
            if _is_label(second) or name in ("TensorDataset", "ArrayDataset"):
                yield call, given[i - 1], second, scope
                break
    for function in source.of(ast.FunctionDef):
        unpacked = [
            {e.id for e in a.targets[0].elts if isinstance(e, ast.Name)}
            for a in of(function, ast.Assign)
            if isinstance(a.targets[0], ast.Tuple)
            and isinstance(a.value, ast.Call)
            and unparse(a.value).startswith("zip(*")
        ]
        for out in walk(function):
            if unpacked and isinstance(out, ast.Return) and isinstance(out.value, ast.Tuple):
                held = [e for e in out.value.elts if _name(e) in unpacked[0]]
                if len(held) == 2:
                    yield out, held[0], held[1], function


def _named(source: Script) -> Iterator[tuple[ast.AST, str, str, ast.AST, int]]:
    """The names of each pair, and of what both are ranges of: (where, one, other, scope, line to look above).

    `x_train, y_train = x[:n], y[:n]`, and then `fit(x_train, y_train)`: `x` and `y` are such a pair too.
    """
    for sink, first, second, scope in _pairs(source):
        one, other, before = _name(first), _name(second), getattr(sink, "lineno", 0)
        for _ in range(4):
            if not one or not other or one == other:
                break
            yield sink, one, other, scope, before
            mine, theirs = _range_of(scope, one, before), _range_of(scope, other, before)
            if mine is None or theirs is None or mine[1] != theirs[1]:
                break
            one, other, before = mine[0], theirs[0], min(mine[2], theirs[2])


def _range_of(scope: ast.AST, name: str, before: int) -> tuple[str, str, int] | None:
    """What a name is a range of, by its last assignment: (whole, range, line)."""
    found: tuple[str, str, int] | None = None
    for statement in _statements(scope, before):
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            continue
        for target, given in assigned(statement):
            if unparse(target) == name and not _reads(given, name):  # `x = (x - mean) / std` keeps its rows
                cut = isinstance(given, ast.Subscript) and isinstance(given.slice, ast.Slice)
                whole = _name(given) if cut else ""
                where = unparse(given.slice) if isinstance(given, ast.Subscript) else ""
                found = (whole, where, statement.lineno) if whole else None
    return found


def _is_label(node: ast.expr) -> bool:
    return are_targets(_name(node).rpartition(".")[2].lower())


def _named_as_pair(source: Script, call: ast.Call) -> bool:
    """A function of the script that takes (inputs, targets), by the names of its parameters."""
    for function in flow(source).functions.get(last_name(call.func), [])[:2]:
        names = [a.arg for a in function.args.args if a.arg not in ("self", "cls")][:2]
        if len(names) == 2 and are_targets(names[1].lower()):
            return bool(INPUT_WORDS.search(names[0].lower()) or re.search(r"path|file|name|text", names[0]))
    return False


def _name(node: ast.expr) -> str:
    """The name under what only turns a value into another type, or takes a range of it."""
    for _ in range(8):
        if isinstance(node, ast.Call):
            owner = receiver(node)
            if last_name(node.func) not in _PLAIN:
                return ""
            node = node.args[0] if node.args and not isinstance(owner, ast.Call) else owner or node
            if node is owner and owner is None:
                return ""
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            node = node.value
        elif isinstance(node, (ast.Name, ast.Attribute)):
            return unparse(node)
        else:
            return ""
    return ""


# ---------------------------------------------------------------------------------------- what is done


def _statements(scope: ast.AST, before: int) -> Iterator[ast.stmt]:
    """Statements of a function or module above a line, those of inner functions and classes left out."""
    for statement in getattr(scope, "body", []):
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        if isinstance(statement, (ast.If, ast.For, ast.With, ast.While, ast.Try)):
            yield from _statements(statement, before)
        elif statement.lineno < before:
            yield statement


def _turns(source: Script, scope: ast.AST, name: str, before: int) -> Iterator[_Turn]:
    """How a name's rows are put into another order, or chosen, before a line."""
    for statement in _statements(scope, before):
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            call = statement.value
            if last_name(call.func) == "shuffle" and len(call.args) == 1 and unparse(call.args[0]) == name:
                yield _Turn(unparse(call.func), statement, True)
            elif isinstance(call.func, ast.Attribute) and unparse(call.func.value) == name:
                if call.func.attr in ("sort", "reverse"):
                    yield _Turn(unparse(call).replace(name, ""), statement)
            continue
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            continue
        for one, given in assigned(statement):
            if unparse(one) == name and (by := _turn(source, given, name)) is not None:
                yield _Turn(by[0], statement, by[1])


def _turn(source: Script, node: ast.expr, name: str) -> tuple[str, bool] | None:
    """What a value `f(name)` is ordered or chosen by, and whether it is drawn there; None if by nothing."""
    if isinstance(node, ast.ListComp) and len(node.generators) == 1:
        taken, each = node.elt, node.generators[0]  # `[y[i] for i in order]`
        if isinstance(taken, ast.Subscript) and unparse(taken.value) == name and not each.ifs:
            return (unparse(each.iter), False) if _orders(source, each.iter) else None
    for _ in range(8):
        if isinstance(node, ast.Subscript):
            if isinstance(node.slice, ast.Slice):
                if (
                    node.slice.step is not None
                    and unparse(node.slice.step) == "-1"
                    and unparse(node.value) == name
                ):
                    return "reversed", False
            elif _orders(source, node.slice) and _name(node.value) == name:
                return unparse(node.slice), False
            node = node.value
        elif isinstance(node, ast.Call):
            called = last_name(node.func)
            owner = receiver(node)
            args = [a for a in node.args if unparse(a) == name]
            if (
                called in _ORDERS
                and called != "argsort"
                and (args or (owner is not None and unparse(owner) == name))
            ):
                if len(node.args) > 1 and called == "shuffle":
                    return None
                rest = [unparse(a) for a in node.args if a not in args] + [unparse(k) for k in node.keywords]
                seeded = any(k.arg in ("random_state", "seed", "generator") for k in node.keywords)
                fresh = owner is not None and isinstance(owner, ast.Call)
                held = "" if owner is None or unparse(owner) == name else unparse(owner)
                return f"{held}.{called}({', '.join(rest)})", called in _DRAWS and not seeded and not fresh
            if called not in _PLAIN:
                return None
            node = (
                node.args[0]
                if node.args and (owner is None or isinstance(owner, ast.Name))
                else owner or node
            )
        else:
            return None
    return None


def _orders(source: Script, index: ast.expr) -> bool:
    """Whether an index is an order or a choice of rows: drawn, sorted, or found by a comparison."""
    if isinstance(index, ast.Tuple):
        return (
            bool(index.elts)
            and not isinstance(index.elts[0], (ast.Slice, ast.Constant))
            and _orders(source, index.elts[0])
        )
    made: list[ast.expr] = [index, *(flow(source).values(index, 3) if isinstance(index, ast.Name) else [])]
    for value in made:
        if isinstance(value, (ast.Compare, ast.ListComp)) and isinstance(value, ast.Compare):
            return True
        if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Invert):
            return True
        for call in of(value, ast.Call):
            if last_name(call.func) in (
                *_DRAWS,
                "argsort",
                "isnan",
                "isfinite",
                "nonzero",
                "where",
                "isin",
                "choice",
            ):
                return True
    return False


def _taken_from(scope: ast.AST, name: str, other: str, before: int) -> int:
    """The last line where one is made of the other (`y = x.pop("price")`); 0 if it never is."""
    last = 0
    for statement in _statements(scope, before):
        if not isinstance(statement, ast.Assign):
            continue
        targets = [
            unparse(t) for a in statement.targets for t in (a.elts if isinstance(a, ast.Tuple) else [a])
        ]
        if name in targets and other not in targets and _reads(statement.value, other):
            last = statement.lineno
    return last


def _indexed_by(scope: ast.AST, name: str, before: int) -> list[str]:
    """By what rows are taken for a name: `labels = y_train[order]` -> ["order"]."""
    made = [s for s in _statements(scope, before) if isinstance(s, ast.Assign)]
    return [
        unparse(sub.slice)
        for s in made
        if name in {unparse(t) for t in s.targets}
        for sub in of(s.value, ast.Subscript)
    ]


def _reads(node: ast.expr, name: str) -> bool:
    """Whether a value is read for more than its length."""
    lengths = {id(a) for c in of(node, ast.Call) if last_name(c.func) == "len" for a in c.args} | {
        id(a.value) for a in of(node, ast.Attribute) if a.attr == "shape"
    }
    return any(unparse(n) == name and id(n) not in lengths for n in of(node, ast.Name, ast.Attribute))


def _seeded_between(source: Script, one: ast.stmt, other: ast.stmt) -> bool:
    """A seed is set, or a generator's state put back, between two draws."""
    low, high = sorted((one.lineno, other.lineno))
    again = (
        "seed",
        "manual_seed",
        "set_state",
        "setstate",
        "default_rng",
        "RandomState",
        "Random",
        "set_seed",
    )
    return any(low < c.lineno <= high for c in source.named(*again))


# -------------------------------------------------------------------------------- labels of a data set


def _labels_alone(source: Script) -> Finding | None:
    """`train_set.targets` are put into another order, and `train_set.data` are not."""
    for node in source.of(ast.stmt):
        held: ast.expr | None = None
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute):
            held = node.targets[0]
            if _turn(source, node.value, unparse(held)) is None:
                continue
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            call = node.value
            if last_name(call.func) == "shuffle" and len(call.args) == 1:
                held = call.args[0]
        if not isinstance(held, ast.Attribute) or held.attr not in ("targets", "labels"):
            continue
        owner = unparse(held.value)
        scope: Function | ast.Module = source.function_around(node) or source.tree
        others = [
            s
            for s in of(scope, ast.Assign, ast.Expr)
            if s is not node
            and re.search(
                rf"{re.escape(owner)}\.(?!{held.attr}\b)\w+",
                unparse(s.targets[0] if isinstance(s, ast.Assign) else s),
            )
        ]
        if owner != "self" and not any(re.search(r"\[|shuffle|sort|perm", unparse(s)) for s in others):
            return at(source, node, f"the labels of `{owner}` are put into another order than its samples")
    return None
