"""The best weights: kept by name only, never taken back, or not the ones that are scored."""

from __future__ import annotations

from collections.abc import Iterator

from ..journal import Loaded, Stepped, Told
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
            yield Verdict("alias", event.node, "what is loaded are the weights as they are: they were kept without a copy")


def best_not_taken_back(machine: Machine) -> Iterator[Verdict]:
    """Figures at the end are told of the last weights, though better ones were kept."""
    steps = machine.journal.of(Stepped)
    if not steps or not trains(machine):
        return
    last = steps[-1].time
    for one in scored(machine):
        if one.time > last and not one.loops[:-1] and isinstance(one.net, Net):
            yield Verdict("end-scored", one.node, f"version {one.version} of {one.net.version}")
            break


__all__ = ["Told", "best_not_taken_back", "best_that_moves_on"]
