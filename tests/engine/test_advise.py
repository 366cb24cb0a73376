"""Advice: which look is worth its time, and which remedy comes first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import log2

import pytest

from traindoctor.engine.advise import MOST, Looked, remedies
from traindoctor.engine.diagnose import diagnose, posterior
from traindoctor.engine.load import load_rules
from traindoctor.engine.model import NextCheck, Reading, Remedy, RuleBase, RunInfo, State, Subject, Symptom

P, A, U = State.PRESENT, State.ABSENT, State.UNKNOWN
Make = Callable[..., RuleBase]


def with_symptoms(rules: RuleBase, *changed: Symptom) -> RuleBase:
    return replace(rules, symptoms={**rules.symptoms, **{s.id: s for s in changed}})


def asked(name: str, minutes: float, how: str | None = None) -> Symptom:
    return Symptom(
        name, f"Title of {name}", "test", 0.01, question=f"Is there {name}?", how=how, minutes=minutes
    )


@pytest.fixture
def rivals(make: Make) -> RuleBase:
    """Two causes of one symptom, and questions that tell them apart at different costs."""
    arrows = [
        ("a.x", "s", 0.8),
        ("a.y", "s", 0.8),
        ("a.x", "q1", 0.8),
        ("a.x", "q2", 0.8),
        ("a.y", "q3", 0.2),
    ]
    rules = make({"a.x": 0.05, "a.y": 0.05, "a.z": 0.05}, [*arrows, ("a.z", "far", 0.8)])
    return with_symptoms(
        rules, asked("q1", 60), asked("q2", 5, "Look at it"), asked("q3", 5), asked("far", 0)
    )


def checks(rules: RuleBase, *readings: Reading) -> tuple[NextCheck, ...]:
    return diagnose(rules, {r.symptom: r for r in readings}, run=RunInfo("run")).next_checks


def test_gain_per_minute_orders_checks(rivals: RuleBase) -> None:
    """Of two looks that tell the same, the quicker comes first; of two equally quick, the more telling."""
    order = [c.symptom for c in checks(rivals, Reading("s", P, "seen"), Reading("far", A, "not seen"))]

    assert order.index("q2") < order.index("q1")
    assert order.index("q2") < order.index("q3")


def test_gain_is_the_expected_drop_of_entropy(make: Make) -> None:
    """For one cause and one question the gain is the mutual information, worked out by hand."""

    def entropy(p: float) -> float:
        return -(p * log2(p) + (1 - p) * log2(1 - p))

    rules = with_symptoms(make({"a.x": 0.3}, [("a.x", "q", 0.8)]), asked("q", 5))
    on = 0.3 * (1 - 0.99 * 0.2) + 0.7 * 0.01
    after = {state: posterior(rules, {"q": state})["a.x"] for state in (P, A)}
    expected = entropy(0.3) - on * entropy(after[P]) - (1 - on) * entropy(after[A])

    assert checks(rules)[0].gain == pytest.approx(expected, abs=1e-5)


def test_a_check_says_what_answers_mean(rivals: RuleBase) -> None:
    """Either answer names the causes it speaks for and against, with the probabilities."""
    check = next(c for c in checks(rivals, Reading("s", P, "seen")) if c.symptom == "q2")

    assert check.do == "Look at it"
    assert check.minutes == 5
    assert check.if_present.startswith("speaks for “Title of a.x” (")
    assert "speaks against “Title of a.y” (" in check.if_present
    assert check.if_absent.startswith("speaks for “Title of a.y” (")
    assert "speaks against “Title of a.x” (" in check.if_absent


def test_only_open_questions(rivals: RuleBase) -> None:
    """What was read, and what no look can help (a crashed probe), is not asked."""
    crashed = Reading("q2", U, "probe error: ValueError: x")

    found = {c.symptom for c in checks(rivals, Reading("s", P, "seen"), Reading("q1", A, "no"), crashed)}

    assert found == {"q3"}


def test_what_nothing_speaks_for_is_out_of_question(rivals: RuleBase) -> None:
    """Once a cause is the answer, another at its prior is not asked about; before that it is."""
    seen = (Reading("s", P, "seen"), Reading("q1", P, "yes"))

    assert "far" in {c.symptom for c in checks(rivals)}
    assert "far" not in {c.symptom for c in checks(rivals, *seen)}


def test_a_check_names_the_suspected_operator(rivals: RuleBase) -> None:
    """Where a reading names an operator, a check of the suspected one says which, and of what dump."""
    rules = with_symptoms(rivals, asked("q2", 5, "Run the suspected operator alone"))
    subjects = (Subject("Torch.div.0.forward", 3.0, 1), None)

    def told(reading: Reading) -> str:
        return next(c.do for c in checks(rules, reading) if c.symptom == "q2")

    named, unnamed = (told(replace(Reading("s", P, "seen"), subject=s)) for s in subjects)
    assert named == (
        'Run Torch.div.0.forward, rank 1, step 3 alone. In msprobe: `"task": "tensor",'
        ' "list": ["Torch.div.0.forward"], "rank": [1], "step": [3]`'
    )
    assert unnamed == "Run the suspected operator alone"


def test_policies_are_asked_about_where_one_is_trained(rivals: RuleBase) -> None:
    """A run without any reading of a policy is not asked for its rewards."""
    of_policies = [replace(asked(n, 5), area="policies") for n in ("q2", "return")]
    rules = with_symptoms(rivals, *of_policies)
    seen = Reading("s", P, "seen")

    assert "q2" not in {c.symptom for c in checks(rules, seen)}
    assert "q2" in {c.symptom for c in checks(rules, seen, Reading("return", A, "it rises"))}


def test_only_what_somebody_can_do_is_a_check(make: Make) -> None:
    """A symptom whose rule neither asks nor says how to look is no check: nobody would know what to do."""
    rules = make({"a.x": 0.05}, [("a.x", "s", 0.8), ("a.x", "t", 0.8), ("a.x", "u", 0.5)])
    rules = with_symptoms(rules, asked("u", 5, "Look at it"))

    found = checks(rules, Reading("s", P, "seen"), Reading("t", U, "lacking"), Reading("u", U, "lacking"))

    assert [(c.symptom, c.do) for c in found] == [("u", "Look at it")]


def test_what_lacks_a_benchmark_is_one_action(make: Make) -> None:
    """Several looks that only need the benchmark are one check, and it costs finding a benchmark."""
    rules = make({"a.x": 0.3}, [("a.x", s, 0.8) for s in ("s", "t", "u")])
    rules = with_symptoms(rules, *(asked(s, 5, f"Do {s}") for s in ("s", "t", "u")))
    lacking = [Reading(s, U, "needs a benchmark run (--benchmark)") for s in ("s", "t")]

    found = checks(rules, *lacking)

    assert [(c.symptom, c.minutes) for c in found] == [("u", 5.0), ("s", 20.0)]


def test_nothing_in_question_nothing_to_check(make: Make) -> None:
    """When no cause is in question there is nothing to look at."""
    rules = with_symptoms(make({"a.x": 0.01}, [("a.x", "s", 0.8), ("a.x", "q", 0.8)]), asked("q", 1))

    assert checks(rules, Reading("s", A, "not seen")) == ()


def test_the_list_is_short(make: Make) -> None:
    """Never more checks than anybody reads."""
    names = [f"q{i:02}" for i in range(20)]
    rules = make({"a.x": 0.3}, [("a.x", q, 0.5) for q in names])
    rules = with_symptoms(rules, *(asked(q, 5, f"Do {q}") for q in names))

    assert len(checks(rules)) == MOST


def test_remedies_by_promise() -> None:
    """A remedy that works as often but costs less comes first; equals keep the rule's order."""
    slow, quick = Remedy("slow", 60, 0.8), Remedy("quick", 5, 0.5)
    twins = Remedy("one", 10, 0.5), Remedy("two", 10, 0.5)

    assert [r.do for r in remedies([slow, *twins, quick], {})] == ["quick", "one", "two", "slow"]


