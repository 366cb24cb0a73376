"""Parts of attention without effect: a mask too small to hide, queries, keys or values that nothing reads."""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_in, of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.sides import literal

_HIDES = (
    3.0  # a score is taken down by less than that: e to that power is a factor of twenty, and hides little
)
_SCORES = re.compile(r"(?i)att|score|weight|logit|energy|dots|sim")
_PARTS = ("q", "query", "queries"), ("k", "key", "keys"), ("v", "value", "values")


def mask_too_small(source: Script) -> Finding | None:
    """`scores.masked_fill(mask, -1e-9)` before a softmax: hidden places count like any other."""
    for call in source.named("masked_fill", "masked_fill_", "where"):
        function = source.function_around(call)
        if function is None or not any("softmax" in last_name(c.func) for c in of(function, ast.Call)):
            continue
        text = unparse(call)
        if "mask" not in text.lower() or not _SCORES.search(text):
            continue
        if last_name(call.func) == "where":
            filled = call.args[1:3]
        else:
            filled = [*call.args[1:2], *(k.value for k in call.keywords if k.arg == "value")]
        for value in filled:
            told = literal(source, value)
            if isinstance(told, float) and -_HIDES < told < 0:
                return at(source, call, f"{told:g} hides nothing from a softmax: far less is meant")
    return None


def part_unread(source: Script) -> Finding | None:
    """`q, k, v = ...` in a pass of the network, and one is never read: `q @ q.transpose(-2, -1)`."""
    for function in source.passes:
        for node in of(function, ast.Assign):
            target = node.targets[0]
            if not isinstance(target, ast.Tuple) or len(target.elts) != len(_PARTS):
                continue
            names = [t.id if isinstance(t, ast.Name) else "" for t in target.elts]
            if not all(n.lower() in part for n, part in zip(names, _PARTS, strict=True)):
                continue
            # what turns all three into heads reads them to write them again
            anew = [a for a in of(function, ast.Assign) if set(names) <= names_in(a.targets[0])]
            inside = {id(n) for a in anew for n in of(a.value, ast.Name)}
            loads = [n for n in of(function, ast.Name) if isinstance(n.ctx, ast.Load)]
            read = {n.id for n in loads if id(n) not in inside}
            lost = [n for n in names if n not in read]
            if 0 < len(lost) < len(names):
                return at(source, node, f"`{lost[0]}` is made here, and nothing reads it")
    return None
