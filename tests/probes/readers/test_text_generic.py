"""Ordinary scripts: any common way to print a step and some numbers."""

# ruff: noqa: E501  (the lines of logs are as long as they are)
from __future__ import annotations

import math
from pathlib import Path

import pytest

from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.readers import text_log

from ._text import curve, file_of, names, points, read


@pytest.mark.parametrize(
    ("text", "unit", "expected"),
    [
        ("step 100 loss 2.31 lr 0.001\nstep 200 loss 2.1 lr 0.001\n", "step", [(100, 2.31), (200, 2.1)]),
        ("loss=2.3, acc=0.4\nloss=2.2, acc=0.5\n", "row", [(0, 2.3), (1, 2.2)]),
        ("[100/1000] loss 1.2\n[200/1000] loss 1.1\n", "step", [(100, 1.2), (200, 1.1)]),
        ("epoch 3 iter 100 loss 0.4\nepoch 3 iter 200 loss 0.3\n", "iteration", [(100, 0.4), (200, 0.3)]),
        ("Loss at step 100: 2.3\nLoss at step 200: 2.1\n", "step", [(100, 2.3), (200, 2.1)]),
        ("train loss after epoch 3: 0.5\n", "epoch", [(3, 0.5)]),
        ("Epoch 3 finished, average loss = 0.5\n", "epoch", [(3, 0.5)]),
        ("ep 1 loss 0.5\nep 2 loss 0.4\n", "epoch", [(1, 0.5), (2, 0.4)]),
        ("2024-05-01 10:00:00 - __main__ - INFO - Epoch 1 - Step 50/500 - Loss: 2.5\n", "step", [(50, 2.5)]),
        ("2024-05-01 10:00:00.123 | INFO | train:main:33 - step=7 loss=2.5\n", "step", [(7, 2.5)]),
        (
            "I0102 09:24:47.900400 14003 train.py:125] Step: 100, Loss: 0.05, Time: 1 day, 10:59:51\n",
            "step",
            [(100, 0.05)],
        ),
        ("Loss: 0.5 (epoch 1, step 10)\n", "step", [(10, 0.5)]),
        ("epoch：1，loss：0.5\nepoch：2，loss：0.4\n", "epoch", [(1, 0.5), (2, 0.4)]),
        ("Epoch 1, loss: tensor(2.5, device='cuda:0', grad_fn=<NllLossBackward>)\n", "epoch", [(1, 2.5)]),
        ("{'epoch': 1, 'train_loss': 0.5}\n{'epoch': 2, 'train_loss': 0.4}\n", "epoch", [(1, 0.5), (2, 0.4)]),
        ("step 1,234 loss 9,097.5\n", "step", [(1234, 9097.5)]),
        ("[01/20] it 8 tr_loss=1.5\n[01/20] it 16 tr_loss=1.4\n", "iteration", [(8, 1.5), (16, 1.4)]),
        ("[1][10/400] step 10: loss=2.0\n[1][20/400] step 20: loss=1.9\n", "step", [(10, 2.0), (20, 1.9)]),
    ],
)
def test_the_training_loss(tmp_path: Path, text: str, unit: str, expected: list[tuple[float, float]]) -> None:
    """The loss is found with its step and what that counts."""
    content = read(tmp_path, text)

    assert points(content, "train/loss") == expected
    assert curve(content, "train/loss").unit == unit


@pytest.mark.parametrize(
    "text",
    [
        "Epoch: 3 | Train Loss: 0.5 | Train Acc: 80.0% | Val. Loss: 0.6 |  Val. Acc: 81.2%\n",
        "Epoch 3/10: train_loss: 0.5 train_acc: 0.8 val_loss: 0.6 val_acc: 81.2 %\n",
        "Epoch 3 - Train: loss 0.5 acc 0.8 | Val: loss 0.6 acc 0.812\n",
        "Epoch: 3/10\nTrain Loss: 0.5 - Train Acc: 0.8\nValid Loss: 0.6 - Valid Acc: 0.812\n",
        "Epoch 3\n-----\ntrain Loss: 0.5 Acc: 0.8\nval Loss: 0.6 Acc: 0.812\n",
        "Epoch 3\nTraining:\nloss 0.5, accuracy: 0.8\nValidation:\nloss 0.6, accuracy: 0.812\n",
        "Epoch 3 Loss train: 0.5 val: 0.6 Acc train: 0.8 val: 0.812\n",
        "epoch_3 loss_train=0.5 loss_val=0.6 acc_train=0.8 acc_val=0.812\n",
        "epoch=3 tr_loss=0.5 tr_acc=0.8 va_loss=0.6 va_acc=0.812 t=12.3s\n",
        "Epoch 3 • train_loss 0.5 • train_acc 0.8 • val_loss 0.6 • val_acc 0.812\n",
        "| epoch | train loss | train acc | val loss | val acc |\n|---|---|---|---|---|\n| 3 | 0.5 | 0.8 | 0.6 | 0.812 |\n",
    ],
)
def test_words_tell_the_data_set(tmp_path: Path, text: str) -> None:
    """A word in the name, before a group, or on the line above tells training from evaluation."""
    content = read(tmp_path, text)

    assert points(content, "train/loss") == [(3, 0.5)]
    assert points(content, "eval/loss") == [(3, 0.6)]
    assert points(content, "train/accuracy") == [(3, pytest.approx(0.8))]
    assert points(content, "eval/accuracy") == [(3, pytest.approx(0.812))]


