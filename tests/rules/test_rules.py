"""The knowledge base itself: it loads, and every cause file passes every lint."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import pytest
import yaml

from traindoctor.engine.diagnose import diagnose
from traindoctor.engine.lint import BASE_LINTS, Subject, lint, lint_cause
from traindoctor.engine.load import load_rules
from traindoctor.engine.model import Reading, Result, RuleBase, RunInfo, State
from traindoctor.rules import root

FILES = sorted(p.relative_to(root()).as_posix() for p in (root() / "causes").rglob("*.yaml"))
KNOWLEDGE = Path(__file__).resolve().parents[2].parent / "shared" / "knowledge" / "causes.yaml"


@lru_cache(maxsize=1)
def subject() -> Subject:
    return Subject(load_rules())


def rules() -> RuleBase:
    return subject().rules


@pytest.mark.parametrize("file", FILES)
def test_cause_file(file: str) -> None:
    """A cause is complete, can be seen and told apart, and its examples and textbook case hold."""
    cause = next(c.id for c in rules().causes.values() if c.path == file)

    assert [str(x) for x in lint_cause(subject(), cause)] == []


@pytest.mark.parametrize("check", BASE_LINTS, ids=lambda c: c.__name__)
def test_the_base_as_a_whole(check: object) -> None:
    """No lint of the whole base finds an error (warnings are for people)."""
    assert callable(check)

    assert [str(x) for x in check(subject()) if x.level == "error"] == []


def test_the_base_has_no_lints_at_all() -> None:
    """Warnings are for people who are in the middle of something; what is finished has none."""
    assert [str(x) for x in lint(rules()) if x.level == "warning"] == []


def test_every_known_cause_has_its_file() -> None:
    """The vocabulary of causes and the rule files are the same list."""
    if not KNOWLEDGE.is_file():
        pytest.skip("the shared vocabulary is not here")
    groups = yaml.safe_load(KNOWLEDGE.read_text(encoding="utf-8"))
    known = {cause for group in groups.values() for cause in group}

    assert known <= set(rules().causes)


def test_priors_are_those_of_somebody_unhappy() -> None:
    """Given that somebody is unhappy with a run, about one cause is expected behind it."""
    total = sum(c.prior for c in rules().causes.values())

    assert 0.5 <= total <= 2.0


def test_the_gap_in_the_ascend_checklist_is_kept() -> None:
    """The source has items 1 to 4 and 6 to 10."""
    items = [item.id for item in rules().checklists["ascend"]]

    assert items == ["1", "2", "3", "4", "6", "7", "8", "9", "10"]


def test_nothing_read_means_nothing_claimed() -> None:
    """Without a single reading no cause leads, nothing is explained, and no item has passed."""
    found = diagnose(rules(), {}, run=RunInfo("run"))

    assert found.leading == ()
    assert {item.result for item in found.checklist} == {Result.NOT_CHECKED}
    assert {r.state for r in found.findings} == {State.UNKNOWN}


def test_all_absent_is_healthy() -> None:
    """A run in which nothing at all is found has no cause even at one in ten."""
    evidence = {s: Reading(s, State.ABSENT, "not seen") for s in rules().symptoms}
    found = diagnose(rules(), evidence, run=RunInfo("run"))

    assert max(h.probability for h in found.hypotheses) < 0.1
    assert {item.result for item in found.checklist} == {Result.PASSED}
