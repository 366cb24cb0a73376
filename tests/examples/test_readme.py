"""What the README shows is what the command prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from traindoctor.cli import main
from traindoctor.engine.load import load_rules

ROOT = Path(__file__).resolve().parents[2]
SHOWN = re.compile(r"prints, shortened at the dots:\n\n```\n(.*?)```\n", re.DOTALL)


def _without_figures(text: str) -> list[str]:
    """The words line by line: counts and percentages move with every new rule."""
    return [re.sub(r"\d+", "#", line).strip() for line in text.splitlines()]


def test_the_answer_in_the_readme_is_what_is_printed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every line that is not cut out at the dots stands in the output, in this order."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("sys.argv", ["diagnose", "examples/nan-from-data/run"])
    main()
    printed = iter(_without_figures(capsys.readouterr().out))
    match = SHOWN.search((ROOT / "README.md").read_text(encoding="utf-8"))
    assert match is not None
    shown = [line for line in _without_figures(match[1]) if line not in ("...", "")]

    assert len(shown) > 20
    assert [line for line in shown if line not in printed] == []


def test_the_counts_of_checks_in_the_readme_are_about_right() -> None:
    """Rules come and go: within a twentieth of the symptoms that there are, and the same wherever told."""
    told = set(re.findall(r"of (\d+) checks", (ROOT / "README.md").read_text(encoding="utf-8")))
    known = len(load_rules().symptoms)

    assert len(told) == 1
    assert abs(int(told.pop()) - known) <= known / 20
