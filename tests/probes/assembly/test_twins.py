"""One training that two loggers recorded is one run; two trainings stay two."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from traindoctor.probes.assembly.assemble import open_run

STEPS = 10 * np.arange(1, 31)
LOSS = 2.0 - np.log1p(STEPS) / 4


def csv(path: Path, loss: np.ndarray, more: str = "lr", rate: float = 1e-3) -> None:
    path.parent.mkdir(parents=True)
    rows = (f"{s},{v!r},{rate}" for s, v in zip(STEPS.tolist(), loss.tolist(), strict=True))
    path.write_text(f"step,train_loss,{more}\n" + "\n".join(rows) + "\n")


def jsonl(path: Path, loss: np.ndarray, rate: float = 1e-3) -> None:
    """As a logger that keeps float32."""
    path.parent.mkdir(parents=True)
    values = loss.astype(np.float32).tolist()
    rows = zip(STEPS.tolist(), values, strict=True)
    path.write_text("".join(f'{{"step": {s}, "train_loss": {v!r}, "lr": {rate}}}\n' for s, v in rows))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("lightning_logs/version_0/metrics.csv", "lightning_logs/version_1/metrics.jsonl"),
        ("csv_logs/a/version_0/metrics.csv", "tracked/a/version_0/metrics.jsonl"),
    ],
)
def test_two_loggers_of_one_training(tmp_path: Path, one: str, other: str) -> None:
    """All files are read as one run, which has no other beside it."""
    csv(tmp_path / one, LOSS)
    jsonl(tmp_path / other, LOSS)
    run = open_run(tmp_path)

    assert run.others == ()
    assert set(run.info.files_read) == {one, other}
    assert len(run.series["train/loss"]) == len(STEPS) and not run.info.notes


def test_two_trainings_stay_two(tmp_path: Path) -> None:
    """Other values, or the same values of a seed that was run twice by one logger."""
    for name, second in (("other", LOSS + 1e-3), ("constant", np.full(len(STEPS), 2.0))):
        first = LOSS if name == "other" else second
        csv(tmp_path / name / "version_0/metrics.csv", first)
        jsonl(tmp_path / name / "version_1/metrics.jsonl", second)
        assert open_run(tmp_path / name).others == ("version_0",)
    csv(tmp_path / "again/version_0/metrics.csv", LOSS)
    csv(tmp_path / "again/version_1/metrics.csv", LOSS)
    assert open_run(tmp_path / "again").others == ("version_0",)


def test_nan_at_the_same_steps_is_the_same(tmp_path: Path) -> None:
    broken = np.where(STEPS > 200, np.nan, LOSS)
    csv(tmp_path / "version_0/metrics.csv", broken)
    path = tmp_path / "version_1/metrics.jsonl"
    jsonl(path, broken)
    path.write_text(path.read_text().replace("nan", "NaN"))

    assert open_run(tmp_path).others == ()
