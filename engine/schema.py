"""The shape of every kind of rule file, as pydantic models that refuse unknown fields.

They stand at the boundary only: `resolve` turns them into the frozen types of `model`. Words for prior, leak
and strength come from scale.yaml; a number is allowed only beside `estimated_from`.
"""

from __future__ import annotations

from datetime import date
from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    WithJsonSchema,
    model_validator,
)

WORDS = "x-words-of"  # in a JSON Schema stands for the words of scale.yaml; `schema_json` puts them in


class Strict(BaseModel):
    """Base of all: unknown fields are errors, values are not changed after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


def _word_or_number(value: Any) -> Any:
    if isinstance(value, str) or (isinstance(value, int | float) and not isinstance(value, bool)):
        return value
    raise ValueError("must be a word of scale.yaml, or a number with estimated_from beside it")


def _not_blank(value: str) -> str:
    if not value.strip():
        raise ValueError("must not be empty")
    return value


def _yaml_scalar(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise ValueError("must be a single value")


def _one_of(*fields: str) -> Any:
    """For editors: at least one of these fields has to be there (validators below say it to the loader)."""
    return {"anyOf": [{"required": [name]} for name in fields]}


Text = Annotated[str, AfterValidator(_not_blank)]
Slug = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
# A mechanism or symptom; one of a rule pack may carry the pack's name before a dot.
NodeId = Annotated[str, StringConstraints(pattern=r"^([a-z0-9]+(-[a-z0-9]+)*\.)?[a-z0-9]+(-[a-z0-9]+)*$")]
CauseId = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*\.[a-z0-9]+(-[a-z0-9]+)*$")]
Prior = Annotated[Any, BeforeValidator(_word_or_number), WithJsonSchema({WORDS: "prior"})]
Leak = Annotated[Any, BeforeValidator(_word_or_number), WithJsonSchema({WORDS: "leak"})]
Strength = Annotated[Any, BeforeValidator(_word_or_number), WithJsonSchema({WORDS: "strength"})]
Works = Annotated[str, WithJsonSchema({WORDS: "works"})]
Value = Annotated[
    Any,
    BeforeValidator(_yaml_scalar),
    WithJsonSchema({"type": ["string", "number", "boolean", "null"]}),
]
Probability = Annotated[float, Field(gt=0, lt=1)]
Minutes = Annotated[float, Field(ge=0)]
Answer = Literal["present", "absent", "unknown"]


class Estimated(Strict):
    """Something with a level: a word, or a number with the place it was estimated from."""

    estimated_from: Text | None = None

    @model_validator(mode="after")
    def _number_needs_origin(self) -> Estimated:
        level = next((getattr(self, n) for n in ("prior", "leak", "strength") if hasattr(self, n)), None)
        if isinstance(level, int | float) and self.estimated_from is None:
            raise ValueError("a number in place of a word needs estimated_from beside it")
        return self


# ------------------------------------------------------------------------------------------- vocabulary


class Bounds(Strict):
    """Limits inside which inference behaves."""

    prior_min: Probability
    leak_min: Probability
    strength_max: Probability


class CautionEntry(Strict):
    """What is believed of a cause for which little speaks."""

    lines: Annotated[int, Field(ge=0)]
    weight: Annotated[float, Field(gt=0)]
    share: Annotated[float, Field(gt=0, le=1)]
    settles: tuple[str, ...]


class AsGoodEntry(Strict):
    """What is held back where a run ends as well as its benchmark."""

    asks: tuple[str, ...]
    kinds: tuple[str, ...]
    shown: tuple[str, ...]
    weight: Annotated[float, Field(gt=0)]
    share: Annotated[float, Field(gt=0, le=1)] = 1.0
    asks_of: dict[str, tuple[str, ...]] = {}
    shown_of: dict[str, tuple[str, ...]] = {}
    pace: tuple[str, ...] = ()
    differs: tuple[str, ...] = ()


class SilenceEntry(Strict):
    """How far the absence of symptoms speaks against a cause."""

    areas: tuple[str, ...]
    to: tuple[str, ...]
    strength: Annotated[float, Field(gt=0, le=1)]
    weight: Annotated[float, Field(gt=0)]
    most: Annotated[float, Field(gt=0)]


class ScaleFile(Strict):
    """scale.yaml: word -> probability."""

    prior: dict[str, Probability]
    leak: dict[str, Probability]
    strength: dict[str, Probability]
    works: dict[str, Probability]
    bounds: Bounds
    caution: CautionEntry | None = None
    as_good: AsGoodEntry | None = None
    silence: SilenceEntry | None = None


Nats = Annotated[float, Field(ge=-4, le=4)]


class GradedEntry(Strict):
    """What a symptom's value adds: values, where each stands among recorded runs, cause -> log-odds."""

    at: Annotated[list[float], Field(min_length=2)]
    stands: list[Annotated[float, Field(ge=-1, le=1)]]
    weights: dict[str, Nats]

    @model_validator(mode="after")
    def _ascending(self) -> GradedEntry:
        if len(self.at) != len(self.stands):
            raise ValueError("`at` and `stands` are of one length")
        if any(b <= a for xs in (self.at, self.stands) for a, b in pairwise(xs)):
            raise ValueError("`at` and `stands` ascend")
        return self


