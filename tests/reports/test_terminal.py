"""The terminal text: a golden page of 80 columns, nothing but text from strangers, colours only on demand."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

import pytest

from traindoctor.reports import terminal

from ._fixture import HOSTILE, extras, healthy, hostile, sick

GOLDEN = Path(__file__).with_name("golden_terminal.txt")


def test_the_page_reads_as_agreed() -> None:
    """The whole page, at 80 columns, without colours."""
    assert GOLDEN.read_text(encoding="utf-8") == terminal.render(sick(), extras())


@pytest.mark.parametrize("width", [40, 60, 80, 100])
@pytest.mark.parametrize("verbose", [False, True])
def test_no_line_is_wider_than_the_terminal(width: int, verbose: bool) -> None:
    """Text is wrapped, not cut by the terminal."""
    for diagnosis in (sick(), healthy()):
        lines = terminal.render(diagnosis, extras(), width=width, verbose=verbose).splitlines()

        assert max(map(len, lines)) <= width


def test_colours_change_no_word() -> None:
    """With colours the same words stand on the same lines."""
    colored = terminal.render(sick(), extras(), color=True)
    stripped = "\n".join(line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", colored).splitlines()) + "\n"

    assert "\x1b[" in colored
    assert stripped == terminal.render(sick(), extras())


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("verbose", [False, True])
def test_strangers_text_stays_text(text: str, verbose: bool) -> None:
    """No control sequence, bidi character, markup or CI command comes from data."""
    said = terminal.render(hostile(text), extras(text, text), verbose=verbose)
    kinds = {unicodedata.category(c) for c in said.replace("\n", "")}

    assert kinds.isdisjoint({"Cc", "Cf", "Cs", "Co"})
    assert not re.search(r"^\s*::", said, re.MULTILINE)
    assert "##[" not in said


def test_markup_in_data_is_shown_as_it_is() -> None:
    """Square brackets are not rich markup."""
    assert "[/bold][link=http://evil.example]x[/link]" in terminal.render(hostile(HOSTILE[5]), width=100)


def test_a_healthy_run_is_short() -> None:
    """A healthy run gets its verdict and what it rests on, and no list of causes."""
    said = terminal.render(healthy())

    assert said.startswith("No fault found: the run looks healthy.\n20 of 25 checks could be made,")
    assert len(said.splitlines()) < 8


def test_verbose_shows_every_reading() -> None:
    """-v lists all symptoms with their state."""
    said = terminal.render(sick(), extras(), verbose=True)

    assert all(f.symptom in said for f in sick().findings)
    assert "present (3)" in said


def test_the_checklist_page() -> None:
    """Each item with its result; the open ones with what would check them."""
    said = terminal.render_checklist(sick())

    assert said.splitlines()[0] == "Checklist: 1 passed, 1 failed and 1 not checked"
    assert "To check: Train it twice." in said
