"""Belief propagation against enumeration, and what must hold whatever the rules say."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from traindoctor.engine.diagnose import posterior
from traindoctor.engine.infer import Case, Network, applies, believe, infer, log_evidence, log_odds, sigmoid
from traindoctor.engine.model import RuleBase, Scalar, State

P, A, U = State.PRESENT, State.ABSENT, State.UNKNOWN
Make = Callable[..., RuleBase]
Exactly = Callable[[Network, Case], tuple[np.ndarray, float]]
RandomCase = Callable[..., tuple[Network, Case]]


def marginals(network: Network, case: Case) -> np.ndarray:
    messages = infer(network, [case])
    assert messages.converged.all()
    return sigmoid(log_odds(network, [case], messages))[:, 0]


def test_one_cause_one_symptom(make: Make) -> None:
    """The smallest case is Bayes' rule, worked out by hand."""
    rules = make({"a.x": 0.1}, [("a.x", "s", 0.8)], leaks={"s": 0.05})
    present = 0.1 * (1 - 0.95 * 0.2) / (0.1 * (1 - 0.95 * 0.2) + 0.9 * 0.05)
    absent = 0.1 * 0.2 / (0.1 * 0.2 + 0.9)

    assert posterior(rules, {"s": P})["a.x"] == pytest.approx(present, abs=1e-9)
    assert posterior(rules, {"s": A})["a.x"] == pytest.approx(absent, abs=1e-9)
    assert posterior(rules, {"s": U})["a.x"] == posterior(rules, {})["a.x"] == pytest.approx(0.1, abs=1e-12)


@pytest.mark.parametrize("seed", range(40))
def test_exact_on_trees(random_case: RandomCase, exactly: Exactly, seed: int) -> None:
    """Without loops the marginals are those of enumeration, and so is the probability of the readings."""
    network, case = random_case(seed, (6, 4, 14), 0.7, tree=True)
    exact, log_p = exactly(network, case)

    assert marginals(network, case) == pytest.approx(exact, abs=1e-5)
    assert log_evidence(network, [case], infer(network, [case]))[0] == pytest.approx(log_p, abs=1e-4)


def test_close_on_general_nets(random_case: RandomCase, exactly: Exactly) -> None:
    """With loops the worst marginal of a net is off by at most 0.03 on average."""
    worst = []
    for seed in range(120):
        network, case = random_case(seed, (8, 4, 12), 0.8)
        worst.append(np.abs(marginals(network, case) - exactly(network, case)[0]).max())

    assert np.mean(worst) <= 0.03


def test_a_thousand_causes_settle(random_case: RandomCase) -> None:
    """The iteration settles on a net far larger than the rules, and every probability is a number."""
    network, case = random_case(3, (1000, 50, 1000), 2.0)

    p = marginals(network, case)

    assert np.isfinite(p).all()
    assert ((p > 0) & (p < 1)).all()


@pytest.mark.parametrize("seed", range(5))
def test_cases_do_not_touch_each_other(random_case: RandomCase, seed: int) -> None:
    """Several cases in one call give what each gives alone, from a warm start too."""
    network, case = random_case(seed, (12, 5, 30), 1.0)
    rng = np.random.default_rng(seed)
    others = [
        replace(case, seen=np.where(rng.random(30) < 0.2, 0, case.seen).astype(np.int8)) for _ in range(6)
    ]
    base = infer(network, [case])

    together = log_odds(network, others, infer(network, others, base))

    for column, other in enumerate(others):
        alone = log_odds(network, [other], infer(network, [other]))[:, 0]
        assert together[:, column] == pytest.approx(alone, abs=1e-4)


@given(seed=st.integers(0, 10_000), pick=st.integers(0, 10_000))
@settings(max_examples=40)
def test_more_evidence_moves_the_right_way(random_case: RandomCase, seed: int, pick: int) -> None:
    """On a tree, reading a symptom present never lowers a cause above it; absent never raises one."""
    network, case = random_case(seed, (6, 4, 14), 0.7, tree=True)
    symptom = pick % len(network.symptoms)
    cases = [replace(case, seen=with_sign(case, symptom, sign)) for sign in (-1, 0, 1)]
    absent, unknown, present = log_odds(network, cases, infer(network, cases)).T
    above = causes_above(network, network.first_symptom + symptom)

    assert (present[above] >= unknown[above] - 1e-4).all()
    assert (absent[above] <= unknown[above] + 1e-4).all()


def with_sign(case: Case, symptom: int, sign: int) -> np.ndarray:
    seen = case.seen.copy()
    seen[symptom] = sign
    return seen


def causes_above(network: Network, node: int) -> list[int]:
    tails = [int(t) for t in network.tail[network.head == node]]
    found = {t for t in tails if t < len(network.causes)}
    return sorted(found.union(*(causes_above(network, t) for t in tails if t >= len(network.causes))))


@given(strength=st.floats(0.05, 0.9), more=st.floats(0.01, 0.07), leak=st.floats(0.002, 0.3))
def test_a_stronger_link_counts_more(make: Make, strength: float, more: float, leak: float) -> None:
    """The stronger the link, the more its symptom raises when present and lowers when absent."""
    weak = make({"a.x": 0.02}, [("a.x", "s", strength)], leaks={"s": leak})
    strong = make({"a.x": 0.02}, [("a.x", "s", strength + more)], leaks={"s": leak})

    assert posterior(strong, {"s": P})["a.x"] > posterior(weak, {"s": P})["a.x"]
    assert posterior(strong, {"s": A})["a.x"] < posterior(weak, {"s": A})["a.x"]


