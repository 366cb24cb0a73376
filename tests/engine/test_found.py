"""What is absent speaks against a fault that was found up to a bound: engine/found.py."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import log

import pytest

from traindoctor.engine import found
from traindoctor.engine.diagnose import diagnose
from traindoctor.engine.model import Hypothesis, Reading, RuleBase, RunInfo, Silence, State

Make = Callable[..., RuleBase]
CURVES = [f"curve{i}" for i in range(4)]
GIVEN = Silence(frozenset(), frozenset({"script"}), strength=0.5, weight=3.0, most=2.0)


@pytest.fixture
def base(make: Make) -> RuleBase:
    """Two causes that lead to the same curves; a place in the script speaks for the first one."""
    arrows = [(cause, curve, 0.8) for cause in ("a.x", "a.y") for curve in CURVES]
    arrows += [("a.x", "place", 0.8), ("a.x", "hint", 0.2), ("a.y", "setting", 0.8)]
    leaks = {"place": 0.002, "hint": 0.03, "setting": 0.002, **dict.fromkeys(CURVES, 0.03)}
    rules = make({"a.x": 0.025, "a.y": 0.025}, arrows, leaks=leaks)
    areas = {"place": "script", "hint": "script", "setting": "settings"}
    symptoms = {s: replace(x, area=areas.get(s, "curves")) for s, x in rules.symptoms.items()}
    return replace(rules, symptoms=symptoms, silence=GIVEN)


def hypothesis(rules: RuleBase, cause: str, present: str, absent: list[str]) -> Hypothesis:
    states = {present: State.PRESENT, **dict.fromkeys(absent, State.ABSENT)}
    evidence = {s: Reading(s, state, "seen") for s, state in states.items()}
    diagnosis = diagnose(rules, evidence, run=RunInfo("run"))
    return next(h for h in diagnosis.hypotheses if h.cause == cause)


def odds(h: Hypothesis) -> float:
    return log(h.probability / (1 - h.probability))


def test_many_absent_curves_take_away_the_bound(base: RuleBase) -> None:
    free = hypothesis(base, "a.x", "place", [])
    for absent in (CURVES[:2], CURVES):
        held = hypothesis(base, "a.x", "place", absent)
        assert odds(held) == pytest.approx(odds(free) - GIVEN.most)
        assert held.contributions[found.NAME] == pytest.approx(-len(absent) * log(0.2) - GIVEN.most)


def test_what_is_less_counts_as_it_is(base: RuleBase) -> None:
    assert found.NAME not in hypothesis(base, "a.x", "place", CURVES[:1]).contributions


@pytest.mark.parametrize(("cause", "present"), [("a.x", "hint"), ("a.y", "setting")])
def test_it_takes_a_place_that_says_much(base: RuleBase, cause: str, present: str) -> None:
    """A hint in the script, and a setting however far off, have to show in training."""
    held = hypothesis(base, cause, present, CURVES)
    assert held == hypothesis(replace(base, silence=None), cause, present, CURVES)


def test_prior_and_parts_are_the_probability(base: RuleBase) -> None:
    h = hypothesis(base, "a.x", "place", CURVES)
    assert odds(h) == pytest.approx(log(h.prior / (1 - h.prior)) + sum(h.contributions.values()), abs=1e-6)
