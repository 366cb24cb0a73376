"""What recorded runs add to the links: engine/experience.py and rules/experience.yaml."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import exp, log
from pathlib import Path

import pytest

from traindoctor.engine import caution, experience
from traindoctor.engine.diagnose import diagnose
from traindoctor.engine.infer import believe
from traindoctor.engine.load import RuleError, load_rules
from traindoctor.engine.model import Experience, Graded, Hypothesis, Reading, RuleBase, RunInfo, State

Make = Callable[..., RuleBase]


@pytest.fixture
def base(make: Make) -> RuleBase:
    """Two causes of one symptom, the first more usual; a second symptom that the links give to neither."""
    arrows = [("a.x", "loud", 0.9), ("a.y", "loud", 0.9), ("a.z", "warm", 0.1)]
    leaks = {"loud": 0.002, "warm": 0.25}
    return make({"a.x": 0.03, "a.y": 0.02, "a.z": 0.01}, arrows, leaks=leaks)


def hypotheses(rules: RuleBase, **states: State) -> dict[str, Hypothesis]:
    """Hypotheses by cause, in their order."""
    evidence = {s: Reading(s, state, "read") for s, state in states.items()}
    return {h.cause: h for h in diagnose(rules, evidence, run=RunInfo("run")).hypotheses}


def test_weights_turn_the_order_of_rivals(base: RuleBase) -> None:
    """A present symptom without a link tells two rivals apart; its part stands among the contributions."""
    taught = replace(base, experience=Experience({"warm": {"a.y": 1.5, "a.x": -1.5}}, 2.0))
    before = hypotheses(base, loud=State.PRESENT, warm=State.PRESENT)
    after = hypotheses(taught, loud=State.PRESENT, warm=State.PRESENT)
    assert (next(iter(before)), next(iter(after))) == ("a.x", "a.y")
    assert after["a.x"].contributions[experience.NAME] == pytest.approx(-1.5)
    assert experience.NAME not in after["a.z"].contributions


def test_only_what_is_present_counts(base: RuleBase) -> None:
    """Absent and unknown symptoms add nothing."""
    taught = replace(base, experience=Experience({"warm": {"a.y": 1.5}}, 2.0))
    for states in ({"loud": State.PRESENT}, {"loud": State.PRESENT, "warm": State.ABSENT}):
        assert hypotheses(taught, **states)["a.y"].probability == pytest.approx(
            hypotheses(base, **states)["a.y"].probability
        )


def test_areas_that_were_looked_at_count(base: RuleBase) -> None:
    """An absent symptom tells that its area was looked at; an unknown one does not."""
    area = base.symptoms["warm"].area
    looked = {area: {"a.y": 0.5}, "elsewhere": {"a.x": 2.0}}
    taught = replace(base, experience=Experience({}, 2.0, looked, area))
    for state, added in ((State.ABSENT, 0.5), (State.PRESENT, 0.5), (State.UNKNOWN, None)):
        found = hypotheses(taught, warm=state)
        assert found["a.y"].contributions.get(experience.NAME) == (added and pytest.approx(added))
        assert experience.NAME not in found["a.x"].contributions


def test_nothing_is_learnt_from_runs_for_what_is_no_run(base: RuleBase) -> None:
    """Without the area that every recorded run shows, what was looked at adds nothing."""
    area = base.symptoms["warm"].area
    taught = replace(base, experience=Experience({}, 2.0, {area: {"a.y": 0.5}}, "curves"))
    assert experience.NAME not in hypotheses(taught, warm=State.ABSENT)["a.y"].contributions


def test_nothing_is_learnt_for_a_kind_of_training_that_was_not_recorded(base: RuleBase) -> None:
    """Where an area is known that no recorded run shows, even a present symptom adds nothing."""
    area = base.symptoms["warm"].area
    for unlike, added in ((frozenset({area}), None), (frozenset({"elsewhere"}), 1.5)):
        taught = replace(base, experience=Experience({"warm": {"a.y": 1.5}}, 2.0, unlike=unlike))
        found = hypotheses(taught, warm=State.PRESENT)
        assert found["a.y"].contributions.get(experience.NAME) == (added and pytest.approx(added))


def test_values_count_by_where_they_stand(base: RuleBase) -> None:
    """A known value adds by its place among recorded runs, whatever its state; an unread one nothing."""
    area = base.symptoms["warm"].area
    graded = {"warm": Graded((10.0, 20.0, 100.0), (-1.0, 0.0, 1.0), {"a.y": 0.5})}
    taught = replace(base, experience=Experience({}, 2.0, where=area, graded=graded))
    for value, state, added in (
        (5, State.ABSENT, -0.5),
        (15.0, State.PRESENT, -0.25),
        (60.0, State.ABSENT, 0.25),
        (1e9, State.ABSENT, 0.5),
        (60.0, State.UNKNOWN, None),
        (None, State.ABSENT, None),
        ("60", State.ABSENT, None),
        (True, State.ABSENT, None),
        (float("nan"), State.ABSENT, None),
    ):
        evidence = {"warm": Reading("warm", state, "read", value)}
        found = {h.cause: h for h in diagnose(taught, evidence, run=RunInfo("run")).hypotheses}
        assert found["a.y"].contributions.get(experience.NAME) == (added and pytest.approx(added))


def test_values_count_in_runs_only(base: RuleBase) -> None:
    """Without the area that every recorded run shows, values add nothing."""
    graded = {"warm": Graded((0.0, 1.0), (-1.0, 1.0), {"a.y": 0.5})}
    taught = replace(base, experience=Experience({}, 2.0, where="curves", graded=graded))
    evidence = {"warm": Reading("warm", State.ABSENT, "read", 1.0)}
    found = diagnose(taught, evidence, run=RunInfo("run")).hypotheses
    assert all(experience.NAME not in h.contributions for h in found)


def test_no_cause_is_believed_for_weights_alone(base: RuleBase) -> None:
    """From below one half nothing is lifted over it, and more stays more."""
    taught = replace(base, experience=Experience({"warm": dict.fromkeys(("a.x", "a.y", "a.z"), 4.0)}, 4.0))
    for states in ({"warm": State.PRESENT}, {"warm": State.PRESENT, "loud": State.PRESENT}):
        plain, found = hypotheses(base, **states), hypotheses(taught, **states)
        low = [c for c, h in plain.items() if h.probability < 0.5]
        assert low
        assert all(plain[c].probability < found[c].probability < 0.5 for c in low)
        assert sorted(low, key=lambda c: plain[c].probability) == sorted(
            low, key=lambda c: found[c].probability
        )


def test_what_the_links_bring_near_one_half_crosses_it_in_a_recorded_run(make: Make) -> None:
    """The further, the nearer it began; not from far below, and not where nothing was recorded."""
    found = []
    for leak in (0.2, 0.04, 0.035, 0.03):
        rules = make({"a.x": 0.03}, [("a.x", "loud", 0.9)], leaks={"loud": leak, "warm": 0.25})
        loud = replace(rules.symptoms["loud"], area="curves")
        rules = replace(rules, symptoms={**rules.symptoms, "loud": loud})
        taught = replace(rules, experience=Experience({"warm": {"a.x": 1.0}}, 2.0, where="curves"))
        script = replace(rules, experience=Experience({"warm": {"a.x": 1.0}}, 2.0, where="ranks"))
        states = {"loud": State.PRESENT, "warm": State.PRESENT}
        plain, run, alone = (hypotheses(r, **states)["a.x"].probability for r in (rules, taught, script))
        assert plain < alone < 0.5
        found.append((plain, run))
    far, middle, near, nearest = found
    assert far[1] < 0.5
    assert middle[0] < 0.45 and 0.5 < middle[1] < near[1] < nearest[1] < 0.75


def test_what_the_links_believe_may_be_believed_more_or_less(make: Make) -> None:
    """Above one half weights count in full, in both directions, and caution looks at what comes of them."""
    rules = make({"a.x": 0.05}, [("a.x", "s", 0.9)], leaks={"s": 0.01, "t": 0.1})
    states = {"s": State.PRESENT, "t": State.PRESENT}
    odds = believe(rules, states).log_odds[0]
    assert odds > 0.0
    for weight, moved in ((-3.0, -1.0), (0.5, 0.5)):
        taught = replace(rules, experience=Experience({"t": {"a.x": weight}}, 1.0))
        assert experience.added(taught, believe(taught, states)) == {"a.x": pytest.approx(moved)}
    careful = replace(load_rules().caution, lines=3) if load_rules().caution else None
    doubted = replace(rules, caution=careful, experience=Experience({"t": {"a.x": -3.0}}, 3.0))
    assert caution.NAME not in hypotheses(doubted, **states)["a.x"].contributions


def test_contributions_add_up_to_the_probability(base: RuleBase) -> None:
    """Prior and contributions are the posterior exactly, with what is added beside the network."""

    taught = replace(
        base, experience=Experience({"warm": {"a.x": 2.0, "a.y": -0.7}}, 2.0), caution=load_rules().caution
    )
    for h in hypotheses(taught, loud=State.PRESENT, warm=State.PRESENT).values():
        odds = log(h.prior / (1.0 - h.prior)) + sum(h.contributions.values())
        assert h.probability == pytest.approx(1.0 / (1.0 + exp(-odds)))


def test_the_file_names_what_the_rules_have() -> None:
    """The installed weights are of the rules' symptoms and causes, and moderate."""
    rules = load_rules()
    assert rules.experience is not None
    weights = rules.experience.weights
    assert weights
    assert weights.keys() <= rules.symptoms.keys()
    assert {c for w in weights.values() for c in w} <= rules.causes.keys()
    assert rules.experience.most <= 1.5


