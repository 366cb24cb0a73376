"""The rule base as `load` makes it of the YAML files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from .evidence import Result, Scalar, State


@dataclass(frozen=True, slots=True)
class Link:
    """One arrow of the graph: `to` is a mechanism or symptom; `strength` = P(to | only this is on)."""

    to: str
    strength: float
    because: str
    source: str
    word: str = ""


@dataclass(frozen=True, slots=True)
class Symptom:
    """An observable yes/no fact. `probe` measures it; without one it is a question to the user."""

    id: str
    title: str
    area: str
    leak: float
    probe: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    question: str | None = None
    how: str | None = None  # how a person checks it when the probe cannot
    minutes: float = 5.0
    sources: tuple[str, ...] = ()
    grave: bool = False  # a run that shows it is not healthy, whatever is behind it
    caveat: bool = False  # healthy runs show it, too, but it is said beside that verdict
    matters: str | None = None  # why code that shows it trains worse
    instead: str | None = None  # the corrected code
    exceptions: tuple[str, ...] = ()  # when it is right all the same: known false positives
    one_of_many: bool = False  # one of many ways in which its causes show: its absence says nothing of them


@dataclass(frozen=True, slots=True)
class Mechanism:
    """What goes wrong inside training; stands between causes and symptoms."""

    id: str
    title: str
    leak: float
    leads_to: tuple[Link, ...] = ()
    shows: tuple[Link, ...] = ()


@dataclass(frozen=True, slots=True)
class Remedy:
    """What to do about a cause. `patch` maps a canonical setting to its new value (`/10`, `*2`, `=x`).

    `clears` names the symptoms that are gone from the next run when it worked; `applies_when` as in `Cause`:
    where it is known not to apply, the remedy is not offered, nor where a symptom of `done_by` is there.
    """

    do: str
    minutes: float
    works: float
    patch: Mapping[str, Scalar] = field(default_factory=dict)
    confirms: str | None = None
    clears: tuple[str, ...] = ()
    applies_when: Mapping[str, Scalar | tuple[Scalar, ...]] = field(default_factory=dict)
    done_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Example:
    """A case the rule must get right: readings in, rank or probability bound out."""

    given: Mapping[str, State]
    context: Mapping[str, Scalar] = field(default_factory=dict)
    rank: int | None = None
    below: Literal["prior"] | float | None = None
    above: float | None = None


@dataclass(frozen=True, slots=True)
class Cause:
    """A root cause: one rule file."""

    id: str
    title: str
    summary: str
    status: Literal["experimental", "stable", "deprecated"]
    prior: float
    leads_to: tuple[Link, ...] = ()
    shows: tuple[Link, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    applies_when: Mapping[str, Scalar | tuple[Scalar, ...]] = field(default_factory=dict)  # tuple: any of
    refines: tuple[str, ...] = ()
    looks_like: tuple[str, ...] = ()
    provenance: tuple[str, ...] = ()
    examples: tuple[Example, ...] = ()
    path: str = ""


@dataclass(frozen=True, slots=True)
class ChecklistPart:
    """One of several things that an item asks for; absence of one of its symptoms clears it."""

    title: str
    passes_on: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ChecklistItem:
    """A row of a checklist. `fails_on`/`passes_on`: symptoms whose presence/absence decides it directly.

    With `parts` it passes only when every part is clear.
    """

    id: str
    title: str
    causes: tuple[str, ...]
    fails_on: tuple[str, ...]
    passes_on: tuple[str, ...]
    check: str  # what would check it, when it is Not checked
    source: str
    parts: tuple[ChecklistPart, ...] = ()
    command: str = ""  # how to give what is missing; RUN and BENCHMARK stand for the paths

    @property
    def clearing(self) -> tuple[str, ...]:
        """All symptoms whose absence counts for it."""
        return tuple(dict.fromkeys((*self.passes_on, *(s for part in self.parts for s in part.passes_on))))


@dataclass(frozen=True, slots=True)
class ChecklistHead:
    """What a checklist says of itself; `results` gives its own words for the three results."""

    title: str
    results: Mapping[Result, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CrosswalkEntry:
    """Items of several checklists that ask for the same thing: checklist -> ids of its items."""

    id: str
    title: str
    causes: tuple[str, ...]
    items: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Look:
    """One look of a step. It is clear when `any` (or `all`) of its symptoms were read as absent.

    `finds`: symptoms that find something when present and clear nothing when absent. `reads` asks only that
    one of these symptoms could be read, either way. `only_after`: needed once one of these is present;
    `if_benchmark`: needed only beside a benchmark; `applies_when` as in `Cause`.
    """

    title: str
    any: tuple[str, ...] = ()
    all: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    finds: tuple[str, ...] = ()
    only_after: tuple[str, ...] = ()
    if_benchmark: bool = False
    applies_when: Mapping[str, Scalar | tuple[Scalar, ...]] = field(default_factory=dict)

    @property
    def symptoms(self) -> tuple[str, ...]:
        """All symptoms that it is about."""
        return (*self.any, *self.all, *self.reads, *self.finds)

    @property
    def clearing(self) -> tuple[str, ...]:
        """The symptoms whose absence clears it."""
        return (*self.any, *self.all)


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a documented tuning flow: what it excludes, what it is about, what it looks at."""

    id: str
    title: str
    excludes: str
    source: str
    do: str
    command: str  # RUN and BENCHMARK stand for the paths
    causes: tuple[str, ...] = ()
    looks: tuple[Look, ...] = ()
    checklist: str | None = None  # its items are looks too


