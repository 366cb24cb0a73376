"""fusion_result.json of the Ascend graph compiler: which fusion rules took effect, and the switch file.

An object, a list of objects, or objects one after the other, each {graphId | session_and_graph_id,
graph_fusion: {Rule: {effect_times, match_times}}, ub_fusion: {...}}. Layout: FORMATS-ASCEND B1.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..files import RunFile

MAX_SIZE = 64 * 1024**2
MAX_RULES = 10_000
GROUPS = {"graph_fusion": "GraphFusion", "ub_fusion": "UBFusion"}
Rule = tuple[str, str]  # (group of the switch file, name)


def effective(files: Iterable[RunFile]) -> tuple[list[Rule], list[str]]:
    """The rules that changed some graph, most often first, and what could not be read."""
    counts: dict[Rule, int] = {}
    notes: list[str] = []
    for file in files:
        if file.name != "fusion_result.json":
            continue
        if file.size > MAX_SIZE:
            notes.append(f"{file.path}: larger than {MAX_SIZE >> 20} MiB, not read")
            continue
        try:
            text = file.read_text()
        except OSError as error:
            notes.append(f"{file.path}: {error.strerror or 'cannot be read'}")
            continue
        before = len(counts)
        for graph in _objects(text, file.path, notes):
            for key, group in GROUPS.items():
                rules = graph.get(key)
                for name, told in rules.items() if isinstance(rules, dict) else ():
                    times = _times(told)
                    if times and len(counts) < MAX_RULES:
                        rule = (group, str(name)[:200])
                        counts[rule] = counts.get(rule, 0) + times
        if len(counts) == before:
            notes.append(f"{file.path}: no fusion rule took effect")
    return sorted(counts, key=lambda r: (-counts[r], r)), notes


def _objects(text: str, path: str, notes: list[str]) -> Iterator[Mapping[str, Any]]:
    decoder = json.JSONDecoder()
    at = 0
    while True:
        while at < len(text) and text[at] in " \t\r\n,\ufeff":
            at += 1
        if at >= len(text):
            return
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            notes.append(f"{path}: damaged; what stands before that was read")
            return
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, dict):
                yield one


def _times(told: Any) -> int:
    value = told.get("effect_times") if isinstance(told, dict) else None
    try:
        return max(0, int(value)) if value is not None and not isinstance(value, bool) else 0
    except (TypeError, ValueError):
        return 0


def switch_file(off: Iterable[Rule]) -> str:
    """The fusion switch configuration that turns these rules off and leaves all others as they are."""
    switches: dict[str, dict[str, str]] = {group: {} for group in GROUPS.values()}
    for group, name in sorted(off):
        switches.setdefault(group, {})[name] = "off"
    return json.dumps({"Switch": {g: s for g, s in switches.items() if s}}, indent=2) + "\n"