@pytest.mark.parametrize(
    ("line", "train", "evaluation"),
    [
        ("Epoch {e}  train 2.31  val 2.40  acc 0.31\n", 2.31, 2.40),
        ("epoch {e} | train 2.31 | valid 2.40 | best 2.40\n", 2.31, 2.40),
        ("Ep {e} - trn 2.31 - dev 2.40\n", 2.31, 2.40),
        ("Epoch {e} | losses: train 0.06, val 0.25\n", 0.06, 0.25),
        ("step {e}0: train loss 0.5, val 0.6\n", 0.5, 0.6),
    ],
)
def test_numbers_named_by_their_data_set_alone(
    tmp_path: Path, line: str, train: float, evaluation: float
) -> None:
    """Losses, where a score or the word stands beside them, or their size leaves nothing else."""
    content = read(tmp_path, "".join(line.format(e=e) for e in (1, 2, 3)))

    assert [v for _, v in points(content, "train/loss")] == [train] * 3
    assert [v for _, v in points(content, "eval/loss")] == [evaluation] * 3


@pytest.mark.parametrize(
    "line",
    [
        "Epoch {e}, Loss: 1.2, Train: 0.31, Val: 0.29, Test: 0.3\n",  # scores of some kind
        "epoch {e} loss 1.2 time: train 2.1 val 1.3\n",
        "epoch {e} loss 1.2 train 45.2 val 43.1\n",
        "epoch {e} loss 1.2 train 2.3% val 2.1%\n",
    ],
)
def test_numbers_of_a_data_set_that_may_be_anything(tmp_path: Path, line: str) -> None:
    """Where a loss stands beside them, or they are times or shares, they are left alone."""
    content = read(tmp_path, "".join(line.format(e=e) for e in (1, 2, 3)))

    assert [v for _, v in points(content, "train/loss")] == [1.2] * 3
    assert all(s.raw.lower() == "loss" for s in content.series)


def test_bars_that_all_end_at_the_same_step_stand_by_their_epochs(tmp_path: Path) -> None:
    """The last state of each epoch's bar says 20/20: that is no place on the curve."""
    bars = "train {e}: 100%|####| 20/20 [00:02<00:00, 9.1it/s, loss={loss}]\nval {e}: 100%|####| 5/5 [00:00<00:00, 9.1it/s, loss=0.6]\n"
    content = read(tmp_path, "".join(bars.format(e=e, loss=2.0 - 0.1 * e) for e in range(6)))

    assert [step for step, _ in points(content, "train/loss")] == [0, 1, 2, 3, 4, 5]


def test_the_raw_name_is_kept(tmp_path: Path) -> None:
    """A curve is called as the log calls it."""
    content = read(tmp_path, "Epoch: 3 | Train Loss: 0.412 | Val. Loss: 0.5\n")

    assert [s.raw for s in content.series] == ["Train Loss", "Val. Loss"]


def test_batches_become_running_steps(tmp_path: Path) -> None:
    """Steps that begin again in each epoch go on, by the length that the log prints."""
    text = "".join(f"Epoch {e} Batch {b}/300 Loss {3 - e - b / 1000}\n" for e in (1, 2) for b in (100, 200))
    content = read(tmp_path, text)
    loss = curve(content, "train/loss")

    assert loss.steps.tolist() == [100, 200, 400, 500]
    assert loss.unit == "step"
    assert loss.epochs is not None and loss.epochs.tolist() == [1, 1, 2, 2]
    assert any("300 to an epoch" in note for note in content.notes)


