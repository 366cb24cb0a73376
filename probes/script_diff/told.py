"""Changed, moved and one-sided lines as edits: roles, places, what is gone and what is new."""

from __future__ import annotations

from collections import Counter

from ...engine.model import Place
from .changes import Change
from .edit import Edit
from .edit_terms import (
    changes_in_place,
    chooses,
    differs_behind_first,
    steps_schedule,
)
from .edit_words import (
    FITTED,
    key_of,
    quoted,
    ratio_of,
    setting_of,
    target_words,
    words_of,
)
from .equal import rewritten
from .lines import Line
from .marks import lost, marks
from .one_sided import gives_nothing, starts_no_more
from .roles import Roles
from .sides import Sides, body_of
from .terms import Term


def edit_of_one(sides: Sides, line: Line, roles: Roles, kind: str) -> Edit:
    """A line of one side alone as an edit; `kind` is "added" or "removed"."""
    term = line.term
    if term.kind in ("if", "while"):
        kind = f"condition-{kind}"
    elif term.kind == "decorator":
        kind = f"decorator-{kind}"
    value = rewritten(term.part("value") or term.part("test") or term)
    words = frozenset(words_of(value, roles)) | target_words(term)
    if changes_in_place(line):
        words |= _made_for(sides, line, roles, kind)
    if term.kind in ("if", "with", "for", "while"):
        within = tuple(sorted(_called(line)))
    else:
        one_sided = sides.added if kind.endswith("added") else sides.removed
        heads = [h for h in line.around if h in one_sided]
        within = tuple(sorted({w for h in heads for w in words_of(h.term, roles)}))
    words |= _marks(sides, line, roles, None, term)
    if starts_no_more(sides, line, roles):
        words |= {"starts-anew"}
    if added := kind.endswith("added"):
        words |= marks(line, roles, None, None, term)
    if term.kind == "return" and gives_nothing(sides, line):
        words |= {"return"}
    found = _roles_of(line, roles)
    place = roles.program.source.place(line.node)
    quote = quoted(line.node)
    return Edit(
        kind,
        tuple(found),
        frozenset() if added else words,
        words if added else frozenset(),
        within,
        key_of(line, within),
        "",
        None,
        roles.split(line),
        place if added else _beside(sides, line),
        None if added else place,
        quote if added else "",
        "" if added else quote,
    )


def _made_for(sides: Sides, line: Line, roles: Roles, kind: str) -> frozenset[str]:
    """What a line that writes into something asks for there, and what was made for it alone, as words."""
    target = line.term.part("target")
    index = target.part("index") if target is not None else None
    found = set(words_of(index, roles))
    one_sided = sides.added if kind.endswith("added") else sides.removed
    names = line.term.names
    for x in line.unit.lines:
        if x is not line and x in one_sided and names & set(x.targets):
            found |= set(words_of(x.term.part("value"), roles))
    return frozenset(w for w in found if not w.startswith("$"))


def _marks(sides: Sides, line: Line, roles: Roles, before: Term | None, after: Term | None) -> frozenset[str]:
    """What only one side has there, in words that are no names: see `rules/porting/edits.yaml`."""
    if after is None:
        return frozenset()
    found = set()
    old = {t.key for t in before.walk()} if before is not None else set()
    for term in after.walk():
        test = term.part("test")
        if test is not None and term.kind in ("choice", "if") and term.key not in old:
            if roles.by_side(test, line.unit):
                found.add("by-side")
    if any(roles.by_side(h.term, line.unit) for h in line.around if h.term.kind == "if"):
        if before is None:
            found.add("by-side")
    value = after.part("value") or after
    fresh = [t for t in value.walk() if t.key not in old and t.kind in ("name", "key")]
    target = line.term.part("target")
    index = target.part("index") if target is not None and target.kind == "item" else None
    if index is not None and before is None:
        fresh += [t for t in index.walk() if t.kind in ("name", "key")]
    if any(roles.labels_in(t, line) for t in fresh):
        found.add("label-value")
    one_sided = sides.added if roles is sides.mine else sides.removed
    names = {t.label for t in fresh if t.kind == "name"}
    made = [x.term for x in line.unit.lines if x is not line and x in one_sided and names & set(x.targets)]
    if any(chooses(t) for term in (after, *made) for t in term.walk() if t.key not in old):
        found.add("chosen")
    tests = [t.part("value") for t in made]
    if any(t is not None and t.label in (">", ">=", "==", "!=", "in", "not in", "not") for t in tests):
        found |= {"chosen" for t in after.walk() if t.kind == "item"}
    if (
        before is None
        and target is not None
        and target.kind == "item"
        and value.kind in ("number", "constant")
    ):
        found.add("fill")
    found |= _of_layers(line, roles, before, after)
    return frozenset(found)


