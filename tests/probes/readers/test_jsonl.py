"""JSON lines: each dialect's steps, splits and windows; everything else by the names of its keys."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.files import RunFile
from traindoctor.probes.readers import jsonl
from traindoctor.probes.run import FileContent, Series


def file_of(tmp_path: Path, name: str, data: bytes | str) -> RunFile:
    content = data.encode() if isinstance(data, str) else data
    (tmp_path / name).write_bytes(content)
    return RunFile(tmp_path, name, len(content))


def lines(*rows: dict[str, Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def read(tmp_path: Path, text: str | bytes, name: str = "metrics.jsonl") -> FileContent:
    file = file_of(tmp_path, name, text)
    assert jsonl.sniff(file)
    return jsonl.read(file)


def curve(content: FileContent, raw: str, group: str = "") -> Series:
    return next(s for s in content.series if s.raw == raw and s.group == group)


def test_a_plain_script(tmp_path: Path) -> None:
    """Nested dicts become paths, texts that are numbers are numbers, wrappers fall away."""
    content = read(
        tmp_path,
        lines(
            {"step": 1, "train": {"loss": "1.5", "acc": 0.1}, "metrics": {"lr": 1e-3}},
            {"step": 2, "train": {"loss": "nan", "acc": 0.2}, "metrics": {"lr": 1e-3}},
        ),
    )

    loss = curve(content, "train/loss")
    assert loss.steps.tolist() == [1, 2] and loss.values[0] == 1.5 and np.isnan(loss.values[1])
    assert loss.lines is not None and loss.lines.tolist() == [1, 2] and loss.unit == "step"
    assert curve(content, "lr").values.tolist() == [1e-3, 1e-3]


def test_splits_and_ranks_of_rows(tmp_path: Path) -> None:
    """The mode key tells which data a row is about, the rank key who wrote it."""
    content = read(
        tmp_path,
        lines(
            {"epoch": 1, "phase": "train", "loss": 1.0, "rank": 0},
            {"epoch": 1, "phase": "valid", "loss": 1.2, "rank": 0},
            {"epoch": 1, "phase": "train", "loss": 1.1, "rank": 1},
        ),
    )

    assert {(s.split, s.rank, s.values[0]) for s in content.series if s.raw == "loss"} == {
        ("train", 0, 1.0),
        ("eval", 0, 1.2),
        ("train", 1, 1.1),
    }
    assert curve(content, "loss", "eval").unit == "epoch"


def test_a_log_that_ends_with_its_run_time(tmp_path: Path) -> None:
    """ms-swift's logging.jsonl ends with a row like the Trainer's results: it stays a log."""
    rows = [
        {"loss": 1.5 - s / 9, "learning_rate": 1e-4, "global_step/max_steps": f"{s}/9"} for s in range(1, 9)
    ]
    file_of(tmp_path, "logging.jsonl", lines(*rows, {"train_runtime": 20.8, "train_loss": 1.0}))

    assert len(open_run(tmp_path).series["train/loss"]) == 8


MMCV = [
    {"env_info": "sys.platform: linux\nPyTorch: 1.7.1\nGPU 0,1: Tesla V100\n", "config": "a = 1", "seed": 7},
    {"mode": "train", "epoch": 1, "iter": 50, "lr": 0.01, "loss_cls": 0.5, "loss": 1.5},
    {"mode": "train", "epoch": 1, "iter": 100, "lr": 0.01, "loss_cls": 0.4, "loss": 1.4},
    {"mode": "val", "epoch": 1, "iter": 625, "lr": 0.01, "bbox_mAP": 0.1},
    {"mode": "train", "epoch": 2, "iter": 50, "lr": 0.01, "loss_cls": float("nan"), "loss": float("nan")},
    {"mode": "train", "epoch": 2, "iter": 100, "lr": 0.01, "loss_cls": 0.2, "loss": 1.2},
    {"mode": "val", "epoch": 2, "iter": 625, "lr": 0.01, "bbox_mAP": 0.2},
]


def test_mmcv_iterations_run_on(tmp_path: Path) -> None:
    """`iter` begins again in each epoch: it becomes a running step, and evaluations stand on its axis."""
    content = read(tmp_path, lines(*MMCV), "20210101_000000.log.json")

    loss = curve(content, "loss", "train")
    assert loss.steps.tolist() == [50, 100, 150, 200] and loss.unit == "step"
    assert np.isnan(loss.values[2]) and loss.window == "mean-since-last"
    assert curve(content, "bbox_mAP", "eval").steps.tolist() == [100, 200]
    assert content.facts["torch"] == "1.7.1" and content.facts["device"] == "Tesla V100"
    assert ("seed", 7) in [(s.key, s.value) for s in content.settings]
    assert "again in each epoch" in content.notes[0]


def test_mmcv_iterations_that_count_on_are_left(tmp_path: Path) -> None:
    """An iteration-based run's `iter` never goes back."""
    rows = [{"mode": "train", "epoch": e, "iter": i, "loss": 1.0} for e, i in ((1, 50), (1, 100), (2, 150))]
    content = read(tmp_path, lines(*rows), "a.log.json")

    assert curve(content, "loss", "train").steps.tolist() == [50, 100, 150] and not content.notes


