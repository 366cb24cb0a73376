"""The documented tuning flows: where a run stands in them, and which step a check belongs to.

A step is done when every look that it needs was made and found nothing. What could not be read leaves a look
open: no step is done for lack of evidence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .infer import applies
from .model import (
    CheckedItem,
    Evidence,
    Flow,
    FlowStanding,
    Look,
    LookStanding,
    Result,
    RuleBase,
    Scalar,
    State,
    Step,
    StepStanding,
)

MOST_SAID = 2  # readings that one look is told with
_OF_RESULT: Mapping[Result, str] = {Result.PASSED: "clear", Result.FAILED: "found"}


def standing(
    rules: RuleBase,
    evidence: Evidence,
    checklists: Mapping[str, Sequence[CheckedItem]],
    context: Mapping[str, Scalar],
    benchmark: bool,
) -> tuple[FlowStanding, ...]:
    """Return where a run stands in every flow.

    `checklists` holds the checklists as filled in for this run, `context` the facts that looks may depend on;
    `benchmark` says whether the run is held against one.
    """
    case = _Case(rules, evidence, checklists, context, benchmark)
    return tuple(FlowStanding(flow, case.steps(flow)) for flow in in_order(rules, benchmark))


def in_order(rules: RuleBase, benchmark: bool) -> list[Flow]:
    """Return the flows, first those made for runs with (or without) a benchmark."""
    return sorted(rules.flows, key=lambda flow: flow.compares is not benchmark)


def looked_at_in(rules: RuleBase) -> dict[str, list[tuple[Flow, int]]]:
    """Return symptom -> (flow, index of the step) of every step that looks at it, in their order."""
    found: dict[str, list[tuple[Flow, int]]] = {}
    for flow in rules.flows:
        for number, step in enumerate(flow.steps):
            items = rules.checklists.get(step.checklist or "", ())
            symptoms = [s for look in step.looks for s in look.symptoms]
            symptoms += [s for item in items for s in (*item.fails_on, *item.clearing)]
            for symptom in dict.fromkeys(symptoms):
                found.setdefault(symptom, []).append((flow, number))
    return found


class Order:
    """Where symptoms stand in the flows: by the step that looks at them, else by the step of their cause."""

    def __init__(self, rules: RuleBase, benchmark: bool) -> None:
        self._flows = in_order(rules, benchmark)
        self._looked_at = looked_at_in(rules)

    def of(self, symptom: str, cause: str | None) -> tuple[int, int, str]:
        """Return (flow, step, in words); what belongs to no step comes after everything."""
        found = self._looked_at.get(symptom) or self._about(cause)
        places = [(self._flows.index(flow), number) for flow, number in found]
        if not places:
            return len(self._flows), 0, ""
        first, number = min(places)
        flow = self._flows[first]
        return first, number, f"{flow.title}, step {number + 1}: {flow.steps[number].title}"

    def _about(self, cause: str | None) -> list[tuple[Flow, int]]:
        return [(f, n) for f in self._flows for n, step in enumerate(f.steps) if cause in step.causes]


class _Case:
    """One run's evidence, looked at step by step."""

    def __init__(
        self,
        rules: RuleBase,
        evidence: Evidence,
        checklists: Mapping[str, Sequence[CheckedItem]],
        context: Mapping[str, Scalar],
        benchmark: bool,
    ) -> None:
        self.rules = rules
        self.evidence = evidence
        self.checklists = checklists
        self.context = context
        self.benchmark = benchmark

    def steps(self, flow: Flow) -> tuple[StepStanding, ...]:
        made = [(step, self._looks(step)) for step in flow.steps]
        undone = [n for n, (_, looks) in enumerate(made) if not _done(looks)]
        first = undone[0] if undone else None
        return tuple(
            StepStanding(
                step, n + 1, "next" if n == first else "open" if n in undone else "done", tuple(looks)
            )
            for n, (step, looks) in enumerate(made)
        )

    def _looks(self, step: Step) -> list[LookStanding]:
        items = [_item(i) for i in self.checklists.get(step.checklist or "", ())]
        return items + [self._look(look) for look in step.looks]

    def _look(self, look: Look) -> LookStanding:
        unneeded = self._not_needed(look)
        if unneeded:
            return LookStanding(look.title, "not needed", unneeded)
        present = self._read(look.symptoms, State.PRESENT)
        absent = self._read((*look.clearing, *look.reads), State.ABSENT)
        if look.reads and (present or absent):
            return self._told(look, "clear", present or absent)
        if present:
            return self._told(look, "found", present)
        if absent and (not look.all or len(absent) == len(look.all)):
            return self._told(look, "clear", absent)
        return LookStanding(look.title, "open", self._missing(look))

    def _not_needed(self, look: Look) -> str:
        """Say why a look is not needed, or nothing."""
        if look.if_benchmark and not self.benchmark:
            return "only beside a benchmark"
        for fact, condition in look.applies_when.items():
            if not applies(condition, self.context.get(fact)):
                return f"{fact.replace('_', ' ')} is {self.context[fact]}"
        states = [self.evidence[s].state for s in look.only_after if s in self.evidence]
        if look.only_after and State.PRESENT not in states:
            return "only when what it explains was seen"
        return ""

    def _read(self, symptoms: Sequence[str], state: State) -> list[str]:
        return [s for s in symptoms if s in self.evidence and self.evidence[s].state is state]

    def _told(self, look: Look, state: str, symptoms: Sequence[str]) -> LookStanding:
        said = list(dict.fromkeys(self.evidence[s].why.rstrip(".") for s in symptoms))
        more = f"; and {len(said) - MOST_SAID} more" if len(said) > MOST_SAID else ""
        why = "; ".join(said[:MOST_SAID]) + more
        return LookStanding(look.title, "found" if state == "found" else "clear", why, tuple(symptoms))

    def _missing(self, look: Look) -> str:
        """Why a look is open: what it lacked, and how somebody can look."""
        left = [s for s in look.symptoms if s not in self._read(look.clearing, State.ABSENT)]
        lacking = [self.evidence[s].why for s in left if s in self.evidence and self.rules.symptoms[s].probe]
        how = [h for s in left if (h := self.rules.symptoms[s].how or self.rules.symptoms[s].question)]
        parts = [*dict.fromkeys(lacking)][:1] + [f"to look: {h}" for h in how[:1]]
        return "; ".join(parts) or "it was not read"


def _item(item: CheckedItem) -> LookStanding:
    state = _OF_RESULT.get(item.result, "open")
    why = f"{item.why} To check: {item.check}" if state == "open" and item.check else item.why
    title = f"Item {item.id}: {item.title}"
    if state == "clear":
        return LookStanding(title, "clear", why, item.decided_by)
    return LookStanding(title, "found" if state == "found" else "open", why, item.decided_by)


def _done(looks: Sequence[LookStanding]) -> bool:
    """Every needed look is clear, and there was at least one."""
    needed = [look.state for look in looks if look.state != "not needed"]
    return bool(needed) and all(state == "clear" for state in needed)