def test_a_wrong_name_is_told_with_its_line(folder: Callable[..., Path]) -> None:
    """A symptom or cause that does not exist is an error of the file."""
    file = "estimated_from: runs\nmost: 1\nweights:\n  noise: {a.nowhere: 0.5}\n  nosie: {}\n"
    with pytest.raises(RuleError) as told:
        load_rules(folder({"experience.yaml": file}))
    assert "experience.yaml:4: there is no cause 'a.nowhere'" in str(told.value)
    assert "experience.yaml:5: there is no symptom 'nosie'" in str(told.value)


def test_a_wrong_scale_of_values_is_told(folder: Callable[..., Path]) -> None:
    """A value's scale names what exists, ascends, and says of each value where it stands."""
    head = "estimated_from: runs\nmost: 1\nweights: {}\ngraded:\n"
    for scale, told in (
        ("  nosie: {at: [0, 1], stands: [-1, 1], weights: {}}", "there is no symptom 'nosie'"),
        ("  noise: {at: [0, 1], stands: [-1, 1], weights: {a.nowhere: 1}}", "there is no cause 'a.nowhere'"),
        ("  noise: {at: [0, 1], stands: [-1], weights: {}}", "of one length"),
        ("  noise: {at: [0, 0], stands: [-1, 1], weights: {}}", "ascend"),
    ):
        with pytest.raises(RuleError, match=told):
            load_rules(folder({"experience.yaml": f"{head}{scale}\n"}))


def test_what_rivals_lose_is_given_back() -> None:
    """The sum of probabilities stays with all of it given back; with none the moves stay as they are."""
    odds, moved = {"a.x": 1.0, "a.y": -1.0, "a.z": -3.0}, {"a.x": -0.5, "a.y": -1.5}
    assert experience.balanced(odds, moved, 0.0) == moved
    whole, half = (experience.balanced(odds, moved, share) for share in (1.0, 0.5))

    def total(by: dict[str, float]) -> float:
        return sum(1.0 / (1.0 + exp(-(x + by.get(c, 0.0)))) for c, x in odds.items())

    assert total(whole) == pytest.approx(total({}), abs=1e-6)
    assert total(moved) < total(half) < total(whole)
    assert whole["a.x"] - whole["a.y"] == pytest.approx(1.0)
    assert whole["a.z"] > 0.0
