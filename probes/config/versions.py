"""Versions of installed libraries, and known defects of single versions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from ...engine.model import Place, Scalar
from .. import settings as names
from ..registry import Finding, View, absent, place_of, present, probe, unknown
from ..run import Run
from ..settings.derived import MADE_OF_BATCHES

if TYPE_CHECKING:
    from packaging.version import Version

# One library under several names: as it is recorded -> as known_bugs.yaml has it.
_ALIASES = {
    "torch": ("torch", "pytorch"),
    "pytorch-lightning": ("pytorch-lightning", "lightning"),
    "paddle": ("paddle", "paddlepaddle", "paddlepaddle-gpu"),
    "tensorflow": ("tensorflow", "tensorflow-gpu", "tensorflow-cpu"),
    "mindspore": ("mindspore", "mindspore-ascend", "mindspore-gpu"),
    "transformer-engine": ("transformer-engine", "transformer-engine-cu12"),
}


@lru_cache(maxsize=1)
def known_bugs() -> tuple[Mapping[str, Any], ...]:
    """Return the rows of rules/porting/known_bugs.yaml."""
    import yaml

    text = (files("traindoctor") / "rules" / "porting" / "known_bugs.yaml").read_text(encoding="utf-8")
    return tuple(yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))["bugs"])


def version(run: Run, package: str) -> Version | None:
    """Return an installed version (PEP 440), or None when it is not recorded or no version."""
    from packaging.version import InvalidVersion, Version

    for name in _ALIASES.get(package, (package,)):
        plain = name.replace("-", "_")
        for key in (f"version:{name}", f"version:{plain}", f"{name}_version", f"{plain}_version"):
            recorded = re.match(r"\s*v?(\d[\w.+!-]*)", str(run.facts.get(key) or ""))
            if recorded is None:
                continue
            try:
                return Version(recorded.group(1))
            except InvalidVersion:
                continue
    return None


def in_range(installed: Version, affected: str) -> bool:
    """Say whether a version lies in a PEP 440 range; local parts (+cu121) do not count, previews do."""
    from packaging.specifiers import SpecifierSet

    return SpecifierSet(affected).contains(installed.public, prereleases=True)


# Accelerators with TF32 units: compute capability 8.0 and above.
_TF32_UNITS = re.compile(
    r"\b(?:[AH][18]00|GH200|H20|H200|B[12]00|A(?:2|10|16|30|40)G?|L4|L40S?"
    r"|RTX ?(?:30|40|50)\d0|RTX ?A\d{4})\b",
    re.I,
)
_TF32_SWITCH = re.compile(r"^(?:tf32|allow_tf32|use_tf32|enable_tf32|allow_hf32|hf32)$")
# Products of matrices; convolutions in TF32 are PyTorch's default everywhere.
_TF32_SCRIPT = re.compile(
    r"^[ \t]*((?:\w+\.)+matmul\.allow_(?:tf32|hf32))[ \t]*=[ \t]*(True|False)\b", re.MULTILINE
)


@probe()
def tf32(view: View) -> Finding:
    """fp32 matrix products run in TF32 (or hf32): switched on, or PyTorch’s default.

    PyTorch 1.7 to 1.11 rounds fp32 matrix products to TF32 by default on accelerators that have it; before,
    after and on others only when asked (pytorch#66212).
    """
    run = view.run
    for setting in run.raw_settings:
        if _TF32_SWITCH.match((names.parts_of(setting.key)[-1:] or [""])[0]) and isinstance(
            setting.value, bool
        ):
            text = f"{setting.key} = {setting.value}"
            where = (Place(setting.file, setting.line),)
            if setting.value:
                return present(text, value=True, where=where)
            return absent(text, value=False, where=where)
    for path, text in run.scripts.items():
        switched = _TF32_SCRIPT.search(text)
        if switched is not None:
            line = text.count("\n", 0, switched.start()) + 1
            on = switched[2] == "True"
            said, where = f"{switched[1]} = {switched[2]}", (Place(path, line),)
            return present(said, value=True, where=where) if on else absent(said, value=False, where=where)
    precision = run.settings.get("precision")
    if precision is not None and precision.value != "fp32":
        return absent(
            f"the number format is {precision.value}, TF32 concerns fp32", where=(place_of(precision),)
        )
    installed, device = version(run, "torch"), str(run.facts.get("device") or "")
    if installed is None:
        return unknown("whether TF32 is on is not recorded, nor the version of PyTorch")
    default = in_range(installed, ">=1.7,<1.12")
    if not default:
        return unknown(
            f"PyTorch {installed} leaves TF32 off by default; whether it was switched on is not recorded"
        )
    if not device:
        return unknown(f"PyTorch {installed} uses TF32 by default; the accelerator is not recorded")
    text = f"PyTorch {installed} on {device}"
    if _TF32_UNITS.search(device):
        return present(f"{text} rounds fp32 matrix products to TF32 by default", value=str(installed))
    return absent(f"{text}: no TF32", value=str(installed))


@probe()
def known_bug(view: View, harm: str) -> Finding:
    """An installed version lies in the range of a known defect of this harm, and all its conditions hold.

    Present needs the version and every condition on record. Absent needs a version on record, and nothing
    that is left open: no affected version whose conditions are not recorded, and no defect whose conditions
    hold while the version is not recorded.
    """
    checked, left_open = 0, ""
    for bug in known_bugs():
        if bug["harm"] != harm:
            continue
        holds = conditions(view.run, bug)
        installed = version(view.run, bug["package"])
        if installed is None:
            if all(holds.values()):
                left_open = left_open or f"the version of {bug['package']} is not recorded"
            continue
        checked += 1
        if not in_range(installed, bug["affected"]) or False in holds.values():
            continue
        shown = f"{bug['package']} {installed}"
        if None in holds.values():
            left_open = f"{shown} has a known defect; {missing(holds)} is not recorded"
            continue
        met = ", ".join(told(view.run, k) for k in holds)
        text = f"{shown} with {met}: {bug['effect']} (fixed in {bug['fixed_in']})"
        return present(text, value=shown, threshold=bug["affected"], where=_where(view.run, holds))
    if left_open:
        return unknown(left_open)
    if not checked:
        return unknown("no versions of libraries with known defects are recorded")
    return absent(f"no known defect among {checked} entries for the recorded versions")


def _plain(key: str) -> str:
    return key.removeprefix("raw:").replace("first:", "first ").replace("_", " ")


def _where(run: Run, keys: Mapping[str, Any]) -> tuple[Place, ...]:
    return tuple(place_of(run.settings[k]) for k in keys if k in run.settings and run.settings[k].file)


def _shown(run: Run, key: str) -> str:
    return str(_recorded(run, key))


def _recorded(run: Run, key: str) -> Scalar | tuple[Scalar, ...]:
    """The value that a condition is about; None when it is not recorded."""
    if key == "device":
        setting = run.settings.get("device")
        return run.facts.get("device") or (setting.value if setting else None)
    if key.startswith("raw:"):
        last = key.removeprefix("raw:")
        return next((s.value for s in run.raw_settings if names.parts_of(s.key)[-1:] == [last]), None)
    if key.startswith("first:"):  # what a run begins with tells some defects
        series = run.series.get(key.removeprefix("first:"))
        return float(series.values[0]) if series is not None and len(series.values) else None
    told = run.settings.get(key)
    if told is None or told.raw == MADE_OF_BATCHES:
        return None  # what the batches leave is accumulated by another trainer than that of a library
    return told.value


def conditions(run: Run, bug: Mapping[str, Any]) -> dict[str, bool | None]:
    """Say of each condition of a known defect whether it holds; None: not recorded."""
    return {key: _condition(run, key, want) for key, want in bug["when"].items()}


def missing(holds: Mapping[str, bool | None]) -> str:
    """Return the first condition that is not recorded, in words; nothing when all are."""
    return next((_plain(key) for key, value in holds.items() if value is None), "")


def told(run: Run, key: str) -> str:
    """A condition as it stands on record, "precision fp16"."""
    return f"{_plain(key)} {_shown(run, key)}"


def _condition(run: Run, key: str, want: Any) -> bool | None:
    """Say whether a condition of a known defect holds; None when nothing is recorded of it."""
    value = _recorded(run, key)
    if value is None:
        return None
    if key == "device":
        return any(str(word).lower() in str(value).lower() for word in want)
    if isinstance(want, list):
        return any(names.same(value, one) for one in want)
    if want == "nan":
        return isinstance(value, float) and value != value
    if isinstance(want, str) and want.startswith(">"):
        found = None if isinstance(value, tuple) else names.number(value)
        return None if found is None else found > float(want[1:])
    return names.same(value, want)


# Plugins whose releases are numbered after the library that they are built for, and work with that one alone.
_PLUGINS = (("torch-npu", "torch"), ("vllm-ascend", "vllm"))


@probe()
def plugin_unfit(view: View) -> Finding:
    """A plugin for Ascend devices is of another release than the library that it is built for."""
    pairs = [(p, version(view.run, p), lib, version(view.run, lib)) for p, lib in _PLUGINS]
    known = [(p, mine, lib, its) for p, mine, lib, its in pairs if mine is not None and its is not None]
    for plugin, mine, library, its in known:
        if mine.release[:2] != its.release[:2]:
            return present(
                f"{plugin} {mine} is built for {library} {mine.major}.{mine.minor}, and {its} is installed",
                value=str(mine),
                threshold=str(its),
            )
    if not known:
        return unknown("no plugin for Ascend devices is recorded with the library that it is built for")
    return absent(f"{known[0][0]} {known[0][1]} is built for {known[0][2]} {known[0][3]}")
