"""How far the absence of a symptom speaks against a cause: `silence` of the rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import log1p

import pytest

from traindoctor.engine.explain import contributions, posteriors, with_state
from traindoctor.engine.infer import believe
from traindoctor.engine.model import RuleBase, Silence, State

Make = Callable[..., RuleBase]
AREAS = {"edit": "edits", "check": "script", "other": "script", "loss": "curves"}


@pytest.fixture
def base(make: Make) -> RuleBase:
    """Two causes, each with a check of one script; an edit speaks for the first one, the loss for both."""
    arrows = [("a.x", "edit", 0.8), ("a.x", "check", 0.8), ("a.y", "other", 0.8), ("a.y", "edit", 0.1)]
    arrows += [("a.x", "loss", 0.5), ("a.y", "loss", 0.5), ("a.y", "check", 0.5)]
    rules = make({"a.x": 0.01, "a.y": 0.01}, arrows, leaks=dict.fromkeys(AREAS, 0.002))
    return replace(rules, symptoms={s: replace(rules.symptoms[s], area=area) for s, area in AREAS.items()})


def heard(base: RuleBase) -> RuleBase:
    return replace(base, silence=Silence(frozenset({"script"}), frozenset({"edits"}), 0.5, 3.0, 9.0))


def probability(rules: RuleBase, cause: str, **states: State) -> float:
    return believe(rules, states).probability[cause]


def test_a_silent_check_yields_to_an_edit(base: RuleBase) -> None:
    rules = heard(base)
    silent = {"edit": State.PRESENT, "check": State.ABSENT}
    assert probability(rules, "a.x", **silent) >= probability(rules, "a.x", edit=State.PRESENT)
    assert probability(base, "a.x", **silent) < probability(rules, "a.x", **silent) - 0.1


def test_it_yields_for_the_cause_that_the_edit_speaks_for(base: RuleBase) -> None:
    """The check speaks against the other cause as ever: the edit speaks too weakly for that one."""
    parts = contributions(believe(heard(base), {"edit": State.PRESENT, "check": State.ABSENT}), "a.y")
    assert parts["check"] == pytest.approx(log1p(-0.5))


def test_symptoms_of_other_areas_do_not_yield(base: RuleBase) -> None:
    seen = {"edit": State.PRESENT, "loss": State.ABSENT}
    assert probability(heard(base), "a.x", **seen) == probability(base, "a.x", **seen)


@pytest.mark.parametrize("edit", [State.ABSENT, State.UNKNOWN])
def test_without_an_edit_a_check_speaks_against_the_cause(base: RuleBase, edit: State) -> None:
    silent = {"edit": edit, "check": State.ABSENT}
    assert probability(heard(base), "a.x", **silent) == probability(base, "a.x", **silent)


def test_what_is_present_counts_in_full(base: RuleBase) -> None:
    seen = {"edit": State.PRESENT, "check": State.PRESENT}
    assert probability(heard(base), "a.x", **seen) == probability(base, "a.x", **seen)


def test_each_case_of_a_call_is_heard_as_it_is(base: RuleBase) -> None:
    """What would be present speaks, also where its absence does not."""
    rules = heard(base)
    belief = believe(rules, {"edit": State.PRESENT, "check": State.ABSENT, "loss": State.PRESENT})
    cases = [with_state(belief, "check", sign) for sign in (1, 0, -1)]
    odds = posteriors(belief, cases)[belief.network.causes.index("a.x")]
    for column, state in zip(odds, (State.PRESENT, State.UNKNOWN, State.ABSENT), strict=True):
        alone = believe(rules, {"edit": State.PRESENT, "check": state, "loss": State.PRESENT})
        assert column == pytest.approx(alone.odds["a.x"], abs=1e-4)
