"""Logs that print parts of an epoch and then its means, and numbers that only look like steps."""

# ruff: noqa: E501  (the lines of logs are as long as they are)
from __future__ import annotations

from pathlib import Path

import pytest

from ._text import curve, names, points, read

ESPNET = "[node3] 2024-05-02 10:1{epoch}:0{part} (trainer:763) INFO: "


def _espnet(epochs: int = 3) -> str:
    lines = []
    for epoch in range(1, epochs + 1):
        for part in (1, 2):
            head = ESPNET.format(epoch=epoch, part=part)
            loss = 5 - epoch - part / 10
            lines.append(
                f"{head}{epoch}epoch:train:{10 * part - 9}-{10 * part}batch: iter_time=0.003, loss={loss:.3f}, acc=0.41, optim0_lr0=1.5e-04, train_time=0.1"
            )
        head = ESPNET.format(epoch=epoch, part=3)
        lines.append(
            f"{head}{epoch}epoch results: [train] iter_time=0.003, loss={9 - epoch}.000, acc=0.40, total_count=20, [valid] loss={4 - epoch}.500, acc=0.55, total_count=4"
        )
    return "\n".join(lines) + "\n"


def test_espnet_counts_batches_of_an_epoch(tmp_path: Path) -> None:
    """`3epoch:train:1-10batch:` ends at batch 10 of epoch 3; the results stand at the end of their epoch."""
    content = read(tmp_path, _espnet())

    assert points(content, "train/loss") == [
        (10, 3.9),
        (20, 3.8),
        (30, 2.9),
        (40, 2.8),
        (50, 1.9),
        (60, 1.8),
    ]
    assert points(content, "eval/loss") == [(20, 3.5), (40, 2.5), (60, 1.5)]
    assert {"train/accuracy", "eval/accuracy", "learning_rate"} <= names(content)


def test_means_of_an_epoch_are_no_points_of_the_curve_of_its_parts(tmp_path: Path) -> None:
    """fairseq prints the mean of the epoch after its updates: above the loss that was just reached."""
    text = ""
    for epoch in (1, 2):
        for update in (10, 20):
            n = 20 * (epoch - 1) + update
            text += f"2024-01-01 10:00:00 | INFO | train_inner | epoch {epoch:03d}: {update:6d} / 20 loss={9 - n / 10:.1f}, ppl=2.01, wps=9, ups=1, num_updates={n}, lr=0.001, gnorm=0.5\n"
        text += f"2024-01-01 10:00:00 | INFO | train | epoch {epoch:03d} | loss 8.8 | ppl 445.7 | wps 9 | num_updates {20 * epoch} | lr 0.001 | gnorm 0.5\n"
    content = read(tmp_path, text)

    assert points(content, "train/loss") == [(10, 8.0), (20, 7.0), (30, 6.0), (40, 5.0)]
    means = [s for s in content.series if s.raw == "loss" and s.group == "epoch"]
    assert [s.values.tolist() for s in means] == [[8.8, 8.8]] and means[0].window == "epoch-mean"


def test_means_of_epochs_alone_are_the_curve(tmp_path: Path) -> None:
    """Without the lines of the updates the means are all there is."""
    text = "".join(
        f"2024-01-01 10:00:00 | INFO | train | epoch {e:03d} | loss {9 - e}.5 | wps 9 | num_updates {20 * e} | lr 0.001\n"
        for e in (1, 2, 3)
    )
    assert points(read(tmp_path, text), "train/loss") == [(20, 8.5), (40, 7.5), (60, 6.5)]


@pytest.mark.parametrize("name", ["step", "Step"])
def test_the_size_of_a_step_is_no_count(tmp_path: Path, name: str) -> None:
    """`step=1.954e-03` is a learning rate: the epoch says where the line stands."""
    rates = (2e-3, 1.954e-3, 1.8e-3, 9.1e-4)
    text = "".join(
        f"[ep {e:03d}/040] trn mse={1 / e:.4f} | dev mse={2 / e:.4f} | {name}={rate:.3e} | 0.4s\n"
        for e, rate in enumerate(rates, 1)
    )
    content = read(tmp_path, text)

    assert curve(content, "train/mse").steps.tolist() == [1, 2, 3, 4]
    assert [v for _, v in points(content, "learning_rate")] == list(rates)


def test_a_count_of_steps_stays_one(tmp_path: Path) -> None:
    """Whole numbers, with a point or without one, are counts."""
    for form in ("{:d}", "{:d}.0"):
        text = "".join(f"step={form.format(100 * n)} loss={3 - n}.5\n" for n in (1, 2, 3))
        assert points(read(tmp_path, text), "train/loss") == [(100, 2.5), (200, 1.5), (300, 0.5)]


def test_accuracy_of_pixels(tmp_path: Path) -> None:
    """mmseg prints the share of right pixels as `decode.acc_seg`, in percent."""
    text = "".join(
        f"2024/03/01 10:00:0{n} - mmengine - INFO - Epoch(train) [1][{n}0/40]  lr: 1.0e-02  eta: 0:00:10  time: 0.3  data_time: 0.1  loss: {3 - n / 2}  decode.loss_ce: 0.5  decode.acc_seg: {60 + n}.5\n"
        for n in (1, 2, 3)
    )
    assert "train/accuracy" in names(read(tmp_path, text))


@pytest.mark.parametrize("factor", [0.25, 2.75])
def test_a_sum_after_the_steps_of_an_epoch_is_no_step(tmp_path: Path, factor: float) -> None:
    """`Loss: 61.5` after the lines `[8/11] Loss: 5.6` of an epoch is its mean or its sum, whatever its name."""
    lines = []
    for epoch in range(5):
        values = [round(6 - 0.5 * epoch - 0.05 * at, 4) for at in range(0, 11, 3)]
        lines += [f"epoch:  {epoch}"]
        lines += [f"[{at}/11] Loss: {value}" for at, value in zip(range(0, 11, 3), values, strict=True)]
        lines += [f"\tLoss:\t{factor * sum(values):.3f}", f"\tRecall@20:\t{50 + epoch}.5"]
    found = {(s.raw, len(s)): s for s in read(tmp_path, "\n".join(lines)).series}

    assert float(found["Loss", 20].values.max()) == 6.0
    assert len(found["Loss", 5]) == len(found["Recall@20", 5]) == 5
