"""Data that scripts cut into training and held-out parts and use whole: handed over, or for figures.

What makes these sure: the part that should stand there is never read, or the other side takes a part of the
same whole at the same place of the same call.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import names_in, of, unparse, walk
from ...readers.script import argument, last_name, receiver
from ...registry import Finding
from ...scripts.syntax import Function, Script
from ..shared.checks import at
from ..shared.sides import side
from ..shared.uses import handed
from .rows_met import learned_from, of_own_scale
from .split_steps import cut_up

_SPLITS = ("train_test_split", "random_split")


def whole_for_a_part(source: Script) -> Finding | None:
    """`train, val = split(rows)`, then `val_set = Rows(rows)`, `val` is never read; or sides exchanged."""
    for check in (_part_never_read, _cut_beside_whole, _split_of_all_again, _filled_with_both):
        if (found := check(source)) is not None:
            return found
    return None


def _cuts(source: Script) -> Iterator[tuple[ast.Assign, list[str], list[str]]]:
    """Statements that cut data: the statement, the names of its parts, and of what it cuts."""
    for node in source.of(ast.Assign):
        target, value = node.targets[0], node.value
        if len(node.targets) != 1 or not isinstance(target, ast.Tuple):
            continue
        names = [t.id for t in target.elts if isinstance(t, ast.Name)]
        if isinstance(value, ast.Call) and "fit" not in last_name(value.func):
            wholes = [a.id for a in value.args if isinstance(a, ast.Name)]
        elif isinstance(value, ast.Tuple) and all(_sliced(e) for e in value.elts):
            wholes = list({_sliced(e) for e in value.elts})
        else:
            continue
        if {True, False} <= {side(n) for n in names} and wholes:
            yield node, names, wholes


def _sliced(node: ast.expr) -> str:
    """`rows` of `rows[:n]`."""
    cut = isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice)
    return (
        node.value.id if cut and isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) else ""
    )


def _part_never_read(source: Script) -> Finding | None:
    for node, names, wholes in _cuts(source):
        scope = source.function_around(node)
        for learns, call, one in handed(source):
            if not isinstance(one, ast.Name) or one.id not in wholes or call.lineno <= node.lineno:
                continue
            if source.function_around(call) is not scope or _set_between(source, one.id, node, call):
                continue
            shared = {n for g in of(scope, ast.Global) for n in g.names} if scope is not None else set()
            if shared & set(names):
                continue  # other functions may read them
            mine = [n for n in names if side(n) is learns]
            if mine and not any(_read(source, n, scope) for n in mine):
                part = "held-out" if not learns else "training"
                return at(
                    source,
                    call,
                    f"all of `{one.id}` is given, and its {part} part `{mine[0]}` is not used",
                )
    return None


def _cut_beside_whole(source: Script) -> Finding | None:
    """`Lines(lines[:cut])` for training and `Lines(lines)` held out, alike in all else."""
    parts: list[tuple[bool, ast.Call, str, str]] = []
    for learns, call, one in handed(source):
        name = _sliced(one)
        if name and isinstance(one, ast.Subscript) and not of(one.slice, ast.Constant):
            parts.append((learns, call, name, unparse(one)))
    for learns, call, one in handed(source):
        if not isinstance(one, ast.Name):
            continue
        for other, theirs, name, text in parts:
            if other is learns or name != one.id or unparse(call.func) != unparse(theirs.func):
                continue
            scope = source.function_around(call)
            if scope is not source.function_around(theirs) or last_name(call.func) == "DataLoader":
                continue
            first, last = sorted((call, theirs), key=lambda c: c.lineno)
            rest = [
                unparse(a).replace(text, name) for a in (*theirs.args, *(k.value for k in theirs.keywords))
            ]
            same = rest == [unparse(a) for a in (*call.args, *(k.value for k in call.keywords))]
            outer = source.parents.get(call)
            sampled = isinstance(outer, ast.Call) and any(
                k.arg and "sampler" in k.arg for k in outer.keywords
            )
            if same and not sampled and not _set_between(source, name, first, last):
                whole, part = ("training", "held-out") if learns else ("held-out", "training")
                return at(
                    source, call, f"the {whole} data are all of `{name}`, and `{text}` are the {part} ones"
                )
    return None


def _split_of_all_again(source: Script) -> Finding | None:
    """`train, rest = train_test_split(x)`, then `val, test = train_test_split(x)`: `rest` is never read."""
    made = [
        (
            n,
            [t.id for t in of(n.targets[0], ast.Name)],
            [a.id for a in n.value.args if isinstance(a, ast.Name)],
        )
        for n in source.of(ast.Assign)
        if isinstance(n.value, ast.Call) and last_name(n.value.func) in _SPLITS
    ]
    for one, names, wholes in made:
        scope = source.function_around(one)
        left = [n for n in names if side(n) is None and not _read(source, n, scope)]
        if not wholes or not left or True not in map(side, names):
            continue
        for other, parts, again in made:
            if other.lineno <= one.lineno or source.function_around(other) is not scope:
                continue
            if again[:1] == wholes[:1] and not _set_between(source, wholes[0], one, other):
                if False in map(side, parts) and True not in map(side, parts):
                    return at(
                        source, other, f"all of `{wholes[0]}` is split again, and `{left[0]}` is never used"
                    )
    return None


def _filled_with_both(source: Script) -> Finding | None:
    """`train.extend(x)` for every round of a loop, and `if ...: val.extend(x)` with the same."""
    for loop in source.of(ast.For):
        every = {(last_name(c.func), unparse(c.args[0])): source.owner(c) for c in _fills(loop.body)}
        for branch in (s for s in loop.body if isinstance(s, ast.If)):
            for call in _fills([*branch.body, *branch.orelse]):
                mine, owner = every.get((last_name(call.func), unparse(call.args[0]))), source.owner(call)
                if mine and {side(mine), side(owner)} == {True, False}:
                    return at(source, call, f"what goes to `{owner}` goes to `{mine}` as well")
    return None


def _fills(body: list[ast.stmt]) -> list[ast.Call]:
    calls = [s.value for s in body if isinstance(s, ast.Expr) and isinstance(s.value, ast.Call)]
    return [c for c in calls if last_name(c.func) in ("append", "extend") and c.args]


def _read(source: Script, name: str, scope: Function | None) -> bool:
    """The name is read in its function, or anywhere where it is one of the script."""
    inside = source.of(ast.Name) if scope is None else of(scope, ast.Name)
    return any(n.id == name and isinstance(n.ctx, ast.Load) for n in inside) or name in source.mentions


def _set_between(source: Script, name: str, one: ast.stmt | ast.expr, other: ast.stmt | ast.expr) -> bool:
    return any(
        n.id == name and isinstance(n.ctx, ast.Store) and one.lineno < n.lineno <= other.lineno
        for n in source.of(ast.Name)
    )


# ------------------------------------------------------------------------------------- figures of all samples

_FIGURES = re.compile(
    r"(?i)(?:^|_)(?:means?|stds?|stdev|deviations?|mu|sigma|stats|statistics|scaler?|normali[sz]er|mean_std)(?:_|$)"
)
_LEARNS = re.compile(r"(?i)\b(?:mean|std|var|sum|min|max|square|sqrt|fit|fit_transform|partial_fit)\b")


def figures_of_all(source: Script) -> ast.AST | None:
    """`mean, std = statistics(rows)`, of rows that are cut into splits, by a function of the script.

    Also `statistics(train + val)`, `both = cat([train, val])` and `both.mean(0)`, and a table that is
    standardised in its own place before it is cut.
    """
    if (found := _figures_of_joined(source)) is not None:
        return found
    wholes = cut_up(source) | {(w, source.function_around(n)) for n, _, all_ in _cuts(source) for w in all_}
    functions = {f.name: f for f in source.of(ast.FunctionDef) if source.class_around(f) is None}
    for node in source.of(ast.Assign):
        call, scope = node.value, source.function_around(node)
        if not isinstance(call, ast.Call) or not call.args or last_name(call.func) not in functions:
            continue
        names = [unparse(t) for t in of(node.targets[0], ast.Name, ast.Attribute)]
        if not any(_FIGURES.search(n) and side(n) is None for n in names):
            continue
        if {True, False} <= {side(n) for n in names}:
            continue  # it gives the parts as well: of which rows its figures are, is seen in it
        body = functions[last_name(call.func)]
        if not any(_LEARNS.search(last_name(c.func)) for c in of(body, ast.Call)):
            continue
        given = call.args[0]
        whole = isinstance(given, ast.Name) and (given.id, scope) in wholes and side(given.id) is None
        if (whole or _both(given)) and len(call.args) + len(call.keywords) <= 2:
            if not any(isinstance(n, ast.Constant) and isinstance(n.value, str) for n in walk(call)):
                return call
    return _table_standardised(source)


_STATISTICS = frozenset(
    ("mean", "std", "var", "min", "max", "amin", "amax", "median", "quantile", "percentile")
)


def _figures_of_joined(source: Script) -> ast.AST | None:
    """`both = torch.cat([x_train, x_val])`, then `both.mean(0)` or `np.std(both)`, kept as a figure."""
    joined = {
        (node.targets[0].id, source.function_around(node))
        for node in source.of(ast.Assign)
        if isinstance(node.targets[0], ast.Name) and side(node.targets[0].id) is None and _both(node.value)
    }
    for call in source.calls if joined else ():
        if last_name(call.func) not in _STATISTICS:
            continue
        method = receiver(call)
        of_what = call.args[0] if call.args and isinstance(call.args[0], ast.Name) else method
        if isinstance(of_what, ast.Name) and (of_what.id, source.function_around(call)) in joined:
            kept = source.statement(call)
            if isinstance(kept, ast.Assign) and not any(of_what.id in names_in(t) for t in kept.targets):
                return call
    return None


def _both(node: ast.expr) -> bool:
    """`train + val`, `[*train, *val]`, `np.concatenate([train, val])`."""
    parts: list[ast.expr] = []
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        parts = [node.left, node.right]
    elif isinstance(node, (ast.List, ast.Tuple)):
        parts = [e.value if isinstance(e, ast.Starred) else e for e in node.elts]
    elif isinstance(node, ast.Call) and last_name(node.func) in ("concatenate", "concat", "cat", "vstack"):
        first = argument(node, position=0)
        parts = first.elts if isinstance(first, (ast.List, ast.Tuple)) else []
    sides = [side(unparse(p)) for p in parts if isinstance(p, (ast.Name, ast.Attribute))]
    return len(parts) > 1 and {True, False} <= set(sides) and len(sides) == len(parts)


def _table_standardised(source: Script) -> ast.AST | None:
    """`table[cols] = (table[cols] - table[cols].mean()) / table[cols].std()`, and the split comes below."""
    for node in source.of(ast.Assign):
        target, value = node.targets[0], node.value
        if not isinstance(target, (ast.Name, ast.Subscript)) or not _by_itself(value, unparse(target)):
            continue
        root = target.value if isinstance(target, ast.Subscript) else target
        scope = source.function_around(node)
        if not isinstance(root, ast.Name) or side(root.id) is not None or source.loops_around(node):
            continue
        names = {root.id}
        for later in source.of(ast.Assign):
            if later.lineno > node.lineno and source.function_around(later) is scope:
                read = names_in(later.value)
                if isinstance(later.targets[0], ast.Name) and read & {root.id}:
                    names.add(later.targets[0].id)
        splits = [c for c in source.named(*_SPLITS) if c.lineno > node.lineno]
        cut = {
            a.id
            for c in splits
            if source.function_around(c) is scope
            for a in c.args
            if isinstance(a, ast.Name)
        }
        if names & cut:
            return node
    return None


def _by_itself(value: ast.expr, about: str) -> bool:
    """`(t - t.mean()) / t.std()`, `(t - t.min()) / (t.max() - t.min())`."""
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Div):
        return False
    above = value.left
    if not isinstance(above, ast.BinOp) or not isinstance(above.op, ast.Sub) or unparse(above.left) != about:
        return False
    calls = [c for n in (above.right, value.right) for c in of(n, ast.Call)]
    figures = [c for c in calls if last_name(c.func) in ("mean", "std", "min", "max", "median")]
    own = [c for c in figures if isinstance(c.func, ast.Attribute) and unparse(c.func.value) == about]
    told = [unparse(a) for c in own for a in (*c.args, *(k.value for k in c.keywords))]
    return len(own) >= 2 and not any(t in ("1", "-1") for t in told)


_COLUMNS = re.compile(r"(?i)col|feat|num|cat|input|vital|sensor|channel|var|field|name|pred")


def figures_of_whole(source: Script, wholes: set[str]) -> ast.Call | None:
    """`Scale.of(frame[columns].to_numpy())` of a frame that the script takes apart into both sides.

    Not where rows are picked first: only columns, and methods that keep all rows.
    """
    for call in source.calls:
        about = learned_from(source, call) if of_own_scale(source, call) else None
        whole = _all_rows_of(about) if about is not None else None
        if whole is not None and whole in wholes and side(whole) is None:
            return call
    return None


def _all_rows_of(node: ast.expr) -> str | None:
    """The name whose rows an expression holds, all of them; None where some may be left out."""
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Subscript):
            plain = isinstance(node.slice, (ast.List, ast.Constant))
            if not plain and not (isinstance(node.slice, ast.Name) and _COLUMNS.search(node.slice.id)):
                return None
            node = node.value
        elif isinstance(node, ast.Attribute) and node.attr == "values":
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args:
            if node.func.attr not in ("to_numpy", "numpy", "copy", "ffill", "float", "dropna"):
                return None
            node = node.func.value
        else:
            return None
    return node.id
