"""Two runs of one seed and equal settings beside one another."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from traindoctor.probes.assembly.assemble import open_run

from .._read import reading

SETTINGS = {"seed": 7, "batch_size": 64, "lr": 1e-3, "amp": "bf16", "epochs": 3, "warmup_iters": 10}


def log(noise: float, seed: int, *, first: float = 0.0, digits: int = 8, sudden: bool = False) -> str:
    """Losses that part by noise that grows from the third step on."""
    draw = np.random.default_rng(seed)
    rows = []
    for i in range(200):
        off = first if i == 0 else 0.0 if i < 2 else draw.normal(0, noise) * (60 if sudden else min(i, 60))
        rows.append(f"it={i + 1} train_loss={2.0123 + 6.123456 * 0.97**i + off:.{digits}f} lr=0.001")
    return "\n".join(rows) + "\n"


def beside(folder: Path, one: str, two: str, **other: object) -> str:
    for name, text, settings in (("try1", one, {}), ("try2", two, other)):
        (folder / name).mkdir()
        (folder / name / "stdout.log").write_text(text)
        (folder / name / "args.json").write_text(json.dumps({**SETTINGS, **settings}))
    found = reading("tensors", "deterministic-rerun-differs", open_run(folder))
    return str(found.state)


@pytest.mark.parametrize(
    ("noise", "changed", "wanted"),
    [
        (4e-4, {}, "present"),
        (4e-6, {}, "unknown"),  # rounding in another order
        (4e-4, {"seed": 8}, "unknown"),
        (4e-4, {"lr": 2e-3}, "unknown"),
        (4e-4, {"momentum": 0.9}, "unknown"),
        (4e-4, {"output_dir": "/elsewhere"}, "present"),
    ],
)
def test_losses_that_part(tmp_path: Path, noise: float, changed: dict[str, object], wanted: str) -> None:
    assert beside(tmp_path, log(noise, 1), log(noise, 2), **changed) == wanted


def test_other_programs_are_no_reruns(tmp_path: Path) -> None:
    """Another first loss, too few digits of it, or a leap at the first step that differs."""
    for name, two in {
        "start": log(4e-4, 2, first=1e-3),
        "digits": log(4e-4, 2, digits=2),
        "leap": log(4e-3, 2, sudden=True),
    }.items():
        (tmp_path / name).mkdir()
        one = log(4e-4, 1, digits=2) if name == "digits" else log(4e-4, 1)
        assert beside(tmp_path / name, one, two) == "unknown"


def test_determinism_that_was_asked_for(tmp_path: Path) -> None:
    """Then no digit may differ."""
    SETTINGS["deterministic"] = True
    try:
        assert beside(tmp_path, log(4e-6, 1), log(4e-6, 2)) == "present"
    finally:
        del SETTINGS["deterministic"]


def test_two_files_in_one_folder(tmp_path: Path) -> None:
    (tmp_path / "seed7_first.log").write_text(log(4e-4, 1))
    (tmp_path / "seed7_again.log").write_text(log(4e-4, 2))
    (tmp_path / "args.json").write_text(json.dumps(SETTINGS))
    found = reading("tensors", "deterministic-rerun-differs", open_run(tmp_path))
    assert found.state == "present"
    assert "agree in every digit" in found.why
