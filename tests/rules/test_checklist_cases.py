"""Every item of every checklist: runs that pass it, fail it and leave it Not checked, told in a sentence."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from traindoctor.cli.work import Request, Work, examine
from traindoctor.engine.checklist import check_all, first_reasons
from traindoctor.engine.load import load_rules
from traindoctor.engine.model import CheckedItem, Result
from traindoctor.reports.text import markdown

from ._checklist_runs import BUILT

ROOT = Path(__file__).resolve().parents[2]
LISTS = ("ascend", "mindspore", "mindformers")
CASES: list[dict[str, Any]] = yaml.load(
    (Path(__file__).parent / "checklist_cases.yaml").read_text(encoding="utf-8"), Loader=yaml.CSafeLoader
)["cases"]


def named(case: dict[str, Any]) -> str:
    return case["run"].removeprefix("lab/") + ("-logs" if case.get("logs") else "")


def worked(case: dict[str, Any], scratch: Path) -> Work:
    """Diagnose a case as the command does, in a copy whose path says nothing."""
    kind, _, name = case["run"].partition("/")
    if kind == "built":
        BUILT[name](scratch)
        run, data = scratch / "run", scratch / "data"
        benchmarks = [scratch / n for n in ("benchmark", "second", "third") if (scratch / n).is_dir()]
        return asked(run, benchmarks, case, data if data.is_dir() else None)
    run = copied(case["run"], scratch / "run", case)
    benchmarks = [copied(b, scratch / f"benchmark{n}", case) for n, b in enumerate(case.get("benchmark", ()))]
    return asked(run, benchmarks, case, None)


def asked(run: Path, benchmarks: list[Path], case: dict[str, Any], data: Path | None) -> Work:
    answers = tuple(case.get("answers", ()))
    return examine(Request(run, tuple(benchmarks), answers=answers, data=data, quiet=True))


def copied(name: str, target: Path, case: dict[str, Any]) -> Path:
    source = ROOT / name.replace("lab/", "faultlab/runs/")
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("*.py") if case.get("logs") else None)
    return target


def checked(work: Work) -> dict[str, dict[str, CheckedItem]]:
    found = work.diagnosis
    evidence = {r.symptom: r for r in found.findings}
    probability = {h.cause: h.probability for h in found.hypotheses}
    reasons = first_reasons(found.hypotheses)
    return {
        name: {i.id: i for i in check_all(work.rules, name, evidence, probability, reasons)} for name in LISTS
    }


def expected(case: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """(list, item, result) of a case."""
    for name in LISTS:
        for result, items in case.get(name, {}).items():
            yield from ((name, str(item), result) for item in items)


@pytest.mark.parametrize("case", CASES, ids=named)
def test_the_result(case: dict[str, Any], tmp_path: Path) -> None:
    """The items come out as the case says, each with a sentence; what is open says what would check it."""
    found = checked(worked(case, tmp_path))
    wrong = [
        (name, item, str(found[name][item].result), found[name][item].why)
        for name, item, result in expected(case)
        if found[name][item].result != result
    ]

    assert not wrong
    for item in (i for items in found.values() for i in items.values()):
        assert item.why.endswith((".", "…", "?")) and len(item.why) > 10, item
        assert item.result is Result.NOT_CHECKED or item.decided_by, item
        assert item.result is not Result.NOT_CHECKED or item.check, item
    page = (ROOT / "docs" / "checklists.md").read_text(encoding="utf-8")
    for name, item, result in expected(case):
        if first(name, item, result) is case:  # write the page anew with `make docs`
            assert told(found[name][item]) in page, (name, item, result)


def first(name: str, item: str, result: str) -> dict[str, Any]:
    """The case that the page shows for a result of an item."""
    return next(case for case in CASES if (name, item, result) in expected(case))


def told(item: CheckedItem) -> str:
    """The sentence as the page has it: without probabilities, which move with every rule."""
    return markdown(re.sub(r": (?:above |below )?\d{1,2} %(?=\.| \()", "", item.why))


@lru_cache(maxsize=1)
def covered() -> set[tuple[str, str, str]]:
    return {row for case in CASES for row in expected(case)}


@pytest.mark.parametrize("name", LISTS)
def test_no_result_is_without_a_run(name: str) -> None:
    """Each item has all three results among the cases."""
    items = [i.id for i in load_rules().checklists[name]]
    missing = [(i, str(r)) for i in items for r in Result if (name, i, str(r)) not in covered()]

    assert not missing
