"""The mode in which networks are asked: training in evaluation mode, and the other way round."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..journal import Asked, Backward, Stepped
from ..machine import Machine
from ..marks import may_drop
from .verdict import Verdict, scored, taught, trains


def same_in_both(machine: Machine) -> bool:
    """All answers were understood, and no layer that gave them knows of modes."""
    asks = machine.asks.values()
    nets = [n for a in asks for n in a.net.nets()]
    understood = (
        bool(asks) and not any(a.opaque for a in asks) and not any(n.opaque or n.escaped for n in nets)
    )
    silent = not any(a.modal for a in asks) and not any(map(may_drop, nets))
    return understood and trains(machine) and silent


def trained_in_evaluation(machine: Machine) -> Iterator[Verdict]:
    """Answers that are learnt from are given in evaluation mode: Dropout and BatchNorm stand still."""
    learnt = taught(machine)
    if not trains(machine):
        return
    used = {n for e in machine.journal.of(Stepped) for n in e.used}
    backwards = [e for e in machine.journal.of(Backward) if e.reached and e.number in used]
    reached = {n for e in backwards for n in getattr(e.loss, "asked", ())}
    asks = [a for a in machine.asks.values() if a.number in learnt & reached and a.graph and a.modal]
    off = [
        a
        for a in asks
        if not any(mode for _, mode in a.modal)
        if any(w.moved for w in a.net.parameters()) and not _frozen_norms(a)
    ]
    if off and not off[0].guessed:
        layers = sorted({name for name, _ in off[0].modal})
        if len(off) == len(asks):
            yield Verdict(
                "trained-in-eval",
                off[0].node,
                f"{', '.join(layers)} never train: the network is in evaluation mode",
            )
        elif len(off) * 2 > len(asks):
            yield Verdict(
                "trained-in-eval-later",
                off[0].node,
                f"{', '.join(layers)} train in the first round only: the network stays in evaluation mode",
            )


def _frozen_norms(ask: Asked) -> bool:
    """The norms of a network of which a part is frozen: they keep their statistics as frozen layers do."""
    norms = all("norm" in name.lower() for name, _ in ask.modal)
    return norms and any(not w.trains and not w.buffer for w in ask.net.parameters())


_DETECTORS = re.compile(r"(?i)rcnn|retinanet|fcos|^ssd")  # torchvision's give losses in training mode alone


def scored_in_training(machine: Machine) -> Iterator[Verdict]:
    """Figures of held-out data are told of answers that are given in training mode."""
    if not trains(machine):
        return
    asks = [
        a
        for a in scored(machine)
        if a.modal and not a.net.unsure and any(w.moved for w in a.net.parameters())
        if not any(_DETECTORS.search(name) for name, _ in a.modal)
        if not _learnt_as_well(machine, a) and not _sampled(machine, a) and not _criterion(a)
    ]
    on = [a for a in asks if any(mode for _, mode in a.modal)]
    if on and len(on) == len(asks) and not on[0].guessed:
        layers = sorted({name for name, mode in on[0].modal if mode})
        yield Verdict(
            "scored-in-train",
            on[0].node,
            f"{', '.join(layers)} are still in training mode where figures are taken",
        )


def _criterion(asked: Asked) -> bool:
    """A module that was handed in, asked of an answer and more: a loss, whose mode tells nothing."""
    return asked.net.opaque and len(asked.given) > 1 and any(getattr(t, "asked", ()) for t in asked.given)


def _sampled(machine: Machine, asked: Asked) -> bool:
    """Dropout draws on purpose: it alone is switched on, or the same rows are asked for again and again."""
    if not all("drop" in name.lower() for name, mode in asked.modal if mode):
        return False
    return not asked.mode or (
        asked.rows is not None
        and any(
            a.node is asked.node
            and a.number != asked.number
            and a.loops[:-1] == asked.loops[:-1]
            and a.rows is not None
            and list(a.rows) == list(asked.rows)
            for a in machine.asks.values()
        )
    )


def _learnt_as_well(machine: Machine, asked: Asked) -> bool:
    """The same is asked once more for its gradient: the loss of a step that takes gradients of a function."""
    return asked.rows is not None and any(
        a.net is asked.net
        and a.version == asked.version
        and a.rows is not None
        and a.table == asked.table
        and list(a.rows) == list(asked.rows)
        for a in (machine.asks[n] for n in taught(machine) if n in machine.asks)
    )
