"""Functions that cut rows into parts, or a series into windows and what follows, worked out on made rows."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..code.shared.sides import side
from ..scripts.syntax import Script
from .arrays import plain
from .interpreter import Interpreter
from .promises import handed_back
from .sizes import TooLong, Unfit
from .things import Names

SHARE = 0.35  # of the held-out rows, as for rows that are told by slices
FIRST = 100_000  # the first of the made rows' own numbers: no user, time or place is as large
_USERS, _EVENTS, _ROWS = 6, 7, 120
_LONG = 700  # of a series: hourly windows of a week and two days behind them
_CUTS = re.compile(r"(?i)split|leave_one_out|loo|partition|hold_?out|divide")
_WINDOWS = re.compile(r"(?i)window|sequence|supervis|lag|slid|create_dataset|make_xy|to_xy|frames|chunks")
_ROWS_OF = re.compile(
    r"(?i)rows|data|items|samples|records|pairs|interactions|events|ratings|lines|ids|indices|idx|files|paths|examples|x|df|tiles|groups?|scaffolds?|sites|labels|targets|clips|images|y$|entries|table"
)
_COUNT = re.compile(r"(?i)^(?:n|num|size|total|length|count|n_\w+|num_\w+)$")
_SERIES = re.compile(
    r"(?i)^(?:data|series|values?|arr|array|x|seq|sequence|signal|df|ts|train|frame|table|features?)$"
)
_TARGET = re.compile(r"(?i)^(?:y|targets?|labels?|target_\w+)$")
_SHORT = re.compile(r"(?i)look|window|past|n_?in|steps|seq|history|context|length|width|size|lag|input")
_AHEAD = re.compile(r"(?i)horizon|ahead|n_?out|future|pred|forecast|output")
_PART = re.compile(r"(?i)ratio|frac|share|size|pct|percent|split|portion")


def parts_that_meet(source: Script) -> tuple[ast.AST, str] | None:
    """A function that hands back a part to train on and a part that is held out gives one row to both."""
    for function in source.of(ast.FunctionDef):
        names = [name for name, _ in handed_back(function)]
        sides = [side(n) for n in names]
        if not _CUTS.search(function.name) or True not in sides or False not in sides:
            continue
        if source.class_around(function) is not None or source.function_around(function) is not None:
            continue
        if _cuts_each_row(function):
            continue
        for rows, first in _made_rows():
            found = _asked(source, function, rows)
            if not isinstance(found, tuple) or len(found) != len(names):
                continue
            numbers = [list(_numbers(part, first)) for part in found]
            leaves = [set(part) for part in numbers]
            if not any(leaves) or (not first and list(map(len, leaves)) != list(map(len, numbers))):
                continue  # nothing, or the groups of rows instead of their places
            for at, held in enumerate(leaves):
                if sides[at] is not False or not held:
                    continue
                trained = set().union(
                    *(leaf for leaf, told in zip(leaves, sides, strict=True) if told is True)
                )
                if trained and len(held & trained) >= SHARE * len(held):
                    return function, f"worked out on made rows, `{names[at]}` holds rows that are trained on"
            break
    return None


def _cuts_each_row(function: ast.FunctionDef) -> bool:
    """Whether each row is a sequence that is cut on its own, as a user's history is: no made row is one."""
    first = {a.arg for a in function.args.args[:1]}
    each = {
        n.target.id
        for n in ast.walk(function)
        if isinstance(n, (ast.For, ast.comprehension))
        and isinstance(n.target, ast.Name)
        and isinstance(n.iter, ast.Name)
        and n.iter.id in first
    }
    return any(
        isinstance(n, ast.Subscript)
        and isinstance(n.slice, ast.Slice)
        and isinstance(n.value, ast.Name)
        and n.value.id in each
        for n in ast.walk(function)
    )


