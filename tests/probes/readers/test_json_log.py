"""JSON documents with curves or final metrics are read; configurations are left alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.files import RunFile
from traindoctor.probes.readers import json_log
from traindoctor.probes.run import FileContent, Series


def file_of(tmp_path: Path, name: str, data: Any) -> RunFile:
    content = data if isinstance(data, bytes) else json.dumps(data, indent=1).encode()
    (tmp_path / name).write_bytes(content)
    return RunFile(tmp_path, name, len(content))


def read(tmp_path: Path, data: Any, name: str = "training_history.json") -> FileContent:
    file = file_of(tmp_path, name, data)
    assert json_log.sniff(file)
    return json_log.read(file)


def curve(content: FileContent, raw: str) -> Series:
    return next(s for s in content.series if s.raw == raw)


HISTORY = {"loss": [1.0, 0.5, float("nan")], "val_loss": [1.1, 0.7, 0.8], "accuracy": ["0.1", "0.2", None]}


def test_keras_history(tmp_path: Path) -> None:
    """Equal lists beside a validation count epochs; NaN is a value, null is absent."""
    content = read(tmp_path, HISTORY)

    loss = curve(content, "loss")
    assert (loss.unit, loss.window) == ("epoch", "epoch-mean") and loss.steps.tolist() == [1, 2, 3]
    assert np.isnan(loss.values[2]) and curve(content, "accuracy").steps.tolist() == [1, 2]


def test_history_beside_its_configuration(tmp_path: Path) -> None:
    """Curves nested under "history" keep their names; "config" becomes settings."""
    content = read(tmp_path, {"config": {"lr": 1e-3, "epochs": 3}, "history": HISTORY, "model": "x"})

    assert len(curve(content, "loss")) == 3
    assert ("lr", 1e-3) in [(s.key, s.value) for s in content.settings]


def test_lists_with_their_own_axis(tmp_path: Path) -> None:
    """A list of steps beside the curves is their axis."""
    content = read(tmp_path, {"steps": [10, 20], "train_loss": [2.0, 1.0]}, "log.json")

    assert curve(content, "train_loss").steps.tolist() == [10, 20]
    assert curve(content, "train_loss").unit == "step"


def test_rows(tmp_path: Path) -> None:
    """A list of rows, also under a key or by the number of the epoch, is read like JSON lines."""
    rows = [{"epoch": 1, "train_loss": 2.0, "val_acc": 0.3}, {"epoch": 2, "train_loss": 1.0, "val_acc": 0.4}]
    numbered = {"1": {"train_loss": 2.0}, "2": {"train_loss": 1.0}}
    for data in (rows, {"history": rows}, {"results": {"log": rows}}, numbered):
        loss = curve(read(tmp_path, data), "train_loss")
        assert loss.steps.tolist() == [1, 2] and loss.values.tolist() == [2.0, 1.0]
        assert loss.unit == "epoch"


def test_sacred(tmp_path: Path) -> None:
    """Both of Sacred's layouts carry their steps."""
    metrics = {"training.loss": {"steps": [5, 10], "values": [2.0, 1.0], "timestamps": ["a", "b"]}}
    info = {"loss": [{"dtype": "float64", "py/object": "x", "value": 2.0}, 1.0], "loss_T": [100, 200]}

    assert curve(read(tmp_path, metrics, "metrics.json"), "training.loss").steps.tolist() == [5, 10]
    assert curve(read(tmp_path, info, "info.json"), "loss").steps.tolist() == [100, 200]


def test_sacred_reads_each_metric_once_with_its_time(tmp_path: Path) -> None:
    """As Sacred 0.8.7 writes it: one curve for each name, with the time of day in UTC."""
    times = ["2026-01-01T00:00:00.500000", "2026-01-01T00:00:02"]
    content = read(tmp_path, {"train/loss": {"steps": [5, 10], "timestamps": times, "values": [2.0, 1.0]}})

    assert [s.raw for s in content.series] == ["train/loss"]
    walls = curve(content, "train/loss").walls
    assert walls is not None and walls.tolist() == [1767225600.5, 1767225602.0]


def test_a_document_that_breaks_off(tmp_path: Path) -> None:
    """What is whole of a document is read, with the line where it ends; half of final results is nothing."""
    metrics = {"loss": {"steps": [5, 10, 15], "timestamps": ["a", "b", "c"], "values": [2.0, 1.5, 1.0]}}
    text = json.dumps(metrics, indent=1).encode()
    content = read(tmp_path, text[: text.index(b"1.0")])

    assert curve(content, "loss").values.tolist() == [2.0, 1.5]
    assert curve(content, "loss").steps.tolist() == [5, 10]
    assert content.notes == ("the document breaks off in line 15",)
    assert not json_log.sniff(file_of(tmp_path, "results.json", b'{"test_accuracy": 0.91, "test_loss": 0.3'))


def test_download_of_tensorboard(tmp_path: Path) -> None:
    """[[wall, step, value], ...] is named by its file."""
    content = read(tmp_path, [[1.7e9, 1, 0.5], [1.7e9, 2, 0.25]], "run-a-tag-loss.json")

    assert curve(content, "loss").values.tolist() == [0.5, 0.25]