def test_a_running_counter_beside_epochs_is_left_alone(tmp_path: Path) -> None:
    """A step that goes on over epochs is not counted twice."""
    text = "".join(f"epoch {s // 100} step {s} loss {1 / (s + 1)}\n" for s in range(0, 300, 50))

    assert [p[0] for p in points(read(tmp_path, text), "train/loss")] == list(range(0, 300, 50))


def test_pytorch_mnist_example(tmp_path: Path) -> None:
    """Samples within an epoch run on; the test set stands at the last training step, hits over all are a share."""
    lines = []
    for epoch in (1, 2):
        lines += [
            f"Train Epoch: {epoch} [{n}/60000 ({n // 600}%)]\tLoss: 0.{epoch}{n // 640}" for n in (0, 640)
        ]
        lines += ["", f"Test set: Average loss: 0.0{epoch}, Accuracy: {9000 + epoch}/10000 (90%)", ""]
    content = read(tmp_path, "\n".join(lines))

    assert curve(content, "train/loss").unit == "sample"
    assert [p[0] for p in points(content, "train/loss")] == [0, 640, 60000, 60640]
    assert points(content, "test/loss") == [(640, 0.01), (60640, 0.02)]
    assert points(content, "test/accuracy") == [(640, 0.9001), (60640, 0.9002)]


def test_pytorch_cifar_tutorial(tmp_path: Path) -> None:
    """`[epoch, batch] loss: x`."""
    content = read(
        tmp_path, "[1,  2000] loss: 2.2\n[1,  4000] loss: 1.9\n[2,  2000] loss: 1.8\n[2,  4000] loss: 1.7\n"
    )

    assert points(content, "train/loss") == [(2000, 2.2), (4000, 1.9), (6000, 1.8), (8000, 1.7)]


def test_pytorch_imagenet_example(tmp_path: Path) -> None:
    """The values, not the averages in brackets; the summary line is of the evaluation."""
    row = "Epoch: [{e}][{b:3d}/300]\tTime  0.5 ( 0.6)\tLoss {v:.4e} (7.0e+00)\tAcc@1   {a} (  0.5)\tAcc@5   3.1 (  2.0)\n"
    text = row.format(e=0, b=0, v=6.9, a=1.0) + row.format(e=0, b=10, v=6.8, a=2.0)
    text += "Test: [  0/196]\tTime  1.5 ( 1.5)\tLoss 5.8e+00 (5.8e+00)\tAcc@1   4.1 (  4.1)\n *   Acc@1 5.500 Acc@5 12.1\n"
    content = read(tmp_path, text)

    assert points(content, "train/loss") == [(0, 6.9), (10, 6.8)]
    assert points(content, "train/accuracy") == [(0, 1.0), (10, 2.0)]
    assert points(content, "eval/accuracy") == [(10, 5.5)]


@pytest.mark.parametrize("word", ["nan", "NaN", "-nan", "-nan(ind)", "1.#QNAN", "1.#IND"])
def test_not_a_number_is_a_value(tmp_path: Path, word: str) -> None:
    """Every spelling of NaN is a point of the curve."""
    found = points(
        read(tmp_path, f"step 1 loss 2.0\nstep 2 loss {word}\nstep 3 loss: {word}, lr: 0.1\n"), "train/loss"
    )

    assert [step for step, _ in found] == [1, 2, 3]
    assert found[0][1] == 2.0 and math.isnan(found[1][1]) and math.isnan(found[2][1])


@pytest.mark.parametrize(
    ("word", "value"), [("inf", math.inf), ("-inf", -math.inf), ("Infinity", math.inf), ("1.#INF", math.inf)]
)
def test_infinity_is_a_value(tmp_path: Path, word: str, value: float) -> None:
    """Infinity stays apart from NaN."""
    assert points(read(tmp_path, f"step 1 loss={word} grad_norm=nan\n"), "train/loss") == [(1, value)]


def test_zero_nan_and_absent_are_three_things(tmp_path: Path) -> None:
    """A loss of zero, a NaN, and a row without a loss are told apart."""
    content = read(tmp_path, "step 1 loss 0.0 lr 0.1\nstep 2 loss nan lr 0.1\nstep 3 lr 0.1\n")
    found = points(content, "train/loss")

    assert found[0] == (1, 0.0) and math.isnan(found[1][1]) and len(found) == 2
    assert len(curve(content, "learning_rate")) == 3


