"""Floors: logarithms of what a sigmoid makes zero."""

from __future__ import annotations

from collections.abc import Iterator

from ..journal import Backward
from ..machine import Machine
from ..values import Tensor
from .verdict import Verdict

_SQUASH = frozenset(("sigmoid", "Sigmoid", "sigmoid_"))


def logarithm_of_nought(machine: Machine) -> Iterator[Verdict]:
    """A loss holds `log(1 - p)` of a sigmoid's p: that is 1 in single precision from a score of 17 on."""
    for event in machine.journal.of(Backward):
        done = event.loss.done if isinstance(event.loss, Tensor) else ()
        for place, name in enumerate(done[:-2]):
            if name in _SQUASH and done[place + 1 : place + 3] == ("sub", "log") and not event.guessed:
                yield Verdict(
                    "log-of-nought",
                    event.node,
                    "the loss holds the logarithm of 1 less a sigmoid, which is 0 for a sure score",
                )
                return
