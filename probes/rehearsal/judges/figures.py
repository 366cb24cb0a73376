"""Figures that are told: of which answers they are made."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of
from ..journal import Asked, Stepped, Told
from ..machine import Machine
from .verdict import Verdict, taught


def last_batch_only(machine: Machine) -> Iterator[Verdict]:
    """A figure told after a loop over batches that is made of the last batch's answers only."""
    learnt = taught(machine)
    steps = machine.journal.of(Stepped)
    for event, mine, others in _after_loops(machine):
        first = min(machine.asks[n].time for n in others)
        loop = machine.asks[next(iter(mine))].loops[-1][0]
        stepped = any(
            first <= e.time <= event.time and any(node is loop for node, _ in e.loops) for e in steps
        )
        if mine & learnt or stepped:
            continue  # the last loss is told of training as a sign of life; a round of epochs is no batch
        if len(others) >= 4 and len(mine) == 1 and max(others) == next(iter(mine)):
            yield Verdict(
                "last-batch", event.node, f"{event.label!r} is made of the last of {len(others)} batches only"
            )


_BEST = re.compile(r"(?i)best|record|so.?far|overall|running|(?:^|[^a-z])(?:max|min|ever)(?:[^a-z]|$)")


def never_reset(machine: Machine) -> Iterator[Verdict]:
    """A figure of a round of epochs that holds the answers of all rounds before."""
    learnt = taught(machine)
    by_node: dict[tuple[ast.AST, str], list[Told]] = {}
    for event in machine.journal.of(Told):
        by_node.setdefault((event.node, event.label), []).append(event)
    for told in by_node.values():
        if _BEST.search(told[0].label) or {"max", "min"} & set(told[0].value.done[-2:]):
            continue  # the best so far is meant to hold them
        if len(told) < 2 or not told[0].loops or any(len(t.value.asked) < 2 for t in told[:2]):
            continue
        first, second = told[0], told[1]
        if first.loops[0][0] is not second.loops[0][0] or first.loops[0][1] == second.loops[0][1]:
            continue
        mine = [machine.asks[n] for n in second.value.asked if n in machine.asks]
        if second.value.asked & learnt or len({a.net.serial for a in mine}) != 1:
            continue  # networks of several folds, rewards
        if any(a.rows is None for a in mine) or _of_the_last(second):
            continue  # what is played or drawn, not scored; a mean of the last rounds is meant to hold them
        if first.value.asked < second.value.asked and _same_place(machine, first, second):
            yield Verdict(
                "not-reset", second.node, f"{second.label!r} still holds the answers of earlier epochs"
            )


def _of_the_last(told: Told) -> bool:
    """A figure of the last items of a list: `history[-10:]`."""
    cuts = [n.slice for n in of(told.node, ast.Subscript) if isinstance(n.slice, ast.Slice)]
    return any(isinstance(c.lower, ast.UnaryOp) and c.upper is None for c in cuts)


def _same_place(machine: Machine, first: Told, second: Told) -> bool:
    nodes = [{machine.asks[n].node for n in t.value.asked if n in machine.asks} for t in (first, second)]
    return nodes[0] == nodes[1] and len(first.loops) == len(second.loops) == 1


def _after_loops(machine: Machine) -> Iterator[tuple[Told, set[int], set[int]]]:
    """Figures with the answers that they are made of, and all given at the same place in that round."""
    for event in machine.journal.of(Told):
        mine = set(event.value.asked)
        if not mine or event.guessed:
            continue
        nodes = {machine.asks[n].node for n in mine if n in machine.asks}
        if len(nodes) != 1:
            continue
        one: Asked = machine.asks[next(iter(mine))]
        if len(one.loops) <= len(event.loops):
            continue  # told within the loop over batches
        outer = one.loops[: len(event.loops)]
        if outer != event.loops:
            continue
        node = next(iter(nodes))
        asked = [
            a
            for a in machine.asks.values()
            if a.node is node
            and a.loops[: len(outer)] == outer
            and len(a.loops) > len(outer)  # a function may be called outside of any loop as well
            and a.time < event.time
        ]
        if len(one.loops) == len(outer) + 1:
            asked = _last_round(asked)
        others = {a.number for a in asked}
        rounds = {a.loops[-1][1] for a in machine.asks.values() if a.number in others}
        if len(rounds) == len(others) and mine <= others:
            yield event, mine, others


def _last_round(asked: list[Asked]) -> list[Asked]:
    """The answers of the last time that a loop was gone through: a function may be called for each side."""
    found: list[Asked] = []
    for one in sorted(asked, key=lambda a: a.time):
        if found and one.loops[-1][1] <= found[-1].loops[-1][1]:
            found = []
        found.append(one)
    return found
