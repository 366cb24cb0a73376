"""JSON Schemas of rule files: valid, accepting all our files, refusing what the loader refuses."""

from __future__ import annotations

import copy
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from traindoctor.engine.document import parse
from traindoctor.engine.load import RuleError, scale_words
from traindoctor.engine.schema_json import KINDS, schema_json
from traindoctor.rules import root

BY_NAME = {"sources.yaml": "sources", "mechanisms.yaml": "mechanisms", "scale.yaml": "scale"}
BY_FOLDER = {"causes": "cause", "symptoms": "symptoms", "checklists": "checklist"}
OTHER = {"coverage.yaml": "coverage", "workflow.yaml": "workflow"}


def kind_of(path: Path) -> str | None:
    """The kind of a rule file, told by where it stands; None for tables that only probes read."""
    parts = path.relative_to(root()).parts
    return {**BY_NAME, **OTHER}.get(parts[0]) or BY_FOLDER.get(parts[0])


FILES = {p.relative_to(root()).as_posix(): kind_of(p) for p in sorted(root().rglob("*.yaml")) if kind_of(p)}


@cache
def validator(kind: str) -> Draft202012Validator:
    schema = schema_json(kind, scale_words())
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def data(name: str) -> Any:
    return parse(name, (root() / name).read_bytes()).data


@pytest.mark.parametrize("kind", KINDS)
def test_schemas_are_schemas(kind: str) -> None:
    """Each is valid JSON Schema 2020-12, and no mark of ours is left in it."""
    assert validator(kind).schema["$schema"].endswith("2020-12/schema")
    assert "x-words-of" not in str(validator(kind).schema)


@pytest.mark.parametrize("name", FILES)
def test_our_files_are_valid(name: str) -> None:
    """Every rule file of ours is what its schema says."""
    errors = validator(str(FILES[name])).iter_errors(data(name))

    assert [f"{'/'.join(map(str, e.path))}: {e.message}" for e in errors] == []


CAUSE = "causes/graph/weight-frozen.yaml"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("prior",), "sometimes"),
        (("shows", 0, "strength"), "very"),
        (("shows", 0, "strength"), 1.5),
        (("remedies", 0, "works"), "always"),
        (("status",), "fine"),
        (("id",), "frozen"),
        (("titel",), "x"),
        (("examples", 0), {"given": {}}),
        (("examples", 0, "given"), {"loss-zero": "maybe"}),
    ],
)
def test_what_the_loader_refuses_is_marked_while_typing(path: tuple[Any, ...], value: Any) -> None:
    """An editor marks a wrong word, a wrong id, an unknown field and an example without expectation."""
    good = data(CAUSE)
    assert validator("cause").is_valid(good)
    broken = copy.deepcopy(good)
    place = broken
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value

    assert not validator("cause").is_valid(broken)


def test_a_symptom_needs_a_probe_or_a_question() -> None:
    """One that can never be known is marked."""
    entry = {"id": "x", "title": "X", "leak": "rare", "sources": ["practice"]}
    file = {"area": "test", "symptoms": [entry]}

    assert not validator("symptoms").is_valid(file)
    assert validator("symptoms").is_valid({"area": "test", "symptoms": [{**entry, "question": "Is it?"}]})


def test_words_are_those_of_the_scale(tmp_path: Path) -> None:
    """Other words in scale.yaml make another schema; without a usable scale there is none."""
    text = (root() / "scale.yaml").read_text(encoding="utf-8")
    (tmp_path / "scale.yaml").write_text(text.replace("frequent: 0.05", "daily: 0.05"), encoding="utf-8")

    assert "daily" in scale_words(tmp_path)["prior"]
    with pytest.raises(RuleError, match="cannot be read"):
        scale_words(tmp_path / "nowhere")
    (tmp_path / "scale.yaml").write_text("prior: [", encoding="utf-8")
    with pytest.raises(RuleError, match="not valid YAML"):
        scale_words(tmp_path)
