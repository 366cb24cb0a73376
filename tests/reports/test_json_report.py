"""JSON: as the schema says, the same bytes for the same diagnosis, and nothing that is no JSON."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from traindoctor.engine.model import ComparedOperator, Diagnosis, Place
from traindoctor.reports import json_report
from traindoctor.reports.model import Extras
from traindoctor.reports.sections import Section

from ._fixture import HOSTILE, healthy, hostile, reading, sick

DOCS = Path(__file__).resolve().parents[2] / "docs" / "schema" / "diagnosis.schema.json"
SCHEMA = json.loads(json_report.schema_text())


def parsed(diagnosis: Diagnosis) -> dict[str, Any]:
    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    found: dict[str, Any] = json.loads(json_report.render(diagnosis), parse_constant=refuse)
    return found


def test_the_schema_is_a_schema() -> None:
    """The published schema is valid JSON Schema 2020-12."""
    Draft202012Validator.check_schema(SCHEMA)


def test_the_schema_in_the_docs_is_the_one_that_is_installed() -> None:
    """docs/ holds a copy of the package's schema."""
    assert DOCS.read_text(encoding="utf-8") == json_report.schema_text()


@pytest.mark.parametrize(
    "diagnosis", [healthy(), sick(), *map(hostile, HOSTILE)], ids=lambda d: d.run.path[:12]
)
def test_output_is_as_the_schema_says(diagnosis: Diagnosis) -> None:
    """Every diagnosis validates, and unknown fields would not."""
    found = parsed(diagnosis)

    Draft202012Validator(SCHEMA).validate(found)
    assert not Draft202012Validator(SCHEMA).is_valid({**found, "surplus": 1})


def test_the_contract_of_section_7() -> None:
    """The fields that other programs rely on are there under their names."""
    found = parsed(sick())

    assert found["schema_version"] == "1"
    assert {"path", "formats", "steps", "framework"} <= found["run"].keys()
    assert found["hypotheses"][0]["cause"] == "hyperparameter.learning-rate-too-large"
    assert found["hypotheses"][0]["probability"] == 0.7084
    assert found["hypotheses"][0]["remedies"][0]["patch"] == {"learning_rate": "/10"}
    assert {f["state"] for f in found["findings"]} == {"present", "absent", "unknown"}
    assert [i["result"] for i in found["checklist"]] == ["Not checked", "Passed", "Failed"]
    assert found["conflict"] == 4.2


@pytest.mark.parametrize(("value", "word"), [(math.nan, "nan"), (math.inf, "inf"), (-math.inf, "-inf")])
def test_what_json_cannot_hold_is_null_with_its_name(value: float, word: str) -> None:
    """A NaN that was measured is told from one that was not."""
    one = replace(sick(), findings=(reading(value=value, step=math.nan), reading("other", value=None)))
    nan, none = parsed(one)["findings"]

    assert (nan["value"], nan["nonfinite"], nan["step"]) == (None, word, None)
    assert none["value"] is None
    assert "nonfinite" not in none


def test_numpy_scalars_are_numbers() -> None:
    """A probe may leave numpy's numbers in a reading."""
    where = (Place("log", np.int64(3), np.float64(4)),)  # type: ignore[arg-type]
    made = reading(value=np.float64(2.5), step=np.float32(8), where=where)
    found = parsed(replace(sick(), findings=(made,)))["findings"][0]

    assert (found["value"], found["step"], found["where"][0]["line"]) == (2.5, 8.0, 3)


def test_what_is_no_data_is_refused() -> None:
    """An object without a place in JSON is an error, not a string of its address."""
    with pytest.raises(TypeError, match="object has no place in a report"):
        json_report.render(replace(sick(), rules_version=object()))  # type: ignore[arg-type]


def test_text_is_ascii() -> None:
    """No terminal and no locale can change what is printed."""
    for text in HOSTILE:
        assert json_report.render(hostile(text)).isascii()


def test_the_same_diagnosis_gives_the_same_bytes() -> None:
    """Hash seeds do not show."""
    code = """
import hashlib, importlib.util, sys
from traindoctor.reports import json_report, markdown, terminal
spec = importlib.util.spec_from_file_location("fixture", sys.argv[1])
fixture = importlib.util.module_from_spec(spec)
spec.loader.exec_module(fixture)
d, extras = fixture.sick(), fixture.extras()
page = markdown.render(d, extras, stem="r")
said = [json_report.render(d), page.text, str(sorted(page.files.items())), terminal.render(d, extras)]
print(hashlib.sha256("".join(said).encode()).hexdigest())
"""
    fixture = str(Path(__file__).with_name("_fixture.py"))
    seeds = [
        {"PYTHONHASHSEED": s, "PYTHONPATH": ":".join(p for p in sys.path if p)} for s in ("0", "1", "77")
    ]
    runs = [
        subprocess.run(
            [sys.executable, "-c", code, fixture], env=e, capture_output=True, text=True, check=True
        )
        for e in seeds
    ]

    assert len({r.stdout for r in runs}) == 1


def test_keys_are_sorted() -> None:
    """Two reports can be compared line by line."""
    text = json_report.render(sick())

    assert json.dumps(json.loads(text), indent=2, sort_keys=True) + "\n" == text


def test_the_checklist_alone() -> None:
    """The checklist's own report names the runs and the items."""
    found = json.loads(json_report.render_checklist(sick()))

    assert [i["id"] for i in found["checklist"]] == ["1", "4", "10"]
    assert found["run"]["path"] == "runs/exp7"


def test_what_dumps_and_checkpoints_say_is_there() -> None:
    """A section each: the answer, where it begins, and what is not sound in order."""
    strip = tuple(
        ComparedOperator(f"op{n}{HOSTILE[0]}", "Mul", "forward", n, "same" if n < 3 else "inherited", rank=1)
        for n in range(500)
    )
    first = replace(strip[2], state="first", source="train.py(3)")
    section = Section(
        "compare", "Operator comparison", "op2 is the first", True, "diagnose compare a --benchmark b", strip,
        kind="operator", first=first,
    )  # fmt: skip
    found = json.loads(json_report.render(sick(), Extras(sections=(section,))))

    Draft202012Validator(SCHEMA).validate(found)
    (one,) = found["sections"]
    assert (one["question"], one["kind"], one["telling"]) == ("compare", "operator", True)
    assert one["first"]["name"] == "op2red" and one["first"]["source"] == "train.py(3)"
    assert one["strip"]["counts"] == {"agrees": 3, "inherited": 497}
    assert len(one["strip"]["marked"]) == 200
    assert one["strip"]["marked"][0] == {
        "position": 3, "name": "op3red", "state": "inherited", "rank": 1, "step": None
    }  # fmt: skip
    assert parsed(sick())["sections"] == []
