"""`diagnose rules docs` and `diagnose schema`: what docs/ holds is what the rules say."""

from __future__ import annotations

import json
import re
from functools import cache, lru_cache
from pathlib import Path

import pytest

from traindoctor.cli import main
from traindoctor.cli.docs import pages
from traindoctor.engine.load import load_rules

Captured = pytest.CaptureFixture[str]
DOCS = Path(__file__).resolve().parents[2] / "docs"
LINK = re.compile(r"\]\(([^)#\s]*)#?([^)\s]*)\)")


@lru_cache(maxsize=1)
def made() -> dict[str, str]:
    return pages()


@pytest.mark.skipif(not DOCS.is_dir(), reason="the docs are not part of an installed package")
def test_the_docs_are_as_the_rules_say() -> None:
    """After a change of rules run `make docs` (or `diagnose rules docs`) and commit what changes."""
    there = {p.relative_to(DOCS).as_posix(): p for f in ("rules", "schema") for p in (DOCS / f).glob("*.*")}
    there |= {name: DOCS / name for name in ("coverage.md", "formats.md")}

    assert sorted(there) == sorted(made())
    assert [n for n, text in sorted(made().items()) if there[n].read_text(encoding="utf-8") != text] == []


def test_every_cause_has_its_page() -> None:
    """A page per cause, and the index lists it."""
    for name, cause in load_rules().causes.items():
        assert cause.title.split()[0] in made()[f"rules/{name}.md"]
        assert f"[{name}]({name}.md)" in made()["rules/README.md"]


def test_no_link_leads_nowhere() -> None:
    """Every link of a page ends at a page that is made or kept, and at a heading of it."""
    for page, text in made().items():
        if not page.endswith(".md"):
            continue
        for target, anchor in LINK.findall(text):
            path = (Path("docs") / page).parent / target if target else Path("docs") / page
            name = Path(*_flat(path.parts)).relative_to("docs").as_posix()
            assert name in made() or (DOCS / name).is_file() or not DOCS.is_dir(), (page, target)
            if anchor and name in made():
                assert anchor in headings(name), (page, target, anchor)


def _flat(parts: tuple[str, ...]) -> list[str]:
    found: list[str] = []
    for part in parts:
        if part == "..":
            found.pop()
        else:
            found.append(part)
    return found


@cache
def headings(name: str) -> frozenset[str]:
    found = re.findall(r"(?m)^#+ (.*)$", made()[name])
    return frozenset(re.sub(r"[^\w -]", "", h).lower().replace(" ", "-") for h in found)


def test_written_and_checked(tmp_path: Path, capsys: Captured) -> None:
    """What is written is as it should be; a change, a gap and a page of no rule are named, exit code 2."""
    docs = ["rules", "docs", "--output", str(tmp_path)]
    assert main(docs) == 0
    assert main([*docs, "--check"]) == 0
    (tmp_path / "rules" / "init.zeros.md").write_text("changed")
    (tmp_path / "rules" / "gone.cause.md").write_text("old")
    (tmp_path / "coverage.md").unlink()
    capsys.readouterr()

    assert main([*docs, "--check"]) == 2
    said = capsys.readouterr().out
    assert [line.split(": ")[1].split(";")[0] for line in said.splitlines()] == [
        "is missing",
        "differs from the rules",
        "belongs to no rule",
    ]
    assert main(docs) == 0
    assert not (tmp_path / "rules" / "gone.cause.md").exists()
    assert main([*docs, "--check"]) == 0


def test_schemas_are_printed(capsys: Captured) -> None:
    """Each kind of file has its schema; without a kind it is that of the diagnosis."""
    assert main(["schema", "cause"]) == 0
    assert "remedies" in json.loads(capsys.readouterr().out)["properties"]
    assert main(["schema"]) == 0
    assert "hypotheses" in json.loads(capsys.readouterr().out)["properties"]
    assert main(["schema", "nothing"]) == 2
    assert "there is a schema of diagnosis, cause" in capsys.readouterr().err
