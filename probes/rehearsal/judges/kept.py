"""The best weights: kept by name only, never taken back, or not the ones that are scored."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...readers._tree import of
from ..journal import Loaded, Saved, Stepped, Taken
from ..machine import Machine
from ..values import Net, State
from .verdict import Verdict, scored, trains


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


def _asks_for_better(node: ast.AST) -> bool:
    """Whether a condition compares figures: `if loss < best`."""
    if not isinstance(node, ast.If):
        return False
    return any(
        isinstance(o, (ast.Lt, ast.Gt, ast.LtE, ast.GtE)) for c in of(node.test, ast.Compare) for o in c.ops
    )