class ExperienceFile(Strict):
    """experience.yaml: symptom -> cause -> log-odds that it adds, fitted to recorded runs.

    `looked`: area -> cause -> log-odds, where symptoms of the area could be told and some of `where`.
    `graded`: symptom -> what its value adds, where some of `where` could be told.
    `balance`: how much of the sum of probabilities is given back to all causes alike.
    `unlike`: areas of kinds of training that no recorded run is; where one is known, nothing is added.
    """

    estimated_from: Text
    most: Annotated[float, Field(gt=0, le=2)]
    weights: dict[NodeId, dict[str, Nats]]
    looked: dict[str, dict[str, Nats]] = Field(default_factory=dict)
    where: str = ""
    graded: dict[NodeId, GradedEntry] = Field(default_factory=dict)
    balance: Annotated[float, Field(ge=0, le=1)] = 0.0
    unlike: list[str] = Field(default_factory=list)


class SourcesFile(Strict):
    """sources.yaml: provenance id -> citation."""

    sources: dict[Annotated[str, StringConstraints(pattern=r"^[a-z0-9.-]+$")], Text]


# ------------------------------------------------------------------------------------------------ graph


class LinkEntry(Estimated):
    """An arrow to a mechanism."""

    to: str
    strength: Strength
    source: str
    because: Text


class ShowsEntry(Estimated):
    """An arrow to a symptom."""

    symptom: str
    strength: Strength
    source: str
    because: Text


class MechanismEntry(Estimated):
    """One mechanism of mechanisms.yaml."""

    id: NodeId
    title: Text
    leak: Leak
    leads_to: tuple[LinkEntry, ...] = ()
    shows: tuple[ShowsEntry, ...] = ()


class MechanismsFile(Strict):
    """mechanisms.yaml."""

    mechanisms: tuple[MechanismEntry, ...]


