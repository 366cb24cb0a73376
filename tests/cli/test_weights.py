"""`diagnose weights`: on runs, on checkpoints alone, against a pretrained file; nothing is written there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from traindoctor.cli.app import run_command_line as run

from ..probes.tensors._saved import HERE, layers, safetensors


def asked(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert run(["weights", *arguments, "-f", "json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def states(found: dict[str, Any], state: str = "present") -> set[str]:
    return {f["symptom"] for f in found["findings"] if f["state"] == state}


def test_real_runs(capsys: pytest.CaptureFixture[str]) -> None:
    healthy, frozen = asked(capsys, str(HERE / "healthy")), asked(capsys, str(HERE / "frozen"))

    assert healthy["verdict"].startswith("The weights look sound")
    assert {w["state"] for w in healthy["weights"]} == {"moves"}
    assert states(frozen) == {"saved-part-unchanged"}
    assert {w["name"] for w in frozen["weights"] if w["state"] == "still"} == {"0.weight", "0.bias"}


def test_checkpoints_alone_are_enough_and_stay_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted((p, p.stat().st_mtime_ns) for p in HERE.rglob("*"))
    found = asked(capsys, str(HERE / "saved"))

    assert len(found["checkpoints"]) == 3
    assert states(found) == set()
    assert sorted((p, p.stat().st_mtime_ns) for p in HERE.rglob("*")) == before


def test_one_checkpoint_says_nothing_of_change(capsys: pytest.CaptureFixture[str]) -> None:
    found = asked(capsys, str(HERE / "healthy" / "step_120.pt"))

    assert "weights-unchanged" in states(found, "unknown")
    assert "two checkpoints" in found["verdict"]


def test_a_pretrained_file_that_was_loaded_or_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = layers(3)
    tuned = {n: a if a.dtype != np.float32 else (a * 1.01).astype(np.float32) for n, a in given.items()}
    part = {**tuned, "head.weight": layers(9)["head.weight"]}
    other = str(safetensors(tmp_path / "given.safetensors", given))

    def of(name: str, weights: Any) -> dict[str, Any]:
        safetensors(tmp_path / name / "step_0.safetensors", weights)
        found = asked(capsys, str(tmp_path / name), "--pretrained", other)
        return next(f for f in found["findings"] if f["symptom"] == "saved-start-loaded")

    assert of("a", tuned)["state"] == "absent"
    assert of("b", layers(4))["state"] == "present"
    assert "head.weight" in of("c", part)["why"]
    assert of("d", {f"x.{n}": a for n, a in given.items()})["state"] == "unknown"


def test_the_text_fits_one_screen(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["weights", str(HERE / "frozen")]) == 0
    text = capsys.readouterr().out

    assert text.splitlines()[0] == "A part of the weights does not change while the rest does."
    assert "graph.weight-frozen" in text
    assert len(text.splitlines()) <= 45
    assert run(["weights", str(HERE / "frozen"), "-f", "markdown", "--all"]) == 0
    assert "## All looks" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["{empty}"], 4),
        (["{nowhere}"], 4),
        (["{broken}"], 4),
        (["{good}", "--pretrained", "{nowhere}"], 4),
        (["{good}", "--benchmark", "{empty}"], 4),
        (["{good}", "--benchmark", "{good}", "--benchmark", "{good}"], 2),
        (["{good}", "-f", "pdf"], 2),
        ([], 2),
    ],
)
def test_exit_codes_with_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken.pt").write_bytes(b"PK\x03\x04" + bytes(100))
    places = {"good": HERE / "healthy", "empty": tmp_path / "empty", "nowhere": tmp_path / "no"}

    assert run(["weights", *(a.format(**places, broken=tmp_path / "broken.pt") for a in arguments)]) == code
    said = capsys.readouterr()
    assert said.out == ""
    assert len(said.err.strip().splitlines()) == 1
