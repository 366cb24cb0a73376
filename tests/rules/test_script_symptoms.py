"""What script checks find is told with its reason, the corrected code and the known false positives."""

from __future__ import annotations

import ast

import pytest

from traindoctor.cli.script_work import AREAS, compares
from traindoctor.engine.load import load_rules
from traindoctor.engine.model import Symptom

SYMPTOMS = [s for s in load_rules().symptoms.values() if s.area in AREAS and s.probe and not compares(s)]


@pytest.mark.parametrize("symptom", SYMPTOMS, ids=lambda s: s.id)
def test_each_symptom_of_a_script_says_why_what_instead_and_when_not(symptom: Symptom) -> None:
    """`diagnose script` shows all three with each finding."""
    assert symptom.matters
    assert symptom.exceptions
    assert symptom.instead
    ast.parse(symptom.instead)


def test_causes_are_there_for_each() -> None:
    """A finding points to a cause or a mechanism, or it would be idle."""
    rules = load_rules()
    shown = {link.to for node in (*rules.causes.values(), *rules.mechanisms.values()) for link in node.shows}

    assert {s.id for s in SYMPTOMS} <= shown
