"""Explanations are the computation: their parts add up, and what they leave over is said."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindoctor.engine import explain
from traindoctor.engine.graph import strongest_paths, to_digraph
from traindoctor.engine.infer import believe, infer, log_evidence
from traindoctor.engine.model import Reading, RuleBase, State

P, A, U = State.PRESENT, State.ABSENT, State.UNKNOWN
Make = Callable[..., RuleBase]
ARROWS = [
    ("a.x", "slip", 0.8),
    ("a.y", "slip", 0.5),
    ("slip", "heat", 0.5),
    ("slip", "noise", 0.8),
    ("heat", "smell", 0.8),
    ("a.y", "smell", 0.2),
    ("a.z", "smell", 0.5),
    ("a.x", "light", 0.8),
]


@pytest.fixture(scope="module")
def rules(make: Make) -> RuleBase:
    priors = {"a.x": 0.025, "a.y": 0.01, "a.z": 0.05}
    return make(priors, ARROWS, {"slip": 0.008, "heat": 0.008}, {"noise": 0.03, "smell": 0.1, "light": 0.01})


def reading(symptom: str, state: State, step: float | None = None) -> Reading:
    return Reading(symptom, state, f"{symptom} is {state}", step=step)


def log_odds(p: float) -> float:
    return math.log(p / (1 - p))


states = st.dictionaries(st.sampled_from(["noise", "smell", "light"]), st.sampled_from(list(State)))


@given(states=states)
def test_parts_add_up(rules: RuleBase, states: Mapping[str, State]) -> None:
    """Prior log-odds plus the contributions of the children are the posterior log-odds."""
    belief = believe(rules, states)

    for cause, p in belief.probability.items():
        parts = explain.contributions(belief, cause)
        assert log_odds(rules.causes[cause].prior) + sum(parts.values()) == pytest.approx(
            log_odds(p), abs=1e-9
        )


def test_contributions_name_children_largest_first(rules: RuleBase) -> None:
    """Contributions are by direct child; children that say nothing are left out."""
    belief = believe(rules, {"noise": P, "light": A})

    assert list(explain.contributions(belief, "a.x")) == ["slip", "light"]
    assert list(explain.contributions(belief, "a.z")) == []


def test_weight_is_leave_one_out(rules: RuleBase) -> None:
    """A reading's weight is the change of log-odds when it alone is taken back."""
    seen = {"noise": P, "smell": P, "light": A}
    belief = believe(rules, seen)
    weights = explain.weights(belief, ["noise", "light"])

    for symptom in ("noise", "light"):
        rest = {s: v for s, v in seen.items() if s != symptom}
        for cause, p in believe(rules, rest).probability.items():
            change = log_odds(belief.probability[cause]) - log_odds(p)
            assert weights.left_out[symptom][cause] == pytest.approx(change, abs=1e-4)


def test_weight_alone_is_from_nothing(rules: RuleBase) -> None:
    """A reading's weight by itself is what it does to the prior."""
    belief = believe(rules, {"noise": P, "smell": P})
    only = believe(rules, {"noise": P}).probability["a.x"]

    found = explain.weights(belief, ["noise"]).alone["noise"]["a.x"]

    assert found == pytest.approx(log_odds(only) - log_odds(0.025), abs=1e-4)


def test_reasons_follow_the_strongest_path(rules: RuleBase) -> None:
    """A reason carries its chain from cause to symptom, with one sentence per arrow."""
    evidence = {s: reading(s, P) for s in ("noise", "smell")} | {"light": reading("light", A)}
    belief = believe(rules, {s: r.state for s, r in evidence.items()})
    paths = strongest_paths(to_digraph(rules), "a.y")
    found = explain.reasons(evidence, "a.y", paths, explain.weights(belief, list(evidence)))
    smell = next(r for r in found.speak_for if r.reading.symptom == "smell")

    assert smell.path == ("a.y", "slip", "heat", "smell")
    assert smell.because == ("a.y makes slip", "slip makes heat", "heat makes smell")
    assert [r.weight for r in found.speak_for] == sorted((r.weight for r in found.speak_for), reverse=True)