def _of_layers(line: Line, roles: Roles, before: Term | None, after: Term) -> set[str]:
    """Marks of edits of a model: another layer of its own, the same layer again, scores of a softmax."""
    found = set()
    known = roles.layers
    if before is not None and before.kind == "call":
        of_self = after.part("self") or after.part("of") or after.part("#0")
        mine = of_self is not None and of_self.label == "self"
        if mine and after.kind == "call" and {before.label, after.label} <= known.keys():
            if before.label != after.label:
                found.add("other-layer")
        elif mine and after.kind == "attribute" and after.label in known and before.label[:1].isupper():
            found.add("same-layer")
    if "forward" in roles.place(line) and roles.scores(line):
        found.add("to-softmax")
    if before is not None and _in_all_rounds(line, roles, before, after):
        found.add("one-layer-each-round")
    return found


def _in_all_rounds(line: Line, roles: Roles, before: Term, after: Term) -> bool:
    """A layer that is made before a loop and called in it, for one that was made in each round."""
    loops = [h for h in line.around if h.term.kind in ("for", "while")]
    owners = [t.part("self") for t in before.walk() if t.kind == "call"]
    made = {o.label for o in owners if o is not None and o.kind == "call" and o.label[:1].isupper()}
    called = {t.label for t in after.walk() if t.kind == "call" and roles.layers.get(t.label) in made}
    if not loops or not called:
        return False
    return any(set(x.targets) & called and loops[-1] not in x.around for x in line.unit.lines)


def _beside(sides: Sides, line: Line) -> Place | None:
    """Where in my program a line of theirs would stand: after the counterpart of the one before it."""
    before = None
    for other in line.unit.lines:
        if other is line:
            break
        before = sides.back.get(other, before)
    return sides.aligned.mine.source.place(before.node) if before is not None else None


def edit_of(
    sides: Sides,
    kind: str,
    mine: Line,
    theirs: Line,
    change: Change | None,
    crossed: frozenset[str] = frozenset(),
) -> Edit | None:
    """A line of both sides as an edit: what changed in it, or what it passed; None for an equal number."""
    gone: frozenset[str] = frozenset()
    new = crossed
    within: tuple[str, ...] = ()
    ratio = None
    if change is not None:
        here = words_of(change.after, sides.mine) if change.after is not None else Counter()
        there = words_of(change.before, sides.theirs) if change.before is not None else Counter()
        gone, new = frozenset(there - here), frozenset(here - there)
        if change.kind == "turned":
            gone, new = frozenset(there), frozenset(here)
        new |= _marks(sides, mine, sides.mine, change.before, change.after)
        gone |= _marks(sides, theirs, sides.theirs, change.after, change.before)
        new |= marks(mine, sides.mine, theirs, change.before, change.after)
        gone |= lost(change.before, change.after)
        within = tuple(f"{call}.{edge}" for call, edge in change.within)
        ratio = ratio_of(change)
        if ratio == 1.0:
            return None
    else:
        gone = frozenset()
        new = crossed | frozenset(words_of(mine.term.part("value") or mine.term, sides.mine))
        new |= marks(mine, sides.mine, theirs, None, None)
    found = _roles_of(mine, sides.mine, change.within if change is not None else ())
    if mine.term.kind in ("if", "while") and kind not in ("moved", "into-loop", "out-of-loop"):
        kind = "condition"
        within = (*within, *sorted(_called(mine)))
        asked, before = (
            sides.mine.by_side(mine.term, mine.unit),
            sides.theirs.by_side(theirs.term, theirs.unit),
        )
        new |= {"by-side"} if asked and not before else {"other-side"} if asked and before else set()
        gone |= {"by-side"} if before and not asked else set()
    if theirs.term.kind == mine.term.kind == "return" and differs_behind_first(mine.term, theirs.term):
        found = ["labels", *(r for r in found if r not in ("inputs", "labels"))]
    key = key_of(mine, within)
    handed = any(w.startswith("compile.loss") for w in within)  # a key of it says of which output
    if key and key not in mine.targets and not handed:
        reached = sides.mine.reach(mine, [key])
        found = list(dict.fromkeys([*reached, *sides.mine.place(mine, reached)]))
    return Edit(
        kind,
        tuple(found),
        gone,
        new,
        within,
        key,
        setting_of(key if change.kind == "constant" and "forward" not in found else "", within)
        if change is not None
        else "",
        ratio,
        "train" if within[:1] and within[0] in FITTED else sides.mine.split(mine),
        sides.aligned.mine.source.place(mine.node),
        sides.aligned.theirs.source.place(theirs.node),
        quoted(mine.node),
        quoted(theirs.node),
    )


def _roles_of(line: Line, roles: Roles, within: tuple[tuple[str, str], ...] = ()) -> list[str]:
    reached = roles.reach(line, within=within)
    if line.term.kind == "while" and roles.trains_under(line):
        reached = ["length", *reached]
    elif line.term.kind in ("if", "while"):
        inner = [x for x in body_of(line) if not x.head][:4]
        reached += [r for x in inner for r in (*roles.reach(x), *roles.place(x))]
    found = list(dict.fromkeys([*reached, *roles.place(line, reached)]))
    return found or (["evaluation"] if roles.split(line) == "eval" else [])


def _called(head: Line) -> set[str]:
    """What is called under a head; the step of a schedule is told from an optimizer's."""
    calls = [t for x in body_of(head) for t in x.term.walk() if t.kind == "call"]
    return {("scheduler_step" if steps_schedule(t) else t.label) + "()" for t in calls}
