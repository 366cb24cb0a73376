"""Losses that training takes of something else than evaluation does: of means, a part, another shape."""

from __future__ import annotations

import ast
from collections import Counter

from ...readers._tree import unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.flow import flow, losses
from ...scripts.learning import differentiated, taken
from ...scripts.syntax import Script
from ..samples.batch_apart import moved_together
from ..shared.checks import at, is_evaluation, ok
from ..shared.nodes import is_none

_REDUCES = ("mean", "sum")
_TURNS = ("unsqueeze", "transpose", "permute", "swapaxes", "flip", "roll", "t")
_FLATTENS = ("reshape", "view", "flatten")
_BENDS = (
    *("squeeze", "log_softmax", "softmax", "sigmoid", "clamp", "exp"),
    *("log", "tanh", "argmax", "max", "repeat"),
)
_SAME = ("float", "to", "double", "contiguous", "cpu", "cuda", "long", "detach", "clone")


_MOST = 12


def loss_unlike_evaluation(source: Script) -> Finding | None:
    """`mse(out.unsqueeze(1), y)`, `mse(out.mean(0), y.mean(0))` in training, and `mse(out, y)` in evaluation.

    Judged of one loss that both are taken by. A turn of one side alone, a mean of either, or a range of both
    is told; what else is done to an output may be needed for training.
    """
    taught, scored = [], []
    around = {source.function_around(b) for b in taken(source)}
    for call, kind in losses(source):
        if len(call.args) != 2 or call.keywords or any(isinstance(a, ast.Starred) for a in call.args):
            continue
        if is_evaluation(source, call):
            scored.append((call, kind))
        elif source.function_around(call) in differentiated(source) | around:
            taught.append((call, kind))
    if len(taught) != 1 or not scored:
        return None
    mine, kind = taught[0]
    theirs = [c for c, k in scored if k == kind]
    if not theirs:
        return None
    for other in theirs:
        more = [_more(source, a, b) for a, b in zip(mine.args, other.args, strict=True)]
        if any(m is None for m in more):
            return None
        names = [sorted(m or ()) for m in more]
        turned = [n for n in names if n and all(w in _TURNS or w == "[None]" for w in n)]
        reduced = any(w in _REDUCES for n in names for w in n)
        ranged = all(n == ["[:]"] for n in names)
        if not (reduced or ranged or (len(turned) == 1 and [] in names)):
            return ok(source, mine, "training and evaluation take their losses alike")
    given = [g for a in mine.args if (g := flow(source).given(a)) is not None]
    if any(moved_together(source, g.value) for g in given):
        return ok(source, mine, "training turns inputs and labels alike")
    what = " and ".join(dict.fromkeys(w for n in names for w in n))
    return at(source, mine, f"the loss of training is taken after {what}, that of evaluation is not")


def _more(source: Script, mine: ast.expr, theirs: ast.expr) -> Counter[str] | None:
    """What is done to an argument in training alone; None where something is done in evaluation alone."""
    here, there = _done(source, mine), _done(source, theirs)
    turned = set(here - there) & {"transpose", "permute", "swapaxes", "t"}
    if there - here or (turned and not set(here) & set(_FLATTENS)):
        return None  # which axis holds classes is for the loss to say
    return here - there


def _done(source: Script, node: ast.expr) -> Counter[str]:
    """`out[:, :1].mean(0)` -> a range and a mean, also by way of a name."""
    found: Counter[str] = Counter()
    for _ in range(_MOST):
        if isinstance(node, ast.Name):
            given = flow(source).given(node)
            if given is None or given.places or not isinstance(given.value, (ast.Call, ast.Subscript)):
                return found
            node = given.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name = last_name(node.func)
            if name not in (*_SAME, *_REDUCES, *_TURNS, *_FLATTENS, *_BENDS):
                return found
            if name not in _SAME:
                found[name] += 1
            node = node.func.value
        elif isinstance(node, ast.Subscript):
            places = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            cut = [p for p in places if isinstance(p, ast.Slice) and (p.lower or p.upper) is not None]
            none = [p for p in places if is_none(p)]
            whole = all(isinstance(p, ast.Slice) for p in places)
            found["[:]" if cut and whole else "[None]" if none else unparse(node.slice)] += 1
            node = node.value
        else:
            return found
    return found
