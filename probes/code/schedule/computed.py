"""The course of a schedule over the run, computed: moved as the loops say, as long as the script says.

Sizes of data are made up (several ways; all must say the same), settings have their defaults. Only told where
the schedule's numbers and the loops' are made of the same things, such as the number of epochs.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from ...readers._tree import of, unparse
from ...readers.script import keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow, returns
from ...scripts.syntax import Function, Loop, Script
from ..shared.checks import at, ok
from ..shared.gates import gate
from ..shared.numbers import Lookup, Numbers, Unknown
from ..shared.units import chain
from .torch_lengths import holders, kept_as

_SIZES = (8_000.0, 60_000.0, 2_000_000.0)  # samples of a data set
_POINTS = 96  # moments of the run that are looked at
_FAR = tuple(1.5**n for n in range(1, 30))  # times the run's length, beyond it
_CYCLES = re.compile(r"(?i)cycl|restart|period|sgdr|triang|snapshot|%")
Rate = Callable[[float], float]
_WITH_WARMUP = ("get_linear_schedule_with_warmup", "get_cosine_schedule_with_warmup")


@dataclass(frozen=True)
class _Course:
    """Rates over the run, and beyond it; what they are made of, and what the run's length is made of."""

    rates: list[float]
    beyond: list[float]
    shared: frozenset[str]
    still: str = ""  # a count that nothing raises
    per_epoch: bool = False  # each round of the outer loop goes through the same rates


def course_misjudged(source: Script) -> Finding | None:
    """A schedule that ends long before the run or after it, rises again, or never leaves its warm-up."""
    seen: ast.AST | None = None
    for call in source.named("SequentialLR"):
        if why := _badly_joined(source, call):
            return at(source, call, why)
    for node, made in (*_library(source), *_by_hand(source), *_keras(source)):
        found = [_verdict(made, size) for size in _SIZES]
        if all(found):
            return at(source, node, str(found[1]))
        seen = seen or (node if not any(found) and None not in found else None)
    return ok(source, seen, "the schedule is as long as the run") if seen is not None else None


def fits(source: Script, call: ast.AST) -> bool:
    """A schedule whose course can be computed ends with the run: neither before nor after it."""
    for node, made in _library(source):
        if node is not call:
            continue
        for size in _SIZES:
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


def _verdict(made: Callable[[float], _Course | None], size: float) -> str | None:
    """What is wrong with a course; "" for nothing, None where it cannot be computed."""
    try:
        course = made(size)
    except (Unknown, OverflowError, ZeroDivisionError, ValueError, RecursionError):
        return None
    if course is None or not course.shared or len(course.rates) < 4:
        return None
    return _wrong(course)


def _wrong(course: _Course) -> str:
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
    low = next((i for i in range(top, len(rates)) if rates[i] <= 0.02 * peak), None)
    if low is not None and max(rates[low:]) > 0.5 * peak:
        return "the rate is gone within the run, and rises again"
    if low is not None and low < 0.4 * len(rates) and max(rates[low:]) <= 0.05 * peak:
        return "nothing is left of the rate for most of the run"
    if _geometric(course):
        return ""  # it has no end that it could miss
    ended = next((i for i, r in enumerate(beyond) if r <= 0), None)
    if rates[-1] >= 0.9 * peak and ended and _FAR[ended] > 5 and beyond[ended - 1] >= 0.03 * peak:
        return "the rate hardly falls: the schedule is many times as long as the run"
    falls = next((i for i, r in enumerate(beyond) if -math.inf < r <= 0.02 * peak), None)
    if low is None and rates[-1] >= 0.45 * peak and falls is not None and _FAR[falls] > 2:
        return "the run is over before the rate has fallen: the schedule is many times as long"
    return ""


def _geometric(course: _Course) -> bool:
    """The rate falls by the same share with each move, `0.999 ** step`."""
    whole = len(course.rates)
    top = max(range(whole), key=course.rates.__getitem__)
    peak, ended = course.rates[top], course.rates[-1]
    if not 0 < ended < peak:
        return False
    share = math.log(ended / peak) * whole / (whole - 1 - top)
    held = [(r, peak * math.exp(share * (f - top / whole))) for f, r in zip(_FAR, course.beyond, strict=True)]
    return all(abs(r - wanted) <= 0.03 * peak for r, wanted in held)


