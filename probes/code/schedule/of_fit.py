"""Schedules of Keras against the `fit` that they run in: lengths in other units, rates played by epochs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse
from ...readers.script import argument, keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..shared.checks import at, ok
from ..shared.factors import product
from ..shared.numbers import Numbers, Unknown, known

_SIZES = (8_000.0, 60_000.0, 2_000_000.0)  # samples of a data set
_LENGTHS = {"CosineDecay": (1, "decay_steps"), "PolynomialDecay": (1, "decay_steps")}
_SHORT, _LONG = 0.2, 4.0  # times the run: by then no rounding and no habit explains it
_CYCLES = re.compile(r"(?i)cycl|restart|period|sgdr|triang|snapshot|%")
_FEW = 10  # times: a larger number is the batches of an epoch, told as they are
_BATCH = 32.0  # what fit takes where nothing is said
_GONE = 1e-3  # of the highest rate


def fit_misjudged(source: Script) -> Finding | None:
    """The schedule is far shorter or far longer than `fit`, or falls to nothing within its epochs."""
    if not {"keras", "tensorflow"} & set(source.frameworks) or source.loose:
        return None
    fits = [c for c in source.named("fit") if keyword(c, "epochs") is not None]
    if len(fits) != 1:
        return None
    seen: ast.AST | None = None
    for call, length in _lengths(source):
        shares = [_share(source, fits[0], length, size) for size in _SIZES]
        if None in shares:
            continue
        seen = seen or call
        told = [s for s in shares if s is not None]
        if max(told) < _SHORT:
            return at(
                source, call, "nothing is left of the rate for most of the run: its length is another one"
            )
        if min(told) > _LONG:
            return at(source, call, f"the schedule is {min(told):.3g} times as long as the training")
    return _played(source, fits[0]) or (
        ok(source, seen, "the schedule is as long as the run") if seen else None
    )


def _lengths(source: Script) -> Iterator[tuple[ast.Call, ast.expr]]:
    for name, (place, word) in _LENGTHS.items():
        for call in source.named(name):
            given = argument(call, word, position=place)
            if given is not None and name not in source.classes and keyword(call, "cycle") is None:
                yield call, given


def _share(source: Script, fit: ast.Call, length: ast.expr, size: float) -> float | None:
    """The length of a schedule as a share of the batches of all epochs; both of the same sizes of data."""
    run, own = Numbers(source, size), Numbers(source, size)
    epochs, steps = keyword(fit, "epochs"), keyword(fit, "steps_per_epoch")
    try:
        moves = run.of(epochs) if epochs is not None else 0.0
        if steps is not None:
            moves *= run.of(steps)
        else:
            given = fit.args[0] if fit.args else keyword(fit, "x")
            batch = keyword(fit, "batch_size")
            if given is None or (batch is None and not _is_array(source, given)):
                return None
            moves *= run.length(given) // (run.of(batch) if batch is not None else _BATCH)
        whole = own.of(length)
    except (Unknown, ZeroDivisionError, OverflowError, RecursionError, ValueError):
        return None
    both = own.leaves & run.leaves
    if moves < 8 or not both or own.unknown - run.unknown:
        return None
    if run.unknown - own.unknown:  # a length that is written out may be right for data that are not at hand
        made = product(flow(source), length)
        if own.leaves - run.leaves or made is None or made.constant > _FEW:
            return None
    return whole / moves


def _is_array(source: Script, node: ast.expr) -> bool:
    """Two arrays are fitted, not a data set that comes in batches."""
    call = source.parents.get(node)
    return isinstance(call, ast.Call) and len(call.args) > 1


# ------------------------------------------------------------------------------------------- epoch by epoch


def _played(source: Script, fit: ast.Call) -> Finding | None:
    """`LearningRateScheduler(f)`: the rates that `f(epoch, rate)` gives one after the other."""
    epochs = known(source, keyword(fit, "epochs"))
    if epochs is None or not 4 <= epochs <= 2000:
        return None
    for call in source.named("LearningRateScheduler"):
        given = argument(call, "schedule", position=0)
        function = _function(source, given) if given is not None else None
        if function is None or _CYCLES.search(unparse(function)):
            continue
        rates = _rates(source, function, int(epochs))
        if rates is None:
            continue
        if why := _wrong(rates):
            return at(source, function, why)
    return None


def _function(source: Script, node: ast.expr) -> Function | ast.Lambda | None:
    if isinstance(node, ast.Lambda):
        return node
    found = flow(source).functions.get(last_name(node), [])
    return found[0] if len(found) == 1 else None


def _rates(source: Script, function: Function | ast.Lambda, epochs: int) -> list[float] | None:
    names = [a.arg for a in function.args.args if a.arg != "self"]
    rate = _base(source)
    if not names or (len(names) > 1 and rate is None):
        return None
    found: list[float] = []
    for epoch in range(epochs):
        frame = {names[0]: float(epoch)}
        if len(names) > 1 and rate is not None:
            frame[names[1]] = rate
        try:
            rate = Numbers(source).apply(function, frame)
        except (Unknown, OverflowError, ZeroDivisionError, ValueError, RecursionError):
            return None
        found.append(rate)
    return found


def _base(source: Script) -> float | None:
    """The rate that the only optimizer is made with; one where it is not told."""
    rates = [argument(c, "learning_rate", position=0) for c in source.optimizer_calls]
    found = {known(source, r) for r in rates if r is not None}
    return (found.pop() if len(found) == 1 else None) or 1.0


def _wrong(rates: list[float]) -> str:
    peak = max(rates)
    if peak <= 0 or min(rates) < 0:
        return ""
    top = next(i for i, r in enumerate(rates) if r >= 0.9 * peak)
    low = next((i for i in range(top, len(rates)) if rates[i] <= _GONE * peak), None)
    if low is None:
        return ""
    if max(rates[low:]) > 10 * _GONE * peak or max(rates[low:]) > 100 * max(min(rates[low:]), 1e-30):
        return "the rate is gone within the run, and rises again"
    if low < 0.4 * len(rates) and rates[low + 1 :] and rates[low + 1] < 0.2 * rates[low]:
        return f"nothing is left of the rate after {low} of {len(rates)} epochs"
    return ""


# ------------------------------------------------------------------------------------------- never handed on


def callback_unused(source: Script) -> Finding | None:
    """A function of epoch and rate that nobody hands on, beside a `fit` whose rate stays as it is."""
    fits = source.named("fit")
    if not {"keras", "tensorflow"} & set(source.frameworks) or not fits or source.loose:
        return None
    if source.named("LearningRateScheduler", "ReduceLROnPlateau") or "schedules." in source.code:
        return None
    for function in source.of(ast.FunctionDef):
        names = [a.arg for a in function.args.args]
        if not re.match(r"(?i)(?:epoch|ep|e)s?(?:_?i(?:dx|ndex))?$", names[0] if names else ""):
            continue
        rates = len(names) == 2 and re.search(r"(?i)^(?:lr|rate|learning_rate|current\w*)$", names[1])
        named = re.search(r"(?i)(?:^|_)(?:lr|rate|sched\w*|decay|warm\w*)(?:_|$)", function.name)
        used = any(
            last_name(n) == function.name and isinstance(n.ctx, ast.Load)
            for n in source.of(ast.Name, ast.Attribute)
        )
        if (rates or named) and not used and source.function_around(function) is None:
            if source.class_around(function) is None and any(n.value for n in of(function, ast.Return)):
                return at(source, function, "this schedule is written and no callback gets it")
    return None
