"""Probes by name. A probe measures and decides one symptom; this module calls it safely.

A probe is a function `(view, **params) -> Finding`, marked with `@probe(needs...)`. What it needs and
does not get makes the reading unknown without a call; an exception makes it unknown with "probe error".
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from types import ModuleType
from typing import Any, TypeVar

import numpy as np

from ..engine.model import Evidence, Place, Reading, Scalar, State, Subject, Symptom
from .readers._secrets import redact
from .run import Configured, Run, Series

NO_SCRIPT = "no training script in the run directory"
NO_DATA = "no data files were found in the run directory (--data names them)"


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """What a probe may look at: the run and, when given, its benchmark and further runs of that benchmark."""

    run: Run
    benchmark: Run | None = None
    repeats: tuple[Run, ...] = ()  # of the benchmark's recipe: they show what chance does to it


@dataclass(frozen=True, slots=True)
class Finding:
    """A probe's answer; the registry adds the symptom id. Make it with present/absent/unknown."""

    state: State
    why: str
    value: Scalar = None
    threshold: Scalar = None
    step: float | None = None
    where: tuple[Place, ...] = ()
    series: tuple[str, ...] = ()
    subject: Subject | None = None


def present(why: str, **rest: Any) -> Finding:
    """The symptom is there: say what was measured, in one sentence with its numbers."""
    return Finding(State.PRESENT, why, **rest)


def absent(why: str, **rest: Any) -> Finding:
    """The probe had what it needed to see the symptom, and it is not there."""
    return Finding(State.ABSENT, why, **rest)


def unknown(why: str, **rest: Any) -> Finding:
    """The symptom can be neither seen nor ruled out; say what is missing."""
    return Finding(State.UNKNOWN, why, **rest)


def any_of(findings: Iterable[Finding]) -> Finding:
    """The first present finding; else absent if anything was seen to be absent; else unknown."""
    found = list(findings)
    for state in (State.PRESENT, State.ABSENT):
        for finding in found:
            if finding.state is state:
                return finding
    return unknown("; ".join(dict.fromkeys(f.why for f in found)) or "nothing to look at")


ProbeFunction = Callable[..., Finding]
F = TypeVar("F", bound=ProbeFunction)


def probe(*needs: str) -> Callable[[F], F]:
    """Mark a function as a probe.

    `needs` are checked before the call: "train/loss" (a canonical series of the run),
    "config:learning_rate" (a canonical setting), "benchmark" (any), "benchmark:train/loss",
    "benchmark:config:learning_rate"; alternatives as "a|b".
    """

    def mark(function: F) -> F:
        function.__dict__["needs"] = needs
        return function

    return mark


def unframed(function: F) -> F:
    """Mark a probe of scripts that judges programs without a framework, too: of NumPy, of scikit-learn.

    For what such programs have in common with the others: how data are made, split, ordered and scored. Their
    models and steps are written in another way than the other checks know.
    """
    function.__dict__["unframed"] = True
    return function


@lru_cache(maxsize=4)
def _unframed(view: View) -> View:
    """The view with programs that train without a framework; of a benchmark as well."""
    other = view.benchmark
    return replace(
        view,
        run=replace(view.run, unframed=True),
        benchmark=None if other is None else replace(other, unframed=True),
    )


def probes_of(*modules: ModuleType) -> dict[str, ProbeFunction]:
    """Return the probes of these modules, as "module.function", or "package.function" for those of a package.

    `code` holds so many checks that its packages keep their names: "code.package.function".
    Raises ValueError where two of them would have one name.
    """
    found: dict[str, ProbeFunction] = {}
    for module in modules:
        stem = stem_of(module.__name__.removeprefix(f"{__package__}."))
        for name, value in vars(module).items():
            if (
                inspect.isfunction(value)
                and "needs" in value.__dict__
                and value.__module__ == module.__name__
            ):
                if f"{stem}.{name}" in found:
                    raise ValueError(f"two probes are called {stem}.{name}")
                found[f"{stem}.{name}"] = value
    return found


def stem_of(module: str) -> str:
    """Return what the probes of a module are called before their own names: "curves.pace" -> "curves"."""
    parts = module.split(".")
    return ".".join(parts[: 2 if parts[0] == "code" else 1])


def collect(view: View, symptoms: Iterable[Symptom], probes: Mapping[str, ProbeFunction]) -> Evidence:
    """Read every symptom. A symptom without a probe is unknown: only the user can answer it."""
    return {s.id: read(view, s, probes) for s in symptoms}


def read(view: View, symptom: Symptom, probes: Mapping[str, ProbeFunction]) -> Reading:
    """Read one symptom; never raises."""
    if symptom.probe is None:
        return Reading(symptom.id, State.UNKNOWN, "no probe can read this; it is a question to you")
    function = probes.get(symptom.probe)
    if function is None:
        return Reading(symptom.id, State.UNKNOWN, f"probe error: there is no probe {symptom.probe}")
    for need in function.__dict__["needs"]:
        if not any(_has(view, n) for n in need.split("|")):
            return Reading(symptom.id, State.UNKNOWN, _missing(view, need))
    try:
        if "unframed" in function.__dict__ and view.run.scripts:
            view = _unframed(view)
        with np.errstate(all="ignore"):  # numbers of strangers overflow: nothing to print a warning about
            finding = function(view, **symptom.params)
    except Exception as error:
        return Reading(symptom.id, State.UNKNOWN, redact("", f"probe error: {type(error).__name__}: {error}"))
    return Reading(
        symptom.id,
        finding.state,
        redact("", _in_epochs(view, finding)),
        _hidden(finding.value),
        _hidden(finding.threshold),
        finding.step,
        finding.where,
        finding.series,
        finding.subject,
    )


_AT = re.compile(r"\bstep (?=\d)")


def _in_epochs(view: View, finding: Finding) -> str:
    """What a finding says, with the places of curves that are counted in epochs called so."""
    units = {view.run.series[name].unit for name in finding.series if name in view.run.series}
    return _AT.sub("epoch ", finding.why) if units == {"epoch"} else finding.why


def _hidden(value: Scalar) -> Scalar:
    return redact("", value) if isinstance(value, str) else value


def _has(view: View, need: str) -> bool:
    run: Run | None = view.run
    if need == "benchmark" or need.startswith("benchmark:"):
        run, need = view.benchmark, need.partition(":")[2]
    if run is None:
        return False
    if need.startswith("config:"):
        return need[7:] in run.settings
    return not need or need in run.series


def _missing(view: View, need: str) -> str:
    names = [n.removeprefix("benchmark:") for n in need.split("|")]
    if all(n.startswith("benchmark") for n in need.split("|")):
        if view.benchmark is None:
            return "needs a benchmark run (--benchmark)"
        return f"the benchmark has no {_say(names)}"
    return f"the run has no {_say(names)}"


def _say(names: list[str]) -> str:
    return " or ".join(f"setting {n[7:]}" if n.startswith("config:") else n for n in names)


def place(series: Series, index: int, side: str = "run") -> Place:
    """Where point `index` of a series stands."""
    line = None if series.lines is None else int(series.lines[index])
    return Place(series.file, line, float(series.steps[index]), series.rank, side)  # type: ignore[arg-type]


def place_of(setting: Configured, side: str = "run") -> Place:
    """Where a setting stands."""
    return Place(setting.file, setting.line, side=side)  # type: ignore[arg-type]
