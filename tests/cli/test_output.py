"""Formats and outputs in pairs, files written whole, streams that cannot show everything."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from traindoctor.cli import output
from traindoctor.cli.output import Target, targets
from traindoctor.cli.stop import Stop


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("run", [Target("terminal")]),
        ("run --format json", [Target("json")]),
        ("run --format=json", [Target("json")]),
        ("run -fjson", [Target("json")]),
        ("run -o r.md", [Target("markdown", Path("r.md"))]),
        ("run --output=r.json", [Target("json", Path("r.json"))]),
        ("run -f markdown -o r", [Target("markdown", Path("r"))]),
        ("run -o r -f markdown", [Target("markdown", Path("r"))]),
        ("run -f terminal -f markdown -o r.md", [Target("terminal"), Target("markdown", Path("r.md"))]),
        (
            "run -f json -o a -f markdown -o b -f terminal",
            [Target("json", Path("a")), Target("markdown", Path("b")), Target("terminal")],
        ),
        ("run -o a.md -o b.json", [Target("markdown", Path("a.md")), Target("json", Path("b.json"))]),
        ("-f json -- --format", [Target("json")]),
    ],
)
def test_an_output_belongs_to_the_format_beside_it(line: str, expected: list[Target]) -> None:
    """Pairs are read in the order of the command line; an ending tells the format of a lone file."""
    assert targets(line.split()) == expected


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("run -f json -f markdown", "only one format can go to stdout"),
        ("run -f pdf", "there is no such format; choose terminal, markdown, json"),
        ("run -o report", "add --format"),
        ("run -f json -o a -f markdown -o ./a", "same --output"),
        ("run -f", "there is no such format"),
    ],
)
def test_what_cannot_be_meant_is_said(line: str, said: str) -> None:
    """Clashes and unknown formats end with exit code 2 before anything is read."""
    with pytest.raises(Stop, match=said) as stopped:
        targets(line.split())

    assert stopped.value.code == 2


def test_a_directory_is_no_output(tmp_path: Path) -> None:
    """--output names a file."""
    with pytest.raises(Stop, match="names a directory"):
        targets(["-f", "json", "-o", str(tmp_path)])


def test_files_are_written_whole(tmp_path: Path) -> None:
    """Folders are made, an old file is replaced, and no scratch file stays."""
    path = tmp_path / "new" / "r.md"
    output.write_file(path, "one\n")
    output.write_file(path, "two ü\n")

    assert path.read_bytes() == "two ü\n".encode()
    assert [p.name for p in path.parent.iterdir()] == ["r.md"]


def test_a_file_in_the_way_is_said(tmp_path: Path) -> None:
    """What cannot be written ends with exit code 2 and one sentence."""
    (tmp_path / "file").write_text("x")
    with pytest.raises(Stop, match=r"cannot be written: (Not a directory|File exists)") as stopped:
        output.write_file(tmp_path / "file" / "r.md", "x")

    assert stopped.value.code == 2


def test_devices_can_take_a_report() -> None:
    """/dev/null is written to, not replaced."""
    output.write_file(Path("/dev/null"), "x")

    assert not Path("/dev/null").is_file()


def test_a_stream_that_shows_ascii_only() -> None:
    """Signs of our own sentences become ASCII; nothing raises."""
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")

    assert output.fitting("a → “b” · ü\n", stream) == 'a -> "b" - ?\n'
    assert output.fitting("plain\n", stream) == "plain\n"


class Screen(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("environment", "off", "expected"),
    [
        ({}, False, True),
        ({}, True, False),
        ({"NO_COLOR": "1"}, False, False),
        ({"NO_COLOR": ""}, False, True),
        ({"TERM": "dumb"}, False, False),
        ({"CI": "true"}, False, False),
        ({"CI": "true", "FORCE_COLOR": "1"}, False, True),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False, False),
    ],
)
def test_colours_are_asked_for(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], off: bool, expected: bool
) -> None:
    """NO_COLOR, FORCE_COLOR, CI, TERM and --no-color are honoured; a file gets none."""
    for name in ("NO_COLOR", "FORCE_COLOR", "CI", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    assert output.colored(Screen(), off) is expected
    assert not output.colored(io.StringIO(), off) or "FORCE_COLOR" in environment


@pytest.mark.parametrize(("given", "expected"), [("60", 60), ("10", 40), ("500", 100), ("x", 80), ("", 80)])
def test_width(monkeypatch: pytest.MonkeyPatch, given: str, expected: int) -> None:
    """COLUMNS counts, within what can be read; without a terminal it is 80."""
    monkeypatch.setenv("COLUMNS", given)

    assert output.columns(io.StringIO()) == expected


def test_formats_that_stand_apart_from_their_files_are_not_mixed_up() -> None:
    """`-o a.md -o a.json -f markdown -f json` would put markdown into a.json."""
    with pytest.raises(Stop, match=r"--format markdown would be written to a\.json"):
        output.targets(["-o", "a.md", "-o", "a.json", "-f", "markdown", "-f", "json"])

    found = output.targets(["-f", "markdown", "-o", "report.txt"])
    assert [(t.format, str(t.path)) for t in found] == [("markdown", "report.txt")]
