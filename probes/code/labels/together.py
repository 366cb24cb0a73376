"""Rows of scripts that belong together, of which one part is put into another order and the rest is not."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ...readers._tree import names_in, of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at, is_evaluation, ok
from ..shared.nodes import assigned, is_handed_to
from ..shared.roles import TARGET_WORDS
from ..shared.rows import rows_of

_DRAWN = ("randperm", "permutation", "argsort", "shuffle", "sample")
_CONTROL = re.compile(
    r"(?i)permut|importance|null|control|random_label|ablat|corrupt|baseline|negative|contrast"
)


_TRUTH = re.compile(rf"{TARGET_WORDS.pattern}|(?:^|_)(?:gold|golds|truths?|trues?|refs?)(?:_|$)")


_TAGS = re.compile(r"(?:^|_)tags?(?:_|$)")


@dataclass(frozen=True)
class _Group:
    """Names whose rows belong together: from which line, in which scope, by what they are known."""

    names: frozenset[str]
    line: int
    scope: ast.AST
    of_labels: bool = False  # one is made of the rows that the other one is made of


def one_part_reordered(source: Script) -> Finding | None:
    """`ids, labels = zip(*items)`, and then `ids = sorted(ids)`; `rng.shuffle(target)` alone.

    Rows belong together where one call gives them, one loop fills them, or two lists are made of one. Silent
    where another one is put into order too, where the order is used again, and for controls by permutation.
    """
    seen: ast.AST | None = None
    for group in _groups(source):
        if _CONTROL.search(getattr(group.scope, "name", "")) or _scores(source, group):
            continue
        seen = seen or group.scope
        if (one := _reordered(source, group)) is not None:
            return one
    found = _column_alone(source) or _table_shuffled_for_one(source) or _split_astray(source)
    found = found or _sorted_for_one(source) or _paired_with_sorted(source)
    found = found or _targets_sorted(source)
    return found or (ok(source, seen, "what belongs together stays together") if seen is not None else None)


def answers_reordered(source: Script) -> Finding | None:
    """`pred.sort()` in an evaluation, and then `zip(gold, pred)`: answers of other samples are compared."""
    for group in _groups(source):
        if not _CONTROL.search(getattr(group.scope, "name", "")) and _scores(source, group):
            if (one := _reordered(source, group)) is not None:
                return one
    return None


def _scores(source: Script, group: _Group) -> bool:
    """The group is of a function that scores."""
    body = getattr(group.scope, "body", [])
    return isinstance(group.scope, ast.FunctionDef) and bool(body) and is_evaluation(source, body[-1])


def _reordered(source: Script, group: _Group) -> Finding | None:
    for name in sorted(group.names):
        for node, order in _turns(source, group, name):
            others = group.names - {name} - _turned_by(source, group, node)
            if not others:
                continue
            if _turned_too(source, group, others, name, order, node):
                continue
            partner = _used_together(group, name, others, node) or _handed_on(
                source, group, name, others, node
            )
            if partner is not None:
                return at(source, node, f"`{name}` is put into another order, and `{partner}` is not")
    return None


def _turned_by(source: Script, group: _Group, node: ast.stmt) -> set[str]:
    """Names that one statement puts into order at once: `x, z = x[order], z[order]`."""
    return {n for n in group.names if any(at_once is node for at_once, _ in _turns(source, group, n))}


# --------------------------------------------------------------------------------- what belongs together


def _groups(source: Script) -> Iterator[_Group]:
    for node in source.of(ast.Assign):
        around: ast.AST = source.function_around(node) or source.tree
        target = node.targets[0]
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Call):
            names = frozenset(unparse(e) for e in target.elts if isinstance(e, (ast.Name, ast.Attribute)))
            labels = {n for n in names if TARGET_WORDS.search(n.lower()) or _TAGS.search(n.lower())}
            if labels and len(labels) < len(names) == len(target.elts):
                yield _Group(names, node.lineno, around)
        elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Name):
            names = frozenset(e.id for e in target.elts if isinstance(e, ast.Name))
            if len(names) == len(target.elts) > 1 and _by_one_index(around, names, node.lineno):
                yield _Group(names, node.lineno, around)
    scopes: list[ast.AST] = [source.tree, *source.of(ast.FunctionDef)]
    for scope in scopes:
        lists: dict[str, ast.Assign] = {}
        made: dict[str, list[tuple[str, int]]] = {}
        for node in of(scope, ast.Assign):
            if (source.function_around(node) or source.tree) is not scope:
                continue
            for one, value in assigned(node):
                if isinstance(value, ast.List) and not value.elts:
                    lists[unparse(one)] = node
                elif (comp := _comprehended(value)) is not None and len(comp.generators) == 1:
                    loop = comp.generators[0]
                    if not loop.ifs and isinstance(loop.iter, ast.Name):
                        made.setdefault(loop.iter.id, []).append((unparse(one), node.lineno))
        for beside in made.values():
            words = [bool(TARGET_WORDS.search(n.rpartition(".")[2].lower())) for n, _ in beside]
            if len(beside) == 2 and sum(words) == 1:
                yield _Group(frozenset(n for n, _ in beside), min(x for _, x in beside), scope, True)
        filled: dict[ast.AST, set[str]] = {}
        for call in of(scope, ast.Call):
            owner = source.owner(call)
            if last_name(call.func) in ("append", "extend") and owner in lists:
                holder = source.parents.get(source.statement(call) or call)
                if isinstance(holder, ast.For):
                    filled.setdefault(holder, set()).add(owner)
        for holder, together in filled.items():
            if any(_TRUTH.search(n.lower()) for n in together) and len(together) > 1:
                yield _Group(frozenset(together), getattr(holder, "lineno", 0), scope)


def _by_one_index(scope: ast.AST, names: frozenset[str], line: int) -> bool:
    """All of them are read by one index together in one statement: `yield x[i], z[i], y[i]`."""
    for whole in of(scope, ast.Tuple):
        parts = [e for e in whole.elts if isinstance(e, ast.Subscript)]
        if whole.lineno > line and {unparse(e.value) for e in parts} == names and len(parts) == len(names):
            if len({unparse(e.slice) for e in parts}) == 1:
                return True
    return False


def _comprehended(value: ast.expr) -> ast.ListComp | None:
    """A list by a comprehension, and what one is made into: `torch.tensor([y for _, y in batch])`."""
    made = last_name(value.func) if isinstance(value, ast.Call) else ""
    if isinstance(value, ast.Call) and value.args and re.match(r"^(?:\w*[tT]ensor|as?array|stack)$", made):
        value = value.args[0]
    return value if isinstance(value, ast.ListComp) else None


# ------------------------------------------------------------------------------------------ what is done


def _turns(source: Script, group: _Group, name: str) -> Iterator[tuple[ast.stmt, str]]:
    """Statements that put a name's rows into another order, with the name of the order ("" of none)."""
    for node in of(group.scope, ast.Assign, ast.Expr):
        if node.lineno <= group.line or (source.function_around(node) or source.tree) is not group.scope:
            continue
        if isinstance(node, ast.Expr):
            call = node.value
            if isinstance(call, ast.Call) and last_name(call.func) == "shuffle":
                if len(call.args) == 1 and unparse(call.args[0]) == name:
                    yield node, ""
            elif isinstance(call, ast.Call) and last_name(call.func) == "sort" and source.owner(call) == name:
                yield node, ""
            continue
        for one, value in assigned(node):
            if unparse(one) != name:
                continue
            if isinstance(value, ast.Call) and last_name(value.func) in ("sorted", "permutation"):
                if value.args and unparse(value.args[0]) == name:
                    yield node, ""
            if isinstance(value, ast.ListComp) and len(value.generators) == 1:
                loop = value.generators[0]
                if isinstance(value.elt, ast.Subscript) and unparse(value.elt.value) == name:
                    if isinstance(loop.iter, ast.Name) and _drawn(source, loop.iter):
                        yield node, loop.iter.id
            if isinstance(value, ast.Subscript) and unparse(value.value) == name:
                if isinstance(value.slice, ast.Name) and _drawn(source, value.slice):
                    yield node, value.slice.id


