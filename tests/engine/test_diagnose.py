"""The whole engine: ranking, the shape of the answer, determinism."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindoctor.engine.diagnose import RAISED, diagnose, ranked
from traindoctor.engine.load import load_rules
from traindoctor.engine.model import Diagnosis, Reading, RuleBase, RunInfo, State
from traindoctor.engine.words import percent

P, A, U = State.PRESENT, State.ABSENT, State.UNKNOWN
Make = Callable[..., RuleBase]
FAMILY = {"a.special": {"refines": ("a.general",)}, "a.special2": {"refines": ("a.general",)}}


@pytest.fixture(scope="session")
def family(make: Make) -> RuleBase:
    """A general cause, two special ones and an unrelated one."""
    priors = {"a.general": 0.05, "a.special": 0.05, "a.special2": 0.05, "a.other": 0.05}
    arrows = [
        ("a.general", "s", 0.8),
        ("a.special", "s", 0.5),
        ("a.special2", "t", 0.5),
        ("a.other", "u", 0.8),
    ]
    return make(priors, arrows, fields=FAMILY)


def answer(rules: RuleBase, *readings: Reading, **rest: object) -> Diagnosis:
    return diagnose(rules, {r.symptom: r for r in readings}, run=RunInfo("run"), **rest)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("special", "general", "other", "order"),
    [
        (0.6, 0.9, 0.5, ["a.special", "a.general", "a.other"]),
        (0.4, 0.9, 0.6, ["a.special", "a.general", "a.other"]),
        (0.9, 0.4, 0.6, ["a.special", "a.general", "a.other"]),
        (0.29, 0.9, 0.6, ["a.general", "a.other", "a.special"]),
        (0.9, 0.29, 0.6, ["a.special", "a.other", "a.general"]),
        (0.5, 0.5, 0.5, ["a.special", "a.general", "a.other"]),
    ],
)
def test_special_before_general(
    family: RuleBase, special: float, general: float, other: float, order: list[str]
) -> None:
    """Raised together, the special cause stands directly before its general one; else probability decides."""
    p = {"a.special": special, "a.general": general, "a.other": other, "a.special2": 0.01}

    assert [c for c in ranked(family, p) if c != "a.special2"] == order


@given(st.lists(st.floats(0, 1), min_size=4, max_size=4))
def test_general_never_above_special(family: RuleBase, values: list[float]) -> None:
    """Every cause is ranked once, the general one after each of its raised special ones."""
    p = dict(zip(sorted(family.causes), values, strict=True))
    order = ranked(family, p)

    assert sorted(order) == sorted(p)
    for special in FAMILY:
        if min(p[special], p["a.general"]) >= RAISED:
            assert order.index(special) < order.index("a.general")


def test_circular_refinement_is_survived(make: Make) -> None:
    """Rules that refine each other are still ranked, each once."""
    rules = make(
        {"a.x": 0.1, "a.y": 0.1}, [], fields={"a.x": {"refines": ("a.y",)}, "a.y": {"refines": ("a.x",)}}
    )

    assert sorted(ranked(rules, {"a.x": 0.9, "a.y": 0.8})) == ["a.x", "a.y"]


def test_the_special_cause_names_its_general_one(make: Make) -> None:
    """The hypothesis of the special cause carries the general one, so that reports tell one chain."""
    arrows = [("a.general", "s", 0.9), ("a.special", "t", 0.9)]
    rules = make({"a.general": 0.3, "a.special": 0.3}, arrows, fields=FAMILY)

    found = answer(rules, Reading("s", P, "seen"), Reading("t", P, "seen")).hypotheses

    assert [(h.cause, h.generalises) for h in found] == [("a.special", ("a.general",)), ("a.general", ())]


def test_ties_go_by_id(make: Make) -> None:
    """Causes of equal probability are in the order of their ids."""
    assert ranked(make({"a.b": 0.1, "a.a": 0.1}, []), {"a.b": 0.1, "a.a": 0.1}) == ["a.a", "a.b"]


def test_the_answer_is_complete(family: RuleBase) -> None:
    """All causes are ranked, all symptoms are found, all titles are there, parts add up."""
    found = answer(family, Reading("s", P, "seen", step=3), Reading("u", A, "not seen"))

    assert sorted(h.cause for h in found.hypotheses) == sorted(family.causes)
    assert [r.symptom for r in found.findings] == sorted(family.symptoms)
    assert found.titles["s"] == "Title of s"
    assert found.converged
    assert found.rules_version == "test"
    assert set(found.unexplained) == {"s"}
    for h in found.hypotheses:
        odds = math.log(h.prior / (1 - h.prior)) + sum(h.contributions.values())
        assert odds == pytest.approx(math.log(h.probability / (1 - h.probability)), abs=1e-9)


def test_probability_orders_hypotheses(family: RuleBase) -> None:
    """The cause of what is present comes first, with its reason."""
    first = answer(family, Reading("u", P, "seen")).hypotheses[0]

    assert (first.cause, first.probability > 0.5) == ("a.other", True)
    assert [r.reading.why for r in first.reasons] == ["seen"]


def test_a_cause_that_misses_the_earliest_symptom(family: RuleBase) -> None:
    """The hypothesis says which earliest symptom it does not lead to."""
    found = answer(family, Reading("u", P, "seen", step=50), Reading("t", P, "seen", step=2))
    missed = {h.cause: h.unexplained_earliest for h in found.hypotheses}

    assert missed == {"a.general": "t", "a.special": "t", "a.other": "t", "a.special2": None}


def test_nothing_read(family: RuleBase) -> None:
    """Without evidence every cause keeps its prior and nothing leads."""
    found = answer(family)

    assert found.leading == ()
    assert [h.probability for h in found.hypotheses] == pytest.approx([0.05] * 4)
    assert all(r.state is U for r in found.findings)
    assert (found.unexplained, found.conflict) == ({}, 0.0)


def test_what_was_not_evaluated(family: RuleBase) -> None:
    """Crashed probes, readings the rules do not know and unusable packs are listed."""
    rules = replace(family, problems=("rule pack x: no such folder",))

    found = answer(rules, Reading("s", U, "probe error: KeyError: 'a'"), Reading("alien", P, "seen"))

    assert found.not_evaluated == (
        ("s", "probe error: KeyError: 'a'"),
        ("alien", "the rules have no such symptom"),
        ("rules", "rule pack x: no such folder"),
    )


def test_context_of_the_run_counts(make: Make) -> None:
    """The run's own facts are the context unless others are given."""
    rules = make({"a.x": 0.05}, [("a.x", "s", 0.8)], fields={"a.x": {"applies_when": {"side": "left"}}})
    right = RunInfo("run", context={"side": "right"})

    assert diagnose(rules, {}, run=right).hypotheses[0].prior == pytest.approx(0.002)
    assert diagnose(rules, {}, run=right, context={}).hypotheses[0].prior == pytest.approx(0.05)


