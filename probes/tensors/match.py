"""Which operator of one dump is which of the other: by name, else by structure and order.

Call counters ("Functional.linear.3") are no names: one more call shifts them all. So what is aligned is the
sequence of (direction, kind, module, shapes), as two versions of a text are; what is left over on both
sides at one place is a replaced operator, on one side an operator that the other does not have.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from .knowledge import is_fused, knowledge
from .model import Dump, Operator

SMALL = 3000  # operators of a gap that are aligned exactly


@dataclass(frozen=True, slots=True, eq=False)
class Match:
    """One place in the order of execution. `replaced`: two different operators that stand for each other."""

    run: Operator | None
    benchmark: Operator | None
    replaced: bool = False


def match(run: Dump, benchmark: Dump) -> list[Match]:
    """Align two dumps; in the run's order of execution, the benchmark's own operators at their place."""
    left, right = list(run.operators), list(benchmark.operators)
    names = not (run.ordered and benchmark.ordered) or _names_tell(left, right)
    foreign = foreigners(run, benchmark)
    keys = [[_key(o, names, foreign) for o in side] for side in (left, right)]
    if names and not (run.ordered and benchmark.ordered):
        return _by_name(left, right, keys)
    found: list[Match] = []
    for pair in _aligned(keys[0], keys[1]):
        if isinstance(pair, tuple):
            found.append(Match(left[pair[0]], right[pair[1]]))
        else:
            found.extend(_gap(left[pair.run], right[pair.benchmark], foreign))
    return _rejoined(found)


def foreigners(run: Dump, benchmark: Dump) -> bool:
    """Whether two frameworks made them: then axes may stand in another order."""
    told = {run.framework, benchmark.framework} - {""}
    return len(told) > 1


def _names_tell(left: Sequence[Operator], right: Sequence[Operator]) -> bool:
    """Whether names say by themselves which operator is meant: they carry a path, and both share them."""
    mine, theirs = ({_flat(o.name) for o in side if not _counted(o)} for side in (left, right))
    return bool(mine) and len(mine & theirs) >= 0.5 * min(len(mine), len(theirs))


def _counted(operator: Operator) -> bool:
    """Whether the name is only a kind and the number of the call."""
    return not operator.module and re.search(r"\.\d+\.(?:forward|backward)$", operator.name) is not None


def _flat(name: str) -> str:
    return name.replace("/", "_")


def _key(operator: Operator, names: bool, foreign: bool) -> Hashable:
    if names and not _counted(operator):
        return (operator.direction, _flat(operator.name))
    shapes = tuple(t.shape for t in operator.outputs)
    if foreign:  # the order of axes, and of gradients, is each framework's own
        shapes = tuple(sorted(tuple(sorted(s)) for s in shapes))
    return (operator.direction, knowledge().kind(operator.kind), shapes, operator.module)


def _by_name(left: list[Operator], right: list[Operator], keys: list[list[Hashable]]) -> list[Match]:
    there = dict(zip(keys[1], right, strict=True))
    found = [Match(o, there.pop(k, None)) for o, k in zip(left, keys[0], strict=True)]
    return found + [Match(None, o) for o in there.values()]


@dataclass(frozen=True, slots=True)
class _Gap:
    run: slice
    benchmark: slice


def _aligned(a: list[Hashable], b: list[Hashable]) -> list[tuple[int, int] | _Gap]:
    """Matched places and the gaps between them, in order."""
    matched = _common(a, b, 0, len(a), 0, len(b))
    found: list[tuple[int, int] | _Gap] = []
    at, there = 0, 0
    for i, j in [*matched, (len(a), len(b))]:
        if i > at or j > there:
            found.append(_Gap(slice(at, i), slice(there, j)))
        if i < len(a):
            found.append((i, j))
        at, there = i + 1, j + 1
    return found


def _common(
    a: list[Hashable], b: list[Hashable], low: int, high: int, start: int, stop: int
) -> list[tuple[int, int]]:
    """A long common subsequence: equal ends first, then keys that occur once on both sides, then exactly."""
    head, tail = [], []
    while low < high and start < stop and a[low] == b[start]:
        head.append((low, start))
        low, start = low + 1, start + 1
    while low < high and start < stop and a[high - 1] == b[stop - 1]:
        high, stop = high - 1, stop - 1
        tail.append((high, stop))
    middle: list[tuple[int, int]] = []
    if low < high and start < stop:
        if max(high - low, stop - start) <= SMALL:
            matcher = SequenceMatcher(None, a[low:high], b[start:stop], autojunk=False)
            for block in matcher.get_matching_blocks():
                middle.extend((low + block.a + k, start + block.b + k) for k in range(block.size))
        else:
            middle = _by_anchors(a, b, low, high, start, stop)
    return [*head, *middle, *reversed(tail)]


def _by_anchors(
    a: list[Hashable], b: list[Hashable], low: int, high: int, start: int, stop: int
) -> list[tuple[int, int]]:
    ours, theirs = Counter(a[low:high]), Counter(b[start:stop])
    where = {k: j for j, k in enumerate(b[start:stop], start) if theirs[k] == 1}
    anchors = [(i, where[k]) for i, k in enumerate(a[low:high], low) if ours[k] == 1 and k in where]
    anchors = _rising(anchors)
    if not anchors:  # nothing tells places apart: the n-th of a kind is the n-th of that kind
        return _in_turn(a, b, low, high, start, stop)
    found: list[tuple[int, int]] = []
    for i, j in [*anchors, (high, stop)]:
        found.extend(_common(a, b, low, i, start, j))
        if i < high:
            found.append((i, j))
        low, start = i + 1, j + 1
    return found


def _rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest subsequence in which both places rise."""
    from bisect import bisect_left

    ends: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for n, (_, j) in enumerate(pairs):
        at = bisect_left(ends, j)
        before.append(last[at - 1] if at else -1)
        if at == len(ends):
            ends.append(j)
            last.append(n)
        else:
            ends[at], last[at] = j, n
    found, n = [], last[-1] if last else -1
    while n >= 0:
        found.append(pairs[n])
        n = before[n]
    return found[::-1]


