"""`diagnose compare` and `diagnose determinism`: the verdict on the screen, exit codes, files left alone."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from traindoctor.cli.app import run_command_line

X = np.linspace(-2, 3, 32, dtype=np.float32).reshape(4, 8)


def dump(folder: Path, *, bad: bool = False, name: str = "layer") -> Path:
    """A plain folder of arrays: three operators, the second of which may go wrong."""
    folder.mkdir(parents=True)
    values: Any = X
    for n in range(3):
        np.save(folder / f"{name}{n}.input.0.npy", values)
        values = values * 2 if not (bad and n == 1) else np.abs(values)
        np.save(folder / f"{name}{n}.output.0.npy", values)
    return folder


@pytest.fixture
def pair(tmp_path: Path) -> tuple[str, str]:
    return str(dump(tmp_path / "run", bad=True)), str(dump(tmp_path / "ref"))


def test_the_verdict_comes_first(pair: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["compare", pair[0], "--benchmark", pair[1]]) == 0
    out = capsys.readouterr().out
    assert out.startswith("layer1 gives other outputs from inputs that agree.")
    assert len(out.splitlines()) < 48  # one screen
    assert ".#x" in out and "begins here" in out and "ULP" in out


def test_formats_hold_the_same_and_are_well_formed(pair: tuple[str, str], tmp_path: Path) -> None:
    report, picture = tmp_path / "o" / "r.md", tmp_path / "o" / "r-operators.svg"
    data = tmp_path / "o" / "r.json"
    code = [
        "compare",
        pair[0],
        "--ref",
        pair[1],
        "-f",
        "markdown",
        "-o",
        str(report),
        "-f",
        "json",
        "-o",
        str(data),
        "-q",
    ]
    assert run_command_line(code) == 0
    assert "layer1" in report.read_text() and "r-operators.svg" in report.read_text()
    assert len(ET.fromstring(picture.read_text())) > 4  # noqa: S314 - our own text
    content = json.loads(data.read_text())
    assert content["first"]["name"] == "layer1" and content["kind"] == "operator"
    assert [o["state"] for o in content["operators"]] == ["same", "first", "inherited"]
    first = data.read_bytes()
    assert run_command_line(code) == 0 and data.read_bytes() == first


def test_top_and_all(pair: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    run_command_line(["compare", pair[0], "--ref", pair[1], "--top", "1"])
    assert "the first 1 of 2" in capsys.readouterr().out
    run_command_line(["compare", pair[0], "--ref", pair[1], "--all"])
    out = capsys.readouterr().out
    assert "All 3 operators" in out and "layer0" in out


def test_determinism(pair: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["determinism", *pair]) == 0
    assert "layer1 gives other results from bit-identical inputs" in capsys.readouterr().out
    again = str(dump(tmp_path / "again"))
    assert run_command_line(["determinism", pair[1], again]) == 0
    assert "bit-identical in both runs" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["compare", "{0}"], 2, "--benchmark"),
        (["compare", "{0}", "--ref", "{1}", "--ref", "{1}"], 2, "one benchmark"),
        (["compare", "{0}", "--ref", "{1}", "--cosine", "3"], 2, "between -1 and 1"),
        (["compare", "{0}", "--ref", "{1}", "--top", "0"], 2, "--top"),
        (["compare", "{0}", "--ref", "{1}", "--rank", "-1"], 2, "from 0"),
        (["compare", "{0}", "--ref", "{1}", "-f", "junit"], 2, "no such format"),
        (["compare", "{0}", "--ref", "{0}/nowhere"], 4, "No such file"),
        (["compare", "{0}", "--ref", "{empty}"], 4, "no operator dump"),
        (["determinism", "{0}"], 2, "DUMP"),
        (["determinism", "{text}", "{0}"], 4, "no operator dump"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(
    pair: tuple[str, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    code: int,
    said: str,
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "log.txt").write_text("loss 1.0\n")
    places = {"empty": str(tmp_path / "empty"), "text": str(tmp_path / "text")}
    assert run_command_line([a.format(*pair, **places) for a in arguments]) == code
    err = capsys.readouterr().err
    assert said in err and len(err.splitlines()) == 1


def test_nothing_in_common_is_an_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = dump(tmp_path / "a"), dump(tmp_path / "b", name="other")
    assert run_command_line(["compare", str(a), "--ref", str(b)]) == 0
    assert "no operator in common" in capsys.readouterr().out


def test_names_from_a_dump_cannot_write_to_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for side, factor in (("a", 1), ("b", 2)):
        folder = tmp_path / side
        folder.mkdir()
        np.save(folder / "x\x1b[31m::error::.output.0.npy", X * factor)
    run_command_line(["compare", str(tmp_path / "a"), "--ref", str(tmp_path / "b")])
    out = capsys.readouterr().out
    assert "\x1b" not in out and not re.search(r"^\s*::", out, re.M)
