"""Sequences that are decoded step by step in scripts, and labels that tell nothing from anything."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import argument, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at, ok

_JOINS = ("cat", "concat", "concatenate", "hstack")


def first_answer_taken(source: Script) -> Finding | None:
    """`ys = cat([ys, logits[:, 0].argmax(-1)])` in a loop: the answer of the first place, at each step.

    Silent where the model gets the last token alone (its output has one place), and where the sequence grows
    in front.
    """
    seen = None
    for call in source.named(*_JOINS):
        loops = source.loops_around(call)
        statement = source.statement(call)
        if not loops or not isinstance(statement, ast.Assign) or not call.args:
            continue
        parts = call.args[0].elts if isinstance(call.args[0], (ast.List, ast.Tuple)) else []
        grown = unparse(statement.targets[0])
        if len(parts) != 2 or unparse(parts[0]) != grown:
            continue
        mine = flow(source)
        for value in [parts[1], *mine.values(parts[1], 6)]:
            for cut in of(value, ast.Subscript):
                scores = cut.value
                if not _first_place(cut) or not isinstance(scores, ast.Name):
                    continue
                made = [g.value for g in mine.all_given(scores) if isinstance(g.value, ast.Call)]
                fed = any(
                    grown in {unparse(a) for a in (*m.args, *(k.value for k in m.keywords))} for m in made
                )
                seen = seen or call
                if fed and any(loops[-1] in source.above(m) for m in made):
                    return at(source, cut, "each step takes the answer of the first place, not of the last")
    return ok(source, seen, "each step takes the answer of the last place") if seen is not None else None


def _first_place(node: ast.Subscript) -> bool:
    places = node.slice.elts if isinstance(node.slice, ast.Tuple) else []
    if len(places) not in (2, 3) or not isinstance(places[0], ast.Slice):
        return False
    return isinstance(places[1], ast.Constant) and places[1].value == 0 and type(places[1].value) is int


def all_pairs_are_right(source: Script) -> Finding | None:
    """Two terms of binary cross entropy are added, and the target of every one in the script is one.

    Good pairs and drawn ones are then told alike. Silent where any such loss has another target, and where
    models judge one another (a generator's losses).
    """
    calls = [
        c for c in source.calls if re.match(r"binary_cross_entropy(?:_with_logits)?$", last_name(c.func))
    ]
    if len(calls) < 2 or source.loose or re.search(r"(?i)\bgan\b|discriminat|critic|generat", source.code):
        return None
    if source.named("BCELoss", "BCEWithLogitsLoss", "BinaryCrossentropy"):
        return None
    targets = [argument(c, "target", position=1) for c in calls]
    ones = [isinstance(t, ast.Call) and last_name(t.func) in ("ones_like", "ones") for t in targets]
    summed = {source.function_around(c) for c in calls}
    scores = {unparse(c.args[0]) for c in calls if c.args}
    if all(ones) and len(summed) == 1 and len(scores) == len(calls):
        return at(source, calls[-1], "every pair is told to be right, the drawn ones as well")
    return ok(source, calls[0], "some pairs are told to be wrong")
