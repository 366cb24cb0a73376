"""Lengths of schedules by the loaders that they are counted with: of one epoch, or of held-out data."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse
from ...readers.script import keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.factors import product
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


def counted_by_other_loader(source: Script) -> Finding | None:
    """The length of the schedule is that of one of several epochs, or counts the batches of held-out data."""
    if "pytorch" not in source.frameworks or source.loose:
        return None
    for call, length in _lengths(source):
        found = product(flow(source), length)
        if found is None:
            continue
        counted = [t for t, p in found.atoms if p == 1 and t.startswith("len(")]
        if len(counted) != 1:
            continue
        others = [(t, p) for t, p in found.atoms if t != counted[0]]
        shared_out = all(p == -1 and _SHARED_OUT.search(t) for t, p in others)
        if shared_out and found.constant <= 1 and last_name(call.func) not in _MAY_RETURN:
            if _several_epochs(source) and _moves_with_steps(source, call):
                return at(source, call, "the schedule ends with the first epoch: its length is that of one")
        if _of_held_out(source, length):
            return at(source, call, "the batches of held-out data are counted, and training has its own")
    return None


def _lengths(source: Script) -> Iterator[tuple[ast.Call, ast.expr]]:
    for call in source.named(*_ENDS):
        place, words = _ENDS[last_name(call.func)]
        given = next((k for w in words if (k := keyword(call, w)) is not None), None)
        given = given or (call.args[place] if place < len(call.args) else None)
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


def _of_held_out(source: Script, length: ast.expr) -> bool:
    """What is counted is a loader that no training goes over, beside another one that it does."""
    trained: set[ast.expr] = set()
    for loop in loops_of_step(source)[:1]:
        if isinstance(loop, ast.For):
            trained |= _loaders(source, _gone_over(loop.iter))
    if not trained:
        return False
    counted: set[ast.expr] = set()
    for node in _spelt_out(source, length, 5):
        for call in of(node, ast.Call):
            if last_name(call.func) == "len" and call.args:
                counted |= _loaders(source, call.args[0])
    return bool(counted) and not counted & trained and not any("train" in _role(source, c) for c in counted)


def _role(source: Script, made: ast.expr) -> str:
    statement = source.statement(made)
    return unparse(statement.targets[0]).lower() if isinstance(statement, ast.Assign) else ""


def _spelt_out(source: Script, node: ast.expr, depth: int) -> Iterator[ast.expr]:
    yield node
    for name in of(node, ast.Name, ast.Attribute) if depth else ():
        for value in flow(source).values(name, 1):
            if value is not name and not (isinstance(value, ast.Call) and last_name(value.func) in _MAKES):
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