def test_mmengine_evaluations_count_epochs(tmp_path: Path) -> None:
    """An evaluation row's `step` is the epoch; it is put at the step of the training row before it."""
    rows = [
        {
            "lr": 0.02,
            "data_time": 0.1,
            "loss": 1.7,
            "time": 0.1,
            "epoch": 1,
            "iter": 69,
            "memory": 1,
            "step": 69,
        },
        {"accuracy/top1": 43.1, "data_time": 0.1, "time": 0.1, "step": 1},
        {
            "lr": 0.02,
            "data_time": 0.1,
            "loss": 1.5,
            "time": 0.1,
            "epoch": 2,
            "iter": 138,
            "memory": 1,
            "step": 138,
        },
        {"accuracy/top1": 50.0, "data_time": 0.1, "time": 0.1, "step": 2},
    ]
    content = read(tmp_path, lines(*rows), "scalars.json")
    assert curve(content, "accuracy/top1", "eval").steps.tolist() == [69, 138]

    for row in rows:  # a logger of one's own in the same manner: `iter` and `step` tell the same
        row.pop("data_time")
    content = read(tmp_path, lines(*rows), "own.json")
    assert curve(content, "accuracy/top1", "eval").steps.tolist() == [69, 138]


def test_detectron2(tmp_path: Path) -> None:
    """Values are medians over a window of iterations; evaluation rows have their own keys."""
    rows = [
        {"data_time": 0.1, "eta_seconds": 9.0, "iteration": 19, "lr": 1e-3, "total_loss": 2.5},
        {"bbox/AP": float("nan"), "iteration": 19},
        {"data_time": 0.1, "eta_seconds": 8.0, "iteration": 39, "lr": 1e-3, "total_loss": 2.0},
    ]
    content = read(tmp_path, lines(*rows), "metrics.json")

    loss = curve(content, "total_loss")
    assert (loss.unit, loss.window) == ("iteration", "median") and loss.steps.tolist() == [19, 39]
    assert not len(loss.absent) and not [s for s in content.series if s.raw == "eta_seconds"]


def test_llama_factory_zeros_after_a_loss_are_masked(tmp_path: Path) -> None:
    """Two or more zeros in a row after a real loss were NaN; null is absent."""
    rows = [
        {"current_steps": 10 * i, "total_steps": 50, "loss": v, "eval_loss": None, "learning_rate": 1e-4}
        for i, v in enumerate([2.5, 2.0, 0.0, 0.0], 1)
    ]
    content = read(tmp_path, lines(*rows, {"current_steps": 40, "total_steps": 50, "eval_loss": 2.0}))

    loss = curve(content, "loss")
    assert loss.masked is not None and loss.masked.tolist() == [False, False, True, True]
    assert [(e.kind, e.step, e.count) for e in content.events] == [("masked-nan", 30, 2)]
    assert curve(content, "eval_loss").steps.tolist() == [40]
    assert ("max_steps", 50) in [(s.key, s.value) for s in content.settings]


def test_a_row_without_its_loss_is_absent(tmp_path: Path) -> None:
    """A row like the others but for the loss leaves its step in `absent`."""
    rows = [{"step": 1, "loss": 1.0, "lr": 0.1}, {"step": 2, "lr": 0.1}, {"step": 3, "loss": 0.9, "lr": 0.1}]
    content = read(tmp_path, lines(*rows))

    assert curve(content, "loss").absent.tolist() == [2]


