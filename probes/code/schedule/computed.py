"""The course of a schedule over the run, computed: moved as the loops say, as long as the script says.

Sizes of data are made up (several ways; all must say the same), settings have their defaults. Only told where
the schedule's numbers and the loops' are made of the same things, such as the number of epochs.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise

from ....engine.model import State
from ...readers._tree import of, unparse
from ...readers.script import keyword, last_name
from ...registry import Finding
from ...scripts.conditions import asks_main
from ...scripts.flow import flow
from ...scripts.syntax import Loop, Script
from ..samples.few import few_batches
from ..shared.checks import at, ok
from ..shared.gates import gate
from ..shared.numbers import Lookup, Numbers, Unknown
from ..shared.units import chain
from .moves import CYCLES, FAR, POINTS, SIZES, Course, bounds_of, safe, strange
from .torch_courses import badly_joined, of_library

FEW = 30  # batches of a round that is left over from trying the script out
RISEN = 0.5  # share of the run; one-cycle schedules have their peak at .3 to .45 (Smith 2018)


def course_misjudged(source: Script) -> Finding | None:
    """A schedule that ends long before the run or after it, rises again, or never leaves its warm-up."""
    seen: ast.AST | None = None
    cut = few_batches(source, FEW)
    if cut is not None and cut.state is State.PRESENT:
        return None  # each round ends early: the schedule is made for whole ones
    for call in source.named("SequentialLR"):
        if why := badly_joined(source, call):
            return at(source, call, why)
    for node, made in (*of_library(source), *_by_hand(source), *_keras(source)):
        found = [_verdict(made, size) for size in SIZES]
        if all(found):
            return at(source, node, str(found[1]))
        seen = seen or (node if not any(found) and None not in found else None)
    return ok(source, seen, "the schedule is as long as the run") if seen is not None else None


def fits(source: Script, call: ast.AST) -> bool:
    """A schedule whose course can be computed ends with the run: neither before nor after it."""
    for node, made in of_library(source):
        if node is not call:
            continue
        for size in SIZES:
            try:
                course = made(size)
            except (Unknown, OverflowError, ZeroDivisionError, ValueError, RecursionError):
                return False
            if course is None or not course.shared or _wrong(course):
                return False
            peak = max(course.rates)
            low = next(
                (i for i, r in enumerate(course.rates) if i > 1 and r <= 0.02 * peak), len(course.rates)
            )
            if low < 0.8 * len(course.rates) or not -math.inf < course.beyond[0] <= 0.02 * peak:
                return False
        return True
    return False


def _verdict(made: Callable[[float], Course | None], size: float) -> str | None:
    """What is wrong with a course; "" for nothing, None where it cannot be computed."""
    try:
        course = made(size)
    except (Unknown, OverflowError, ZeroDivisionError, ValueError, RecursionError):
        return None
    if course is None or not course.shared or len(course.rates) < 4:
        return None
    return _wrong(course)


def _wrong(course: Course) -> str:
    rates, peak, beyond = course.rates, max(course.rates), course.beyond
    if peak <= 0:
        return ""
    top = next(i for i, r in enumerate(rates) if r >= 0.9 * peak)
    if min(rates) < -1e-6 * peak:
        return "the rate falls below zero within the run"
    if course.still:
        return f"the rate is asked for `{course.still}`, which nothing raises"
    if course.per_epoch:
        return "the rate goes through the same values in every epoch: it is asked for a place in the epoch"
    rises = all(b >= a for a, b in pairwise(rates))
    if rises and rates[-1] > 1.01 * rates[0] and max(beyond, default=0) > 2 * peak:
        return "the run is over before the warm-up is"
    if max(rates) - min(rates) < 0.02 * peak and max(beyond, default=0) > 5 * peak:
        return "the run is over before the warm-up has begun to tell"
    later = rates[int(RISEN * len(rates)) :]
    if all(b >= a for a, b in pairwise(later)) and max(1.3 * later[0], 0.9 * peak) < later[-1]:
        return "the rate still rises when the run is nearly over"
    low = next((i for i in range(top, len(rates)) if rates[i] <= 0.02 * peak), None)
    if low is not None and max(rates[low:]) > 0.5 * peak:
        return "the rate is gone within the run, and rises again"
    if low is not None and low < 0.4 * len(rates) and max(rates[low:]) <= 0.05 * peak:
        return "nothing is left of the rate for most of the run"
    if _geometric(course):
        return ""  # it has no end that it could miss
    ended = next((i for i, r in enumerate(beyond) if r <= 0), None)
    if rates[-1] >= 0.9 * peak and ended and FAR[ended] > 5 and beyond[ended - 1] >= 0.03 * peak:
        return "the rate hardly falls: the schedule is many times as long as the run"
    falls = next((i for i, r in enumerate(beyond) if -math.inf < r <= 0.02 * peak), None)
    if low is None and rates[-1] >= 0.45 * peak and falls is not None and FAR[falls] > 2:
        return "the run is over before the rate has fallen: the schedule is many times as long"
    return ""


def _geometric(course: Course) -> bool:
    """The rate falls by the same share with each move, `0.999 ** step`."""
    whole = len(course.rates)
    top = max(range(whole), key=course.rates.__getitem__)
    peak, ended = course.rates[top], course.rates[-1]
    if not 0 < ended < peak:
        return False
    share = math.log(ended / peak) * whole / (whole - 1 - top)
    held = [(r, peak * math.exp(share * (f - top / whole))) for f, r in zip(FAR, course.beyond, strict=True)]
    return all(abs(r - wanted) <= 0.03 * peak for r, wanted in held)


# ------------------------------------------------------------------------------------ rates set by hand


def _by_hand(source: Script) -> Iterator[tuple[ast.AST, Callable[[float], Course | None]]]:
    """`group["lr"] = rate(step)`, in the function of the training or in one that it calls."""
    if source.loose:
        return
    for node in source.of(ast.Assign):
        target = node.targets[0]
        key = isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant)
        if not (key and target.slice.value == "lr") or not isinstance(node.value, ast.expr):  # type: ignore[attr-defined]
            continue
        around = [p for p in chain(source, node) if "param_groups" not in unparse(getattr(p, "iter", p))]
        if 1 <= len(around) <= 2:
            yield node, lambda size, node=node, around=around: _of_rate(source, node, around, size)  # type: ignore[misc]


def _of_rate(source: Script, node: ast.Assign, loops: list[Loop], size: float) -> Course | None:
    run = Numbers(source, size)
    bounds = {loop: bounds_of(source, loop, run) for loop in loops}
    outer, inner = loops[-1], loops[0] if len(loops) > 1 else None
    rounds = bounds[outer][1]
    if rounds < 4:
        return None
    own = Numbers(source, size)
    functions = [f for c in of(node.value, ast.Call) for f in flow(source).called(c)]
    if any(CYCLES.search(unparse(n)) for n in (node.value, *functions)):
        return None
    for parent in source.above(node):  # at some moments only: `if epoch == 0:`
        if isinstance(parent, ast.If) and not asks_main(parent.test):
            raise Unknown("condition")
    moments: list[dict[Loop, float]] = []
    for turn in sorted({math.floor(rounds * i / POINTS) for i in range(POINTS)}):
        moments.append({outer: turn})
        if inner is not None:
            last = bounds[inner][1] - 1
            moments[-1][inner] = 0.0
            moments += [{outer: turn, inner: last // 2}, {outer: turn, inner: last}]

    def rate(moment: dict[Loop, float]) -> float:
        own.lookup = lambda name: _counted(source, name, moment, bounds, loops)
        own.left = 4000
        return own.of(node.value)

    rates = [rate(m) for m in moments]
    beyond = []
    for far in FAR:
        try:
            beyond.append(rate({outer: math.floor(rounds * far), **({inner: 0.0} if inner else {})}))
        except (Unknown, OverflowError, ZeroDivisionError, ValueError):
            beyond.append(-math.inf)
    if strange(own, run):
        return None
    if len(set(rates)) == 1 and (still := _still(source, own)):
        for count in (rounds, 10 * rounds, 1000 * rounds):
            own.lookup = partial(
                _held_at, still, count, lambda n: _counted(source, n, moments[0], bounds, loops)
            )
            own.left = 4000
            if abs(own.of(node.value) - rates[0]) > 0.2 * abs(rates[0]):
                return Course(rates, beyond, frozenset({still}), still=still)
    again = False
    if inner is not None:
        trios = [tuple(rates[i : i + 3]) for i in range(0, len(rates), 3)]
        again = len(set(trios)) == 1 and len(set(trios[0])) == 3
    return Course(rates, beyond, frozenset(own.leaves & run.leaves), per_epoch=again)


_COUNTER = re.compile(r"(?i)^[a-z]$|step|iter|count|done|epoch|(?:^|_)it$|updates?$|seen$|^_?n(?:um)?_")
_SETS = re.compile(r"(?i)total|max|warm|rise|hold|start|first|min|per_|end|len|freq|every|restart")


def _held_at(text: str, count: float, otherwise: Lookup, name: ast.expr) -> float | None:
    return count if unparse(name) == text else otherwise(name)


def _still(source: Script, own: Numbers) -> str:
    """A name that counts, begins at zero, and is given nothing else anywhere but out of a checkpoint."""
    for text in sorted(own.zeros):
        word = text.rsplit(".", 1)[-1]
        if not _COUNTER.search(word.strip("_")) or _SETS.search(word):
            continue
        stored = [
            n
            for n in source.of(ast.Name, ast.Attribute)
            if isinstance(n.ctx, ast.Store) and last_name(n) == word
        ]
        if not any(chain(source, n) or isinstance(source.parents.get(n), ast.AugAssign) for n in stored):
            return text
    return ""


def _counted(
    source: Script,
    name: ast.expr,
    moment: dict[Loop, float],
    bounds: dict[Loop, tuple[float, float, float]],
    loops: list[Loop],
) -> float | None:
    """What a counter stands at: the target of a loop, or what is raised by one with each round.

    What is gone over with the groups of the optimizer is their own rate, which is one.
    """
    if isinstance(name, ast.Subscript) and isinstance(name.slice, ast.Constant):
        return 1.0 if name.slice.value == "initial_lr" else None
    if isinstance(name, ast.Name) and _is_rate_of_group(source, name):
        return 1.0
    if isinstance(name, ast.Name):
        scope = source.function_around(name)
        for loop in loops:
            if not isinstance(loop, ast.For) or source.function_around(loop) is not scope:
                continue
            target, (first, _, stride) = loop.target, bounds[loop]
            counter = target.elts[0] if isinstance(target, ast.Tuple) and _is_enumerate(loop) else target
            if isinstance(counter, ast.Name) and counter.id == name.id:
                return first + stride * moment[loop]
    if not isinstance(name, (ast.Name, ast.Attribute)):
        return None
    text = unparse(name)
    raised = [n for n in source.of(ast.AugAssign) if unparse(n.target) == text]
    if len(raised) != 1 or not isinstance(raised[0].op, ast.Add):
        return None
    step = raised[0].value
    around = [p for p in chain(source, raised[0]) if p in loops]
    if not (isinstance(step, ast.Constant) and step.value == 1) or not around or gate(source, raised[0]):
        return None
    if any(isinstance(p, ast.If) and not asks_main(p.test) for p in source.above(raised[0])):
        return None
    found = moment[loops[-1]]
    for loop in reversed(loops[:-1]):
        if loop in around:
            found = found * bounds[loop][1] + moment[loop]
    return found


def _is_rate_of_group(source: Script, name: ast.Name) -> bool:
    """`for group, base in zip(optimizer.param_groups, rates)`: `base`."""
    for loop in source.loops_around(name):
        if isinstance(loop, ast.For) and isinstance(loop.target, ast.Tuple) and len(loop.target.elts) == 2:
            zipped = isinstance(loop.iter, ast.Call) and last_name(loop.iter.func) == "zip"
            if zipped and "param_groups" in unparse(loop.iter) and unparse(loop.target.elts[1]) == name.id:
                return True
    return False


def _is_enumerate(loop: ast.For) -> bool:
    return any(last_name(c.func) == "enumerate" for c in of(loop.iter, ast.Call))


# ------------------------------------------------------------------------------------------------ Keras


def _keras(source: Script) -> Iterator[tuple[ast.AST, Callable[[float], Course | None]]]:
    """A schedule class of the script, which `fit` asks with every batch."""
    fits = [c for c in source.named("fit") if keyword(c, "epochs") is not None]
    if len(fits) != 1 or source.loose:
        return
    for name, owner in source.classes.items():
        if not any(last_name(b) == "LearningRateSchedule" for b in owner.bases):
            continue
        asked = [f for f in owner.body if isinstance(f, ast.FunctionDef) and f.name == "__call__"]
        made = source.named(name)
        if len(asked) == len(made) == 1 and not CYCLES.search(unparse(owner)) and _is_given(source, made[0]):
            yield made[0], lambda size, asked=asked[0]: _of_fit(source, fits[0], asked, size)  # type: ignore[misc]


def _is_given(source: Script, call: ast.Call) -> bool:
    """An optimizer takes the schedule, and nothing else asks it."""
    parent = source.parents.get(call)
    if not isinstance(parent, ast.Assign) or not isinstance(parent.targets[0], ast.Name):
        return isinstance(parent, ast.Call)
    name = parent.targets[0].id
    uses = [n for n in source.of(ast.Name) if n.id == name and isinstance(n.ctx, ast.Load)]
    around = [next((p for p in source.above(u) if isinstance(p, ast.Call)), None) for u in uses]
    return bool(uses) and all(c in source.optimizer_calls for c in around)


def _of_fit(source: Script, fit: ast.Call, asked: ast.FunctionDef, size: float) -> Course | None:
    run, own = Numbers(source, size), Numbers(source, size)
    epochs, steps = keyword(fit, "epochs"), keyword(fit, "steps_per_epoch")
    if epochs is None or steps is None:
        return None
    moves = run.of(epochs) * run.of(steps)
    name = [a.arg for a in asked.args.args][1]
    rates = [own.apply(asked, {name: float(math.floor(moves * i / POINTS))}) for i in range(POINTS)]
    beyond = [safe(lambda m: own.apply(asked, {name: m}), float(math.floor(moves * f))) for f in FAR]
    if strange(own, run):
        return None
    return Course(rates, beyond, frozenset(own.leaves & run.leaves))
