"""Dumps, checkpoints and searches that lie in a run directory: evidence, and a section each in the report."""

from __future__ import annotations

import json
import shutil
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from tests.probes.tensors._dumps import SHARED, Call, msprobe
from tests.probes.tensors._saved import HERE
from traindoctor.cli.app import run_command_line as run
from traindoctor.probes.operators.search import Measure, Search, Trial, to_json
from traindoctor.reports import json_report

X = np.linspace(-2, 2, 32, dtype=np.float32).reshape(4, 8)
REAL = pytest.mark.skipif(not SHARED.is_dir(), reason="../shared is not here")


def log(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    rows = [{"step": s, "loss": 1.0 + 1.0 / s} for s in range(1, 121)]
    (folder / "log.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    return folder


def chain(bad: float = 1.0) -> list[Call]:
    with np.errstate(all="ignore"):
        worse = X * np.float32(bad)
    return [
        ("Functional.linear.0.forward", [X], [X]),
        ("Torch.div.0.forward", [X], [worse]),
        ("Functional.cross_entropy.0.forward", [worse], [worse[:1, :1]]),
    ]


def told(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert run([*map(str, arguments), "-q"]) == 0
    return capsys.readouterr().out


def states(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, str]:
    found: dict[str, Any] = json.loads(told(capsys, *arguments, "-f", "json"))
    return {f["symptom"]: f["state"] for f in found["findings"]}


def sections(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(told(capsys, *arguments, "-f", "json"))
    Draft202012Validator(json.loads(json_report.schema_text())).validate(found)
    return {s["question"]: s for s in found["sections"]}


def test_an_overflow_has_a_section_with_a_strip(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = log(tmp_path / "run")
    msprobe(folder / "dump" / "step3" / "rank0", chain(np.inf))
    out = told(capsys, folder)

    assert "\nOverflow\n" in out and ".#x" in out and "diagnose overflow" in out
    found = sections(capsys, folder)["overflow"]
    assert found["telling"] and found["first"]["name"] == "Torch.div.0.forward"
    assert [(m["position"], m["state"]) for m in found["strip"]["marked"]] == [
        (1, "begins here"),
        (2, "passed on"),
    ]
    told(capsys, folder, "-o", tmp_path / "r.md")
    report = (tmp_path / "r.md").read_text()
    assert "## Overflow" in report and "```text\n.#x\n" in report
    drawn = tmp_path / "r_files" / "overflow.svg"
    assert "begins here" in drawn.read_text()
    ElementTree.parse(drawn)  # noqa: S314 - our own


def test_what_comes_from_a_rank_without_a_dump_blames_no_operator(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, bad = log(tmp_path / "run"), np.full_like(X, np.inf)
    for rank in range(2):
        calls: list[Call] = [
            ("Functional.linear.0.forward", [X], [X]),
            ("Distributed.all_reduce.0.forward", [X], [bad]),
            ("Functional.relu.0.forward", [bad], [bad]),
        ]
        msprobe(folder / "dump" / "step3" / f"rank{rank}", calls)

    assert states(capsys, folder)["dump-first-bad-operator"] == "unknown"
    assert "a rank that was not dumped" in sections(capsys, folder)["overflow"]["verdict"]


def test_a_sound_dump_is_told_in_full_reports_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = log(tmp_path / "run")
    msprobe(folder / "dump" / "step3" / "rank0", chain())

    assert "\nOverflow\n" not in told(capsys, folder)
    assert sections(capsys, folder)["overflow"]["kind"] == "clean"
    assert "No operator of 3 makes a value that is not finite" in told(capsys, folder, "-f", "markdown")


def test_checkpoints_have_a_section(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = log(tmp_path / "run")
    shutil.copytree(HERE / "frozen", folder / "ckpt")
    out = told(capsys, folder)

    assert "\nWeights\n" in out and "x stands still" in out and "diagnose weights" in out


def test_a_search_for_a_fusion_rule_is_evidence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = log(tmp_path / "run")
    rules = [("GraphFusion", f"Rule{n}Pass") for n in range(4)]
    search = Search(Measure("eval/accuracy", False, 0.6, 0.8, 0.01), list(rules))
    (folder / "search.json").write_text(json.dumps(to_json(search)))
    assert states(capsys, folder)["fusion-off-better"] == "present"
    out = told(capsys, folder)
    assert "\nOperator fusion\n" in out and "4 of 4 fusion rules are suspected" in out

    for n in range(3):  # repeats of one configuration that contradict each other
        search.trials.append(Trial(tuple(rules[:2]), 0.7, 0.5 + 0.45 * (-1) ** n * (n > 0), f"r{n}"))
    (folder / "search.json").write_text(json.dumps(to_json(search)))
    assert states(capsys, folder)["fusion-off-better"] == "unknown"

    (folder / "search.json").write_text(json.dumps(to_json(search))[:-20])
    assert states(capsys, folder)["fusion-off-better"] == "unknown"
    (folder / "search.json").unlink()
    assert states(capsys, folder)["fusion-off-better"] == "unknown"


def test_a_search_that_found_no_gain_is_told_as_absent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = log(tmp_path / "run")
    search = Search(Measure("eval/accuracy", False, 0.8, 0.801, 0.01), [("UBFusion", "A"), ("UBFusion", "B")])
    (folder / "search.json").write_text(json.dumps(to_json(search)))
    assert states(capsys, folder)["fusion-off-better"] == "absent"


def test_rules_that_took_effect_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = log(tmp_path / "run")
    effects = {"AddNFusionPass": {"effect_times": "2", "match_times": "2"}}
    (folder / "fusion_result.json").write_text(json.dumps({"graphId": "0", "graph_fusion": effects}))
    assert states(capsys, folder)["fusion-off-better"] == "unknown"
    assert "AddNFusionPass" in told(capsys, folder, "-f", "markdown")


@REAL
def test_one_tree_of_precision_tool_holds_all_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    report = told(capsys, SHARED / "precision_tool_synthetic", "-f", "markdown")

    assert "fp32_vars_conv2d_1_Conv2D is the first to make saturated values" in report
    assert "fc_MatMul is the first whose output differs" in report  # against its own TensorFlow dump
    assert "AddNFusionPass" in report
    found = sections(capsys, SHARED / "precision_tool_synthetic")
    assert {"overflow", "fusion", "compare"} <= found.keys()
    assert found["compare"]["first"]["name"] == "fc_MatMul"


@REAL
@pytest.mark.parametrize("pair", ["stat_wrongop_vs_base", "tensor_wrongop_vs_base", "md5_wrongop_vs_base"])
def test_another_tool_s_comparison_in_the_directory_is_evidence(
    pair: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = states(capsys, SHARED / "msprobe_compare" / pair)
    assert found["dump-calls-differ"] == "present"  # msprobe itself: 141 of 141 pass


@REAL
def test_two_equal_runs_and_a_healthy_monitor_stay_silent(capsys: pytest.CaptureFixture[str]) -> None:
    for place in ("msprobe_compare/repeat_1_vs_2", "msprobe_monitor/healthy"):
        found = states(capsys, SHARED / place)
        assert "present" not in found.values()


@REAL
def test_what_msprobe_found_itself_is_evidence(capsys: pytest.CaptureFixture[str]) -> None:
    found = states(capsys, SHARED / "msprobe_pt" / "overflow" / "nan")
    assert found["dump-zero-met"] == "present"  # a division by zero, and no overflow
    out = told(capsys, SHARED / "msprobe_monitor" / "spike", "-f", "markdown")
    assert "first to make" in out and states(capsys, SHARED / "msprobe_monitor" / "spike")[
        "dump-first-bad-operator"
    ] == ("unknown")  # a monitor does not tell what went in
