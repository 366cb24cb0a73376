"""The gate of a CI: its profile, waivers and findings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from .evidence import Place
from .rules import ChecklistItem


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
