"""JSON Schemas of the rule files, for editors: completion, hints and errors while typing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from .schema import (
    WORDS,
    CauseFile,
    ChecklistFile,
    CoverageFile,
    CrosswalkFile,
    MechanismsFile,
    PackFile,
    ProfilesFile,
    ScaleFile,
    SourcesFile,
    Strict,
    SymptomsFile,
    WaiversFile,
    WorkflowFile,
)

KINDS: Mapping[str, type[Strict]] = {
    "cause": CauseFile,
    "symptoms": SymptomsFile,
    "mechanisms": MechanismsFile,
    "checklist": ChecklistFile,
    "crosswalk": CrosswalkFile,
    "sources": SourcesFile,
    "scale": ScaleFile,
    "coverage": CoverageFile,
    "workflow": WorkflowFile,
    "pack": PackFile,
    "profiles": ProfilesFile,
    "waivers": WaiversFile,
}
DIALECT = "https://json-schema.org/draft/2020-12/schema"
# What an editor shows beside a field; key: the field's name, wherever it stands.
HINTS = {
    "prior": "How often this is behind a run that somebody is unhappy with; a number needs estimated_from.",
    "leak": "How often this shows up with none of its known causes; a number needs estimated_from.",
    "strength": "How often the head is there when only this tail is; a number needs estimated_from.",
    "works": "How often the remedy helps when its cause is the right one.",
    "because": "Why one makes the other: a lower-case fragment without a full stop, put into a sentence.",
    "source": "An id of sources.yaml: where this is documented.",
    "sources": "Ids of sources.yaml: where the symptom and its thresholds come from.",
    "estimated_from": "The data that a number in place of a word was estimated from.",
    "applies_when": "The situation it needs, e.g. {precision: fp16}; what is unknown rules nothing out.",
    "refines": "More general causes: when one is there too, both are told as one chain.",
    "looks_like": "Causes it is confused with; a lint asks for a symptom that separates them.",
    "patch": "The exact setting: '/10' divided by, '*2' times, '=x' set to.",
    "confirms": "What one sees when the remedy worked.",
    "done_by": "Symptoms that are seen only where this was done already: then it is no longer offered.",
    "clears": "Symptoms that are gone from the next run when the remedy worked.",
    "minutes": "What it costs a person, in minutes.",
    "probe": "module.function of the probe that reads it; without one it is a question.",
    "params": "Parameters of the probe: the thresholds.",
    "question": "What a person is asked when no probe can tell; ends with a question mark.",
    "how": "How a person finds out.",
    "grave": "No healthy run shows it: a run with it is never called healthy, whatever is behind it.",
    "caveat": "Healthy runs show it, too; it is said in the sentence that calls a run healthy.",
    "one_of_many": "One of many ways in which its causes show: its absence says nothing of them.",
    "rank": "At most at this rank.",
    "below": "Its probability is below this number, or below its prior.",
    "above": "Its probability is above this number.",
    "any": "Symptoms of which one read absent makes the look clear; one present was found.",
    "all": "Symptoms that must all be read absent for the look to be clear.",
    "finds": "Symptoms that find something when present; their absence clears nothing.",
    "reads": "Symptoms of which one must have been read, either way.",
    "only_after": "The look is needed once one of these is present.",
    "if_benchmark": "The look is needed only beside a benchmark.",
    "excludes": "What is ruled out once the step is done; a fragment.",
    "fails_on": "Symptoms whose presence makes the item Failed.",
    "passes_on": "Symptoms of which one read absent lets the item be Passed.",
    "held_by": "Ids of causes, mechanisms or symptoms, or bug:REPOSITORY#NUMBER of known_bugs.yaml.",
    "status": "experimental: never fails a gate; deprecated: keeps its page, takes no part in inference.",
}


def schema_json(kind: str, words: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    """Return the JSON Schema of one kind of rule file. `words` are those of scale.yaml: kind -> words."""
    data = KINDS[kind].model_json_schema()
    finished: dict[str, Any] = _finished(data, words)
    return {"$schema": DIALECT, **finished}


def schema_text(kind: str, words: Mapping[str, tuple[str, ...]]) -> str:
    """Return it as it stands in docs/schema."""
    return json.dumps(schema_json(kind, words), indent=2, ensure_ascii=False) + "\n"


def _finished(node: Any, words: Mapping[str, tuple[str, ...]]) -> Any:
    """Put in words and hints; leave out the titles that pydantic makes of names."""
    if isinstance(node, list):
        return [_finished(n, words) for n in node]
    if not isinstance(node, dict):
        return node
    if WORDS in node:
        return _level(node, words[node[WORDS]])
    found = {k: _finished(v, words) for k, v in node.items() if k != "title" or not isinstance(v, str)}
    for name, field in found.get("properties", {}).items():
        if name in HINTS and isinstance(field, dict):
            found["properties"][name] = {**field, "description": HINTS[name]}
    return found


def _level(node: Mapping[str, Any], words: tuple[str, ...]) -> dict[str, Any]:
    """A word, or a number in its place (a remedy's chance is always a word)."""
    rest = {k: v for k, v in node.items() if k not in (WORDS, "title")}
    word: dict[str, Any] = {"enum": list(words)}
    if node[WORDS] == "works":
        return {**word, **rest}
    return {"anyOf": [word, {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}], **rest}
