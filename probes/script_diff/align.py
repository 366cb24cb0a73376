"""Which line of one program is which of the other: by units, longest common subsequence, and likeness.

Names that only one side has are taken for renamed where they stand in the same places of like lines.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from .lines import Line, Program, Unit
from .terms import Term, likeness

LEAST_LIKE = 0.5  # two lines below this are not versions of each other
MAX_PAIRS = 40_000  # likenesses looked at for one pair of units; beyond it only neighbours
MAX_COMMON = 8_000  # lines of one unit that are aligned by their longest common subsequence


@dataclass
class Alignment:
    """What became of the lines of two programs."""

    mine: Program
    theirs: Program
    same: dict[Line, Line] = field(default_factory=dict)  # mine -> theirs, equal
    changed: dict[Line, Line] = field(default_factory=dict)  # mine -> theirs, alike
    moved: dict[Line, Line] = field(default_factory=dict)  # equal, elsewhere
    added: list[Line] = field(default_factory=list)
    removed: list[Line] = field(default_factory=list)
    units: dict[Unit, Unit] = field(default_factory=dict)
    renames: dict[Unit, dict[str, str]] = field(
        default_factory=dict
    )  # names of theirs -> of mine, by my unit
    attributes: dict[str, str] = field(default_factory=dict)  # theirs -> mine, in the whole program

    def partner(self, line: Line) -> Line | None:
        """The counterpart of a line of mine, whether it changed or not."""
        return self.same.get(line) or self.changed.get(line) or self.moved.get(line)


def align(mine: Program, theirs: Program) -> Alignment:
    """Hold two programs against each other."""
    found = Alignment(mine, theirs)
    found.units = _units(mine, theirs)
    found.attributes = _renamed_attributes(found)
    for here, there in found.units.items():
        _lines(found, here, there, here.lines, there.lines)
    _across(found)
    _pair_up(found)
    return found


# ----------------------------------------------------------------------------------------------------- units


def _units(mine: Program, theirs: Program) -> dict[Unit, Unit]:
    pairs: dict[Unit, Unit] = {}
    left, right = list(mine.units), list(theirs.units)

    def take(key: object) -> None:
        index: dict[object, list[Unit]] = defaultdict(list)
        for unit in right:
            index[key(unit)].append(unit)  # type: ignore[operator]
        for unit in list(left):
            same = index.get(key(unit), [])  # type: ignore[operator]
            if same:
                pairs[unit] = same.pop(0)
                left.remove(unit)
                right.remove(pairs[unit])

    take(lambda u: u.name)
    # classes whose methods were renamed with them, functions that moved between files or into a class
    likes = []
    for a in left[:300]:
        for b in right[:300]:
            if not isinstance(a.node, type(b.node)):
                continue
            alike = _unit_likeness(a, b)
            special = a.last == b.last
            if alike >= (0.3 if special else 0.6):
                likes.append((alike + special, a, b))
    likes.sort(key=lambda x: -x[0])
    for _, a, b in likes:
        if a in left and b in right:
            pairs[a] = b
            left.remove(a)
            right.remove(b)
    return {u: pairs[u] for u in mine.units if u in pairs}


def _unit_likeness(a: Unit, b: Unit) -> float:
    if not a.lines and not b.lines:
        return 1.0 if a.last == b.last else 0.0
    here, there = Counter(x.term.shape for x in a.lines), Counter(x.term.shape for x in b.lines)
    common = sum((here & there).values())
    return 2 * common / (len(a.lines) + len(b.lines))


# --------------------------------------------------------------------------------------------------- renames


def _renamed_attributes(found: Alignment) -> dict[str, str]:
    """Attributes, keys and functions that have another name in all of the other program."""
    here = {t.label for line in found.mine.lines for t in line.term.walk() if t.kind in _GLOBAL}
    there = {t.label for line in found.theirs.lines for t in line.term.walk() if t.kind in _GLOBAL}
    here |= {part for u in found.mine.units for part in u.name.split(".")}
    there |= {part for u in found.theirs.units for part in u.name.split(".")}
    votes: Counter[tuple[str, str]] = Counter()
    for a, b in found.units.items():
        if a.last != b.last:
            votes[b.last, a.last] += 3
        here_class, there_class = a.owner.rsplit(".", 1)[-1], b.owner.rsplit(".", 1)[-1]
        if here_class and there_class and here_class != there_class:
            votes[there_class, here_class] += 1
        _vote(votes, a.lines, b.lines, here, there, _GLOBAL)
    return _one_to_one(votes, here, there)


_GLOBAL = ("attribute", "key")


def _renamed_names(a: Sequence[Line], b: Sequence[Line], here: Unit, there: Unit) -> dict[str, str]:
    """Names bound in the one unit alone that stand where the other has a name bound in it alone."""
    mine = _bound(here)
    theirs = _bound(there)
    votes: Counter[tuple[str, str]] = Counter()
    seen_here = {n for line in here.lines for n in line.term.names} | mine
    seen_there = {n for line in there.lines for n in line.term.names} | theirs
    _vote(votes, a, b, seen_here, seen_there, ("name",))
    for p, q in zip(here.parameters, there.parameters, strict=False):
        if p != q and len(here.parameters) == len(there.parameters):
            votes[q, p] += 1
    bound = Counter({(q, p): n for (q, p), n in votes.items() if p in mine and q in theirs})
    return _one_to_one(bound, seen_here, seen_there)


def _bound(unit: Unit) -> set[str]:
    return {t for line in unit.lines for t in line.targets} | set(unit.parameters)


def _vote(
    votes: Counter[tuple[str, str]],
    a: Sequence[Line],
    b: Sequence[Line],
    here: Iterable[str],
    there: Iterable[str],
    kinds: tuple[str, ...],
) -> None:
    here, there = set(here), set(there)
    for x, y in _common([line.term.shape for line in a], [line.term.shape for line in b]):
        for t, u in zip(a[x].term.walk(), b[y].term.walk(), strict=False):
            if t.kind == u.kind and t.kind in kinds and t.label != u.label:
                if t.label not in there and u.label not in here:
                    votes[u.label, t.label] += 1


def _one_to_one(votes: Mapping[tuple[str, str], int], here: set[str], there: set[str]) -> dict[str, str]:
    """The renames that most places vote for, each name once; a name that both sides have is none."""
    found: dict[str, str] = {}
    for (theirs, mine), _ in sorted(votes.items(), key=lambda v: (-v[1], v[0])):
        if theirs not in found and mine not in found.values() and theirs not in here and mine not in there:
            found[theirs] = mine
    return found


def rename(term: Term, names: Mapping[str, str], attributes: Mapping[str, str]) -> Term:
    """Their term in my names."""
    if not names and not attributes:
        return term
    label = term.label
    if term.kind == "name":
        label = names.get(label, attributes.get(label, label))
    elif term.kind in ("attribute", "key", "call"):
        label = attributes.get(label, label)
    parts = tuple((edge, rename(part, names, attributes)) for edge, part in term.parts)
    return Term(term.kind, label, parts, term.node)


# ----------------------------------------------------------------------------------------------------- lines


def _common(a: Sequence[int], b: Sequence[int]) -> list[tuple[int, int]]:
    """Places of a longest common subsequence (of long ones that of neighbouring stretches)."""
    found = []
    start = 0
    while start < len(a) and start < len(b) and a[start] == b[start]:
        found.append((start, start))
        start += 1
    end = 0
    while end < min(len(a), len(b)) - start and a[-1 - end] == b[-1 - end]:
        end += 1
    here, there = a[start : len(a) - end], b[start : len(b) - end]
    if here and there and max(len(here), len(there)) <= MAX_COMMON:
        for block in SequenceMatcher(None, here, there, autojunk=len(here) > 800).get_matching_blocks():
            found += [(start + block.a + i, start + block.b + i) for i in range(block.size)]
    found += [(len(a) - end + i, len(b) - end + i) for i in range(end)]
    return found


def _lines(found: Alignment, here: Unit, there: Unit, a: Sequence[Line], b: Sequence[Line]) -> None:
    """Align lines of one unit with those of another, under the renames that fit."""
    names = _renamed_names(a, b, here, there)
    found.renames.setdefault(here, {}).update(names)
    keys = [rename(line.term, names, found.attributes).key for line in b]
    for x, y in _common([line.term.key for line in a], keys):
        found.same[a[x]] = b[y]


def _left(found: Alignment) -> tuple[list[Line], list[Line]]:
    taken = {*found.same.values(), *found.moved.values()}
    here = [line for line in found.mine.lines if line not in found.same and line not in found.moved]
    return here, [line for line in found.theirs.lines if line not in taken]


def _across(found: Alignment) -> None:
    """Lines that went to another unit: a function split off, the module's code put into a main function."""
    for _ in range(30):
        here, there = _left(found)
        if not here or not there:
            return
        by_unit: dict[Unit, list[Line]] = defaultdict(list)
        for line in here:
            by_unit[line.unit].append(line)
        theirs: dict[Unit, list[Line]] = defaultdict(list)
        for line in there:
            theirs[line.unit].append(line)
        best = max(
            (
                (_shared(by_unit[a], theirs[b]), -i, a, b)
                for i, a in enumerate(by_unit)
                for b in theirs
                if found.units.get(a) is not b and len(by_unit) * len(theirs) < 4000
            ),
            key=lambda x: x[:2],
            default=None,
        )
        if best is None or best[0] < 2:
            return
        before = len(found.same)
        _lines(found, best[2], best[3], by_unit[best[2]], theirs[best[3]])
        if len(found.same) == before:
            return


