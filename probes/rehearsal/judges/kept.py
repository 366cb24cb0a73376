"""The best weights: kept by name only, never taken back, or not the ones that are scored."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, walk
from ..journal import Loaded, Saved, Stepped, Taken
from ..machine import Machine
from ..values import Net, State, Tensor
from .verdict import Verdict, scored, taught, trains


def best_that_moves_on(machine: Machine) -> Iterator[Verdict]:
    """Weights that were kept without a copy, and went on being trained until they are taken back."""
    if not trains(machine):
        return
    for event in machine.journal.of(Loaded):
        state = event.state
        if not isinstance(state, State) or not isinstance(state.net, Net) or state.copied:
            continue
        if state.net is event.net and state.version != event.version and state.now == event.version:
            yield Verdict(
                "alias",
                event.node,
                "what is loaded are the weights as they are: they were kept without a copy",
            )


def best_not_taken_back(machine: Machine) -> Iterator[Verdict]:
    """Figures after training are told of the last weights, though those of a better round were kept."""
    steps = machine.journal.of(Stepped)
    if not steps or not trains(machine):
        return
    last, loop = steps[-1].time, steps[-1].loops[:1]
    kept = [
        e
        for e in machine.journal.of(Taken, Saved)
        if e.loops[:1] and loop and e.loops[0][0] is loop[0][0] and any(map(_asks_for_better, e.guessed))
    ]
    taken = [e for e in machine.journal.of(Taken) if e in kept]
    if not kept or any(e.time > last for e in machine.journal.of(Loaded)) or not taken:
        return
    for one in scored(machine):
        mine = [e for e in taken if e.net is one.net]
        if one.net.escaped or one.time < last or not mine:
            continue
        if all(e.version != one.version for e in mine):
            if not any(node is loop[0][0] for node, _ in one.loops):
                why = (
                    "the last weights are scored at the end; the best ones that were kept are not taken back"
                )
                yield Verdict("last-scored", one.node, why)
                return


def kept_for_more_loss(machine: Machine) -> Iterator[Verdict]:
    """What is kept as the best is kept where a loss of held-out data is higher than before."""
    learnt = taught(machine)
    kept = [e for e in machine.journal.of(Taken, Saved) if any(map(_asks_for_better, e.guessed))]
    tests = {id(n): n for e in kept for n in e.guessed if _asks_for_better(n) and _where_true(n, e.node)}
    for here, sign, left, right in machine.compares:
        node = tests.get(id(here))
        if node is None or not isinstance(sign, (ast.Gt, ast.GtE, ast.Lt, ast.LtE)):
            continue
        if isinstance(left, Tensor) == isinstance(right, Tensor):
            continue  # the first figure is held against a number
        figure = left if isinstance(left, Tensor) else right
        higher = isinstance(sign, (ast.Gt, ast.GtE)) == (figure is left)
        if not figure.asked or figure.asked & learnt or not higher or not _is_loss(figure):
            continue
        yield Verdict("kept-for-more", here, "the weights are kept where the loss is higher than before")
        return


def _where_true(test: ast.AST, node: ast.AST) -> bool:
    """Whether something stands where a condition is met, and not where it is not."""
    if not isinstance(test, ast.If) or isinstance(test.test, ast.BoolOp):
        return False
    return not test.orelse or any(n is node for s in test.body for n in walk(s))


_LOSS = re.compile(
    r"(?i)^(?:cross_?entropy(?:_?loss)?|nll_?loss|bce(?:withlogits)?_?loss|mse_?loss|l1_?loss|huber_?loss"
    r"|smooth_?l1_?loss|binary_cross_entropy(?:_with_logits)?|softmax_cross_entropy\w*|kl_?div\w*)$"
)
# what leaves the order of figures as it is
_KEEPS_ORDER = frozenset(
    ("add", "div", "mul", "mean", "sum", "item", "stack", "stacked", "tensor", "exp", "sqrt", "float")
)


def _is_loss(figure: Tensor) -> bool:
    """The mean or the sum of a library's loss, with nothing behind it that turns it round."""
    at = [i for i, name in enumerate(figure.done) if _LOSS.match(name)]
    return bool(at) and all(name in _KEEPS_ORDER for name in figure.done[at[-1] + 1 :])


def _asks_for_better(node: ast.AST) -> bool:
    """Whether a condition compares figures: `if loss < best`."""
    if not isinstance(node, ast.If):
        return False
    return any(
        isinstance(o, (ast.Lt, ast.Gt, ast.LtE, ast.GtE)) for c in of(node.test, ast.Compare) for o in c.ops
    )
