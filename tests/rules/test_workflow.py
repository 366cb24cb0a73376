"""The documents' flows in the rules: whole, in the documents' order, and never done without evidence."""

from __future__ import annotations

import pytest

from traindoctor.engine.diagnose import diagnose
from traindoctor.engine.graph import outline, strongest_paths
from traindoctor.engine.load import load_rules
from traindoctor.engine.model import Reading, RuleBase, RunInfo, State
from traindoctor.engine.workflow import Order


@pytest.fixture(scope="module")
def rules() -> RuleBase:
    """The real rules."""
    return load_rules()


def test_the_steps_are_the_documents(rules: RuleBase) -> None:
    """Six steps of the Ascend workflow, and the MindSpore guide's order."""
    titles = {flow.id: [step.title for step in flow.steps] for flow in rules.flows}

    assert titles["ascend"] == [
        "Pre-tuning check",
        "One-click accuracy analyzer deployment",
        "Floating-point exception detection",
        "Fusion exception detection",
        "Network accuracy comparison",
        "Random error detection",
    ]
    assert titles["mindspore"] == [
        "Code and hyperparameters",
        "Model structure",
        "Input data",
        "Loss curve",
        "Accuracy on training data",
        "Accuracy on validation data",
        "Accuracy on test data",
    ]


def test_every_question_and_every_cause_has_its_step(rules: RuleBase) -> None:
    """Whatever is asked or blamed can be placed in the documents' order: by itself, or by its causes."""
    about = {cause for flow in rules.flows for step in flow.steps for cause in step.causes}
    assert rules.causes.keys() - about == set()

    asked = {s.id for s in rules.symptoms.values() if s.probe is None}
    graph = outline(rules)
    behind = {s: c for c in rules.causes for s in strongest_paths(graph, c) if s in asked}
    for benchmark in (False, True):
        order = Order(rules, benchmark)
        assert [s for s in sorted(asked) if not order.of(s, behind.get(s))[2]] == []


@pytest.mark.parametrize("benchmark", [None, RunInfo("benchmark")])
def test_nothing_read_nothing_done(rules: RuleBase, benchmark: RunInfo | None) -> None:
    """Without evidence no step is done, and the first is next."""
    found = diagnose(rules, {}, run=RunInfo("run"), benchmark=benchmark).workflow

    assert [f.flow.compares for f in found] == [benchmark is not None, benchmark is None]
    for flow in found:
        assert [s.state for s in flow.steps] == ["next"] + ["open"] * (len(flow.steps) - 1)


def test_everything_clear_everything_done(rules: RuleBase) -> None:
    """A run in which every symptom was looked for and is absent has passed both flows."""
    evidence = {s: Reading(s, State.ABSENT, "not there") for s in rules.symptoms}
    found = diagnose(rules, evidence, run=RunInfo("run"), benchmark=RunInfo("benchmark")).workflow

    assert {s.state for flow in found for s in flow.steps} == {"done"}


def test_a_command_names_its_run(rules: RuleBase) -> None:
    """Every step says what to type."""
    for flow in rules.flows:
        for step in flow.steps:
            assert step.command.startswith("diagnose ")
            assert " RUN" in step.command