class Row(dict[str, Any]):
    """A row of which any column may be asked for: whom or what it belongs to. It has a number of its own."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number

    def __missing__(self, column: str) -> str:
        return f"{column} {(self.number - FIRST) // _EVENTS:03d}"


def _made_rows() -> Iterator[tuple[Any, int]]:
    """Rows in the layouts that are usual, and from which number on they are rows: one by one, of users,
    items and times, of named columns, or the group of each, where places of rows are handed back.
    """
    yield [FIRST + i for i in range(_ROWS)], FIRST
    yield FIRST + np.arange(_ROWS), FIRST
    triples = [(u, FIRST + u * _EVENTS + t, t) for t in range(_EVENTS) for u in range(_USERS)]
    yield triples, FIRST
    yield [row[:2] for row in triples], FIRST
    yield [(*row[:2], 4.0, row[2]) for row in triples], FIRST
    yield [Row(FIRST + i) for i in range(_ROWS)], FIRST
    sizes = [g for g in range(1, 16) for _ in range(g)]
    yield [f"group {g:02d}" for g in sizes], 0
    yield np.array(sizes), 0


def _asked(source: Script, function: ast.FunctionDef, rows: Any) -> Any:
    args = function.args
    named: Names = {}
    needed = [a.arg for a in args.args[: len(args.args) - len(args.defaults)]]
    if not needed or not _ROWS_OF.search(needed[0]):
        return None
    named[needed[0]] = list(rows) if isinstance(rows, list) else rows.copy()
    for name in needed[1:]:
        if _PART.search(name):
            named[name] = 0.2
        elif name == "seed":
            named[name] = 0
        else:
            return None
    try:
        return Interpreter(source).call(function, [], named)
    except Unfit:
        return None


def _numbers(value: Any, first: int) -> Iterator[int]:
    """The rows' own numbers in whatever is handed back."""
    if isinstance(value, Row):
        yield value.number
        return
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, np.ndarray):
        yield from (
            int(v) for v in plain(value).reshape(-1) if plain(value).dtype.kind in "iu" and v >= first
        )
    elif isinstance(value, (list, tuple, set)):
        for one in value:
            yield from _numbers(one, first)
    elif isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= first:
        yield int(value)


def targets_inside_windows(source: Script) -> tuple[ast.AST, str] | None:
    """A function that cuts a series into windows hands back as targets what the windows hold."""
    for function in source.of(ast.FunctionDef):
        if not _WINDOWS.search(function.name) or source.function_around(function) is not None:
            continue
        if source.class_around(function) is not None:
            continue
        for series in (np.arange(1.0, _LONG + 1), _columns()):
            named = _of_series(function, series)
            if named is None:
                break
            try:
                found = Interpreter(source).call(function, [], named)
            except TooLong:
                break
            except Unfit:
                continue
            if not isinstance(found, tuple) or len(found) != 2:
                break
            if _told_inside(*found):
                return function, "worked out on a made series, each target stands in its own window"
    return None


def _columns() -> np.ndarray:
    """Three columns of one series, each apart from the others by thousands."""
    return np.arange(1.0, _LONG + 1)[:, None] + 10_000.0 * np.arange(3)


def _of_series(function: ast.FunctionDef, series: np.ndarray) -> Names | None:
    args = function.args
    named: Names = {}
    needed = [a.arg for a in args.args[: len(args.args) - len(args.defaults)]]
    for at, name in enumerate(needed):
        if _TARGET.match(name):
            named[name] = np.arange(1.0, _LONG + 1)
        elif at == 0 and _SERIES.match(name):
            named[name] = series.copy()
        elif _AHEAD.search(name):
            named[name] = 3
        elif _SHORT.search(name):
            named[name] = 8
        else:
            return None
    return named if needed else None


def _told_inside(windows: Any, targets: Any) -> bool:
    """Whether each target is among the numbers of its window, and is not the window itself."""
    try:
        x, y = np.asarray(windows, float), np.asarray(targets, float)
    except (TypeError, ValueError):
        return False
    if x.ndim < 2 or len(x) != len(y) or len(x) < 5:
        return False
    x, y = x.reshape(len(x), -1) % 10_000, y.reshape(len(y), -1) % 10_000
    if x.shape == y.shape and bool((x == y).all()):
        return False  # an autoencoder
    spans = x.max(axis=1) > x.min(axis=1)
    return bool(spans.all()) and all(set(b) <= set(a) for a, b in zip(x, y, strict=True))
