"""Running means of batches in scripts (`AverageMeter`), worked out on two batches of unlike sizes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import numpy as np

from ..readers._tree import of, unparse
from ..readers.script import last_name
from ..scripts.flow import flow
from ..scripts.syntax import Script
from .interpreter import Interpreter
from .promises import _settings
from .sizes import TooLong, Unfit

_ADDS = re.compile(r"^(?:add|update|accumulate|push|append|put|observe|record|__call__)$")
_MEAN = re.compile(r"(?i)^(?:global_?)?(?:avg|average|mean)$")
_COUNTS = re.compile(r"(?i)^(?:n|k|num|count|size|weight|batch_?size|bs|n_samples|samples)$")
_PLAIN = re.compile(r"(?:float\()?(\w+)(?:\.data|\.detach\(\)|\.item\(\)|\.cpu\(\)|\.asnumpy\(\))*\)?")
_BATCHES = ((2.0, 4), (5.0, 1))
_BY_SAMPLES, _UNWEIGHTED, _UNCOUNTED = 13 / 5, 7 / 5, 13 / 2


def broken_mean(source: Script) -> tuple[ast.AST, str] | None:
    """`self.sum += value; self.count += n`: the sum and the count are of unlike things.

    A class that adds up what it is given as it is may be given sums: it is told only where it is given the
    mean loss of a batch, `losses.update(loss.item(), x.size(0))`.
    """
    for owner in source.of(ast.ClassDef):
        methods = {f.name: f for f in owner.body if isinstance(f, ast.FunctionDef)}
        adds = [f for n, f in methods.items() if _ADDS.match(n) and _takes_count(f)]
        given = list(_given(source, owner, adds[0].name)) if len(adds) == 1 else []
        if not given:
            continue
        try:
            came = _came_to(source, owner, adds[0], [n for n in methods if _MEAN.match(n)])
        except (TooLong, Unfit, TypeError, ValueError, KeyError, IndexError, AttributeError):
            continue
        if came == _UNWEIGHTED and any(_is_batch_mean(source, value) for value in given):
            why = "adds the mean of a batch up once, and counts its samples"
        elif came == _UNCOUNTED:
            why = "adds up each value times its samples, and counts batches"
        else:
            continue
        told = f"means 2 of 4 samples and 5 of 1 come to {came:.4g}, and {_BY_SAMPLES:.4g} are right"
        return adds[0], f"`{owner.name}.{adds[0].name}` {why}: {told}"
    return None


def _takes_count(function: ast.FunctionDef) -> bool:
    """`update(self, value, n=1)`: a value, and how many samples it is of."""
    names = [a.arg for a in function.args.args]
    defaults = function.args.defaults
    usual = not defaults or (
        len(defaults) == 1 and isinstance(defaults[0], ast.Constant) and defaults[0].value == 1
    )
    return len(names) == 3 and usual and _COUNTS.match(names[2]) is not None


def _came_to(source: Script, owner: ast.ClassDef, adds: ast.FunctionDef, gives: list[str]) -> float | None:
    machine = Interpreter(source, _settings(source))
    meter = machine.make(owner, [], {})
    for value, count in _BATCHES:
        machine.ask(meter, adds.name, [value, count])
    names = [n for n in meter.held if _MEAN.match(n)]
    told = machine.ask(meter, gives[0], []) if gives else meter.held[names[0]] if names else None
    number = np.asarray(told, dtype=float) if told is not None else None
    if number is None or number.size != 1:
        return None
    close = (w for w in (_UNWEIGHTED, _UNCOUNTED) if abs(float(number.reshape(-1)[0]) - w) < 1e-6)
    return next(close, None)


def _given(source: Script, owner: ast.ClassDef, adds: str) -> Iterator[ast.expr]:
    """The values that objects of the class are given with a count that is not one."""
    makes = [
        n for n in source.of(ast.Assign) if owner.name in {last_name(c.func) for c in of(n.value, ast.Call)}
    ]
    names = {unparse(t) for n in makes for t in n.targets}
    for call in source.named(adds):
        held = call.func.value if isinstance(call.func, ast.Attribute) else None
        counted = call.args[1:2] or [k.value for k in call.keywords if k.arg and _COUNTS.match(k.arg)]
        known = held is not None and (unparse(held) in names or isinstance(held, ast.Subscript))
        if known and call.args and counted and not isinstance(counted[0], ast.Constant):
            yield call.args[0]


def _is_batch_mean(source: Script, value: ast.expr) -> bool:
    """`loss.item()` of a loss with the usual reduction, `hits.item()` of `hits = (...).mean()`."""
    text = unparse(value)
    plain = _PLAIN.fullmatch(text)
    if plain is None or re.search(r"(?i)sum|total", text):
        return False
    if "loss" in plain[1].lower():
        return "sum" not in _reductions(source)
    name = next(iter(of(value, ast.Name)))
    held = flow(source).given(name)
    calls = {last_name(c.func) for c in of(held.value, ast.Call)} if held is not None else set()
    return "mean" in calls and "sum" not in calls


def _reductions(source: Script) -> set[object]:
    named = [k.value for c in source.calls for k in c.keywords if k.arg == "reduction"]
    return {v.value for v in named if isinstance(v, ast.Constant)} | {
        "sum" for v in named if not isinstance(v, ast.Constant)
    }
