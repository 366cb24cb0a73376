"""Trials: rules that work among the others, and each way in which they do not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from traindoctor.engine.load import load_with_places
from traindoctor.engine.model import Example, RuleBase, State
from traindoctor.engine.trial import try_rules

P, A = State.PRESENT, State.ABSENT
Make = Callable[..., RuleBase]


def failures(rules: RuleBase) -> set[tuple[str, str]]:
    return {(x.name, x.subject) for x in try_rules(rules).failures}


def test_sound_rules_hold(make: Make) -> None:
    """Everything is tried, and nothing fails."""
    rules = make(
        {"a.x": 0.05, "a.y": 0.05},
        [("a.x", "s", 0.8), ("a.y", "t", 0.8)],
        fields={"a.x": {"examples": (Example({"s": P}, rank=1), Example({"s": A}, below="prior"))}},
    )
    trial = try_rules(rules)

    assert (trial.causes, trial.examples, trial.symptoms, trial.failures) == (2, 2, 2, ())


def test_a_failing_example_says_its_line(folder: Callable[..., Path], texts: dict[str, str]) -> None:
    """An example that inference refutes is told with file and line."""
    name = "causes/parts/worn.yaml"
    rules, places = load_with_places(folder({name: texts[name].replace("rank: 1", "above: 0.999")}))
    found = try_rules(rules, places).failures

    assert [(x.name, x.where) for x in found] == [("example", f"{name}:14")]


def test_a_stranger_before_the_textbook_case(make: Make) -> None:
    """A cause that another one beats on its own symptoms fails, unless it says that they look alike."""
    arrows = [("a.x", "s", 0.5), ("a.y", "s", 0.8)]
    priors = {"a.x": 0.01, "a.y": 0.05}

    assert failures(make(priors, arrows)) == {("own-case", "a.x")}
    assert failures(make(priors, arrows, fields={"a.x": {"looks_like": ("a.y",)}})) == set()
    assert failures(make(priors, arrows, fields={"a.y": {"looks_like": ("a.x",)}})) == set()


def test_a_symptom_that_tells_nothing(make: Make) -> None:
    """A symptom that no cause leads to changes nothing when it is present."""
    rules = make({"a.x": 0.05}, [("a.x", "s", 0.8)], leaks={"idle": 0.1})

    assert failures(rules) == {("tells-nothing", "idle")}


def test_deprecated_causes_are_not_tried(make: Make) -> None:
    """A deprecated cause takes no part in inference, so nothing is asked of it."""
    fields = {"a.y": {"status": "deprecated", "examples": (Example({"s": P}, rank=1),)}}
    trial = try_rules(make({"a.x": 0.05, "a.y": 0.05}, [("a.x", "s", 0.8), ("a.y", "s", 0.8)], fields=fields))

    assert (trial.causes, trial.examples, trial.failures) == (1, 0, ())
