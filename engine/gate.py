"""A diagnosis held against a profile: passed, failed or inconclusive.

What was not checked has not passed. A failure that is waived or stood in the baseline does not fail the gate,
and is still told.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date
from fnmatch import fnmatchcase
from typing import Literal

from .checklist import check_items, first_reasons
from .model import (
    CauseLine,
    CheckedItem,
    Diagnosis,
    Evidence,
    Gate,
    GateFinding,
    Hypothesis,
    Place,
    Profile,
    Result,
    RuleBase,
    Waiver,
)
from .policy import SOON, Baseline
from .words import percent

MOST_PLACES = 5
BROKEN = "probe error"


def decide(
    rules: RuleBase,
    diagnosis: Diagnosis,
    profile: Profile,
    *,
    today: date,
    waivers: Sequence[Waiver] = (),
    baseline: Baseline | None = None,
    allow_unchecked: bool = False,
) -> Gate:
    """Hold a diagnosis against a profile."""
    evidence = {reading.symptom: reading for reading in diagnosis.findings}
    probability = {h.cause: h.probability for h in diagnosis.hypotheses}
    asked = profile.own_items or rules.checklists.get(profile.checklist, ())
    reasons = first_reasons(diagnosis.hypotheses)
    items = check_items(rules, profile.checklist, asked, evidence, probability, reasons)
    found = [*_items(profile, items, evidence), *_causes(rules, profile, diagnosis)]
    found = [replace(f, known=_is_known(f, baseline)) for f in found]
    found, warnings = _waived(found, waivers, diagnosis.run.path, today)
    fixed: tuple[str, ...] = ()
    if baseline is not None:
        failing = {f.fingerprint for f in found if f.outcome == "fail"}
        fixed = tuple(sorted({r for p, r in baseline.failures.items() if p not in failing}))
    return Gate(profile, _decision(found, profile, allow_unchecked), tuple(found), tuple(warnings), fixed)


def _decision(
    found: Sequence[GateFinding], profile: Profile, allow_unchecked: bool
) -> Literal["passed", "failed", "inconclusive"]:
    if any(f.blocks for f in found):
        return "failed"
    undecided = profile.unchecked == "inconclusive" and not allow_unchecked
    if undecided and any(f.outcome == "open" and f.level == "error" and f.waived is None for f in found):
        return "inconclusive"
    return "passed"


# -------------------------------------------------------------------------------------------- demands


def _items(profile: Profile, items: Sequence[CheckedItem], evidence: Evidence) -> Iterator[GateFinding]:
    for item in items:
        demand = profile.items.get(item.id, profile.items.get("*", "sound"))
        if demand != "ignore":
            yield _item(profile, item, demand, evidence)


def _item(profile: Profile, item: CheckedItem, demand: str, evidence: Evidence) -> GateFinding:
    rule = f"{profile.checklist}-{item.id}"
    must = demand == "pass"
    outcome: Literal["pass", "fail", "open"] = "open"
    if item.result is Result.FAILED or (
        item.result is Result.NOT_CHECKED and must and profile.unchecked == "fail"
    ):
        outcome = "fail"
    elif item.result is Result.PASSED:
        outcome = "pass"
    level: Literal["error", "note"] = "error" if outcome == "fail" or must else "note"
    places = [p for s in item.decided_by if s in evidence for p in evidence[s].where]
    why = item.why if item.result is not Result.NOT_CHECKED else f"Not checked: {item.why}"
    broken = [r.why for s in item.decided_by if (r := evidence.get(s)) and r.why.startswith(BROKEN)]
    return GateFinding(
        rule,
        item.title,
        outcome,
        level,
        why,
        item.check if outcome != "pass" else "",
        _own(places),
        item.decided_by,
        _fingerprint(rule, item.decided_by, places),
        error=broken[0] if broken else "",
    )


def _causes(rules: RuleBase, profile: Profile, diagnosis: Diagnosis) -> Iterator[GateFinding]:
    general = {g for h in diagnosis.hypotheses if h.probability >= 0.5 for g in h.generalises}
    for hypothesis in diagnosis.hypotheses:
        line = _line(profile, hypothesis)
        if line is not None and hypothesis.cause not in general:
            experimental = rules.causes[hypothesis.cause].status != "stable"
            yield _cause(hypothesis, "warning" if experimental else line.level)


def _line(profile: Profile, hypothesis: Hypothesis) -> CauseLine | None:
    fitting = (c for c in profile.causes if fnmatchcase(hypothesis.cause, c.match))
    return next((c for c in fitting if hypothesis.probability >= c.start), None)


def _cause(hypothesis: Hypothesis, level: Literal["error", "warning"]) -> GateFinding:
    places = [p for reason in hypothesis.reasons for p in reason.reading.where]
    symptoms = tuple(reason.reading.symptom for reason in hypothesis.reasons)
    first = hypothesis.reasons[0].reading.why if hypothesis.reasons else ""
    why = f"{percent(hypothesis.probability)}" + (f": {first}." if first else ".")
    do = hypothesis.remedies[0].do if hypothesis.remedies else ""
    return GateFinding(
        hypothesis.cause,
        hypothesis.title,
        "fail",
        level,
        why,
        do,
        _own(places),
        symptoms,
        _fingerprint(hypothesis.cause, (), places[:1]),
    )


def _own(places: Sequence[Place]) -> tuple[Place, ...]:
    """Where it shows: places in the run, else in the benchmark; each once."""
    mine = [p for p in places if p.side == "run" and p.file] or [p for p in places if p.file]
    return tuple(dict.fromkeys(mine))[:MOST_PLACES]


def _fingerprint(rule: str, symptoms: Sequence[str], places: Sequence[Place]) -> str:
    """The same while the same symptoms show in the same files: lines and values may move."""
    files = sorted({p.file for p in places if p.side == "run"})
    said = "\0".join((rule, *sorted(symptoms), "", *files))
    return hashlib.sha256(said.encode()).hexdigest()


def _is_known(found: GateFinding, baseline: Baseline | None) -> bool:
    return found.outcome == "fail" and baseline is not None and found.fingerprint in baseline.failures


# -------------------------------------------------------------------------------------------- waivers


def _waived(
    found: Sequence[GateFinding], waivers: Sequence[Waiver], path: str, today: date
) -> tuple[list[GateFinding], list[str]]:
    warnings: list[str] = []
    used: set[Waiver] = set()
    out = []
    for finding in found:
        fits = [w for w in waivers if _fits(w, finding, path)] if finding.outcome != "pass" else []
        holding = [w for w in fits if date.fromisoformat(w.expires) >= today]
        used.update(fits)
        out.append(replace(finding, waived=holding[0]) if holding else finding)
    for waiver in waivers:
        ends = date.fromisoformat(waiver.expires)
        if waiver not in used:
            warnings.append(f"{waiver.at}: the waiver of {waiver.rule} waives nothing here")
        elif ends < today:
            warnings.append(f"{waiver.at}: the waiver of {waiver.rule} expired on {waiver.expires}")
        elif ends <= today + SOON:
            warnings.append(
                f"{waiver.at}: the waiver of {waiver.rule} ({waiver.owner}) ends on {waiver.expires}"
            )
    return out, warnings


def _fits(waiver: Waiver, finding: GateFinding, path: str) -> bool:
    return fnmatchcase(finding.rule, waiver.rule) and (
        fnmatchcase(path, waiver.scope) or fnmatchcase(path.rstrip("/"), waiver.scope.rstrip("/"))
    )
