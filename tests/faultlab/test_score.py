from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from traindoctor.engine.load import load_rules

LAB = Path(__file__).resolve().parents[2] / "faultlab"


@pytest.fixture(scope="module")
def lab() -> Iterator[dict[str, ModuleType]]:
    """The lab's modules as its commands import them, with its folder on the path meanwhile."""
    sys.path.insert(0, str(LAB))
    try:
        import quality
        import score

        yield {"quality": quality, "score": score}
    finally:
        sys.path.remove(str(LAB))


@pytest.fixture
def stored() -> dict[str, Any]:
    """The stored score."""
    found: dict[str, Any] = json.loads((LAB / "score.json").read_text(encoding="utf-8"))
    return found


def test_a_cause_is_accepted_in_the_views_that_its_label_names(lab: dict[str, ModuleType]) -> None:
    """`benchmark` and `script` narrow the views; without them every view takes the cause."""
    label = {
        "cause": "data.outliers",
        "accept": [
            {"cause": "data.leakage", "because": "-"},
            {"cause": "init.zeros", "because": "-", "script": False},
            {"cause": "api.misuse", "because": "-", "benchmark": True, "script": False},
        ],
    }
    accepted = lab["score"].accepted

    assert accepted(label, benchmark=False, script=True) == {"data.outliers", "data.leakage"}
    assert accepted(label, benchmark=False, script=False) == {"data.outliers", "data.leakage", "init.zeros"}
    assert "api.misuse" in accepted(label, benchmark=True, script=False)


def test_worse_scores_are_named(lab: dict[str, ModuleType], stored: dict[str, Any]) -> None:
    """A fall of more than 0.03 in a half or in one view, or one more alarm, is told; less is not."""
    before = stored["figures"]["dev"]
    view = next(iter(before["view_top1"]))
    worse = lab["score"].worse_than

    def told(**changes: Any) -> list[str]:
        return list(worse("dev", {**before, **changes}, before))

    assert told() == []
    assert told(top1=before["top1"] - 0.02) == []
    assert "top-1 fell" in told(top1=before["top1"] - 0.04)[0]
    assert view in told(view_top1={**before["view_top1"], view: before["view_top1"][view] - 0.04})[0]
    assert "healthy runs are alarmed" in told(healthy_alarmed=before["healthy_alarmed"] + 1)[0]
    assert "quality.py" in told(n=before["n"] + 1)[0]


def test_each_case_counts_once(lab: dict[str, ModuleType]) -> None:
    """Of one case a view of four is right, of another its only one: five eighths, not two fifths."""
    score = lab["score"]

    def view(case: str, rank: int) -> Any:
        said = {"cause": "x.y", "fault": "", "strength": "", "half": "dev", "archetype": "", "log": ""}
        more = {"top": (), "checklist": (), "seconds": 0.0, "errors": (), "present": ()}
        return score.View(
            case=case, rank=rank, probability=0.5, benchmark=False, script=False, **said, **more
        )

    views = [view("one", 1), view("one", 2), view("one", 4), view("one", 0), view("two", 1)]

    assert score.figures(views)["top1"] == pytest.approx(2 / 5)
    assert score.by_case(views)["top1"] == pytest.approx((1 / 4 + 1) / 2)
    assert score.by_case(views)["n"] == 2


def test_the_command_fails_on_a_worse_score(tmp_path: Path) -> None:
    """Held against a better stored score the command exits with 1 and says what fell."""
    labels = yaml.load((LAB / "cases.yaml").read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    name = next(n for n, label in labels.items() if label["fault"] == "missing-fields")
    command = [sys.executable, str(LAB / "score.py"), "--only", name, "--jobs", "1"]
    file = tmp_path / "score.json"
    subprocess.run([*command, "--json", str(file)], check=True, capture_output=True)
    same = subprocess.run([*command, "--against", str(file)], check=False, capture_output=True, text=True)
    better = json.loads(file.read_text(encoding="utf-8"))
    for figures in better["figures"].values():
        figures["top1"] += 0.1
    file.write_text(json.dumps(better), encoding="utf-8")
    worse = subprocess.run([*command, "--against", str(file)], check=False, capture_output=True, text=True)

    assert same.returncode == 0, same.stderr
    assert worse.returncode == 1
    assert "clearly worse than the stored one" in worse.stderr
    assert "all views: top-1 fell" in worse.stderr


def test_the_page_is_written_of_the_stored_score(lab: dict[str, ModuleType], stored: dict[str, Any]) -> None:
    """docs/quality.md says what score.json and cases.yaml say (not that the score itself is remade)."""
    labels = yaml.load((LAB / "cases.yaml").read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    page = (LAB.parent / "docs" / "quality.md").read_text(encoding="utf-8")

    assert page == lab["quality"].page(stored, labels)


def test_causes_said_to_be_unshown_have_no_case(lab: dict[str, ModuleType]) -> None:
    """The catalogue's reasons are of causes of the rule base that no run shows."""
    labels = yaml.load((LAB / "cases.yaml").read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    unshown = set(lab["quality"].NOT_SHOWN)

    assert unshown <= set(load_rules().causes)
    assert not unshown & {label["cause"] for label in labels.values()}
