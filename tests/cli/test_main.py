"""The command as users and scripts meet it: stdout, stderr, exit codes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from traindoctor import __version__
from traindoctor.cli import main
from traindoctor.reports import json_report


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose loss becomes NaN."""
    folder = tmp_path_factory.mktemp("runs") / "exp"
    folder.mkdir()
    rows = [{"step": i, "loss": 2.0 * 0.97**i if i < 45 else float("nan"), "lr": 0.001} for i in range(1, 61)]
    (folder / "log.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    (folder / "config.json").write_text('{"learning_rate": 0.001, "batch_size": 32, "optimizer": "adam"}')
    return folder


Captured = pytest.CaptureFixture[str]


def one_sentence(capsys: Captured, code: int, expected: int) -> str:
    """Check that a command ended as it should: nothing on stdout, one line on stderr."""
    out, err = capsys.readouterr()

    assert code == expected
    assert out == ""
    assert err.startswith("diagnose: ")
    assert err.count("\n") == 1
    return err


def test_version_imports_nothing_heavy() -> None:
    """--version answers at once: none of the heavy packages is imported."""
    code = (
        "import sys; from traindoctor.cli import main; main(['--version']);"
        "heavy = {'numpy', 'networkx', 'pydantic', 'yaml', 'rich', 'typer', 'jinja2'} & set(sys.modules);"
        "sys.exit(repr(heavy) if heavy else 0)"
    )
    path = os.pathsep.join(p for p in sys.path if p)
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, f"traindoctor {__version__}\n", "")


def test_the_package_runs_as_a_module() -> None:
    """`python -m traindoctor` is the command: for environments whose scripts are not on the path."""
    path = os.pathsep.join(p for p in sys.path if p)
    done = subprocess.run(
        [sys.executable, "-m", "traindoctor", "--version"],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, f"traindoctor {__version__}\n", "")


def test_json_on_stdout_and_nothing_else(run: Path, capsys: Captured) -> None:
    """stdout carries the result alone; it is as the schema says; exit code 0 whatever was found."""
    code = main([str(run), "--format", "json"])
    out, err = capsys.readouterr()
    found = json.loads(out)
    Draft202012Validator(json.loads(json_report.schema_text())).validate(found)

    assert (code, err) == (0, "")
    assert found["run"]["path"] == str(run)
    assert any(f["symptom"] == "loss-not-finite" and f["state"] == "present" for f in found["findings"])


def test_the_same_run_gives_the_same_bytes(run: Path, capsys: Captured) -> None:
    """Twice the same command, twice the same bytes, in every format."""
    for name in ("json", "markdown", "terminal"):
        main([str(run), "-f", name])
        first = capsys.readouterr().out
        main([str(run), "-f", name])

        assert capsys.readouterr().out == first


def test_several_formats_at_once(run: Path, tmp_path: Path, capsys: Captured) -> None:
    """One diagnosis, three formats: files where --output says, and the run is left untouched."""
    before = sorted(run.rglob("*"))
    report = tmp_path / "out" / "report.md"
    code = main(
        [str(run), "-f", "terminal", "-f", "markdown", "-o", str(report), "-o", str(tmp_path / "d.json")]
    )
    out, err = capsys.readouterr()

    assert code == 0
    assert "train/loss" in out
    assert err == f"diagnose: wrote {report}\ndiagnose: wrote {tmp_path / 'd.json'}\n"
    assert (tmp_path / "out" / "report_files" / "train-loss.svg").read_text().startswith("<svg ")
    assert json.loads((tmp_path / "d.json").read_text())["schema_version"] == "1"
    assert sorted(run.rglob("*")) == before


def test_a_run_is_its_own_healthy_benchmark(run: Path, capsys: Captured) -> None:
    """--benchmark and --ref are one option; with it the checklist is shown."""
    assert main([str(run), "--ref", str(run)]) == 0
    assert "Checklist: " in capsys.readouterr().out


