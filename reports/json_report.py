"""The diagnosis for programs: DESIGN section 7, described by `diagnosis.schema.json` beside this module.

The same diagnosis gives the same bytes. Text is ASCII with escapes, so no terminal and no locale can
change it. A number that JSON cannot hold is null, with the word beside it (`"nonfinite": "nan"`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from ..engine.model import (
    CheckedItem,
    ComparedOperator,
    Diagnosis,
    FlowStanding,
    Hypothesis,
    NextCheck,
    OverflowedOperator,
    Place,
    Reading,
    Reason,
    Remedy,
    RunInfo,
    Scalar,
    StepStanding,
)
from . import story
from .heat_strip import MARKS
from .model import Extras
from .text import plain

if TYPE_CHECKING:
    from .sections import Section

SCHEMA_VERSION = "1"
DIGITS = 4
MOST_MARKED = 200  # operators or weights of a section that are listed; all are counted

Json = dict[str, Any]


def render(diagnosis: Diagnosis, extras: Extras | None = None) -> str:
    """Return the diagnosis as JSON text with sorted keys."""
    return _dump(as_dict(diagnosis, extras))


def render_checklist(diagnosis: Diagnosis) -> str:
    """Return only the checklist, with the runs it is about."""
    whole = as_dict(diagnosis)
    kept = ("schema_version", "run", "benchmark", "benchmark_repeats", "checklist", "checklist_name")
    return _dump({k: whole[k] for k in (*kept, "rules_version")})


def render_workflow(diagnosis: Diagnosis) -> str:
    """Return only where the run stands in the documented flows, with the runs it is about."""
    whole = as_dict(diagnosis)
    return _dump({k: whole[k] for k in ("schema_version", "run", "benchmark", "workflow", "rules_version")})


def schema_text() -> str:
    """Return the JSON Schema of `render`'s output."""
    return files(__package__).joinpath("diagnosis.schema.json").read_text(encoding="utf-8")


def as_dict(diagnosis: Diagnosis, extras: Extras | None = None) -> Json:
    """Return the diagnosis as plain JSON values; of `extras` it holds the sections."""
    said = story.verdict(diagnosis)
    return {
        "schema_version": SCHEMA_VERSION,
        "run": _run(diagnosis.run),
        "benchmark": _run(diagnosis.benchmark) if diagnosis.benchmark else None,
        "benchmark_repeats": [_run(r) for r in diagnosis.repeats],
        "verdict": {"kind": said.kind, "text": said.head, "rests_on": said.rests},
        "hypotheses": [_hypothesis(h) for h in diagnosis.hypotheses],
        "findings": [_reading(r) for r in diagnosis.findings],
        "checklist": [_item(diagnosis, i) for i in diagnosis.checklist],
        "checklist_name": diagnosis.checklist_name,
        "next_checks": [_next(diagnosis, c) for c in diagnosis.next_checks],
        "workflow": [_flow(diagnosis, f) for f in diagnosis.workflow],
        "unexplained": {s: _rounded(share) for s, share in diagnosis.unexplained.items()},
        "conflict": _rounded(diagnosis.conflict),
        "converged": diagnosis.converged,
        "rules_version": diagnosis.rules_version,
        "not_evaluated": [{"what": what, "why": why} for what, why in diagnosis.not_evaluated],
        "sections": [_section(s) for s in extras.sections] if extras is not None else [],
    }


def _dump(values: Json) -> str:
    return json.dumps(values, indent=2, sort_keys=True, allow_nan=False, default=_native) + "\n"


def _native(value: Any) -> Any:
    """Turn a numpy scalar that a probe left in a reading into Python's own type."""
    if not hasattr(value, "item"):
        raise TypeError(f"{type(value).__name__} has no place in a report")
    return _value(value.item())


def _run(info: RunInfo) -> Json:
    return {
        "path": info.path,
        "formats": list(info.formats),
        "framework": info.framework,
        "steps": _finite(info.steps),
        "step_unit": info.step_unit,
        "files_read": list(info.files_read),
        "not_read": [{"file": file, "reason": reason} for file, reason in info.not_read],
        "notes": list(info.notes),
        "series": list(info.series),
        "context": _scalars(info.context),
    }


def _hypothesis(hypothesis: Hypothesis) -> Json:
    return {
        "cause": hypothesis.cause,
        "title": hypothesis.title,
        "summary": hypothesis.summary,
        "probability": _rounded(hypothesis.probability),
        "prior": _rounded(hypothesis.prior),
        "contributions": {k: _rounded(v) for k, v in hypothesis.contributions.items()},
        "reasons": [_reason(r) for r in hypothesis.reasons],
        "against": [_reason(r) for r in hypothesis.against],
        "remedies": [_remedy(r) for r in hypothesis.remedies],
        "generalises": list(hypothesis.generalises),
        "unexplained_earliest": hypothesis.unexplained_earliest,
    }


