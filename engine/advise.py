"""What to do next: the looks that tell the leading causes apart, and remedies in order of promise."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .explain import posteriors, with_state
from .graph import Path
from .infer import Belief, Floats, applies, sigmoid, up_of
from .model import Evidence, Hypothesis, NextCheck, Reading, Remedy, RuleBase, Scalar, State, Subject, Symptom
from .words import listed, percent
from .workflow import Order

LEADING = 8  # causes whose uncertainty counts
IN_QUESTION = 0.03  # probability from which a cause is worth a look
ANSWER = 0.5  # probability from which a cause is named as the answer
RAISED = 1.5  # times its prior, from which a cause has something that speaks for it
MOST = 8  # checks that are worth listing
MIN_GAIN = 0.01  # bits
BAND = 0.1  # share by which two checks may differ and still promise about the same
TELLING = 0.2  # change of log-odds that is worth a word
LACKS_BENCHMARK = "--benchmark"  # what a reading says that only lacks the benchmark
FIND_BENCHMARK = 15.0  # minutes to find a fit benchmark and fetch its directory
POLICIES = "policies"  # the area of symptoms that the training of policies shows
SUSPECT = "the suspected operator"  # how a rule calls the one that readings name
_API = re.compile(r"^(?:Functional|Tensor|Torch|NPU|Distributed|Module|Cell|Mint|MintFunctional|VF|Aten)\.")
AT_ONCE = 16  # what-if questions per call: they share the arrows that have to be iterated


def in_question(hypotheses: Sequence[Hypothesis]) -> list[str]:
    """Return the causes whose uncertainty counts, from all in their order.

    Where one is the answer, those that nothing seen speaks for are out of question, common as they are:
    a run of operator dumps alone is not asked for its learning rate.
    """
    first = [h for h in hypotheses[:LEADING] if h.probability >= IN_QUESTION]
    if first and first[0].probability >= ANSWER:
        return [h.cause for h in first if h.probability > RAISED * h.prior]
    return [h.cause for h in first]


@dataclass(frozen=True, slots=True)
class Looked:
    """What remedies depend on, the same for all causes of a diagnosis."""

    evidence: Evidence
    present: frozenset[str]
    policies: frozenset[str]  # symptoms of the training of a policy; none where one of them was looked at

    @classmethod
    def at(cls, evidence: Evidence, symptoms: Mapping[str, Symptom]) -> Looked:
        """Make it of the readings."""
        present = frozenset(s for s, reading in evidence.items() if reading.state is State.PRESENT)
        policies = frozenset(s for s, rule in symptoms.items() if rule.area == POLICIES)
        return cls(evidence, present, frozenset() if _of_policy(symptoms, evidence) else policies)


def remedies(
    known: Sequence[Remedy], facts: Mapping[str, Scalar], looked: Looked | None = None
) -> tuple[Remedy, ...]:
    """Return remedies by chance that they work per cost; none that does not apply, or that was done already.

    First those that clear what is seen, last those of which nothing that they clear is there. What is done
    for a policy is offered where something of one was looked at.
    """
    looked = looked or Looked({}, frozenset(), frozenset())
    evidence = looked.evidence
    fit = [r for r in known if all(applies(c, facts.get(f)) for f, c in r.applies_when.items())]
    if looked.policies:
        fit = [r for r in fit if not r.clears or not looked.policies.issuperset(r.clears)] or fit
    left = [r for r in fit if not looked.present.intersection(r.done_by)] or fit
    # a setting that is changed for something that was looked at and is not there
    left = [r for r in left if not (r.patch and _beside_the_point(r, evidence) == NOT_THERE)] or left
    return tuple(sorted(left, key=lambda r: (_beside_the_point(r, evidence), -r.works / (1.0 + r.minutes))))


NOT_THERE = 2


def _beside_the_point(remedy: Remedy, evidence: Evidence) -> int:
    """0: it clears what is seen, or what it clears is not named; 2: all that it clears is absent; 1: else."""
    states = {evidence[s].state if s in evidence else State.UNKNOWN for s in remedy.clears}
    return 0 if not states or State.PRESENT in states else NOT_THERE if states == {State.ABSENT} else 1


def next_checks(
    rules: RuleBase,
    belief: Belief,
    evidence: Evidence,
    leading: Sequence[str],
    paths: Mapping[str, Mapping[str, Path]],
    order: Order,
    beside: Mapping[str, float],
) -> tuple[NextCheck, ...]:
    """Return the unknown symptoms worth a look, best first: expected entropy drop / (1 + minutes).

    Of checks that promise about the same (within `BAND`) the one comes first whose step comes first in the
    documented flow. All checks that only lack a benchmark are one action: the best of them stands for it.
    `beside`: cause -> log-odds that are added to what the network believes, before and after an answer alike.
    """
    candidates = _candidates(rules, evidence, leading, paths)
    subject = _subject(evidence, paths[leading[0]]) if leading else None
    rows = [belief.network.causes.index(c) for c in leading]
    added = np.array([beside.get(c, 0.0) for c in belief.network.causes])
    present, absent = _what_if(belief, candidates, 1), _what_if(belief, candidates, -1)
    gain = _gains(belief, candidates, rows, present, absent)
    checks, place = [], {}
    for i, name in enumerate(candidates):
        symptom = rules.symptoms[name]
        if gain[i] < MIN_GAIN:
            continue
        place[name] = order.of(name, next((c for c in leading if name in paths[c]), None))
        checks.append(
            NextCheck(
                name,
                symptom.title,
                _about(symptom.how or symptom.question or "", subject),
                symptom.minutes + (FIND_BENCHMARK if _lacks_benchmark(evidence.get(name)) else 0.0),
                float(gain[i]),
                _meaning(rules, leading, rows, belief.log_odds + added, present[:, i] + added),
                _meaning(rules, leading, rows, belief.log_odds + added, absent[:, i] + added),
                place[name][2],
            )
        )
    ranked = by_promise(checks, {name: (flow, step) for name, (flow, step, _) in place.items()})
    return _one_per_action(ranked, evidence)[:MOST]


def _subject(evidence: Evidence, shown: Mapping[str, Path]) -> Subject | None:
    """The operator that the readings that speak for a cause name, if any does."""
    seen = (evidence[s] for s in shown if s in evidence)
    return next((r.subject for r in seen if r.state is State.PRESENT and r.subject is not None), None)


def _about(text: str, subject: Subject | None) -> str:
    """Name the operator where a check speaks of the suspected one, and say how to dump it alone."""
    if subject is None or SUSPECT not in text:
        return text
    keys = ['"task": "tensor"', f'"list": ["{subject.operator}"]']
    keys += [f'"rank": [{subject.rank}]'] * (subject.rank is not None)
    keys += [f'"step": [{subject.step or 0:g}]'] * (subject.step is not None)
    dumped = f". In msprobe: `{', '.join(keys)}`" if _API.match(subject.operator) else ""
    return text.replace(SUSPECT, str(subject)) + dumped


def by_promise(checks: Sequence[NextCheck], place: Mapping[str, tuple[int, int]]) -> list[NextCheck]:
    """Return checks by expected gain per time; a run of about equal ones in the order of the flow.

    A run begins with the best that is left and takes in all that promise at least `1 - BAND` of it.
    """
    left = sorted(checks, key=lambda c: (-_promise(c), c.symptom))
    found: list[NextCheck] = []
    while left:
        least = _promise(left[0]) * (1.0 - BAND)
        alike = [c for c in left if _promise(c) >= least]
        found += sorted(alike, key=lambda c: (place[c.symptom], -_promise(c), c.symptom))
        left = left[len(alike) :]
    return found


def _promise(check: NextCheck) -> float:
    """Expected gain in bits per minute, a minute being added for the thought of it."""
    return check.gain / (1.0 + check.minutes)


def _candidates(
    rules: RuleBase, evidence: Evidence, leading: Sequence[str], paths: Mapping[str, Mapping[str, Path]]
) -> list[str]:
    """Unknown symptoms that a leading cause shows and whose rule says how somebody can look.

    Of policies only where one is known to be trained: any other run has no reward to look at.
    """
    reachable = sorted({s for cause in leading for s in paths[cause] if _askable(rules.symptoms[s])})
    policy = _of_policy(rules.symptoms, evidence)
    asked = [s for s in reachable if policy or not _is_of_policy(rules.symptoms, s)]
    return [s for s in asked if s not in evidence or _open(evidence[s])]


def _of_policy(symptoms: Mapping[str, Symptom], evidence: Evidence) -> bool:
    """Whether something that the training of a policy shows was looked at."""
    return any(r.state is not State.UNKNOWN and _is_of_policy(symptoms, s) for s, r in evidence.items())


def _is_of_policy(symptoms: Mapping[str, Symptom], symptom: str) -> bool:
    return symptom in symptoms and symptoms[symptom].area == POLICIES


def _askable(symptom: Symptom) -> bool:
    return bool(symptom.how or symptom.question)


def _open(reading: Reading) -> bool:
    asked = reading.state is State.UNKNOWN and not reading.answered
    return asked and not reading.why.startswith("probe error")


def _what_if(belief: Belief, symptoms: Sequence[str], sign: int) -> Floats:
    """Return (causes, symptoms): posterior log-odds if each symptom alone were read as given."""
    answers = [
        posteriors(belief, [with_state(belief, s, sign) for s in symptoms[i : i + AT_ONCE]])
        for i in range(0, len(symptoms), AT_ONCE)
    ]
    return np.concatenate([np.zeros((len(belief.network.causes), 0)), *answers], axis=1)


def _gains(
    belief: Belief, candidates: Sequence[str], rows: Sequence[int], present: Floats, absent: Floats
) -> Floats:
    """Expected drop of the leading causes' entropy, in bits, per candidate."""
    number = {s: i + belief.network.first_symptom for i, s in enumerate(belief.network.symptoms)}
    chance = sigmoid(up_of(belief.network, belief.messages.pi)[:, 0])[[number[s] for s in candidates]]
    now = _entropy(belief.log_odds[list(rows)][:, None])
    drop = now - chance * _entropy(present[list(rows)]) - (1.0 - chance) * _entropy(absent[list(rows)])
    return np.maximum(drop, 0.0)


