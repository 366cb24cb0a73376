"""`diagnose fusion`: the decision, the search over several calls, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from traindoctor.cli import fusion_work
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


def test_two_guilty_rules_over_several_calls(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    on, off = trained(tmp_path / "on", 0.6, fused=True), trained(tmp_path / "off", 0.8)
    state, guilty = tmp_path / "search.json", {"Rule1Pass", "Rule6Pass"}
    found = asked(capsys, on, off, "--state", state)
    for n in range(60):
        if found["state"] != "ask":
            break
        switched = set(json.loads(Path(found["switch_file"]).read_text())["Switch"]["GraphFusion"])
        result = trained(tmp_path / f"try{n}", 0.8 if guilty <= switched else 0.6)
        found = asked(capsys, on, off, "--state", state, "--result", result)

    assert (found["state"], set(found["found"])) == ("found", {f"GraphFusion.{g}" for g in guilty})


def test_a_call_that_was_cut_short_is_repeated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever writing ends, the files are whole, and the same call leads to the same place."""
    on, off = trained(tmp_path / "on", 0.6, fused=True), trained(tmp_path / "off", 0.8)
    state, result = tmp_path / "search.json", trained(tmp_path / "try", 0.6)
    asked(capsys, on, off, "--state", state)
    before = state.read_text()
    write = fusion_work.write_file
    for cut in (0, 1):
        calls = iter(range(9))

        def stopped(path: Path, text: str, cut: int = cut, calls: Iterator[int] = calls) -> None:
            if next(calls) == cut:
                raise KeyboardInterrupt
            write(path, text)

        monkeypatch.setattr(fusion_work, "write_file", stopped)
        with pytest.raises(KeyboardInterrupt):
            fusion_work.answer(fusion_work.Question(on, off, state=state, result=result, quiet=True))
        assert state.read_text() == before
    monkeypatch.setattr(fusion_work, "write_file", write)
    once = asked(capsys, on, off, "--state", state, "--result", result)
    assert (once["state"], len(once["trials"])) == ("ask", 1)
    assert not [p for p in tmp_path.iterdir() if p.name.startswith(".")]  # nothing half-written stays


def test_a_result_that_was_not_trained_as_asked_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    on, off = trained(tmp_path / "on", 0.6, fused=True), trained(tmp_path / "off", 0.8)
    state = tmp_path / "search.json"
    asked(capsys, on, off, "--state", state)
    before = state.read_text()
    assert run(["fusion", str(on), str(off), "--state", str(state), "--result", str(on)]) == 2
    assert "took effect in it, which had to be off" in capsys.readouterr().err
    assert state.read_text() == before


def test_a_search_that_is_over_takes_no_more(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    on, off = trained(tmp_path / "on", 0.6), trained(tmp_path / "off", 0.8)
    effects = {"A": {"effect_times": "1"}}
    (on / "fusion_result.json").write_text(json.dumps({"graphId": "0", "ub_fusion": effects}))
    state, late = tmp_path / "s.json", trained(tmp_path / "late", 0.7)
    assert asked(capsys, on, off, "--state", state)["found"] == ["UBFusion.A"]
    assert json.loads((tmp_path / "s-switch.cfg").read_text()) == {"Switch": {"UBFusion": {"A": "off"}}}
    assert run(["fusion", str(on), str(off), "--state", str(state), "--result", str(late)]) == 2
    assert "is over" in capsys.readouterr().err


@pytest.mark.parametrize("version", ["0", "2", 1, None])
def test_a_state_of_another_version_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], version: Any
) -> None:
    on, off = trained(tmp_path / "on", 0.6, fused=True), trained(tmp_path / "off", 0.8)
    state = tmp_path / "search.json"
    asked(capsys, on, off, "--state", state)
    content = json.loads(state.read_text()) | {"schema_version": version}
    state.write_text(json.dumps(content))
    assert run(["fusion", str(on), str(off), "--state", str(state)]) == 2
    said = capsys.readouterr().err
    assert "schema_version" in said and len(said.strip().splitlines()) == 1
    assert json.loads(state.read_text()) == content


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


def test_a_rule_that_is_not_listed_is_not_searched_for_long(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    on, off = trained(tmp_path / "on", 0.6, fused=True), trained(tmp_path / "off", 0.8)
    state = tmp_path / "search.json"
    found = asked(capsys, on, off, "--state", state)
    for n in range(3):
        assert found["state"] == "ask"
        result = trained(tmp_path / f"try{n}", 0.6)
        found = asked(capsys, on, off, "--state", state, "--result", result)

    assert (found["state"], found["found"]) == ("contradiction", [])
    assert "not among them" in found["verdict"]


def test_a_search_that_other_runs_began_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A state file left over from another model: its results would be held against these runs."""
    on, off = trained(tmp_path / "on", 0.6, fused=True), trained(tmp_path / "off", 0.8)
    other = trained(tmp_path / "other", 0.7)
    benchmark = trained(tmp_path / "benchmark", 0.82)
    state = tmp_path / "search.json"
    asked(capsys, on, off, "--state", state, "--benchmark", benchmark)
    before = state.read_bytes()

    assert run(["fusion", str(other), str(off), "--state", str(state)]) == 2
    assert "begun with other runs" in capsys.readouterr().err
    assert run(["fusion", str(on), str(other), "--state", str(state)]) == 2
    assert "fusion off, here it ends at" in capsys.readouterr().err
    assert state.read_bytes() == before
    assert asked(capsys, on, off, "--state", state)["state"] == "ask"  # the benchmark need not be given again
