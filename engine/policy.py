"""What a gate goes by: profiles, waivers and the baseline; what is wrong with one is told with its line."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from .document import DocumentError, parse
from .load import RuleError, builtin, validated, with_own_checklist
from .model import CauseLine, Profile, RuleBase, Waiver
from .schema import ProfileEntry, ProfilesFile, WaiversFile

LONGEST = timedelta(days=180)  # a waiver is no way to switch a rule off
SOON = timedelta(days=14)
MAX_FILE = 4 * 1024**2
BASELINE_VERSION = "1"


class PolicyError(Exception):
    """A profile, waiver or baseline file cannot be used; the message says why in one sentence."""


def profile(named: str, rules: RuleBase) -> Profile:
    """Return a profile by its name, or the last one of a user's own file.

    Raises PolicyError, also where a profile names an item or cause that the rules do not have.
    """
    own = Path(named)
    entries = {e.name: e for e in _profiles(builtin("profiles.yaml"), "profiles.yaml")}
    if own.suffix in (".yaml", ".yml") or own.is_file():
        mine = _profiles(_read(own), str(own))
        entries |= {e.name: e for e in mine}
        named = mine[-1].name
    if named not in entries:
        raise PolicyError(f"there is no profile {named}; choose {', '.join(entries)} or name a YAML file")
    found = _resolved(named, entries)
    if found.checklist.endswith((".yaml", ".yml")):
        found, rules = _with_own(found, own.parent, rules)
    return _checked(found, rules)


def _with_own(found: Profile, folder: Path, rules: RuleBase) -> tuple[Profile, RuleBase]:
    """Read the checklist file that a profile names, relative to the profile."""
    path = folder / found.checklist
    try:
        rules, name = with_own_checklist(rules, path)
    except RuleError as error:
        raise PolicyError(_first(error.problems)) from error
    except OSError as error:
        said = f"{path}: {error.strerror or 'cannot be read'}"
        raise PolicyError(f"profile {found.name}: its checklist cannot be read: {said}") from error
    return replace(found, checklist=name, own_items=rules.checklists[name]), rules


def _profiles(raw: bytes, name: str) -> tuple[ProfileEntry, ...]:
    try:
        return validated(ProfilesFile, parse(name, raw)).profiles
    except (DocumentError, RuleError) as error:
        raise PolicyError(_first(error.problems)) from error


def _resolved(name: str, entries: Mapping[str, ProfileEntry]) -> Profile:
    chain: list[ProfileEntry] = []
    at: str | None = name
    while at is not None:
        if at not in entries:
            raise PolicyError(f"profile {chain[-1].name} extends {at}, which does not exist")
        if entries[at] in chain:
            raise PolicyError(f"profile {name} extends itself")
        chain.append(entries[at])
        at = entries[at].extends

    def said(field: str, missing: Any) -> Any:
        return next((v for e in chain if (v := getattr(e, field)) is not None), missing)

    causes = tuple(CauseLine(c.match, c.from_, c.level) for c in said("causes", ()))
    return Profile(
        name,
        said("title", name),
        said("checklist", "ascend"),
        said("items", {"*": "sound"}),
        causes,
        said("unchecked", "inconclusive"),
    )


def _checked(found: Profile, rules: RuleBase) -> Profile:
    if found.checklist not in rules.checklists:
        raise PolicyError(
            f"profile {found.name}: there is no checklist {found.checklist}; there are "
            + ", ".join(rules.checklists)
        )
    items = {item.id for item in rules.checklists[found.checklist]}
    wrong = [name for name in found.items if name != "*" and name not in items]
    if wrong:
        raise PolicyError(f"profile {found.name}: checklist {found.checklist} has no item {wrong[0]}")
    for line in found.causes:
        if not any(fnmatchcase(cause, line.match) for cause in rules.causes):
            raise PolicyError(f"profile {found.name}: no cause fits {line.match}")
    return found


# -------------------------------------------------------------------------------------------- waivers


def waivers(path: Path, today: date) -> tuple[Waiver, ...]:
    """Read a file of waivers. Raises PolicyError, also for one that holds for more than 180 days."""
    try:
        document = parse(str(path), _read(path))
        entries = validated(WaiversFile, document).waivers
    except (DocumentError, RuleError) as error:
        raise PolicyError(_first(error.problems)) from error
    for at, entry in enumerate(entries):
        if entry.expires > today + LONGEST:
            raise PolicyError(
                f"{document.at('waivers', at, 'expires')}: expires {entry.expires} is more than "
                f"{LONGEST.days} days away"
            )
    return tuple(
        Waiver(e.rule, e.scope, e.owner, e.reason, e.expires.isoformat(), document.at("waivers", at))
        for at, e in enumerate(entries)
    )


# ------------------------------------------------------------------------------------------- baseline


@dataclass(frozen=True, slots=True)
class Baseline:
    """Failures that were known when it was written: fingerprint -> rule."""

    failures: Mapping[str, str]


def baseline(path: Path) -> Baseline:
    """Read a baseline file. Raises PolicyError."""
    try:
        data = json.loads(_read(path))
        version, rows = data["schema_version"], data["failures"]
        found = {str(row["fingerprint"]): str(row["rule"]) for row in rows}
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise PolicyError(f"{path}: is no baseline (write one with --write-baseline)") from error
    if version != BASELINE_VERSION:
        raise PolicyError(f"{path}: has schema_version {version}, this version reads {BASELINE_VERSION}")
    return Baseline(found)


def baseline_text(failures: Sequence[tuple[str, str, str]]) -> str:
    """Return the text of a baseline: (fingerprint, rule, title) of each failure."""
    rows = [{"fingerprint": f, "rule": r, "title": t} for f, r, t in sorted(failures)]
    return json.dumps({"schema_version": BASELINE_VERSION, "failures": rows}, indent=2) + "\n"


def _read(path: Path) -> bytes:
    try:
        if not path.is_file():
            raise PolicyError(f"{path}: there is no such file")
        with path.open("rb") as file:
            return file.read(MAX_FILE)
    except OSError as error:
        raise PolicyError(f"{path}: {error.strerror or 'cannot be read'}") from error


def _first(problems: Sequence[str]) -> str:
    more = len(problems) - 1
    rest = f" (and {more} more problem{'s' if more > 1 else ''})" if more else ""
    return f"{problems[0]}{rest}"