def _entropy(odds: Floats) -> Floats:
    """Sum over causes (first axis) of the binary entropy in bits."""
    p = np.clip(sigmoid(odds), 1e-12, 1.0 - 1e-12)
    return np.asarray(-(p * np.log2(p) + (1.0 - p) * np.log2(1.0 - p)).sum(axis=0), dtype=np.float64)


def _meaning(rules: RuleBase, leading: Sequence[str], rows: Sequence[int], now: Floats, after: Floats) -> str:
    """Say which leading causes an answer raises and lowers, by all causes’ log-odds now and after it."""
    change = [(float(after[r] - now[r]), c, r) for c, r in zip(leading, rows, strict=True)]
    told = [x for x in change if abs(x[0]) >= TELLING and _moves(_shift(now, after, x[2]))]
    up = sorted((x for x in told if x[0] > 0), key=lambda x: (-x[0], x[1]))[:2]
    down = sorted((x for x in told if x[0] < 0), key=lambda x: (x[0], x[1]))[:2]

    def named(some: Sequence[tuple[float, str, int]]) -> str:
        return listed(
            [f"“{rules.causes[c].title}” ({' → '.join(_shift(now, after, r))})" for _, c, r in some]
        )

    parts = [f"speaks for {named(up)}"] * bool(up) + [f"speaks against {named(down)}"] * bool(down)
    return "; ".join(parts) or "changes little"


def _shifted(title: str, shift: tuple[str, str]) -> str:
    return f"“{title}” ({shift[0]} → {shift[1]})"


def _shift(now: Floats, after: Floats, row: int) -> tuple[str, str]:
    before, then = sigmoid(np.array([now[row], after[row]])).tolist()
    return percent(before), percent(then)


def _moves(shift: tuple[str, str]) -> bool:
    """Whether a change is one in the digits that are shown."""
    return shift[0] != shift[1]


def _lacks_benchmark(reading: Reading | None) -> bool:
    return reading is not None and LACKS_BENCHMARK in reading.why


def _one_per_action(checks: Sequence[NextCheck], evidence: Evidence) -> tuple[NextCheck, ...]:
    """Keep the best of the checks that ask for the same thing."""
    best: dict[str, NextCheck] = {}
    for check in checks:
        action = LACKS_BENCHMARK if _lacks_benchmark(evidence.get(check.symptom)) else check.do
        best.setdefault(action, check)
    return tuple(best.values())
