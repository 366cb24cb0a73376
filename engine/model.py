"""The words of the system as types. Frozen, without behaviour, imported by everything else.

Rule types (`Symptom`, `Mechanism`, `Cause`, `ChecklistItem`, `RuleBase`) are what `load` makes of the YAML
files; evidence types (`Place`, `Reading`) are what probes make of a run; result types (`Hypothesis`,
`Diagnosis`, ...) are what inference makes of both and what reports render.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Any, Literal

Scalar = bool | int | float | str | None


class State(str, Enum):
    """What is known of a symptom. Unknown is not absent."""

    PRESENT = "present"
    ABSENT = "absent"
    UNKNOWN = "unknown"

    def __str__(self) -> str:
        return self.value


class Result(str, Enum):
    """The documents' three results of a checklist item."""

    PASSED = "Passed"
    FAILED = "Failed"
    NOT_CHECKED = "Not checked"

    def __str__(self) -> str:
        return self.value


# --------------------------------------------------------------------------------------------- evidence


@dataclass(frozen=True, slots=True)
class Place:
    """Where something was seen. `file` is relative to the run (or benchmark) directory."""

    file: str
    line: int | None = None
    step: float | None = None
    rank: int | None = None
    side: Literal["run", "benchmark"] = "run"


@dataclass(frozen=True, slots=True)
class Reading:
    """The state of one symptom in one run, with what was measured and where.

    `value` is the measured quantity, `threshold` what it was held against (both in the unit that `why`
    names), `why` one sentence, `step` the step at which the symptom begins (None: not tied to a step).
    """

    symptom: str
    state: State
    why: str
    value: Scalar = None
    threshold: Scalar = None
    step: float | None = None
    where: tuple[Place, ...] = ()
    series: tuple[str, ...] = ()  # canonical names of the curves to look at
    answered: bool = False  # the user's word, not a measurement; an answer of unknown is not asked again


Evidence = Mapping[str, Reading]

