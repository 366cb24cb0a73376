"""What inference makes of readings and rules, and what reports render."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from .evidence import Reading, Result, Scalar
from .rules import ChecklistHead, Flow, Remedy, Step


@dataclass(frozen=True, slots=True)
class Reason:
    """One reading's share in a hypothesis, in log-odds, and the chain that carries it."""

    reading: Reading
    # Leave-one-out: posterior log-odds with the reading minus without it. The most telling of several present
    # readings that one mechanism shows stands for them: minus without all of these
    weight: float
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
    points: int | None = None  # of the longest curve that tells how training goes


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
    # present symptom of a script -> the corrected code
    instead: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    caveats: tuple[str, ...] = ()  # present symptoms that are said beside the verdict that a run is healthy
    checklist_name: str = "ascend"
    checklist_head: ChecklistHead | None = None

    @property
    def leading(self) -> tuple[Hypothesis, ...]:
        """The hypotheses at or above one half."""
        return tuple(h for h in self.hypotheses if h.probability >= 0.5)
