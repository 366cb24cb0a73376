"""The corpus of programs: edits fit and leave Python, labels name causes, scores are compared rightly."""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from traindoctor.engine.load import load_rules

LAB = Path(__file__).resolve().parents[2] / "faultlab"
SAFE = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast where libyaml is there


def programs(corpus: str) -> dict[str, dict[str, Any]]:
    """The label of each program of a corpus."""
    files = sorted((LAB / corpus).glob("*/project.yaml"))
    return {f.parent.name: yaml.load(f.read_text(encoding="utf-8"), SAFE) for f in files}


def phrases() -> dict[str, dict[str, Any]]:
    """The label of each small program of the books, by its name with its book's."""
    books = {f.stem: yaml.load(f.read_text(encoding="utf-8"), SAFE) for f in (LAB / "phrases").glob("*.yaml")}
    return {f"{book}/{x['name']}": x for book, entries in sorted(books.items()) for x in entries}


PROJECTS, MATRIX, PHRASES = programs("code"), programs("matrix"), phrases()
CORPUS = [*(("code", p) for p in PROJECTS), *(("matrix", p) for p in MATRIX)]
CORPUS += [("phrases", p.split("/")[1]) for p in PHRASES]


@pytest.fixture(scope="module")
def code_score() -> Iterator[ModuleType]:
    """The lab's module as its command imports it, with its folder on the path meanwhile."""
    sys.path.insert(0, str(LAB))
    try:
        import code_score as module

        yield module
    finally:
        sys.path.remove(str(LAB))


@pytest.fixture(scope="module")
def edited(code_score: ModuleType) -> dict[tuple[str, str], list[Any]]:
    """The cases beside the right program, by corpus and project."""
    found: dict[tuple[str, str], list[Any]] = defaultdict(list)
    for corpus in dict(CORPUS):
        for case in code_score.cases(folder=LAB / corpus):
            if case.view == "pair":
                found[corpus, case.project].append(case)
    return found


@pytest.mark.parametrize(("corpus", "project"), CORPUS)
def test_every_edit_fits(
    code_score: ModuleType,
    edited: dict[tuple[str, str], list[Any]],
    tmp_path: Path,
    corpus: str,
    project: str,
) -> None:
    """What is replaced stands in its file once, and what comes of it is Python."""
    assert edited[corpus, project]
    for n, case in enumerate(edited[corpus, project]):
        code_score.write(case, tmp_path / str(n))


@pytest.mark.parametrize("project", PROJECTS)
def test_labels(project: str) -> None:
    """Causes are of the rule base, at most three faults to each, and what else is accepted has its reason."""
    label, known = PROJECTS[project], load_rules().causes
    names = [x["name"] for x in [*label["faults"], *label["harmless"]]]
    also = [a for x in label["faults"] for a in x.get("accept") or ()]

    assert label["half"] in ("dev", "holdout")
    assert {x["cause"] for x in label["faults"]} | {a["cause"] for a in also} <= set(known)
    assert max(Counter(x["cause"] for x in label["faults"]).values()) <= 3
    assert all(len(a["because"]) > 15 for a in also)
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("project", MATRIX)
def test_labels_of_the_matrix(project: str) -> None:
    """Each fault says which row of the documents' checks it breaks, and names causes of the rule base."""
    label, known = MATRIX[project], load_rules().causes
    faults = label["faults"]
    names = [x["name"] for x in [*faults, *label.get("harmless", ())]]

    assert label["half"] == "dev"
    assert {x["cause"] for x in faults} <= set(known)
    assert {a["cause"] for x in faults for a in x.get("accept") or ()} <= set(known)
    assert all(x["row"] for x in faults)
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("program", PHRASES)
def test_labels_of_the_phrases(program: str) -> None:
    """Each program of a book is Python, and its faults and harmless edits have names and causes."""
    label, known = PHRASES[program], load_rules().causes
    faults = label["faults"]
    names = [x["name"] for x in [*faults, *label.get("harmless", ())]]

    compile(label["text"], program, "exec", dont_inherit=True)
    assert label["half"] == "dev"
    assert label["about"]
    assert {x["cause"] for x in faults} <= set(known)
    assert {a["cause"] for x in faults for a in x.get("accept") or ()} <= set(known)
    assert all(x["note"] and x["edits"] for x in faults)
    assert len(set(names)) == len(names)


def test_a_name_stands_once() -> None:
    """Programs of a corpus are chosen by name, whichever book they stand in."""
    every = Counter(p.split("/")[1] for p in PHRASES)

    assert [name for name, n in every.items() if n > 1] == []


def test_both_halves_are_there() -> None:
    """Programs to write checks on, and others that are kept aside."""
    halves = Counter(label["half"] for label in PROJECTS.values())

    assert set(halves) == {"dev", "holdout"}
    assert halves["dev"] >= 59
    assert halves["holdout"] == 23


def test_a_score_that_fell_is_told(code_score: ModuleType) -> None:
    """Fewer right answers and one more alarm are told, each by half and view; the same score is not."""

    def row(name: str, cause: str, rank: int, probability: float) -> dict[str, Any]:
        rest = {"project": "p", "half": "dev", "view": "script"}
        return {**rest, "name": name, "cause": cause, "rank": rank, "probability": probability}

    before = [row("a", "init.zeros", 1, 0.9), row("b", "api.misuse", 2, 0.3), row("c", "healthy", 0, 0.1)]
    after = [row("a", "init.zeros", 3, 0.2), before[1], row("c", "healthy", 0, 0.6)]

    assert list(code_score.worse_than(before, before)) == []
    assert list(code_score.worse_than(after, before)) == [
        "  dev, view script: top-1 fell from 0.500 to 0.000",
        "  dev, view script: 1 right programs alarmed, 0 were; new: p/c",
    ]
    assert "not stored yet" in next(iter(code_score.worse_than([row("d", "healthy", 0, 0.1)], before)))
