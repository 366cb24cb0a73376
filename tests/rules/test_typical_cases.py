"""Typical runs as probes would read them: the right cause leads, and healthy runs raise none."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from traindoctor.engine.diagnose import posterior, ranked
from traindoctor.engine.load import load_rules
from traindoctor.engine.model import RuleBase, State

TABLE: dict[str, Any] = yaml.safe_load(
    Path(__file__).with_name("typical_cases.yaml").read_text(encoding="utf-8")
)
CASES: list[dict[str, Any]] = TABLE["cases"]
KEYS = {"name", "profile", "ordinary", "present", "unknown", "context", "expect", "any_of", "above"}
RAISED = 0.5  # the line from which a report calls a cause likely


@pytest.fixture(scope="module")
def rules() -> RuleBase:
    """The real rules."""
    return load_rules()


def states(rules: RuleBase, case: Mapping[str, Any]) -> dict[str, State]:
    """Return the readings of a case: its profile's areas absent, but for what the case says otherwise."""
    areas = TABLE["profiles"][case["profile"]]
    present = [*case.get("present", ())]
    readings = {s.id: State.ABSENT for s in rules.symptoms.values() if s.area in areas}
    if case.get("ordinary"):
        present += [s for s in TABLE["ordinary"] if s in readings]
    unknown = [*TABLE["seldom"], *case.get("unknown", ())]
    unknown += [s for group in ("scaler", "ranks") if not {*TABLE[group]} & {*present} for s in TABLE[group]]
    for symptom in unknown:
        readings.pop(symptom, None)
    return readings | dict.fromkeys(present, State.PRESENT)


def test_the_table_is_well_formed(rules: RuleBase) -> None:
    """Every symptom and cause that the table names exists, every case expects something, names are unique."""
    named = {s for group in ("ordinary", "seldom", "scaler", "ranks") for s in TABLE[group]}
    named |= {s for case in CASES for key in ("present", "unknown") for s in case.get(key, ())}
    expected = {c for case in CASES for c in case.get("any_of", [case.get("expect")])} - {"none"}

    assert set() == named - rules.symptoms.keys()
    assert set() == expected - rules.causes.keys()
    assert all(case.keys() <= KEYS and ("expect" in case) != ("any_of" in case) for case in CASES)
    assert len(CASES) == len({case["name"] for case in CASES})


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]).replace(" ", "-"))
def test_the_right_cause_leads(rules: RuleBase, case: Mapping[str, Any]) -> None:
    """A sick run's cause ranks first, as probable as the table asks for; a healthy run raises no cause."""
    probability = posterior(rules, states(rules, case), case.get("context"))
    first = ranked(rules, probability)[0]
    if case.get("expect") == "none":
        raised = {c: round(p, 2) for c, p in probability.items() if p >= RAISED}

        assert raised == {}
    else:
        leaders = [(c, round(probability[c], 2)) for c in ranked(rules, probability)[:4]]

        assert first in case.get("any_of", [case.get("expect")]), leaders
        assert probability[first] >= case.get("above", 0.0), leaders
