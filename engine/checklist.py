"""The checklist: Passed, Failed or Not checked. What was not looked at has not passed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .model import CheckedItem, ChecklistItem, Evidence, Result, RuleBase, State
from .words import listed, percent, sentence

FAILED_FROM = 0.5
PASSED_UP_TO = 0.05 + 1e-9  # the smallest probability that still counts as 0.05 after rounding
NOTHING_READ = "Nothing that decides it could be read."


def check_all(
    rules: RuleBase, name: str, evidence: Evidence, probability: Mapping[str, float]
) -> tuple[CheckedItem, ...]:
    """Return the results of a checklist's items, in its order; nothing when there is no such checklist."""
    return tuple(_check(rules, item, evidence, probability) for item in rules.checklists.get(name, ()))


def _check(
    rules: RuleBase, item: ChecklistItem, evidence: Evidence, probability: Mapping[str, float]
) -> CheckedItem:
    seen = _read_as(evidence, item.fails_on, State.PRESENT)
    causes = [c for c in item.causes if c in probability]
    blamed = [c for c in causes if probability[c] >= FAILED_FROM and rules.causes[c].status == "stable"]
    if seen or blamed:
        why = [sentence(evidence[s].why) for s in seen]
        why += [f"{rules.causes[c].title}: {percent(probability[c])}." for c in blamed]
        return CheckedItem(item.id, item.title, Result.FAILED, " ".join(why), (*seen, *blamed), item.check)
    clear = _read_as(evidence, item.passes_on, State.ABSENT)
    open_causes = [c for c in causes if probability[c] > PASSED_UP_TO]
    if clear and not open_causes:
        why = [sentence(evidence[s].why) for s in clear]
        return CheckedItem(item.id, item.title, Result.PASSED, " ".join(why), tuple(clear), item.check)
    why_not = _why_open(rules, open_causes, probability) if clear else NOTHING_READ
    return CheckedItem(item.id, item.title, Result.NOT_CHECKED, why_not, (), item.check)


def _read_as(evidence: Evidence, symptoms: Sequence[str], state: State) -> list[str]:
    return [s for s in symptoms if s in evidence and evidence[s].state is state]


def _why_open(rules: RuleBase, causes: Sequence[str], probability: Mapping[str, float]) -> str:
    named = listed([f"“{rules.causes[c].title}” ({percent(probability[c])})" for c in causes])
    return f"Nothing failed, but {named} cannot be ruled out."
