"""The silence of a check of one script does not speak against a cause for which an edit speaks: `yields`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from traindoctor.engine.infer import believe
from traindoctor.engine.model import RuleBase, State, Yields

Make = Callable[..., RuleBase]


@pytest.fixture
def base(make: Make) -> RuleBase:
    """Two causes, each with a check of one script; an edit speaks for the first one."""
    arrows = [("a.x", "edit", 0.8), ("a.x", "check", 0.8), ("a.y", "other", 0.8), ("a.y", "edit", 0.1)]
    rules = make({"a.x": 0.01, "a.y": 0.01}, arrows, leaks=dict.fromkeys(("edit", "check", "other"), 0.002))
    areas = {"edit": "edits", "check": "script", "other": "script"}
    symptoms = {s: replace(rules.symptoms[s], area=areas[s]) for s in areas}
    return replace(rules, symptoms=symptoms, yields=Yields("script", "edits", 0.5))


def probability(rules: RuleBase, cause: str, **states: State) -> float:
    return believe(rules, states).probability[cause]


def test_a_silent_check_yields_to_an_edit(base: RuleBase) -> None:
    alone = probability(base, "a.x", edit=State.PRESENT)
    silent = {"edit": State.PRESENT, "check": State.ABSENT}
    assert probability(base, "a.x", **silent) == pytest.approx(alone)
    assert probability(replace(base, yields=None), "a.x", **silent) < alone - 0.1


def test_without_an_edit_it_speaks_against_the_cause(base: RuleBase) -> None:
    for edit in (State.ABSENT, State.UNKNOWN):
        silent = {"edit": edit, "check": State.ABSENT}
        assert probability(base, "a.x", **silent) == probability(replace(base, yields=None), "a.x", **silent)


def test_a_check_of_another_cause_keeps_its_say(base: RuleBase) -> None:
    """The edit speaks too weakly for the other cause."""
    seen = {"edit": State.PRESENT, "other": State.ABSENT}
    assert probability(base, "a.y", **seen) == probability(replace(base, yields=None), "a.y", **seen)


def test_a_present_check_counts_as_ever(base: RuleBase) -> None:
    seen = {"edit": State.PRESENT, "check": State.PRESENT}
    assert probability(base, "a.x", **seen) > probability(base, "a.x", edit=State.PRESENT)
