"""Schedules of programs that accumulate gradients: whether they move with updates or with micro batches."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse, walk
from ...readers.script import all_arguments, keyword, last_name
from ...registry import Finding
from ...scripts.flow import Flow, flow
from ...scripts.syntax import Script
from ..shared.checks import at, ok
from ..shared.gates import COUNT, accumulates_by_engine, gate
from .computed import fits

_LENGTHS = (
    "T_max",
    "total_steps",
    "num_training_steps",
    "total_iters",
    "num_training_steps_per_epoch",
    "steps_per_epoch",
)
_PLACES = {
    "cosineannealinglr": 1,
    "get_linear_schedule_with_warmup": 2,
    "get_cosine_schedule_with_warmup": 2,
    "get_polynomial_decay_schedule_with_warmup": 2,
}
_ELSEWHERE = re.compile(r"deepspeed|accumulate_grad_batches|split_batches|step_scheduler_with_optimizer")


def moved_otherwise(source: Script) -> Finding | None:
    """The length counts updates and the schedule moves with every micro batch, or the other way round.

    With Accelerate, a schedule that `prepare` is given moves with the updates by itself, and is left aside.
    """
    if not source.trains_by_hand or _ELSEWHERE.search(source.code) or not COUNT.search(source.code):
        return None
    apart = [gate(source, s) is not None or accumulates_by_engine(source, s) for s in source.steps]
    moves = [c for c in source.named("step") if re.search(r"(?i)sched|lr_", source.owner(c))]
    lengths = list(_lengths(source))
    if len(moves) != 1 or len(lengths) != 1 or not apart or not all(apart):
        return None
    call, texts = lengths[0]
    text, move = " ".join(texts), moves[0]
    loops = source.loops_around(source.steps[0])
    if "len(" not in text or not loops or loops[0] not in source.loops_around(move):
        return None
    if _is_prepared(source, call):
        return None
    if fits(source, call):
        return ok(source, move, "the schedule is as long as the run")
    updates, within = COUNT.search(text) is not None, gate(source, move) is not None
    if updates and not within:
        return at(source, move, "the schedule's length counts updates, and it moves with every micro batch")
    if not updates and within and "/" not in text:
        return at(source, call, "the schedule's length counts micro batches, and it moves with every update")
    return ok(source, move, "the schedule moves in the unit of its length")


def _is_prepared(source: Script, call: ast.Call) -> bool:
    """Accelerate is given the schedule, or something that may hold it: a list, a call."""
    given = [a for c in source.named("prepare", "prepare_scheduler") for a in all_arguments(c)]
    if not given:
        return False
    if any(not isinstance(a, (ast.Name, ast.Attribute)) for a in given):
        return True
    statement = source.statement(call)
    names = {unparse(t) for t in statement.targets} if isinstance(statement, ast.Assign) else set()
    return not names or any(unparse(a) in names for a in given)


def _lengths(source: Script) -> Iterator[tuple[ast.Call, list[str]]]:
    """Schedules with what their length is made of, written out; of a function, all that it compares with."""
    mine = flow(source)
    for call in source.calls:
        name = last_name(call.func)
        if not re.search(r"(?i)schedul|lr$", name):
            continue
        given = next((k for w in _LENGTHS if (k := keyword(call, w)) is not None), None)
        place = _PLACES.get(name.lower())
        if given is None and place is not None and place < len(call.args):
            given = call.args[place]
        if given is not None:
            yield call, [_written_out(mine, given, 5)]
        elif name == "LambdaLR":
            told = call.args[1] if len(call.args) > 1 else keyword(call, "lr_lambda")
            functions = mine.functions.get(told.id, []) if isinstance(told, ast.Name) else []
            if len(functions) == 1:
                own = {a.arg for a in functions[0].args.args}
                names = [n for n in of(functions[0], ast.Name) if isinstance(n.ctx, ast.Load)]
                yield call, [_written_out(mine, n, 5) for n in names if n.id not in own]


def _written_out(mine: Flow, node: ast.expr, depth: int) -> str:
    """An expression with what its names stand for beside it."""
    text = unparse(node)
    measured = {n for c in of(node, ast.Call) if last_name(c.func) == "len" for n in walk(c)}
    for name in of(node, ast.Name, ast.Attribute):
        if name in measured:
            continue  # how large a loader's batches are says nothing of what its length counts
        given = mine.given(name) if depth else None
        if given is not None and not given.places and not isinstance(given.value, ast.Constant):
            text += " " + _written_out(mine, given.value, depth - 1)
        elif given is None and depth and len(handed := mine.arguments(name)) == 1:
            text += " " + _written_out(mine, handed[0], depth - 1)
    return text
