"""Two environments beside each other: versions, accelerator, variables, and known defects of versions.

What a difference can do stands in rules/porting/packages.yaml, defects in rules/porting/known_bugs.yaml.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal

from ..engine.model import EnvironmentComparison, KnownDefect, SettingDifference, SettingValue
from .config import versions
from .readers.config_file import environment_key
from .run import Run
from .settings import canonical_key, parts_of, same

if TYPE_CHECKING:
    from packaging.version import Version

_WEIGHTS: tuple[Literal["high", "medium", "low"], ...] = ("high", "medium", "low")
_VERSION = "version:"
_DEVICE = "accelerator"
# Variables that differ from machine to machine and change no result.
_LOCAL = re.compile(
    r"(?:^|_)(?:RANK|ID|ADDR|ADDRESS|PORT|PATH|HOME|DIR|FILE|HOST|IFNAME|LOG|LEVEL|DEVICES|PID|DEBUG|TIMEOUT|VERBOSITY|v)$"
)
_ONE_NAME = {"pytorch": "torch", "paddlepaddle": "paddle"}


@dataclass(frozen=True, slots=True)
class Group:
    """Packages of which another version can do the same."""

    weight: Literal["high", "medium", "low"]
    effect: str
    source: str


@lru_cache(maxsize=1)
def packages() -> Mapping[str, Group]:
    """Return rules/porting/packages.yaml: package -> what another version of it can do."""
    import yaml

    text = (files("traindoctor") / "rules" / "porting" / "packages.yaml").read_text(encoding="utf-8")
    loaded: dict[str, Any] = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return {
        name: Group(row["weight"], row["effect"], row["source"])
        for row in loaded["groups"]
        for name in row["packages"]
    }


def compare(run: Run, benchmark: Run | None) -> EnvironmentComparison:
    """Return a run's environment, how its benchmark's differs, and known defects of the versions."""
    mine = recorded(run)
    found = list(defects(run, "run"))
    if benchmark is None:
        return EnvironmentComparison(mine, defects=tuple(found))
    theirs = recorded(benchmark)
    found += defects(benchmark, "benchmark")
    differences, equal = [], 0
    for name in sorted(mine.keys() & theirs.keys()):
        if _same(name, mine[name], theirs[name]):
            equal += 1
        else:
            differences.append(_difference(name, mine[name], theirs[name], found))
    return EnvironmentComparison(
        mine,
        tuple(sorted(differences, key=lambda d: (_WEIGHTS.index(d.weight), _order(d.key)))),
        tuple(found),
        tuple(sorted(mine.keys() - theirs.keys())),
        tuple(sorted(theirs.keys() - mine.keys())),
        equal,
    )


def recorded(run: Run) -> dict[str, SettingValue]:
    """Return versions by package, the accelerator and the variables that steer training, with their files."""
    found: dict[str, SettingValue] = {}
    for fact, value in run.facts.items():
        name = _package(fact)
        if name is not None and value:
            found.setdefault(name, SettingValue(str(value), "written", "", run.fact_files.get(fact, "")))
    if run.facts.get("device"):
        at = run.fact_files.get("device", "")
        found[_DEVICE] = SettingValue(str(run.facts["device"]), "written", "", at)
    for setting in sorted(run.raw_settings, key=lambda s: -s.trust):
        if is_variable(setting.key) and "/" not in str(setting.value):
            name = parts_of(setting.key)[-1].upper()
            found.setdefault(
                name, SettingValue(setting.value, "written", setting.key, setting.file, setting.line)
            )
    return dict(sorted(found.items(), key=lambda row: _order(row[0])))


def is_variable(key: str) -> bool:
    """Say whether a raw key is a variable of the environment that steers training and has no other name."""
    last = key.rsplit(".", 1)[-1]
    return environment_key(last) and not _LOCAL.search(last) and canonical_key(key) is None


def _package(fact: str) -> str | None:
    name = fact.removeprefix(_VERSION) if fact.startswith(_VERSION) else ""
    if not name and fact.endswith("_version"):
        name = fact.removesuffix("_version")
    name = name.lower().replace("_", "-")
    name = _ONE_NAME.get(name, name)
    return name if name in packages() else None


def _order(name: str) -> tuple[int, str]:
    """Accelerator first, then packages as the table has them, then variables."""
    if name == _DEVICE:
        return 0, name
    order = list(packages())
    return (1 + order.index(name), name) if name in packages() else (len(order) + 1, name)


# --------------------------------------------------------------------------------------- differences


def _parsed(value: SettingValue) -> Version | None:
    from packaging.version import InvalidVersion, Version

    try:
        return Version(str(value.value).strip())
    except InvalidVersion:
        return None


def _same(name: str, mine: SettingValue, theirs: SettingValue) -> bool:
    """Equal versions; a build that only one side records is no difference, nor are missing last parts."""
    if name not in packages():
        return same(mine.value, theirs.value)
    a, b = _parsed(mine), _parsed(theirs)
    if a is None or b is None:
        return str(mine.value) == str(theirs.value)
    if a.local and b.local and a.local != b.local:
        return False
    if len(a.release) != len(b.release) and not (a.pre or b.pre or a.post or b.post):
        shorter = min(len(a.release), len(b.release))
        return a.release[:shorter] == b.release[:shorter]
    return a.public == b.public


def _difference(
    name: str, mine: SettingValue, theirs: SettingValue, found: list[KnownDefect]
) -> SettingDifference:
    if name == _DEVICE:
        said = "other hardware rounds otherwise and runs other kernels; what is set for it has to follow"
        return SettingDifference(name, mine, theirs, "medium", said, "", "checklist-3")
    group = packages().get(name)
    if group is None:
        said = "a variable of the environment that frameworks read"
        return SettingDifference(name, mine, theirs, "medium", said, "", "checklist-3")
    known = [d for d in found if d.package == name and not d.missing]
    if len({d.side for d in known}) == 1:
        one = known[0]
        whose = "here" if one.side == "run" else "in the benchmark"
        said = f"a known defect {whose}: {one.effect}"
        return SettingDifference(name, mine, theirs, "high", said, "environment.known-bug", one.source)
    weight = group.weight
    if _near(mine, theirs):
        weight = _WEIGHTS[min(_WEIGHTS.index(weight) + 1, len(_WEIGHTS) - 1)]
    return SettingDifference(
        name, mine, theirs, weight, group.effect, "environment.incompatible", group.source
    )


def _near(mine: SettingValue, theirs: SettingValue) -> bool:
    """Only the last part of the version, or the build, differs."""
    a, b = _parsed(mine), _parsed(theirs)
    return a is not None and b is not None and a.release[:2] == b.release[:2] and a.pre == b.pre


# -------------------------------------------------------------------------------------- known defects


def defects(run: Run, side: Literal["run", "benchmark"]) -> Iterator[KnownDefect]:
    """Yield the known defects of recorded versions that nothing on record rules out; met ones first.

    Of a defect whose conditions are not all on record at least one has to be met.
    """
    found = []
    for bug in versions.known_bugs():
        installed = versions.version(run, bug["package"])
        if installed is None or not versions.in_range(installed, bug["affected"]):
            continue
        holds = versions.conditions(run, bug)
        if False in holds.values() or (None in holds.values() and True not in holds.values()):
            continue
        found.append(
            KnownDefect(
                side,
                bug["package"],
                str(installed),
                bug["effect"],
                bug["fixed_in"],
                bug["do"],
                bug["source"],
                bug["harm"] == "certain",
                tuple(versions.told(run, k) for k, value in holds.items() if value),
                versions.missing(holds),
            )
        )
    yield from sorted(found, key=lambda d: (bool(d.missing), not d.certain, d.package))
