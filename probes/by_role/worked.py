"""Losses and figures of both programs on the same made numbers: whether they come out alike.

However a loss or a score is written, with a library's function, by hand, as a sum over batches, what it
comes to on the same answers and the same truth tells whether it is the same (`made_numbers`). Two programs
may lay their numbers out differently, `(rows, 1)` and `(rows,)`: any two layouts of one task that agree are
enough to call them equal, and only where none does, in no task that both can be about, are they different.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from ..made_numbers.arrays import Unfit
from ..made_numbers.run import ODD, Run
from ..made_numbers.things import TooLong
from ..made_numbers.world import LAYOUTS, World
from ..scripts.syntax import Script
from .side import Side, Told

ALIKE = 1e-4  # floors differ, and the order of sums
APART = 0.03  # a floor or a smoothed count of another size makes less, of so few rows
_STEPS = 60_000  # of one program in all worlds
_LOSS = "loss"
_AT_ONCE = "loss of all rows"  # of a program without batches
LOSSES = (_LOSS, _AT_ONCE)
# programs on pictures and masks: figures over elements and over samples are not the same there
_PICTURES = r"(?i)mask|segment|dice|iou|u_?net|jaccard"


@dataclass(frozen=True)
class Worked:
    """What a program's loss and figures come to, each by its kind; `sure`: where nothing was guessed."""

    values: Mapping[str, tuple[float, ...]]
    unknown: frozenset[str]
    sure: frozenset[str]
    lines: frozenset[int]

    @property
    def whole(self) -> bool:
        """Whether all that was told and minimised is known."""
        return bool(self.values) and not self.unknown


@lru_cache(maxsize=16)
def worked(source: Script) -> Mapping[World, Worked]:
    """A program in every world in which something of it is known."""
    found: dict[World, Worked] = {}
    left = _STEPS
    for seed in (1, 2):
        if any(w.whole for w in found.values()):  # what leaves a part unknown is not the program's layout
            found = {k: w for k, w in found.items() if w.whole}
        for task, layouts in LAYOUTS.items():
            for layout in layouts:
                world = World(task, layout, seed)
                if left < 0 or (seed == 2 and World(task, layout, 1) not in found):
                    continue
                one, steps = _in_world(source, world)
                if one is None:
                    return {}  # as long, or as odd, in any other world
                left -= steps
                if one.values:
                    found[world] = one
    return found


def _in_world(source: Script, world: World) -> tuple[Worked | None, int]:
    run = Run(source, world)
    before = run.left
    try:
        with warnings.catch_warnings():  # means of nothing, where a mask left nothing over
            warnings.simplefilter("ignore", RuntimeWarning)
            run.run()
    except (TooLong, Unfit, *ODD):
        return None, before - run.left
    values: dict[str, dict[float, None]] = {}
    unknown: set[str] = set()
    told = [(_LOSS if n.batch == 0 else _AT_ONCE, n) for n in run.losses if n.batch != 1]
    told += [(n.kind, n) for n in run.figures]
    sure: dict[str, bool] = {}
    for kind, note in told:
        value = note.value
        if kind == _AT_ONCE and any(k == _LOSS for k, _ in told):
            continue
        sure[kind] = sure.get(kind, True) and note.sure
        if value is None:
            unknown.add(kind)
        elif value in (0.0, 1.0):
            continue  # nothing is right, or all of it: the layout is not the program's
        else:
            values.setdefault(kind, {})[value] = None
    held = {k: tuple(v) for k, v in values.items()}
    certain = frozenset(k for k, known in sure.items() if known)
    return Worked(held, frozenset(unknown), certain, frozenset(run.lines)), before - run.left


@lru_cache(maxsize=16)
def equal_kinds(mine: Script, theirs: Script) -> Mapping[str, bool]:
    """Of the loss and each kind of figure that both tell: whether it is the same; left out where unknown."""
    here, there = worked(mine), worked(theirs)
    found: dict[str, bool] = {}
    kinds = {k for w in here.values() for k in w.values} & {k for w in there.values() for k in w.values}
    for kind in sorted(kinds):
        verdict = _verdict(kind, here, there, _of_pictures(mine) or _of_pictures(theirs))
        if verdict is not None:
            found[kind] = verdict
    return found