@dataclass(frozen=True, slots=True)
class Flow:
    """A documented order of steps; one that `compares` is for a run with a benchmark."""

    id: str
    title: str
    source: str
    compares: bool
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Caution:
    """How far a cause is believed for which few lines of evidence speak (see engine/caution.py)."""

    lines: int  # so many are enough
    weight: float  # log-odds from which a node is one
    share: float  # of what is above one half, where they are fewer
    settles: frozenset[str]  # areas of symptoms of which one is enough


@dataclass(frozen=True, slots=True)
class AsGood:
    """What is held back where a run ends as well as its benchmark (see engine/as_good.py)."""

    asks: frozenset[str]  # symptoms that all are known to be absent then
    kinds: frozenset[str]  # of causes: the first part of their names, or whole names
    shown: frozenset[str]  # areas of symptoms that show harm
    weight: float  # log-odds from which such a symptom speaks for a cause
    asks_of: Mapping[str, frozenset[str]] = field(default_factory=dict)  # cause -> what it is asked instead
    shown_of: Mapping[str, frozenset[str]] = field(default_factory=dict)  # cause -> areas beside `shown`
    pace: frozenset[str] = frozenset()  # symptoms that show no harm where all of `asks` is absent
    differs: frozenset[str] = frozenset()  # symptoms that tell a difference and no harm
    share: float = 1.0  # of a probability that is left where all of `asks` is absent


@dataclass(frozen=True, slots=True)
class Graded:
    """What the measured value of a symptom adds, whatever its state (see engine/experience.py)."""

    at: Sequence[float]  # values, ascending
    stands: Sequence[float]  # where each of them stands among recorded runs: -1 the lowest, 1 the highest
    weights: Mapping[str, float]  # cause -> log-odds that the highest adds and the lowest takes


@dataclass(frozen=True, slots=True)
class Experience:
    """What recorded runs add to the links (see engine/experience.py)."""

    weights: Mapping[str, Mapping[str, float]]  # symptom -> cause -> log-odds that its presence adds
    most: float  # log-odds by which a cause is moved at most
    # area of symptoms -> cause -> log-odds that are added where one of the area is known, and one of `where`
    looked: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    where: str = ""  # area that all recorded runs show
    graded: Mapping[str, Graded] = field(default_factory=dict)  # symptom -> what its value adds
    balance: float = 0.0  # share of what keeps the sum of all probabilities that is given back
    unlike: frozenset[str] = frozenset()  # areas of kinds of training that no recorded run is


@dataclass(frozen=True, slots=True)
class Silence:
    """How far the absence of symptoms speaks against a cause (see engine/infer.py and engine/found.py).

    Where a present symptom of `to` speaks for a cause by `strength` or more, absent ones of `areas` say
    nothing of it; where those of `to` give it `weight` log-odds, all that is absent takes at most `most`.
    """

    areas: frozenset[str]
    to: frozenset[str]
    strength: float
    weight: float
    most: float


@dataclass(frozen=True, slots=True)
class RuleBase:
    """The whole knowledge base, resolved: words are numbers, every reference exists."""

    causes: Mapping[str, Cause]
    mechanisms: Mapping[str, Mechanism]
    symptoms: Mapping[str, Symptom]
    sources: Mapping[str, str]
    checklists: Mapping[str, tuple[ChecklistItem, ...]]
    version: str
    prior_min: float = 0.002  # prior of a cause that cannot apply here; inference misbehaves below it
    caution: Caution | None = None
    as_good: AsGood | None = None
    experience: Experience | None = None
    silence: Silence | None = None
    problems: tuple[str, ...] = ()  # rule packs that could not be used, and why
    packs: tuple[str, ...] = ()  # folders of rule packs that the user named
    flows: tuple[Flow, ...] = ()  # in the order of the files
    heads: Mapping[str, ChecklistHead] = field(default_factory=dict)  # of the checklists
    crosswalk: tuple[CrosswalkEntry, ...] = ()
