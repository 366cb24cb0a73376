"""Schedules of programs that accumulate gradients: whether they move with updates or with micro batches."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ..flow import Flow, flow
from ..readers._tree import of, unparse
from ..readers.script import keyword, last_name
from ..registry import Finding
from ..syntax import Script
from .checks import at, ok
from .sides import literal

_COUNT = re.compile(r"(?i)accum|micro_?(?:batches|steps)|update_freq|iters_to_acc")
_LENGTHS = ("T_max", "total_steps", "num_training_steps", "total_iters", "num_training_steps_per_epoch")
_PLACES = {
    "cosineannealinglr": 1,
    "get_linear_schedule_with_warmup": 2,
    "get_cosine_schedule_with_warmup": 2,
    "get_polynomial_decay_schedule_with_warmup": 2,
}
_ELSEWHERE = re.compile(r"Accelerator|deepspeed|accelerator\.prepare|accumulate_grad_batches")


def moved_otherwise(source: Script) -> Finding | None:
    """The length counts updates and the schedule moves with every micro batch, or the other way round."""
    if not source.trains_by_hand or _ELSEWHERE.search(source.code) or not _COUNT.search(source.code):
        return None
    gated = [g for s in source.steps if (g := _gate(source, s)) is not None]
    moves = [c for c in source.named("step") if re.search(r"(?i)sched|lr_", source.owner(c))]
    lengths = list(_lengths(source))
    if not gated or len(moves) != 1 or len(lengths) != 1 or len(gated) != len(source.steps):
        return None
    call, length = lengths[0]
    text = _written_out(flow(source), length, 5)
    move = moves[0]
    if "len(" not in text or not source.loops_around(gated[0]):
        return None
    loop = source.loops_around(gated[0])[0]
    if loop not in source.loops_around(move):
        return None
    updates, within = _COUNT.search(text) is not None, _gate(source, move) is not None
    if updates and not within:
        return at(source, move, "the schedule's length counts updates, and it moves with every micro batch")
    if not updates and within and "/" not in text:
        return at(source, call, "the schedule's length counts micro batches, and it moves with every update")
    return ok(source, move, "the schedule moves in the unit of its length")


def _gate(source: Script, node: ast.AST) -> ast.If | None:
    """`if (i + 1) % accumulate == 0` around a line, in the innermost loop."""
    for parent in source.above(node):
        if isinstance(parent, (ast.For, ast.While, ast.FunctionDef)):
            return None
        if isinstance(parent, ast.If) and _is_gate(source, parent.test):
            return parent
    return None


def _is_gate(source: Script, test: ast.expr) -> bool:
    for node in of(test, ast.BinOp):
        if isinstance(node.op, ast.Mod) and _COUNT.search(unparse(node.right)):
            return literal(source, node.right) != 1
    return False


def _lengths(source: Script) -> Iterator[tuple[ast.Call, ast.expr]]:
    for call in source.calls:
        given = next((k for w in _LENGTHS if (k := keyword(call, w)) is not None), None)
        place = _PLACES.get(last_name(call.func).lower())
        if given is None and place is not None and place < len(call.args):
            given = call.args[place]
        if given is not None and re.search(r"(?i)schedul|lr$", last_name(call.func)):
            yield call, given


def _written_out(mine: Flow, node: ast.expr, depth: int) -> str:
    """An expression with what its names stand for beside it."""
    text = unparse(node)
    for name in of(node, ast.Name, ast.Attribute):
        given = mine.given(name) if depth else None
        if given is not None and not given.places and not isinstance(given.value, ast.Constant):
            text += " " + _written_out(mine, given.value, depth - 1)
    return text
