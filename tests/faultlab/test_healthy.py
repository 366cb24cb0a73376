"""Right runs of every project of the lab, with their script: none is given a cause."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

LAB = Path(__file__).resolve().parents[2] / "faultlab"
LABELS: dict[str, dict[str, Any]] = yaml.load((LAB / "cases.yaml").read_text("utf-8"), yaml.CSafeLoader)
HEALTHY = sorted(name for name, label in LABELS.items() if label["cause"] == "healthy")
FIRST = {LABELS[name]["archetype"]: name for name in reversed(HEALTHY)}


@pytest.fixture(scope="module")
def score() -> Iterator[Any]:
    """The lab's module as its command imports it."""
    sys.path.insert(0, str(LAB))
    try:
        import score

        yield score
    finally:
        sys.path.remove(str(LAB))


@pytest.mark.parametrize("project", sorted(FIRST))
def test_a_right_run_of_each_project_stays_silent(project: str, score: Any) -> None:
    """The score in CI takes a part of the cases only; a program that is alarmed stands out here."""
    name = FIRST[project]
    view = score.look((name, LABELS[name], False, True))
    assert view.probability < score.ALARM, (name, view.top)
    assert not view.errors