def test_events_and_long_form(tmp_path: Path) -> None:
    """Lines that report something become events; (name, value) lines become curves."""
    rows = [
        {"step": 1, "metric": "loss", "value": 2.5},
        {"step": 2, "event": "overflow", "loss_scale": 32768.0},
        {"step": 2, "metric": "loss", "value": 2.4},
        {"step": 3, "event": "resumed from checkpoint"},
        {"step": 3, "message": "optimizer step skipped"},
    ]
    content = read(tmp_path, lines(*rows))

    assert [(e.kind, e.step, e.value) for e in content.events] == [
        ("overflow", 2, 32768.0),
        ("resume", 3, None),
        ("skipped-step", 3, None),
    ]
    assert curve(content, "loss").values.tolist() == [2.5, 2.4]


def test_batches_inside_epochs_run_on(tmp_path: Path) -> None:
    """A batch number that begins again in each epoch is turned into a running step."""
    rows = [{"epoch": e, "batch": b, "loss": 1.0} for e in range(3) for b in range(10, 40, 10)]
    content = read(tmp_path, lines(*rows))

    assert curve(content, "loss").steps.tolist() == [10, 20, 30, 40, 50, 60, 70, 80, 90]


def test_rows_without_line_ends_between_them(tmp_path: Path) -> None:
    """json.dump without a newline still gives its rows."""
    content = read(tmp_path, lines({"step": 1, "loss": 1.0}, {"step": 2, "loss": 0.5}).replace("\n", ""))

    assert curve(content, "loss").values.tolist() == [1.0, 0.5]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("data.jsonl", lines({"instruction": "say", "input": "", "output": "hi"}) * 3),
        ("data.jsonl", lines({"id": 1, "text": "a", "label": 0}, {"id": 2, "text": "b", "label": 1})),
        (
            "scores.jsonl",
            lines({"id": 1, "loss": 1.0, "perplexity": 2.7}, {"id": 2, "loss": 1.1, "perplexity": 3}),
        ),
        ("config.json", lines({"lr": 0.1, "epochs": 3, "batch_size": 8})),
        ("config.json", json.dumps({"learning_rate": 0.1, "loss": "mse"}, indent=1)),
        ("train.log", "Epoch 1 loss 2\n" + lines({"step": 1, "loss": 1.0})),
        ("a.json", "{}"),
        ("a.json", "[1, 2]"),
        ("a.jsonl", ""),
    ],
)
def test_other_files_are_refused(tmp_path: Path, name: str, text: str) -> None:
    """Data sets, per-sample scores, configurations and text logs are not ours."""
    assert not jsonl.sniff(file_of(tmp_path, name, text))


def test_damage_costs_its_own_lines(tmp_path: Path) -> None:
    """A bad line in the middle, a cut last line and a NUL tail are noted; the rest is read."""
    good = lines(*[{"step": i, "loss": 1.0 / i} for i in range(1, 30)])
    content = read(
        tmp_path, good + "{broken\n" + lines({"step": 30, "loss": 0.1}) + '{"step": 31, "lo' + "\x00" * 99
    )

    assert curve(content, "loss").steps.tolist() == list(range(1, 31))
    assert "2 lines" in content.notes[0]


def test_truncations_and_flips(tmp_path: Path) -> None:
    """Cutting the file anywhere keeps the lines before the cut; flips never end in a traceback."""
    data = lines(*MMCV, *MMCV[1:]).encode()
    for at in range(3, len(data), 5):
        cut = file_of(tmp_path, "a.log.json", data[:at])
        if jsonl.sniff(cut):
            try:
                points = [len(s) for s in jsonl.read(cut).series if s.raw == "loss" and s.split == "train"]
            except ValueError:
                points = []
            assert sum(points) >= data[:at].count(b'"mode": "train"') - 1
        flipped = file_of(tmp_path, "a.log.json", data[:at] + bytes([data[at] ^ 0x33]) + data[at + 1 :])
        if jsonl.sniff(flipped):
            try:
                jsonl.read(flipped)
            except ValueError:
                continue


def test_deep_nesting_and_huge_lines(tmp_path: Path) -> None:
    """A line nested a hundred thousand deep, and one of five megabytes, cost themselves."""
    good = lines(*[{"step": i, "loss": 1.0} for i in range(10)])
    deep = '{"a": ' * 100_000 + "\n"
    long = '{"step": 1, "x": "' + "x" * 5_000_000 + '"}\n'
    content = read(tmp_path, good + deep + long + good)

    assert len(curve(content, "loss")) == 20