# ------------------------------------------------------------------------------------------------ rules


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
    where it is known not to apply, the remedy is not offered.
    """

    do: str
    minutes: float
    works: float
    patch: Mapping[str, Scalar] = field(default_factory=dict)
    confirms: str | None = None
    clears: tuple[str, ...] = ()
    applies_when: Mapping[str, Scalar | tuple[Scalar, ...]] = field(default_factory=dict)


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
class Experience:
    """What recorded runs add to the links (see engine/experience.py)."""

    weights: Mapping[str, Mapping[str, float]]  # symptom -> cause -> log-odds that its presence adds
    most: float  # log-odds by which a cause is moved at most
    # area of symptoms -> cause -> log-odds that are added where one of the area is known, and one of `where`
    looked: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    where: str = ""  # area that all recorded runs show


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
    experience: Experience | None = None
    silence: Silence | None = None
    problems: tuple[str, ...] = ()  # rule packs that could not be used, and why
    packs: tuple[str, ...] = ()  # folders of rule packs that the user named
    flows: tuple[Flow, ...] = ()  # in the order of the files
    heads: Mapping[str, ChecklistHead] = field(default_factory=dict)  # of the checklists
    crosswalk: tuple[CrosswalkEntry, ...] = ()


# ---------------------------------------------------------------------------------------------- results


@dataclass(frozen=True, slots=True)
class Reason:
    """One reading's share in a hypothesis, in log-odds, and the chain that carries it."""

    reading: Reading
    weight: float  # leave-one-out: posterior log-odds with the reading minus without it
    path: tuple[str, ...]  # cause -> mechanism(s) -> symptom
    because: tuple[str, ...]  # one sentence per arrow of the path


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A cause with its posterior probability and why."""

    cause: str
    title: str
    summary: str
    probability: float
    prior: float
    contributions: Mapping[str, float]  # child node -> log-odds; prior + sum is the posterior exactly
    reasons: tuple[Reason, ...]  # for, strongest first
    against: tuple[Reason, ...]
    remedies: tuple[Remedy, ...]
    generalises: tuple[str, ...] = ()  # causes this one is the special case of: one chain, not rivals
    unexplained_earliest: str | None = None  # the earliest symptom, if this cause does not lead to it


@dataclass(frozen=True, slots=True)
class NextCheck:
    """A look that would tell the leading hypotheses apart."""

    symptom: str
    title: str
    do: str
    minutes: float
    gain: float  # expected entropy drop in bits
    if_present: str
    if_absent: str
    step: str = ""  # the step of the documented flow that it belongs to


@dataclass(frozen=True, slots=True)
class CheckedItem:
    """A checklist row with its result."""

    id: str
    title: str
    result: Result
    why: str
    decided_by: tuple[str, ...] = ()
    check: str = ""
    command: str = ""  # RUN and BENCHMARK stand for the paths
    same_as: tuple[tuple[str, str], ...] = ()  # (checklist, item) of the others that ask for the same


@dataclass(frozen=True, slots=True)
class LookStanding:
    """One look at this run; `why` is what was read, or what is missing and how to look."""

    title: str
    state: Literal["clear", "found", "open", "not needed"]
    why: str
    decided_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StepStanding:
    """Where a run stands at a step: done when every needed look is clear; the first that is not is next."""

    step: Step
    number: int
    state: Literal["done", "next", "open"]
    looks: tuple[LookStanding, ...]


@dataclass(frozen=True, slots=True)
class FlowStanding:
    """Where a run stands in a flow."""

    flow: Flow
    steps: tuple[StepStanding, ...]


@dataclass(frozen=True, slots=True)
class RunInfo:
    """What a report says of a run directory. Made by probes, carried through unchanged."""

    path: str
    formats: tuple[str, ...] = ()
    framework: str | None = None
    steps: float | None = None
    step_unit: str = "step"
    files_read: tuple[str, ...] = ()
    not_read: tuple[tuple[str, str], ...] = ()  # (file, reason)
    notes: tuple[str, ...] = ()  # restarts, several runs, ranks, damaged tails: one sentence each
    series: tuple[str, ...] = ()
    context: Mapping[str, Scalar] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The answer."""

    run: RunInfo
    benchmark: RunInfo | None
    hypotheses: tuple[Hypothesis, ...]  # all causes, most probable first
    findings: tuple[Reading, ...]  # all symptoms, by id
    checklist: tuple[CheckedItem, ...]
    next_checks: tuple[NextCheck, ...]
    unexplained: Mapping[str, float]  # present symptom -> share no leading cause explains
    conflict: float
    converged: bool
    rules_version: str
    not_evaluated: tuple[tuple[str, str], ...] = ()  # (what, why): probe errors, rule-pack problems
    packs: tuple[str, ...] = ()  # folders of rule packs that the user named
    titles: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))  # node id -> title
    repeats: tuple[RunInfo, ...] = ()  # further runs of the benchmark
    workflow: tuple[FlowStanding, ...] = ()
    grave: tuple[str, ...] = ()  # present symptoms that no healthy run shows
    caveats: tuple[str, ...] = ()  # present symptoms that are said beside the verdict that a run is healthy
    checklist_name: str = "ascend"
    checklist_head: ChecklistHead | None = None

    @property
    def leading(self) -> tuple[Hypothesis, ...]:
        """The hypotheses at or above one half."""
        return tuple(h for h in self.hypotheses if h.probability >= 0.5)


# ------------------------------------------------------------------------------------------- settings


@dataclass(frozen=True, slots=True)
class SettingValue:
    """One side's value of a setting, and where it comes from.

    `origin`: "written" in a file of the run, "derived" from others, "implied" by a script that says nothing
    of it, "default" of the framework.
    """

    value: Scalar | tuple[Scalar, ...]
    origin: Literal["written", "derived", "implied", "default"]
    raw: str = ""  # as the file names it; for a derived one, what it follows from
    file: str = ""
    line: int | None = None
    note: str = ""  # which default of which version, what a value means in another convention


@dataclass(frozen=True, slots=True)
class SettingDifference:
    """One setting in which two runs differ, and what that can do."""

    key: str
    run: SettingValue
    benchmark: SettingValue
    weight: Literal["high", "medium", "low", "unknown"]
    effect: str = ""
    cause: str = ""  # the cause to look up; "" when no rule names one
    source: str = ""


