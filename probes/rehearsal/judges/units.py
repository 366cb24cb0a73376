"""Units: whether answers and truths, and what is learnt from and asked of later, are scaled alike."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..journal import Asked
from ..machine import Machine
from ..units import Units, known, plain, undone
from ..values import Met, Tensor
from .rows import fields
from .verdict import Verdict, scored, taught


def scored_in_other_units(machine: Machine) -> Iterator[Verdict]:
    """Answers and truths of a score that do not stand in the same unit.

    What the loss holds together tells in which unit answers are. Only targets count that are moved and
    divided by statistics of the data.
    """
    learnt = taught(machine)
    ways: dict[frozenset[str], set[Units]] = {}
    for met in machine.met:
        if met.asked & learnt:
            way = plain((*met.of, *undone(met.units)))
            ways.setdefault(frozenset(fields(met.data)), set()).add(way)
    for met in machine.met:
        way_of = ways.get(frozenset(fields(met.data)), set())
        if met.asked & learnt or met.guessed or len(way_of) != 1 or _kept(machine, met):
            continue
        way = next(iter(way_of))
        if _taken_from(met.of) - _taken_from(way):
            continue  # statistics of its own: the matter of another check
        wanted, held = plain((*way, *met.units)), plain(met.of)
        if wanted != held and (way or held) and known(way) and known(wanted) and known(held):
            turned = "the answers are turned back to their unit, and the truths are not"
            if len(wanted) >= len(held):
                turned = "the truths stand in another unit than the answers, which nothing turns back"
            yield Verdict("units-apart", met.node, turned)
            return


def _taken_from(units: Units) -> set[int]:
    """The statistics that something was moved and divided by, not those that it was brought back with."""
    return {n for name, fits in units if name in ("sub", "div", "transform") for n in fits}


def _kept(machine: Machine, met: Met) -> bool:
    """Whether gradients are kept of the answers, or nothing is known of them."""
    asks = [machine.asks[n] for n in met.asked if n in machine.asks]
    return not asks or any(a.graph or a.guessed for a in asks)


def scaled_on_one_side(machine: Machine) -> Iterator[Verdict]:
    """What is learnt from was moved and divided by figures, and what is scored was not, or the other way."""
    learnt = taught(machine)
    taken: dict[tuple[int, int], set[Units]] = {}
    for ask in machine.asks.values():
        if ask.number in learnt:
            for place, way in _ways(ask):
                taken.setdefault((ask.net.serial, place), set()).add(way)
    for ask in scored(machine):
        for place, way in _ways(ask):
            mine = taken.get((ask.net.serial, place), set())
            if not mine or ask.guessed:
                continue
            plainly = (
                not any(_scaled(w) for w in mine) and _scaled(way) and all(_odd(m) <= _odd(way) for m in mine)
            )
            if plainly or (
                all(_scaled(w) for w in mine) and not _scaled(way) and all(_odd(way) <= _odd(m) for m in mine)
            ):
                side = "scored" if plainly else "learnt from"
                yield Verdict(
                    "scaled-one-side", ask.node, f"only what is {side} is moved and divided by figures"
                )
                return


# what changes values and is done to held-out samples alone by no recipe
_CHANGES = frozenset(
    (
        "set",
        "masked_fill",
        "fill_",
        "zero_",
        "flip",
        "fliplr",
        "flipud",
        "roll",
        "rot90",
        "neg",
        "abs",
        "sign",
    )
)


def held_out_changed(machine: Machine) -> Iterator[Verdict]:
    """All that is scored was blanked, turned or moved, and nothing that is learnt from was."""
    learnt = taught(machine)
    done: dict[int, tuple[set[str], set[str]]] = {}  # of each network: what was done, what is not known
    for ask in machine.asks.values():
        if ask.number in learnt:
            known_of, odd = done.setdefault(ask.net.serial, (set(), set()))
            for one in _inputs(ask):
                known_of.update(one.done)
                odd.update(_odd(plain(one.units)))
    held = [a for a in scored(machine) if a.net.serial in done]
    if not held or any(a.guessed for a in held):
        return
    if any(sum(1 for _ in _inputs(a)) != 1 for a in held):
        return  # several parts, several views
    ask = held[0]
    mine, odd = done[ask.net.serial]
    alike = set.intersection(*({n for one in _inputs(a) for n in one.done} for a in held))
    strange = {n for one in _inputs(ask) for n in _odd(plain(one.units))}
    only = sorted(alike & _CHANGES - mine)
    # whatever else was done to it has to be known of what is learnt from: else the way there was lost
    if only and odd <= strange and alike - set(only) <= mine:
        yield Verdict("held-out-changed", ask.node, f"only what is scored goes through {only[0]!r}")


def _inputs(ask: Asked) -> Iterator[Tensor]:
    for one in ask.given:
        if isinstance(one, Tensor) and one.rows is not None and not one.asked:
            yield one


_BY_CHANCE = re.compile(
    r"^(?:Random[A-Z]\w+|FrequencyMasking|TimeMasking|ColorJitter|TrivialAugment\w*|AutoAugment|RandAugment|AugMix)$"
)


def augmented_while_scored(machine: Machine) -> Iterator[Verdict]:
    """What is scored goes through the same transforms by chance as what is learnt from.

    Not judged: two views of the same samples, which are the task itself.
    """
    learnt = taught(machine)
    drawn: dict[int, set[str]] = {}
    for ask in machine.asks.values():
        if ask.number in learnt:
            drawn.setdefault(ask.net.serial, set()).update(_by_chance(ask))
    held = [a for a in scored(machine) if drawn.get(a.net.serial)]
    if not held or any(a.guessed or sum(isinstance(g, Tensor) for g in a.given) != 1 for a in held):
        return
    alike = set.intersection(*(_by_chance(a) & drawn[a.net.serial] for a in held))
    if alike:
        yield Verdict("augmented-scored", held[0].node, f"what is scored goes through {min(alike)}, too")


def _by_chance(ask: Asked) -> set[str]:
    tensors = (g for g in ask.given if isinstance(g, Tensor))
    return {name for one in tensors for name in one.done if _BY_CHANCE.match(name)}


def _ways(ask: Asked) -> Iterator[tuple[int, Units]]:
    for place, one in enumerate(ask.given):
        if isinstance(one, Tensor) and one.rows is not None and fields(one) and not one.asked:
            yield place, plain(one.units)


def _scaled(way: Units) -> bool:
    """Moved or divided by a figure, or by a scaler."""
    return any(name in _SCALING for name, _ in way)


_SCALING = frozenset(("transform", "sub", "div"))


def _odd(way: Units) -> set[str]:
    """What was done and is not known."""
    return {name for name, _ in way if name[:1] == "?"}
