"""Policies that are scored while they still try out actions at random."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of
from ...readers.script import argument, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..shared.checks import at

_DRAWS = ("random", "rand", "uniform")
_CHOOSES = ("randrange", "randint", "choice", "sample", "integers")
_SCORES = re.compile(r"(?i)(?:^|_)(?:eval\w*|test\w*|valid\w*|score\w*|play)(?:_|$)")
_MOSTLY = 0.5  # share of random actions from which on it is not the policy that is scored


def played_at_random(source: Script) -> Finding | None:
    """`act(net, state, 1.0)` in a function that scores, where `random() < epsilon` chooses at random."""
    for function in source.of(ast.FunctionDef):
        for name in _shares(function):
            place = [a.arg for a in function.args.args if a.arg not in ("self", "cls")].index(name)
            for call in source.named(function.name):
                around = source.function_around(call)
                given = argument(call, name, position=place)
                share = given.value if isinstance(given, ast.Constant) else None
                if around is None or around is function or not _SCORES.search(around.name):
                    continue
                if (
                    isinstance(share, bool)
                    or not isinstance(share, (int, float))
                    or not _MOSTLY <= share <= 1
                ):
                    continue
                if function in flow(source).called(call) and not _random_baseline(around):
                    return at(source, call, f"{share:.0%} of the actions that are scored are drawn at random")
    return None


def _shares(function: Function) -> list[str]:
    """Parameters that a drawn number is held against, below which an action is drawn."""
    names = {a.arg for a in function.args.args}
    found = []
    for test in of(function, ast.If):
        how = test.test
        if not isinstance(how, ast.Compare) or len(how.ops) != 1:
            continue
        low, high = how.left, how.comparators[0]
        if isinstance(how.ops[0], (ast.Gt, ast.GtE)):
            low, high = high, low
        drawn = isinstance(low, ast.Call) and last_name(low.func) in _DRAWS
        chooses = any(last_name(c.func) in _CHOOSES for s in test.body for c in of(s, ast.Call))
        if drawn and chooses and isinstance(high, ast.Name) and high.id in names:
            found.append(high.id)
    return found


def _random_baseline(function: Function) -> bool:
    """A random player is scored beside the policy, for comparison."""
    return (
        re.search(r"(?i)random|baseline|chance", function.name + (ast.get_docstring(function) or ""))
        is not None
    )
