"""`diagnose config` from the command line: formats, exit codes, and no secret in any of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from traindoctor.cli.app import run_command_line

SECRETS = {
    "wandb_api_key": "0123456789abcdef0123456789abcdef01234567",
    "hub_token": "hf_AbCdEfGhIjKlMnOpQrStUvWxYz012345",
    "store": "https://someone:pa55word@example.org/bucket",
    "note": "AKIAIOSFODNN7EXAMPLE",
    "db_password": "hunter2-canary",
}


def sides(tmp_path: Path) -> list[str]:
    for name, rate, extra in (("run", 0.1, "x"), ("benchmark", 0.01, "y")):
        (tmp_path / name).mkdir()
        canaries = {key: value[:-1] + extra for key, value in SECRETS.items()}
        settings = {"lr": rate, "frob": f"a {extra} --token {canaries['hub_token']}", **canaries}
        (tmp_path / name / "config.json").write_text(json.dumps(settings))
    return [str(tmp_path / "run"), "--benchmark", str(tmp_path / "benchmark")]


@pytest.mark.parametrize("form", ["terminal", "markdown", "json"])
def test_no_secret_in_any_format(tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str) -> None:
    assert run_command_line(["config", *sides(tmp_path), "--format", form, "--verbose"]) == 0
    told = "".join(capsys.readouterr())
    assert "0.1" in told
    for secret in SECRETS.values():
        assert secret[:-1] not in told
    assert "pa55word" not in told and "hunter2" not in told


def test_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_command_line(["config", *sides(tmp_path), "-f", "json"])
    found = json.loads(capsys.readouterr().out)
    (only,) = found["differences"]
    assert only["setting"] == "learning_rate" and only["run"]["value"] == 0.1
    assert only["run"]["file"] == "config.json" and only["run"]["line"] == 1
    assert only["cause"] == "hyperparameter.learning-rate-too-large" and only["source"]


def test_the_terminal_says_where_values_come_from(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_command_line(["config", *sides(tmp_path)])
    told = capsys.readouterr().out
    assert told.startswith("1 difference, a weighty one;")
    assert "here: config.json:1 (lr); benchmark: config.json:1 (lr)" in told


def test_bad_input_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    run = sides(tmp_path)[0]
    assert run_command_line(["config", str(empty)]) == 4
    assert run_command_line(["config", run, "--benchmark", str(tmp_path / "nowhere")]) == 4
    assert run_command_line(["config", run, "--benchmark", run, "--benchmark", str(empty)]) == 2
    said = capsys.readouterr()
    assert not said.out and len(said.err.splitlines()) == 3
