"""The HTML report: one page that is whole, loads nothing, runs nothing, and keeps strangers' text as text."""

from __future__ import annotations

import json
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from traindoctor.cli.app import run_command_line
from traindoctor.engine.model import ComparedOperator, Diagnosis
from traindoctor.reports import html
from traindoctor.reports.sections import Section

from ._fixture import HOSTILE, extras, healthy, hostile, sick

VOID = {"meta", "br", "hr", "img", "input", "link", "rect", "line", "path", "circle", "polyline"}


class Page(HTMLParser):
    """Tags with attributes, text, and what is not closed in its order."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.said = ""
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data: str) -> None:
        self.said += data


def page(diagnosis: Diagnosis) -> Page:
    return Page(html.render(diagnosis, extras()))


def test_the_answer_stands_first_and_everything_is_there() -> None:
    found = page(sick())

    assert "Most likely: The learning rate is too large (71 %)." in found.said
    headings = [t for t, _ in found.tags if t == "h2"]
    for part in ("Evidence for", "What to do", "Next checks", "Curves", "Checklist", "Findings"):
        assert part in found.said, part
    assert len(headings) > 5
    assert "lr: 0.1 → 0.01 (config.yaml:3)" in found.said
    assert any(t == "svg" for t, _ in found.tags)


@pytest.mark.parametrize("made", [healthy, sick])
def test_every_tag_is_closed_in_its_order(made: object) -> None:
    found = page(made())  # type: ignore[operator]

    assert found.wrong == [] and found.open == []


def test_a_healthy_run_says_so() -> None:
    assert "verdict healthy" in html.render(healthy(), extras())


@pytest.mark.parametrize("text", HOSTILE)
def test_strangers_text_stays_text(text: str) -> None:
    """No tag, attribute or address of a run's own gets into the page, and no control character."""
    source = html.render(hostile(text), extras(text))
    found = Page(source)

    assert found.wrong == [] and found.open == []
    assert not {t for t, _ in found.tags} & {"script", "iframe", "img", "a", "object", "link", "base", "form"}
    for _, attributes in found.tags:
        assert not any(name.startswith("on") for name in attributes)
        assert not any(name in ("src", "href", "action") for name in attributes)
    assert not [c for c in source if ord(c) < 32 and c != "\n"]


def test_nothing_is_loaded() -> None:
    source = html.render(sick(), extras())

    assert "default-src 'none'" in source
    assert "http://" not in source.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in source and "@import" not in source and "url(" not in source


def test_sections_stand_in_it_with_their_strips() -> None:
    strip = tuple(
        ComparedOperator(f"op<{n}>", "relu", "forward", n, "first" if n == 3 else "same") for n in range(6)
    )
    section = Section(
        "overflow", "Overflow", "op<3> begins it", True, "diagnose overflow x", strip, facts=("a `b` <c>",)
    )
    source = html.render(sick(), replace(extras(), sections=(section,)))
    found = Page(source)

    assert "Op<3> begins it." in found.said or "op<3> begins it." in found.said
    assert "op<3>: first" in found.said and "begins here" in found.said
    assert "<code>b</code> &lt;c&gt;" in source


def test_the_command_line_writes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    run.mkdir()
    rows = [{"step": s, "loss": 1.0 + 1.0 / s} for s in range(1, 121)]
    (run / "log.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    for name in ("r.html", "r.htm"):
        assert run_command_line([str(run), "-q", "-o", str(tmp_path / name)]) == 0
    assert run_command_line([str(run), "-q", "-f", "html"]) == 0
    assert capsys.readouterr().out == (tmp_path / "r.html").read_text() == (tmp_path / "r.htm").read_text()
    assert run_command_line(["config", str(run), "-f", "html"]) == 2  # parts of it are told otherwise
