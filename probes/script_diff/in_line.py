"""What differs within two lines that stand for each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .align import their_term
from .changes import Change, changes
from .edit_terms import (
    default_of,
    fields_filled,
    filled_in,
    gives,
    names_read,
    off_unless_asked,
    replaced_names,
    sees,
)
from .equal import rewritten
from .lines import Line, Program
from .marks import weighty
from .sides import Sides
from .terms import Term


def line_changes(sides: Sides, mine: Line, theirs: Line) -> Iterator[tuple[Change | None, set[Line]]]:
    """The changes of a line, names that only one side has replaced by what they hold."""
    before, after = their_term(sides.aligned, theirs), mine.term
    if before.key == after.key:
        return
    if mine in sides.mine.dead and theirs in sides.theirs.dead and not counts(sides, mine):
        return
    used: set[Line] = set()
    for _ in range(4):
        names = before.names ^ after.names
        hold_mine = {
            n: x
            for x in sides.added
            for n in x.targets
            if n in names and gives(x, n) and sees(x, mine) and not weighty(n, x, after)
        }
        hold_theirs = {
            n: x for x in sides.removed for n in x.targets if n in names and gives(x, n) and sees(x, theirs)
        }
        if not hold_mine and not hold_theirs:
            break
        after, first = filled_in(after, hold_mine, lambda x: x.term)
        before, second = filled_in(before, hold_theirs, lambda x: their_term(sides.aligned, x))
        used |= first | second
        if not first and not second:
            break
    before, after = _constants(sides, mine, theirs, before, after)
    before, after = rewritten(before), rewritten(after)
    if before.key == after.key:
        yield None, used
        return
    for change in changes(before, after):
        if change.kind == "argument-added" and off_unless_asked(sides.aligned.mine, mine, change):
            continue
        if change.kind == "argument-removed" and off_unless_asked(sides.aligned.theirs, theirs, change):
            continue
        yield change, used


def parted_otherwise(sides: Sides) -> set[Line]:
    """Lines of mine that come to the same as theirs, with the one line that reads what they make.

    `parts = rows(x)` and `h = f(cat([*parts, y]))` are `both = cat(rows(x))` and `h = f(cat([both, y]))`.
    """
    found: set[Line] = set()
    aligned = sides.aligned
    for mine, theirs in aligned.changed.items():
        made, reader = _read_once(mine)
        name, other = _read_once(theirs)
        if reader is None or other is None or aligned.changed.get(reader) is not other:
            continue
        value, held = mine.term.part("value"), their_term(aligned, theirs).part("value")
        if value is None or held is None:
            continue
        after = replaced_names(reader.term, {made: value})
        before = replaced_names(their_term(aligned, other), {made: held, name: held})
        if rewritten(after).key == rewritten(before).key:
            found |= {mine, reader}
    return found


def _read_once(line: Line) -> tuple[str, Line | None]:
    """The plain name that a line makes, and the one line of its unit that reads it."""
    name = line.targets[0] if len(line.targets) == 1 else ""
    if not name or not gives(line, name) or line.unit.name == "":
        return "", None
    readers = [x for x in line.unit.lines if x is not line and name in names_read(x.term)]
    again = [x for x in line.unit.lines if x is not line and name in x.targets]
    return name, readers[0] if len(readers) == 1 and not again else None


def _constants(sides: Sides, here: Line, there: Line, before: Term, after: Term) -> tuple[Term, Term]:
    """A name of a constant that only one side has, written out."""
    for _ in range(2):
        only_mine, only_theirs = after.names - before.names, before.names - after.names
        mine = {n: v for n in only_mine if (v := _constant(sides.aligned.mine, n)) is not None}
        theirs = {n: v for n in only_theirs if (v := _constant(sides.aligned.theirs, n)) is not None}
        if not mine and not theirs:
            break
        after, before = replaced_names(after, mine), replaced_names(before, theirs)
    old, new = ({t.key for t in x.walk() if t.kind == "attribute"} for x in (before, after))
    my_fields, before = _as_by_default(sides.aligned.theirs, there, before, sides.my_fields)
    their_fields, after = _as_by_default(sides.aligned.mine, here, after, sides.theirs_fields)
    return fields_filled(before, their_fields, new), fields_filled(after, my_fields, old)


def _as_by_default(
    of: Program, line: Line, term: Term, fields: Mapping[str, Term]
) -> tuple[dict[str, Term], Term]:
    """Fields of the other side that are parameters here: left out, or the default written out beside them."""
    defaults = {n: default_of(of, line.unit, n) for n in fields.keys() & term.names}
    other = {n: d for n, d in defaults.items() if d is not None and d.key != fields[n].key}
    kept = {n: v for n, v in fields.items() if n not in term.names or n in other}
    return kept, replaced_names(term, other)


def _constant(of: Program, name: str) -> Term | None:
    given = [x for x in of.units[0].lines if name in x.targets and x.term.kind == "assign"]
    value = given[0].term.part("value") if len(given) == 1 else None
    return value if value is not None and value.kind in ("number", "constant", "sequence") else None


def counts(sides: Sides, line: Line) -> bool:
    """Whether what only gets logged matters all the same: what an evaluation measures."""
    return sides.mine.split(line) == "eval" or line in sides.mine.measured