# ---------------------------------------------------------------------------------------- loops and moves


def _bounds(source: Script, loop: Loop, numbers: Numbers) -> tuple[float, float, float]:
    """First value, rounds and stride of a loop's counter. Raises Unknown."""
    if not isinstance(loop, ast.For):
        raise Unknown("while")
    over, first = _over(loop.iter)
    breaks = [b for b in of(loop, ast.Break) if source.loops_around(b)[:1] == [loop]]
    rounds, stride = 0.0, 1.0
    if isinstance(over, ast.Call) and last_name(over.func) in ("range", "trange", "arange") and over.args:
        ends = over.args
        start = 0.0
        if len(ends) > 1:
            start = _start(source, ends[0])
            stride = numbers.of(ends[2]) if len(ends) > 2 else 1.0
        end = numbers.of(ends[0] if len(ends) == 1 else ends[1])
        rounds = math.ceil((end - start) / stride)
        first = start if first is None else first
    else:
        rounds = numbers.length(over)
    for one in breaks:
        rounds = min(rounds, _broken_off(source, loop, one, numbers, rounds))
    if rounds < 1:
        raise Unknown("no rounds")
    return first or 0.0, rounds, stride


def _start(source: Script, node: ast.expr) -> float:
    """Where a range begins; what a checkpoint says is left aside."""
    try:
        return Numbers(source).of(node)
    except Unknown:
        return 0.0


def _over(node: ast.expr) -> tuple[ast.expr, float | None]:
    """What a loop goes over, and where `enumerate` begins to count."""
    first = None
    while isinstance(node, ast.Call) and node.args and last_name(node.func) in ("enumerate", "tqdm", "track"):
        if last_name(node.func) == "enumerate":
            start = keyword(node, "start") or (node.args[1] if len(node.args) > 1 else None)
            first = 1.0 if isinstance(start, ast.Constant) and start.value == 1 else 0.0
        node = node.args[0]
    return node, first


def _broken_off(source: Script, loop: ast.For, one: ast.Break, numbers: Numbers, rounds: float) -> float:
    """`if step >= most: break` ends the loop there; what stops early for its losses does not count."""
    test = next((p.test for p in source.above(one) if isinstance(p, ast.If)), None)
    counters = {n.id for n in of(loop.target, ast.Name)}
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.left, ast.Name):
        if test.left.id in counters:
            return numbers.of(test.comparators[0])
    inner = source.loops_around(loop) != [] or source.function_around(loop) is not None
    names = {n.id for n in of(test, ast.Name)} if test is not None else set()
    if inner and counters & names:
        raise Unknown("break")
    return rounds


def _times(source: Script, loops: list[Loop], node: ast.AST, numbers: Numbers) -> float:
    """How often a line runs in these loops. Raises Unknown."""
    found = 1.0
    for loop in loops:
        found *= _bounds(source, loop, numbers)[1]
    turn = gate(source, node)
    if turn is not None:
        if turn.count is None or not turn.last:
            raise Unknown("gate")
        found = found // numbers.of(turn.count)
    counters = {n.id for loop in loops if isinstance(loop, ast.For) for n in of(loop.target, ast.Name)}
    inner = node
    for parent in source.above(node):
        if isinstance(parent, ast.If) and (turn is None or parent is not turn.branch):
            every = _every(parent.test) if inner in parent.body else None
            if every is not None:
                found = found // numbers.of(every)
            elif counters & {n.id for n in of(parent.test, ast.Name)}:
                raise Unknown("condition")
        inner = parent
    return found


