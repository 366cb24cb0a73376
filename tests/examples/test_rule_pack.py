"""The example of a rule pack: sound, and used as its README says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from traindoctor.cli import main
from traindoctor.engine.document import parse
from traindoctor.engine.lint import lint
from traindoctor.engine.load import load_with_places, scale_words
from traindoctor.engine.schema_json import schema_json
from traindoctor.engine.trial import try_rules

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PACK = EXAMPLES / "rule-pack"
ANSWER = "inhouse.cache-older-than-data"


def test_the_pack_is_sound() -> None:
    """It loads, no lint finds anything in it, and its examples hold among all other rules."""
    rules, places = load_with_places(packs=[PACK])

    assert rules.problems == ()
    assert [x for x in lint(rules, places) if "inhouse" in x.subject] == []
    assert [x for x in try_rules(rules, places).failures if "inhouse" in x.subject] == []


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("pack.yaml", "pack"),
        ("sources.yaml", "sources"),
        ("symptoms/cache.yaml", "symptoms"),
        ("causes/inhouse/stale-cache.yaml", "cause"),
    ],
)
def test_its_files_are_as_the_schemas_say(name: str, kind: str) -> None:
    """An editor finds nothing to mark in them."""
    data = parse(name, (PACK / name).read_bytes()).data

    assert list(Draft202012Validator(schema_json(kind, scale_words())).iter_errors(data)) == []


@pytest.mark.parametrize(("answer", "leads"), [("present", True), ("absent", False)])
def test_the_answer_decides(answer: str, leads: bool, capsys: pytest.CaptureFixture[str]) -> None:
    """On a healthy run the cause leads when the user says so, and only then."""
    run = str(EXAMPLES / "healthy" / "run")
    assert main([run, "--rules", str(PACK), "--answer", f"{ANSWER}={answer}", "-f", "json"]) == 0
    found = {h["cause"]: h["probability"] for h in json.loads(capsys.readouterr().out)["hypotheses"]}

    assert (found["inhouse.stale-cache"] >= 0.5) is leads


def test_the_next_command_names_the_pack(capsys: pytest.CaptureFixture[str]) -> None:
    """A command line that a report offers for pasting reads the same rules."""
    run = str(EXAMPLES / "healthy" / "run")
    assert main([run, "--rules", str(PACK), "--answer", f"{ANSWER}=present"]) == 0

    assert f"--rules {PACK}" in " ".join(capsys.readouterr().out.split())
