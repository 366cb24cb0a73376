from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
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
    score = lab["score"]
    before = [score.restored(v) for v in stored["views"] if v["half"] == "dev"]
    right = [v for v in before if v.right and v.cause != "healthy"]
    alone = [v for v in right if v.benchmark and v.script]
    quiet = next(v for v in before if v.cause == "healthy" and v.probability < score.ALARM)
    sick = sum(v.cause != "healthy" for v in before)
    sides = sum(v.cause != "healthy" and v.benchmark and v.script for v in before)

    def told(changed: list[Any], **fields: Any) -> list[str]:
        after = [replace(v, **fields) if v in changed else v for v in before]
        return list(score.worse_than("dev", after, before))

    assert told([]) == []
    assert told(right[: int(0.005 * sick)], rank=2) == []
    assert "all views: top-1 fell" in told(right[: int(0.05 * sick)], rank=2)[0]
    one_view = told(alone[: int(0.045 * sides)], rank=2)
    assert len(one_view) == 1
    assert "with benchmark, with script: top-1 fell" in one_view[0]
    assert quiet.case in told([quiet], probability=0.9)[0]

    few = alone[:10]  # one of ten is more than the slack, and chance of which cases were taken
    for fallen, clear in ((1, False), (2, True)):
        after = [replace(v, rank=2) if v in few[:fallen] else v for v in few]
        assert bool(list(score.worse_than("dev", after, few))) is clear
    assert "quality.py" in next(iter(score.worse_than("dev", [replace(quiet, case="new")], before)))


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


def test_the_command_fails_on_a_worse_score(
    lab: dict[str, ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Held against its own score the command passes; where no answer is right any more it says what fell."""
    score = lab["score"]
    labels = yaml.load((LAB / "cases.yaml").read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    name = next(n for n, label in labels.items() if label["fault"] == "missing-fields")
    file = tmp_path / "score.json"

    def run(*options: str) -> None:
        monkeypatch.setattr(sys, "argv", ["score.py", "--only", name, "--jobs", "1", *options])
        score.main()

    run("--json", str(file))
    run("--against", str(file))
    assert any(v["rank"] == 1 for v in json.loads(file.read_text(encoding="utf-8"))["views"])
    monkeypatch.setattr(score, "accepted", lambda *_, **__: {"no.cause"})

    with pytest.raises(SystemExit) as stopped:
        run("--against", str(file))
    assert "clearly worse than the stored one" in str(stopped.value)
    assert "all views: top-1 fell from" in str(stopped.value)


def test_the_page_is_written_of_the_stored_score(lab: dict[str, ModuleType], stored: dict[str, Any]) -> None:
    """docs/quality.md says what score.json and cases.yaml say (not that the score itself is remade)."""
    labels = yaml.load((LAB / "cases.yaml").read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    page = (LAB.parent / "docs" / "quality.md").read_text(encoding="utf-8")

    code = json.loads((LAB / "code_score.json").read_text(encoding="utf-8"))
    assert page == lab["quality"].page(stored, labels, code)


def test_causes_said_to_be_unshown_have_no_case(lab: dict[str, ModuleType]) -> None:
    """The catalogue's reasons are of causes of the rule base that no run shows."""
    labels = yaml.load((LAB / "cases.yaml").read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    unshown = set(lab["quality"].NOT_SHOWN)

    assert unshown <= set(load_rules().causes)
    assert not unshown & {label["cause"] for label in labels.values()}
