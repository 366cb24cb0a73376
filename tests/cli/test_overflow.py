"""`diagnose overflow`: formats, exit codes, the log beside it, and nothing written to the dump."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from traindoctor.cli.app import run_command_line as run

from ..probes.tensors._dumps import msprobe

X = np.array([1.0, 2.0], np.float32)


def dump(path: Path) -> Path:
    with np.errstate(all="ignore"):
        msprobe(
            path / "step0" / "rank0",
            [("Torch.div.0.forward", [X, X * 0], [X / 0]), ("Functional.relu.0.forward", [X / 0], [X / 0])],
        )
    return path


def test_all_formats(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = dump(tmp_path / "dump")
    before = sorted((p, p.stat().st_mtime_ns) for p in path.rglob("*"))
    assert run(["overflow", str(path)]) == 0
    text = capsys.readouterr().out
    assert run(["overflow", str(path), "-f", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert run(["overflow", str(path), "-f", "markdown", "--all"]) == 0

    assert "## Where it begins" in capsys.readouterr().out
    assert text.startswith("Torch.div.0.forward (step 0, rank 0) is the first to make infinite values")
    assert (found["kind"], found["first"]["name"]) == ("operator", "Torch.div.0.forward")
    assert [o["state"] for o in found["operators"]] == ["first", "passed on"]
    assert sorted((p, p.stat().st_mtime_ns) for p in path.rglob("*")) == before


def test_the_log_tells_the_loss_scale(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = dump(tmp_path / "dump")
    rows = [{"step": s, "loss": 1.0, "loss_scale": max(1.0, 65536.0 / 2**s)} for s in range(1, 30)]
    (tmp_path / "run").mkdir()
    (tmp_path / "run/log.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))

    assert run(["overflow", str(path), "--log", str(tmp_path / "run")]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "The loss scale goes from 32768 to 1" in said
    assert "It ends at one or below" in said


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["overflow", "{empty}"], 4),
        (["overflow", "{nowhere}"], 4),
        (["overflow", "{dump}", "--rank", "-1"], 2),
        (["overflow", "{dump}", "--step", "9"], 4),
        (["overflow", "{dump}", "-f", "pdf"], 2),
        (["overflow"], 2),
        (["overflow", "{dump}", "--log", "{nowhere}"], 4),
    ],
)
def test_exit_codes_with_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int
) -> None:
    (tmp_path / "empty").mkdir()
    places = {"dump": dump(tmp_path / "dump"), "empty": tmp_path / "empty", "nowhere": tmp_path / "no"}

    assert run([a.format(**places) for a in arguments]) == code
    said = capsys.readouterr()
    assert said.out == ""
    assert len(said.err.strip().splitlines()) == 1
