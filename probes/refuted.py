"""Messages of a log that the run itself shows to be about something else, or to do no harm."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from .curves.shapes import shape
from .run import Event, Run

LEARNS = 0.3  # of the loss: a fall that no frozen model has
_SIZES = re.compile(
    r"target size \((?:torch\.Size\()?\[([\d, ]*)\]"
    r".{0,80}?input size \((?:torch\.Size\()?\[([\d, ]*)\]"
)


def refuted(run: Run, events: Sequence[Event]) -> str | None:
    """Why these messages, all of one kind, say nothing against the run; None where they do."""
    kinds = {e.data if e.kind == "known-warning" else e.kind for e in events}
    if kinds <= {"nothing-trainable", "no-grad-input"}:
        return _learns(run)
    if kinds == {"shape-broadcast"} and all(map(_spreads_one, events)):
        return "one of the two is a single number, which belongs to all of the other"
    return None


def _learns(run: Run) -> str | None:
    """A loss that falls was not left to a model of which nothing trains: another one is meant."""
    curve = None if "train/loss" not in run.series else shape(run.series["train/loss"])
    if curve is None or curve.count < 3 or curve.progress < LEARNS:
        return None
    return f"and yet {curve.name} falls by {curve.progress:.0%}: it is said of another model, or of a part"


def _spreads_one(event: Event) -> bool:
    """Whether a target or an input of one number is spread over all of the other."""
    found = _SIZES.search(event.text)
    if found is None:
        return False
    return min(math.prod(int(n) for n in g.replace(" ", "").split(",") if n) for g in found.groups()) == 1
