"""Scalers of scripts that are fitted to both sides, joined in the call; series that are parted by chance."""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_in, of, unparse
from ...readers.script import argument, keyword, last_name, receiver
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.nodes import assigned, paired
from ..shared.sides import side

_LEARNS = re.compile(r"(?i)scal|imput|pca|svd|normali[sz]|standard|whiten|quantile|power")
_JOINS = ("concat", "concatenate", "vstack", "r_", "append", "stack")
_CHANCE = re.compile(r"(?:random\.|rng\.|np\.random\.|random_state\.)(?:rand|random|uniform|random_sample)\(")
_TIME = re.compile(r"parse_dates|to_datetime|DatetimeIndex|\.resample\(|asfreq\(|date_range\(")
_WINDOWS = ("window", "timeseries_dataset_from_array", "sliding_window_view", "TimeseriesGenerator", "unfold")


def fitted_to_both(source: Script) -> Finding | None:
    """`StandardScaler().fit(pd.concat([tr, va]))`: both sides, by their names."""
    for call in source.named("fit", "fit_transform"):
        owner = receiver(call)
        if owner is None or not call.args:
            continue
        made = " ".join([unparse(owner), *(unparse(v) for v in flow(source).values(owner, 2))])
        if not _LEARNS.search(made) or re.search(r"(?i)label|encoder|tokeniz|vectori", made):
            continue
        for join in of(call.args[0], ast.Call):
            parts = argument(join, position=0)
            if last_name(join.func) in _JOINS and isinstance(parts, (ast.List, ast.Tuple)):
                if {True, False} <= {side(unparse(p)) for p in parts.elts}:
                    return at(source, call, "this is learned from training and held-out rows together")
    return None


_FIGURES = frozenset(("mean", "std", "min", "max", "median", "var", "quantile", "percentile", "amin", "amax"))


def figures_of_joined(source: Script) -> Finding | None:
    """`rows = concatenate(runs + test_runs)`, `low = rows.min(0)`: inputs are moved or divided by them."""
    figures: dict[str, ast.Assign] = {}
    for node in source.of(ast.Assign):
        for target, value in assigned(node):
            if not (isinstance(target, ast.Name) and isinstance(value, ast.Call)):
                continue
            owner = receiver(value)
            of_library = owner is None or unparse(owner) in ("np", "numpy", "torch")
            about = argument(value, position=0) if of_library else owner
            if last_name(value.func) in _FIGURES and about is not None and _of_both(source, about):
                figures[target.id] = node
    for scaled in source.of(ast.BinOp):
        if isinstance(scaled.op, (ast.Sub, ast.Div)) and isinstance(scaled.right, ast.Name):
            if scaled.right.id in figures:
                why = "these figures are of training and held-out rows together"
                return at(source, figures[scaled.right.id], why)
    return None


def _of_both(source: Script, about: ast.expr) -> bool:
    """It is a join of parts whose names tell both sides, or of one and its twin: `runs + test_runs`."""
    for end in (about, *flow(source).values(about, 2)):
        for join in of(end, ast.Call):
            given = argument(join, position=0)
            if last_name(join.func) not in _JOINS or given is None:
                continue
            parts = _parts(given)
            sides = {side(unparse(p)) for p in parts}
            words = {unparse(p) for p in parts}
            twins = any(re.sub(r"(?i)test_?|_?test|val_?|_?val", "", w) in words - {w} for w in words)
            if {True, False} <= sides or (False in sides and twins):
                return True
    return False


def _parts(given: ast.expr) -> list[ast.expr]:
    """`[a, b]`, `a + b`."""
    if isinstance(given, (ast.List, ast.Tuple)):
        return list(given.elts)
    if isinstance(given, ast.BinOp) and isinstance(given.op, ast.Add):
        return [*_parts(given.left), *_parts(given.right)]
    return [given]


def series_parted_by_chance(source: Script) -> Finding | None:
    """`mask = rand(n)`, `train = df[mask < 0.7]` of a table in time, and each part is cut into windows."""
    if not _TIME.search(source.code) or not source.named(*_WINDOWS):
        return None
    parts: dict[tuple[str, str], dict[bool, ast.Assign]] = {}
    for node in source.of(ast.Assign):
        target, value = node.targets[0], node.value
        if not isinstance(target, ast.Name) or not isinstance(value, ast.Subscript):
            continue
        if not isinstance(value.value, ast.Name) or side(target.id) is None:
            continue
        for name in of(value.slice, ast.Name):
            made = flow(source).all_given(name)
            if len(made) == 1 and _CHANCE.search(unparse(made[0].value)):
                key = (value.value.id, name.id)
                parts.setdefault(key, {})[side(target.id) is True] = node
    for sides in parts.values():
        if len(sides) == 2:
            why = "rows of a series are parted by chance: those around each held-out one are trained on"
            return at(source, sides[False], why)
    return None


def one_figure_for_columns(source: Script) -> Finding | None:
    """`mu = train[cols].to_numpy().mean()`, and `(part[cols] - mu) / sd`: one figure for unlike columns."""
    figures: dict[str, str] = {}
    for node in source.of(ast.Assign):
        target = node.targets[0]
        pairs = paired(target, node.value)
        for name, value in pairs:
            if isinstance(name, ast.Name) and (columns := _of_whole(value)):
                figures[name.id] = columns
    if len(figures) < 2:
        return None
    for quotient in source.of(ast.BinOp):
        if not isinstance(quotient.op, ast.Div) or not isinstance(quotient.left, ast.BinOp):
            continue
        table, names = quotient.left.left, names_in(quotient.left.right) | names_in(quotient.right)
        if isinstance(table, ast.Subscript) and names <= set(figures) and len(names) == 2:
            if {unparse(table.slice)} == {figures[n] for n in names}:
                return at(
                    source,
                    quotient,
                    "one mean and one deviation scale columns that stand for different things",
                )
    return None


def _of_whole(value: ast.expr) -> str:
    """The columns of `table[cols].to_numpy().mean()`, without an axis."""
    if not isinstance(value, ast.Call) or last_name(value.func) not in ("mean", "std") or value.args:
        return ""
    if keyword(value, "axis") is not None or not isinstance(value.func, ast.Attribute):
        return ""
    inner = value.func.value
    if (
        isinstance(inner, ast.Call)
        and last_name(inner.func) == "to_numpy"
        and isinstance(inner.func, ast.Attribute)
    ):
        inner = inner.func.value
    elif isinstance(inner, ast.Attribute) and inner.attr == "values":
        inner = inner.value
    else:
        return ""
    several = isinstance(inner, ast.Subscript) and isinstance(inner.slice, (ast.List, ast.Name))
    return unparse(inner.slice) if isinstance(inner, ast.Subscript) and several else ""
