from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from traindoctor.engine.diagnose import diagnose
from traindoctor.engine.load import load_rules
from traindoctor.engine.model import Diagnosis, RuleBase
from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.readings import readings

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
EXPECTED: dict[str, dict[str, Any]] = yaml.load(
    (EXAMPLES / "expected.yaml").read_text(encoding="utf-8"), Loader=yaml.CSafeLoader
)


def _cases() -> list[tuple[str, bool]]:
    """Every example alone (unless its own files cannot show the fault) and with its benchmark."""
    alone = [(name, False) for name, wanted in EXPECTED.items() if wanted.get("alone", True)]
    return alone + [(name, True) for name in EXPECTED if (EXAMPLES / name / "benchmark").is_dir()]


def _id(case: tuple[str, bool]) -> str:
    return f"{case[0]}-{'benchmark' if case[1] else 'alone'}"


@pytest.fixture(scope="module")
def rules() -> RuleBase:
    return load_rules()


def _diagnosis(rules: RuleBase, name: str, with_benchmark: bool) -> Diagnosis:
    run = open_run(EXAMPLES / name / "run")
    benchmark = open_run(EXAMPLES / name / "benchmark") if with_benchmark else None
    evidence = readings(run, benchmark, rules.symptoms.values())
    return diagnose(rules, evidence, run=run.info, benchmark=benchmark.info if benchmark else None)


@pytest.mark.parametrize("case", _cases(), ids=_id)
def test_injected_cause_ranks_first(rules: RuleBase, case: tuple[str, bool]) -> None:
    """The fault that was put in comes first; a healthy run has no cause at one half or above."""
    wanted = EXPECTED[case[0]]
    diagnosis = _diagnosis(rules, *case)

    if wanted.get("healthy"):
        assert [(h.cause, h.probability) for h in diagnosis.leading] == []
    else:
        assert diagnosis.hypotheses[0].cause in {wanted["first"], *wanted.get("accept", ())}


@pytest.mark.parametrize("case", _cases(), ids=_id)
def test_no_probe_fails(rules: RuleBase, case: tuple[str, bool]) -> None:
    """Every probe copes with what real scripts leave."""
    errors = [f for f in _diagnosis(rules, *case).findings if f.why.startswith("probe error")]

    assert errors == []


def test_expectations_name_every_example(rules: RuleBase) -> None:
    """Each folder has an expectation, and each expectation names known causes."""
    folders = {p.name for p in EXAMPLES.iterdir() if (p / "run").is_dir()}
    named = {c for w in EXPECTED.values() for c in (w.get("first"), *w.get("accept", ())) if c}

    assert set(EXPECTED) == folders
    assert named <= set(rules.causes)
