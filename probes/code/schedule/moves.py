"""How often the loops of a program move a schedule, and the rates that it goes through then."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable
from dataclasses import dataclass

from ...readers._tree import names_in, of
from ...readers.script import argument, last_name
from ...scripts.syntax import Loop, Script
from ..shared.gates import gate
from ..shared.numbers import Numbers, Unknown

SIZES = (8_000.0, 60_000.0, 2_000_000.0)  # samples of a data set
POINTS = 96  # moments of the run that are looked at
FAR = tuple(1.5**n for n in range(1, 30))  # times the run's length, beyond it
CYCLES = re.compile(r"(?i)cycl|restart|period|sgdr|triang|snapshot|%")
Rate = Callable[[float], float]


@dataclass(frozen=True)
class Course:
    """Rates over the run, and beyond it; what they are made of, and what the run's length is made of."""

    rates: list[float]
    beyond: list[float]
    shared: frozenset[str]
    still: str = ""  # a count that nothing raises
    per_epoch: bool = False  # each round of the outer loop goes through the same rates


def bounds_of(source: Script, loop: Loop, numbers: Numbers) -> tuple[float, float, float]:
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
            start = argument(node, "start", position=1)
            first = 1.0 if isinstance(start, ast.Constant) and start.value == 1 else 0.0
        node = node.args[0]
    return node, first


def _broken_off(source: Script, loop: ast.For, one: ast.Break, numbers: Numbers, rounds: float) -> float:
    """`if step >= most: break` ends the loop there; what stops early for its losses does not count."""
    test = next((p.test for p in source.above(one) if isinstance(p, ast.If)), None)
    counters = names_in(loop.target)
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.left, ast.Name):
        if test.left.id in counters:
            return numbers.of(test.comparators[0])
    inner = source.loops_around(loop) != [] or source.function_around(loop) is not None
    names = names_in(test) if test is not None else set()
    if inner and counters & names:
        raise Unknown("break")
    return rounds


def times(source: Script, loops: list[Loop], node: ast.AST, numbers: Numbers) -> float:
    """How often a line runs in these loops. Raises Unknown."""
    found = 1.0
    for loop in loops:
        found *= bounds_of(source, loop, numbers)[1]
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
            elif counters & names_in(parent.test):
                raise Unknown("condition")
        inner = parent
    for test in _passed_over(source, node):
        if turn is not None and test is turn.branch.test:
            continue  # told above
        count = _filled(test) or _left_over(test)
        if count is not None:
            found = found // numbers.of(count)
        elif counters & names_in(test) or any(last_name(c.func) == "len" for c in of(test, ast.Call)):
            raise Unknown("condition")
    return found


def _passed_over(source: Script, node: ast.AST) -> list[ast.expr]:
    """Conditions under which a round of a loop ends before a line: `if len(window) < n: continue`."""
    found: list[ast.expr] = []
    inner = node
    for parent in source.above(node):
        block = getattr(parent, "body", [])
        if isinstance(block, list) and inner in block:
            before = block[: block.index(inner)]
            found += [
                s.test for s in before if isinstance(s, ast.If) and isinstance(s.body[-1], ast.Continue)
            ]
        if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)):
            break
        inner = parent
    return found


def _filled(test: ast.expr) -> ast.expr | None:
    """`n` of `len(window) < n`."""
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Lt):
        counted = isinstance(test.left, ast.Call) and last_name(test.left.func) == "len"
        return test.comparators[0] if counted else None
    return None


def _left_over(test: ast.expr) -> ast.expr | None:
    """`n` of `step % n` and `(i + 1) % n != 0`."""
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], (ast.NotEq, ast.Gt)):
        test = test.left
    return test.right if isinstance(test, ast.BinOp) and isinstance(test.op, ast.Mod) else None


def _every(test: ast.expr) -> ast.expr | None:
    """`n` of `(i + 1) % n == 0` and `not i % n`."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        left: ast.expr = test.operand
    elif isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq):
        left = test.left
    else:
        return None
    return left.right if isinstance(left, ast.BinOp) and isinstance(left.op, ast.Mod) else None


def strange(own: Numbers, run: Numbers) -> bool:
    """The schedule is made of sizes that the run is not, so that they cannot be compared.

    A size of data says enough beside loops that count epochs alone.
    """
    more = own.unknown - run.unknown
    return bool(more) and (bool(run.unknown) or not all(u.startswith("len(") for u in more))


def safe(rate: Rate, moment: float) -> float:
    """The rate at a moment; minus infinity where it cannot be computed."""
    try:
        return rate(moment)
    except (Unknown, OverflowError, ZeroDivisionError, ValueError):
        return -math.inf
