"""The edits between two programs that can matter to training, each with its roles, places and code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from ..scripts.syntax import Script
from .align import align
from .edit import Edit, LeftOut
from .edit_words import (
    words_of,
)
from .in_line import line_changes, parted_otherwise
from .lines import Line, program, programs
from .meaning import Same, same_meaning
from .moves import moves
from .one_sided import idle, stands_in
from .rewrites import rewritten_lines
from .roles import Roles
from .sides import Sides
from .telling import (
    axis_alone,
    crossing,
    drowned,
    lines_anew,
    others_drowned,
    plainly_other,
    ranked,
    same_again,
    written_again,
)
from .told import edit_of, edit_of_one

MAX_EDITS = 400


def edits(mine: Script, theirs: Script) -> tuple[Edit, ...]:
    """What of `theirs` was changed to make `mine`, in the order of my lines."""
    return _found(mine, theirs)[0]


def left_out(mine: Script, theirs: Script) -> tuple[LeftOut, ...]:
    """Lines of one side alone that make what is used elsewhere: layers, helpers, returned values."""
    return _found(mine, theirs)[1]


@lru_cache(maxsize=16)
def _found(mine: Script, theirs: Script) -> tuple[tuple[Edit, ...], tuple[LeftOut, ...]]:
    sides = Sides(align(*programs(mine, theirs)))
    return tuple(_told(sides)), tuple(sides.left_out)


@lru_cache(maxsize=64)
def likeness_of(mine: Script, theirs: Script) -> float:
    """The share of the shorter program's lines that stand in the other one, names aside; 0 to 1."""
    here = Counter(line.term.shape for line in program(mine).lines)
    there = Counter(line.term.shape for line in program(theirs).lines)
    return sum((here & there).values()) / max(1, min(sum(here.values()), sum(there.values())))


def _told(sides: Sides) -> Iterator[Edit]:
    every = [(line, edit) for line, edit in _all(sides) if edit is not None]
    plain = all(plainly_other(sides, line, edit) for line, edit in every)
    same = Same() if plain else same_meaning(sides.aligned)
    made = [edit for _, edit in every]
    left = [
        (line, edit)
        for line, edit in every
        if plain or axis_alone(edit, made) or not same_again(sides, same, line, edit)
    ]
    left = [(line, edit) for line, edit in left if not ranked(sides, line, edit)]
    left = written_again(sides, left)
    lines, anew = rewritten_lines(sides.aligned, left), lines_anew(sides, left)
    over = crossing([edit for _, edit in left])
    told = [
        (
            line,
            replace(edit, rewritten=True)
            if not over & (edit.gone | edit.new) and (line in lines or drowned(sides, edit, line in anew))
            else edit,
        )
        for line, edit in left
    ]
    seen: set[tuple[object, ...]] = set()
    for _, edit in sorted(others_drowned(sides, told), key=lambda m: m[0].node.lineno)[:MAX_EDITS]:
        key = (edit.kind, edit.mine, edit.theirs, edit.gone, edit.new, edit.within)
        if key not in seen:
            seen.add(key)
            yield edit


def _all(sides: Sides) -> Iterator[tuple[Line, Edit | None]]:
    aligned = sides.aligned
    explained = set()
    alike = parted_otherwise(sides)
    for mine, theirs in aligned.changed.items():
        if mine in alike:
            continue
        for change, used in line_changes(sides, mine, theirs):
            explained |= used
            if change is not None:
                yield mine, edit_of(sides, change.kind, mine, theirs, change)
    for line in aligned.added:
        if line in explained or stands_in(line, sides.theirs, sides.their_units):
            continue
        if not idle(sides, line, sides.mine, sides.my_units, sides.their_names):
            yield line, edit_of_one(sides, line, sides.mine, "added")
        else:
            _leave_out(sides, line, sides.mine)
    for line in aligned.removed:
        if line in explained or stands_in(line, sides.mine, sides.my_units):
            continue
        if not idle(sides, line, sides.theirs, sides.their_units, sides.my_names):
            yield line, edit_of_one(sides, line, sides.theirs, "removed")
        else:
            _leave_out(sides, line, sides.theirs)
    yield from moves(sides)


def _leave_out(sides: Sides, line: Line, roles: Roles) -> None:
    words = frozenset(words_of(line.term.part("value"), roles))
    if words and len(sides.left_out) < MAX_EDITS:
        sides.left_out.append(LeftOut(roles is sides.mine, words, frozenset(roles.layers)))