DETERMINISM = """
from traindoctor.engine.diagnose import diagnose
from traindoctor.engine.load import load_rules
from traindoctor.engine.model import Reading, RunInfo, State
rules = load_rules()
states = [State.PRESENT, State.ABSENT, State.UNKNOWN, State.ABSENT, State.ABSENT]
evidence = {s: Reading(s, states[i % 5], "why", step=i) for i, s in enumerate(sorted(rules.symptoms))}
print(repr(diagnose(rules, evidence, run=RunInfo("run"))))
"""


def test_same_input_same_bytes() -> None:
    """The answer does not depend on how Python happens to hash."""
    outputs = {
        subprocess.run(
            [sys.executable, "-c", DETERMINISM],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2")
    }

    assert len(outputs) == 1
    assert len(next(iter(outputs))) > 1000


@pytest.mark.parametrize("seen", ["loss-spike", "grad-norm", "inputs-"])
def test_what_an_answer_changes_begins_at_the_probability_that_is_shown(seen: str) -> None:
    """Under every next check the first figure of a cause is the one that stands at the cause."""
    rules = load_rules()
    found = answer(rules, *(Reading(s, P, "seen") for s in sorted(rules.symptoms) if s.startswith(seen)))
    shown = {h.title: percent(h.probability) for h in found.hypotheses}
    texts = [text for c in found.next_checks for text in (c.if_present, c.if_absent)]
    told = [pair for text in texts for pair in _TOLD.findall(text)]

    assert told
    assert all(before == shown[title] for title, before in told)


_TOLD = re.compile(r"“([^”]+)” \(([^→]+) → ")
