"""A diagnosis held against a profile: passed, failed or inconclusive.

What was not checked has not passed. A failure that is waived or stood in the baseline does not fail the gate,
and is still told.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Literal

from .checklist import check_items, first_reasons
from .model import (
    CauseLine,
    CheckedItem,
    ChecklistItem,
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
    rows = zip(asked, items, strict=True)
    found = [*_items(profile, rows, evidence, diagnosis), *_causes(rules, profile, diagnosis)]
    found = [replace(f, known=_is_known(f, baseline)) for f in found]
    unknown = _unknown(rules, profile, waivers)
    found, warnings = _waived(found, [w for w in waivers if w not in unknown], diagnosis.run.path, today)
    warnings = [*unknown.values(), *warnings]
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


def _items(
    profile: Profile,
    rows: Iterable[tuple[ChecklistItem, CheckedItem]],
    evidence: Evidence,
    diagnosis: Diagnosis,
) -> Iterator[GateFinding]:
    for asked, item in rows:
        demand = profile.items.get(item.id, profile.items.get("*", "sound"))
        if demand != "ignore":
            found = _item(profile, item, demand, evidence)
            if item.result is Result.FAILED:
                found = replace(found, check=_cure(asked, item, diagnosis))
            elif item.result is Result.NOT_CHECKED:
                found = replace(found, error=_crash(asked, evidence), command=item.command)
            yield found


def _cure(asked: ChecklistItem, item: CheckedItem, diagnosis: Diagnosis) -> str:
    """What to do against a failed item: the first remedy of the likeliest cause that has to do with it."""
    near = (
        h
        for h in sorted(diagnosis.hypotheses, key=lambda h: -h.probability)
        if h.cause in asked.causes or any(r.reading.symptom in item.decided_by for r in h.reasons)
    )
    return next((h.remedies[0].do for h in near if h.remedies), item.check)


def _crash(asked: ChecklistItem, evidence: Evidence) -> str:
    """Why a probe that decides an item failed; nothing when none did."""
    parts = (s for part in asked.parts for s in part.passes_on)
    readings = (evidence[s] for s in (*asked.passes_on, *asked.fails_on, *parts) if s in evidence)
    return next((r.why for r in readings if r.why.startswith(BROKEN)), "")


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
    # what somebody wrote, and can change, before what a curve shows: a log is seldom part of a repository
    ways = sorted(hypothesis.reasons, key=lambda r: bool(r.reading.series) or r.reading.step is not None)
    places = [p for reason in ways for p in reason.reading.where]
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
        if waiver not in used and ends < today:
            warnings.append(f"{waiver.at}: the waiver of {waiver.rule} expired and waives nothing here")
        elif waiver not in used:
            warnings.append(f"{waiver.at}: the waiver of {waiver.rule} waives nothing here")
        elif ends < today:
            warnings.append(f"{waiver.at}: the waiver of {waiver.rule} expired on {waiver.expires}")
        elif ends <= today + SOON:
            warnings.append(
                f"{waiver.at}: the waiver of {waiver.rule} ({waiver.owner}) ends on {waiver.expires}"
            )
    return out, warnings


def _unknown(rules: RuleBase, profile: Profile, waivers: Sequence[Waiver]) -> dict[Waiver, str]:
    """Waivers of rules that there are not: mistyped, or gone from the rules."""
    names = [*rules.causes, *(f"{profile.checklist}-{item.id}" for item in profile.own_items)]
    names += [f"{name}-{item.id}" for name, items in rules.checklists.items() for item in items]
    out = {}
    for waiver in waivers:
        if not any(fnmatchcase(name, waiver.rule) for name in names):
            near = get_close_matches(waiver.rule, names, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            out[waiver] = f"{waiver.at}: there is no item or cause {waiver.rule}{hint}"
    return out


def _fits(waiver: Waiver, finding: GateFinding, path: str) -> bool:
    return fnmatchcase(finding.rule, waiver.rule) and (
        fnmatchcase(path, waiver.scope) or fnmatchcase(path.rstrip("/"), waiver.scope.rstrip("/"))
    )
