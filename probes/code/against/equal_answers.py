"""Kinds of edits that change nothing: both networks answer alike, with the same weights and inputs.

The networks of both programs are made anew and worked out (`probes/forward`). Weights of one shape are drawn
in the order in which they are made, so that a network that is written otherwise gets the same ones. What is
only there in training (dropout, starts, momentum, gradients) is not worked out, nor are edits of it judged.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from functools import lru_cache

from ....engine.model import Place
from ...forward.asked import Question, again, questions
from ...forward.facts import same
from ...rehearsal.journal import Asked
from ...rehearsal.machine import rehearsed
from ...script_diff.edit import Edit
from ...script_diff.vocabulary import word_set
from ...scripts.syntax import Script

_ABOUT = word_set(
    "activation pooling layers-stacked skip other-layer layer-input layer-size padding attention-scale"
    " attention-mask fused-operator output-activation output-bounded returns axis"
)
_SEEDS = (0, 1)
_NOT_WORKED_OUT = re.compile(
    r"(?i)drop|init|momentum|eps|grad|detach|train|eval|seed|dtype|half|float16|amp|autocast|checkpoint|clip"
    r"|decay|mode|align|approximate|padding_idx|Parameter|Transformer|nonlinearity|count_include|noise|rand"
    r"|freeze|stats"
)
_STEPS = (ast.Call, ast.BinOp, ast.Compare, ast.IfExp, ast.Subscript)


def answered_alike(kind: str, edits: Sequence[Edit], mine: Script, theirs: Script) -> bool:
    """Whether edits of this kind are all of steps that were worked out, in networks that answer alike."""
    if kind not in _ABOUT or any(_NOT_WORKED_OUT.search(e.mine_code + e.theirs_code) for e in edits):
        return False
    if not _alike(mine, theirs):
        return False
    sides = ((mine, [e.mine for e in edits]), (theirs, [e.theirs for e in edits]))
    return all(
        _worked_out(source, place) for source, places in sides for place in places if place is not None
    )


@lru_cache(maxsize=16)
def _alike(mine: Script, theirs: Script) -> bool:
    here, there = _all(mine), _all(theirs)
    if not here or len(here) != len(there):
        return False
    return all(_answer_alike(a, b) for a, b in zip(here, there, strict=True))


def _all(source: Script) -> tuple[Question, ...]:
    """The networks of a program, where each of its own that it asks can be worked out."""
    asked = {id(e.net.kind) for e in rehearsed(source).journal.of(Asked) if e.net.kind is not None}
    found = questions(source)
    return found if len(found) == len(asked) else ()


def _answer_alike(mine: Question, theirs: Question) -> bool:
    if mine.inputs != theirs.inputs:
        return False
    for seed in _SEEDS:
        here, there = again(mine, seed), again(theirs, seed)
        if here is None or there is None or not same(here, there):
            return False
    return True


def _worked_out(source: Script, place: Place) -> bool:
    """Whether each step of the statement at a place was gone through."""
    visited = {n for q in questions(source) for n in q.network.visited}
    statements = [n for n in source.nodes if isinstance(n, ast.stmt) and source.place(n) == place]
    steps = [n for s in statements if not hasattr(s, "body") for n in ast.walk(s) if isinstance(n, _STEPS)]
    return bool(steps) and visited.issuperset(steps)