def test_absent_speaks_against(rules: RuleBase) -> None:
    """A symptom that a cause would show and that is absent is an objection, and no reason."""
    evidence = {"noise": reading("noise", P), "light": reading("light", A)}
    belief = believe(rules, {s: r.state for s, r in evidence.items()})
    paths = strongest_paths(to_digraph(rules), "a.x")

    found = explain.reasons(evidence, "a.x", paths, explain.weights(belief, list(evidence)))

    assert [r.reading.symptom for r in found.speak_for] == ["noise"]
    assert [r.reading.symptom for r in found.against] == ["light"]
    assert found.against[0].weight < -1


def test_what_a_rival_explains_better_is_no_objection(make: Make) -> None:
    """A present symptom that follows from the cause lowers it where a rival leads there more often."""
    arrows = [("a.x", "one", 0.5), ("a.y", "one", 0.8), ("a.x", "two", 0.05), ("a.y", "two", 0.95)]
    rules = make({"a.x": 0.05, "a.y": 0.05}, arrows, {}, {"one": 0.01, "two": 0.01})
    evidence = {s: reading(s, P) for s in ("one", "two")}
    belief = believe(rules, {s: r.state for s, r in evidence.items()})
    weight = explain.weights(belief, list(evidence))
    found = explain.reasons(evidence, "a.x", strongest_paths(to_digraph(rules), "a.x"), weight)

    assert weight.left_out["two"]["a.x"] < -explain.MIN_AGAINST
    assert found.against == ()


def test_superfluous_readings_are_told(make: Make) -> None:
    """When many readings say the same, each is superfluous, and still each is a reason."""
    names = [f"s{i}" for i in range(6)]
    rules = make({"a.x": 0.05}, [("a.x", "m", 0.8), *(("m", s, 0.8) for s in names)], {"m": 0.008})
    evidence = {s: reading(s, P) for s in names}
    belief = believe(rules, dict.fromkeys(names, P))
    paths = strongest_paths(to_digraph(rules), "a.x")

    found = explain.reasons(evidence, "a.x", paths, explain.weights(belief, names))

    assert sorted(r.reading.symptom for r in found.speak_for) == names


def test_the_most_telling_of_a_kind_stands_for_all(make: Make) -> None:
    """Readings that show one mechanism weigh next to nothing one by one: one of them weighs what all do."""
    leaks = {"s0": 0.05, "s1": 0.001, "s2": 0.05, "s3": 0.05}
    arrows = [("a.x", "m", 0.8), *(("m", s, 0.8) for s in leaks), ("a.x", "other", 0.6)]
    rules = make({"a.x": 0.05}, arrows, {"m": 0.008}, {**leaks, "other": 0.1})
    evidence = {s: reading(s, P) for s in (*leaks, "other")}
    belief = believe(rules, dict.fromkeys(evidence, P))
    weight = explain.weights(belief, list(evidence))

    found = explain.reasons(evidence, "a.x", strongest_paths(to_digraph(rules), "a.x"), weight)
    without = log_odds(believe(rules, {"other": P}).probability["a.x"])

    assert list(weight.together) == ["m"]
    assert found.speak_for[0].reading.symptom == "s1"
    assert found.speak_for[0].weight == pytest.approx(log_odds(belief.probability["a.x"]) - without, abs=1e-4)
    assert all(
        r.weight < found.speak_for[0].weight / 3 for r in found.speak_for[1:] if r.reading.symptom in leaks
    )


def test_what_is_not_there_stands_for_nothing(make: Make) -> None:
    """Absent readings are told one by one, and one present reading of a mechanism for itself."""
    rules = make({"a.x": 0.05}, [("a.x", "m", 0.8), *(("m", s, 0.5) for s in ("s", "t", "u"))], {"m": 0.008})
    belief = believe(rules, {"s": P, "t": A, "u": A})

    assert explain.weights(belief, ["s", "t", "u"]).together == {}


# ------------------------------------------------------------------------------- what does not fit


