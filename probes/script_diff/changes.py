"""What changed between two like expressions: typed, as small as it can be told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

from .equal import one_loss
from .layouts import one_layout
from .terms import Term, likeness
from .vocabulary import word_set

MAX_CHANGES = 12  # of one line; a line with more is another line


@dataclass(frozen=True)
class Change:
    """One change: its kind, the terms on either side, and what they are handed to (innermost first).

    `within`: pairs of (call or operation, argument) around the change.
    """

    kind: str
    before: Term | None
    after: Term | None
    within: tuple[tuple[str, str], ...] = ()


def changes(before: Term, after: Term) -> list[Change]:
    """The changes that make the one term the other; one "expression" where there are too many."""
    found = list(_compare(before, after, ()))
    if len(found) > MAX_CHANGES:
        return [Change("expression", before, after)]
    return found


def _compare(a: Term, b: Term, within: tuple[tuple[str, str], ...]) -> Iterator[Change]:
    if a.key == b.key or one_loss(a, b):
        return
    if (of := one_layout(a, b)) is not None:
        yield from _compare(*of, within)
    elif {a.kind, b.kind} <= {"number", "constant", "key"}:
        yield Change("constant", a, b, within)
    elif (wrapped := _wrapping(a, b, within)) is not None:
        yield from wrapped
    elif a.kind == b.kind == "call":
        yield from _calls(a, b, within)
    elif a.kind == b.kind == "operation":
        yield from _operations(a, b, within)
    elif a.kind == b.kind and a.kind in ("sequence",) and a.label == b.label:
        yield from _sequence(a, b, within)
    elif a.kind == b.kind and a.kind in ("item", "slice"):
        yield from _item(a, b, within)
    elif a.kind == b.kind and a.kind in ("name", "attribute", "api"):
        yield from _name(a, b, within)
    elif a.kind == b.kind and a.parts and b.parts:
        yield from _parts(a, b, within)
    elif _one_setting(a, b) or _one_setting(b, a):
        return
    elif {a.kind, b.kind} <= {"name", "attribute", "item", "api"}:
        yield Change("name", a, b, within)
    else:
        yield Change("expression", a, b, within)


_SETTINGS = word_set(
    "args cfg config conf configs opt opts options hparams hp params settings flags FLAGS CFG Config C"
)


def _one_setting(a: Term, b: Term) -> bool:
    """`dim` and `config.dim`: the setting is called alike, and given elsewhere."""
    of = b.part("of")
    if a.kind != "name" or b.kind != "attribute" or of is None or a.label != b.label:
        return False
    return of.kind in ("name", "attribute") and of.label in _SETTINGS


def _wrapping(a: Term, b: Term, within: tuple[tuple[str, str], ...]) -> list[Change] | None:
    """`x` -> `f(x)`, or back; also where what is wrapped changed a little, too."""
    for kind, inner, outer in (("wrapped", a, b), ("unwrapped", b, a)):
        if outer.size <= inner.size or outer.kind in ("assign", "for"):
            continue
        if inner.kind == outer.kind == "call" and inner.label == outer.label and likeness(inner, outer) > 0.6:
            continue
        if inner.kind in ("constant", "number") and outer.size > 6:
            continue
        best = _inside(inner, outer)
        if best is None:
            continue
        found = [Change(kind, a, b, within)]
        if best.key != inner.key:
            found += list(
                _compare(inner, best, within) if kind == "wrapped" else _compare(best, inner, within)
            )
        return found
    return None


def _inside(inner: Term, outer: Term, depth: int = 4) -> Term | None:
    """Where the one term stands in the other: whole, or so alike that it is a version of it."""
    waiting = [(part, 1) for _, part in outer.parts]
    near: tuple[float, Term] | None = None
    while waiting:
        term, level = waiting.pop(0)
        if term.key == inner.key:
            return term
        if term.kind == inner.kind and inner.size >= 5:
            alike = likeness(term, inner)
            if alike > 0.85 and alike > likeness(outer, inner) + 0.05 and (near is None or alike > near[0]):
                near = (alike, term)
        if level < depth:
            waiting += [(part, level + 1) for _, part in term.parts]
    return near[1] if near else None


def _calls(a: Term, b: Term, within: tuple[tuple[str, str], ...]) -> Iterator[Change]:
    here, there = dict(a.parts), dict(b.parts)
    if a.label != b.label:
        common = sum((a.words & b.words).values())
        same_first = next(iter(here.values()), a).key == next(iter(there.values()), b).key
        if not same_first and (here or there) and 3 * common < min(a.size, b.size):
            yield Change("expression", a, b, within)
            return
        yield Change("replaced", a, b, within)
    if any(t.label == "star" for t in here.values()) or _listing(a, b):
        yield from _sequence(a, b, ((b.label, "#"), *within))
        return
    if a.label in ("where", "select") and _crossed(here, there):
        yield Change("order", a, b, ((b.label, "branches"), *within))
        return
    shared = [e for e in here if e in there]
    for edge in shared:
        yield from _compare(here[edge], there[edge], ((b.label, edge), *within))
    if a.label != b.label:
        return  # other arguments of another call are no change of their own
    gone = [e for e in here if e not in there]
    new = [e for e in there if e not in here]
    for edge in list(gone):  # in its place on one side, by its name on the other
        placed = edge.startswith("#")
        same = [e for e in new if e.startswith("#") != placed and there[e].key == here[edge].key]
        if len(same) == 1:
            gone.remove(edge)
            new.remove(same[0])
    for edge in gone:
        yield Change("argument-removed", here[edge], None, ((a.label, edge), *within))
    for edge in new:
        yield Change("argument-added", None, there[edge], ((b.label, edge), *within))


def _crossed(here: dict[str, Term], there: dict[str, Term]) -> bool:
    """`where(c, a, b)` -> `where(c, b, a)`, of two values that are both computed."""
    other = [e for e in here if e not in there or here[e].key != there[e].key]
    if len(other) != 2 or any(e not in there for e in other):
        return False
    one, two = other
    plain = any(here[e].kind in ("number", "constant") for e in other)
    return not plain and here[one].key == there[two].key and here[two].key == there[one].key


_LISTS = ("Sequential", "SequentialCell", "Compose", "ModuleList", "CellList")


def _listing(a: Term, b: Term) -> bool:
    return a.label in _LISTS and b.label in _LISTS


def _operations(a: Term, b: Term, within: tuple[tuple[str, str], ...]) -> Iterator[Change]:
    if a.label == b.label and a.label in ("+", "*", "and", "or", "&", "|", "=="):
        here, there = [p for _, p in a.parts], [p for _, p in b.parts]
        for one in list(here):
            if (same := next((o for o in there if o.key == one.key), None)) is not None:
                here.remove(one)
                there.remove(same)
        if not here and not there:  # lists, one behind the other
            yield Change("order", a, b, within)
        for one, other in zip(here, there, strict=False):
            yield from _compare(one, other, ((a.label, "operand"), *within))
        for one in here[len(there) :]:
            yield Change("argument-removed", one, None, ((a.label, "operand"), *within))
        for one in there[len(here) :]:
            yield Change("argument-added", None, one, ((a.label, "operand"), *within))
        return
    left = {p.key for _, p in a.parts}
    right = {p.key for _, p in b.parts}
    if a.label != b.label and not left & right and likeness(a, b) < 0.5:
        yield Change("expression", a, b, within)
        return
    if a.label != b.label:
        yield Change("operator", a, b, within)
    elif left == right:
        yield Change("order", a, b, within)
        return
    mine = dict(b.parts)
    for edge, part in a.parts:
        if edge in mine:
            yield from _compare(part, mine[edge], ((b.label, edge), *within))


def _sequence(a: Term, b: Term, within: tuple[tuple[str, str], ...]) -> Iterator[Change]:
    here, there = [p for _, p in a.parts], [p for _, p in b.parts]
    if sorted(p.key for p in here) == sorted(p.key for p in there):
        yield Change("order", a, b, within)
        return
    matcher = SequenceMatcher(None, [p.key for p in here], [p.key for p in there], autojunk=False)
    for tag, i, j, k, m in matcher.get_opcodes():
        if tag == "equal":
            continue
        gone, new = list(here[i:j]), list(there[k:m])
        if len(gone) == len(new):
            for one, other in zip(gone, new, strict=True):
                yield from _compare(one, other, within)
            continue
        for one in list(gone):
            near = max(new, key=lambda n: likeness(one, n), default=None)
            if near is not None and likeness(one, near) > 0.7:
                yield from _compare(one, near, within)
                gone.remove(one)
                new.remove(near)
        for one in gone:
            yield Change("argument-removed", one, None, within)
        for one in new:
            yield Change("argument-added", None, one, within)


def _item(a: Term, b: Term, within: tuple[tuple[str, str], ...]) -> Iterator[Change]:
    if a.kind == "item":
        of_a, of_b = a.part("of"), b.part("of")
        index_a, index_b = a.part("index"), b.part("index")
        if of_a and of_b and index_a and index_b:
            if index_a.key != index_b.key:
                if of_a.key == of_b.key or index_a.kind != index_b.kind:
                    yield Change("index", index_a, index_b, within)
                else:
                    yield Change("name", a, b, within)
                    return
            yield from _compare(of_a, of_b, within)
            return
    yield Change("index", a, b, within)


def _name(a: Term, b: Term, within: tuple[tuple[str, str], ...]) -> Iterator[Change]:
    yield Change("name", a, b, within)


def _parts(a: Term, b: Term, within: tuple[tuple[str, str], ...]) -> Iterator[Change]:
    here, there = dict(a.parts), dict(b.parts)
    if a.kind == "choice" and a.label == b.label:
        if _turned(a, b):
            yield Change("turned", a, b, within)
            return
        for edge in here:
            yield from _compare(here[edge], there[edge], (("choice", edge), *within))
        return
    label = a.label or a.kind
    for edge in here:
        if edge in there:
            yield from _compare(here[edge], there[edge], ((label, edge), *within))
        else:
            yield Change("argument-removed", here[edge], None, ((label, edge), *within))
    for edge in there:
        if edge not in here:
            yield Change("argument-added", None, there[edge], ((label, edge), *within))


def _turned(a: Term, b: Term) -> bool:
    """`x if asked else y` -> `y if asked else x`, or the test negated."""
    test, then, other = (a.part(e) for e in ("test", "then", "else"))
    asked, mine, theirs = (b.part(e) for e in ("test", "then", "else"))
    if test is None or then is None or other is None or asked is None or mine is None or theirs is None:
        return False
    if test.key == asked.key:
        return then.key == theirs.key and other.key == mine.key
    return then.key == mine.key and other.key == theirs.key and _negated(test, asked)


_OPPOSITES = ({"==", "!="}, {"in", "not in"}, {"is", "is not"})


def _negated(a: Term, b: Term) -> bool:
    for one, other in ((a, b), (b, a)):
        if other.label == "not" and len(other.parts) == 1 and other.parts[0][1].key == one.key:
            return True
    if a.kind != "operation" or b.kind != "operation":
        return False
    here, there = [p.key for _, p in a.parts], [p.key for _, p in b.parts]
    if {a.label, b.label} == {"<", "<="}:  # not (x < y) is y <= x
        return here == there[::-1]
    return here == there and {a.label, b.label} in _OPPOSITES