def test_remedies_that_clear_what_is_seen_come_first() -> None:
    """Then what nobody could look at, and last what clears only what is not there."""
    quick = Remedy("quick", 5, 0.9, clears=("hidden", "elsewhere"))
    open_one = Remedy("open", 5, 0.5, clears=("hidden", "not-read"))
    slow = Remedy("slow", 60, 0.5, clears=("seen", "hidden"))
    states = {"seen": State.PRESENT, "hidden": State.ABSENT, "elsewhere": State.ABSENT}
    evidence = {name: Reading(name, state, "why") for name, state in states.items()}

    found = remedies([quick, open_one, slow], {}, Looked.at(evidence, {}))

    assert [r.do for r in found] == ["slow", "open", "quick"]
    assert [r.do for r in remedies([quick, open_one, slow], {})] == ["quick", "open", "slow"]


def test_a_remedy_that_cannot_apply_is_not_offered() -> None:
    """An optimizer's epsilon for fp16 is no advice to a run in fp32; what is unknown rules nothing out."""
    half = Remedy("raise epsilon", 5, 0.5, applies_when={"precision": "fp16"})
    either = Remedy("find the first NaN", 10, 0.5)

    assert [r.do for r in remedies([half, either], {"precision": "fp32"})] == ["find the first NaN"]
    assert len(remedies([half, either], {"precision": "fp16"})) == 2
    assert len(remedies([half, either], {})) == 2


def test_what_was_done_already_is_not_offered() -> None:
    """A comparison that is there need not be made; a cause is never left without a remedy."""
    dump = Remedy("compare dumps", 120, 0.8, done_by=("named",))
    swap = Remedy("replace it", 30, 0.5)

    def said(state: State) -> list[str]:
        return [
            r.do for r in remedies([dump, swap], {}, Looked.at({"named": Reading("named", state, "")}, {}))
        ]

    assert said(P) == ["replace it"]
    assert said(A) == said(U) == ["replace it", "compare dumps"]
    assert [r.do for r in remedies([dump], {}, Looked.at({"named": Reading("named", P, "")}, {}))] == [
        "compare dumps"
    ]


def test_remedies_of_policies_are_for_policies() -> None:
    """Where nothing of a policy was looked at, nothing is said of them."""
    rules = load_rules()
    known = rules.causes["hyperparameter.regularization-too-weak"].remedies

    def offered(symptom: str) -> bool:
        evidence = {symptom: Reading(symptom, P, "")}
        return any("policy" in r.do for r in remedies(known, {}, Looked.at(evidence, rules.symptoms)))

    assert not offered("eval-loss-turns-up")
    assert offered("policy-leaves-reference")
