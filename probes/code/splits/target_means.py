"""Means of the target by a column (target encoding) in scripts that hold the very rows they are given to."""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_in, of, unparse
from ...readers.script import last_name, receiver
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at

_MEANS = ("mean", "agg", "aggregate", "median")
_SCORES = (
    "roc_auc_score",
    "log_loss",
    "f1_score",
    "accuracy_score",
    "mean_squared_error",
    "mean_absolute_error",
)
_TARGET = re.compile(r"(?i)^['\"]?(?:targets?|labels?|y|y_col|target_col(?:umn)?|label_col)['\"]?$")


def means_of_own_target(source: Script) -> Finding | None:
    """`tr["te"] = tr[c].map(tr.groupby(c)[T].mean())`, or such means of all rows in a loop over folds."""
    if "groupby" not in source.code:
        return None
    targets = _targets(source)
    if not targets:
        return None
    for node in source.of(ast.Assign):
        target = node.targets[0]
        if not isinstance(target, ast.Subscript) or not isinstance(target.value, ast.Name):
            continue
        table, value = target.value.id, node.value
        for call in of(value, ast.Call):
            if (
                last_name(call.func) == "transform"
                and call.args
                and unparse(call.args[0]).strip("'\"") == "mean"
            ):
                group = receiver(call)
                if isinstance(group, ast.Subscript) and unparse(group.slice) in targets:
                    if isinstance(group.value, ast.Call) and _owner(group.value) == table:
                        return at(source, node, "each row is given a mean of the target that holds its own")
            if last_name(call.func) == "map" and call.args and _first(call) == table:
                if _made_of(source, call.args[0], targets) == table:
                    return at(source, node, "each row is given a mean of the target that holds its own")
    return _whole_in_folds(source, targets)


_TRUTH = re.compile(r"(?i)^(?:self\.)?(?:y|targets?)(?:_(?:train|tr|fit|all|full))?$")


def _targets(source: Script) -> set[str]:
    """What names the target's column: it is split by, scored, called so, or what `y` is made of."""
    found: set[str] = set()
    for made in source.of(ast.Assign):
        for part in of(made.value, ast.Subscript) if _TRUTH.match(unparse(made.targets[0])) else ():
            several = part.slice.elts if isinstance(part.slice, ast.List) else [part.slice]
            if (
                len(several) == 1
                and isinstance(several[0], ast.Constant)
                and isinstance(several[0].value, str)
            ):
                found.add(unparse(several[0]))
    for node in source.of(ast.Subscript):
        parent = source.parents.get(node)
        if isinstance(node.slice, (ast.Constant, ast.Name)) and isinstance(node.ctx, ast.Load):
            scored = isinstance(parent, ast.Call) and last_name(parent.func) in (*_SCORES, "split")
            text = unparse(node.slice)
            if (scored and node in parent.args) or _TARGET.match(text):  # type: ignore[union-attr]
                found.add(text)
    return found


def _owner(call: ast.Call) -> str:
    """The table of `table.groupby(c)`, taken whole."""
    owner = receiver(call)
    return owner.id if last_name(call.func) == "groupby" and isinstance(owner, ast.Name) else ""


def _first(call: ast.Call) -> str:
    """The table of `table[c].map(...)`."""
    owner = receiver(call)
    whole = isinstance(owner, ast.Subscript) and isinstance(owner.value, ast.Name)
    return owner.value.id if isinstance(owner, ast.Subscript) and whole else ""  # type: ignore[attr-defined]


def _grouped(value: ast.AST, targets: set[str]) -> str:
    """The table whose target is averaged by groups in an expression or a function."""
    for node in of(value, ast.Subscript):
        if (
            isinstance(node.value, ast.Call)
            and unparse(node.slice) in targets
            and (owner := _owner(node.value))
        ):
            if any(last_name(c.func) in _MEANS for c in of(value, ast.Call)):
                return owner
    return ""


def _made_of(source: Script, means: ast.expr, targets: set[str]) -> str:
    """The table that means are of: `tr.groupby(c)[T].mean()`, `smooth_mean(tr, c)` of the script's own."""
    given = flow(source).all_given(means)[:1]
    values = [means, *(g.value for g in given)]
    for value in values:
        if owner := _grouped(value, targets):
            return owner
        if isinstance(value, ast.Call):
            for function in flow(source).called(value):
                inner = _grouped(function, targets)
                names = [a.arg for a in function.args.args]
                if inner in names and names.index(inner) < len(value.args):
                    handed = value.args[names.index(inner)]
                    return handed.id if isinstance(handed, ast.Name) else ""
    return ""


def _whole_in_folds(source: Script, targets: set[str]) -> Finding | None:
    """In `for tri, vai in kf.split(train)`: means of the target of `train`, not of the fold's rows."""
    for loop in source.of(ast.For):
        splits = [c for c in of(loop.iter, ast.Call) if last_name(c.func) == "split" and c.args]
        if not splits or not isinstance(splits[0].args[0], ast.Name):
            continue
        whole = splits[0].args[0].id
        cut = any(
            names_in(s.slice) & names_in(loop.target) and unparse(s.value).startswith(f"{whole}.")
            for s in of(loop, ast.Subscript)
        )
        if not cut:
            continue
        for node in of(loop, ast.Assign):
            target = node.targets[0]
            first = target.elts[0] if isinstance(target, ast.Tuple) and target.elts else target
            if isinstance(first, ast.Name) and isinstance(node.value, ast.Call):
                if _made_of(source, node.value, targets) == whole and _is_mapped(loop, first.id):
                    return at(
                        source,
                        node,
                        f"the means of the target are of all rows of `{whole}`, those held out too",
                    )
    return None


def _is_mapped(loop: ast.For, name: str) -> bool:
    return any(
        last_name(c.func) == "map" and c.args and isinstance(c.args[0], ast.Name) and c.args[0].id == name
        for c in of(loop, ast.Call)
    )
