"""Parts of the data that a program asks for by one file, or draws from one whole with one draw."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import names_in, of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.flow import flow, returns
from ...scripts.syntax import Function, Script
from ..shared.checks import at
from ..shared.nodes import assigned
from ..shared.sides import side
from .same_source import rows_drawn, rows_handed

_FIGURES = ("mean", "std", "nanmean", "nanstd", "min", "max", "var", "median")


def training_file_for_held_out(source: Script) -> Finding | None:
    """`valid = load("train.csv", False)` beside `train = load("train.csv", True)`.

    Only where a third part, `test = load("test.csv", False)`, says that files tell the parts apart.
    """
    if source.loose:
        return None
    made: dict[str, list[tuple[bool, ast.Assign, ast.Call]]] = {}
    for node in source.of(ast.Assign):
        for target, value in assigned(node):
            if not isinstance(target, ast.Name) or not isinstance(value, ast.Call):
                continue
            learns = side(target.id)
            if learns is not None and last_name(value.func) in flow(source).functions:
                made.setdefault(unparse(value.func), []).append((learns, node, value))
    for each in made.values():
        learnt = [c for learns, _, c in each if learns]
        held = [(n, c) for learns, n, c in each if not learns]
        if len(learnt) != 1 or len(held) < 2:
            continue
        mine = _texts(learnt[0])
        told = [
            n
            for n, c in held
            if _texts(c) & {t for t in mine if side(t) is True}
            and rows_drawn(source, c) == rows_drawn(source, learnt[0])
            and {*rows_handed(c)} <= {*rows_handed(learnt[0])}
        ]
        apart = [c for _, c in held if any(side(t) is False for t in _texts(c))]
        if len(told) == 1 and apart:
            return at(source, told[0], "the held-out data are read from the file of the training data")
    return None


_TEST = re.compile(r"(?i)test|(?<![a-z])te(?![a-z])")


def _texts(call: ast.Call) -> set[str]:
    """The texts that a call is handed."""
    given = [*call.args, *(k.value for k in call.keywords)]
    return {n.value for g in given for n in of(g, ast.Constant) if isinstance(n.value, str)}


def validated_on_the_test_part(source: Script) -> Finding | None:
    """`tr, te = split(x, seed)`, then `tr, va = split(x, seed)`: one draw twice, and both parts are one."""
    splits = [
        n
        for n in source.of(ast.Assign)
        if isinstance(n.value, ast.Call)
        and last_name(n.value.func) == "train_test_split"
        and isinstance(n.targets[0], ast.Tuple)
    ]
    for one in splits:
        for other in splits:
            if other.lineno <= one.lineno or source.function_around(one) is not source.function_around(other):
                continue
            if unparse(one.value) != unparse(other.value) or "random_state" not in unparse(one.value):
                continue
            names = [[unparse(e) for e in getattr(n.targets[0], "elts", [])] for n in (one, other)]
            whole = {unparse(a) for a in getattr(one.value, "args", [])}
            if any(w in names[0] for w in whole):
                continue  # the whole is given another value between
            unlike = [(a, b) for a, b in zip(*names, strict=False) if a != b]
            held = [p for p in unlike if side(p[0]) is False and side(p[1]) is False]
            held = [p for p in held if bool(_TEST.search(p[0])) is not bool(_TEST.search(p[1]))]
            if held and not any({side(a), side(b)} == {True, False} for a, b in unlike):
                why = f"`{held[0][1]}` and `{held[0][0]}` are one part, drawn twice alike"
                return at(source, other, why)
    return None


def figures_of_the_whole(source: Script) -> Finding | None:
    """`scale = Scale(v.mean(0), v.std(0))`, and later `v[:a]` is learnt from and `v[a:]` is scored.

    Only where both are kept for the inputs, and the parts are cut out of the same name after it.
    """
    for node in source.of(ast.Assign):
        whole = _figured(node.value)
        if whole is None or len(node.targets) != 1:
            continue
        scope = source.function_around(node) or source.tree
        cuts = [
            s
            for s in of(scope, ast.Subscript)
            if unparse(s.value) == whole
            and isinstance(s.slice, ast.Slice)
            and isinstance(s.ctx, ast.Load)
            and s.lineno > node.lineno
        ]
        begins = {
            unparse(c.slice.upper)
            for c in cuts
            if isinstance(c.slice, ast.Slice) and c.slice.upper and not c.slice.lower
        }
        goes_on = {unparse(c.slice.lower) for c in cuts if isinstance(c.slice, ast.Slice) and c.slice.lower}
        scaled = list(_turned(scope, whole, node))
        if scaled and (begins & goes_on or _parted_in_turn(scope, whole, node)):
            return at(
                source, node, f"mean and deviation are those of all of `{whole}`, held-out rows as well"
            )
    return None


def _parted_in_turn(scope: ast.AST, whole: str, after: ast.Assign) -> bool:
    """`for fold in (0, 1, 2): at = folds == fold; sets.append(v[at])`: each part is picked in a round."""
    for loop in of(scope, ast.For):
        several = isinstance(loop.iter, (ast.Tuple, ast.List)) and len(loop.iter.elts) > 1
        if loop.lineno < after.lineno or not several or not isinstance(loop.target, ast.Name):
            continue
        masks = {
            t.id
            for n in of(loop, ast.Assign)
            for t in n.targets
            if isinstance(t, ast.Name)
            if any(loop.target.id in names_in(c) for c in of(n.value, ast.Compare))
        }
        for cut in of(loop, ast.Subscript):
            if unparse(cut.value) == whole and isinstance(cut.slice, ast.Name) and cut.slice.id in masks:
                return True
    return False


def scaler_of_the_whole(source: Script) -> Finding | None:
    """`scale = scaler(table)` of the program's own, and rows of `table` are scaled part by part.

    Only where the rows are divided beside it, `order[:a], order[a:]`, and the table is not that of training.
    """
    for node in source.of(ast.Assign):
        call, target = node.value, node.targets[0]
        if not isinstance(call, ast.Call) or not isinstance(target, ast.Name) or len(call.args) != 1:
            continue
        table = call.args[0]
        made = flow(source).called(call)
        if not isinstance(table, ast.Name) or side(table.id) is not None or not made:
            continue
        if not all(_fits(f) for f in made):
            continue
        scope = source.function_around(node) or source.tree
        parts: dict[str, set[str]] = {}
        for cut in of(scope, ast.Subscript):
            if isinstance(cut.slice, ast.Slice) and isinstance(cut.value, ast.Name):
                kind = "first" if cut.slice.lower is None else "later"
                parts.setdefault(cut.value.id, set()).add(kind)
        divided = any({"first", "later"} <= kinds for name, kinds in parts.items() if name != table.id)
        scaled = [
            c
            for c in of(scope, ast.Call)
            if unparse(c.func) == target.id
            and c.args
            and isinstance(c.args[0], ast.Subscript)
            and unparse(c.args[0].value) == table.id
        ]
        if divided and scaled:
            return at(source, node, f"this is fitted on all of `{table.id}`, held-out rows as well")
    return None


def _fits(function: Function) -> bool:
    """It works out a mean and a deviation of what it is handed, and gives back what scales by them."""
    names = {last_name(c.func) for c in of(function, ast.Call)}
    spread = bool(names & {"std", "sqrt", "var", "nanstd"})
    return (
        spread
        and bool(names & {"mean", "sum", "nanmean"})
        and any(isinstance(r, (ast.Lambda, ast.Name)) for r in returns(function))
        and any(isinstance(n.op, ast.Div) for n in of(function, ast.BinOp))
    )


def _figured(value: ast.expr) -> str | None:
    """The one name whose mean and deviation, as a whole, an expression takes."""
    found: dict[str, set[str]] = {}
    for call in of(value, ast.Call):
        if last_name(call.func) in _FIGURES and isinstance(call.func, ast.Attribute):
            owner = call.func.value
            if isinstance(owner, ast.Name) and owner.id not in ("np", "torch", "tf", "jnp"):
                found.setdefault(owner.id, set()).add(last_name(call.func))
            elif isinstance(owner, ast.Name) and call.args and isinstance(call.args[0], ast.Name):
                found.setdefault(call.args[0].id, set()).add(last_name(call.func))
    whole = [n for n, f in found.items() if {"mean", "std"} <= f or {"min", "max"} <= f]
    return whole[0] if len(whole) == 1 and len(found) == 1 else None


def _turned(scope: ast.AST, whole: str, after: ast.Assign) -> Iterator[ast.Assign]:
    """The whole is given what a method, or a formula, makes of it: `v = scale.forward(v)`."""
    names = {n.id for t in after.targets for n in of(t, ast.Name)}
    for node in of(scope, ast.Assign):
        if node.lineno > after.lineno and any(unparse(t) == whole for t in node.targets):
            told = {n.id for n in of(node.value, ast.Name)}
            if whole in told and names & told:
                yield node
