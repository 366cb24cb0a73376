"""Does every row of the documents have its rule? coverage.yaml, read, checked and counted.

A diagnosis never needs it: it is loaded by lints and by the page that is made from it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .document import Document, DocumentError, parse
from .lint import Lint
from .load import RuleError, validated
from .model import RuleBase

if TYPE_CHECKING:
    from .schema import CoverageFile

FILE = "coverage.yaml"
BUGS = "porting/known_bugs.yaml"
BUG = "bug:"


@dataclass(frozen=True, slots=True, eq=False)
class Coverage:
    """The rows of the documents, with their places in the file, and the defects on record."""

    file: CoverageFile
    document: Document
    bugs: frozenset[str]  # sources of the entries of known_bugs.yaml


def load_coverage(root: Path) -> Coverage | None:
    """Read the coverage of a rule folder; None where there is none. Raises `RuleError`."""
    from .schema import CoverageFile

    if not (root / FILE).is_file():
        return None
    try:
        document = parse(FILE, (root / FILE).read_bytes())
        bugs = parse(BUGS, (root / BUGS).read_bytes()).data if (root / BUGS).is_file() else {}
    except DocumentError as error:
        raise RuleError(error.problems) from error
    rows = bugs.get("bugs", []) if isinstance(bugs, dict) else []
    sources = frozenset(str(row["source"]) for row in rows if isinstance(row, dict) and "source" in row)
    return Coverage(validated(CoverageFile, document), document, sources)


def lint_coverage(rules: RuleBase, coverage: Coverage) -> Iterator[Lint]:
    """Every row names rules that exist; every item of a checklist, and every known problem, has a row."""
    known = {*rules.causes, *rules.mechanisms, *rules.symptoms, *(BUG + b for b in coverage.bugs)}
    for d, document in enumerate(coverage.file.documents):
        for i, item in enumerate(document.items):
            subject = f"{document.id} {item.id}"
            place = ("documents", d, "items", i)
            where = coverage.document.at(*place)
            if item.open is not None:
                yield Lint("uncovered", subject, f"no rule holds it: {item.open}", "warning", where=where)
            for j, name in enumerate(item.held_by):
                if name not in known:
                    at = coverage.document.at(*place, "held_by", j)
                    yield Lint("coverage-id", subject, f"there is no rule {name!r}", where=at)
    yield from _rows_missing(rules, coverage)


def _rows_missing(rules: RuleBase, coverage: Coverage) -> Iterator[Lint]:
    rows = {d.id: {item.id for item in d.items} for d in coverage.file.documents}
    for name, items in rules.checklists.items():
        for item in items:
            if item.id not in rows.get(f"{name}-checklist", {item.id}):
                what = f"item {item.id} has no row in {FILE}"
                yield Lint("coverage-row", name, what, where=coverage.document.at("documents"))
    problems = {s.removeprefix("field-").upper() for s in rules.sources if s.startswith("field-p")}
    for problem in sorted(problems - rows.get("field-problems", problems)):
        what = f"it is cited as a source and has no row in {FILE}"
        yield Lint("coverage-row", problem, what, where=coverage.document.at("documents"))