@dataclass(frozen=True, slots=True)
class KnownDefect:
    """A recorded version with a defect that changes results, where nothing on record rules it out.

    `missing` names a condition of the defect that is not on record; nothing: all of them are met.
    """

    side: Literal["run", "benchmark"]
    package: str
    version: str
    effect: str
    fixed_in: str
    do: str
    source: str
    certain: bool  # whoever meets the conditions gets wrong results
    met: tuple[str, ...] = ()  # conditions as they stand on record, "precision fp16"
    missing: str = ""


@dataclass(frozen=True, slots=True)
class EnvironmentComparison:
    """Versions, accelerator and variables of a run's environment, and how its benchmark's differs."""

    versions: Mapping[str, SettingValue] = field(default_factory=dict)  # of the run, by name
    differences: tuple[SettingDifference, ...] = ()  # the weightiest first
    defects: tuple[KnownDefect, ...] = ()
    only_run: tuple[str, ...] = ()
    only_benchmark: tuple[str, ...] = ()
    equal: int = 0


@dataclass(frozen=True, slots=True)
class SettingsComparison:
    """The settings in force in a run and, where one was given, in its benchmark."""

    run: RunInfo
    benchmark: RunInfo | None
    settings: Mapping[str, SettingValue]  # of the run, by canonical name
    differences: tuple[SettingDifference, ...] = ()  # the weightiest first
    consequences: tuple[str, ...] = ()  # what follows from the differences (global batch, steps, ...)
    equivalent: tuple[str, ...] = ()  # written otherwise, the same in force
    inherent: tuple[str, ...] = ()  # what no setting changes
    further: tuple[SettingDifference, ...] = ()  # under names that are not known, weight "unknown"
    only_run: tuple[str, ...] = ()  # recorded on one side only, without a known default
    only_benchmark: tuple[str, ...] = ()
    equal: int = 0
    environment: EnvironmentComparison = field(default_factory=EnvironmentComparison)


# -------------------------------------------------------------------------------------------- tensors


@dataclass(frozen=True, slots=True)
class TensorFigures:
    """How far a tensor of the run lies from the benchmark's. None: not known.

    Over elements finite on both sides. `relative` is the L2 norm of the difference over the benchmark's;
    `max_rel`, `mean_rel` are element-wise where the benchmark is not zero; `within_1`, `within_5` are the
    shares of elements within one and five thousandths; `max_ulp` counts representable values (equal dtypes).
    From statistics alone (`from_statistics`), `relative` is a lower bound made of min, max, mean and norm.
    """

    count: int = 0
    identical: bool = False
    cosine: float | None = None
    relative: float | None = None
    max_abs: float | None = None
    mean_abs: float | None = None
    max_rel: float | None = None
    mean_rel: float | None = None
    within_1: float | None = None
    within_5: float | None = None
    norm: float | None = None
    benchmark_norm: float | None = None
    max_ulp: int | None = None
    nan: int = 0
    inf: int = 0
    benchmark_nan: int = 0
    benchmark_inf: int = 0
    misplaced: int = 0  # elements that are not finite on one side alone, or in another way
    from_statistics: bool = False


@dataclass(frozen=True, slots=True)
class ComparedTensor:
    """One tensor of an operator on both sides.

    "agrees": within the tolerance of its type; "unknown": cannot be compared, `why` says so; "unmatched": one
    side alone has it.
    """

    name: str  # "input.0"
    state: Literal["identical", "agrees", "differs", "unknown", "unmatched"]
    dtype: str = ""
    benchmark_dtype: str = ""
    shape: tuple[int, ...] = ()
    benchmark_shape: tuple[int, ...] = ()
    figures: TensorFigures | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class ComparedOperator:
    """One operator on both sides, at its place in the order of execution.

    "first": inputs agree, outputs do not, and nothing before it went wrong; "also": the same, further down,
    not explained by the first; "inherited": its inputs differ already; "unmatched": one side alone has it.
    """

    name: str  # the run's; the benchmark's where the run has none
    kind: str
    direction: str
    order: int
    state: Literal["same", "agrees", "first", "also", "inherited", "unmatched", "unknown"]
    why: str = ""
    benchmark_name: str = ""
    only: Literal["", "run", "benchmark"] = ""
    source: str = ""
    scope: str = ""
    rank: int | None = None
    step: int | None = None
    tensors: tuple[ComparedTensor, ...] = ()
    input_error: float = 0.0  # the largest `relative` of its inputs, and of its outputs
    output_error: float = 0.0