def _in_turn(
    a: list[Hashable], b: list[Hashable], low: int, high: int, start: int, stop: int
) -> list[tuple[int, int]]:
    found, j = [], start
    ahead = Counter(b[start:stop])
    for i in range(low, high):
        if not ahead[a[i]]:
            continue
        while b[j] != a[i]:
            ahead[b[j]] -= 1
            j += 1
        found.append((i, j))
        ahead[b[j]] -= 1
        j += 1
    return found


def _gap(left: Sequence[Operator], right: Sequence[Operator], foreign: bool) -> list[Match]:
    """What is left over at one place: operators that stand for each other, in order, and the rest."""
    rest = list(right)
    found: list[Match] = []
    parts = len(left) != len(right) and 1 in (len(left), len(right)) and not foreign
    fused = parts and is_fused((left if len(left) == 1 else right)[0].kind)
    if fused and len(right) == 1:  # a fused operator gives what the last of its parts gives
        last = max((n for n, one in enumerate(left) if _stand_in(one, right[0])), default=None)
        if last is not None:
            pair = Match(left[last], right[0], replaced=_differs(left[last], right[0]))
            return [*(Match(o, None) for o in left[:last]), pair, *(Match(o, None) for o in left[last + 1 :])]
    for operator in left:
        able = [n for n, other in enumerate(rest) if _stand_in(operator, other)]
        if fused:
            able.reverse()
        if foreign:  # each framework updates weights by operators of its own
            able = [n for n in able if operator.direction != "optimizer" or not _differs(operator, rest[n])]
            able.sort(key=lambda n: _differs(operator, rest[n]))
        at = able[0] if able else None
        if at is None:
            found.append(Match(operator, None))
            continue
        found.extend(Match(None, o) for o in rest[:at])
        found.append(Match(operator, rest[at], replaced=_differs(operator, rest[at])))
        rest = rest[at + 1 :]
    return found + [Match(None, o) for o in rest]


def _stand_in(a: Operator, b: Operator) -> bool:
    """Same phase, and results of the same sizes."""
    if a.direction != b.direction or a.module != b.module or a.direction == "state":
        return False
    sizes = [[t.count for t in o.outputs] for o in (a, b)]
    return bool(sizes[0]) and sizes[0] == sizes[1]


def _differs(a: Operator, b: Operator) -> bool:
    return knowledge().kind(a.kind) != knowledge().kind(b.kind)


def _rejoined(found: list[Match]) -> list[Match]:
    """Operators that ran at another place on the other side: same name, left over on both."""
    lone = {
        _flat(m.benchmark.name): n for n, m in enumerate(found) if m.run is None and m.benchmark is not None
    }
    gone: set[int] = set()
    for n, one in enumerate(found):
        if one.benchmark is None and one.run is not None and not _counted(one.run):
            there = lone.pop(_flat(one.run.name), None)
            if there is not None:
                found[n] = Match(one.run, found[there].benchmark)
                gone.add(there)
    return [m for n, m in enumerate(found) if n not in gone]