@given(states=st.dictionaries(st.sampled_from(["s1", "s2", "s3"]), st.sampled_from(list(State))))
def test_unknown_is_not_absent(make: Make, states: dict[str, State]) -> None:
    """A symptom that was not read counts nothing, whether it is called unknown or left out."""
    rules = make(
        {"a.x": 0.05, "a.y": 0.01},
        [("a.x", "m", 0.8), ("m", "s1", 0.8), ("m", "s2", 0.5), ("a.y", "s2", 0.8), ("a.y", "s3", 0.5)],
        mechanisms={"m": 0.01},
    )
    known = {s: state for s, state in states.items() if state is not U}

    assert posterior(rules, states) == posterior(rules, known)


def test_faces_of_one_event_count_once(make: Make) -> None:
    """Three symptoms of one mechanism say less for a cause than three independent ones."""
    shared = make(
        {"a.x": 0.01}, [("a.x", "m", 0.8), *(("m", s, 0.8) for s in "stu")], mechanisms={"m": 0.008}
    )
    apart = make({"a.x": 0.01}, [("a.x", s, 0.64) for s in "stu"])
    seen = dict.fromkeys("stu", P)

    assert posterior(shared, seen)["a.x"] < 0.6 < posterior(apart, seen)["a.x"]


def test_explaining_away(make: Make) -> None:
    """What one cause explains is no reason for another any more."""
    rules = make({"a.x": 0.02, "a.y": 0.02}, [("a.x", "s", 0.8), ("a.y", "s", 0.8), ("a.x", "own", 0.8)])

    only, both = posterior(rules, {"s": P}), posterior(rules, {"s": P, "own": P})

    assert both["a.y"] < only["a.y"] / 3


def test_no_evidence_leaves_the_priors(make: Make) -> None:
    """Without readings every cause keeps its prior, and nothing is left to settle."""
    rules = make(
        {"a.x": 0.05, "a.y": 0.004}, [("a.x", "m", 0.8), ("m", "s", 0.8), ("a.y", "s", 0.5)], {"m": 0.01}
    )
    belief = believe(rules, {})

    assert belief.probability == pytest.approx({"a.x": 0.05, "a.y": 0.004})
    assert belief.converged


def test_rules_without_arrows(make: Make) -> None:
    """Causes that lead nowhere, or no causes at all, are no crash."""
    assert posterior(make({"a.x": 0.05}, []), {"s": P}) == pytest.approx({"a.x": 0.05})
    assert posterior(make({}, [], leaks={"s": 0.01}), {"s": P}) == {}


def test_a_deprecated_cause_is_not_considered(make: Make) -> None:
    """A deprecated cause keeps its page and takes no part."""
    rules = make({"a.x": 0.05}, [("a.x", "s", 0.8)], fields={"a.x": {"status": "deprecated"}})

    assert posterior(rules, {"s": P}) == {}


# ----------------------------------------------------------------------------------------------- context


@pytest.mark.parametrize(
    ("condition", "fact", "expected"),
    [
        ("fp16", "fp16", True),
        ("fp16", "FP16 ", True),
        ("fp16", "fp32", False),
        ("fp16", None, True),
        (">1", 2, True),
        (">1", 1, False),
        (">1", "8", True),
        (">=2", 2, True),
        ("<8", 8, False),
        ("<=8", 8.0, True),
        (">1", "several", True),
        ("!=cpu", "npu", True),
        ("!=cpu", "cpu", False),
        ("=4", 4.0, True),
        (4, "4", True),
        (True, True, True),
        (True, False, False),
        (True, "true", True),
        (("a", "b"), "b", True),
        (("a", "b"), "c", False),
        (("a", ">3"), 7, True),
        (("a", "b"), None, True),
        (None, "anything", True),
    ],
)
def test_conditions(condition: Any, fact: Scalar, expected: bool) -> None:
    """A condition holds, fails, or (when nothing is known or comparable) is left open."""
    assert applies(condition, fact) is expected


@pytest.mark.parametrize(
    ("context", "prior"), [({}, 0.05), ({"side": "left"}, 0.05), ({"side": "right"}, 0.002)]
)
def test_context_changes_the_prior(make: Make, context: Mapping[str, Scalar], prior: float) -> None:
    """A cause that the context rules out falls to the smallest prior; unknown context leaves it."""
    rules = make({"a.x": 0.05}, [("a.x", "s", 0.8)], fields={"a.x": {"applies_when": {"side": "left"}}})

    assert posterior(rules, {}, context)["a.x"] == pytest.approx(prior)


def test_extreme_evidence_stays_finite(make: Make) -> None:
    """Hundreds of agreeing readings give a probability near one, not an overflow."""
    names = [f"s{i}" for i in range(400)]
    rules = make(
        {"a.x": 0.002},
        [("a.x", "m", 0.97), *(("m", s, 0.97) for s in names)],
        {"m": 0.002},
        dict.fromkeys(names, 0.002),
    )

    for state, low, high in ((P, 0.4, 1.0), (A, 0.0, 0.002)):
        p = posterior(rules, dict.fromkeys(names, state))["a.x"]
        assert math.isfinite(p)
        assert low <= p <= high