@dataclass(frozen=True, slots=True)
class DumpSide:
    """One of two dumps, as a report names it."""

    path: str
    format: str
    framework: str = ""
    operators: int = 0
    notes: tuple[str, ...] = ()


VerdictKind = Literal[
    "identical",
    "agrees",
    "operator",
    "replaced",
    "argument",
    "non-finite",
    "setting",
    "input",
    "unseen",
    "extra",
    "collective",
    "random",
    "grows",
    "nothing in common",
    "cannot tell",
]


@dataclass(frozen=True, slots=True)
class DumpComparison:
    """Two dumps held against each other; `verdict` is the answer, in one or two sentences."""

    question: Literal["compare", "determinism"]
    run: DumpSide
    benchmark: DumpSide
    kind: VerdictKind
    verdict: str
    first: ComparedOperator | None
    next_steps: tuple[str, ...]
    operators: tuple[ComparedOperator, ...]  # by step, rank and order of execution
    settings: tuple[str, ...] = ()  # of the dumps: absurd, or not the same on both sides
    notes: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()
    steps: tuple[int, ...] = ()
    from_statistics: bool = False
    tensors: int = 0  # compared

    def counted(self, *states: str) -> int:
        """How many operators are in one of these states."""
        return sum(o.state in states for o in self.operators)


# --------------------------------------------------------------------------------------------- overflow


@dataclass(frozen=True, slots=True)
class OverflowedOperator:
    """An operator whose values leave the range of numbers, or that the hardware flags.

    "first": makes them of sound inputs, and nothing before it did; "also": the same, later; "passed on": its
    inputs hold them already; "absorbed": it takes them and gives sound values; "harmless": `why` says how;
    "flagged": the hardware flags it and its values are sound; "brought": they come in with weights or inputs.
    """

    name: str
    kind: str
    state: Literal["first", "also", "passed on", "absorbed", "harmless", "flagged", "brought"]
    why: str
    order: int
    direction: str = ""
    source: str = ""
    scope: str = ""
    rank: int | None = None
    step: int | None = None
    inputs: tuple[str, ...] = ()  # each tensor in words
    outputs: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()  # what the hardware says, in words


@dataclass(frozen=True, slots=True)
class OverflowReport:
    """Where values leave the range of numbers; `verdict` is the answer, in one or two sentences."""

    path: str
    formats: tuple[str, ...]
    kind: Literal["operator", "weights", "input", "outside", "flagged", "harmless", "clean", "cannot tell"]
    verdict: str
    first: OverflowedOperator | None
    operators: tuple[OverflowedOperator, ...]  # all that are not sound, in order
    strip: tuple[ComparedOperator, ...]  # every operator of the step it begins in, for the heat strip
    next_steps: tuple[str, ...]
    loss_scale: tuple[str, ...] = ()  # its history, from the log
    settings: tuple[str, ...] = ()  # absurd ones that the dump shows
    notes: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()
    steps: tuple[int, ...] = ()
    looked: int = 0  # operators


# ---------------------------------------------------------------------------------------------- fusion


@dataclass(frozen=True, slots=True)
class FusionTrial:
    """One run of the search. `share`: how far it went from fusion on (0) to fusion off (1)."""

    run: str
    off: tuple[str, ...]
    value: float
    share: float


