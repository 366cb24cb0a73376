"""Readings in, diagnosis out: the one entrance to the engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from . import advise, as_good, caution, experience, explain, found
from .checklist import check_all, first_reasons
from .graph import Path, active_causes, outline, strongest_paths
from .infer import Belief, believe, sigmoid
from .model import Diagnosis, Evidence, Hypothesis, Reading, RuleBase, RunInfo, Scalar, State
from .workflow import Order, standing

RAISED = 0.3  # from here on a special cause and its general one are told as one chain
USUAL = 0.1  # leak from which a symptom is no surprise
EXPLAINED = 8  # hypotheses that get their readings weighed


def posterior(
    rules: RuleBase, states: Mapping[str, State], context: Mapping[str, Scalar] | None = None
) -> dict[str, float]:
    """Return the probability of every cause, given the states of some symptoms."""
    return believe(rules, states, context).probability


def ranked(rules: RuleBase, probability: Mapping[str, float]) -> list[str]:
    """Return the causes, most probable first, ties by id.

    Raised causes that refine one another stand together where their most probable one belongs, the special
    before the general.
    """
    order = sorted(probability, key=lambda c: (-probability[c], c))
    general = {c: _raised_generals(rules, probability, c) for c in order}
    block = {c: frozenset({c}) for c in order}
    for special in order:
        for other in general[special]:
            union = block[special] | block[other]
            for member in union:
                block[member] = union
    depth = {c: _depth(general, c) for c in order}
    placed: dict[str, None] = {}
    for cause in order:
        members = sorted(block[cause], key=lambda c: (-depth[c], -probability[c], c))
        placed.update(dict.fromkeys(members))
    return list(placed)


def _raised_generals(rules: RuleBase, probability: Mapping[str, float], cause: str) -> tuple[str, ...]:
    if probability[cause] < RAISED:
        return ()
    return tuple(g for g in rules.causes[cause].refines if probability.get(g, 0.0) >= RAISED and g != cause)


def _depth(general: Mapping[str, Sequence[str]], cause: str, above: tuple[str, ...] = ()) -> int:
    """How many steps of generalisation lead up from a cause (circles are cut)."""
    up = [g for g in general[cause] if g not in above]
    return 1 + max((_depth(general, g, (*above, cause)) for g in up), default=-1)


def diagnose(
    rules: RuleBase,
    evidence: Evidence,
    *,
    run: RunInfo,
    benchmark: RunInfo | None = None,
    repeats: Sequence[RunInfo] = (),
    checklist: str = "ascend",
    context: Mapping[str, Scalar] | None = None,
) -> Diagnosis:
    """Infer, explain and advise.

    `evidence` maps symptoms to readings (missing ones are unknown); `context` holds facts that causes may
    depend on (default: those of the run); `checklist` names the checklist to fill in.
    """
    findings = {s: evidence.get(s) or _unread(s) for s in sorted(rules.symptoms)}
    seen = [s for s, r in findings.items() if r.state is State.PRESENT]
    facts = run.context if context is None else context
    belief = believe(rules, {s: r.state for s, r in findings.items()}, facts)
    back = found.lifted(rules, belief)
    added = experience.added(rules, belief, back, experience.measured(findings))
    given = experience.together(back, added)
    good = {c: -odds for c, odds in as_good.held(rules, belief, given).items()}
    given = experience.together(given, good)
    taken = {c: -odds for c, odds in caution.held(rules, belief, given).items()}
    beside = {found.NAME: back, experience.NAME: added, as_good.NAME: good, caution.NAME: taken}
    given = experience.together(given, taken)
    probability = caution.believed(belief, given)
    work = _Work(rules, findings, belief, beside, probability, _all_paths(rules), facts)
    order = ranked(rules, probability)
    names = {checklist, *(s.checklist for flow in rules.flows for s in flow.steps if s.checklist)}
    hypotheses = work.hypotheses(order)
    leading = advise.in_question(hypotheses)
    reasons = first_reasons(hypotheses)
    checked = {name: check_all(rules, name, findings, probability, reasons) for name in sorted(names)}
    return Diagnosis(
        run=run,
        benchmark=benchmark,
        hypotheses=hypotheses,
        findings=tuple(findings.values()),
        checklist=checked[checklist],
        next_checks=advise.next_checks(
            rules, belief, findings, leading, work.paths, Order(rules, benchmark is not None), given
        ),
        unexplained=explain.unexplained(belief),
        conflict=explain.conflict(belief),
        converged=belief.converged,
        rules_version=rules.version,
        not_evaluated=_not_evaluated(rules, evidence),
        packs=rules.packs,
        titles=_titles(rules),
        repeats=tuple(repeats),
        checklist_name=checklist,
        checklist_head=rules.heads.get(checklist),
        workflow=standing(rules, findings, checked, facts, benchmark is not None),
        instead={s: code for s in seen if (code := rules.symptoms[s].instead)},
        grave=tuple(s for s in seen if rules.symptoms[s].grave),
        caveats=tuple(s for s in seen if rules.symptoms[s].caveat),
    )


@dataclass(frozen=True, slots=True)
class _Work:
    """What the hypotheses of one diagnosis share."""

    rules: RuleBase
    findings: Evidence
    belief: Belief
    beside: Mapping[str, Mapping[str, float]]  # what is added beside the network: name -> cause -> log-odds
    probability: Mapping[str, float]  # of every cause, with what is added
    paths: Mapping[str, Mapping[str, Path]]
    facts: Mapping[str, Scalar]

    def _surprises(self, symptom: str) -> bool:
        """What shows by itself in one run of ten needs no cause that explains it."""
        rule = self.rules.symptoms.get(symptom)
        return rule is None or rule.leak < USUAL

    def hypotheses(self, order: Sequence[str]) -> tuple[Hypothesis, ...]:
        """Return all causes in this order; the first ones with their readings weighed."""
        surprising = {s: r for s, r in self.findings.items() if self._surprises(s)}
        explained, first = order[:EXPLAINED], explain.earliest(surprising)
        read = [s for s, r in self.findings.items() if r.state is not State.UNKNOWN]
        near = [s for s in read if any(s in self.paths[c] for c in explained)]
        weight = explain.weights(self.belief, near)
        reasons = {c: explain.reasons(self.findings, c, self.paths[c], weight) for c in explained}
        looked = advise.Looked.at(self.findings, self.rules.symptoms)
        return tuple(self._hypothesis(c, reasons.get(c, explain.Reasons()), first, looked) for c in order)

    def _hypothesis(
        self, cause: str, reasons: explain.Reasons, first: Sequence[str], looked: advise.Looked
    ) -> Hypothesis:
        rule, belief = self.rules.causes[cause], self.belief
        row = belief.network.causes.index(cause)
        parts = explain.contributions(belief, cause)
        parts |= {name: odds[cause] for name, odds in self.beside.items() if cause in odds}
        return Hypothesis(
            cause=cause,
            title=rule.title,
            summary=rule.summary,
            probability=self.probability[cause],
            prior=float(sigmoid(belief.case.prior)[row]),
            contributions=parts,
            reasons=reasons.speak_for,
            against=reasons.against,
            remedies=advise.remedies(rule.remedies, self.facts, looked),
            generalises=_raised_generals(self.rules, self.probability, cause),
            unexplained_earliest=explain.misses_earliest(first, self.paths[cause]),
        )


def _all_paths(rules: RuleBase) -> dict[str, dict[str, Path]]:
    graph = outline(rules)
    return {c.id: strongest_paths(graph, c.id) for c in active_causes(rules)}


def _unread(symptom: str) -> Reading:
    return Reading(symptom, State.UNKNOWN, "it was not read")


def _not_evaluated(rules: RuleBase, evidence: Evidence) -> tuple[tuple[str, str], ...]:
    crashed = [(s, evidence[s].why) for s in sorted(evidence) if evidence[s].why.startswith("probe error")]
    foreign = [(s, "the rules have no such symptom") for s in sorted(evidence) if s not in rules.symptoms]
    return (*crashed, *foreign, *(("rules", p) for p in rules.problems))


def _titles(rules: RuleBase) -> dict[str, str]:
    """Titles of all nodes, by id."""
    groups = (rules.causes, rules.mechanisms, rules.symptoms)
    return {n: group[n].title for group in groups for n in sorted(group)}
