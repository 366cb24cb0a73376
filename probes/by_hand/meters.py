"""Objects and functions that count a metric over batches or ranks, worked out on made answers.

A class named after a metric gets the made answers in two batches and is asked for its figure.
`accuracy(output, target, topk=(1, 5))` is asked for two ranks at once, a concordance index for pairs.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ..readers._tree import unparse
from ..scripts.syntax import Script
from .arrays import tensor
from .cases import CUT, Case, cases
from .definitions import FAMILY, wanted
from .interpreter import Interpreter
from .promises import NEAR, _option, _same, _settings, kind_of, says, tells
from .sizes import TooLong, Unfit
from .things import Names

_ADDS = re.compile(r"^(?:add|update|update_state|accumulate|push|step|append|put|observe|record|__call__)$")
_GIVES = re.compile(
    r"^(?:value|values|compute|result|eval|get|score|avg|average|mean|summary|evaluate|final|__float__|\w+_value)$"
)
_TOP_ONE = re.compile(r"(?i)^top_?1$")
_METERS = ("accuracy", "mae", "mse", "rmse", "r2", "f1", "precision", "recall", "iou", "dice", "specificity")
_ERRORS = ("mae", "mse", "rmse", "r2")
_FIRST = 19  # rows of the first batch: the two batches are of unlike sizes


def broken_meter(source: Script) -> tuple[ast.AST, str] | None:
    """The first class that counts something else than what it is named after, and what it comes to."""
    for owner in source.of(ast.ClassDef):
        kind = "accuracy" if _TOP_ONE.match(owner.name) else kind_of(_snake(owner.name))
        methods = {f.name: f for f in owner.body if isinstance(f, ast.FunctionDef)}
        adds = [f for n, f in methods.items() if _ADDS.match(n)]
        gives = [f for n, f in methods.items() if _GIVES.match(n) and len(_needed(f)) == 1]
        if kind not in _METERS or len(adds) != 1 or len(gives) != 1 or any(f in adds for f in gives):
            continue
        names = _needed(adds[0])[1:]
        if not names and adds[0].args.vararg is not None and any("Metric" in unparse(b) for b in owner.bases):
            names = ["y_pred", "y"]  # MindSpore's `update(self, *inputs)` gets answers and labels
        if len(names) != 2:
            continue
        orders = [(0, 1), (1, 0)]
        if says(names[1]) and tells(names[0]):
            orders = [(1, 0)]
        elif says(names[0]) and tells(names[1]):
            orders = [(0, 1)]
        if (why := _off(source, owner, adds[0].name, gives[0].name, kind, orders)) is not None:
            return adds[0], why
        clears = [f for n, f in methods.items() if n in ("reset", "clear", "reset_states", "reset_state")]
        if len(clears) == 1 and len(_needed(clears[0])) == 1:
            asked = (adds[0].name, gives[0].name, clears[0].name)
            if (why := _goes_on(source, owner, asked, kind, orders[0])) is not None:
                return clears[0], why
    return None


def _goes_on(
    source: Script, owner: ast.ClassDef, asked: tuple[str, str, str], kind: str, order: tuple[int, int]
) -> str | None:
    """Why the same rows give another figure once it was cleared: something of the rows before is left."""
    adds, gives, clears = asked
    machine = Interpreter(source, _settings(source))
    for case in cases(FAMILY[kind], 1):
        if isinstance(case.said, list) or not _FIRST < len(case.said) == len(case.scores):
            continue
        one, other = _halves(case)
        try:
            told: list[Any] = []
            meter = machine.make(owner, [], _options(owner))
            for part in (one, other):
                given = [tensor(part.said.copy()), tensor(part.truth.copy())]
                machine.ask(meter, adds, [given[order[0]], given[order[1]]])
                told.append(np.asarray(machine.ask(meter, gives, []), float).view(np.ndarray))
                machine.ask(meter, clears, [])
            alone = _counted_once(machine, owner, adds, gives, other, order)
        except TooLong:
            return None
        except (Unfit, TypeError, ValueError, KeyError, IndexError, AttributeError):
            continue
        if alone is None or told[1].size != 1 or not np.isfinite(told[1]).all():
            continue
        if not np.allclose(told[1], alone, rtol=NEAR, atol=1e-6):
            now, then = float(told[1].reshape(-1)[0]), float(np.reshape(alone, -1)[0])
            return f"after `{clears}` made rows come to {now:.4g}, and to {then:.4g} in a new `{owner.name}`"
        return None
    return None


def _counted_once(
    machine: Interpreter, owner: ast.ClassDef, adds: str, gives: str, case: Case, order: tuple[int, int]
) -> Any:
    meter = machine.make(owner, [], _options(owner))
    given = [tensor(case.said.copy()), tensor(case.truth.copy())]
    machine.ask(meter, adds, [given[order[0]], given[order[1]]])
    made = np.asarray(machine.ask(meter, gives, []), float).view(np.ndarray)
    return made if made.size == 1 and np.isfinite(made).all() else None


def _snake(name: str) -> str:
    plain = name.replace("mIoU", "MIou").replace("IoU", "Iou").replace("IOU", "Iou")
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", plain).lower()


def _needed(function: ast.FunctionDef) -> list[str]:
    names = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
    return names[: len(names) - len(function.args.defaults)]


def _off(
    source: Script, owner: ast.ClassDef, adds: str, gives: str, kind: str, orders: list[tuple[int, int]]
) -> str | None:
    """Why its figure is none of the definitions, in no layout that it can be worked out in."""
    wrong: tuple[float, float] | None = None
    machine = Interpreter(source, _settings(source))
    for both in zip(cases(FAMILY[kind], 1), cases(FAMILY[kind], 2), strict=True):
        if any(isinstance(c.said, list) or not _FIRST < len(c.said) == len(c.scores) for c in both):
            continue
        for order in orders:
            try:
                told = [_counted(machine, owner, adds, gives, c, order) for c in both]
            except TooLong:
                return None
            if any(t is None for t in told):
                continue
            ways = [list(_meant(kind, c)) for c in both]
            if not ways[0]:
                continue
            if any(
                all(_same(kind, t, w) for t, w in zip(told, each, strict=True))
                for each in zip(*ways, strict=False)
            ):
                return None
            held = np.asarray(told[0], float)
            if held.size == 1:
                pair = (float(held.reshape(-1)[0]), float(np.mean(ways[0][0])))
                # of several layouts the one that fits the best is meant
                wrong = min(wrong or pair, pair, key=lambda p: abs(p[0] - p[1]))
    if wrong is None:
        return None
    return f"worked out on two made batches, `{owner.name}` comes to {wrong[0]:.4g}, not to {wrong[1]:.4g}"


def _counted(
    machine: Interpreter, owner: ast.ClassDef, adds: str, gives: str, case: Case, order: tuple[int, int]
) -> Any:
    try:
        meter = machine.make(owner, [], _options(owner))
        for part in _halves(case):
            given = [tensor(part.said.copy()), tensor(part.truth.copy())]
            machine.ask(meter, adds, [given[order[0]], given[order[1]]])
        made = np.asarray(machine.ask(meter, gives, []), float).view(np.ndarray)
    except TooLong:
        raise
    except (Unfit, TypeError, ValueError, KeyError, IndexError, AttributeError):
        return None
    return made if made.size == 1 and np.isfinite(made).all() else None


def _halves(case: Case) -> list[Case]:
    cut = [slice(None, _FIRST), slice(_FIRST, None)]
    return [
        replace(case, said=case.said[c], truth=case.truth[c], scores=case.scores[c], right=case.right[c])
        for c in cut
    ]


def _meant(kind: str, case: Case) -> Iterator[Any]:
    """What it is over all rows; also the mean of the batches, which many are content with."""
    yield from (np.mean(w) for w in wanted(kind, case))
    one, other = (list(wanted(kind, c)) for c in _halves(case))
    share = _FIRST / len(case.said)
    for a, b in zip(one, other, strict=False):
        if kind not in _ERRORS and max(np.max(a), np.max(b)) > 1:
            continue  # counts have no mean over batches
        yield np.mean(a) * 0.5 + np.mean(b) * 0.5
        yield np.mean(a) * share + np.mean(b) * (1 - share)


def _options(owner: ast.ClassDef) -> Names:
    """Parameters of `__init__` without a default: how many classes there are, a threshold."""
    start = next((f for f in owner.body if isinstance(f, ast.FunctionDef) and f.name == "__init__"), None)
    found: Names = {}
    for name in _needed(start)[1:] if start is not None else ():
        known, value = _option(name)
        if not known:
            raise Unfit
        found[name] = value
    return found


# ------------------------------------------------------------------------------- several ranks at once


def broken_ranks(source: Script) -> tuple[ast.AST, str] | None:
    """The first `accuracy(output, target, topk=(1, 5))` that counts other answers than the first ones."""
    for function in source.of(ast.FunctionDef):
        name = _ranks_asked(function)
        if name is None or source.function_around(function) is not None:
            continue
        machine, wrong = Interpreter(source, _settings(source)), ""
        for both in zip(cases("decisions", 1), cases("decisions", 2), strict=True):
            if any(c.task != "kinds" or c.decided or np.ndim(c.said) != 2 for c in both):
                continue
            if any(np.ndim(c.truth) != 1 for c in both):
                continue
            told = [_of_ranks(machine, function, name, c) for c in both]
            if any(t is None for t in told):
                continue
            ways = [[n * by for by in (100.0, 1.0, float(len(c.said)))] for c in both for n in [_first(c)]]
            pairs = zip(*ways, strict=True)
            if any(
                all(np.allclose(t, w, rtol=NEAR, atol=1e-4) for t, w in zip(told, p, strict=True))
                for p in pairs
            ):
                return None
            wrong = wrong or (
                f"worked out on made answers, `{function.name}` comes to {_both(told[0])} for the first 1 and"
                f" {CUT}, where that is {_both(ways[0][0])}"
            )
        if wrong:
            return function, wrong
    return None


def _both(values: Any) -> str:
    return " and ".join(f"{v:.4g}" for v in np.asarray(values).reshape(-1))


def _ranks_asked(function: ast.FunctionDef) -> str | None:
    """The parameter that names several ranks, of a function of scores and classes."""
    if not re.search(r"(?i)acc|top_?k|precision", function.name) or len(_needed(function)) != 2:
        return None
    args = function.args
    pairs = zip(reversed(args.args), reversed(args.defaults), strict=False)
    found = [a.arg for a, d in pairs if isinstance(d, (ast.Tuple, ast.List))]
    return found[0] if len(found) == 1 and len(args.defaults) == 1 else None


def _of_ranks(machine: Interpreter, function: ast.FunctionDef, name: str, case: Case) -> Any:
    given = [tensor(case.said.copy()), tensor(case.truth.copy())]
    try:
        found = machine.call(function, given, {name: (1, CUT)})
        if isinstance(found, dict):
            found = list(found.values())
        made = np.asarray([np.asarray(f, float).reshape(-1)[0] for f in found], float)
    except (TooLong, Unfit, TypeError, ValueError, KeyError, IndexError, AttributeError):
        return None
    return made if made.shape == (2,) and np.isfinite(made).all() else None


def _first(case: Case) -> np.ndarray:
    order = np.argsort(-case.scores, axis=1)
    hits = order == np.asarray(case.right)[:, None]
    return np.asarray([hits[:, :k].any(1).mean() for k in (1, CUT)])


# ------------------------------------------------------------------------------- pairs in their order

_CONCORDANCE = re.compile(r"(?i)^(?:\w*_)?(?:concordance(?:_index)?|c_?index|harrell\w*)(?:_\w+)?$")
_RISK = re.compile(r"(?i)risk|hazard|theta|log_?h|score|pred|eta|out|logit")
_TIME = re.compile(r"(?i)time|durat|surv|^t$|^y$")
_EVENT = re.compile(r"(?i)event|status|observ|dead|death|^e$|^d$|delta")


def broken_pairs(source: Script) -> tuple[ast.AST, str] | None:
    """The first concordance index that counts other pairs than those whose order is known."""
    for function in source.of(ast.FunctionDef):
        if not _CONCORDANCE.match(function.name) or source.function_around(function) is not None:
            continue
        names = _needed(function)
        roles = [[n for n in names if ask.search(n)] for ask in (_RISK, _TIME, _EVENT)]
        if len(names) != 3 or any(len(r) != 1 for r in roles) or len({r[0] for r in roles}) != 3:
            continue
        machine = Interpreter(source)
        told = [
            [_concordant(machine, function, roles, s, kind) for s in (1, 2)] for kind in (tensor, np.asarray)
        ]
        for given in told:
            values = [v for v in given if v is not None]
            if len(values) != len(given):
                continue
            meant = [_index(*_survival(s)) for s in (1, 2)]
            turned = not re.search(r"(?i)risk|hazard", roles[0][0])  # a predicted time goes the other way
            if all(abs(v - m) < 1e-3 for v, m in zip(values, meant, strict=True)):
                break
            if turned and all(abs(v - (1 - m)) < 1e-3 for v, m in zip(values, meant, strict=True)):
                break
            return function, (
                f"worked out on made answers, `{function.name}` comes to {values[0]:.4g},"
                f" where that is {meant[0]:.4g}"
            )
    return None


def _survival(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    of = np.random.default_rng([seed, 5])
    risk = of.normal(0, 1, 25)
    time = np.exp(-0.8 * risk + of.normal(0, 0.6, 25))
    return risk, time, (of.uniform(size=25) < 0.6).astype(float)


def _index(risk: np.ndarray, time: np.ndarray, event: np.ndarray) -> float:
    known = (time[:, None] < time[None, :]) & (event[:, None] == 1)
    return float(((risk[:, None] > risk[None, :]) & known).sum() / known.sum())


def _concordant(
    machine: Interpreter, function: ast.FunctionDef, roles: list[list[str]], seed: int, kind: Any
) -> float | None:
    named: Names = {r[0]: kind(v) for r, v in zip(roles, _survival(seed), strict=True)}
    try:
        found = np.asarray(machine.call(function, [], named), float)
    except (TooLong, Unfit, TypeError, ValueError, KeyError, IndexError, AttributeError):
        return None
    return float(found.reshape(-1)[0]) if found.size == 1 and np.isfinite(found).all() else None