def test_what_is_no_metric_stays_out(tmp_path: Path) -> None:
    """Clocks, memory, dates, best values and costs in seconds are no curves."""
    text = (
        "2024-01-02 03:04:05 step 10/500 loss 2.5 best_loss 2.4 time 0.5s eta 0:10:00 mem 3881Mb data_time 0.1 "
        "batch_cost: 0.8 sec ips: 20.1 speed 12.3 samples/s\n"
        "Best val acc: 0.9 at epoch 3\nval_loss improved from 0.5 to 0.4\nloss weight: 0.5\n"
    )

    assert names(read(tmp_path, text)) == {"train/loss"}


def test_restarts_stay_in_file_order(tmp_path: Path) -> None:
    """Several runs in one file are left for the assembly to part."""
    text = "".join(f"Epoch {e}: loss {v}\n" for e, v in [(1, 3.0), (2, 2.0), (1, 5.0), (2, 4.0)])

    assert points(read(tmp_path, text), "train/loss") == [(1, 3.0), (2, 2.0), (1, 5.0), (2, 4.0)]


@pytest.mark.parametrize(
    "before", ["13:5{minute}:07 INFO ", "13:5{minute}:07 ", "13:5{minute}:07,123 - ae - INFO - "]
)
def test_the_hour_of_a_clock_is_no_rank(tmp_path: Path, before: str) -> None:
    """Lines that begin with the time alone name no process, and keep their steps."""
    rows = "".join(f"{before.format(minute=i)}iter {25 * i}/250 mse=0.{i}1\n" for i in range(1, 9))
    curves = read(tmp_path, rows)

    assert (
        points(curves, "train/mse")[:2] == [(25, 0.11), (50, 0.21)] and len(points(curves, "train/mse")) == 8
    )
    assert curve(curves, "train/mse").rank is None


def test_a_rank_before_a_clock_is_read(tmp_path: Path) -> None:
    """`srun --label` sets the rank before each line."""
    rows = "".join(f"{r}: 13:5{i}:07 INFO iter {i} loss 0.{i}\n" for i in range(1, 6) for r in (0, 1))
    losses = [s for s in read(tmp_path, rows).series if s.raw == "loss"]

    assert [s.rank for s in losses] == [0, 1] and all(list(s.steps) == [1, 2, 3, 4, 5] for s in losses)


def test_many_rows_of_one_epoch_are_rows(tmp_path: Path) -> None:
    """Where only an epoch is printed for many batches, the rows are numbered."""
    text = "".join(f"Epoch {e} - Batch loss: {i}.5\n" for e in (1, 2) for i in range(5))
    loss = curve(read(tmp_path, text), "train/loss")

    assert loss.unit == "row" and loss.steps.tolist() == list(range(10))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("train.py", "step 1 loss 2.0\n"),
        (
            "notes.txt",
            "We saw that the loss was 2.3 at step 100, which is lower than the loss of 2.5 that we had before.\n",
        ),
        ("trainval.txt", "".join(f"{i:06d} {1 if i % 3 else -1}\n" for i in range(500))),
        ("words.txt", "loss\naccuracy\nepoch\nstep\n"),
        ("requirements.txt", "torch==2.1.0\nnumpy>=1.24\n"),
        ("config.txt", "lr: 0.1\nepochs: 10\nbatch_size: 32\nloss: cross_entropy\n"),
        ("data.log", "1 2 3\n4 5 6\n"),
        ("server.log", "2024-01-01 10:00:00 INFO GET /index.html 200 12ms\n" * 50),
        (
            "model.out",
            "Linear(in_features=768, out_features=10, bias=True)\nDropout(p=0.1)\nTotal params: 1,234\n",
        ),
        ("page.log", "<!DOCTYPE html><html>loss: 3</html>"),
        ("empty.log", "\n\n"),
    ],
)
def test_what_is_no_log_is_refused(tmp_path: Path, name: str, text: str) -> None:
    """Source text, prose, lists, configurations and logs of other things are left to others."""
    assert not text_log.sniff(file_of(tmp_path, text, name))


