"""The settings of two runs, held against each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from .evidence import Scalar
from .results import RunInfo


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