def _drawn(source: Script, order: ast.Name) -> bool:
    """An index is an order that is drawn or sorted."""
    return any(last_name(c.func) in _DRAWN for v in flow(source).values(order, 3) for c in of(v, ast.Call))


def _turned_too(
    source: Script, group: _Group, others: frozenset[str], name: str, order: str, node: ast.stmt
) -> bool:
    """Another one of the group is changed with it, or the order is used for more than this name."""
    inside = set(of(node, ast.Name))
    if order and any(
        n.id == order
        and isinstance(n.ctx, ast.Load)
        and n not in inside
        and not is_handed_to(source, n, "shuffle")
        for n in of(group.scope, ast.Name)
    ):
        return True
    for other in others:
        if any(_turns(source, group, other)):
            return True
        for again in of(group.scope, ast.Assign):
            if again.lineno > group.line and other in {unparse(t) for t, _ in assigned(again)}:
                if name in names_in(again.value) and not group.of_labels:
                    return True
    return False


def _used_together(group: _Group, name: str, others: frozenset[str], node: ast.stmt) -> str | None:
    """What is read together with the name after it was put into order: in one call, or by one index."""
    if group.of_labels:
        return next(iter(others))
    cuts: dict[str, set[str]] = {}
    for sub in of(group.scope, ast.Subscript):
        if sub.lineno > node.lineno:
            cuts.setdefault(unparse(sub.value), set()).add(unparse(sub.slice))
    for other in sorted(others):
        if cuts.get(name, set()) & cuts.get(other, set()):
            return other
    for sink in of(group.scope, ast.Call, ast.Return):
        if sink.lineno <= node.lineno:
            continue
        read = {unparse(n) for n in of(sink, ast.Name, ast.Attribute)}
        handed = (
            isinstance(sink, ast.Return)
            or last_name(sink.func)[:1].isupper()
            or last_name(sink.func) in ("zip", "fit", "train_test_split")
        )
        labels = [o for o in sorted(others) if o in read and (_TRUTH.search(o) or _TRUTH.search(name))]
        if handed and name in read and labels:
            return labels[0]
    return None


