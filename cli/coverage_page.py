"""docs/coverage.md: what the documents name, and which rules hold it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..engine.coverage import BUG
from ..reports.text import code, rule_text

if TYPE_CHECKING:
    from ..engine.coverage import Coverage
    from ..engine.model import RuleBase
    from ..engine.schema import CoveredDocument

NOTE = "<!-- Written by `diagnose rules docs` from rules/coverage.yaml; edit that. -->"


def coverage_page(rules: RuleBase, coverage: Coverage) -> str:
    """Return the page as markdown."""
    return "\n".join(_lines(rules, coverage)).rstrip("\n") + "\n"


def _lines(rules: RuleBase, coverage: Coverage) -> Iterator[str]:
    documents = coverage.file.documents
    yield from (NOTE, "", "# Coverage", "")
    yield "Each thing that the documents name, in our words, and the rules that hold it."
    yield from ("", "| Document | Rows | Held | Open |", "| --- | --- | --- | --- |")
    for document in documents:
        held = sum(item.open is None for item in document.items)
        rows = len(document.items)
        title = f"[{rule_text(document.title, cell=True)}](#{document.id})"
        yield f"| {title} | {rows} | {held} | {rows - held} |"
    for document in documents:
        yield from ("", f"## {document.id}", "", *_document(rules, document))


def _document(rules: RuleBase, document: CoveredDocument) -> Iterator[str]:
    yield f"{rule_text(document.title)}. From: {rule_text(document.source)}."
    yield from ("", "| Row | What it names | Held by |", "| --- | --- | --- |")
    for item in document.items:
        held = ", ".join(_link(rules, name) for name in item.held_by)
        held = held or f"**open**: {rule_text(item.open, cell=True)}"
        yield f"| {rule_text(item.id, cell=True)} | {rule_text(item.title, cell=True)} | {held} |"


def _link(rules: RuleBase, name: str) -> str:
    if name in rules.causes:
        return f"[{name}](rules/{name}.md)"
    if name.startswith(BUG):
        return f"known defect {code(name.removeprefix(BUG), cell=True)}"
    page = "mechanisms" if name in rules.mechanisms else "symptoms"
    return f"[{name}](rules/{page}.md#{name})"