def test_source_text_before_the_log_gives_no_points(tmp_path: Path) -> None:
    """A log that begins with the script's own text holds only what was printed."""
    source = (
        "import torch\nlr = 0.02\nloss = 0.0\nfor step in range(10):\n    loss += 1.0\n" + "=" * 60 + "\n"
    )
    log = "".join(f"step:{s}/100 train_loss:{6.9 - s / 10:.4f} step_avg:262.17ms\n" for s in range(5))
    content = read(tmp_path, source + log)

    assert len(points(content, "train/loss")) == 5
    assert not [s for s in content.settings if s.key == "loss"]


def test_what_looks_like_a_configuration_and_is_none(tmp_path: Path) -> None:
    """Rows after a line that could begin a printed configuration are rows."""
    text = "Using the specified args:\n" + "".join(
        f"epoch:0 || iter:{i} || Loss:{9 - i}.5\n->>lr:0.0005\n" for i in range(5)
    )

    assert points(read(tmp_path, text), "train/loss") == [(i, 9.5 - i) for i in range(5)]


def test_a_log_with_a_long_beginning_is_recognised(tmp_path: Path) -> None:
    """The first row may stand far behind the head of the file."""
    text = (
        "".join(f"compiling kernel number {i} of many, please wait\n" for i in range(4000))
        + "step 1 loss 2.0\n"
    )

    assert points(read(tmp_path, text), "train/loss") == [(1, 2.0)]


def test_lines_and_clock(tmp_path: Path) -> None:
    """Each point knows its line and, where it is printed, its time."""
    content = read(
        tmp_path,
        "start\n2024-01-02 00:00:01 step 1 loss 2.0\nnoise\n[2024-01-02 00:00:03,500] step 2 loss 1.0\n",
    )
    loss = curve(content, "train/loss")

    assert loss.lines is not None and loss.lines.tolist() == [2, 4]
    assert loss.walls is not None and loss.walls.tolist() == [1704153601.0, 1704153603.5]


@pytest.mark.parametrize(
    "line",
    [
        "[worker {r}] step {i:5d} | loss {v:.4f} | lr 1e-3",
        "worker={r} step={i} loss={v:.4f} lr=1e-3",
        "2026-11-21 10:00:00 rank {r}: step {i} loss={v:.4f}",
        "R{r} | step {i} | loss {v:.4f}",
        "[{r}/2] step {i} loss {v:.4f}",
        '{{"rank": {r}, "step": {i}, "loss": {v:.4f}}}',
        "step {i} [rank {r}] loss: {v:.4f}",
        "(process {r}) step {i}: loss={v:.4f}",
        "gpu:{r} step {i} loss: {v:.4f}",
    ],
)
def test_workers_that_write_into_one_stream(tmp_path: Path, line: str) -> None:
    """Numbers that alternate from line to line name the ranks; each has its own curve."""
    rows = [line.format(r=r, i=10 * i, v=1 / (i + r)) for i in range(1, 12) for r in (0, 1)]
    content = read(tmp_path, "starting\n" + "\n".join(rows) + "\n")

    for rank in (0, 1):
        found = curve(content, "train/loss", rank)
        assert found.steps.tolist() == [10.0 * i for i in range(1, 12)]
        assert found.values[0] == pytest.approx(1 / (1 + rank), abs=1e-3)


@pytest.mark.parametrize("line", ["gpu 0 step {i} loss: {v:.4f}", "[{i}/20] worker 3 of 4: loss: {v:.4f}"])
def test_one_worker_alone_is_no_rank(tmp_path: Path, line: str) -> None:
    """A number that never changes, or that only counts on, is no mark of a rank."""
    content = read(tmp_path, "\n".join(line.format(i=i, v=1 / i) for i in range(1, 21)) + "\n")

    assert {s.rank for s in content.series} == {None}


@pytest.mark.parametrize(
    ("text", "trainable", "total", "frozen"),
    [
        (
            "Total params: 25,636,712\nTrainable params: 2,048\nNon-trainable params: 25,634,664",
            2048,
            25636712,
            25634664,
        ),
        ("  Number of trainable parameters = 0", 0, None, None),
        (
            "trainable params: 294,912 || all params: 124,734,720 || trainable%: 0.2364",
            294912,
            124734720,
            None,
        ),
        (
            "0         Trainable params\n1.2 M     Non-trainable params\n1.2 M     Total params",
            0,
            1.2e6,
            1.2e6,
        ),
        ("INFO Model has 11,173,962 parameters, 5,130 trainable", 5130, 11173962, None),
        ("number of params: 11.17M, trainable: 0.01M", 1e4, 11.17e6, None),
        ("loaded 12 batches; parameters follow", None, None, None),
    ],
)
def test_numbers_of_parameters_are_read(
    tmp_path: Path, text: str, trainable: float | None, total: float | None, frozen: float | None
) -> None:
    """However a framework prints them."""
    facts = read(tmp_path, f"{text}\nstep 1 loss 2.0\nstep 2 loss 1.5\nstep 3 loss 1.2\n").facts
    found = [facts.get(f"parameters_{k}") for k in ("trainable", "total", "frozen")]
    assert found == [trainable, total, frozen]


