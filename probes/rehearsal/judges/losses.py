"""Losses: whether what they are given is what they expect, by what was done to an answer just before."""

from __future__ import annotations

from collections.abc import Iterator

from ..journal import Backward
from ..machine import Machine
from ..meaning import last_done, parts_of
from ..values import Tensor
from .verdict import Verdict

_CHANCES = ("softmax", "Softmax", "sigmoid", "Sigmoid")
_SCORES = ("Linear", "linear", "LazyLinear")
_OF_TWO_CLASSES = ("binary_cross_entropy_with_logits", "BCEWithLogitsLoss", "sigmoid_binary_cross_entropy")
_OF_LOGS = ("nll_loss", "NLLLoss")
_OF_CHANCES = ("binary_cross_entropy", "BCELoss")
_OF_SCORES = (
    "cross_entropy",
    "CrossEntropyLoss",
    "binary_cross_entropy_with_logits",
    "BCEWithLogitsLoss",
)


def given_otherwise(machine: Machine) -> Iterator[Verdict]:
    """`nll_loss` of chances or scores, `BCELoss` of scores, a loss on scores of what is a chance already.

    PyTorch's losses, of one answer of a network that was understood, with nothing in between.
    """
    for event in machine.journal.of(Backward):
        loss = event.loss
        if not isinstance(loss, Tensor) or event.guessed or len(loss.asked) != 1:
            continue
        asked = machine.asks.get(next(iter(loss.asked)))
        if asked is None or asked.opaque or asked.net.home or machine.not_known & set(loss.done):
            continue
        for before, after in zip(loss.done, loss.done[1:], strict=False):
            if after in _OF_LOGS and before in (*_CHANCES, *_SCORES):
                yield Verdict(
                    "not-logs", event.node, f"{after} expects logarithms, and gets what {before} gives"
                )
                return
            if after in _OF_CHANCES and before in _SCORES:
                yield Verdict(
                    "not-logs", event.node, f"{after} expects chances, and gets what {before} gives"
                )
                return
            if after in _OF_SCORES and before in _CHANCES:
                yield Verdict("bent-twice", event.node, f"{after} applies its own {before}, and gets one")
                return


def scores_bent_twice(machine: Machine) -> Iterator[Verdict]:
    """A sigmoid, and then an entropy that applies its own: of any of the answers that a loss is made of."""
    for event in {e.node: e for e in machine.journal.of(Backward)}.values():
        if event.guessed:
            continue
        for one in parts_of(event.loss):
            how = one.how
            given = next((g for g in how.given if isinstance(g, Tensor)), None) if how is not None else None
            if how is None or how.name not in _OF_TWO_CLASSES or given is None:
                continue
            last = last_done(given)
            if last in _CHANCES:
                yield Verdict("bent-twice", event.node, f"{how.name} applies its own sigmoid, and gets one")
                return


def answers_own_targets(machine: Machine) -> Iterator[Verdict]:
    """The class that an answer names is the class that its own loss asks for: nothing of the labels is left.

    `cross_entropy(logits, logits.argmax(1))`. Labels made by another answer, of a teacher or of the plain
    picture, are left alone.
    """
    backwards = machine.journal.of(Backward)
    for event in backwards:
        loss = event.loss
        if not isinstance(loss, Tensor) or event.guessed or len(loss.asked) != 1:
            return
        if loss.done[-2:-1] != ("argmax",) or loss.done[-1:] not in {(n,) for n in _OF_SCORES}:
            return
        asked = machine.asks.get(next(iter(loss.asked)))
        if asked is None or asked.opaque or machine.not_known & set(loss.done):
            return
    if len(backwards) > 1:
        yield Verdict(
            "own-answers", backwards[0].node, "this loss takes the network's own answers for the labels"
        )
