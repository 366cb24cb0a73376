"""Overflow data in a run directory: flagged, clean, or not there; and no settings are read from it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.operators.flags import flagged
from traindoctor.probes.operators.limits import flagged_saturates
from traindoctor.probes.registry import View


def opdebug(folder: Path, status: int, *, raw: bool = False) -> None:
    name = "Opdebug.Node_OpDebug.32.7.1619347786532995"
    if raw:
        (folder / name).write_bytes(b"\0" * 8)
    else:
        unit = {"model_id": 514, "stream_id": 5, "task_id": 327, "status": status}
        (folder / f"{name}.output.0.json").write_text(json.dumps({"AI Core": unit}))


@pytest.mark.parametrize(
    ("status", "raw", "state"), [(32, False, "present"), (0, False, "absent"), (0, True, "unknown")]
)
def test_the_three_states(tmp_path: Path, status: int, raw: bool, state: str) -> None:
    (tmp_path / "log.jsonl").write_text("".join(f'{{"step": {s}, "loss": 1.0}}\n' for s in range(1, 9)))
    opdebug(tmp_path, status, raw=raw)
    run = open_run(tmp_path)
    found = flagged(View(run))

    assert found.state == state
    assert ("floating-point" in found.why) is (state == "present")
    assert not any("status" in s.key for s in run.raw_settings)


def test_without_overflow_data_it_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text("".join(f'{{"step": {s}, "loss": 1.0}}\n' for s in range(1, 9)))

    assert flagged(View(open_run(tmp_path))).state == "unknown"


@pytest.mark.parametrize(
    ("taken", "given", "state"),
    [(300.0, 65504.0, "present"), (300.0, 9.0, "unknown"), (65504.0, 65504.0, "unknown")],
)
def test_the_flagged_operator_leaves_the_range(
    tmp_path: Path, taken: float, given: float, state: str
) -> None:
    """Ascend saturates: the output stands at 65504, and the operator is to blame whose inputs do not."""
    (tmp_path / "log.jsonl").write_text("".join(f'{{"step": {s}, "loss": 1.0}}\n' for s in range(1, 9)))
    folder = tmp_path / "precision_data" / "temp" / "decode" / "overflow_decode"
    folder.mkdir(parents=True)
    opdebug(folder, 32)
    for role, value in (("input", taken), ("output", given)):
        name = f"BatchMatMul.net_MatMul.327.5.1619347786532875.{role}.0.npy"
        np.save(folder / name, np.array([1.0, value], np.float16))

    assert flagged_saturates(View(open_run(tmp_path))).state == state