@pytest.mark.parametrize(
    "line",
    [
        "step {i} rank {r} loss {l:.3f}",
        "node-{r}: step {i} loss {l:.3f}",
        "local_rank 0 rank {r} step {i} loss {l:.3f}",
    ],
)
def test_a_rank_between_values_leaves_them_apart(tmp_path: Path, line: str) -> None:
    """The mark of a rank is taken out without joining what stands around it."""
    text = "\n".join(line.format(i=i, r=r, l=3 - i / 10 + r / 100) for i in range(1, 9) for r in range(3))
    content = read(tmp_path, text + "\n")
    assert points(content, "train/loss", 2)[0] == (1.0, pytest.approx(2.92))


def test_tables_of_updates_and_units_of_nats(tmp_path: Path) -> None:
    """A commented header with updates and short names; a cross-entropy with its unit behind it."""
    rows = "".join(f"{k:8d} {2 / k:.5e} {1 / k:.5e}\n" for k in range(1, 20))
    (tmp_path / "fit.dat").write_text("# update  xent  gradL2\n" + rows)
    (tmp_path / "valid.log").write_text("".join(f"upd={k} VALID ce={3 / k:.4f}nats\n" for k in range(1, 9)))

    curves = open_run(tmp_path).series

    assert curves["train/loss"].values[1] == pytest.approx(1.0) and curves["train/loss"].steps[1] == 2
    assert curves["grad_norm"].values[0] == pytest.approx(1.0)
    assert curves["eval/loss"].values[0] == pytest.approx(3.0)


def test_a_norm_between_bars_is_no_column(tmp_path: Path) -> None:
    """`|g|` is the norm of the gradient, while other bars part columns."""
    text = "".join(
        f"2026-01-02 10:00:0{i}.123 | INFO     | __main__:main:111 - epoch 1/9 step {i}0/450 loss=2.{9 - i}"
        f" lr=5.0e-04 |g|=3.{i}\n"
        for i in range(1, 6)
    )
    content = read(tmp_path, text)

    assert points(content, "grad_norm")[:2] == [(10, 3.1), (20, 3.2)]
    assert points(content, "learning_rate")[0] == (10, 5e-4)


def test_words_that_are_names_among_other_names(tmp_path: Path) -> None:
    """ "scale 65536" is a metric in a line of names and numbers parted by blanks, not in one with a single other name."""
    several = read(tmp_path, "step 5 loss 1.12 scale 65536 gnorm 0.5 lr 0.1\n" * 2)
    assert {m.raw for m in several.series} == {"loss", "scale", "gnorm", "lr"}

    one = read(tmp_path, "step 5 loss 1.12 retry 3 skip 2\n" * 2)
    assert {m.raw for m in one.series} == {"loss"}


def test_an_epoch_counted_before_the_step(tmp_path: Path) -> None:
    """ "[2/3] step 12/30": the steps are a multiple, so the first count is the epoch; the evaluation stands at its end."""
    text = "".join(
        f"[{e}/3] step {10 * e - 5}/30 loss {3 / e} lr 0.1\n[{e}/3] step {10 * e}/30 loss {2 / e} lr 0.1\n"
        f"[{e}/3] val loss {2.5 / e} acc 0.{e}5 (1.2 s)\n"
        for e in (1, 2, 3)
    )
    content = read(tmp_path, text)

    assert [s for s, _ in points(content, "train/loss")] == [5, 10, 15, 20, 25, 30]
    assert [s for s, _ in points(content, "eval/loss")] == [10, 20, 30]
    epochs = curve(content, "train/loss").epochs
    assert epochs is not None and epochs.tolist() == [1, 1, 2, 2, 3, 3]


