"""`diagnose checklist`: the three lists, a user's own, their formats, and no secret in any of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from traindoctor.cli.app import run_command_line
from traindoctor.reports import json_report

Captured = pytest.CaptureFixture[str]
LOG = "".join(f"step {n} loss {2 / n + 0.5:.4f}\n" for n in range(1, 60))
OWN = "title: Ours\nitems:\n  - id: R1\n    title: Same rate\n    fails_on: [lr-above-benchmark]\n"
OWN += "    passes_on: [lr-above-benchmark]\n    check: Put the configuration beside the log\n"
SECRETS = {
    "api_key": "canary-key-4711",
    "hub_token": "hf_canary0123456789abcdefghij",
    "db_url": "postgres://me:canarypass@host/db",
    "note": "ghp_canary0123456789abcdefghij",
}


@pytest.fixture
def runs(tmp_path: Path) -> tuple[Path, Path]:
    """A run with ten times its benchmark's learning rate; both hold secrets in settings, log and lists."""
    for name, rate, extra in (("run", 0.01, "x"), ("benchmark", 0.001, "y")):
        folder = tmp_path / name
        folder.mkdir()
        secrets = {k: v + extra for k, v in SECRETS.items()}
        (folder / "train.log").write_text(LOG + f"argv: --lr {rate} --api_key {secrets['api_key']}\n")
        settings = {"lr": rate, "batch_size": 8, "optimizer": "adam", "epochs": 3, **secrets}
        (folder / "config.json").write_text(json.dumps(settings))
        (folder / "env.sh").write_text(
            f"export HF_TOKEN={secrets['hub_token']}\nexport LR={rate}\npython t.py --lr {rate}\n"
        )
        (folder / "sums.txt").write_text(f"{'a' * 64}  https://me:canarypass@host/{extra}.bin\n")
    return tmp_path / "run", tmp_path / "benchmark"


def checklist(runs: tuple[Path, Path], *more: str) -> int:
    return run_command_line(["checklist", str(runs[0]), "--benchmark", str(runs[1]), "--quiet", *more])


@pytest.mark.parametrize(
    ("named", "items", "words"),
    [
        ("ascend", 9, {"Passed", "Failed", "Not checked"}),
        ("mindspore", 24, {"No problem", "Problem found", "N/A"}),
        ("mindformers", 14, {"Passed", "Failed", "Not checked"}),
    ],
)
def test_lists(runs: tuple[Path, Path], capsys: Captured, named: str, items: int, words: set[str]) -> None:
    """Each list in its words, with the documents' results beside them, valid against the schema's parts."""
    assert checklist(runs, "--list", named, "--format", "json") == 0
    said = json.loads(capsys.readouterr().out)

    assert said["checklist_name"] == named
    assert len(said["checklist"]) == items
    assert {i["said"] for i in said["checklist"]} <= words
    schema = json.loads(json_report.schema_text())
    Draft202012Validator({**schema["$defs"]["item"], "$defs": schema["$defs"]}).validate(said["checklist"][0])


def test_fellows_and_commands(runs: tuple[Path, Path], capsys: Captured) -> None:
    """What is not checked says how, with the paths of this run; items name their fellows in other lists."""
    assert checklist(runs, "--list", "mindspore") == 0
    told = capsys.readouterr().out

    assert "“N/A” is Not checked" in " ".join(told.split())
    assert "Same as Ascend item 10" in told
    assert checklist(runs) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "diagnose checklist /" in told and "--benchmark SECOND_RUN" in told
    assert "Same as MindSpore hp.01" in told


def test_a_list_of_ones_own(runs: tuple[Path, Path], tmp_path: Path, capsys: Captured) -> None:
    """One YAML file is a checklist, also in a profile of the gate, relative to the profile."""
    (tmp_path / "policy").mkdir()
    (tmp_path / "policy" / "release.yaml").write_text(OWN)
    assert checklist(runs, "--list", str(tmp_path / "policy" / "release.yaml"), "--format", "json") == 0
    said = json.loads(capsys.readouterr().out)
    assert [(i["id"], i["result"]) for i in said["checklist"]] == [("R1", "Failed")]

    profile = tmp_path / "policy" / "profile.yaml"
    profile.write_text(
        "profiles:\n  - {name: ours, checklist: release.yaml, items: {R1: pass}, causes: []}\n"
    )
    arguments = [
        "gate",
        str(runs[0]),
        "--benchmark",
        str(runs[1]),
        "-q",
        "--profile",
        str(profile),
        "-f",
        "json",
    ]
    assert run_command_line(arguments) == 1
    assert [f["rule"] for f in json.loads(capsys.readouterr().out)["findings"]] == ["release-R1"]


@pytest.mark.parametrize(
    ("named", "text", "said"),
    [
        ("nasa", None, "--list nasa: there is no such checklist; there are ascend, mindformers, mindspore"),
        ("gone.yaml", None, "gone.yaml: No such file"),
        (
            "own.yaml",
            OWN.replace("lr-above-benchmark]\n    check", "lr-above]\n    check"),
            "own.yaml:6: there is no symptom",
        ),
        ("own.yaml", "title: x\n", "own.yaml:1: items: this field is missing"),
        ("own.yaml", "a: [", "own.yaml:"),
    ],
)
def test_mistakes(
    runs: tuple[Path, Path], tmp_path: Path, capsys: Captured, named: str, text: str | None, said: str
) -> None:
    """One sentence with file and line, exit code 2, nothing on stdout."""
    if text is not None:
        (tmp_path / named).write_text(text)
    code = checklist(runs, "--list", str(tmp_path / named) if named.endswith(".yaml") else named)
    out, err = capsys.readouterr()

    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err


def test_a_profile_with_a_broken_list(runs: tuple[Path, Path], tmp_path: Path, capsys: Captured) -> None:
    """The gate refuses it in one sentence, before anything is read."""
    profile = tmp_path / "profile.yaml"
    profile.write_text("profiles:\n  - {name: ours, checklist: gone.yaml}\n")

    assert run_command_line(["gate", str(runs[0]), "--profile", str(profile)]) == 2
    assert "profile ours: its checklist cannot be read" in capsys.readouterr().err


COMMANDS = [
    *(
        (["checklist", "--list", n], f)
        for n in ("ascend", "mindspore", "mindformers")
        for f in ("terminal", "markdown", "json")
    ),
    *((["gate"], f) for f in ("terminal", "markdown", "json", "junit", "sarif", "github", "gitlab")),
    *((["config"], f) for f in ("terminal", "markdown", "json")),
    *(([], f) for f in ("terminal", "markdown", "json")),
    *((["workflow"], f) for f in ("terminal", "markdown", "json")),
]


@pytest.mark.parametrize(("command", "form"), COMMANDS)
def test_no_secret_in_any_format(
    runs: tuple[Path, Path], capsys: Captured, command: list[str], form: str
) -> None:
    """Canaries of settings, logs, environments and lists appear nowhere, on either side."""
    verbose = ["--verbose"] if command[:1] in ([], ["gate"], ["config"]) else []
    arguments = [*command[:1], str(runs[0]), "--benchmark", str(runs[1]), *command[1:], *verbose, "-f", form]
    assert run_command_line(arguments) in (0, 1, 3)
    told = "".join(capsys.readouterr())

    assert len(told) > 100
    assert not [s for s in ("canary", "4711") if s in told]
