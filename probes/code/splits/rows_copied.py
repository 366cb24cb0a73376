"""Rows of one side that a script writes into the other: training rows into held-out data, or the reverse."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse, walk
from ...readers.script import last_name, receiver
from ...registry import Finding
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.nodes import paired
from ..shared.numbers import known
from ..shared.roles import INPUT_WORDS, TARGET_WORDS
from ..shared.sides import side, stem

_JOINS = ("concatenate", "concat", "cat", "vstack", "hstack", "append", "ConcatDataset", "chain")
_KEPT = (
    "copy",
    "clone",
    "to",
    "astype",
    "detach",
    "numpy",
    "tolist",
    "head",
    "sample",
    "tail",
    "list",
    "iloc",
)
_ROWS = re.compile(
    r"(?i)(?:^|_)(?:set|ds|dataset|df|frame|table|rows?|data|samples?|items?|examples?|records?|files?|paths?|pairs?"
    r"|idx|ids|index|indices|texts?|docs?|sentences?|graphs?|sequences?|tensors?)(?:_|$)|^$"
)
_FIGURES = re.compile(
    r"(?i)loss|acc|score|metric|hist|curve|pred|log|f1|auc|time|lr|err|mean|std|scal|window|context"
)
# rows whose labels are not used, or that are held out by something else
_ASIDE = re.compile(r"(?i)pseudo|unlabel|semi_?sup|transduc|refit|retrain")
# rows before the first held-out one that a forecast starts from
_STARTS = re.compile(r"(?i)look_?back|window|context|history|lag|seq_?len|horizon|n_?steps|forecast")


def rows_copied(source: Script) -> Finding | None:
    """`val_x[:400] = train_x[:400]`, `val_rows += train_rows[:50]`, `val = concat([val, train.sample(99)])`.

    Silent where training gives the rows up (`train_rows = train_rows[50:]`), and for series, whose held-out
    part begins with what came before it.
    """
    aside = _ASIDE.search(source.code) is not None
    for node in source.of(ast.Assign, ast.AugAssign, ast.Expr):
        found = _taken_over(node)
        if found is None:
            continue
        place, given = found
        if aside and side(given) is False:
            continue
        if not _given_up(source, given) and not (_STARTS.search(source.code) and _its_end(source, node)):
            mine = "training" if side(given) else "held-out"
            return at(source, node, f"{mine} rows (`{given}`) are written into `{place}`")
    return None


def _taken_over(node: ast.Assign | ast.AugAssign | ast.Expr) -> tuple[str, str] | None:
    """The name of one side that rows are put into, and that of the other side that they are of."""
    places: list[tuple[ast.expr, ast.expr]] = []
    if isinstance(node, ast.Assign):
        target = node.targets[0]
        pairs = paired(target, node.value)
        for one, value in pairs:
            if isinstance(one, ast.Subscript) and not isinstance(one.slice, ast.Constant):
                places.append((one.value, value))
            elif (joined := _joined(one, value)) is not None:
                places.append((one, joined))
    elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
        if isinstance(node.value, (ast.Subscript, ast.Name, ast.Attribute)):
            places.append((node.target, node.value))
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        call = node.value
        if last_name(call.func) in ("extend", "update", "copy_") and len(call.args) == 1:
            if isinstance(call.func, ast.Attribute):
                held = call.func.value
                places.append((held.value if isinstance(held, ast.Subscript) else held, call.args[0]))
        elif last_name(call.func) == "copyto" and len(call.args) > 1:
            held = call.args[0]
            places.append((held.value if isinstance(held, ast.Subscript) else held, call.args[1]))
    for place, value in places:
        mine, theirs = _root(place), _root(value)
        if {side(mine), side(theirs)} != {True, False} or _FIGURES.search(mine):
            continue
        if stem(mine) == stem(theirs) and _holds_rows(mine):
            return mine, theirs
    return None


def _root(node: ast.expr) -> str:
    """The name of the data, without what takes or copies rows of it."""
    for _ in range(8):
        if isinstance(node, ast.Subscript) or (
            isinstance(node, ast.Attribute) and node.attr in ("iloc", "loc", "values")
        ):
            node = node.value
        elif isinstance(node, ast.Call) and last_name(node.func) in (
            "sample",
            "choices",
            "Subset",
            "islice",
            "list",
        ):
            owner = receiver(node)
            library = owner is None or unparse(owner) in ("random", "itertools", "data", "torch.utils.data")
            if library and not node.args:
                return ""
            node = node.args[0] if library else owner or node
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _KEPT:
            node = node.func.value
        else:
            break
    return unparse(node) if isinstance(node, (ast.Name, ast.Attribute)) else ""


def _holds_rows(name: str) -> bool:
    word = stem(name.rpartition(".")[2]) or stem(name)
    return any(w.search(word) for w in (INPUT_WORDS, TARGET_WORDS, _ROWS))


def _joined(target: ast.expr, value: ast.expr) -> ast.expr | None:
    """What is added to a held-out name that stays in it: `val = concat([val, train[:50]])`."""
    parts: list[ast.expr] = []
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        parts = [value.left, value.right]
    elif isinstance(value, ast.Call) and last_name(value.func) in _JOINS:
        parts = [e for a in value.args for e in (a.elts if isinstance(a, (ast.List, ast.Tuple)) else [a])]
    if len(parts) != 2 or side(unparse(target)) is None:
        return None
    own = [p for p in parts if _root(p) == unparse(target)]
    other = [p for p in parts if p not in own]
    if len(own) != 1 or not isinstance(other[0], (ast.Subscript, ast.Call)):
        return None  # both wholes: what is evaluated is all there is
    return other[0]


def _given_up(source: Script, name: str) -> bool:
    """The rows are taken away from where they come from: `train_x = train_x[400:]`, `del train_rows[:50]`."""
    for node in source.of(ast.Assign, ast.Delete):
        if isinstance(node, ast.Delete):
            if any(_root(t) == name for t in node.targets):
                return True
            continue
        target = node.targets[0]
        pairs = paired(target, node.value)
        for one, value in pairs:
            if unparse(one) == name and isinstance(value, (ast.Subscript, ast.Call)):
                if isinstance(value, ast.Subscript) or last_name(value.func) in (
                    "drop",
                    "delete",
                    "setdiff1d",
                ):
                    if _root(value) == name or name in unparse(value):
                        return True
    return False


def _its_end(source: Script, node: ast.AST) -> bool:
    """`train[-lookback:]`: the last training rows."""
    return any(
        isinstance(part.slice, ast.Slice)
        and part.slice.upper is None
        and part.slice.lower is not None
        and (unparse(part.slice.lower).startswith("-") or (known(source, part.slice.lower) or 0.0) < 0)
        for part in walk(node)
        if isinstance(part, ast.Subscript)
    ) or any(last_name(c.func) == "tail" for c in of(node, ast.Call))