def test_boxes_with_one_number_in_each_row(tmp_path: Path) -> None:
    """ "│ val/acc │ 0.91 │" below a head that names the epoch, in signs of boxes or plain bars."""
    for bar in "│|┃":
        rows = "".join(
            f"╭─ Epoch {e}/3 ─╮\n{bar} train/loss {bar} {3 / e:.4f} {bar}\n{bar} val/loss   {bar} {2 / e:.4f} {bar}\n"
            for e in (1, 2, 3)
        )
        content = read(tmp_path, rows)
        assert points(content, "train/loss") == [(1, 3.0), (2, 1.5), (3, 1.0)]
        assert points(content, "eval/loss") == [(1, 2.0), (2, 1.0), (3, 0.6667)]


def test_pictures_and_arrows_are_no_part_of_a_name(tmp_path: Path) -> None:
    """ "📊 Epoch 01/12 → train loss 0.5 ✅ train acc 80.0% | 🔍 val loss 0.6"."""
    text = "".join(
        f"📊 Epoch {e:02d}/12 → train loss {3 / e:.3f} ✅ train acc {e}0.0% | 🔍 val loss {2 / e:.3f} val acc 50.0% ⏱ 1.3s\n"
        for e in (1, 2, 3)
    )
    content = read(tmp_path, text)

    assert {m.raw for m in content.series} == {"train loss", "train acc", "val loss", "val acc"}


@pytest.mark.parametrize("last", [48, 40])
def test_the_mean_of_an_evaluation_counts(tmp_path: Path, last: int) -> None:
    """timm's "Test: [48/48] Acc@1: 60.0 (71.0)": the mean in brackets, of the last state that was printed."""
    train = "Train: {e} [{b:4d}/1251 ({p:3d}%)]  Loss: {v:.3g} (6.0)  Time: 0.352s, 727.5/s  LR: 1.000e-03\n"
    test = "Test: [{b:4d}/48]  Time: 1.2 (1.2)  Loss: {v:6.3f} ({v:6.3f})  Acc@1: {a:7.3f} ({m:7.3f})\n"
    text = "".join(
        train.format(e=e, b=0, p=0, v=6 - e)
        + train.format(e=e, b=1000, p=80, v=5.5 - e)
        + test.format(b=0, v=3.0 - e, a=60, m=60)
        + test.format(b=last, v=2.0 - e / 2, a=60, m=70 + e)
        for e in range(3)
    )
    content = read(tmp_path, text)

    assert [v for _, v in points(content, "test/accuracy")] == [70, 71, 72]
    assert [v for _, v in points(content, "test/loss")] == [2.0, 1.5, 1.0]
    assert [v for _, v in points(content, "train/loss")] == [6, 5.5, 5, 4.5, 4, 3.5]


SIZES = (
    "train: 1600 images, val: 500 images",
    "train images: 1600\nval images: 500",
    "Validation samples: 500",
)


@pytest.mark.parametrize("sizes", SIZES)
def test_sizes_of_the_data_sets_head_nothing(tmp_path: Path, sizes: str) -> None:
    epochs = (
        f"Epoch {e}/3: 100%|██████████| 25/25 [00:01<00:00, 21.0it/s, lr=0.05]\n"
        f"Train Loss: {2 / e:.4f} | Train Acc: {30 * e:.2f}% || Val Loss: {3 / e:.4f} | Val Acc: {20 * e:.2f}%\n"
        for e in (1, 2, 3)
    )
    content = read(tmp_path, sizes + "\n" + "".join(epochs))
    assert points(content, "train/loss") == [(1, 2.0), (2, 1.0), (3, 0.6667)]
    assert points(content, "eval/loss") == [(1, 3.0), (2, 1.5), (3, 1.0)]
    assert [v for _, v in points(content, "train/accuracy")] == pytest.approx([0.3, 0.6, 0.9])
    assert [v for _, v in points(content, "eval/accuracy")] == pytest.approx([0.2, 0.4, 0.6])


def test_an_epoch_ends_what_a_line_before_it_headed(tmp_path: Path) -> None:
    epochs = (
        f"Epoch {e}/3: 100%|██████████| 25/25 [00:01<00:00, 21.0it/s]\nloss: {2 / e:.4f}  acc: {30 * e:.2f}%\n"
        f"Validation: loss {3 / e:.4f} acc {20 * e:.2f}%\n"
        for e in (1, 2, 3)
    )
    content = read(tmp_path, "Validation samples: 500\n" + "".join(epochs))
    assert [v for _, v in points(content, "train/loss")] == [2.0, 1.0, 0.6667]
    assert [v for _, v in points(content, "eval/loss")] == [3.0, 1.5, 1.0]