def _handed_on(
    source: Script, group: _Group, name: str, others: frozenset[str], node: ast.stmt
) -> str | None:
    """A label that is handed to a function of the program beside the name, which takes both by one index."""
    for call in of(group.scope, ast.Call):
        given = [unparse(a) for a in call.args]
        if call.lineno <= node.lineno or name not in given:
            continue
        for function in flow(source).called(call):
            names = [a.arg for a in function.args.args if a.arg not in ("self", "cls")]
            taken = dict(zip(given, names, strict=False))
            cuts: dict[str, set[str]] = {}
            for sub in of(function, ast.Subscript):
                cuts.setdefault(unparse(sub.value), set()).add(unparse(sub.slice))
            loops = {unparse(c.iter): unparse(c.target) for c in of(function, ast.comprehension)}
            for other in sorted(others & taken.keys()):
                mine, theirs = cuts.get(taken[name], set()), cuts.get(taken[other], set())
                by_one = mine & theirs or any(loops.get(t) in mine for t in theirs)
                if by_one and any(w.search(n) for w in (_TRUTH, _TAGS) for n in (other, name)):
                    return other
    return None


# -------------------------------------------------------------------------------------- columns of a table


_VALUES = ("values", "to_numpy", "tolist", "to_list", "reset_index", "array")


