"""A cause for which little speaks is believed less: engine/caution.py."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from traindoctor.engine import caution
from traindoctor.engine.diagnose import diagnose
from traindoctor.engine.infer import believe
from traindoctor.engine.load import load_rules
from traindoctor.engine.model import Caution, Hypothesis, Reading, RuleBase, RunInfo, State

Make = Callable[..., RuleBase]
GIVEN = Caution(lines=3, weight=0.5, share=0.55, settles=frozenset({"script"}))
ARROWS = [("a.x", f"s{i}", 0.9) for i in range(4)]


@pytest.fixture
def base(make: Make) -> RuleBase:
    """One cause with four symptoms, each of which nearly proves it."""
    rules = make({"a.x": 0.05, "a.y": 0.01}, ARROWS, leaks={f"s{i}": 0.002 for i in range(4)})
    return replace(rules, caution=GIVEN)


def first(rules: RuleBase, *present: str) -> Hypothesis:
    """The first hypothesis where these symptoms are present."""
    evidence = {s: Reading(s, State.PRESENT, "seen") for s in present}
    return diagnose(rules, evidence, run=RunInfo("run")).hypotheses[0]


def test_two_lines_are_not_enough_to_be_sure(base: RuleBase) -> None:
    """With one or two lines of evidence a cause stays likely, and below eight in ten; it stays first."""
    plain = replace(base, caution=None)
    for seen in (["s0"], ["s0", "s1"]):
        assert first(plain, *seen).probability > 0.9
        held = first(base, *seen)
        assert (held.cause, 0.5 < held.probability < 0.8) == ("a.x", True)
        assert held.contributions[caution.NAME] < 0.0


def test_three_lines_are_enough(base: RuleBase) -> None:
    """With three lines of evidence nothing is taken away."""
    found = first(base, "s0", "s1", "s2")
    assert found.probability == first(replace(base, caution=None), "s0", "s1", "s2").probability > 0.99
    assert caution.NAME not in found.contributions


def test_a_fault_that_was_looked_at_is_enough(base: RuleBase) -> None:
    """One reading of an area that settles is believed as it is, one of another area is not."""
    read = replace(base.symptoms["s0"], area="script")
    rules = replace(base, symptoms={**base.symptoms, "s0": read})
    assert first(rules, "s0").probability > 0.9
    assert first(rules, "s1").probability < 0.8


def test_more_stays_more(base: RuleBase) -> None:
    """A cause that is believed more stays so where both are held back; below one half nothing changes."""
    states = [{"s0": State.PRESENT}, {"s0": State.PRESENT, "s1": State.PRESENT}]
    one, two = (first(base, *s).probability for s in states)
    assert 0.5 < one < two
    assert caution.held(base, believe(base, {"s0": State.ABSENT})) == {}


def test_the_rules_say_how_careful_to_be() -> None:
    """The installed rules hold a caution, and the areas that it names are areas of symptoms."""
    rules = load_rules()
    assert rules.caution is not None
    assert rules.caution.settles <= {s.area for s in rules.symptoms.values()}