def _shared(a: Sequence[Line], b: Sequence[Line]) -> int:
    here, there = (
        Counter(x.term.shape for x in a if x.term.size > 3),
        Counter(x.term.shape for x in b if x.term.size > 3),
    )
    return sum((here & there).values())


def _pair_up(found: Alignment) -> None:
    """What is left: equal lines elsewhere are moved, like lines are changed, the rest is one side's."""
    here, there = _left(found)
    index: dict[int, list[Line]] = defaultdict(list)
    for line in there:
        index[found_key(found, line)].append(line)
    for line in here:
        if same := index.get(line.term.key):
            other = next((o for o in same if found.units.get(line.unit) is o.unit), same[0])
            same.remove(other)
            found.moved[line] = other
    here, there = _left(found)
    used: set[Line] = set()
    for a, b in _alike(found, here, there):
        if a not in found.changed and b not in used:
            found.changed[a] = b
            used.add(b)
    found.added = [line for line in here if line not in found.changed]
    found.removed = [line for line in there if line not in used]


def found_key(found: Alignment, line: Line) -> int:
    """The key of their line in my names."""
    return their_term(found, line).key


def their_term(found: Alignment, line: Line) -> Term:
    """Their line in my names."""
    here = next((a for a, b in found.units.items() if b is line.unit), None)
    names = found.renames.get(here, {}) if here is not None else {}
    return rename(line.term, names, found.attributes)


