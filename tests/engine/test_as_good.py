"""A run that ends as well as its benchmark has no bad setting: engine/as_good.py."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from traindoctor.engine import as_good
from traindoctor.engine.diagnose import diagnose
from traindoctor.engine.load import load_rules
from traindoctor.engine.model import AsGood, Hypothesis, Mechanism, Reading, RuleBase, RunInfo, State

Make = Callable[..., RuleBase]
GIVEN = AsGood(frozenset({"worse"}), frozenset({"hyperparameter"}), frozenset({"curves"}), 0.2)
PRESENT, ABSENT, UNKNOWN = State.PRESENT, State.ABSENT, State.UNKNOWN


@pytest.fixture
def base(make: Make) -> RuleBase:
    """A setting and a fault of the code, each with what was read of it and what it shows in curves."""
    causes = ("hyperparameter.rate", "graph.cut")
    arrows = [(c, s, 0.9) for c, s in zip(causes, ("rate-differs", "cut-seen"), strict=True)]
    arrows += [(c, s, 0.5) for c in causes for s in ("turns-up", "worse")]
    leaks = {"rate-differs": 0.002, "cut-seen": 0.002, "turns-up": 0.1, "worse": 0.25}
    rules = make(dict.fromkeys(causes, 0.05), arrows, leaks=leaks)
    curves = replace(rules.symptoms["turns-up"], area="curves")
    return replace(rules, symptoms={**rules.symptoms, "turns-up": curves}, as_good=GIVEN)


def first(rules: RuleBase, **states: State) -> Hypothesis:
    """The first hypothesis of these states."""
    evidence = {s.replace("_", "-"): Reading(s.replace("_", "-"), x, "read") for s, x in states.items()}
    return diagnose(rules, evidence, run=RunInfo("run")).hypotheses[0]


def test_a_setting_that_differs_is_no_cause_of_a_good_end(base: RuleBase) -> None:
    """It stays first, below one half, and the parts add up."""
    plain = first(replace(base, as_good=None), rate_differs=PRESENT, worse=ABSENT)
    found = first(base, rate_differs=PRESENT, worse=ABSENT)
    assert plain.probability > 0.8
    assert (found.cause, 0.4 < round(found.probability, 2) < 0.5) == ("hyperparameter.rate", True)
    assert found.contributions[as_good.NAME] < 0.0


@pytest.mark.parametrize(
    ("cause", "states"),
    [
        ("hyperparameter.rate", {"rate_differs": PRESENT, "worse": PRESENT}),
        ("hyperparameter.rate", {"rate_differs": PRESENT, "worse": UNKNOWN}),
        ("hyperparameter.rate", {"rate_differs": PRESENT, "worse": ABSENT, "turns_up": PRESENT}),
        ("graph.cut", {"cut_seen": PRESENT, "worse": ABSENT}),
    ],
)
def test_harm_that_shows_and_faults_of_the_code_are_told(
    base: RuleBase, cause: str, states: dict[str, State]
) -> None:
    """A worse or unknown end, harm in the curves, and causes of other kinds change nothing."""
    found = first(base, **states)
    assert found.cause == cause
    assert found.probability == pytest.approx(first(replace(base, as_good=None), **states).probability)
    assert found.probability > 0.5
    assert as_good.NAME not in found.contributions


def test_a_steady_pace_is_no_harm_where_the_end_is_as_good(base: RuleBase) -> None:
    """It is harm to see where the end is not known to be as good."""
    rules = replace(base, as_good=replace(GIVEN, pace=frozenset({"turns-up"})))
    states = {"rate_differs": PRESENT, "turns_up": PRESENT}
    assert 0.4 < first(rules, **states, worse=ABSENT).probability < 0.5
    assert first(rules, **states, worse=UNKNOWN).probability > 0.5
    assert first(base, **states, worse=ABSENT).probability > 0.5


def test_of_some_causes_less_is_asked(base: RuleBase) -> None:
    """A dropout that raises the training loss is not blamed where what is evaluated is no worse."""
    given = replace(
        GIVEN,
        asks=frozenset({"worse", "loss-above"}),
        asks_of={"hyperparameter.rate": frozenset({"worse"})},
    )
    leaky = {**base.symptoms, "loss-above": replace(base.symptoms["worse"], id="loss-above")}
    rules = replace(base, symptoms=leaky, as_good=given)
    states = {"rate_differs": PRESENT, "worse": ABSENT, "loss_above": PRESENT}
    assert 0.4 < first(rules, **states).probability < 0.5
    assert first(rules, **{**states, "worse": UNKNOWN}).probability > 0.5
    assert first(rules, **{**states, "turns_up": PRESENT}).probability > 0.5
    plain = replace(rules, as_good=replace(given, asks_of={}))
    assert first(plain, **states).probability > 0.5


def test_a_choice_is_named_whole_and_what_is_wrong_by_itself_is_told(base: RuleBase) -> None:
    """A cause of a kind that is not held back otherwise; a place of its own areas is harm enough."""
    kinds, areas = GIVEN.kinds | {"graph.cut"}, {"graph.cut": frozenset({"places"})}
    rules = replace(base, as_good=replace(GIVEN, kinds=kinds))
    states = {"cut_seen": PRESENT, "worse": ABSENT}
    assert 0.4 < first(rules, **states).probability < 0.5
    seen = {**base.symptoms, "cut-seen": replace(base.symptoms["cut-seen"], area="places")}
    rules = replace(rules, symptoms=seen)
    assert first(rules, **states).probability < 0.5
    told = replace(rules, as_good=replace(GIVEN, kinds=kinds, shown_of=areas))
    assert first(told, **states).probability > 0.5


def test_a_mechanism_that_only_the_comparison_shows_is_no_harm_in_the_curves(base: RuleBase) -> None:
    """What a mechanism leads to is looked at, not the mechanism."""
    cause = base.causes["hyperparameter.rate"]
    link = cause.shows[0]
    worse = Mechanism(
        "ends-worse", "Ends worse", 0.1, shows=(replace(link, to="loss-above"), replace(link, to="turns-up"))
    )
    leaky = {**base.symptoms, "loss-above": replace(base.symptoms["worse"], id="loss-above")}
    rules = replace(
        base,
        causes={**base.causes, cause.id: replace(cause, leads_to=(replace(link, to="ends-worse"),))},
        mechanisms={"ends-worse": worse},
        symptoms=leaky,
    )
    states = {"rate_differs": PRESENT, "worse": ABSENT, "loss_above": PRESENT}
    assert 0.4 < first(rules, **states).probability < 0.5
    assert first(rules, **{**states, "turns_up": PRESENT}).probability > 0.5


def test_the_rules_name_what_there_is() -> None:
    """The installed rules ask for symptoms, kinds of causes and areas that exist."""
    rules = load_rules()
    assert rules.as_good is not None
    assert rules.as_good.asks <= set(rules.symptoms)
    assert rules.as_good.asks_of.keys() <= set(rules.causes)
    assert all(asks <= set(rules.symptoms) for asks in rules.as_good.asks_of.values())
    assert rules.as_good.kinds <= {c.split(".")[0] for c in rules.causes} | set(rules.causes)
    assert rules.as_good.shown_of.keys() <= set(rules.causes)
    assert rules.as_good.shown.union(*rules.as_good.shown_of.values()) <= {
        s.area for s in rules.symptoms.values()
    }


def test_where_all_of_the_end_is_as_good_a_share_is_left(base: RuleBase) -> None:
    """The run is called healthy then; harm in the curves and an end that nobody knows change nothing."""
    rules = replace(base, as_good=replace(GIVEN, share=0.3))
    states = {"rate_differs": PRESENT, "worse": ABSENT}
    plain = first(replace(base, as_good=None), **states)
    found = first(rules, **states)
    assert found.cause == "hyperparameter.rate"
    assert found.probability == pytest.approx(0.3 * plain.probability, abs=0.02)
    assert found.contributions[as_good.NAME] < 0.0
    for kept in ({**states, "worse": UNKNOWN}, {**states, "turns_up": PRESENT}):
        assert first(rules, **kept).probability > 0.5