@pytest.mark.parametrize(
    "row",
    [
        lambda i: {"step": i, "epoch": i // 7, "time": 1.7e9 + i, "loss": 1 / i, "lr": 1e-3},
        lambda i: {"loss": float("nan") if i % 5 == 0 else 1.7976931348623157e308, "accuracy": 0.5},
        lambda i: {"epoch": i, "iteration": 10 * i, "step": 10 * i, "loss": 2.0, "time": i},
        lambda i: {"epoch": i // 10, "iter": i % 10, "loss": 0.1 * i} | ({"grad_norm": 1.0} if i % 3 else {}),
        lambda i: {"step": i, "val_loss": 1.0} if i > 20 and i % 10 == 0 else {"step": i, "loss": 2.0},
        lambda i: {"step": i, "loss": 2.0, "rank": i % 2},
        lambda i: {"step": float("inf") if i == 15 else i, "loss": 2.0},
        lambda i: {"step": i, "loss": 10**400 if i == 9 else 3},
        lambda i: {"step": i, "loss": "nan" if 12 < i < 15 else 2.0},
        lambda i: {"step": i, "loss": 2.0, "event": "overflow" if i == 20 else 1},
        lambda i: {"step": i, "loss": 2.0} if i % 13 else {},
    ],
)
def test_rows_alike_are_read_as_each_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, row: Any
) -> None:
    """Column by column or row by row: the curves are the same."""
    text = lines(*(row(i) for i in range(1, 40)))
    together = read(tmp_path, text)
    monkeypatch.setattr(jsonl, "MANY", 10**9)
    monkeypatch.setattr(jsonl, "_all_at_once", lambda _: None)
    alone = read(tmp_path, text)

    assert len(together.series) == len(alone.series) > 0
    for ours, theirs in zip(together.series, alone.series, strict=True):
        assert (ours.raw, ours.unit, ours.rank, ours.split) == (
            theirs.raw,
            theirs.unit,
            theirs.rank,
            theirs.split,
        )
        for name in ("steps", "values", "epochs", "walls", "lines", "absent"):
            np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name), err_msg=name)
    assert together.events == alone.events and together.notes == alone.notes


@pytest.mark.parametrize(("name", "found"), [("log_rank_0.jsonl", True), ("log_rank_0.txt", False)])
def test_a_line_of_greeting_before_the_rows(tmp_path: Path, name: str, found: bool) -> None:
    """A file called .jsonl may begin with what the script prints; other text is for the log reader."""
    text = "rank 0 of 2: 1600 samples\n" + lines(*({"step": k, "loss": 1.0 / k} for k in range(1, 9)))
    file = file_of(tmp_path, name, text)

    assert jsonl.sniff(file) is found
    assert not found or curve(jsonl.read(file), "loss").steps.tolist() == list(range(1, 9))


@pytest.mark.parametrize(
    "first",
    [
        {"type": "config", "lr": 0.001, "optimizer": "adamw", "epochs": 2},
        {"event": "hparams", "lr": 0.001, "optimizer": "adamw", "epochs": 2},
        {"time": 1700000000.5, "args": {"lr": 0.001, "optimizer": "adamw", "epochs": 2}},
    ],
)
def test_a_row_of_settings_is_no_row_of_a_curve(tmp_path: Path, first: dict[str, Any]) -> None:
    """The configuration that a script logs before its first row: settings, and not a learning-rate curve."""
    content = read(tmp_path, lines(first, *({"epoch": e, "loss": 2.0 - e} for e in range(2))))

    assert [s.raw for s in content.series] == ["loss"]
    assert {s.key.rpartition(".")[2]: s.value for s in content.settings} == {
        "lr": 0.001,
        "optimizer": "adamw",
        "epochs": 2,
    }


def test_metrics_beside_settings_are_kept(tmp_path: Path) -> None:
    """A row may hold both: W&B-like exports repeat the configuration in each row."""
    rows = ({"step": s, "loss": 2.0 - s, "config": {"lr": 0.001}} for s in range(2))
    content = read(tmp_path, lines(*rows))

    assert curve(content, "loss").values.tolist() == [2.0, 1.0]
    assert {s.key for s in content.settings} == {"config.lr"}


def test_a_file_of_one_metric_that_names_itself(tmp_path: Path) -> None:
    """StyleGAN writes a file to each metric, and no steps."""
    rows = [
        {"results": {"fid50k_full": 9.0 - i}, "metric": "fid50k_full", "total_time": 9.5} for i in range(3)
    ]
    path = tmp_path / "metric-fid50k_full.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    run = open_run(tmp_path)

    assert run.series["eval/fid"].values.tolist() == [9.0, 8.0, 7.0]
