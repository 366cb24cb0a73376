"""Operator dumps in a run directory: each symptom present, absent, unknown; healthy ones stay silent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from traindoctor.cli.app import run_command_line
from traindoctor.engine.diagnose import diagnose
from traindoctor.engine.load import load_rules
from traindoctor.engine.model import Reading
from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.operators import dumps
from traindoctor.probes.operators.origins import other_bits
from traindoctor.probes.readings import readings
from traindoctor.probes.registry import View, probes_of

from ..tensors._dumps import SHARED, Call, msprobe

RULES = load_rules()
PROBES = probes_of(dumps)
IDS = [s.id for s in RULES.symptoms.values() if s.probe in PROBES]
X = np.linspace(-2, 2, 32, dtype=np.float32).reshape(4, 8)


def calls(
    factor: float = 1.0, name: str = "gelu", *, rate: float = 0.1, bad: Any = None, mended: bool = False
) -> list[Call]:
    """A forward pass, a backward pass and a step; `bad` is what an operator makes of its values."""
    a = X * np.float32(factor)
    found: list[Call] = [(f"Functional.{name}.0.forward", [X], [a])]
    if bad is not None:
        found.append(("Torch.div.0.forward", [a], [a * np.float32(bad)]))
        a = X if mended else a * np.float32(bad)
    found.append(("Functional.cross_entropy.0.forward", [a], [a[:1, :1]]))
    found.append(("Functional.cross_entropy.0.backward", [X[:1, :1]], [a]))
    found.append(("Tensor.add_.0.forward", [X, a], [X - np.float32(0.1) * a]))
    return found


def run(folder: Path, made: list[Call] | None, *, rate: float | None = None, **form: Any) -> Path:
    """A healthy log, and a dump beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [{"step": s, "loss": 1.0 + 1.0 / s} for s in range(1, 121)]
    (folder / "log.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    if made is not None:
        with np.errstate(all="ignore"):
            dump = msprobe(folder / "dump" / "step0" / "rank0", made, **form)
        if rate is not None:
            content = json.loads((dump / "dump.json").read_text())
            content["data"]["Tensor.add_.0.forward"]["input_kwargs"] = {
                "alpha": {"type": "float", "value": -rate}
            }
            (dump / "dump.json").write_text(json.dumps(content))
    return folder


def read(folder: Path, benchmark: Path | None = None) -> dict[str, Reading]:
    found = readings(open_run(folder), open_run(benchmark) if benchmark else None, RULES.symptoms.values())
    return {name: found[name] for name in IDS}


def states(found: dict[str, Reading]) -> dict[str, str]:
    return {name: r.state.value for name, r in found.items()}


def test_without_dumps_nothing_is_known(tmp_path: Path) -> None:
    run(tmp_path / "a", None)
    run(tmp_path / "b", calls())
    assert set(states(read(tmp_path / "a", tmp_path / "b")).values()) == {"unknown"}


def test_equal_dumps_with_values_show_that_no_operator_is_to_blame(tmp_path: Path) -> None:
    a, b = (
        run(tmp_path / "a", calls(), rate=0.1, tensors="npy"),
        run(tmp_path / "b", calls(), rate=0.1, tensors="npy"),
    )
    assert states(read(a, b)) == {
        "operator-compare-bad": "absent",
        "dump-calls-differ": "absent",
        "dump-first-bad-operator": "absent",
        "dump-learning-rate-high": "absent",
        "deterministic-rerun-differs": "unknown",
    }


def test_statistics_cannot_clear_an_operator(tmp_path: Path) -> None:
    found = read(run(tmp_path / "a", calls()), run(tmp_path / "b", calls()))
    assert found["operator-compare-bad"].state.value == "unknown"


def test_an_operator_that_computes_otherwise(tmp_path: Path) -> None:
    found = read(run(tmp_path / "a", calls(1.2)), run(tmp_path / "b", calls()))
    assert found["operator-compare-bad"].state.value == "present"
    assert "Functional.gelu.0.forward" in found["operator-compare-bad"].why
    assert found["dump-calls-differ"].state.value == "unknown"


def test_another_operator(tmp_path: Path) -> None:
    found = read(run(tmp_path / "a", calls(1.2, "relu")), run(tmp_path / "b", calls()))
    assert found["dump-calls-differ"].state.value == "present"
    assert found["operator-compare-bad"].state.value == "unknown"


@pytest.mark.parametrize("form", [{}, {"tensors": "pt"}])
def test_what_is_not_finite(tmp_path: Path, form: Any) -> None:
    found = read(run(tmp_path / "a", calls(bad=np.nan), **form))
    assert found["dump-first-bad-operator"].state.value == "present"
    assert "Torch.div.0.forward" in found["dump-first-bad-operator"].why
    mended = read(run(tmp_path / "b", calls(bad=-np.inf, mended=True), **form))
    assert mended["dump-first-bad-operator"].state.value == "absent"  # a mask, and softmax after it


def test_a_rate_that_no_training_uses(tmp_path: Path) -> None:
    found = read(run(tmp_path / "a", calls(), rate=1e20))
    assert found["dump-learning-rate-high"].state.value == "present"


def test_dumps_of_equal_runs(tmp_path: Path) -> None:
    for label, last in (("debug_0", 1.0), ("debug_1", 1.0 + 2e-7)):
        folder = tmp_path / "precision_data" / "temp" / "decode" / "dump_decode" / label
        folder.mkdir(parents=True)
        stem = "Conv2D.net_conv.30.5.1620612694000001"
        np.save(folder / f"{stem}.input.0.npy", X)
        np.save(folder / f"{stem}.output.0.npy", (X * np.float32(last)))
    run(tmp_path, None)
    found = read(tmp_path)["deterministic-rerun-differs"]
    assert found.state.value == "present" and "net_conv" in found.why
    np.save(tmp_path / "precision_data/temp/decode/dump_decode/debug_1" / f"{stem}.output.0.npy", X)
    assert read(tmp_path)["deterministic-rerun-differs"].state.value == "absent"


@pytest.mark.parametrize("place", ["dump_run{}", "run{}/dump"])
def test_dumps_of_two_runs_of_one_program(tmp_path: Path, place: str) -> None:
    """Dumps of equal runs are told by the number of the run, beside the runs' folders or in them."""
    for k, last in ((1, 1.0), (2, 1.0 + 2e-7)):
        run(tmp_path / f"run{k}", None)
        folder = tmp_path / place.format(k)
        folder.mkdir()
        for at, out in enumerate((X, X, X, X * np.float32(last))):
            stem = f"Conv2D.net_conv{at}.{30 + at}.5.162061269400000{at}"
            np.save(folder / f"{stem}.input.0.npy", X + np.float32(at))
            np.save(folder / f"{stem}.output.0.npy", out)
    found = read(tmp_path)
    if place == "dump_run{}":
        bits = other_bits(View(open_run(tmp_path)))
        assert bits.state == "present" and "net_conv3" in bits.why
    assert found["deterministic-rerun-differs"].state.value == "present"


def test_a_dump_is_neither_log_nor_settings_nor_checkpoint(tmp_path: Path) -> None:
    plain = open_run(run(tmp_path / "a", None))
    dumped = open_run(
        run(tmp_path / "b", calls(), tensors="pt", stack={"Functional.gelu.0.forward": "1, in f, \n x"})
    )
    assert dumped.series.keys() == plain.series.keys() and dumped.raw_settings == plain.raw_settings
    assert not dumped.checkpoint_files and not dumped.info.not_read and dumped.dump_files


@pytest.mark.parametrize("form", [{}, {"tensors": "npy"}])
def test_a_healthy_run_with_dumps_stays_silent(tmp_path: Path, form: Any) -> None:
    a, b = (
        open_run(run(tmp_path / "a", calls(), rate=0.1, **form)),
        open_run(run(tmp_path / "b", calls(), rate=0.1, **form)),
    )
    found = diagnose(RULES, readings(a, b, RULES.symptoms.values()), run=a.info, benchmark=b.info)
    assert not found.leading


def test_the_report_has_a_section_where_there_is_something_to_tell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = run(tmp_path / "a", calls(1.2)), run(tmp_path / "b", calls())
    report = tmp_path / "r.md"
    assert run_command_line([str(a), "--benchmark", str(b), "-q"]) == 0
    out = capsys.readouterr().out
    assert "Operator comparison" in out and "diagnose compare" in out and "#xxx" in out
    assert run_command_line([str(a), "--benchmark", str(b), "-q", "-o", str(report)]) == 0
    assert "## Operator comparison" in report.read_text()
    assert "<svg" in (tmp_path / "r_files" / "operator-comparison.svg").read_text()
    assert run_command_line([str(b), "--benchmark", str(run(tmp_path / "c", calls())), "-q"]) == 0
    assert "Operator comparison" not in capsys.readouterr().out


@pytest.mark.skipif(not SHARED.is_dir(), reason="../shared is not here")
def test_real_dumps() -> None:
    found = read(SHARED / "ms_dump_cpu_nan")
    assert found["dump-learning-rate-high"].state.value == "present"
    assert "SparseSoftmaxCrossEntropyWithLogits-op0" in found["dump-first-bad-operator"].why
    assert found["dump-first-bad-operator"].step == 1
    healthy = read(SHARED / "ms_dump_cpu_tensor")
    assert healthy["dump-first-bad-operator"].state.value == "absent"
    assert healthy["dump-learning-rate-high"].state.value == "absent"


def test_another_tool_s_files_of_these_names_are_read_as_before(tmp_path: Path) -> None:
    folder = run(tmp_path, None)
    (folder / "dump.json").write_text(json.dumps({"learning_rate": 0.25}))
    (folder / "stack.json").write_text(json.dumps({"batch_size": 8}))
    (folder / "gone").mkdir()
    (folder / "gone" / "dump.json").symlink_to(tmp_path / "nowhere")
    found = open_run(folder)
    assert not found.dump_files
    assert found.settings["learning_rate"].value == 0.25


def test_where_a_comparison_is_seen(tmp_path: Path) -> None:
    """The evidence names the file of the dump, or its folder where figures alone are kept."""
    pairs = (run(tmp_path / "a", calls(1.2)), run(tmp_path / "b", calls()))
    assert "dump" in read(*pairs)["operator-compare-bad"].where[-1].file