def _reason(reason: Reason) -> Json:
    return {
        **_reading(reason.reading),
        "weight": _rounded(reason.weight),
        "path": list(reason.path),
        "because": list(reason.because),
    }


def _reading(reading: Reading) -> Json:
    return {
        "symptom": reading.symptom,
        "state": reading.state.value,
        "why": reading.why,
        "where": [_place(p) for p in reading.where],
        "step": _finite(reading.step),
        "series": list(reading.series),
        "threshold": _value(reading.threshold),
        "answered": reading.answered,
        **_measured(reading.value),
    }


def _measured(value: Scalar) -> Json:
    """`value`, and for NaN and infinities the word that says what null stands for."""
    if isinstance(value, float) and not math.isfinite(value):
        word = "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
        return {"value": None, "nonfinite": word}
    return {"value": _value(value)}


def _place(place: Place) -> Json:
    return {**asdict(place), "step": _finite(place.step)}


def _remedy(remedy: Remedy) -> Json:
    return {
        "do": remedy.do,
        "minutes": _finite(remedy.minutes),
        "works": _rounded(remedy.works),
        "patch": _scalars(remedy.patch),
        "confirms": remedy.confirms,
        "clears": list(remedy.clears),
    }


def _item(diagnosis: Diagnosis, item: CheckedItem) -> Json:
    return {
        "id": item.id,
        "title": item.title,
        "result": item.result.value,
        "why": item.why,
        "decided_by": list(item.decided_by),
        "check": item.check,
        "command": story.item_command(diagnosis, item),
        "same_as": [{"checklist": name, "item": other} for name, other in item.same_as],
        "said": story.result_word(diagnosis, item.result),
    }


def _next(diagnosis: Diagnosis, check: NextCheck) -> Json:
    command = story.answer_command(diagnosis, check.symptom)
    return {
        **asdict(check),
        "minutes": _finite(check.minutes),
        "gain": _rounded(check.gain),
        "command": command,
    }


def _flow(diagnosis: Diagnosis, standing: FlowStanding) -> Json:
    flow = standing.flow
    steps = [_step(diagnosis, s) for s in standing.steps]
    return {"id": flow.id, "title": flow.title, "source": flow.source, "steps": steps}


def _step(diagnosis: Diagnosis, standing: StepStanding) -> Json:
    step = standing.step
    return {
        "id": step.id,
        "number": standing.number,
        "title": step.title,
        "state": standing.state,
        "excludes": step.excludes,
        "source": step.source,
        "do": step.do,
        "command": story.step_command(diagnosis, step),
        "causes": list(step.causes),
        "looks": [{**asdict(look), "decided_by": list(look.decided_by)} for look in standing.looks],
    }


def _section(section: Section) -> Json:
    """What dumps and checkpoints say; the strip as counts, and what in it is not sound, in order."""
    words = [section.words.get(MARKS[one.state], one.state) for one in section.strip]
    sound = section.words.get(MARKS["same"])
    marked = [(n, o, w) for n, (o, w) in enumerate(zip(section.strip, words, strict=True)) if w != sound]
    return {
        "question": section.question,
        "title": section.title,
        "kind": section.kind,
        "verdict": plain(section.verdict),
        "telling": section.telling,
        "command": plain(section.command),
        "facts": [plain(f) for f in section.facts],
        "first": None if section.first is None else _operator(section.first),
        "strip": {
            "unit": section.unit,
            "length": len(words),
            "counts": {w: words.count(w) for w in dict.fromkeys(words)},
            "marked": [
                {"position": n, "name": plain(o.name), "state": w, "rank": o.rank, "step": o.step}
                for n, o, w in marked[:MOST_MARKED]
            ],
        },
    }


def _operator(one: OverflowedOperator | ComparedOperator) -> Json:
    told = {
        name: plain(getattr(one, name)) for name in ("name", "kind", "direction", "why", "source", "scope")
    }
    return {**told, "rank": one.rank, "step": one.step}


def _scalars(values: Mapping[str, Scalar]) -> Json:
    return {k: _value(v) for k, v in values.items()}


def _value(value: Scalar) -> Any:
    return _finite(value) if isinstance(value, float) else value


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _rounded(value: float) -> float | None:
    return round(float(value), DIGITS) if math.isfinite(value) else None
