"""What a judge says, and what several judges ask of a journal."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import lru_cache

from ..journal import Asked, Backward, Stepped, Told
from ..machine import Machine
from ..values import Optimizer, Tensor


@dataclass(frozen=True, eq=False)
class Verdict:
    """A fact of a rehearsal: its kind, where it stands, and what was seen."""

    kind: str
    node: ast.AST
    why: str


@lru_cache(maxsize=8)
def taught(machine: Machine) -> frozenset[int]:
    """The answers that a gradient was taken of."""
    found: set[int] = set()
    for event in machine.journal.of(Backward):
        if isinstance(event.loss, Tensor):
            found |= event.loss.asked
    return frozenset(found)


def optimizers(machine: Machine) -> list[Optimizer] | None:
    """The optimizers that moved weights, or None where one of them or its weights are not known."""
    if any(o.escaped or o.weights is None for o in machine.optimizers):
        return None
    found = list({id(e.optimizer): e.optimizer for e in machine.journal.of(Stepped)}.values())
    return found or None


def trains(machine: Machine) -> bool:
    """Whether the rehearsal got as far as steps that moved weights by gradients."""
    return any(any(e.gradients.values()) for e in machine.journal.of(Stepped))


def scored(machine: Machine) -> list[Asked]:
    """Answers that no gradient was taken of and of which a figure is told, without keeping the graph."""
    learnt = taught(machine)
    told = {n for e in machine.journal.of(Told) for n in e.value.asked}
    return [a for a in machine.asks.values() if a.number not in learnt and not a.graph and a.number in told]