def test_unexplained_share_by_hand(make: Make) -> None:
    """With one parent: the probability that only the leak made a present symptom."""
    rules = make({"a.x": 0.1}, [("a.x", "s", 0.8)], leaks={"s": 0.05})
    off = 1 - 0.8 * 0.1

    expected = 0.05 * off / (1 - 0.95 * off)

    assert explain.unexplained(believe(rules, {"s": P})) == pytest.approx({"s": expected})


def test_a_mechanism_by_itself_explains_nothing(make: Make) -> None:
    """What a mechanism shows stays unexplained when no cause is behind the mechanism."""
    explained = make({"a.x": 0.5}, [("a.x", "m", 0.95), ("m", "s", 0.95)], {"m": 0.002}, {"s": 0.002})
    causeless = make({"a.x": 0.002}, [("a.x", "m", 0.2), ("m", "s", 0.95)], {"m": 0.3}, {"s": 0.002})

    assert explain.unexplained(believe(explained, {"s": P}))["s"] < 0.01
    assert explain.unexplained(believe(causeless, {"s": P}))["s"] > 0.99


def test_a_symptom_nobody_shows_is_unexplained(make: Make) -> None:
    """A present symptom without parents is wholly unexplained; absent ones are not listed."""
    rules = make({"a.x": 0.1}, [("a.x", "s", 0.8)], leaks={"s": 0.05, "odd": 0.05})

    assert explain.unexplained(believe(rules, {"odd": P, "s": A})) == pytest.approx({"odd": 1.0})


def test_conflict_by_hand(make: Make) -> None:
    """Conflict is log P(present) + log P(absent) - log P(both)."""
    rules = make({"a.x": 0.1}, [("a.x", "s", 0.9), ("a.x", "t", 0.9)], leaks={"s": 0.01, "t": 0.01})

    def joint(s: bool, t: bool | None) -> float:
        total = 0.0
        for prior, on in ((0.1, 1 - 0.99 * 0.1), (0.9, 0.01)):
            total += prior * (on if s else 1 - on) * (1.0 if t is None else on if t else 1 - on)
        return total

    expected = math.log(joint(True, None) * joint(False, None) / joint(True, False))

    assert explain.conflict(believe(rules, {"s": P, "t": A})) == pytest.approx(expected, abs=1e-4)
    assert expected > 1


@given(states=states)
def test_agreement_is_no_conflict(rules: RuleBase, states: Mapping[str, State]) -> None:
    """Conflict is never negative, and zero when all that is read is present, or all absent."""
    known = {s: v for s, v in states.items() if v is not U}
    conflict = explain.conflict(believe(rules, states))

    assert conflict >= 0
    if len(set(known.values())) <= 1:
        assert conflict == pytest.approx(0, abs=1e-6)


def test_evidence_of_nothing_is_certain(rules: RuleBase) -> None:
    """Without readings the probability of the readings is one."""
    belief = believe(rules, {})

    assert log_evidence(belief.network, [belief.case], infer(belief.network, [belief.case])) == pytest.approx(
        np.zeros(1), abs=1e-12
    )


def test_the_earliest_symptom() -> None:
    """The earliest present symptoms count; undated, absent and unknown ones do not."""
    evidence = {
        r.symptom: r
        for r in (
            reading("late", P, 50),
            reading("undated", P),
            reading("not", A, 1),
            reading("odd", P, math.nan),
            reading("first", P, 10),
            reading("also", P, 10.0),
        )
    }

    assert explain.earliest(evidence) == ("also", "first")
    assert explain.earliest({}) == ()


def test_who_misses_the_earliest(rules: RuleBase) -> None:
    """A cause that leads to one of the earliest symptoms misses nothing; one that leads to none is told."""
    graph = to_digraph(rules)
    x, z = strongest_paths(graph, "a.x"), strongest_paths(graph, "a.z")

    assert explain.misses_earliest(("noise",), x) is None
    assert explain.misses_earliest(("noise",), z) == "noise"
    assert explain.misses_earliest(("noise", "smell"), z) is None
    assert explain.misses_earliest((), z) is None
