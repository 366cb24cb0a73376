"""Rows of groups, ways back of edges and numbers of letters, in scripts that mix them up."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import argument, keyword, last_name, receiver
from ...registry import Finding
from ...scripts.syntax import Script
from ..loss.ctc import ctc_calls
from ..shared.checks import at, ok
from ..shared.sides import literal, number

_EDGES = re.compile(r"(?i)(?:^|[._])edges?(?:_?(?:index|list))?$")


def edges_not_turned(source: Script) -> Finding | None:
    """`cat([edges, edges.flip(1)], dim=1)` of edges in two rows: the same edges again, none the way back."""
    seen = None
    for call in source.named("cat", "concat", "concatenate"):
        parts = call.args[0].elts if call.args and isinstance(call.args[0], (ast.List, ast.Tuple)) else []
        told = keyword(call, "dim") or keyword(call, "axis")
        axis = number(source, told or argument(call, position=1))
        if len(parts) != 2 or axis is None or not _EDGES.search(unparse(parts[0])):
            continue
        flip = parts[1]
        if (
            not isinstance(flip, ast.Call)
            or last_name(flip.func) != "flip"
            or keyword(flip, "dims") is not None
        ):
            continue
        owner = flip.func.value if isinstance(flip.func, ast.Attribute) else flip
        given = flip.args
        if unparse(owner) in ("torch", "np"):
            owner, given = flip.args[0], flip.args[1:]
        if unparse(owner) != unparse(parts[0]) or len(given) != 1:
            continue
        turned = number(source, given[0])
        seen = seen or call
        if turned is not None and turned == axis:
            return at(source, call, "the edges come twice in another order, and none of them the way back")
    return ok(source, seen, "edges go both ways") if seen is not None else None


def shifted_over_groups(source: Script) -> Finding | None:
    """`df["lag"] = df["y"].shift(1)` of a table sorted by shop and day, beside `groupby("shop")`.

    Said where the table is sorted by the group first and by another column within it, and other columns of
    the same function are made by group. Silent where rows of a group's start are taken out again.
    """
    seen = None
    sorts = [c for c in source.named("sort_values") if (c.args or keyword(c, "by") is not None)]
    by = [_texts(source, c.args[0] if c.args else keyword(c, "by")) for c in sorts]
    first = {b[0] for b in by if len(b) > 1}
    groups = {
        t[0]
        for c in source.named("groupby")
        if len(t := _texts(source, c.args[0] if c.args else keyword(c, "by"))) == 1
    }
    within = first & groups
    for call in source.named("shift"):
        owner = receiver(call)
        if not within or not isinstance(owner, ast.Subscript) or not isinstance(owner.value, ast.Name):
            continue
        if not isinstance(owner.slice, ast.Constant) or not isinstance(owner.slice.value, str):
            continue
        if owner.slice.value in within or not all(b and b[0] in within for b in by):
            continue
        statement = source.statement(call)
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        scope = source.function_around(call) or source.tree
        text = unparse(scope)
        beside = any(
            last_name(c.func) in ("shift", "rolling", "transform", "diff") and "groupby" in unparse(c)
            for c in of(scope, ast.Call)
        )
        marked = re.search(
            r"\bcumcount\(|\.where\(|\.mask\(|duplicated\(|!= \w+\[[^\]]*\]\.shift|for \w+, \w+ in .*groupby",
            text,
        )
        table = isinstance(target, ast.Subscript) and unparse(target.value) == unparse(owner.value)
        seen = seen or call
        if table and beside and not marked:
            return at(
                source, call, f"rows move from one {min(within)} to the next where others are moved by it"
            )
    return ok(source, seen, "rows move within their groups") if seen is not None else None


def _texts(source: Script, node: ast.expr | None) -> list[str]:
    """`"shop"` or `["shop", "day"]`."""
    if isinstance(node, (ast.List, ast.Tuple)):
        found = [literal(source, e) for e in node.elts]
        return [f for f in found if isinstance(f, str)] if all(isinstance(f, str) for f in found) else []
    value = literal(source, node)
    return [value] if isinstance(value, str) else []


_BLANK = re.compile(r"[^A-Za-z0-9]")  # a sign that may stand for the blank


def letter_is_the_blank(source: Script) -> Finding | None:
    """Letters are numbered from zero, which is the blank of the CTC loss.

    Said of a loss whose blank is zero (its default), and letters numbered by a text that is written out or
    sorted, without a sign for the blank in front.
    """
    losses = [*source.named("CTCLoss"), *(c for c in ctc_calls(source) if last_name(c.func) == "ctc_loss")]
    if not losses or source.loose:
        return None
    for loss in losses:
        given = keyword(loss, "blank") or (
            loss.args[0] if loss.args and last_name(loss.func) == "CTCLoss" else None
        )
        if given is not None and _constant(source, given) != 0:
            return None
    tables = [
        d
        for d in source.of(ast.DictComp)
        if len(d.generators) == 1
        and isinstance(d.generators[0].iter, ast.Call)
        and last_name(d.generators[0].iter.func) == "enumerate"
        and isinstance(d.generators[0].target, ast.Tuple)
    ]
    for table in tables:
        call, target = table.generators[0].iter, table.generators[0].target
        if not isinstance(call, ast.Call) or not isinstance(target, ast.Tuple) or not call.args:
            continue
        place, sign = map(unparse, target.elts)
        if unparse(table.key) != sign or unparse(table.value) != place or len(call.args) > 1 or call.keywords:
            continue
        written = literal(source, call.args[0])
        known = written if isinstance(written, str) else ""
        named = re.search(r"(?i)letter|alphabet|char|symbol|vocab", unparse(call.args[0]))
        if len(tables) > 1 or not named or (known and _BLANK.match(known)) or _added(source):
            continue
        if known or "sorted(" in unparse(call.args[0]) or _handed_text(source, call.args[0]):
            return at(source, table, "the first letter has the number of the blank, so it is never read")
    return None


def _constant(source: Script, node: ast.expr) -> float | None:
    """A number, also one that a class keeps: `Alphabet.BLANK`."""
    value = number(source, node)
    if value is None and isinstance(node, ast.Attribute):
        held = [a.value for a in source.of(ast.Assign) if unparse(a.targets[0]) == node.attr]
        return number(source, held[0]) if len(held) == 1 else None
    return value


def _added(source: Script) -> bool:
    """A one is added to the numbers somewhere: `[index[c] + 1 for c in text]`; or the blank is one."""
    return (
        re.search(r"\] \+ 1\b|\+= 1\s*$|\) \+ 1 for|labels? \+ 1|targets? \+ 1|\[['\"]<?blank", source.code)
        is not None
    )


def _handed_text(source: Script, node: ast.expr) -> bool:
    """An argument of a constructor that is given a written text: `Alphabet("abc")`."""
    function = source.function_around(node)
    owner = source.class_around(node)
    if not isinstance(node, ast.Name) or owner is None or getattr(function, "name", "") != "__init__":
        return False
    given = [c.args[0] for c in source.named(owner.name) if c.args]
    texts = [literal(source, g) for g in given]
    return bool(texts) and all(isinstance(t, str) and t and not _BLANK.match(t[0]) for t in texts)
