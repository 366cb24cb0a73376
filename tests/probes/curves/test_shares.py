"""Accuracies and other shares that are larger than the whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.curves import metrics
from traindoctor.probes.registry import View

from .._build import run, series


@pytest.mark.parametrize(
    ("name", "values", "state"),
    [
        ("eval/accuracy", [144.5, 159.5, 168.2, 178.0], "present"),  # hits of a batch over batches
        ("train/accuracy", [7690.0, 8950.0, 9520.0], "present"),  # pairs of (N, 1) and (N,)
        ("eval/f1", [0.4, 212.0, 240.0, 260.0], "present"),
        ("eval/accuracy", [45.0, 60.0, 100.0], "absent"),
        ("eval/accuracy", [0.45, 0.6, 1.0], "absent"),
        ("eval/accuracy", [0.45, 0.6, 0.7, 0.8, 0.8, 1e9], "absent"),  # one damaged line
        ("eval/perplexity", [1400.0, 900.0, 400.0], "unknown"),
        ("train/loss", [1400.0, 900.0, 400.0], "unknown"),
    ],
)
def test_no_share_is_larger_than_the_whole(name: str, values: list[float], state: str) -> None:
    found = metrics.above_whole(View(run([series(name, values)])))

    assert str(found.state) == state


def test_what_is_no_share_is_held_against_nothing(tmp_path: Path) -> None:
    """Other relations of loss and accuracy are not looked for in numbers that are no accuracy."""
    rows = [f"{n},{1.5 / n:.4f},{0.5 + n / 30:.4f},{1.4 / n:.4f},{140 + 4 * n}" for n in range(1, 11)]
    (tmp_path / "history.csv").write_text("epoch,loss,acc,val_loss,val_acc\n" + "\n".join(rows) + "\n")
    opened = open_run(tmp_path)

    assert "eval/accuracy" not in opened.series
    assert "train/accuracy" in opened.series
    assert str(metrics.above_whole(View(opened)).state) == "present"
