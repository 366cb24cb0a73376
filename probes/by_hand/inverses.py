"""What is named the inverse of something, and is not: tables of ids, scales that are turned back."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..readers._tree import names_in
from ..readers.script import last_name
from ..scripts.flow import flow
from ..scripts.syntax import Script
from .interpreter import ODD, Interpreter
from .sizes import Unfit
from .things import Names

_PAIR = re.compile(r"(?i)^_?([a-z]+?)_?(?:2|_to_|to)_?([a-z]+?)$")
_NUMBER = ("id", "ids", "idx", "ix", "index", "int", "num", "i")
_WORDS = (
    *("s", "c", "ch", "char", "chars", "character", "tok", "token", "tokens", "word", "words", "w", "vocab"),
    *("sym", "symbol", "piece", "note", "item", "user", "node", "aa"),
)
_MADE = ["d", "b", "e", "a", "c"]  # in no order
_CENTRE = re.compile(r"(?i)(?:^|_)(?:mean|mu|avg|mn)(?:_|$)")
_SPREAD = re.compile(r"(?i)(?:^|_)(?:std|sigma|sd|stdev)(?:_|$)")
_BACK = re.compile(
    r"(?i)^_?(?:un|de|inverse_?|inv_?)_?(?:scale|normali[sz]e|norm|standardi[sz]e|transform)\w*$"
)
_MEAN, _STD = 7.0, 3.0


def tables_apart(source: Script) -> tuple[ast.AST, str, str] | None:
    """`id2label` that is not the inverse of `label2id`: where, the two names, and of what they are."""
    made = dict(_tables(source))
    for (scope, one, other), (name, node) in made.items():
        back = made.get((scope, other, one))
        if back is None or (one not in _NUMBER and other not in _NUMBER) or one in _NUMBER:
            continue
        there, again = _worked(source, node), _worked(source, back[1])
        if not isinstance(there, dict) or len(there) < 2 or len(set(map(str, there.values()))) < len(there):
            continue
        again = dict(enumerate(again)) if isinstance(again, (list, tuple)) else again
        if not isinstance(again, dict) or len(again) != len(there):
            continue
        both = [k for k in there if there[k] in again]
        if both and any(again[there[k]] != k for k in both):
            return back[1], f"`{back[0]}` is not the inverse of `{name}`", one
    return None


def classes_apart(source: Script) -> tuple[ast.AST, str] | None:
    """Tables of classes."""
    found = tables_apart(source)
    return found[:2] if found is not None and found[2] not in _WORDS else None


def words_apart(source: Script) -> tuple[ast.AST, str] | None:
    """Tables of words, characters and whatever else is numbered."""
    found = tables_apart(source)
    return found[:2] if found is not None and found[2] in _WORDS else None


_CHANGES = ("sort", "reverse", "append", "insert", "extend", "update", "pop", "shuffle")


def _tables(source: Script) -> Iterator[tuple[tuple[Any, str, str], tuple[str, ast.expr]]]:
    changed = {source.owner(c) for c in source.named(*_CHANGES)}  # `id_to_label.sort()` follows
    for node in source.of(ast.Assign):
        target = node.targets[0]
        if len(node.targets) != 1 or not isinstance(target, (ast.Name, ast.Attribute)):
            continue
        name = last_name(target)
        if ast.unparse(target) in changed:
            continue
        found = ("s", "i") if name == "stoi" else ("i", "s") if name == "itos" else None
        if found is None and (match := _PAIR.match(name)):
            found = (match[1].lower(), match[2].lower())
        if found is not None:
            yield (source.function_around(node), *found), (name, node.value)


def _worked(source: Script, node: ast.expr, depth: int = 3) -> Any:
    """A table with its words made up where the program reads them from elsewhere, the same for each table."""
    known: Names = {}
    machine = Interpreter(source)
    overs = [g.iter for n in ast.walk(node) for g in getattr(n, "generators", [])]
    for over in overs or [node]:
        for name in [n for n in ast.walk(over) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]:
            given = flow(source).all_given(name)
            made = given[0].value if len(given) == 1 and not given[0].places else None
            value = _tried(machine, made) if made is not None else None
            if value is None and depth and made is not None and name.id not in names_in(made):
                value = _worked(source, made, depth - 1)
            if value is None and name.id not in (
                "enumerate",
                "sorted",
                "set",
                "list",
                "range",
                "len",
                "zip",
                "dict",
            ):
                value = list(_MADE)
            if value is not None:
                known[name.id] = value
    return _tried(Interpreter(source, known), node, known)


def _tried(machine: Interpreter, node: ast.expr, known: Names | None = None) -> Any:
    try:
        return machine.value(node, [machine.module, dict(known or {})])
    except (Unfit, *ODD):
        return None


def turned_back_otherwise(source: Script) -> tuple[ast.AST, str] | None:
    """`def unscale(y): return y * std - mean` of predictions: not what the scale is turned back by."""
    for function in source.of(ast.FunctionDef):
        args = [a.arg for a in function.args.args]
        if (
            not _BACK.match(function.name)
            or not args
            or args[0] == "self"
            or not _of_answers(source, function)
        ):
            continue
        names = {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
        centre = [n for n in names if _CENTRE.search(n)]
        spread = [n for n in names if _SPREAD.search(n)]
        if len(centre) != 1 or len(spread) != 1 or len(set(args[1:]) - {centre[0], spread[0]}) > 0:
            continue
        known: Names = {centre[0]: _MEAN, spread[0]: _STD}
        x = np.array([0.0, 1.0, -2.0])
        try:
            given = {args[0]: x.copy(), **{a: known[a] for a in args[1:]}}
            found = np.asarray(Interpreter(source, known).call(function, [], given), float)
        except (Unfit, TypeError, ValueError):
            continue
        if found.shape == x.shape and not np.allclose(found, x * _STD + _MEAN, rtol=1e-4, atol=1e-4):
            return function, f"`{function.name}` does not turn `(x - {centre[0]}) / {spread[0]}` back"
    return None


def _of_answers(source: Script, function: ast.FunctionDef) -> bool:
    """It is called with what a model says."""
    said = re.compile(r"(?i)pred|y_?hat|out|logit|forecast|guess|predict\(|model\(|net\(")
    return any(c.args and said.search(ast.unparse(c.args[0])) for c in flow(source).calls_of(function))
