from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from traindoctor.engine.load import load_rules

LAB = Path(__file__).resolve().parents[2] / "faultlab"
LABELS: dict[str, dict[str, Any]] = yaml.load(
    (LAB / "cases.yaml").read_text(encoding="utf-8"), Loader=yaml.CSafeLoader
)


@pytest.fixture(scope="module")
def catalog() -> Any:
    """The catalogue as make.py imports it, with its folder on the path for as long as this takes."""
    sys.path.insert(0, str(LAB))
    try:
        import catalog as module
    finally:
        sys.path.remove(str(LAB))
    return module


def test_labels_name_recorded_runs_and_known_causes() -> None:
    """Each label has its run, its benchmark's run, and causes of the rule base."""
    known = {*load_rules().causes, "healthy", "reference"}
    for name, label in LABELS.items():
        causes = {label["cause"], *(also["cause"] for also in label.get("accept", ()))}

        assert (LAB / "runs" / name).is_dir(), name
        assert causes <= known, name
        assert {label.get("benchmark", name), *label.get("repeats", ())} <= set(LABELS), name


def test_each_accepted_cause_has_a_reason_and_a_view() -> None:
    """Nothing is accepted without a reason, twice, or in no view that the case has."""
    for name, label in LABELS.items():
        accepted = label.get("accept", [])
        sides = {False} if label.get("alone", True) else set()
        sides |= {True} if "benchmark" in label else set()

        assert all(len(also["because"]) > 15 for also in accepted), name
        assert all(also.get("benchmark") in {None, *sides} for also in accepted), name
        assert len({also["cause"] for also in accepted} | {label["cause"]}) == len(accepted) + 1, name


def test_runs_hold_no_label() -> None:
    """Nothing in a run's folder tells its fault: no label, no name of a cause, no path of the lab."""
    causes = sorted({label["cause"] for label in LABELS.values()} - {"healthy", "reference"})
    telling = re.compile(rf"faultlab|({'|'.join(map(re.escape, causes))})(?!\w)")
    for name in LABELS:
        files = [p for p in (LAB / "runs" / name).rglob("*") if p.is_file()]
        texts = [p.read_bytes().decode("utf-8", "replace") for p in files]

        assert not any(telling.search(text) for text in texts), name


def test_recorded_scripts_are_what_the_catalogue_generates(catalog: Any) -> None:
    """The saved script is exactly what ran: it comes out of the template again."""
    sys.path.insert(0, str(LAB))
    try:
        from generate import render
    finally:
        sys.path.remove(str(LAB))
    cases = {case.name: case for case in catalog.CASES}
    for name in LABELS:
        files = render(cases[name], catalog.ARCHETYPES[cases[name].archetype])
        recorded = {n: (LAB / "runs" / name / n).read_text(encoding="utf-8") for n in files}

        assert files == recorded, name


def test_logs_of_projects_are_read_back() -> None:
    """Each recorded run of a project yields rows of training and of validation to the lab's own reader."""
    sys.path.insert(0, str(LAB))
    try:
        from project_logs import EVENT_FILES, PROJECT_LOGS
    finally:
        sys.path.remove(str(LAB))
    files = {k: v for k, v in PROJECT_LOGS.items() if k not in EVENT_FILES}
    for name, label in LABELS.items():
        if label["log"] in files and "crashed" not in label["measured"]:  # a crash may come before any row
            rows = files[label["log"]][0](LAB / "runs" / name)

            assert sum(bool({"loss", "grad_norm"} & set(row)) for row in rows) > 1, name
            assert any("val_loss" in row for row in rows), name


def test_lab_is_large_and_small_enough() -> None:
    """At least forty healthy runs, both halves, and no more megabytes than a clone bears."""
    halves = [label["half"] for label in LABELS.values()]
    healthy = [name for name, label in LABELS.items() if label["cause"] == "healthy"]
    size = sum(p.stat().st_size for p in (LAB / "runs").rglob("*") if p.is_file())

    assert len(healthy) >= 40
    assert min(halves.count("dev"), halves.count("holdout")) >= 30
    assert size < 36e6


def test_swings_count_falls_between_extremes() -> None:
    """A steady rise has no swing; each fall of three points or more is one, however many rows it takes."""
    sys.path.insert(0, str(LAB))
    try:
        from baselines import swings
    finally:
        sys.path.remove(str(LAB))

    assert swings(np.array([0.1, 0.4, 0.6, 0.61])) == 0
    assert swings(np.array([0.5, 0.6, 0.59, 0.55, 0.7, 0.69, 0.8, 0.7])) == 2
