"""The course of PyTorch's and transformers' schedules: `LambdaLR`, sequences, those with a warm-up."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator

from ...readers._tree import unparse
from ...readers.script import argument, keyword, last_name
from ...scripts.flow import flow, returns
from ...scripts.syntax import Function, Script
from ..shared.numbers import Numbers, Unknown
from ..shared.units import chain
from .moves import CYCLES, FAR, POINTS, SIZES, Course, Rate, safe, strange, times
from .torch_lengths import holders, kept_as

_WITH_WARMUP = ("get_linear_schedule_with_warmup", "get_cosine_schedule_with_warmup")


def of_library(source: Script) -> Iterator[tuple[ast.AST, Callable[[float], Course | None]]]:
    """`LambdaLR` and the schedules with a warm-up of transformers, with their `.step()`."""
    if "pytorch" not in source.frameworks or source.loose:
        return
    for call in source.calls:
        name = last_name(call.func)
        if name not in ("LambdaLR", "SequentialLR", *_WITH_WARMUP):
            continue
        if source.named(*_WRAPPED) or CYCLES.search(unparse(source.statement(call) or call)):
            continue
        moves: dict[str, list[ast.Call]] = {}
        for name in kept_as(source, call) | holders(source, call):
            moves[name] = [
                c
                for c in source.named("step")
                if isinstance(c.func, ast.Attribute) and last_name(c.func.value) == name
            ]
        for steps in moves.values():
            if steps and not any(c.args or c.keywords for c in steps):
                yield call, lambda size, call=call, steps=steps: _of_call(source, call, steps, size)  # type: ignore[misc]


_WRAPPED = ("prepare", "Accelerator", "initialize", "LightningModule", "Fabric")


def _of_call(source: Script, call: ast.Call, steps: list[ast.Call], size: float) -> Course | None:
    run, own = Numbers(source, size), Numbers(source, size)
    outside, moves = chain(source, call), 0.0
    for step in steps:
        loops = [loop for loop in chain(source, step) if loop not in outside]
        if not loops:
            return None
        moves += times(source, loops, step, run)
    rate = _factor(source, call, own)
    if rate is None or moves < 8:
        return None
    marks = [moves * i / POINTS for i in range(POINTS)]
    rates = [rate(float(math.floor(m))) for m in marks]
    beyond = [safe(rate, float(math.floor(moves * f))) for f in FAR]
    if strange(own, run):
        return None
    return Course(rates, beyond, frozenset(own.leaves & run.leaves))


def _factor(source: Script, call: ast.Call, own: Numbers) -> Rate | None:
    """The factor of the rate by the number of moves."""
    name = last_name(call.func)
    if name == "LambdaLR":
        told = argument(call, "lr_lambda", position=1)
        return _of_function(source, told, own) if told is not None else None
    if name == "SequentialLR":
        return _sequence(source, call, own)
    warm = argument(call, "num_warmup_steps", position=1)
    total = argument(call, "num_training_steps", position=2)
    if warm is None or total is None:
        return None
    first, last = own.of(warm), own.of(total)
    cosine = "cosine" in name

    def rate(m: float) -> float:
        if m < first:
            return m / max(1.0, first)
        if not cosine:
            return max(0.0, (last - m) / max(1.0, last - first))
        return max(0.0, 0.5 * (1 + math.cos(math.pi * (m - first) / max(1.0, last - first))))

    return rate


def _of_function(source: Script, told: ast.expr, own: Numbers) -> Rate | None:
    """What is handed to a LambdaLR: a function, a lambda, one with arguments bound, or what makes one."""
    function: Function | ast.Lambda | None = told if isinstance(told, ast.Lambda) else None
    bound: dict[str, float] = {}
    if isinstance(told, (ast.Name, ast.Attribute)):
        known = flow(source).functions.get(last_name(told), [])
        ends = [e for e in flow(source).values(told, 4) if e is not told]
        if len(known) == 1:
            function = known[0]
        elif len(ends) == 1 and not known and isinstance(ends[0], (ast.Lambda, ast.Call, ast.Name)):
            return _of_function(source, ends[0], own)
    elif isinstance(told, ast.Call) and last_name(told.func) == "partial" and told.args:
        known = flow(source).functions.get(last_name(told.args[0]), [])
        if len(known) != 1:
            return None
        function = known[0]
        names = [a.arg for a in function.args.args]
        bound = {n: own.of(v) for n, v in zip(names, told.args[1:], strict=False)}
        bound |= {k.arg: own.of(k.value) for k in told.keywords if k.arg}
    elif isinstance(told, ast.Call):
        made = [e for f in flow(source).called(told) for e in returns(f)]
        inner = made[0] if len(made) == 1 else None
        if isinstance(inner, ast.Name):
            nested = [
                f for f in flow(source).functions.get(inner.id, []) if source.function_around(f) is not None
            ]
            function = nested[0] if len(nested) == 1 else None
        elif isinstance(inner, ast.Lambda):
            function = inner
        if len(source.named(last_name(told.func))) != 1:
            return None  # what it closes over is told by its only call
    if function is None or CYCLES.search(unparse(function)):
        return None
    names = [a.arg for a in function.args.args if a.arg not in ("self", *bound)]
    usual = {a.arg for a in function.args.args[len(function.args.args) - len(function.args.defaults) :]}
    if not names or len([n for n in names if n not in usual]) > 1:
        return None
    return lambda m: own.apply(function, {**bound, names[0]: m})


def _sequence(source: Script, call: ast.Call, own: Numbers) -> Rate | None:
    """A warm-up and a cosine one after the other, each from its own beginning."""
    made = argument(call, "schedulers", position=1)
    ends = argument(call, "milestones", position=2)
    if not isinstance(made, (ast.List, ast.Tuple)) or not isinstance(ends, (ast.List, ast.Tuple)):
        return None
    parts = [_part(source, e, own) for e in made.elts]
    if len(parts) != len(ends.elts) + 1:
        return None
    marks = [own.of(e) for e in ends.elts]

    def rate(m: float) -> float:
        place = sum(m >= mark for mark in marks)
        return parts[place](m - (marks[place - 1] if place else 0.0))

    return rate


def badly_joined(source: Script, call: ast.Call) -> str:
    """A warm-up that stands last, or that is left long before or long after it is over."""
    made = argument(call, "schedulers", position=1)
    ends = argument(call, "milestones", position=2)
    if not isinstance(made, (ast.List, ast.Tuple)) or not isinstance(ends, (ast.List, ast.Tuple)):
        return ""
    if len(made.elts) != 2 or len(ends.elts) != 1:
        return ""
    calls = [[v for v in flow(source).values(e, 4) if isinstance(v, ast.Call)] for e in made.elts]
    if any(len(c) != 1 for c in calls):
        return ""
    first, second = calls[0][0], calls[1][0]
    if last_name(second.func) == "LinearLR" and last_name(first.func) != "LinearLR":
        numbers = Numbers(source)
        factors = [keyword(second, w) for w in ("start_factor", "end_factor")]
        factors = [k or argument(second, position=i) for i, k in enumerate(factors, 1)]
        try:
            rises = [u if f is None else numbers.of(f) for f, u in zip(factors, (1 / 3, 1.0), strict=True)]
        except Unknown:
            return ""
        if rises[0] < rises[1]:
            return "the warm-up comes last of these schedules"
    length = argument(first, "total_iters", position=3)
    if last_name(first.func) != "LinearLR" or length is None:
        return ""
    shares = []
    for size in SIZES:
        one, other = Numbers(source, size), Numbers(source, size)
        try:
            shares.append(one.of(ends.elts[0]) / other.of(length))
        except (Unknown, ZeroDivisionError, OverflowError, ValueError):
            return ""
        if not one.leaves & other.leaves:
            return ""
    if max(shares) < 0.5:
        return "the warm-up is left before it is over: its length is counted otherwise than the milestone"
    if min(shares) > 4:
        return "the milestone comes long after the warm-up is over: they are counted in different units"
    return ""


def _part(source: Script, node: ast.expr, own: Numbers) -> Rate:
    """One of the schedules of a sequence. Raises Unknown."""
    made = [v for v in flow(source).values(node, 4) if isinstance(v, ast.Call)]
    if len(made) != 1:
        raise Unknown(unparse(node))
    call, name = made[0], last_name(made[0].func)

    def told(word: str, place: int, usual: float) -> float:
        given = argument(call, word, position=place)
        return usual if given is None else own.of(given)

    if name == "LinearLR":
        start, end = told("start_factor", 1, 1 / 3), told("end_factor", 2, 1.0)
        length = told("total_iters", 3, 5.0)
        return lambda m: start + (end - start) * min(1.0, m / max(1.0, length))
    if name == "ConstantLR":
        factor, until = told("factor", 1, 1 / 3), told("total_iters", 2, 5.0)
        return lambda m: factor if m < until else 1.0
    if name == "CosineAnnealingLR":
        whole = told("T_max", 1, 0.0)
        if whole > 0:
            return lambda m: 0.5 * (1 + math.cos(math.pi * m / whole))
    raise Unknown(unparse(node))