@pytest.fixture(scope="module")
def benchmarks(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Three runs of one recipe, and one of another."""
    root = tmp_path_factory.mktemp("benchmarks")
    for number in range(4):
        folder = root / f"b{number}"
        folder.mkdir()
        rows = [{"step": i, "loss": 0.5 + 2.0 * 0.97**i + 0.001 * number} for i in range(1, 61)]
        (folder / "log.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
        rate = 0.001 if number < 3 else 0.01
        (folder / "config.json").write_text(json.dumps({"learning_rate": rate, "seed": number}))
    return [root / f"b{number}" for number in range(4)]


def test_several_benchmarks_show_their_spread(run: Path, benchmarks: list[Path], capsys: Captured) -> None:
    """Further benchmarks of one recipe are repeats: read, named and compared; one of another is left out."""
    given = [word for path in benchmarks for word in ("--benchmark", str(path))]
    code = main([str(run), *given, "-f", "json"])
    out, err = capsys.readouterr()
    found = json.loads(out)
    Draft202012Validator(json.loads(json_report.schema_text())).validate(found)
    states = {f["symptom"]: f["state"] for f in found["findings"]}

    assert code == 0
    assert "does not repeat the benchmark (learning rate is 0.01, not 0.001)" in err
    assert found["benchmark"]["path"] == str(benchmarks[0])
    assert [r["path"] for r in found["benchmark_repeats"]] == [str(p) for p in benchmarks[1:3]]
    assert states["benchmark-unstable"] == "absent"
    for style in ("terminal", "markdown"):
        assert main([str(run), *given, "-q", "-f", style]) == 0
        said = " ".join(capsys.readouterr().out.split())
        assert "and 2 repeats of it" in said
        assert "in 3 benchmark runs" in said


def test_benchmarks_that_say_nothing(run: Path, benchmarks: list[Path], capsys: Captured) -> None:
    """The run itself and a benchmark given twice are no repeats: said, and left out."""
    given = [str(benchmarks[0]), str(benchmarks[0]), str(run)]
    code = main([str(run), *(w for path in given for w in ("--benchmark", path)), "-f", "json"])
    out, err = capsys.readouterr()

    assert code == 0
    assert "is given twice and counts once" in err
    assert "is the run itself: it is left out" in err
    assert json.loads(out)["benchmark_repeats"] == []
    assert main([str(run), "--benchmark", str(run)]) == 0
    assert "is the run itself: nothing can differ" in capsys.readouterr().err


def test_unreadable_repeat(run: Path, benchmarks: list[Path], tmp_path: Path, capsys: Captured) -> None:
    """Of several benchmarks the one that cannot be read is named: exit code 4."""
    code = main([str(run), "--benchmark", str(benchmarks[0]), "--benchmark", str(tmp_path / "none")])

    assert str(tmp_path / "none") in one_sentence(capsys, code, 4)


def test_checklist_command(run: Path, capsys: Captured) -> None:
    """The checklist alone, as text and as JSON, with exit code 0."""
    assert main(["checklist", str(run), "--benchmark", str(run)]) == 0
    assert capsys.readouterr().out.startswith("Checklist: ")
    assert main(["checklist", str(run), "--benchmark", str(run), "--format", "json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["checklist"]) == 9


def test_answers_replace_readings(run: Path, tmp_path: Path, capsys: Captured) -> None:
    """The user's answer wins; a contradiction is told on stderr; the command line beats the file."""
    answers = tmp_path / "answers.yaml"
    answers.write_text("lower-lr-cures: no\nloss-not-finite: absent\n")
    code = main([str(run), "-f", "json", "--answers", str(answers), "--answer", "lower-lr-cures=present"])
    out, err = capsys.readouterr()
    states = {f["symptom"]: f for f in json.loads(out)["findings"]}

    assert code == 0
    assert (states["lower-lr-cures"]["state"], states["lower-lr-cures"]["why"]) == (
        "present",
        "answered by the user",
    )
    assert states["loss-not-finite"]["state"] == "absent"
    assert err.startswith("diagnose: loss-not-finite: you say absent, the run was read as present (")


def test_a_run_called_like_a_command(run: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    """A directory called like a sub-command is reached as ./NAME."""
    (run.parent / "schema").mkdir()
    (run.parent / "schema" / "log.jsonl").write_bytes((run / "log.jsonl").read_bytes())
    monkeypatch.chdir(run.parent)

    assert main(["./schema", "-f", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["run"]["path"] == "schema"
    assert main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out)["title"] == "Diagnosis"


def test_hostile_file_names(run: Path, tmp_path: Path, capsys: Captured) -> None:
    """File names with escapes, markup and commands are shown and do nothing."""
    name = "::error::x`|<b>\x1b[31m[bold]\u202e.jsonl"
    (tmp_path / name).write_bytes((run / "log.jsonl").read_bytes())
    for style in ("terminal", "markdown"):
        assert main([str(tmp_path), "-f", style, "-v"]) == 0
        said = capsys.readouterr().out
        assert "[bold].jsonl" in said
        assert not {"\x1b", "\u202e"} & set(said)
        assert not [line for line in said.splitlines() if line.lstrip().startswith("::")]


# ---------------------------------------------------------------------------------------------- errors


def test_missing_directory(tmp_path: Path, capsys: Captured) -> None:
    """A path that is not there: exit code 4."""
    code = main([str(tmp_path / "none")])

    assert "none: No such file or directory" in one_sentence(capsys, code, 4)


def test_empty_directory(tmp_path: Path, capsys: Captured) -> None:
    """An empty directory: exit code 4."""
    code = main([str(tmp_path)])

    assert "the directory is empty" in one_sentence(capsys, code, 4)


def test_foreign_directory(tmp_path: Path, capsys: Captured) -> None:
    """A directory of other things: exit code 4, and what was seen there, without its terminal sequences."""
    (tmp_path / "holiday\x1b[31m.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(200))
    said = one_sentence(capsys, main([str(tmp_path)]), 4)

    assert "nothing here that a training run would leave" in said
    assert "\x1b" not in said


def test_directory_of_scripts(tmp_path: Path, capsys: Captured) -> None:
    """Scripts of which none trains: exit code 4, and the command that looks at scripts."""
    (tmp_path / "plot.py").write_text("import torch\nprint(torch.load('result.pt'))\n")
    said = one_sentence(capsys, main([str(tmp_path)]), 4)

    assert "only scripts, and none that trains: `diagnose script` looks at these" in said


def test_directory_of_a_training_script(tmp_path: Path, capsys: Captured) -> None:
    """A training script without a log is judged by itself, and is not called healthy."""
    step = "    loss = model(x)\n    loss.backward()\n    optimizer.step()\n"
    made = (
        "import torch\nmodel = torch.nn.Linear(9, 1)\noptimizer = torch.optim.SGD(model.parameters(), 0.1)\n"
    )
    (tmp_path / "train.py").write_text(f"{made}for x in rows:\n{step}")

    assert main([str(tmp_path)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Gradients are not cleared" in said and "No log lies here" in said
    (tmp_path / "train.py").write_text(f"{made}for x in rows:\n    optimizer.zero_grad()\n{step}")
    assert main([str(tmp_path)]) == 0
    assert "healthy" not in capsys.readouterr().out


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_unreadable_directory(tmp_path: Path, capsys: Captured) -> None:
    """A directory that may not be read: exit code 4."""
    tmp_path.chmod(0)
    code = main([str(tmp_path)])
    tmp_path.chmod(0o700)

    assert "Permission denied" in one_sentence(capsys, code, 4)


def test_unreadable_benchmark(run: Path, tmp_path: Path, capsys: Captured) -> None:
    """A benchmark that cannot be read is named as the benchmark: exit code 4."""
    code = main([str(run), "--benchmark", str(tmp_path / "none")])

    assert one_sentence(capsys, code, 4).startswith("diagnose: benchmark ")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ([], "say which run to diagnose"),
        (["--bogus", "RUN"], "--bogus"),
        (["RUN", "OTHER"], "OTHER is too much; a run to compare with is given as --benchmark"),
        (["RUN", "--format", "pdf"], "there is no such format"),
        (["RUN", "-f", "json", "-f", "markdown"], "only one format"),
        (["RUN", "--answer", "loss-zero"], "SYMPTOM=present"),
        (["RUN", "--answer", "loss-zero=maybe"], "SYMPTOM=present"),
        (["RUN", "--answer", "loss-zro=present"], "did you mean loss-zero"),
        (["RUN", "--answers", "/nowhere.yaml"], "No such file"),
        (["RUN", "--rules", "/nowhere"], "no such folder"),
        (["checklist"], "Missing argument"),
        (["rules"], "diagnose rules --help"),
        (["chekclist", "RUN"], "did you mean checklist"),
        (["explain", "loss-zro"], "did you mean loss-zero"),
        (["rules", "list", "cats"], "causes, mechanisms, symptoms or sources"),
        (["RUN", "-o", "/proc/none/r.md"], "cannot be written"),
    ],
)
def test_usage_errors(run: Path, line: list[str], said: str, capsys: Captured) -> None:
    """What was typed cannot be meant or done: exit code 2 and one sentence."""
    code = main([str(run) if word == "RUN" else word for word in line])

    assert said in one_sentence(capsys, code, 2)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- a\n", "one to a line"),
        ("loss-zero: maybe\n", "must be present, absent or unknown"),
        ("a: [\n", "not valid YAML"),
        ("loss-zero: yes\nloss-zero: no\n", "twice"),
    ],
)
def test_broken_answers(run: Path, tmp_path: Path, text: str, said: str, capsys: Captured) -> None:
    """An answers file that cannot be understood: exit code 2, with the file."""
    path = tmp_path / "a.yaml"
    path.write_text(text)

    assert said in one_sentence(capsys, main([str(run), "--answers", str(path)]), 2)


def test_broken_rule_file(run: Path, tmp_path: Path, capsys: Captured) -> None:
    """A rule pack that is broken is left out: said with file and line, and under Not evaluated."""
    (tmp_path / "causes").mkdir()
    (tmp_path / "causes" / "x.yaml").write_text("id: x.y\nbogus: 1\n")
    code = main([str(run), "--rules", str(tmp_path), "-f", "json"])
    out, err = capsys.readouterr()
    told = json.loads(out)["not_evaluated"]

    assert code == 0
    assert re.match(r"diagnose: left out: rule pack .*: causes/x.yaml:\d+: .*more problems\)\n$", err)
    assert any("causes/x.yaml:2: bogus: unknown field" in entry["why"] for entry in told)
    assert main([str(run), "--rules", str(tmp_path), "-q"]) == 0
    assert capsys.readouterr().err == ""


def test_internal_errors_say_how_to_report_them(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    """A bug of ours: exit code 70, one sentence; the traceback only on demand."""

    def broken(*_: object, **__: object) -> None:
        raise KeyError("b\x1b[31mug")

    monkeypatch.setattr("traindoctor.cli.work.load", broken)
    said = one_sentence(capsys, main([str(run)]), 70)
    monkeypatch.setenv("TRAINDOCTOR_DEBUG", "1")

    assert "internal error: KeyError" in said
    assert "TRAINDOCTOR_DEBUG=1" in said
    assert main([str(run)]) == 70
    assert "Traceback" in capsys.readouterr().err


def test_a_reader_that_stops_reading(run: Path) -> None:
    """A closed pipe ends the command quietly."""
    path = os.pathsep.join(p for p in sys.path if p)
    code = "import sys; from traindoctor.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", code, str(run), "-f", "json"]
    with subprocess.Popen(
        command, env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as started:
        assert started.stdout is not None
        assert started.stderr is not None
        started.stdout.close()
        said = started.stderr.read()

    assert (started.returncode, said) == (0, b"")


def test_help_names_all_commands(capsys: Captured) -> None:
    """--help shows the options and the further commands."""
    assert main(["--help"]) == 0
    said = capsys.readouterr().out
    assert all(
        word in said
        for word in ("--benchmark", "--format", "checklist", "workflow", "rules", "explain", "schema")
    )