def _column_alone(source: Script) -> Finding | None:
    """`table["text"] = table["text"].sample(frac=1).values`: one column of a table in another order."""
    for node in source.of(ast.Assign):
        target = node.targets[0]
        if not (isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant)):
            continue
        if source.loops_around(node) or _CONTROL.search(source.function_name(node)):
            continue
        column = unparse(target)
        for call in of(node.value, ast.Call):
            name = last_name(call.func)
            drawn = (name == "sample" and source.owner(call) == column) or (
                name == "permutation" and call.args and unparse(call.args[0]).startswith(column)
            )
            kept = name == "permutation" or any(f".{v}" in unparse(node.value) for v in _VALUES)
            if drawn and kept and re.search(r"frac=1(?:\.0)?\b|permutation", unparse(call)):
                return at(source, node, f"`{column}` is put into another order, the other columns are not")
    return None


def _table_shuffled_for_one(source: Script) -> Finding | None:
    """`x = df[cols].sample(frac=1).values` beside `y = df["price"].values`."""
    for call in source.named("sample"):
        if "frac=1" not in unparse(call) or not isinstance(call.func, ast.Attribute):
            continue
        part, statement = call.func.value, source.statement(call)
        if not (isinstance(part, ast.Subscript) and isinstance(statement, ast.Assign)):
            continue
        if not any(f".{v}" in unparse(statement.value) for v in _VALUES):
            continue
        table, scope = unparse(part.value), source.function_around(call) or source.tree
        for other in of(scope, ast.Assign):
            taken = [s for s in of(other.value, ast.Subscript) if unparse(s.value) == table]
            label = TARGET_WORDS.search(unparse(other.targets[0]).lower())
            if other is statement or not taken or not label or "sample(" in unparse(other.value):
                continue
            if any(f".{v}" in unparse(other.value) for v in _VALUES) and other.lineno > statement.lineno:
                if table not in {
                    unparse(t)
                    for n in of(scope, ast.Assign)
                    for t in n.targets
                    if statement.lineno < n.lineno < other.lineno
                }:
                    return at(source, call, f"rows of `{table}` are drawn anew for the inputs alone")
    return None


# ---------------------------------------------------------------------------------------- one split of two


def _split_astray(source: Script) -> Finding | None:
    """`x_train, y_train, x_test, y_test = train_test_split(x, y)`; inputs and labels split by two seeds."""
    alone: list[tuple[ast.Call, bool, ast.AST]] = []
    for call in source.named("train_test_split"):
        statement = source.statement(call)
        if not (isinstance(statement, ast.Assign) and statement.value is call):
            continue
        target = statement.targets[0]
        if not isinstance(target, (ast.Tuple, ast.List)) or any(
            isinstance(a, ast.Starred) for a in call.args
        ):
            continue
        labels = [_of_labels(e) for e in target.elts]
        if len(call.args) == 2 and labels == [False, True, False, True] and _of_labels(call.args[1]):
            return at(source, call, "both parts of the inputs come first, then both parts of the labels")
        if len(call.args) == 1 and len(labels) == 2 and labels[0] == labels[1]:
            alone.append((call, labels[0], source.function_around(call) or source.tree))
    for call, label, scope in alone:
        for other, beside, around in alone:
            if label or not beside or around is not scope or _said(call, "shuffle") == "False":
                continue
            if _of_labels(call.args[0]) or not _of_labels(other.args[0]):
                continue
            same = all(_said(call, k) == _said(other, k) for k in ("test_size", "train_size", "random_state"))
            between = call.lineno, other.lineno
            seeded = any(min(between) < c.lineno < max(between) for c in source.named("seed"))
            if not same or (_said(call, "random_state") in ("", "None") and not seeded):
                if len([a for a in alone if a[1] is beside and a[2] is scope]) == 1:
                    return at(source, other, "inputs and labels are split by two draws: rows no longer match")
    return None


