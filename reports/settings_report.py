"""The comparison of two runs' settings as text, markdown and JSON: what differs first, and what it can do."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from ..engine.model import KnownDefect, SettingDifference, SettingsComparison, SettingValue
from .terminal import WIDTH, Page
from .text import code, count, markdown, plain, scalar

SCHEMA_VERSION = "1"
MOST_NAMES = 12
_NO_RATIO = frozenset({"seed", "momentum", "adam_beta1", "adam_beta2", "ema_decay", "ignore_index"})


def render_text(
    found: SettingsComparison, *, width: int = WIDTH, color: bool = False, verbose: bool = False
) -> str:
    """Return the comparison for a terminal; with `verbose` all settings of the run, too."""
    page = Page(width, color)
    page.line((_verdict(found), "bold"))
    page.line(_about(found), indent=0)
    for number, one in enumerate(found.differences, 1):
        page.gap()
        page.line((f"{number}. {_title(one.key)}", "bold"), f"  {_pair(one)}", hang=3)
        for line in _lines(one):
            page.line(line, indent=3, hang=2)
    for title, sentences in (*_environment(found), *_lists(found)):
        page.head(title)
        for sentence in sentences:
            page.line(sentence, indent=2, mark="• ")
    if verbose or found.benchmark is None:
        page.head("Settings in force")
        for key, value in found.settings.items():
            page.line(f"{key} = {scalar(value.value)}  ", f"[{_origin(value)}]", indent=2, hang=4)
        if found.environment.versions:
            page.head("Environment")
            for name, value in found.environment.versions.items():
                page.line(f"{plain(name)} {scalar(value.value)}  ", f"[{_origin(value)}]", indent=2, hang=4)
    return page.text()


def render_markdown(found: SettingsComparison, *, verbose: bool = False) -> str:
    """Return the comparison as markdown, with a table of the differences."""
    out = ["# Settings in force", "", f"**{markdown(_verdict(found))}**", "", markdown(_about(found))]
    if found.differences:
        out += ["", "| setting | run | benchmark | matters | what it can do |", "|---|---|---|---|---|"]
        for one in found.differences:
            cells = [
                markdown(_title(one.key)),
                f"{code(scalar(one.run.value), cell=True)}<br>{markdown(_origin(one.run))}",
                f"{code(scalar(one.benchmark.value), cell=True)}<br>{markdown(_origin(one.benchmark))}",
                one.weight,
                markdown(one.effect) + (f" ({code(one.cause, cell=True)})" if one.cause else ""),
            ]
            out.append("| " + " | ".join(cells) + " |")
    for title, sentences in (*_environment(found), *_lists(found)):
        out += ["", f"## {title}", "", *(f"- {markdown(s)}" for s in sentences)]
    if verbose or found.benchmark is None:
        out += ["", "## All settings of the run", "", "| setting | value | from |", "|---|---|---|"]
        out += [
            f"| {code(key, cell=True)} | {code(scalar(v.value), cell=True)} | {markdown(_origin(v))} |"
            for key, v in found.settings.items()
        ]
        if found.environment.versions:
            out += [
                "",
                "## Environment of the run",
                "",
                "| what | version or value | from |",
                "|---|---|---|",
            ]
            out += [
                f"| {code(name, cell=True)} | {code(scalar(v.value), cell=True)} | {markdown(_origin(v))} |"
                for name, v in found.environment.versions.items()
            ]
    return "\n".join(out) + "\n"


def render_json(found: SettingsComparison) -> str:
    """Return the comparison as JSON, byte-identical for identical input."""
    document: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "run": {"path": plain(found.run.path), "framework": found.run.framework},
        "benchmark": None
        if found.benchmark is None
        else {"path": plain(found.benchmark.path), "framework": found.benchmark.framework},
        "settings": {key: _as_json(value) for key, value in found.settings.items()},
        "differences": [_difference_json(d) for d in found.differences],
        "consequences": list(found.consequences),
        "equivalent": list(found.equivalent),
        "inherent": list(found.inherent),
        "further": [_difference_json(d) for d in found.further],
        "only_run": list(found.only_run),
        "only_benchmark": list(found.only_benchmark),
        "equal": found.equal,
        "environment": _environment_json(found),
    }
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


# ---------------------------------------------------------------------------------------------- words


def _verdict(found: SettingsComparison) -> str:
    met = sum(not d.missing for d in found.environment.defects)
    more = f" {count(met, 'known defect')} of the versions in use." if met else ""
    other = len(found.environment.differences)
    more = (f" {count(other, 'difference')} between the environments." if other else "") + more
    return _of_settings(found) + more


def _of_settings(found: SettingsComparison) -> str:
    if found.benchmark is None:
        return f"{count(len(found.settings), 'setting')} in force."
    if not found.differences:
        if not found.equal:
            return "Nothing can be compared: no setting is known on both sides."
        return f"No difference: {count(found.equal, 'setting')} known on both sides, all equal in force."
    high = sum(d.weight == "high" for d in found.differences)
    weighty = f", {high} of them weighty" if high else ""
    if high == len(found.differences) == 1:
        weighty = ", a weighty one"
    return f"{count(len(found.differences), 'difference')}{weighty}; {count(found.equal, 'setting')} equal."


def _about(found: SettingsComparison) -> str:
    benchmark = f", against {plain(found.benchmark.path)}" if found.benchmark is not None else ""
    return f"{plain(found.run.path)}{benchmark}"


def _title(key: str) -> str:
    return key.replace("_", " ")


def _pair(one: SettingDifference) -> str:
    a, b = one.run.value, one.benchmark.value
    return f"{scalar(a)} here, {scalar(b)} in the benchmark{_ratio(one.key, a, b)}"


def _ratio(key: str, a: object, b: object) -> str:
    """By how much two numbers differ, where a ratio says something."""
    numbers = [v for v in (a, b) if isinstance(v, (int, float)) and not isinstance(v, bool) and v > 0]
    if len(numbers) < 2 or key in _NO_RATIO or 2 / 3 < numbers[0] / numbers[1] < 1.5:
        return ""
    times = numbers[0] / numbers[1]
    return f" ({times:.3g} times)" if times >= 1 else f" (1/{1 / times:.3g})"


def _lines(one: SettingDifference) -> list[str]:
    found = [f"here: {_origin(one.run)}; benchmark: {_origin(one.benchmark)}"]
    if one.effect:
        see = f" (diagnose explain {one.cause})" if one.cause else ""
        found.append(f"{one.effect[:1].upper()}{one.effect[1:]}{see}.")
    return found


def _origin(value: SettingValue) -> str:
    """Where a value comes from, in words."""
    line = "" if value.line is None else f":{value.line}"
    place = f"{plain(value.file)}{line}" if value.file else ""
    raw = plain(value.raw)
    if value.origin == "default":
        words = value.note or "framework default"
        return f"{words}, if no code sets it"
    if value.origin == "implied":
        words = f"{place}: the script does not set it"
    elif value.origin == "derived":
        words = " ".join(filter(None, (f"from {raw}" if raw else "", f"({place})" if place else "")))
    else:
        words = " ".join(filter(None, (place, f"({raw})" if raw else "")))
    return f"{words or 'the logs'}{'; ' + value.note if value.note else ''}"


def _lists(found: SettingsComparison) -> Iterator[tuple[str, list[str]]]:
    further = [f"{plain(d.key)}: {_pair(d)} [{_origin(d.run)}]" for d in found.further]
    lists: Iterable[tuple[str, list[str]]] = (
        ("What follows from the differences", list(found.consequences)),
        ("Written otherwise, the same in force", list(found.equivalent)),
        ("Frameworks that differ whatever is set", list(found.inherent)),
        ("Differ too, under names that are not known", further),
        ("Not compared: recorded on one side only", _one_sided(found)),
    )
    return ((title, sentences) for title, sentences in lists if sentences)


def _environment(found: SettingsComparison) -> Iterator[tuple[str, list[str]]]:
    """Known defects of the versions at hand, and what differs between the environments."""
    here = found.environment
    if here.defects:
        yield "Known defects of these versions", [_defect(d) for d in here.defects]
    if here.differences:
        yield "Environments that differ", [_version(d) for d in here.differences]
    one_sided = [
        f"{side}: {_names(names)}"
        for side, names in (("only this run", here.only_run), ("only the benchmark", here.only_benchmark))
        if names and found.benchmark is not None and here.versions
    ]
    if here.equal or here.differences or len(one_sided) == 2:
        yield "Environment recorded on one side only", one_sided


def _version(one: SettingDifference) -> str:
    files = list(dict.fromkeys(f for f in (_origin(one.run), _origin(one.benchmark)) if f != "the logs"))
    at = f" [{'; '.join(files)}]" if files else ""
    effect = f": {one.effect}" if one.weight != "low" else ""
    return (
        f"{plain(one.key)} {scalar(one.run.value)} here, {scalar(one.benchmark.value)} in the benchmark"
        f"{effect}{at}"
    )


def _defect(one: KnownDefect) -> str:
    whose = "" if one.side == "run" else "benchmark: "
    met = f" with {', '.join(map(plain, one.met))}" if one.met else ""
    if one.missing:
        sure = f"; whether it applies is open, {plain(one.missing)} is not recorded"
    else:
        sure = "" if one.certain else "; possible, it also takes something that no record shows"
    what = f"{whose}{plain(one.package)} {plain(one.version)}{met}: {one.effect}"
    return f"{what} (fixed in {one.fixed_in}){sure}. {one.do[:1].upper()}{one.do[1:]}."


def _environment_json(found: SettingsComparison) -> dict[str, Any]:
    here = found.environment
    return {
        "recorded": {plain(name): _as_json(value) for name, value in here.versions.items()},
        "differences": [_difference_json(d) for d in here.differences],
        "known_defects": [
            {
                "side": d.side,
                "package": plain(d.package),
                "version": plain(d.version),
                "effect": d.effect,
                "fixed_in": d.fixed_in,
                "do": d.do,
                "source": d.source,
                "certain": d.certain,
                "met": list(map(plain, d.met)),
                "not_recorded": plain(d.missing) or None,
            }
            for d in here.defects
        ],
        "only_run": list(here.only_run),
        "only_benchmark": list(here.only_benchmark),
        "equal": here.equal,
    }


def _one_sided(found: SettingsComparison) -> list[str]:
    sides = (("only this run", found.only_run), ("only the benchmark", found.only_benchmark))
    return [f"{side}: {_names(keys)}" for side, keys in sides if keys]


def _names(keys: tuple[str, ...]) -> str:
    more = f" and {len(keys) - MOST_NAMES} more" if len(keys) > MOST_NAMES else ""
    return ", ".join(map(_title, keys[:MOST_NAMES])) + more


def _as_json(value: SettingValue) -> dict[str, Any]:
    return {
        "value": list(value.value) if isinstance(value.value, tuple) else value.value,
        "origin": value.origin,
        "raw": plain(value.raw),
        "file": plain(value.file),
        "line": value.line,
        "note": value.note,
    }


def _difference_json(one: SettingDifference) -> dict[str, Any]:
    return {
        "setting": plain(one.key),
        "run": _as_json(one.run),
        "benchmark": _as_json(one.benchmark),
        "weight": one.weight,
        "effect": one.effect,
        "cause": one.cause or None,
        "source": one.source or None,
    }