def test_a_loss_scale_behind_a_word_for_overflow(tmp_path: Path) -> None:
    """The word before it is the value of another name, and no part of its own."""
    rows = "".join(
        f"step[{i}/50] loss: 6.{i} overflow: {i % 2 > 0} loss_scale: {2.0 ** (9 - i)}\n" for i in range(6)
    )

    assert points(read(tmp_path, rows), "loss_scale")[0] == (0, 512.0)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("E{e:02d}  tr {a:.4f}  te {b:.4f}  auc 0.8", ["Test auc", "eval loss", "train loss"]),
        ("e{e} | tr {a:.4f} | va {b:.4f} | acc 0.8", ["acc", "eval loss", "train loss"]),
        ("[E{e:02d}] loss {a:.4f}", ["loss"]),
        ("E{e}/20 loss {a:.4f} val {b:.4f} acc 0.8", ["acc", "loss", "val loss"]),
        ("ep{e} | loss {a:.4f} | val loss {b:.4f}", ["loss", "val loss"]),
        ("epoch{e} loss={a:.4f}", ["loss"]),
        ("Ep. {e} - loss {a:.4f}", ["loss"]),
        ("epoch {e} trn_loss {a:.4f} tst_loss {b:.4f} tst_acc 0.8", ["trn_loss", "tst_acc", "tst_loss"]),
        ("epoch {e} loss {a:.4f} val 0.8", ["loss"]),  # a score without a name, or a loss
        ("epoch {e} loss {a:.4f} val 91.5% acc 0.8", ["acc", "loss"]),
        ("model-e5: epoch {e} loss {a:.4f}", ["loss"]),
    ],
)
def test_short_names_of_epochs_and_data_sets(tmp_path: Path, row: str, expected: list[str]) -> None:
    """The epoch is read where its name is glued to it, and the two losses where a score bears a name."""
    text = "".join(row.format(e=e, a=1 / e, b=1.1 / e) + "\n" for e in (1, 2, 3))
    found = read(tmp_path, text).series
    assert sorted(s.raw for s in found) == expected
    assert all(s.unit == "epoch" and list(s.steps) == [1, 2, 3] for s in found)


def test_a_star_before_an_accuracy_is_no_product(tmp_path: Path) -> None:
    """`... ce_loss 2.2 * Acc@1 10.2`: the mean of an epoch behind a star, in a line of its training."""
    text = "".join(f"Epoch: [{e}] loss {9.5 - e} ce_loss 2.2 * Acc@1 {10 + e}.5\n" for e in range(4))
    content = read(tmp_path, text)

    assert points(content, "train/loss") == [(0, 9.5), (1, 8.5), (2, 7.5), (3, 6.5)]


def test_map_in_its_own_spelling_stands_without_a_sign(tmp_path: Path) -> None:
    """`mAP 0.94` is the metric, `map 5` may be anything."""
    text = "".join(
        f"ep {i}\tloss {1 / (i + 1):.3f}\tR@1 {0.9 + i / 100:.3f}\tmAP {0.8 + i / 100:.3f}\n"
        for i in range(9)
    )
    found = {s.raw for s in read(tmp_path, text).series}
    assert {"loss", "R@1", "mAP"} <= found
    alone = "".join(f"step {i} loss {1 / (i + 1):.3f} map {i}\n" for i in range(9))
    assert "map" not in {s.raw for s in read(tmp_path, alone).series}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "Epoch {e} had a loss of {v}, a training accuracy of 0.{e} and a testing accuracy of 0.{e}",
            {"train/loss", "train/accuracy", "test/accuracy"},
        ),
        ("Training loss over epoch {e}: {v}", {"train/loss"}),
        ("Epoch: {e}, train: 100%|###| 46/46 [00:12<00:00, 3.59it/s, dice_loss - {v}]", {"train/loss/dice"}),
        ("Epoch number: {e} loss : {v}", {"train/loss"}),
        ("epoch no. {e}, loss={v}", {"train/loss"}),
    ],
)
def test_sentences_and_dashes_of_published_notebooks(tmp_path: Path, line: str, expected: set[str]) -> None:
    text = "\n".join(line.format(e=e, v=round(2.5 - 0.1 * e, 2)) for e in range(1, 8))
    content = read(tmp_path, text)

    assert names(content) == expected
    assert {s.unit for s in content.series} == {"epoch"}
    assert all(s.steps.tolist() == list(range(1, 8)) for s in content.series)