def _sorted_for_one(source: Script) -> Finding | None:
    """`Photos(files[rows], labels[np.sort(rows)])`: one in the order of the rows, the other sorted."""
    for node in source.of(ast.Call, ast.Tuple, ast.Return):
        parts = list(node.args) if isinstance(node, ast.Call) else list(getattr(node, "elts", []))
        taken: list[tuple[str, str]] = []
        for part in parts:
            if isinstance(part, ast.Call) and len(part.args) == 1:
                part = part.args[0]  # `as_tensor(labels[rows])`
            if isinstance(part, ast.Name) and isinstance(node, ast.Call):
                taken += _taken_before(source, part)
            if isinstance(part, ast.Subscript):
                taken.append((unparse(part.value), unparse(part.slice)))
            elif isinstance(part, ast.ListComp) and isinstance(part.elt, ast.Subscript):
                loop = part.generators[0]
                if unparse(part.elt.slice) == unparse(loop.target) and not loop.ifs:
                    taken.append((unparse(part.elt.value), unparse(loop.iter)))
        plain = {index: whole for whole, index in taken if index.isidentifier()}
        for whole, index in taken:
            order = re.fullmatch(r"(?:(?:np|numpy|torch)\.)?sort(?:ed)?\((\w+)\)(?:\.values|\[0\])?", index)
            if order is not None and plain.get(order[1], whole) != whole:
                why = f"`{whole}` is taken by the rows of `{plain[order[1]]}` in another order"
                return at(source, node, why)
    return None


def _taken_before(source: Script, name: ast.Name) -> list[tuple[str, str]]:
    """The rows that a name was taken by: `y = np.where(gaps[rows], -1, labels[rows])`."""
    given = flow(source).all_given(name)
    if len(given) != 1 or given[0].places:
        return []
    picked = [s for s in of(given[0].value, ast.Subscript) if isinstance(s.value, ast.Name)]
    taken = {(s.value.id, unparse(s.slice)) for s in picked if isinstance(s.value, ast.Name)}
    return list(taken) if len(taken) == 1 else []


def _targets_sorted(source: Script) -> Finding | None:
    """`y = np.sort(y)`, and then `fit(x, y)`: the targets alone are put into order."""
    for node in source.of(ast.Assign):
        value, name = node.value, node.targets[0]
        if not isinstance(name, ast.Name) or not isinstance(value, ast.Call) or not value.args:
            continue
        if last_name(value.func) not in ("sort", "sorted") or unparse(value.args[0]) != name.id:
            continue
        if not _of_labels(name):
            continue
        for call in source.named("fit", "TensorDataset", "from_tensor_slices", "zip", "train_test_split"):
            handed = (
                list(call.args[0].elts) if call.args and isinstance(call.args[0], ast.Tuple) else call.args
            )
            if call.lineno > node.lineno and len(handed) >= 2 and unparse(handed[1]) == name.id:
                mine = [g.value for g in flow(source).all_given(handed[1])] == [value]
                inner = handed[0].value if isinstance(handed[0], ast.Subscript) else handed[0]
                if mine and not _of_labels(inner) and not _sorted_before(source, inner):
                    return at(source, node, f"`{name.id}` is sorted, and what it belongs to is not")
    return None


def _sorted_before(source: Script, node: ast.expr) -> bool:
    given = flow(source).all_given(node)
    return any("sort" in unparse(g.value) for g in given)


def _paired_with_sorted(source: Script) -> Finding | None:
    """`zip(files, sorted(labels))` of labels that were made file by file."""
    for call in source.named("zip"):
        order = [a for a in call.args if isinstance(a, ast.Call) and last_name(a.func) in ("sorted", "sort")]
        plain = [a for a in call.args if isinstance(a, ast.Name)]
        if len(order) != 1 or not order[0].args or len(plain) != 1 or len(call.args) != 2:
            continue
        inner, other = order[0].args[0], plain[0]
        rows = [rows_of(source).rows(a) for a in (inner, other)]
        if _of_labels(inner) and not _of_labels(other) and rows[0] is not None and rows[0] == rows[1]:
            return at(source, call, f"`{unparse(inner)}` is sorted, and `{other.id}` is not")
    return None


def _of_labels(node: ast.expr) -> bool:
    return TARGET_WORDS.search(unparse(node).rpartition(".")[2].lower()) is not None


def _said(call: ast.Call, name: str) -> str:
    return next((unparse(k.value) for k in call.keywords if k.arg == name), "")
