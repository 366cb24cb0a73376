"""What probes make of a run: a state, a value, a reason and where it was seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Literal

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


@dataclass(frozen=True, slots=True)
class Place:
    """Where something was seen. `file` is relative to the run (or benchmark) directory."""

    file: str
    line: int | None = None
    step: float | None = None
    rank: int | None = None
    side: Literal["run", "benchmark"] = "run"


@dataclass(frozen=True, slots=True)
class Subject:
    """The operator or weight that a reading is about, as the dump names it, and the dump's step and rank."""

    operator: str
    step: float | None = None
    rank: int | None = None

    def __str__(self) -> str:
        parts = [self.operator]
        if self.rank is not None:
            parts.append(f"rank {self.rank}")
        if self.step is not None:
            parts.append(f"step {self.step:g}")
        return ", ".join(parts)


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
    subject: Subject | None = None  # its step is the dump's, whatever the log counts in
    answered: bool = False  # the user's word, not a measurement; an answer of unknown is not asked again


Evidence = Mapping[str, Reading]
