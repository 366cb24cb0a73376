"""`diagnose workflow`: where a run stands, in every format."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from traindoctor.cli import main
from traindoctor.reports import json_report

Captured = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose loss becomes NaN, in a directory with a blank in its name."""
    folder = tmp_path_factory.mktemp("runs") / "exp 7"
    folder.mkdir()
    rows = [{"step": i, "loss": 2.0 * 0.97**i if i < 45 else float("nan"), "lr": 0.001} for i in range(1, 61)]
    (folder / "log.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    (folder / "config.json").write_text('{"learning_rate": 0.001, "batch_size": 32, "precision": "fp16"}')
    return folder


def steps(capsys: Captured, *line: str) -> dict[str, dict[str, object]]:
    """Return the steps of all flows, by id."""
    assert main(["workflow", *line, "-f", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    schema = json.loads(json_report.schema_text())
    part = {k: schema["properties"][k] for k in found}
    Draft202012Validator({"$defs": schema["$defs"], "properties": part}).validate(found)
    return {s["id"]: s for flow in found["workflow"] for s in flow["steps"]}


def test_a_step_tells_what_decided_it(run: Path, capsys: Captured) -> None:
    """What was found stands with its readings; what was not read is open; the command can be pasted."""
    found = steps(capsys, str(run))
    floats = found["floating-point-exceptions"]
    looks = {look["title"]: look for look in floats["looks"]}  # type: ignore[attr-defined]

    assert looks["The loss stays finite"]["state"] == "found"
    assert looks["The loss stays finite"]["decided_by"] == ["loss-not-finite"]
    assert looks["The gradient norm stays finite"]["state"] == "open"
    assert floats["state"] == "open"
    assert floats["command"] == f"diagnose '{run}'"
    assert found["pre-tuning-check"]["command"] == f"diagnose checklist '{run}' --benchmark BENCHMARK"


def test_an_answer_moves_a_step(run: Path, capsys: Captured) -> None:
    """A step that hangs on one question is done by its answer, and not by unknown."""
    for answer, state in (("absent", "done"), ("present", "open"), ("unknown", "open")):
        found = steps(capsys, str(run), "--answer", f"fusion-off-better={answer}")

        assert found["fusion-exceptions"]["state"] == state


def test_a_benchmark_puts_the_comparing_flow_first(run: Path, capsys: Captured) -> None:
    """Alone the MindSpore guide leads, with a benchmark the Ascend workflow."""
    for line, first in (([], "MindSpore"), (["--benchmark", str(run)], "Ascend")):
        for style in ("terminal", "markdown"):
            assert main(["workflow", str(run), *line, "-q", "-f", style]) == 0
            said = capsys.readouterr().out.removeprefix(f"# Where `{run}` stands\n\n## ")
            assert said.startswith(first)
            assert " steps done; next is step " in said


def test_the_page_fits_a_terminal(run: Path, capsys: Captured) -> None:
    """No line is longer than 80 columns, commands excepted where a path has no blank to break at."""
    assert main(["workflow", str(run)]) == 0
    lines = [x for x in capsys.readouterr().out.splitlines() if str(run.parent) not in x]

    assert max(map(len, lines)) <= 80


def test_the_whole_diagnosis_holds_the_same(run: Path, capsys: Captured) -> None:
    """The whole diagnosis holds the same standing as the command."""
    assert main([str(run), "-f", "json"]) == 0
    whole = json.loads(capsys.readouterr().out)
    alone = steps(capsys, str(run))

    assert {s["id"]: s for flow in whole["workflow"] for s in flow["steps"]} == alone


@pytest.mark.parametrize(
    ("make", "line", "code", "said"),
    [
        (None, [], 4, "No such file"),
        ("empty", [], 4, "the directory is empty"),
        ("foreign", [], 4, "nothing here that a training run would leave"),
        ("run", ["--benchmark", "/nowhere"], 4, "benchmark /nowhere"),
        ("run", ["--answer", "fusion-of-better=no"], 2, "did you mean fusion-off-better"),
        ("run", ["-f", "pdf"], 2, "there is no such format"),
        ("run", ["extra"], 2, "extra"),
    ],
)
def test_errors(
    run: Path, tmp_path: Path, make: str | None, line: list[str], code: int, said: str, capsys: Captured
) -> None:
    """The same errors as of the other commands: one sentence and the agreed exit code."""
    path = run if make == "run" else tmp_path / "x"
    if make in ("empty", "foreign"):
        path.mkdir()
    if make == "foreign":
        (path / "holiday.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(200))

    assert main(["workflow", str(path), *line]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err
    assert err.count("\n") == 1
