"""Losses of classes that scripts write out, worked out on made answers: a surer right answer costs less.

A focal loss has to leave the sure ones out as well: it falls faster than a cross entropy where they are sure.
"""

from __future__ import annotations

import ast
import re
from typing import Any

import numpy as np

from ..scripts.syntax import Script
from .arrays import tensor
from .interpreter import Interpreter
from .promises import says, tells
from .sizes import TooLong, Unfit

_NAMED = re.compile(
    r"(?i)focal|nll|cross_?ent|(?:^|_)x?ce(?:_|$)|label_?smooth|smooth(?:ed|ing)?_(?:nll|ce|loss|label)"
)
_NOT_ONE = re.compile(
    r"(?i)dice|iou|kd|distil|soft_?target|contrast|ranking|triplet|negative_sampl|gain|weight"
)
_KINDS = 5
_MARGINS = (0.5, 2.0, 4.0)


def broken_class_loss(source: Script) -> tuple[ast.AST, str] | None:
    """The first loss of scores and classes for which a right answer that is surer costs more, or as much."""
    for function in source.of(ast.FunctionDef):
        if not _NAMED.search(function.name) or _NOT_ONE.search(function.name):
            continue
        if source.class_around(function) is not None or source.function_around(function) is not None:
            continue
        args = function.args
        names = [a.arg for a in (*args.posonlyargs, *args.args)]
        needed = names[: len(names) - len(args.defaults)]
        hot = [n for n in needed if re.search(r"(?i)one_?hot|hot$", n)]
        truth = [n for n in needed if tells(n)] or hot
        said = [n for n in needed if says(n) and n not in truth]
        if len(needed) != 2 or len(said) != 1 or len(truth) != 1 or said == truth:
            continue
        told = [_costs(source, function, said[0], truth[0], layout) for layout in ("rows", "text", "hot")]
        known = [t for t in told if t is not None]
        if not known or any(_falls(t) and _leaves_sure(function, t) for t in known):
            continue
        costs = known[0]
        if _falls(costs):
            return (
                function,
                "worked out on made answers, it leaves the unsure ones out and keeps the sure ones",
            )
        words = f"{costs[0]:.3g} where they are hardly sure and {costs[-1]:.3g} where they are sure"
        return function, f"worked out on made answers, right ones cost {words}"
    return None


def _falls(costs: list[float]) -> bool:
    """From hardly sure to sure; a smoothed one rises again where all are too sure."""
    return costs[0] > costs[1] + 1e-6


def _leaves_sure(function: ast.FunctionDef, costs: list[float]) -> bool:
    if "focal" not in function.name.lower():
        return True
    plain = [np.log1p(np.exp(-m)) for m in _MARGINS]
    softly = [np.log1p((_KINDS - 1) * np.exp(-2 * m)) for m in _MARGINS]
    return any(costs[2] / way[2] < costs[0] / way[0] for way in (plain, softly))


def _costs(
    source: Script, function: ast.FunctionDef, said: str, truth: str, layout: str
) -> list[float] | None:
    shape = (4, 3) if layout == "text" else (12,)
    gold = np.random.default_rng(4).integers(1, _KINDS, shape)
    hot = np.eye(_KINDS)[gold]
    found: list[float] = []
    for margin in _MARGINS:
        given = {
            said: tensor(margin * (2 * hot - 1)),
            truth: tensor(hot.copy() if layout == "hot" else gold.copy()),
        }
        try:
            value: Any = Interpreter(source).call(function, [], given)
            number = np.asarray(value[0] if isinstance(value, tuple) else value, float)
        except (TooLong, Unfit, TypeError, ValueError, KeyError, IndexError, AttributeError):
            return None
        if not number.size or not np.isfinite(number).all():
            return None
        found.append(float(number.sum()))
    return found
