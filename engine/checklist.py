"""The checklist: Passed, Failed or Not checked. What was not looked at has not passed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .model import (
    CheckedItem,
    ChecklistItem,
    ChecklistPart,
    Evidence,
    Hypothesis,
    Result,
    RuleBase,
    State,
)
from .words import listed, percent, sentence

FAILED_FROM = 0.5
PASSED_UP_TO = 0.05 + 1e-9  # the smallest probability that still counts as 0.05 after rounding
NOTHING_READ = "Nothing that decides it could be read."
MOST_SAID = 2  # sentences of one kind that a result is told with


def check_all(
    rules: RuleBase,
    name: str,
    evidence: Evidence,
    probability: Mapping[str, float],
    reasons: Mapping[str, str] | None = None,
) -> tuple[CheckedItem, ...]:
    """Return the results of a checklist's items, in its order; nothing when there is no such checklist."""
    return check_items(rules, name, rules.checklists.get(name, ()), evidence, probability, reasons)


def check_items(
    rules: RuleBase,
    name: str,
    items: Sequence[ChecklistItem],
    evidence: Evidence,
    probability: Mapping[str, float],
    reasons: Mapping[str, str] | None = None,
) -> tuple[CheckedItem, ...]:
    """Return the results of these items; `name` is their checklist's, for what other checklists call them.

    `reasons` maps causes to the reading that speaks for them most, as a sentence.
    """
    known = reasons or {}
    return tuple(
        _check(rules, name, item, evidence, probability, known, same_as(rules, name, item.id))
        for item in items
    )


def first_reasons(hypotheses: Iterable[Hypothesis]) -> dict[str, str]:
    """Return what speaks most for each cause that was explained."""
    return {h.cause: h.reasons[0].reading.why for h in hypotheses if h.reasons}


def same_as(rules: RuleBase, name: str, item: str) -> tuple[tuple[str, str], ...]:
    """Return (checklist, item) of the items of other checklists that ask for the same thing."""
    rows = [row for row in rules.crosswalk if item in row.items.get(name, ())]
    others = ((n, i) for row in rows for n, ids in row.items.items() if n != name for i in ids)
    return tuple(dict.fromkeys(others))


def _check(
    rules: RuleBase,
    name: str,
    item: ChecklistItem,
    evidence: Evidence,
    probability: Mapping[str, float],
    reasons: Mapping[str, str],
    same: tuple[tuple[str, str], ...],
) -> CheckedItem:
    def result(found: Result, why: str, decided_by: Iterable[str] = ()) -> CheckedItem:
        command = item.command or _answering(rules, name, item)
        return CheckedItem(item.id, item.title, found, why, tuple(decided_by), item.check, command, same)

    seen = _read_as(evidence, item.fails_on, State.PRESENT)
    causes = [c for c in item.causes if c in probability]
    blamed = [c for c in causes if probability[c] >= FAILED_FROM and rules.causes[c].status == "stable"]
    if seen or blamed:
        why = _sentences(evidence[s].why for s in seen)
        for c in blamed:
            because = "" if seen else reasons.get(c, "").strip().rstrip(".")
            why.append(
                f"{rules.causes[c].title}: {percent(probability[c])}{f' ({because})' if because else ''}."
            )
        return result(Result.FAILED, " ".join(why), (*seen, *blamed))
    parts = item.parts or (ChecklistPart("", item.passes_on),)
    clear = {part: _read_as(evidence, part.passes_on, State.ABSENT) for part in parts}
    if not all(clear.values()):
        return result(Result.NOT_CHECKED, _lacking(rules, item, clear, evidence))
    open_causes = [c for c in causes if probability[c] > PASSED_UP_TO]
    if open_causes:
        return result(Result.NOT_CHECKED, _why_open(rules, open_causes, probability))
    found = list(dict.fromkeys(s for some in clear.values() for s in some))
    return result(Result.PASSED, " ".join(_said(part, some, evidence) for part, some in clear.items()), found)


def _answering(rules: RuleBase, name: str, item: ChecklistItem) -> str:
    """The command that takes a person's word, for an item of our lists that nothing else decides."""
    known = [s for s in item.passes_on if s in rules.symptoms]
    if not known or not item.source or any(_has_probe(rules, s) for s in known):
        return ""
    return f"diagnose checklist RUN --list {name} --answer {known[0]}=absent"


def _read_as(evidence: Evidence, symptoms: Sequence[str], state: State) -> list[str]:
    return [s for s in symptoms if s in evidence and evidence[s].state is state]


def _said(part: ChecklistPart, symptoms: Sequence[str], evidence: Evidence) -> str:
    """What cleared a part, in one or two sentences."""
    if not part.title:
        return " ".join(_sentences(evidence[s].why for s in symptoms))
    reasons = dict.fromkeys(evidence[s].why.strip().rstrip(".") for s in symptoms)
    return f"{part.title}: {'; '.join([*reasons][:MOST_SAID])}."


def _lacking(
    rules: RuleBase,
    item: ChecklistItem,
    clear: Mapping[ChecklistPart, Sequence[str]],
    evidence: Evidence,
) -> str:
    """What was missing to decide an item, part by part."""
    told = []
    for part, found in clear.items():
        if found:
            told.append(_said(part, found, evidence))
            continue
        wanted = part.passes_on if item.parts else (*item.passes_on, *item.fails_on)
        why = _missing(rules, wanted, part.passes_on, evidence)
        seen = _read_as(evidence, wanted, State.PRESENT)
        told.append(f"{part.title}{'' if seen else ', not known'}: {why}" if part.title and why else why)
    return " ".join(t for t in told if t) or NOTHING_READ


def _missing(rules: RuleBase, symptoms: Sequence[str], cleared_by: Sequence[str], evidence: Evidence) -> str:
    """Why these symptoms clear nothing: what was seen, or why they could not be read; the first reasons.

    What only a person can see is no reason, unless nothing else clears them (`cleared_by`).
    """
    if cleared_by and not any(_has_probe(rules, s) for s in cleared_by):
        asked = rules.symptoms[cleared_by[0]]
        return f"only a look tells: {asked.question or asked.title}"
    unread = [s for s in _read_as(evidence, symptoms, State.UNKNOWN) if _has_probe(rules, s)]
    unread = [*_read_as(evidence, symptoms, State.PRESENT), *unread]
    reasons = list(dict.fromkeys(evidence[s].why.strip().rstrip(".") for s in unread))[:MOST_SAID]
    return f"{'; '.join(reasons)}." if reasons else ""


def _has_probe(rules: RuleBase, symptom: str) -> bool:
    return symptom not in rules.symptoms or rules.symptoms[symptom].probe is not None


def _why_open(rules: RuleBase, causes: Sequence[str], probability: Mapping[str, float]) -> str:
    named = listed([f"“{rules.causes[c].title}” ({percent(probability[c])})" for c in causes])
    return f"Nothing failed, but {named} cannot be ruled out."


def _sentences(texts: Iterable[str]) -> list[str]:
    """Each text once, as a sentence; no more than a reader takes in."""
    found = list(dict.fromkeys(sentence(text) for text in texts))
    more = [f"And {len(found) - MOST_SAID} more."] if len(found) > MOST_SAID else []
    return found[:MOST_SAID] + more