def _of_pictures(source: Script) -> bool:
    return Side(source).mentions(_PICTURES)


def _verdict(
    kind: str, here: Mapping[World, Worked], there: Mapping[World, Worked], pictures: bool
) -> bool | None:
    best: bool | None = None
    tasks = _likely(kind, here, there, pictures)
    for task in tasks:
        pairs = [
            ((a, here[w.again]), (b, there[v.again]))
            for w, a in here.items()
            for v, b in there.items()
            if w.task == v.task == task and w.seed == v.seed == 1 and w.again in here and v.again in there
            if _knows(kind, a, here[w.again]) and _knows(kind, b, there[v.again])
        ]
        pairs = [p for p in pairs if p[0][0].whole and p[1][0].whole] or pairs
        if not pairs:
            continue
        if any(
            all(_alike(x.values[kind], y.values[kind]) for x, y in zip(a, b, strict=True)) for a, b in pairs
        ):
            return True
        if not all(_differ(kind, a, b) for a, b in pairs):
            return None
        best = False
    return best


def _knows(kind: str, *all_of: Worked) -> bool:
    return all(kind in w.values and kind not in w.unknown for w in all_of)


def _differ(kind: str, a: tuple[Worked, Worked], b: tuple[Worked, Worked]) -> bool:
    """Whether both are sure, and apart by more than floors make in one world or the other."""
    held = [(x.values[kind], y.values[kind]) for x, y in zip(a, b, strict=True)]
    return all(kind in w.sure for w in (*a, *b)) and any(_apart(x, y) for x, y in held)


def _likely(
    kind: str, here: Mapping[World, Worked], there: Mapping[World, Worked], pictures: bool
) -> list[str]:
    """The tasks of which both know the figure: those of pictures where the programs are about pictures."""
    shared = {w.task for w, a in here.items() if kind in a.values}
    shared &= {w.task for w, b in there.items() if kind in b.values}
    mine = [t for t in LAYOUTS if t in shared and (t in ("masks", "pictures of kinds")) == pictures]
    return mine or [t for t in LAYOUTS if t in shared]


def _alike(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    """Whether each value of either is one of the other's."""
    near = [[abs(x - y) <= ALIKE * max(abs(x), abs(y), 1e-9) for y in b] for x in a]
    return bool(a and b) and all(map(any, near)) and all(map(any, zip(*near, strict=True)))


def _apart(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    return all(abs(x - y) > APART * max(abs(x), abs(y)) for x in a for y in b)


def lines_worked(source: Script) -> frozenset[int]:
    """Lines that gave numbers in some world."""
    return frozenset().union(*(w.lines for w in worked(source).values()))


def same_loss(mine: Script, theirs: Script) -> bool:
    """Whether both minimise the same, as far as it was worked out."""
    said = [v for k, v in equal_kinds(mine, theirs).items() if k in LOSSES]
    return bool(said) and all(said)


def worked_out_differs(mine: Side, theirs: Side) -> Iterator[Told]:
    """A figure of the same name, or what is minimised, comes to something else on the same answers."""
    for kind, same in equal_kinds(mine.source, theirs.source).items():
        if not same:
            yield _told(kind, mine, theirs)


def _told(kind: str, mine: Side, theirs: Side) -> Told:
    a, b = _shown(kind, mine.source, theirs.source)
    what = "what is minimised" if kind in LOSSES else f"the {kind}"
    text = f"on the same made answers {what} comes to {a:.4g} here and to {b:.4g} in the benchmark"
    return Told("loss-function" if kind in LOSSES else "metric", text, None, None)


def _shown(kind: str, mine: Script, theirs: Script) -> tuple[float, float]:
    for w, a in worked(mine).items():
        for v, b in worked(theirs).items():
            if w.task == v.task and kind in a.values and kind in b.values:
                return a.values[kind][0], b.values[kind][0]
    raise ValueError(kind)
