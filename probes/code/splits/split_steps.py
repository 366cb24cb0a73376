"""What scripts do to each of their splits in turn: one left out, or each by figures of its own."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

from ...readers._tree import of, unparse, walk
from ...readers.script import last_name, receiver
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..shared.checks import at, ok
from ..shared.sides import given, part, side, stem

_FITS = ("fit_transform", "transform")


def left_out_of_loop(source: Script, labels: bool) -> Finding | None:
    """`for part in (train, test): part[cols] = ...` beside a `val` that was cut together with them."""
    if labels:
        return None
    seen: ast.AST | None = None
    for loop in source.of(ast.For):
        if not isinstance(loop.iter, (ast.Tuple, ast.List)) or not isinstance(loop.target, ast.Name):
            continue
        names = [e.id for e in loop.iter.elts if isinstance(e, ast.Name)]
        sides = {side(n) for n in names}
        if len(names) < len(loop.iter.elts) or not {True, False} <= sides:
            continue
        changed = next(
            (s for s in of(loop, ast.Assign, ast.AugAssign) if _changes_values(s, loop.target.id)), None
        )
        if changed is None:
            continue
        seen = seen or loop
        for made in source.of(ast.Assign):
            together = [e.id for t in made.targets for e in of(t, ast.Name)] if _cuts(made) else []
            left = [n for n in together if n not in names and side(n) is not None]
            after = [n for n in source.of(ast.Name) if n.id in left and n.lineno > loop.lineno]
            if set(names) <= set(together) and left and after and made.lineno < loop.lineno:
                if not any(isinstance(n.ctx, ast.Store) for n in after):
                    return at(source, changed, f"this is done to {', '.join(names)} and not to {left[0]}")
    return ok(source, seen, "all splits go through the loop") if seen is not None else None


def _cuts(node: ast.Assign) -> bool:
    return len(node.targets) == 1 and isinstance(node.targets[0], ast.Tuple)


def _changes_values(node: ast.stmt, name: str) -> bool:
    """`part[cols] = (part[cols] - mean) / std`: columns of the split are computed from themselves."""
    target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
    value = getattr(node, "value", None)
    if (
        not isinstance(target, ast.Subscript)
        or value is None
        or unparse(target.value) not in (name, f"{name}.loc")
    ):
        return False
    if isinstance(node, ast.AugAssign):
        return isinstance(node.op, (ast.Sub, ast.Div, ast.Mult))
    works = any(isinstance(n.op, (ast.Div, ast.Sub, ast.Mult)) for n in of(value, ast.BinOp))
    calls = any(last_name(c.func) in _FITS for c in of(value, ast.Call))
    return (works or calls) and any(unparse(n) == unparse(target) for n in of(value, ast.Subscript))


def one_not_transformed(source: Script, labels: bool) -> Finding | None:
    """`x_train = scaler.fit_transform(x_train)`, and `x_test` goes on as it was."""
    if labels:
        return None
    seen: ast.AST | None = None
    done = [(n, t.id, c) for n in source.of(ast.Assign) for t, c in _transformed(n)]
    given_to = {unparse(a) for c in source.named(*_FITS) for a in c.args[:1]}
    for node, name, call in done:
        if side(name) is not True:
            continue
        seen = seen or node
        for other in _twins(source, name):
            if other in given_to or any(other in unparse(c) for c in source.named(*_FITS, "Pipeline", "map")):
                continue
            if any(o == other for _, o, _ in done) or side(other) is not False:
                continue
            uses = [n for n in source.of(ast.Name) if n.id == other and n.lineno > node.lineno]
            scope = source.function_around(node)
            if uses and all(isinstance(n.ctx, ast.Load) and source.function_around(n) is scope for n in uses):
                told = f"`{unparse(call.func)}` is applied to {name} and not to {other}"
                return at(source, uses[0], told)
    return ok(source, seen, "all splits are transformed") if seen is not None else None


def _transformed(node: ast.Assign) -> Iterator[tuple[ast.Name, ast.Call]]:
    """`x = scaler.transform(x)`: a name given what it held, transformed."""
    target, value = node.targets[0], node.value
    if isinstance(target, ast.Name) and isinstance(value, ast.Call) and last_name(value.func) in _FITS:
        if value.args and unparse(value.args[0]) == target.id:
            yield target, value


def _twins(source: Script, name: str) -> list[str]:
    """The names of the other splits that one call or one tuple gave together with a name."""
    for node in source.of(ast.Assign):
        if _cuts(node):
            names = [e.id for e in of(node.targets[0], ast.Name)]
            if name in names:
                found = [n for n in names if n != name and stem(n) == stem(name)]
                if found:
                    return found
    return []


# ------------------------------------------------------------------------------------ figures of their own


def own_figures(source: Script) -> ast.AST | None:
    """`(part[cols] - part[cols].mean()) / part[cols].std()` of each split in turn.

    Figures along an axis of single samples (`axis=1`) are another thing: each sample is scaled alone.
    """
    for node in source.of(ast.BinOp):
        about = _scaled_by_itself(node)
        root = about.split("[")[0].split(".")[0] if about else ""
        if root and _is_each_split(source, node, root):
            return node
    return None


def _scaled_by_itself(node: ast.BinOp) -> str:
    """What is scaled by its own mean and deviation, as written, or ""."""
    if not isinstance(node.op, ast.Div) or not isinstance(node.left, ast.BinOp):
        return ""
    if not isinstance(node.left.op, ast.Sub):
        return ""
    about = unparse(node.left.left)
    return about if _figure(node.left.right, about) and _figure(node.right, about) else ""


_PER_SAMPLE = re.compile(r"axis=(?!0\b)|dim=(?!0\b)|keepdim|\(\s*-?[1-9]|\(\(")


def _figure(node: ast.expr, about: str) -> bool:
    """`about.mean()`, `about.std() + eps`, `np.mean(about, axis=0)`."""
    found = [c for c in of(node, ast.Call) if last_name(c.func) in ("mean", "std", "min", "max", "median")]
    if len(found) != 1 or _PER_SAMPLE.search(unparse(found[0]).replace(about, "x")):
        return False
    call = found[0]
    inner = receiver(call)
    return about in {unparse(a) for a in call.args[:1]} | ({unparse(inner)} if inner is not None else set())


def _is_each_split(source: Script, node: ast.AST, root: str) -> bool:
    """The name goes over the splits: the target of a loop over them, or a parameter that is handed each."""
    for above in source.above(node):
        if isinstance(above, ast.For) and unparse(above.target) == root:
            over = above.iter.elts if isinstance(above.iter, (ast.Tuple, ast.List)) else []
            return {True, False} <= {side(unparse(e)) for e in over}
        if isinstance(above, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return _handed_each(source, above, root)
    return False


def _handed_each(source: Script, function: Function, name: str) -> bool:
    names = [a.arg for a in function.args.args]
    if name not in names or any(
        isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and n.id == name for n in walk(function)
    ):
        return False
    at_ = names.index(name)
    calls = [
        c
        for c in flow(source).calls_of(function)
        if len(c.args) > at_ and not isinstance(c.func, ast.Attribute)
    ]
    return {True, False} <= {side(unparse(c.args[at_])) for c in calls}


def of_all_rows(source: Script) -> ast.AST | None:
    """`mean, std = table[cols].mean(), table[cols].std()` of a table that is cut into splits, used to scale.

    Or a table that is scaled by its own figures before it is cut.
    """
    wholes = cut_up(source)
    for node in source.of(ast.Assign):
        values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
        target = node.targets[0]
        names = [unparse(t) for t in (target.elts if isinstance(target, ast.Tuple) else [target])]
        for name, value in zip(names, values, strict=False):
            call = value
            while isinstance(call, ast.Call) and last_name(call.func) in (
                "clip",
                "replace",
                "to_numpy",
                "item",
            ):
                if not isinstance(call.func, ast.Attribute):
                    break
                call = call.func.value
            if not (isinstance(call, ast.Call) and last_name(call.func) in ("mean", "std")):
                continue
            about = receiver(call)
            if isinstance(about, ast.Name) and about.id in ("np", "torch") and call.args:
                about = call.args[0]
            if (
                about is None
                or (_whole(source, about), source.function_around(node)) not in wholes
                or side(unparse(about)) is not None
            ):
                continue
            if _scales_by(source, name, node):
                return node
    return None


def _whole(source: Script, node: ast.expr) -> str:
    """The table that columns are picked of: `table[COLUMNS]` -> "table"; "" where rows are picked."""
    if isinstance(node, ast.Subscript):
        texts = flow(source).values(node.slice, 3)
        columns = all(isinstance(t, (ast.List, ast.Constant, ast.Name)) for t in texts)
        rows = any(isinstance(t, ast.Constant) and not isinstance(t.value, str) for t in texts)
        listed = any(isinstance(t, (ast.List, ast.Constant)) for t in texts)
        return part(source, node.value).whole if columns and listed and not rows else ""
    return part(source, node).whole if not part(source, node).picked else ""


def _scales_by(source: Script, name: str, made: ast.Assign) -> bool:
    """Inputs are divided by it, or it is taken off them, somewhere below."""
    return any(
        isinstance(n.op, (ast.Sub, ast.Div)) and unparse(n.right) == name and n.lineno > made.lineno
        for n in source.of(ast.BinOp)
    )


def cut_up(source: Script) -> set[tuple[str, Function | None]]:
    """Tables that are cut into parts for training and held-out data, with the function that cuts them."""
    found: set[tuple[str, Function | None]] = set()
    parts: dict[tuple[str, Function | None], set[bool]] = {}
    for one in given(source):
        of_ = part(source, one.value)
        if of_.picked and isinstance(one.node, (ast.Assign, ast.AnnAssign)):
            parts.setdefault((of_.whole, one.scope), set()).add(one.learns)
    found |= {w for w, sides in parts.items() if len(sides) == 2}
    for node in source.of(ast.Assign):
        if _cuts(node) and isinstance(node.value, ast.Call) and "fit" not in last_name(node.value.func):
            names = {side(unparse(t)) for t in of(node.targets[0], ast.Name)}
            rest = {"rest", "remaining", "other", "temp", "tmp"} & {
                word for t in of(node.targets[0], ast.Name) for word in t.id.lower().split("_")
            }
            if {True, False} <= names or (names & {True, False} and rest):
                scope = source.function_around(node)
                found |= {
                    (unparse(a), scope) for a in node.value.args if isinstance(a, (ast.Name, ast.Attribute))
                }
    return found


# ------------------------------------------------------------------------------ learned after the split

_SAME_ROWS = ("fillna", "astype", "to_numpy", "copy", "replace", "clip", "select_dtypes")
_FIGURES = ("mean", "median", "std", "min", "max", "quantile", "mode", "var")


def learned_after_split(source: Script, learns: Callable[[str], bool]) -> Finding | None:
    """`train, rest = train_test_split(table)`, and then `scaler.fit(table[columns])`.

    Also `table[columns].median()`, where it fills or scales a part. `learns`: whether a name is of one.
    """
    for split in source.of(ast.Assign):
        value = split.value
        if not (isinstance(value, ast.Call) and last_name(value.func) == "train_test_split" and value.args):
            continue
        table = value.args[0]
        names = [unparse(t) for t in of(split.targets[0], ast.Name)]
        if not isinstance(table, ast.Name) or not any(side(n) is True for n in names) or table.id in names:
            continue
        here = source.function_around(split)
        later = [
            n
            for n in source.of(ast.Name)
            if n.id == table.id and isinstance(n.ctx, ast.Load) and n.lineno > split.lineno
            if source.function_around(n) is here
        ]
        again = [n for n in source.of(ast.Name) if n.id == table.id and isinstance(n.ctx, ast.Store)]
        if any(n.lineno > split.lineno for n in again):
            continue
        for name in later:
            whole = _same_rows(source, name)
            call = source.parents.get(whole)
            if isinstance(call, ast.Call) and whole in call.args[:1] and isinstance(call.func, ast.Attribute):
                made = flow(source).values(call.func.value, 3)
                told = " ".join(
                    [unparse(call.func.value), *(last_name(m.func) for m in made if isinstance(m, ast.Call))]
                )
                if call.func.attr in ("fit", "fit_transform", "adapt") and learns(told):
                    return at(source, call, "this is learned from all rows, after the table was split")
            if isinstance(call, ast.Attribute) and call.attr in _FIGURES:
                statement = source.statement(call)
                if isinstance(statement, ast.Assign) and _fills(
                    source, unparse(statement.targets[0]), statement
                ):
                    return at(source, statement, "these figures are of all rows, those held out among them")
    return None


def _same_rows(source: Script, node: ast.expr) -> ast.expr:
    """The largest expression of all rows that a name stands in: `table[columns].fillna(0)`."""
    while True:
        outer = source.parents.get(node)
        if isinstance(outer, ast.Subscript) and outer.value is node and _is_of_columns(source, outer.slice):
            node = outer
        elif isinstance(outer, ast.Attribute) and outer.attr in _SAME_ROWS:
            call = source.parents.get(outer)
            if not (isinstance(call, ast.Call) and call.func is outer):
                return node
            node = call
        elif isinstance(outer, ast.Attribute) and outer.attr == "values":
            node = outer
        else:
            return node


def _is_of_columns(source: Script, key: ast.expr) -> bool:
    ends = [key, *flow(source).values(key, 3)]
    texts = [e.value for e in ends if isinstance(e, ast.Constant)]
    return any(isinstance(e, ast.List) for e in ends) or any(isinstance(t, str) for t in texts)


def _fills(source: Script, name: str, made: ast.Assign) -> bool:
    """Missing values are filled with it, or values are scaled by it, somewhere below."""
    filled = any(
        c.args and unparse(c.args[0]) == name and c.lineno > made.lineno for c in source.named("fillna")
    )
    return filled or _scales_by(source, name, made)