@dataclass(frozen=True, slots=True)
class FusionReport:
    """Whether operator fusion harms accuracy, and which rule; `verdict` is the answer."""

    state: Literal[
        "no effect", "worse without", "cannot tell", "at fault", "ask", "found", "contradiction", "noise"
    ]
    verdict: str
    next_steps: tuple[str, ...]
    quantity: str = ""
    on: float | None = None
    off: float | None = None
    benchmark: float | None = None
    margin: float | None = None
    found: tuple[str, ...] = ()  # the guilty rules, as "GraphFusion.Name"
    switch_off: tuple[str, ...] = ()  # what the next run has to switch off
    left: tuple[str, ...] = ()  # suspects
    rules: tuple[str, ...] = ()  # all that took effect
    trials: tuple[FusionTrial, ...] = ()
    switch_file: str = ""
    notes: tuple[str, ...] = ()


# ---------------------------------------------------------------------------------------------- weights


@dataclass(frozen=True, slots=True)
class WeightRow:
    """One weight of the latest checkpoint; `change` is mean |now - first| over mean |first|."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    state: Literal["moves", "still", "not finite", "constant", "unknown"]
    change: float | None
    size: float  # mean of |w|
    low: float | None
    high: float | None
    zeros: float  # share of elements


@dataclass(frozen=True, slots=True)
class WeightFinding:
    """One look at the weights; `causes`: what it speaks for, each as (id, title, because)."""

    reading: Reading
    title: str
    causes: tuple[tuple[str, str, str], ...] = ()
    do: str = ""


@dataclass(frozen=True, slots=True)
class WeightsReport:
    """What the checkpoints of a run say of its weights."""

    path: str
    benchmark: str
    verdict: str
    checkpoints: tuple[str, ...]  # in order, each with where it stands in training
    findings: tuple[WeightFinding, ...]  # present first, then absent, then unknown
    rows: tuple[WeightRow, ...]
    notes: tuple[str, ...] = ()


# ----------------------------------------------------------------------------------------------- gate


@dataclass(frozen=True, slots=True)
class CauseLine:
    """From which probability causes of a pattern count, and how."""

    match: str  # a pattern with `*`
    start: float
    level: Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Profile:
    """What a gate demands (rules/profiles.yaml)."""

    name: str
    title: str
    checklist: str
    items: Mapping[str, Literal["pass", "sound", "ignore"]]
    causes: tuple[CauseLine, ...]
    unchecked: Literal["inconclusive", "fail", "allow"]
    own_items: tuple[ChecklistItem, ...] = ()  # of the user's own checklist, where the profile names a file


@dataclass(frozen=True, slots=True)
class Waiver:
    """A failure that somebody answers for, until a day."""

    rule: str
    scope: str
    owner: str
    reason: str
    expires: str  # YYYY-MM-DD; on that day it still holds
    at: str = ""  # file:line


@dataclass(frozen=True, slots=True)
class GateFinding:
    """One demand of the profile and what came of it.

    `rule` is "<checklist>-<item>" or the id of a cause. "open": not checked, or a probe failed. `fingerprint`
    stays the same while the same thing fails at the same place, whatever the values.
    """

    rule: str
    title: str
    outcome: Literal["pass", "fail", "open"]
    level: Literal["error", "warning", "note"]
    why: str
    check: str = ""  # what would check it, or what to do
    where: tuple[Place, ...] = ()
    decided_by: tuple[str, ...] = ()
    fingerprint: str = ""
    waived: Waiver | None = None
    known: bool = False  # stands in the baseline
    error: str = ""  # why a probe that it needs failed
    command: str = ""  # which gives an open item what it lacks; RUN and BENCHMARK stand for the paths

    @property
    def blocks(self) -> bool:
        """Whether it fails the gate."""
        return self.outcome == "fail" and self.level == "error" and self.waived is None and not self.known


@dataclass(frozen=True, slots=True)
class Gate:
    """The decision: "passed", "failed" or "inconclusive"."""

    profile: Profile
    decision: Literal["passed", "failed", "inconclusive"]
    findings: tuple[GateFinding, ...]
    warnings: tuple[str, ...] = ()  # of waivers and the baseline
    fixed: tuple[str, ...] = ()  # rules of the baseline that no longer fail
