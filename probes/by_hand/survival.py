"""Losses of proportional hazards that scripts write out, worked out on made patients.

Whatever it is written like: who dies early has the higher risk where it is low, a constant added to all risks
changes nothing, and without an event there is nothing to lose.
"""

from __future__ import annotations

import ast
import re

import numpy as np

from ..scripts.syntax import Script
from .arrays import tensor
from .interpreter import Interpreter
from .meters import _EVENT, _RISK, _TIME, _needed
from .sizes import TooLong, Unfit
from .things import Names

_LOSS = re.compile(r"(?i)cox|partial_?(?:log_?)?lik\w*|breslow|efron|hazards?_loss")
_ROWS, _STEP = 25, 1e-3
_ODD = (Unfit, TypeError, ValueError, KeyError, IndexError, AttributeError)


def broken_hazards(source: Script) -> tuple[ast.AST, str] | None:
    """The first loss of this kind that rewards something else, and what it does."""
    for function in source.of(ast.FunctionDef):
        if not _LOSS.search(function.name) or source.class_around(function) is not None:
            continue
        names = _needed(function)
        roles = [[n for n in names if ask.search(n)] for ask in (_RISK, _TIME, _EVENT)]
        if len(names) != 3 or any(len(r) != 1 for r in roles) or len({r[0] for r in roles}) != 3:
            continue
        found: list[str] = []
        for order in ("drawn", "falling", "rising"):
            try:
                why = _wrong(Interpreter(source), function, [r[0] for r in roles], order)
            except TooLong:
                return None
            except _ODD:
                continue
            if why is None:
                found = []
                break
            found.append(why)
        if found:
            return function, f"worked out on made patients, {found[0]}"
    return None


def _wrong(machine: Interpreter, function: ast.FunctionDef, roles: list[str], order: str) -> str | None:
    of = np.random.default_rng(5)
    time = of.permutation(np.linspace(1.0, 9.0, _ROWS))
    event = (of.uniform(size=_ROWS) < 0.6).astype(float)
    if order != "drawn":
        rows = np.argsort(time)[:: -1 if order == "falling" else 1]
        time, event = time[rows], event[rows]

    def cost(risk: np.ndarray, seen: np.ndarray) -> float:
        named: Names = {n: tensor(v.copy()) for n, v in zip(roles, (risk, time, seen), strict=True)}
        made = np.asarray(machine.call(function, [], named), float)
        if made.size != 1 or not np.isfinite(made).all():
            raise Unfit
        return float(made.reshape(-1)[0])

    risk = 5.0 - time
    right, wrong = cost(risk, event), cost(-risk, event)
    name = function.name
    if right > wrong - _STEP:
        return f"`{name}` costs {right:.3g} where those of high risk die first, and {wrong:.3g} the other way"
    if abs(cost(risk + 2.0, event) - right) > 0.02 * (1 + abs(right)):
        return f"`{name}` changes where all risks are higher by one and the same"
    try:
        none = cost(risk, np.zeros(_ROWS))
    except _ODD:
        return None
    return f"`{name}` costs {none:.3g} where nobody dies" if abs(none) > _STEP else None
