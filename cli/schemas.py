"""All published JSON Schemas by name: that of the diagnosis, and one for each kind of rule file."""

from __future__ import annotations

from ..engine.load import scale_words
from ..engine.schema_json import KINDS as RULE_KINDS
from ..engine.schema_json import schema_text
from ..reports import json_report

KINDS = ("diagnosis", *RULE_KINDS)


def schema_of(kind: str) -> str:
    """Return one schema as text, as docs/schema/<kind>.schema.json holds it."""
    return json_report.schema_text() if kind == "diagnosis" else schema_text(kind, scale_words())


def all_schemas() -> dict[str, str]:
    """Return file name -> text."""
    return {f"{kind}.schema.json": schema_of(kind) for kind in KINDS}