class SymptomEntry(Estimated):
    """One symptom: measured by a probe, asked of the user, or both."""

    model_config = ConfigDict(json_schema_extra=_one_of("probe", "question"))

    id: NodeId
    title: Text
    leak: Leak
    probe: Annotated[str, StringConstraints(pattern=r"^[a-z_0-9]+(\.[a-z_0-9]+){1,2}$")] | None = None
    params: dict[str, Any] = Field(default_factory=dict)
    question: Text | None = None
    how: Text | None = None
    minutes: Minutes = 5.0
    grave: bool = False
    caveat: bool = False
    matters: Text | None = None
    instead: Text | None = None
    exceptions: tuple[Text, ...] = ()
    one_of_many: bool = False
    sources: tuple[str, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _can_be_known(self) -> SymptomEntry:
        if self.probe is None and self.question is None:
            raise ValueError("needs a probe or a question")
        if self.params and self.probe is None:
            raise ValueError("has params but no probe to take them")
        return self


class SymptomsFile(Strict):
    """symptoms/<area>.yaml."""

    area: Annotated[str, StringConstraints(pattern=r"^[a-z0-9_-]+$")]
    symptoms: tuple[SymptomEntry, ...]


# ------------------------------------------------------------------------------------------------ cause


class RemedyEntry(Strict):
    """What to do about a cause."""

    do: Text
    minutes: Minutes
    works: Works = "often"
    patch: dict[str, Value] = Field(default_factory=dict)
    confirms: Text | None = None
    clears: tuple[str, ...] = ()
    done_by: tuple[str, ...] = ()
    applies_when: dict[str, Value | list[Value]] = Field(default_factory=dict)


class ProvenanceEntry(Strict):
    """Where a cause is documented."""

    source: str


class ExampleEntry(Strict):
    """A case that inference must get right."""

    model_config = ConfigDict(json_schema_extra=_one_of("rank", "below", "above"))

    given: dict[str, Answer]
    context: dict[str, Value] = Field(default_factory=dict)
    rank: Annotated[int, Field(ge=1)] | None = None
    below: Literal["prior"] | Probability | None = None
    above: Probability | None = None

    @model_validator(mode="after")
    def _expects_something(self) -> ExampleEntry:
        if self.rank is None and self.below is None and self.above is None:
            raise ValueError("must say what is expected: rank, below or above")
        return self


class CauseFile(Estimated):
    """causes/<area>/<name>.yaml: one cause, everything about it."""

    id: CauseId
    title: Text
    summary: Text
    status: Literal["experimental", "stable", "deprecated"]
    prior: Prior
    applies_when: dict[str, Value | list[Value]] = Field(default_factory=dict)
    refines: tuple[str, ...] = ()
    leads_to: tuple[LinkEntry, ...] = ()
    shows: tuple[ShowsEntry, ...] = ()
    remedies: tuple[RemedyEntry, ...] = ()
    looks_like: tuple[str, ...] = ()
    provenance: tuple[ProvenanceEntry, ...] = ()
    examples: tuple[ExampleEntry, ...] = ()


# -------------------------------------------------------------------------------------------- checklist


class PartEntry(Strict):
    """One of several things that an item asks for; it passes only when every part does."""

    title: Text
    passes_on: tuple[str, ...] = Field(min_length=1)


class ChecklistEntry(Strict):
    """One row of a checklist."""

    id: Text
    title: Text
    causes: tuple[str, ...] = ()
    fails_on: tuple[str, ...] = ()
    passes_on: tuple[str, ...] = ()
    parts: tuple[PartEntry, ...] = ()
    check: Text
    command: Text | None = None
    source: str | None = None

    @model_validator(mode="after")
    def _can_be_decided(self) -> ChecklistEntry:
        if not self.causes and not self.fails_on:
            raise ValueError("needs causes or fails_on: nothing could ever fail it")
        if self.parts and self.passes_on:
            raise ValueError("has passes_on and parts; say what each part passes on instead")
        return self


class ResultWords(Strict):
    """What a checklist calls the three results."""

    passed: Text
    failed: Text
    unchecked: Text


class ChecklistFile(Strict):
    """checklists/<name>.yaml, or a user's own checklist."""

    title: Text
    source: str | None = None
    results: ResultWords | None = None
    items: tuple[ChecklistEntry, ...] = Field(min_length=1)


class CrosswalkRow(Strict):
    """Items of several checklists that ask for the same thing: at least one cause of the row each."""

    id: Slug
    title: Text
    causes: tuple[str, ...] = Field(min_length=1)
    items: dict[Slug, tuple[str, ...]] = Field(min_length=2)


class CrosswalkFile(Strict):
    """crosswalk.yaml: which items of the checklists ask for the same."""

    title: Text
    source: str
    rows: tuple[CrosswalkRow, ...] = Field(min_length=1)


# ------------------------------------------------------------------------------------- packs and coverage


class PackFile(Strict):
    """pack.yaml: what a rule pack says of itself. Its name is the name space of all that the pack adds."""

    name: Slug
    title: Text
    version: Annotated[str, StringConstraints(pattern=r"^[0-9A-Za-z.+-]+$")] | None = None
    url: Text | None = None


class CoveredItem(Strict):
    """One thing that a document names, and the rules that hold it."""

    id: Text
    title: Text
    held_by: tuple[str, ...] = ()
    open: Text | None = None  # why no rule holds it yet

    model_config = ConfigDict(json_schema_extra=_one_of("held_by", "open"))

    @model_validator(mode="after")
    def _held_or_open(self) -> CoveredItem:
        if bool(self.held_by) == (self.open is not None):
            raise ValueError("say either what holds it (held_by) or why nothing does (open)")
        return self


class CoveredDocument(Strict):
    """One document, or one part of it."""

    id: Slug
    title: Text
    source: Text
    items: tuple[CoveredItem, ...] = Field(min_length=1)


class CoverageFile(Strict):
    """coverage.yaml: what the documents name, row by row, and which rules hold it."""

    documents: tuple[CoveredDocument, ...] = Field(min_length=1)


# ------------------------------------------------------------------------------------------------- flow


class LookEntry(Strict):
    """One look of a step; exactly one of any, all and reads says what decides it."""

    title: Text
    any: tuple[str, ...] = ()
    all: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    finds: tuple[str, ...] = ()
    only_after: tuple[str, ...] = ()
    if_benchmark: bool = False
    applies_when: dict[str, Value | list[Value]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _is_decided_one_way(self) -> LookEntry:
        if sum(map(bool, (self.any, self.all, self.reads))) != 1:
            raise ValueError("says what decides it by exactly one of any, all and reads")
        return self


class StepEntry(Strict):
    """One step of a tuning flow."""

    id: Slug
    title: Text
    excludes: Text
    source: str
    categories: tuple[str, ...] = ()  # all causes of these
    causes: tuple[str, ...] = ()
    checklist: str | None = None
    looks: tuple[LookEntry, ...]
    do: Text
    command: Text

    @model_validator(mode="after")
    def _looks_at_something(self) -> StepEntry:
        if not self.looks and self.checklist is None:
            raise ValueError("needs looks or a checklist: a step that looks at nothing could not be done")
        return self


class FlowEntry(Strict):
    """A documented order of steps."""

    id: Slug
    title: Text
    source: str
    compares: bool
    steps: tuple[StepEntry, ...] = Field(min_length=1)


class WorkflowFile(Strict):
    """workflow.yaml."""

    flows: tuple[FlowEntry, ...]


# ----------------------------------------------------------------------------------------------- gate


class CauseLineEntry(Strict):
    """From which probability causes fail a gate or are told."""

    match: Text
    from_: float = Field(alias="from", gt=0, le=1)
    level: Literal["error", "warning"] = "error"


class ProfileEntry(Strict):
    """One profile of a gate. What is left out comes from the profile that it extends."""

    name: Slug
    title: Text | None = None
    extends: Slug | None = None
    checklist: Annotated[str, StringConstraints(pattern=r"^(?:[a-z0-9-]+|.+\.ya?ml)$")] | None = None
    items: dict[str, Literal["pass", "sound", "ignore"]] | None = None
    causes: tuple[CauseLineEntry, ...] | None = None
    unchecked: Literal["inconclusive", "fail", "allow"] | None = None


class ProfilesFile(Strict):
    """profiles.yaml, or a user's own file of profiles."""

    profiles: tuple[ProfileEntry, ...] = Field(min_length=1)


class WaiverEntry(Strict):
    """A failure that somebody answers for, until a day."""

    rule: Text
    scope: Text
    owner: Text
    reason: Text
    expires: date


class WaiversFile(Strict):
    """A file of waivers."""

    waivers: tuple[WaiverEntry, ...]
