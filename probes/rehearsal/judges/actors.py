"""Networks that act and networks that value what they do: each answers to a loss of its own.

A critic of actions is one that learns to reach a target that looks ahead; an actor is what made the actions
that the critic is asked of. The actor's loss has to fall as these values rise.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..journal import Backward
from ..machine import Machine
from ..values import Net
from .duels import _serials, scores_of, table_of
from .futures import targets
from .verdict import Verdict

_SLIGHT = 1e-6


def _critics(machine: Machine) -> list[Net]:
    table = table_of(machine)
    found = [table.of(_serials(x.answer.net)) for t in targets(machine) for x in t.learnt]
    return [n for n in found if n is not None]


def values_pushed_down(machine: Machine) -> Iterator[Verdict]:
    """The loss of an actor rises with the value of its actions: it learns the worst ones."""
    critics = {id(n) for n in _critics(machine)}
    for event in {e.node: e for e in machine.journal.of(Backward)}.values() if critics else ():
        scores = scores_of(machine, event) or ()
        mine = [s for s in scores if id(s.critic) in critics and s.maker is not None]
        if not mine or len(mine) < len([s for s in scores if id(s.critic) in critics]):
            continue
        reached = any(event.reached & _serials(s.maker) for s in mine if s.maker is not None)
        if reached and all(s.slope > _SLIGHT for s in mine):
            why = "the loss of the network that acts rises with the value of what it does"
            yield Verdict("actor-turned", event.node, why)
            return


def greater_of_two(machine: Machine) -> Iterator[Verdict]:
    """The target takes the greater of two critics' values, which are two so that the lesser can be taken."""
    for one in targets(machine):
        live = [x for x in one.future if x.answer is not None]
        for place, first in enumerate(live):
            for second in live[place + 1 :]:
                made = one.meaning
                points = ({first.key: 0.2, second.key: 0.8}, {first.key: 0.8, second.key: 0.2})
                low = made.slope(first.key, points[0]), made.slope(second.key, points[1])
                high = made.slope(second.key, points[0]), made.slope(first.key, points[1])
                if all(abs(v) < _SLIGHT for v in low) and all(v > 0.05 for v in high):
                    why = "the target takes the greater of two values, where the lesser is meant"
                    yield Verdict("greater-of-two", one.event.node, why)
                    return
