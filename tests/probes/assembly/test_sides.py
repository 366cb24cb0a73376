"""Which data a metric is of whose name says nothing, and what the rate's name says of the optimizer."""

from __future__ import annotations

from pathlib import Path

import pytest

from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.run import Series


def curves(folder: Path, name: str, text: str) -> set[str]:
    (folder / name).write_text(text, encoding="utf-8")
    return set(open_run(folder).series)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("epoch: {i}, val_loss: {a}, accuracy: 0.{i}", "eval/accuracy"),  # the training loss stands elsewhere
        ("Epoch {i} | train_loss {a} | val_loss {a} | acc 0.{i}", "eval/accuracy"),
        ("epoch {i} - loss: {a} - accuracy: 0.{i} - val_loss: {a}", "train/accuracy"),
        ("epoch {i} - loss: {a} - accuracy: 0.{i} - val_loss: {a} - val_accuracy: 0.{i}", "train/accuracy"),
        ("epoch {i}: train loss {a}, accuracy 0.{i}", "train/accuracy"),
    ],
)
def test_the_side_of_a_bare_accuracy(tmp_path: Path, row: str, expected: str) -> None:
    text = "".join(row.format(i=i, a=round(3 / i, 3)) + "\n" for i in range(1, 9))
    assert {"train/accuracy", "eval/accuracy"} & curves(tmp_path, "train.log", text) >= {expected}
    if "val_acc" not in row:
        assert len({"train/accuracy", "eval/accuracy"} & set(open_run(tmp_path).series)) == 1


def test_rows_of_json_lines(tmp_path: Path) -> None:
    rows = "".join(
        f'{{"step": {i}, "loss": {3 / i}}}\n{{"step": {i}, "val_loss": {3 / i}, "f1": 0.{i}}}\n'
        for i in range(1, 9)
    )
    found = curves(tmp_path, "log.jsonl", rows)
    assert "eval/f1" in found and "train/f1" not in found


@pytest.mark.parametrize(("name", "optimizer"), [("lr-AdamW", "adamw"), ("lr-SGD/pg1", "sgd"), ("lr", None)])
def test_the_optimizer_by_the_name_of_its_rate(tmp_path: Path, name: str, optimizer: str | None) -> None:
    """Lightning's monitor calls the rate after the optimizer."""
    rows = "".join(f"{i},{i // 4},{0.1 / i},{3 / i}\n" for i in range(1, 20))
    (tmp_path / "metrics.csv").write_text(f"step,epoch,{name},train_loss\n" + rows, encoding="utf-8")
    run = open_run(tmp_path)
    assert "learning_rate" in run.series
    found = run.settings.get("optimizer")
    assert (found and found.value) == optimizer


def _read(tmp_path: Path, **files: str) -> dict[str, Series]:
    for name, text in files.items():
        (tmp_path / f"{name}.csv").write_text(text)
    return dict(open_run(tmp_path).series)


TRAINED = "step,loss,lr\n" + "".join(f"{k},{2 / k},0.1\n" for k in range(1, 30))
HELD = "epoch,loss\n" + "".join(f"{k},{3 / k}\n" for k in range(1, 9))


@pytest.mark.parametrize("name", ["valid", "val_log", "heldout", "held-out", "run1_dev", "test"])
def test_a_file_of_the_evaluation_is_known_by_its_name(tmp_path: Path, name: str) -> None:
    """Beside a training loss, a bare "loss" in valid.csv is that of the validation."""
    curves = _read(tmp_path, train=TRAINED, **{name: HELD})

    assert curves["eval/loss"].values[0] == 3.0 and curves["train/loss"].values[0] == 2.0


def test_a_whole_log_may_be_called_test(tmp_path: Path) -> None:
    """Alone, or with a learning rate in it, a file is of a training whatever its name."""
    assert "eval/loss" not in _read(tmp_path, test=HELD)
    assert "eval/loss" not in _read(tmp_path, train=TRAINED, test=TRAINED)
    assert "eval/loss" not in _read(tmp_path, train=TRAINED, devices=HELD, test=TRAINED)


@pytest.mark.parametrize(
    ("scales", "config", "expected"),
    [
        ([65536, 65536, 32768, 32768, 32768, 16384], "", "fp16"),
        ([65536, 65536, 32768, 32768, 32768, 16384], '{"precision": "bf16"}', "bf16"),
        ([1024, 1024, 1024, 1024, 1024, 1024], "", None),
        ([1.0, 2.0, 1.0, 2.0, 1.0, 2.0], "", None),
        ([100, 90, 80, 70, 65, 60], "", None),
    ],
)
def test_the_number_format_by_a_loss_scale_that_moves(
    tmp_path: Path, scales: list[float], config: str, expected: str | None
) -> None:
    """Only fp16 has a dynamic scaler; a setting that names the format wins, and other scales are none."""
    rows = "".join(f"step {10 * i} loss {3 / i} lr 0.1 scale {s}\n" for i, s in enumerate(scales, 1))
    (tmp_path / "train.log").write_text(rows, encoding="utf-8")
    if config:
        (tmp_path / "config.json").write_text(config, encoding="utf-8")
    found = open_run(tmp_path).settings.get("precision")

    assert (found and found.value) == expected


@pytest.mark.parametrize(
    ("name", "expected"), [("validations.txt", True), ("eval.txt", True), ("second.txt", False)]
)
def test_a_table_of_evaluations_that_tells_the_rate(tmp_path: Path, name: str, expected: bool) -> None:
    """JoeyNMT writes the rate beside its validations; that of the training stands in the training's log."""
    log = "".join(f"Epoch 1, Step: {100 * i}, Batch Loss: {4 / i:.4f}, Lr: 0.0003\n" for i in range(1, 20))
    rows = "".join(f"Steps: {500 * i}\tloss: {4.2 / i:.5f}\tLR: 0.0003\n" for i in range(1, 9))
    (tmp_path / "train.log").write_text(log, encoding="utf-8")
    assert ("eval/loss" in curves(tmp_path, name, rows)) is expected
