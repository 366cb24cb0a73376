"""Averages of weights that a program keeps by hand: which side is written, and with which shares."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from ..journal import Stepped, Written
from ..machine import Machine
from ..meaning import Meaning
from ..values import Tensor, Weight
from .verdict import Verdict

_SUM = 0.02  # how far shares that were worked out may be from one
_HALF = 0.5


class Mixture:
    """A weight made anew of itself and of another one: the shares of both."""

    def __init__(self, event: Written, own: float, other: float, source: int) -> None:
        self.event, self.own, self.other, self.source = event, own, other, source


def _linear(event: Written) -> dict[int, float] | None:
    """How the new value hangs on weights, by their serials; None where it is not understood."""
    way, value = event.way, event.values[0] if event.values else None
    if event.how in ("data", "item", "copy_", "assign"):
        if not isinstance(value, Tensor):
            return None
        meaning = Meaning(value)
    elif event.how in ("assign_add", "assign_sub"):
        return None
    elif way is not None:
        meaning = Meaning(Tensor(how=way))
    else:
        return None
    serials = {k[1]: k for k in meaning.leaves if k[0] == "weight"}
    if meaning.hidden or not serials or len(serials) < len(meaning.leaves):
        return None
    slopes = {s: meaning.slope(k) for s, k in serials.items()}
    return None if any(s != s for s in slopes.values()) else slopes


def mixtures(machine: Machine) -> Iterator[Mixture]:
    """`t = m * t + (1 - m) * s`, at once or in steps, for each time that it is done to a weight."""
    waiting: dict[int, tuple[dict[int, float], Written]] = {}
    for event in machine.journal.of(Written, Stepped):
        if isinstance(event, Stepped):
            yield from _ready(waiting)
            waiting = {}
            continue
        if not isinstance(event.weight, Weight):
            continue  # what stands in the place of one
        own = event.weight.serial
        found = _linear(event)
        if found is None:
            waiting.pop(own, None)
            continue
        before, first = waiting.pop(own, ({own: 1.0}, event))
        if first is not event and (event.loops[:-1] != first.loops[:-1] or len(before) > 1):
            yield from _ready({own: (before, first)})
            before, first = {own: 1.0}, event
        kept = found.pop(own, 0.0)
        made = {s: share * kept for s, share in before.items()}
        for serial, share in found.items():
            made[serial] = made.get(serial, 0.0) + share
        waiting[own] = (made, first)
    yield from _ready(waiting)


def _ready(waiting: dict[int, tuple[dict[int, float], Written]]) -> Iterator[Mixture]:
    for own, (shares, event) in waiting.items():
        others = [s for s, share in shares.items() if s != own and abs(share) > 1e-9]
        if len(others) == 1 and own in shares:
            yield Mixture(event, shares[own], shares[others[0]], others[0])


def _learners(machine: Machine) -> set[int]:
    """Weights that a step moves by gradients."""
    return {s for e in machine.journal.of(Stepped) for s, used in e.gradients.items() if used}


def _by_weight(machine: Machine) -> dict[int, list[Mixture]]:
    found: dict[int, list[Mixture]] = defaultdict(list)
    for one in mixtures(machine):
        found[one.event.weight.serial].append(one)
    return found


def shares_exchanged(machine: Machine) -> Iterator[Verdict]:
    """A slow copy takes most of the new weights at each step: the shares stand the wrong way round.

    A share that grows with the steps from little on is a start of its own; one that falls is told.
    """
    learn = _learners(machine)
    for serial, mixtures in _by_weight(machine).items():
        if serial in learn or any(m.source not in learn for m in mixtures) or len(mixtures) < 2:
            continue
        if any(abs(m.own + m.other - 1) > _SUM or not 0 < m.own < 1 for m in mixtures):
            continue
        first, last = mixtures[0].own, mixtures[-1].own
        if last < _HALF - 0.05 and last <= first + 1e-6:
            why = f"each step the copy keeps {last:.2g} of itself and takes {1 - last:.2g} of the new weights"
            yield Verdict("average-exchanged", mixtures[-1].event.node, why)
            return


def shares_not_one(machine: Machine) -> Iterator[Verdict]:
    """The shares of the old and of the new weights do not add up to one: the copy shrinks or grows."""
    learn = _learners(machine)
    for serial, mixtures in _by_weight(machine).items():
        if serial in learn or any(m.source not in learn for m in mixtures) or len(mixtures) < 2:
            continue
        sums = [m.own + m.other for m in mixtures]
        if all(abs(s - 1) > _SUM for s in sums) and all(m.own > 0 and m.other > 0 for m in mixtures):
            why = f"the shares of the copy and of the new weights add up to {sums[-1]:.3g}, not to one"
            yield Verdict("average-exchanged", mixtures[-1].event.node, why)
            return


def learner_overwritten(machine: Machine) -> Iterator[Verdict]:
    """The network that learns is mixed with a copy that nothing keeps up to date."""
    learn = _learners(machine)
    found = _by_weight(machine)
    moved = learn | set(found)
    for serial, mixtures in found.items():
        one = mixtures[-1]
        if (
            serial in learn
            and len(mixtures) > 1
            and one.source not in moved
            and one.source in machine.weights
        ):
            source: Weight = machine.weights[one.source]
            if source.buffer or source.escaped or source.name == one.event.weight.name == "":
                continue
            why = "the network that learns is mixed with a copy that nothing brings up to date"
            yield Verdict("average-backwards", one.event.node, why)
            return
