"""Lines that came under another head, or changed places with what depends on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .edit import Edit
from .edit_terms import (
    depends,
)
from .edit_words import (
    SWITCHES,
)
from .in_line import counts
from .lines import Line
from .sides import Sides
from .told import edit_of


def moves(sides: Sides) -> Iterator[tuple[Line, Edit | None]]:
    """Edits of lines that stand elsewhere."""
    aligned = sides.aligned
    for mine, theirs in [*aligned.same.items(), *aligned.changed.items(), *aligned.moved.items()]:
        here, there = _heads(sides, mine), [h for h in theirs.around if h in sides.back]
        changed = [h for h in here if aligned.partner(h) not in there]
        left = [h for h in there if sides.back[h] not in here]
        if aligned.units.get(mine.unit) is not theirs.unit:
            changed, left = [], []
        if (changed or left) and not (mine in sides.mine.dead and not counts(sides, mine)) and not mine.head:
            loops = sum(h.term.kind in ("for", "while") for h in mine.around) - sum(
                h.term.kind in ("for", "while") for h in theirs.around
            )
            kind = "into-loop" if loops > 0 else "out-of-loop" if loops < 0 else "moved"
            by_side = _by_side(sides, changed, left) | _of_choice(sides, changed, left)
            yield mine, edit_of(sides, kind, mine, theirs, None, by_side)
        elif mine in aligned.moved and (crossed := _crossed(sides, mine, theirs)):
            yield mine, edit_of(sides, "moved", mine, theirs, None, crossed)
        elif mine in aligned.moved and _to_another(sides, mine, theirs):
            yield mine, edit_of(sides, "moved", mine, theirs, None)


def _by_side(sides: Sides, entered: Sequence[Line], left: Sequence[Line]) -> frozenset[str]:
    """Whether a line came under, or away from, a condition that asks which data it deals with."""
    asks = [(sides.mine, h) for h in entered] + [(sides.theirs, h) for h in left]
    found = any(h.term.kind == "if" and roles.by_side(h.term, h.unit) for roles, h in asks)
    return frozenset({"by-side"} if found else ())


def _of_choice(sides: Sides, entered: Sequence[Line], left: Sequence[Line]) -> frozenset[str]:
    """Whether a line came under, or away from, the choice of the best: `if now < best: best = now`."""
    asks = [(sides.mine, h) for h in entered] + [(sides.theirs, h) for h in left]
    found = any(_is_choice(h, [x for x in h.unit.lines if h in x.around]) for _, h in asks)
    return frozenset({"by-choice"} if found else ())


def _heads(sides: Sides, line: Line) -> list[Line]:
    return [h for h in line.around if sides.aligned.partner(h) is not None]


def _to_another(sides: Sides, mine: Line, theirs: Line) -> bool:
    """Whether a call that switches the model or clears gradients moved to another function of both."""
    if aligned_here := sides.aligned.units.get(mine.unit):
        called = {x.label for x in mine.term.walk() if x.kind == "call"}
        kept = theirs.unit in sides.their_units and aligned_here is not theirs.unit
        return kept and mine.term.kind == "do" and bool(called & SWITCHES)
    return False


def _crossed(sides: Sides, mine: Line, theirs: Line) -> frozenset[str]:
    """What a moved line changed places with, where the order of the two can matter."""
    if sides.aligned.units.get(mine.unit) is not theirs.unit or mine in sides.mine.dead:
        return frozenset()
    place = {x: i for i, x in enumerate(mine.unit.lines)}
    other = {x: i for i, x in enumerate(theirs.unit.lines)}
    found = set()
    for line in mine.unit.lines:
        partner = sides.aligned.partner(line)
        if partner is None or partner not in other or line is mine or line.head:
            continue
        if (place[line] < place[mine]) != (other[partner] < other[theirs]) and depends(line, mine):
            where = "before" if place[mine] < place[line] else "after"
            labels = [t.label for t in line.term.walk() if t.kind == "call"]
            found |= {f"{where} {label}()" for label in labels} or {f"{where} {line.term.kind}"}
    return frozenset(found)


def _is_choice(head: Line, body: Sequence[Line]) -> bool:
    """Whether a condition compares two figures, and one of the two becomes the other under it."""
    test = head.term.part("test")
    if head.term.kind != "if" or test is None:
        return False
    for one in test.walk():
        if one.kind == "operation" and one.label in ("<", "<=", ">", ">="):
            sides = {t.label for t in one.walk() if t.kind in ("name", "attribute")}
            for line in body:
                given = {t.rpartition(".")[2] for t in line.targets}
                if line.term.kind == "assign" and given & sides and line.term.names & sides - given:
                    return True
    return False
