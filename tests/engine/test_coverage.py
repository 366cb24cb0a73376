"""The coverage of the documents: what its lint refuses, and that ours is whole."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import pytest

from traindoctor.engine.coverage import Coverage, lint_coverage, load_coverage
from traindoctor.engine.load import RuleError, load_rules
from traindoctor.rules import root

Folder = Callable[..., Path]
ROWS = """\
documents:
  - id: start-checklist
    title: Before you start
    source: The manual
    items:
      - {id: "1", title: Parts, held_by: [parts.worn, gears-slip, noise]}
  - id: field-problems
    title: Seen by others
    source: The manual
    items:
      - {id: P01, title: Loud, held_by: ["bug:field-p01"]}
"""
BUGS = "bugs: [{package: gear, source: field-p01}]\n"
SOURCES = 'sources:\n  manual: "The manual"\n  field-p01: "A thread"\n'
CHECKLIST = """\
title: Before you start
source: manual
items:
  - {id: "1", title: Q, causes: [parts.worn], fails_on: [noise], passes_on: [noise], check: C, source: manual}
"""


def found(folder: Folder, rows: str, sources: str = SOURCES) -> list[str]:
    files = {"coverage.yaml": rows, "sources.yaml": sources, "checklists/start.yaml": CHECKLIST}
    here = folder({**files, "porting/known_bugs.yaml": BUGS})
    coverage = load_coverage(here)
    assert coverage is not None
    return [str(x) for x in lint_coverage(load_rules(here), coverage)]


def test_rows_that_are_held(folder: Folder) -> None:
    """Causes, mechanisms, symptoms and defects on record hold a row."""
    assert found(folder, ROWS) == []


def test_a_folder_without_coverage(folder: Folder) -> None:
    """Rule packs and small bases have none, and nothing is asked of them."""
    assert load_coverage(folder()) is None


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "gears-slip",
            "gears-stop",
            "coverage.yaml:6: error: start-checklist 1: there is no rule 'gears-stop'",
        ),
        ("bug:field-p01", "bug:field-p02", "coverage.yaml:11: error: field-problems P01: there is no rule"),
        ('id: "1"', 'id: "2"', "coverage.yaml:2: error: start: item 1 has no row in coverage.yaml"),
        ("id: P01", "id: P02", "coverage.yaml:2: error: P01: it is cited as a source and has no row"),
        ('held_by: ["bug:field-p01"]', "open: nobody knows", "warning: field-problems P01: no rule holds it"),
    ],
)
def test_each_thing_that_can_be_missing(folder: Folder, old: str, new: str, said: str) -> None:
    """A name that is no rule, a row that is left out, a row that nothing holds."""
    assert old in ROWS
    assert [said in x for x in found(folder, ROWS.replace(old, new))] == [True]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (", held_by: [parts.worn, gears-slip, noise]", "", "held_by"),
        ("title: Parts, ", "title: Parts, open: why, ", "held_by"),
        ("documents:", "docs:", "unknown field"),
        ("documents:", "documents: [", "not valid YAML"),
    ],
)
def test_what_is_no_coverage(folder: Folder, old: str, new: str, said: str) -> None:
    """A row is held or open, never both or neither; the file is read as strictly as rules are."""
    with pytest.raises(RuleError, match=said):
        load_coverage(folder({"coverage.yaml": ROWS.replace(old, new, 1)}))


# ------------------------------------------------------------------------------------------------ ours


@lru_cache(maxsize=1)
def ours() -> Coverage:
    coverage = load_coverage(root())
    assert coverage is not None
    return coverage


def rows(document: str) -> list[str]:
    return [item.id for d in ours().file.documents if d.id == document for item in d.items]


MINDINSIGHT = {"ds": 4, "dp": 5, "hp": 3, "api": 2, "cg": 4, "wi": 2, "mp": 4}


def test_every_row_names_rules_that_exist() -> None:
    """No id of coverage.yaml hangs in the air, and no checklist item is left out."""
    assert [str(x) for x in lint_coverage(load_rules(), ours()) if x.level == "error"] == []


def test_every_row_has_a_rule() -> None:
    """A row that no rule holds fails here."""
    assert [(d.id, i.id) for d in ours().file.documents for i in d.items if i.open is not None] == []


def test_all_rows_of_the_documents_are_there() -> None:
    """Checklists without their gap filled, all MindInsight ids, all known field problems, the whole table."""
    assert rows("ascend-checklist") == ["1", "2", "3", "4", "6", "7", "8", "9", "10"]
    assert rows("mindinsight-checklist") == [
        f"{k}.{i:02}" for k, n in MINDINSIGHT.items() for i in range(1, n + 1)
    ]
    assert rows("field-problems") == [f"P{i:02}" for i in range(1, 47)]
    assert [
        len([r for r in rows("mindspore-table") if re.match(k, r)]) for k in ("data", "hyper", "graph")
    ] == [5, 5, 5]
    assert len(rows("mindspore-table")) == 22


def test_ids_of_rows_are_unique() -> None:
    """No row stands twice in a document."""
    for document in ours().file.documents:
        ids = [item.id for item in document.items]
        assert len(ids) == len(set(ids)), document.id