def _every(test: ast.expr) -> ast.expr | None:
    """`n` of `(i + 1) % n == 0` and `not i % n`."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        left: ast.expr = test.operand
    elif isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq):
        left = test.left
    else:
        return None
    return left.right if isinstance(left, ast.BinOp) and isinstance(left.op, ast.Mod) else None


# ------------------------------------------------------------------------------------ schedulers of PyTorch


def _library(source: Script) -> Iterator[tuple[ast.AST, Callable[[float], _Course | None]]]:
    """`LambdaLR` and the schedules with a warm-up of transformers, with their `.step()`."""
    if "pytorch" not in source.frameworks or source.loose:
        return
    for call in source.calls:
        name = last_name(call.func)
        if name not in ("LambdaLR", "SequentialLR", *_WITH_WARMUP):
            continue
        if source.named(*_WRAPPED) or _CYCLES.search(unparse(source.statement(call) or call)):
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


def _of_call(source: Script, call: ast.Call, steps: list[ast.Call], size: float) -> _Course | None:
    run, own = Numbers(source, size), Numbers(source, size)
    outside, moves = chain(source, call), 0.0
    for step in steps:
        loops = [loop for loop in chain(source, step) if loop not in outside]
        if not loops:
            return None
        moves += _times(source, loops, step, run)
    rate = _factor(source, call, own)
    if rate is None or moves < 8:
        return None
    marks = [moves * i / _POINTS for i in range(_POINTS)]
    rates = [rate(float(math.floor(m))) for m in marks]
    beyond = [_safe(rate, float(math.floor(moves * f))) for f in _FAR]
    if _strange(own, run):
        return None
    return _Course(rates, beyond, frozenset(own.leaves & run.leaves))


def _strange(own: Numbers, run: Numbers) -> bool:
    """The schedule is made of sizes that the run is not, so that they cannot be compared.

    A size of data says enough beside loops that count epochs alone.
    """
    more = own.unknown - run.unknown
    return bool(more) and (bool(run.unknown) or not all(u.startswith("len(") for u in more))


def _safe(rate: Rate, moment: float) -> float:
    try:
        return rate(moment)
    except (Unknown, OverflowError, ZeroDivisionError, ValueError):
        return -math.inf


def _factor(source: Script, call: ast.Call, own: Numbers) -> Rate | None:
    """The factor of the rate by the number of moves."""
    name = last_name(call.func)
    if name == "LambdaLR":
        told = keyword(call, "lr_lambda") or (call.args[1] if len(call.args) > 1 else None)
        return _of_function(source, told, own) if told is not None else None
    if name == "SequentialLR":
        return _sequence(source, call, own)
    warm = keyword(call, "num_warmup_steps") or (call.args[1] if len(call.args) > 1 else None)
    total = keyword(call, "num_training_steps") or (call.args[2] if len(call.args) > 2 else None)
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
    if function is None or _CYCLES.search(unparse(function)):
        return None
    names = [a.arg for a in function.args.args if a.arg not in ("self", *bound)]
    usual = {a.arg for a in function.args.args[len(function.args.args) - len(function.args.defaults) :]}
    if not names or len([n for n in names if n not in usual]) > 1:
        return None
    return lambda m: own.apply(function, {**bound, names[0]: m})


def _sequence(source: Script, call: ast.Call, own: Numbers) -> Rate | None:
    """A warm-up and a cosine one after the other, each from its own beginning."""
    made = keyword(call, "schedulers") or (call.args[1] if len(call.args) > 1 else None)
    ends = keyword(call, "milestones") or (call.args[2] if len(call.args) > 2 else None)
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


def _badly_joined(source: Script, call: ast.Call) -> str:
    """A warm-up that stands last, or that is left long before or long after it is over."""
    made = keyword(call, "schedulers") or (call.args[1] if len(call.args) > 1 else None)
    ends = keyword(call, "milestones") or (call.args[2] if len(call.args) > 2 else None)
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
        factors = [k or (second.args[i] if len(second.args) > i else None) for i, k in enumerate(factors, 1)]
        try:
            rises = [u if f is None else numbers.of(f) for f, u in zip(factors, (1 / 3, 1.0), strict=True)]
        except Unknown:
            return ""
        if rises[0] < rises[1]:
            return "the warm-up comes last of these schedules"
    length = keyword(first, "total_iters") or (first.args[3] if len(first.args) > 3 else None)
    if last_name(first.func) != "LinearLR" or length is None:
        return ""
    shares = []
    for size in _SIZES:
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
        given = keyword(call, word) or (call.args[place] if len(call.args) > place else None)
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


# ------------------------------------------------------------------------------------ rates set by hand


def _by_hand(source: Script) -> Iterator[tuple[ast.AST, Callable[[float], _Course | None]]]:
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


def _of_rate(source: Script, node: ast.Assign, loops: list[Loop], size: float) -> _Course | None:
    run = Numbers(source, size)
    bounds = {loop: _bounds(source, loop, run) for loop in loops}
    outer, inner = loops[-1], loops[0] if len(loops) > 1 else None
    rounds = bounds[outer][1]
    if rounds < 4:
        return None
    own = Numbers(source, size)
    functions = [f for c in of(node.value, ast.Call) for f in flow(source).called(c)]
    if any(_CYCLES.search(unparse(n)) for n in (node.value, *functions)):
        return None
    for parent in source.above(node):  # at some moments only: `if epoch == 0:`
        if isinstance(parent, ast.If) and not _is_main(parent):
            raise Unknown("condition")
    moments: list[dict[Loop, float]] = []
    for turn in sorted({math.floor(rounds * i / _POINTS) for i in range(_POINTS)}):
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
    for far in _FAR:
        try:
            beyond.append(rate({outer: math.floor(rounds * far), **({inner: 0.0} if inner else {})}))
        except (Unknown, OverflowError, ZeroDivisionError, ValueError):
            beyond.append(-math.inf)
    if _strange(own, run):
        return None
    if len(set(rates)) == 1 and (still := _still(source, own)):
        for count in (rounds, 10 * rounds, 1000 * rounds):
            own.lookup = partial(
                _held_at, still, count, lambda n: _counted(source, n, moments[0], bounds, loops)
            )
            own.left = 4000
            if abs(own.of(node.value) - rates[0]) > 0.2 * abs(rates[0]):
                return _Course(rates, beyond, frozenset({still}), still=still)
    again = False
    if inner is not None:
        trios = [tuple(rates[i : i + 3]) for i in range(0, len(rates), 3)]
        again = len(set(trios)) == 1 and len(set(trios[0])) == 3
    return _Course(rates, beyond, frozenset(own.leaves & run.leaves), per_epoch=again)


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


def _is_main(node: ast.If) -> bool:
    return "__name__" in unparse(node.test)


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
    if any(isinstance(p, ast.If) and not _is_main(p) for p in source.above(raised[0])):
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


def _keras(source: Script) -> Iterator[tuple[ast.AST, Callable[[float], _Course | None]]]:
    """A schedule class of the script, which `fit` asks with every batch."""
    fits = [c for c in source.named("fit") if keyword(c, "epochs") is not None]
    if len(fits) != 1 or source.loose:
        return
    for name, owner in source.classes.items():
        if not any(last_name(b) == "LearningRateSchedule" for b in owner.bases):
            continue
        asked = [f for f in owner.body if isinstance(f, ast.FunctionDef) and f.name == "__call__"]
        made = source.named(name)
        if len(asked) == len(made) == 1 and not _CYCLES.search(unparse(owner)) and _is_given(source, made[0]):
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


def _of_fit(source: Script, fit: ast.Call, asked: ast.FunctionDef, size: float) -> _Course | None:
    run, own = Numbers(source, size), Numbers(source, size)
    epochs, steps = keyword(fit, "epochs"), keyword(fit, "steps_per_epoch")
    if epochs is None or steps is None:
        return None
    moves = run.of(epochs) * run.of(steps)
    name = [a.arg for a in asked.args.args][1]
    rates = [own.apply(asked, {name: float(math.floor(moves * i / _POINTS))}) for i in range(_POINTS)]
    beyond = [_safe(lambda m: own.apply(asked, {name: m}), float(math.floor(moves * f))) for f in _FAR]
    if _strange(own, run):
        return None
    return _Course(rates, beyond, frozenset(own.leaves & run.leaves))
