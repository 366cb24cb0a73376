"""`diagnose fusion`: the decision, the search over several calls, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from traindoctor.cli.app import run_command_line as run

NAMES = [f"Rule{n}Pass" for n in range(8)]


def trained(folder: Path, end: float, *, fused: bool = False, steps: int = 40) -> Path:
    """A run whose accuracy rises to `end`, with what the compiler tells of fusion."""
    folder.mkdir(parents=True)
    rows = [
        {"step": s, "loss": 2.0 / s + 0.1, "eval_accuracy": end * (1 - 0.5 ** (s / 4))}
        for s in range(1, steps + 1)
    ]
    (folder / "log.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    if fused:
        told = {n: {"effect_times": "1", "match_times": "1"} for n in NAMES}
        (folder / "fusion_result.json").write_text(json.dumps([{"graphId": "0_1", "graph_fusion": told}]))
    return folder


def asked(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    assert run(["fusion", *map(str, arguments), "-q", "-f", "json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_the_decision(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    on, off = trained(tmp_path / "on", 0.6, fused=True), trained(tmp_path / "off", 0.8)
    same, short = trained(tmp_path / "same", 0.601), trained(tmp_path / "short", 0.8, steps=8)
    benchmark = trained(tmp_path / "benchmark", 0.82)

    assert asked(capsys, on, off)["state"] == "at fault"
    assert asked(capsys, on, off, "--benchmark", benchmark)["state"] == "at fault"
    assert asked(capsys, on, same)["state"] == "no effect"
    assert asked(capsys, off, on)["state"] == "worse without"
    assert asked(capsys, on, short)["state"] == "cannot tell"
    assert len(asked(capsys, on, off)["rules"]) == 8


def test_a_search_over_several_calls(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    on, off = trained(tmp_path / "on", 0.6, fused=True), trained(tmp_path / "off", 0.8)
    state = tmp_path / "search.json"
    found = asked(capsys, on, off, "--state", state)
    for n in range(12):
        if found["state"] != "ask":
            break
        switched = json.loads(Path(found["switch_file"]).read_text())["Switch"]["GraphFusion"]
        again = asked(capsys, on, off, "--state", state)  # asking again, days later, changes nothing
        assert again["switch_off"] == found["switch_off"]
        result = trained(tmp_path / f"try{n}", 0.8 if "Rule5Pass" in switched else 0.6)
        found = asked(capsys, on, off, "--state", state, "--result", result)

    assert (found["state"], found["found"]) == ("found", ["GraphFusion.Rule5Pass"])
    assert json.loads((tmp_path / "search-switch.cfg").read_text()) == {
        "Switch": {"GraphFusion": {"Rule5Pass": "off"}}
    }
    assert json.loads(state.read_text())["schema_version"] == "1"
    assert sorted(p.name for p in on.iterdir()) == ["fusion_result.json", "log.jsonl"]
    assert run(["fusion", str(on), str(off), "--state", str(state)]) == 0
    assert capsys.readouterr().out.startswith("GraphFusion.Rule5Pass is the guilty rule")


def test_without_a_list_of_rules_the_groups_are_searched(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    on, off = trained(tmp_path / "on", 0.6), trained(tmp_path / "off", 0.8)
    found = asked(capsys, on, off, "--state", tmp_path / "s.json")

    assert found["rules"] == ["GraphFusion.ALL", "UBFusion.ALL"]
    assert found["notes"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["{on}", "{nowhere}"], 4),
        (["{on}"], 2),
        (["{on}", "{off}", "--result", "{off}"], 2),
        (["{on}", "{off}", "--state", "{bad}"], 2),
        (["{on}", "{off}", "--state", "{other}"], 2),
        (["{on}", "{off}", "--state", "{new}", "--result", "{off}"], 2),
        (["{on}", "{off}", "--state", "{inside}"], 2),
        (["{on}", "{off}", "--benchmark", "{on}", "--benchmark", "{off}"], 2),
    ],
)
def test_exit_codes_with_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int
) -> None:
    places = {n: tmp_path / n for n in ("nowhere", "new")}
    places |= {"on": trained(tmp_path / "on", 0.6, fused=True), "off": trained(tmp_path / "off", 0.8)}
    places |= {
        "bad": tmp_path / "bad.json",
        "other": tmp_path / "other.json",
        "inside": tmp_path / "on/s.json",
    }
    places["bad"].write_text("{broken")
    places["other"].write_text('{"schema_version": "1"}')

    assert run(["fusion", *(a.format(**places) for a in arguments)]) == code
    said = capsys.readouterr()
    assert said.out == ""
    assert len(said.err.strip().splitlines()) == 1
    assert not (tmp_path / "on/s.json").exists()
