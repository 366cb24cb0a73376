"""Lengths of schedules by the loaders that they are counted with: of one epoch, or of held-out data."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse, walk
from ...readers.script import argument, keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.numbers import known
from ..shared.units import chain, loops_of_step

# schedules that end where their length ends: where it is, and under which words
_ENDS = {
    "OneCycleLR": (2, ("total_steps",)),
    "PolynomialLR": (1, ("total_iters",)),
    "CosineAnnealingLR": (1, ("T_max",)),
    "get_linear_schedule_with_warmup": (2, ("num_training_steps",)),
    "get_cosine_schedule_with_warmup": (2, ("num_training_steps",)),
    "get_polynomial_decay_schedule_with_warmup": (2, ("num_training_steps",)),
    "get_scheduler": (3, ("num_training_steps",)),
}
_MAY_RETURN = ("CosineAnnealingLR",)  # one that begins anew with each epoch may be meant
_SHARED_OUT = re.compile(r"(?i)accum|world|process|replica|devices|gpus")
_MAKES = ("DataLoader",)
_FEW = 6  # expressions that a length is made of, one after the other


def counted_by_other_loader(source: Script) -> Finding | None:
    """The length of the schedule is that of one of several epochs, or counts the batches of held-out data."""
    if "pytorch" not in source.frameworks or source.loose:
        return None
    for call, length in _lengths(source):
        parts = list(_spelt_out(source, length, 5))
        counted = [c for n in parts for c in of(n, ast.Call) if last_name(c.func) == "len" and c.args]
        if not counted:
            continue
        if len(counted) == 1 and last_name(call.func) not in _MAY_RETURN and _of_one(parts):
            if _several_epochs(source) and _moves_with_steps(source, call):
                return at(source, call, "the schedule ends with the first epoch: its length is that of one")
        if _of_held_out(source, counted):
            return at(source, call, "the batches of held-out data are counted, and training has its own")
    return None


def _of_one(parts: list[ast.expr]) -> bool:
    """Nothing multiplies the batches: they stand alone, or are shared out by accumulation."""
    operations = [o for n in parts for o in of(n, ast.BinOp)]
    divided = [o for o in operations if isinstance(o.op, (ast.Div, ast.FloorDiv))]
    if len(divided) != len(operations) or not all(_SHARED_OUT.search(unparse(o.right)) for o in divided):
        return False
    calls = {last_name(c.func) for n in parts for c in of(n, ast.Call)}
    return calls <= {"len", "int", "ceil", "max", "float"} and len(parts) <= _FEW


def _lengths(source: Script) -> Iterator[tuple[ast.Call, ast.expr]]:
    for call in source.named(*_ENDS):
        place, words = _ENDS[last_name(call.func)]
        given = next((k for w in words if (k := keyword(call, w)) is not None), None)
        given = given or argument(call, position=place)
        if given is not None and last_name(call.func) not in source.classes:
            yield call, given


def _several_epochs(source: Script) -> bool:
    """Training goes through its data several times, as the script's own numbers say."""
    loops = loops_of_step(source)
    if len(loops) != 2 or not isinstance(loops[1], ast.For):
        return False
    over = loops[1].iter
    if not (isinstance(over, ast.Call) and last_name(over.func) in ("range", "trange") and over.args):
        return False
    rounds = known(source, over.args[-1] if len(over.args) < 3 else over.args[1])
    return rounds is not None and rounds > 1


def _moves_with_steps(source: Script, call: ast.Call) -> bool:
    """`.step()` of it stands in the loop over batches, in each or in those that update."""
    statement = source.statement(call)
    names = {last_name(t) for t in statement.targets} if isinstance(statement, ast.Assign) else set()
    moves = [
        c
        for c in source.named("step")
        if isinstance(c.func, ast.Attribute) and last_name(c.func.value) in names
    ]
    loops = loops_of_step(source)
    return bool(moves) and all(loops[0] in chain(source, m) for m in moves)


def _of_held_out(source: Script, counted: list[ast.Call]) -> bool:
    """What is counted are loaders that no training goes over, beside another one that it does."""
    trained: set[ast.expr] = set()
    for loop in loops_of_step(source)[:1]:
        if isinstance(loop, ast.For):
            trained |= _loaders(source, _gone_over(loop.iter))
    found = [_loaders(source, c.args[0]) for c in counted]
    if not trained or not all(found):
        return False
    return not any(f & trained or any("train" in _role(source, m) for m in f) for f in found)


def _role(source: Script, made: ast.expr) -> str:
    statement = source.statement(made)
    return unparse(statement.targets[0]).lower() if isinstance(statement, ast.Assign) else ""


_NUMERIC = (ast.BinOp, ast.UnaryOp, ast.Name, ast.Attribute)
_ROUNDS = ("int", "ceil", "floor", "round", "max", "min", "len", "float")


def _spelt_out(source: Script, node: ast.expr, depth: int) -> Iterator[ast.expr]:
    """A length and what the numbers in it stand for; not what is counted, nor whose setting it is."""
    yield node
    counted = {
        n
        for c in of(node, ast.Call)
        for a in (c.func, *c.args)
        if last_name(c.func) == "len"
        for n in walk(a)
    }
    owners = {n.value for n in of(node, ast.Attribute)}
    for name in of(node, ast.Name, ast.Attribute) if depth else ():
        if name in counted or name in owners:
            continue
        for value in flow(source).values(name, 1):
            numeric = isinstance(value, _NUMERIC) and value is not name
            if numeric or (isinstance(value, ast.Call) and last_name(value.func) in _ROUNDS):
                yield from _spelt_out(source, value, depth - 1)


def _gone_over(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Call) and node.args and last_name(node.func) in ("enumerate", "tqdm", "iter"):
        node = node.args[0]
    return node


def _loaders(source: Script, node: ast.expr) -> set[ast.expr]:
    """The calls that made a loader; nothing where one of its ends is none."""
    ends = flow(source).values(node, 8)
    made: set[ast.expr] = {e for e in ends if isinstance(e, ast.Call) and last_name(e.func) in _MAKES}
    return made if len(made) == len(ends) else set()