def test_points_of_many_tags(tmp_path: Path) -> None:
    """Scalars as tensorboardX exports them, and pairs of step and value: no list of settings."""
    points = [[1.7e9 + i, 10 * i, 0.5 / (i + 1)] for i in range(40)]
    content = read(
        tmp_path, {"train/loss": points, "train/lr": points, "val": {"acc": points[:3]}}, "scalars.json"
    )
    loss = curve(content, "train/loss")

    assert loss.values.tolist() == [p[2] for p in points] and loss.steps.tolist() == [p[1] for p in points]
    assert loss.walls is not None and loss.walls[1] == 1.7e9 + 1
    assert len(curve(content, "val/acc")) == 3 and content.settings == ()

    pairs = read(tmp_path, {"loss": [[i, 1.0 / (i + 1)] for i in range(9)]}, "curves.json")
    assert curve(pairs, "loss").steps.tolist() == list(range(9))
    with pytest.raises(StopIteration):
        curve(read(tmp_path, {"loss": [1.0, 0.5], "acc_of_class": [[0, 0.5]] * 9}), "acc_of_class")


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("metrics.json", {"train": {"loss": 0.2, "acc": 0.9}, "eval": {"loss": 0.3}, "step": 4}),
        ("results.json", {"test_accuracy": 0.91, "test_loss": 0.3}),
        ("wandb-summary.json", {"_step": 9, "_runtime": 3, "_timestamp": 1.7e9, "train/loss": 0.5}),
    ],
)
def test_final_metrics_are_facts(tmp_path: Path, name: str, data: dict[str, Any]) -> None:
    """Latest values are no curve."""
    content = read(tmp_path, data, name)

    assert content.series == () and any("loss" in key or "accuracy" in key for key in content.facts)


@pytest.mark.parametrize(
    "data",
    [
        {"learning_rate": 0.1, "batch_size": 32, "loss": "mse", "epochs": 3},
        {"lr": 0.1, "seed": 1, "accuracy": 0.5},
        {"architectures": ["Bert"], "vocab_size": 30522, "hidden_size": 768},
        {"fp16": {"enabled": True, "loss_scale": 0}, "optimizer": {"type": "Adam", "params": {"lr": 1e-3}}},
        {"images": [{"id": 1, "file_name": "a"}], "annotations": [{"id": 1, "bbox": [1, 2, 3, 4]}]},
        {"milestones": [10, 20], "lr": [0.1, 0.01], "model": "x"},
        {"lr_schedule": [[0, 0.1], [30, 0.01], [60, 0.001]], "model": "x"},
        {"model": {"vocab": {"loss": 1, "epoch": 2}}, "version": "1.0", "merges": ["a b"]},
        [1, 2, 3],
        {},
    ],
)
def test_other_documents_are_refused(tmp_path: Path, data: Any) -> None:
    """Configurations, annotations and vocabularies are not ours."""
    assert not json_log.sniff(file_of(tmp_path, "a.json", data))


def test_damage_is_refused_without_a_traceback(tmp_path: Path) -> None:
    """Cut, flipped and absurdly nested documents are refused or read, nothing else."""
    data = json.dumps({"history": HISTORY}).encode()
    for at in range(len(data)):
        for damaged in (data[:at], data[:at] + bytes([data[at] ^ 0x21]) + data[at + 1 :]):
            file = file_of(tmp_path, "history.json", damaged)
            if json_log.sniff(file):
                json_log.read(file)
    for deep in (b'{"loss": ' + b"[" * 200_000, b'{"loss":' * 100_000):
        assert not json_log.sniff(file_of(tmp_path, "history.json", deep))


@pytest.mark.parametrize(
    "text",
    [
        "history:\n"
        + "".join(f"- epoch: {e}\n  fit: {{mse: {2 / e}}}\n  test: {{mse: {3 / e}}}\n" for e in range(1, 7)),
        "train_mse: [2.0, 1.0, 0.7]\nval_mse: [3.0, 1.5, 1.0]\nparams: {lr: 0.1}\n",
        "".join(f"---\nepoch: {e}\nloss: {2 / e}\n" for e in range(1, 7)),
        "".join(f"{e}:\n  loss: {2 / e}\n  accuracy: 0.{e}\n" for e in range(1, 7)),
    ],
)
def test_yaml_holds_curves(tmp_path: Path, text: str) -> None:
    """Rows, lists, documents one after the other and epochs as keys are read from YAML as from JSON."""
    (tmp_path / "results.yaml").write_text(text)

    run = open_run(tmp_path)

    assert len(run.series["train/loss"]) >= 3 and run.info.formats == ("json-log",)


@pytest.mark.parametrize(
    "text",
    [
        "lr: [0.1, 0.01, 0.001]\nloss_weights: [1.0, 1.0, 0.4]\nepochs: 30\n",
        "schedule:\n- {epoch: 1, lr: 0.1}\n- {epoch: 30, lr: 0.01}\n- {epoch: 60, lr: 0.001}\n",
        "a: &a [1, 2, 3]\nloss: *a\nval_loss: *a\n",
        "loss: !!python/object/apply:os.system [id]\n",
    ],
)
def test_a_configuration_in_yaml_is_no_log(tmp_path: Path, text: str) -> None:
    """Lists of rates and weights are settings; documents that name parts of themselves are left alone."""
    (tmp_path / "run.yaml").write_text(text)
    (tmp_path / "train.log").write_text("".join(f"step {k} loss {2 / k:.3f}\n" for k in range(1, 9)))

    run = open_run(tmp_path)

    assert "json-log" not in run.info.formats and len(run.series["train/loss"]) == 8


@pytest.mark.parametrize("text", ["- " * 20_000 + "loss", "loss: " + "[" * 20_000, "{loss: " * 5_000])
def test_yaml_nested_without_end_does_not_end_the_process(tmp_path: Path, text: str) -> None:
    """A document that nests deeper than any log is no log."""
    (tmp_path / "loss.yaml").write_text(text)

    assert not json_log.sniff(RunFile(tmp_path, "loss.yaml", len(text)))