def _alike(found: Alignment, here: list[Line], there: list[Line]) -> list[tuple[Line, Line]]:
    """Pairs of left-over lines, the most alike first; within matching units before others."""
    by_unit: dict[Unit, list[Line]] = defaultdict(list)
    for line in there:
        by_unit[line.unit].append(line)
    order = {line: i for i, line in enumerate(found.mine.lines)}
    scored = []
    budget = MAX_PAIRS
    terms = {line: their_term(found, line) for line in there}
    for a in here:
        partner = found.units.get(a.unit)
        for b in by_unit.get(partner, []) if partner is not None else []:
            budget -= 1
            if budget < 0 or a.term.kind != b.term.kind:
                continue
            score = _score(a, terms[b], b, found)
            if score >= LEAST_LIKE:
                scored.append((-score, order[a], b.node.lineno, a, b))
    scored.sort(key=lambda s: s[:3])
    return [(a, b) for *_, a, b in scored]


def _score(a: Line, term: Term, b: Line, found: Alignment) -> float:
    alike = likeness(a.term, term)
    if a.targets and a.term.kind in ("assign", "default"):
        target, other = a.term.part("target"), term.part("target")
        if target is not None and other is not None and target.key == other.key:
            alike = 0.45 + 0.55 * alike
        elif alike < 0.75:
            return 0.0
    if a.term.kind == "return":
        alike = 0.3 + 0.7 * alike
    if a.term.kind == "for":
        alike = 0.2 + 0.8 * alike
    if a.term.kind == "do":
        value, other = a.term.part("value"), term.part("value")
        if (
            value is not None
            and other is not None
            and value.kind == other.kind == "call"
            and value.label != other.label
        ):
            alike -= 0.2
    # neighbours speak for each other
    return alike + (0.05 if [found.partner(h) for h in a.around] == list(b.around) else 0.0)


__all__ = ["Alignment", "align", "their_term"]
