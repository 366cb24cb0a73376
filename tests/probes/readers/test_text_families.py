"""The lines of the frameworks, as short excerpts written in their style."""

# ruff: noqa: E501  (the lines of logs are as long as they are)
from __future__ import annotations

import math
from pathlib import Path

import pytest

from ._text import curve, events, names, points, read

# ------------------------------------------------------------------------------------- MindSpore family


def test_lossmonitor_counts_on_over_epochs(tmp_path: Path) -> None:
    """The step of LossMonitor begins again in each epoch."""
    text = "".join(
        f"epoch: {e} step: {s}, loss is {5 - e - s / 10}\n" for e in (1, 2, 3) for s in (1, 2, 3, 4)
    )
    content = read(tmp_path, text + "Train epoch time: 581.654 ms, per step time: 72.707 ms\n")
    loss = curve(content, "train/loss")

    assert content.format == "text-mindspore-lossmonitor"
    assert content.facts["framework"] == "mindspore"
    assert loss.steps.tolist() == list(range(1, 13)) and loss.unit == "step"
    assert names(content) == {"train/loss"}


def test_lossmonitor_sink_mode(tmp_path: Path) -> None:
    """One line per epoch with a constant step is one epoch each."""
    text = "".join(f"epoch: {e} step: 692, loss is 0.{e}\n" for e in (1, 2, 3))

    assert [p[0] for p in points(read(tmp_path, text), "train/loss")] == [692, 1384, 2076]


def test_lossmonitor_error_line_is_a_point(tmp_path: Path) -> None:
    """The NaN that stops LossMonitor is never printed as a loss, and yet a point of the curve."""
    text = "epoch: 1 step: 1, loss is 2.5\nepoch: 1 step: 2, loss is 2.4\nepoch: 2 step: 1, loss is 2.3\nTraceback (most recent call last):\n"
    text += '  File "train.py", line 41, in <module>\n    model.train(3, data, callbacks=[LossMonitor(1)])\n'
    text += "ValueError: In epoch: 2 step: 2, loss is NAN or INF, training process cannot continue, terminating training.\n"
    content = read(tmp_path, text)
    found = points(content, "train/loss")

    assert [p[0] for p in found] == [1, 2, 3, 4]
    assert math.isnan(found[-1][1])
    [event] = events(content, "non-finite-loss")
    assert (event.step, event.line, event.data) == (4, 7, "mindspore")
    assert [e.data for e in events(content, "traceback")] == ["ValueError"]


def test_older_lossmonitor_error_line(tmp_path: Path) -> None:
    """`Invalid loss, terminating training` says the same."""
    content = read(
        tmp_path,
        "epoch: 1 step: 4, loss is 2.5\nValueError: epoch: 1 step: 5. Invalid loss, terminating training.\n",
    )

    assert math.isnan(points(content, "train/loss")[-1][1])
    assert [e.step for e in events(content, "non-finite-loss")] == [5]


def test_mindspore_evaluation(tmp_path: Path) -> None:
    """Metrics of an evaluation come from a dictionary, numpy wrappers and all."""
    text = "epoch: 1 step: 8, loss is 0.5\nEval result: epoch 1, metrics: {'accuracy': 0.75}\n"
    text += "epoch: 2 step: 8, loss is 0.4\neval: {'acc': np.float64(0.875)}\n"
    content = read(tmp_path, text)

    assert {"eval/accuracy"} <= names(content)
    assert [v for s in content.series if "acc" in s.raw for v in s.values.tolist()] == [0.75, 0.875]


def test_a_dict_beside_lossmonitor_is_an_evaluation(tmp_path: Path) -> None:
    """An EvalCallBack prints what model.eval gave: it stands at the last step of its epoch."""
    text = ""
    for epoch in range(1, 7):
        text += "".join(f"epoch: {epoch} step: {s}, loss is {1 / (epoch + s)}\n" for s in (4, 8))
        text += f"epoch: {epoch}, {{'Accuracy': {epoch / 10}, 'loss': {2 / epoch}}}\n"
    content = read(tmp_path, text)
    found = curve(content, "eval/loss")

    assert content.format == "text-mindspore-lossmonitor" and content.facts["framework"] == "mindspore"
    assert found.steps.tolist() == [8, 16, 24, 32, 40, 48] and found.values[0] == 2
    assert len(curve(content, "eval/accuracy")) == 6 and len(curve(content, "train/loss")) == 12


def test_openmmlab_evaluations_stand_where_training_stands(tmp_path: Path) -> None:
    """The batches of an evaluation are no steps: Epoch(val) [2][6/6], Iter(val) [20/20]."""
    by_epoch, by_step = "", ""
    for epoch in range(1, 5):
        by_epoch += "".join(
            f"Epoch(train) [{epoch}][{s}/30]  lr: 1e-3  data_time: 0.1  loss: {1 / (s + epoch)}\n"
            for s in (15, 30)
        )
        by_epoch += f"Epoch(val) [{epoch}][6/6]    coco/bbox_mAP: 0.{epoch}  data_time: 0.1\n"
        by_step += f"Iter [{epoch * 50}/200]\tlr: 1e-3, data_time: 0.1, loss: {1 / epoch}\n"
        by_step += f"Iter(val) [20/20]\taAcc: 0.8, mIoU: 0.{epoch}\n"

    assert curve(read(tmp_path, by_epoch), "eval/map").steps.tolist() == [30, 60, 90, 120]
    assert curve(read(tmp_path, by_step), "eval/iou").steps.tolist() == [50, 100, 150, 200]


MINDFORMERS = (
    "{spin}2024-07-05 17:38:28,040 - mindformers[mindformers/core/callback/callback.py:316] - INFO - {{ Epoch:[  {e}/  2], "
    "step:[ {s:4d}/    4], {loss}, per_step_time: 364368ms, lr: 1.25e-07, overflow cond: {over}, loss_scale: {scale}{rest}}}\n"
    "2024-07-05 17:38:28,040 - mindformers[mindformers/core/callback/callback.py:317] - INFO -    2.5% |█   | 85.1 samples/s/p  0:00:01 }}\n"
)


@pytest.mark.parametrize(
    ("loss", "rest"),
    [
        ("loss: 2.500", ""),
        ("loss:[2.500/2.750]", ", global_norm: [1.5]"),
        (
            "loss: 2.500, lm_loss: 2.400, aux_loss: 0.1",
            ", global_norm: [1.5], train_throughput_per_npu: 2.896T",
        ),
    ],
)
def test_mindformers(tmp_path: Path, loss: str, rest: str) -> None:
    """Both modes, with and without the mean, extra losses and the norm."""
    text = "".join(
        MINDFORMERS.format(
            spin="-\\|/" if e == 1 else "", e=e, s=s, loss=loss, over=s == 2, scale=2.0 ** (16 - s), rest=rest
        )
        for e in (1, 2)
        for s in (1, 2, 3, 4)
    )
    content = read(tmp_path, text)

    assert content.format == "text-mindformers"
    assert points(content, "train/loss") == [(n, 2.5) for n in range(1, 9)]
    assert [p[1] for p in points(content, "overflow")] == [0, 1, 0, 0, 0, 1, 0, 0]
    assert [p[1] for p in points(content, "loss_scale")][:2] == [32768, 16384]
    assert [(e.step, e.value) for e in events(content, "overflow")] == [(2, 16384), (6, 16384)]
    assert not rest or points(content, "grad_norm")[0] == (1, 1.5)


def test_mindyolo(tmp_path: Path) -> None:
    """Numbers in brackets are no metrics; an overflow that is trained on is an event of its own."""
    text = "Epoch 1/300, Step 4/4, imgsize (640, 640), loss: 0.2778, lbox: 0.1, cur_lr: 0.0088\n"
    text += "[WARNING] overflow, still update, loss scale adjust to 1024.0\n"
    content = read(tmp_path, text)

    assert content.format == "text-mindyolo"
    assert points(content, "learning_rate") == [(4, 0.0088)]
    assert [(e.kind, e.value) for e in content.events] == [("overflow-ignored", 1024)]


def test_mindcv_columns(tmp_path: Path) -> None:
    """A table with a line of names over columns of fixed width."""
    head = "".join(f"{n:<20}" for n in ("Epoch", "TrainLoss", "acc@1", "TrainTime", "EvalTime", "TotalTime"))
    rows = "".join(
        "".join(f"{v:<20}" for v in (e, 3.5 / e, 20.0 * e, 12.1, 3.2, 15.3)) + "\n" for e in (1, 2, 3)
    )
    content = read(tmp_path, head + "\n" + rows, "result.log")

    assert [p[0] for p in points(content, "train/loss")] == [1, 2, 3]
    assert points(content, "eval/accuracy")[2] == (3, 60.0)


@pytest.mark.parametrize("times", [("Time",), ("EvalTime",)])
def test_scores_beside_times_of_the_evaluation(tmp_path: Path, times: tuple[str, ...]) -> None:
    """Without a column that tells of the evaluation, or beside a loss that is bare as well, a score is the training's."""
    loss = "TrainLoss" if times == ("Time",) else "Loss"
    head = "".join(f"{n:<20}" for n in ("Epoch", loss, "acc@1", *times))
    rows = "".join("".join(f"{v:<20}" for v in (e, 3.5 / e, 20.0 * e, 12.1)) + "\n" for e in (1, 2, 3))
    content = read(tmp_path, head + "\n" + rows, "result.log")

    assert points(content, "train/accuracy")[2] == (3, 60.0)


# -------------------------------------------------------------------------------------- Megatron family

MEGATRON = (
    " iteration {i:8d}/    1000 | consumed samples: {c:12d} | elapsed time per iteration (ms): 5837.9 | learning rate: 1.500E-04 |"
    " global batch size:     4 |{loss} loss scale: {scale} | grad norm: {norm} | number of skipped iterations: {skip:3d} |"
    " number of nan iterations:   0 |\n"
)


def megatron(step: int, loss: float | None, norm: str = "1.250", skip: int = 0, scale: str = "1.0") -> str:
    said = "" if loss is None else f" lm loss: {loss:.6E} |"
    return MEGATRON.format(i=step, c=4 * step, loss=said, norm=norm, skip=skip, scale=scale)


def test_megatron_row(tmp_path: Path) -> None:
    """All columns; the loss is a mean since the last line."""
    content = read(tmp_path, megatron(10, 7.5) + megatron(20, 7.25, skip=2))
    loss = curve(content, "train/loss")

    assert content.format == "text-megatron"
    assert points(content, "train/loss") == [(10, 7.5), (20, 7.25)]
    assert (loss.unit, loss.window) == ("iteration", "mean-since-last")
    assert points(content, "grad_norm") == [(10, 1.25), (20, 1.25)]
    assert points(content, "skipped") == [(10, 0), (20, 2)]
    assert points(content, "nan_iterations") == [(10, 0), (20, 0)]
    assert [(e.kind, e.step, e.value) for e in content.events] == [("skipped-step", 20, 2)]


def test_megatron_loss_column_vanishes(tmp_path: Path) -> None:
    """A line without a loss is a step at which the loss is absent, not a NaN and not nothing."""
    content = read(
        tmp_path, megatron(10, 7.5) + megatron(20, None, norm="nan") + megatron(30, None, norm="nan")
    )
    loss = curve(content, "train/loss")

    assert loss.steps.tolist() == [10]
    assert loss.absent.tolist() == [20, 30]
    assert math.isnan(points(content, "grad_norm")[1][1])


def test_megatron_without_any_loss(tmp_path: Path) -> None:
    """An excerpt in which no line has a loss still says where it is absent."""
    content = read(tmp_path, megatron(5426, None, norm="nan") + megatron(5427, None, norm="nan"))

    assert [s.absent.tolist() for s in content.series if s.raw == "lm loss"] == [[5426, 5427]]


def test_megatron_not_reported(tmp_path: Path) -> None:
    """A loss scale of -1.0 says that the engine does not tell; then a norm of 0.000 is none either."""
    content = read(tmp_path, megatron(10, 7.5, norm="0.000", scale="-1.0").replace("lm loss", "lm-loss"))

    assert points(content, "train/loss") == [(10, 7.5)]
    assert names(content).isdisjoint({"grad_norm", "loss_scale"})


def test_megatron_validation_resume_and_arguments(tmp_path: Path) -> None:
    """The dump of the arguments, where it was resumed, and the validation lines."""
    text = "-------------------- arguments --------------------\n  adam_beta2 ...................... 0.999\n  lr .............................. 0.00015\n"
    text += "  fp16 ............................ True\n  seed ............................ 1234updated\n---------------- end of arguments ----------------\n"
    text += (
        "using world size: 64, data-parallel-size: 4\n loading checkpoint from /ckpt/run at iteration 1000\n"
    )
    text += (
        megatron(1010, 3.5)
        + " validation loss at iteration 1010 | lm loss value: 2.300000E+00 | lm loss PPL: 9.974182E+00 |\n"
    )
    content = read(tmp_path, text)
    settings = {s.key: (s.value, s.trust) for s in content.settings}

    assert settings["lr"] == (0.00015, 90) and settings["fp16"] == (True, 90)
    assert content.facts["world_size"] == 64
    assert [(e.kind, e.step, e.value) for e in events(content, "resume")] == [("resume", 1000, 1000)]
    assert points(content, "eval/loss") == [(1010, 2.3)]
    assert points(content, "eval/perplexity") == [(1010, 9.974182)]


def test_gpt_neox_and_nemo(tmp_path: Path) -> None:
    """Relatives of Megatron with columns before the iteration, and with names of their own."""
    neox = "samples/sec: 1.702 | iteration        1/   55000 | elapsed time per iteration (ms): 18806.7 | learning rate: 1.212E-09 | lm_loss: 2.275809E+00 | number of skipped iterations:   0 | number of nan iterations:   0 |\n"
    nemo = "".join(
        f"  0: Training epoch 0, iteration {i}/4679 | lr: 5.882e-07 | global_batch_size: 48 | global_step: {i} | reduced_train_loss: 0.{9 - i} | train_step_timing in s: 314.5\n"
        for i in range(5)
    )

    assert points(read(tmp_path, neox), "train/loss") == [(1, 2.275809)]
    assert points(read(tmp_path, nemo), "train/loss", rank=0)[4] == (4, 0.5)


# ------------------------------------------------------------------------------- scalers and DeepSpeed


def deepspeed(step: int, skipped: int) -> str:
    return (
        f"[2025-01-02 15:47:38,841] [INFO] [logging.py:128:log_dist] [Rank 0] step={step}, skipped={skipped}, "
        "lr=[4.99e-05, 4.99e-05], mom=[(0.9, 0.95), (0.9, 0.95)]\n"
    )


def test_deepspeed_counts_steps(tmp_path: Path) -> None:
    """Skipped steps are printed as a running number; the reader gives those since the last line."""
    content = read(tmp_path, deepspeed(10, 4) + deepspeed(20, 4) + deepspeed(30, 6))

    assert content.format == "text-deepspeed"
    assert points(content, "learning_rate")[0] == (10, 4.99e-05)
    assert [(e.step, e.value) for e in events(content, "skipped-step")] == [(10, 4), (30, 2)]


def test_deepspeed_two_engines(tmp_path: Path) -> None:
    """Actor and critic print a line each; their counts are not mixed."""
    text = deepspeed(10, 4) + deepspeed(10, 7) + deepspeed(20, 4) + deepspeed(20, 7)

    assert [(e.step, e.value) for e in events(read(tmp_path, text), "skipped-step")] == [(10, 4), (10, 7)]


def test_deepspeed_overflow_lines_of_ranks(tmp_path: Path) -> None:
    """Lines of several ranks about one step are one overflow; a reduced hysteresis leaves the scale."""
    said = "[deepspeed] OVERFLOW! Rank {r} Skipping step. Attempted loss scale: 65536, "
    text = "".join(said.format(r=r) + "but hysteresis is 2. Reducing hysteresis to 1\n" for r in range(4))
    text += "".join(said.format(r=r) + "reducing to 32768\n" for r in range(4))
    found = events(read(tmp_path, text), "overflow")

    assert [(e.value, e.count) for e in found] == [(65536, 4), (32768, 4)]


def test_deepspeed_same_rank_again_is_another_step(tmp_path: Path) -> None:
    """At the lowest scale the same words come back for each step."""
    text = "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 1, reducing to 1\n" * 5

    assert len(events(read(tmp_path, text), "overflow")) == 5


def test_deepspeed_fused_optimizer(tmp_path: Path) -> None:
    """Its three lines, printed by each rank, are one overflow with the scale after it."""
    text = ""
    for step, old, new in [(0, 65536, 32768), (1, 32768, 16384)]:
        text += f"[INFO] [fused_optimizer.py:392:_update_scale] \\nGrad overflow on iteration {step}\n" * 2
        text += (
            f"[INFO] [fused_optimizer.py:393:_update_scale] Reducing dynamic loss scale from {old} to {new}.0\n"
            * 2
        )
        text += f"[INFO] [logging.py:128:log_dist] [Rank 0] Overflow detected. Skipping step. Attempted loss scale: {old}, reducing to {new}.0\n"
    found = events(read(tmp_path, text), "overflow")

    assert [(e.step, e.value) for e in found] == [(0, 32768), (1, 16384)]


@pytest.mark.parametrize(
    ("line", "kind", "value"),
    [
        (
            "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 32768.0",
            "overflow",
            32768,
        ),
        (
            "NOTE: gradient overflow detected, ignoring gradient, setting loss scale to: 128.0",
            "overflow",
            128,
        ),
        ("| WARNING: overflow detected, setting loss scale to: 0.25", "overflow", 0.25),
        (
            "Exception: Current loss scale already at minimum - cannot decrease scale anymore. Exiting run.",
            "scale-at-minimum",
            None,
        ),
        (
            "FloatingPointError: Minimum loss scale reached (0.0001). Your loss is probably exploding.",
            "scale-at-minimum",
            0.0001,
        ),
        (
            "DLL 2020-05-30 07:35:01.358301 - PARAMETER loss_scale : 3.725290298461914e-09 ",
            "loss-scale",
            3.725290298461914e-09,
        ),
    ],
)
def test_other_scalers(tmp_path: Path, line: str, kind: str, value: float | None) -> None:
    """apex, fairseq, DeepSpeed's last word, and a scale that is merely printed."""
    content = (
        read(tmp_path, "step 1 loss 2.0\n" + line + "\n")
        if kind != "loss-scale"
        else read(tmp_path, line + "\nstep 1 loss 2\n")
    )

    assert [(e.kind, e.value) for e in content.events if e.kind == kind] == [(kind, value)]


# ------------------------------------------------------------------------------------------ others


def test_fairseq_both_styles(tmp_path: Path) -> None:
    """Updates are the steps, numbers may be texts, and the loss is in bits."""
    old = "2020-01-01 10:00:00 | INFO | train_inner | epoch 001:      4 / 78 loss=1.5, ppl=2.01, wps=0, ups=0, num_updates=4, lr=2.2e-07, gnorm=0.056, loss_scale=16, train_wall=0\n"
    old += "2020-01-01 10:10:00 | INFO | valid | epoch 001 | valid on 'valid' subset | loss 9.25 | ppl 272.04 | num_updates 78 | best_loss 9.11\n"
    new = '[2022-04-08 18:48:05,372][train_inner][INFO] - {"epoch": 1, "update": 0.416, "loss": "1.5", "ppl": "2", "num_updates": "4", "lr": "3.125e-06", "gnorm": "1.421", "loss_scale": "128"}\n'
    new += '[2022-04-08 18:50:05,372][valid][INFO] - {"epoch": 1, "valid_loss": "9.25", "valid_num_updates": "78"}\n'
    for text in (old, new):
        content = read(tmp_path, text)

        assert content.format == "text-fairseq" and content.facts["loss_base"] == 2
        assert points(content, "train/loss") == [(4, 1.5)]
        assert points(content, "eval/loss")[0][1] == 9.25
        assert any("bits" in note for note in content.notes)


def test_hugging_face_rows(tmp_path: Path) -> None:
    """A loss of 0.0 beside a NaN norm is a NaN; the closing row's mean is no loss."""
    text = "{'loss': 3.5, 'grad_norm': 1.25, 'learning_rate': 5e-05, 'epoch': 0.1}\n"
    text += "{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 5e-05, 'epoch': 0.2}\n{'eval_loss': 2.5, 'eval_runtime': 3.2, 'epoch': 0.2}\n"
    text += "{'train_runtime': 33.2, 'train_samples_per_second': 1.2, 'train_loss': 1.75, 'epoch': 0.2}\n"
    content = read(tmp_path, text)
    loss = curve(content, "train/loss")

    assert content.format == "text-hf" and content.facts["trainer"] == "transformers"
    assert loss.raw == "loss" and loss.values[0] == 3.5 and math.isnan(loss.values[1])
    assert loss.masked is not None and loss.masked.tolist() == [False, True]
    assert [e.line for e in events(content, "masked-nan")] == [2]
    assert points(content, "eval/loss") == [(0.2, 2.5)]
    assert not [s for s in content.series if s.raw == "train_loss"]


def test_hugging_face_rows_between_bars(tmp_path: Path) -> None:
    """The progress bar knows the step that the row does not."""
    text = "".join(
        f" {n}%|   | {n}/100 [00:08<21:09,  7.98s/it]\r{{'loss': {4 - n / 10}, 'learning_rate': 4e-05, 'epoch': 0.0{n}}}\n"
        for n in (1, 2, 3)
    )

    assert [p[0] for p in points(read(tmp_path, text), "train/loss")] == [1, 2, 3]


def hugging_face(rows: list[tuple[str, int, int]], drawn: str = "{n}/60 [00:01<00:02, 99.9it/s]") -> str:
    """The Trainer's output where steps are fast: each row, then the bar anew; (values, step, bar before it)."""
    text = ""
    for values, step, before in rows:
        text += (
            f"\r  1%|   | {drawn.format(n=before)}\r        \r{values}\n\r  1%|   | {drawn.format(n=step)}"
        )
    return text + "\n"


def test_hugging_face_bars_lag_where_steps_are_fast(tmp_path: Path) -> None:
    """As transformers 5 writes it: the bar before a row is an old one; an evaluation draws its own bar."""
    rows = [
        (f"{{'loss': '{3 - n / 60:.3f}', 'grad_norm': '1.5', 'epoch': '{n / 20:.4g}'}}", n, n - 5)
        for n in range(5, 21, 5)
    ]
    evaluation = "\r  0%|  | 0/63 [00:00<?, ?it/s]\x1b[A\r   \r\x1b[A{'eval_loss': '2.5', 'epoch': '1'}\n"
    evaluation += (
        "\r  1%|   | 20/60 [00:01<00:02, 99.9it/s]\n\r100%|###| 63/63 [00:00<00:00, 2838.34it/s]\x1b[A\n"
    )
    late = [(f"{{'loss': '2.5', 'epoch': '{n / 20:.4g}'}}", n, 20) for n in (25, 30)]
    content = read(tmp_path, hugging_face(rows) + evaluation + hugging_face(late))

    assert [p[0] for p in points(content, "train/loss")] == [5, 10, 15, 20, 25, 30]
    assert points(content, "eval/loss") == [(20, 2.5)]
    assert not content.notes


def test_hugging_face_rows_apart_from_their_bars(tmp_path: Path) -> None:
    """Output that was buffered comes after all bars: most rows stand where their epoch says."""
    rows = [(f"{{'loss': '2.5', 'epoch': '{n / 20:.4g}'}}", n, n) for n in range(5, 51, 5)]
    buffered = "".join(f"{{'loss': '2.5', 'epoch': '{n / 20:.4g}'}}\n" for n in (55, 60))

    assert [p[0] for p in points(read(tmp_path, hugging_face(rows) + buffered), "train/loss")] == [
        *range(5, 61, 5)
    ]


KERAS_BARS = (
    "Epoch 1/2\n\r1/8 [==>....] - ETA: 3s - loss: 9.0\r4/8 [====>..] - ETA: 1s - loss: 8.0\r"
    "8/8 [=======] - 46s 6s/step - loss: 0.75 - acc: 0.5 - val_loss: 1.5\n"
    "Epoch 2/2\n\r1/8 [=>.....] - ETA: 0s - loss: 7.0\r8/8 [=======] - 4s 500ms/step - loss: 0.5 - acc: 0.75 - val_loss: 1.25\n"
)


@pytest.mark.parametrize(
    "text",
    [
        KERAS_BARS,
        KERAS_BARS.replace("\r", "\x08" * 30),
        KERAS_BARS.replace("\r", "\n"),
        "Epoch 1/2\n8/8 - 2s - loss: 0.75 - acc: 0.5 - val_loss: 1.5\nEpoch 2/2\n8/8 - 2s - loss: 0.5 - acc: 0.75 - val_loss: 1.25\n",
        "Epoch 1/2\n8/8 ━━━━━━━━━━ 3s 1ms/step - acc: 0.5 - loss: 0.75 - val_loss: 1.5\nEpoch 2/2\n8/8 ━━━━━━━━━━ 3s 1ms/step - acc: 0.75 - loss: 0.5 - val_loss: 1.25\n",
    ],
    ids=["cr", "backspace", "newline", "verbose-2", "keras-3"],
)
def test_keras_bars(tmp_path: Path, text: str) -> None:
    """Only the last state of each bar counts, and stands for its epoch."""
    content = read(tmp_path, text)

    assert content.format == "text-keras"
    assert points(content, "train/loss") == [(1, 0.75), (2, 0.5)]
    assert points(content, "train/accuracy") == [(1, 0.5), (2, 0.75)]
    assert points(content, "eval/loss") == [(1, 1.5), (2, 1.25)]
    assert curve(content, "train/loss").unit == "epoch"


def test_keras_3_ends_a_bar_twice(tmp_path: Path) -> None:
    """The whole bar is drawn before and after the validation: one point of training, no test."""
    bar = "\x1b[1m8/8\x1b[0m \x1b[32m━━━━\x1b[0m\x1b[37m\x1b[0m \x1b[1m0s\x1b[0m 22ms/step - accuracy: 0.5 - loss: 0.75"
    text = "".join(f"Epoch {n}/2\n\r{bar}  {chr(8) * 75}\r{bar} - val_loss: 1.5\n" for n in (1, 2))
    content = read(tmp_path, text)

    assert {s.raw: len(s) for s in content.series} == {"accuracy": 2, "loss": 2, "val_loss": 2}


def test_keras_evaluation_after_training(tmp_path: Path) -> None:
    """A second bar in the last epoch is an evaluation, not another point of training."""
    text = "Epoch 1/1\n8/8 [===] - 4s 1s/step - loss: 0.5 - acc: 0.75\n3/3 [===] - 0s 1ms/step - loss: 0.625 - acc: 0.7\n"
    content = read(tmp_path, text)

    assert points(content, "train/loss") == [(1, 0.5)]
    assert points(content, "test/loss") == [(1, 0.625)]


def test_bar_cut_off(tmp_path: Path) -> None:
    """A bar that never reached its end says how far it came."""
    text = "Epoch 1/2\n8/8 [===] - 4s 1s/step - loss: 0.5\nEpoch 2/2\n\r1/8 [=>..] - ETA: 3s - loss: 0.4\r2/8 [=>..] - ETA: 3s - loss: nan"
    found = points(read(tmp_path, text), "train/loss")

    assert found[0] == (1, 0.5) and found[1][0] == 2 and math.isnan(found[1][1])


def test_tqdm_postfix(tmp_path: Path) -> None:
    """A bar over all steps gives a point for each state, a bar per epoch its last one."""
    steps = "  5%|5  | 50/1000 [00:05<01:40,  9.9it/s, loss=2.5]\r 10%|#  | 100/1000 [00:10<01:30,  9.9it/s, loss=2.25]\n"
    epochs = "Epoch 0:  50%|##  | 5/10 [00:01<00:01, 4.9it/s, loss=0.5, v_num=0]\rEpoch 0: 100%|####| 10/10 [00:02<00:00, 4.9it/s, loss=0.25, v_num=0]\n"
    over = "Epoch:  10%|#  | 1/10 [00:01<00:10, 1it/s, loss=0.5]\rEpoch:  20%|## | 2/10 [00:02<00:10, 1it/s, loss=0.25]"

    assert points(read(tmp_path, steps), "train/loss") == [(50, 2.5), (100, 2.25)]
    assert points(read(tmp_path, epochs), "train/loss") == [(0, 0.25)]
    assert points(read(tmp_path, over), "train/loss") == [(1, 0.5), (2, 0.25)]


def test_tf_estimator(tmp_path: Path) -> None:
    """The step stands behind the loss; the saved dictionary is an evaluation; divergence is a NaN point."""
    text = "INFO:tensorflow:loss = 0.75, step = 100 (12.3 sec)\nINFO:tensorflow:global_step/sec: 8.1\nINFO:tensorflow:loss = 0.5, step = 200 (12.3 sec)\n"
    text += "INFO:tensorflow:Saving dict for global step 200: eval_accuracy = 0.5, eval_loss = 2.5, global_step = 200, loss = 2.5\n"
    text += "ERROR:tensorflow:Model diverged with loss = NaN.\n"
    content = read(tmp_path, text)
    found = points(content, "train/loss")

    assert content.format == "text-tf-estimator"
    assert found[:2] == [(100, 0.75), (200, 0.5)] and math.isnan(found[2][1])
    assert points(content, "eval/loss") == [(200, 2.5)]
    assert points(content, "eval/accuracy") == [(200, 0.5)]
    assert [e.data for e in events(content, "non-finite-loss")] == ["tensorflow"]


@pytest.mark.parametrize(
    ("text", "form", "expected"),
    [
        ("INFO:tensorflow:global step 100: loss = 2.3 (0.1 sec/step)\n", "text-tf-slim", (100, 2.3)),
        ("Step 12 | loss:1.5 lr:2e-05 tokens_per_second_per_gpu:12.5 grad_norm:1.5\n", "text-torchtune", (12, 1.5)),
        (
            "\x1b[31mstep: 10  \x1b[32mloss:  7.5  \x1b[38;2;180;60;0mgrad_norm:  1.25  memory: 12.34GiB(15%)  tps: 1,234  mfu: 12.3%\x1b[39m\n",
            "text-torchtitan",
            (10, 7.5),
        ),
        ("iter 2920: loss 3.9883, time 1099.34ms, mfu 15.34%\n", "text-nanogpt", (2920, 3.9883)),
        ("step:1/19074 train_loss:6.9321 train_time:262ms step_avg:262.17ms\n", "text-modded-nanogpt", (1, 6.9321)),
        ("completed step: 4000, seconds: 91.772, TFLOP/s/device: 24.0, total_weights: 65504, loss: 7.644\n", "text-maxtext", (4000, 7.644)),
        ("global step 100, epoch: 0, batch: 99, loss: 2.30, avg_reader_cost: 0.1 sec, learning rate: 1e-4\n", "text-paddle", (100, 2.3)),
        ("[11/23 19:27:00] ppgan.engine.trainer INFO: Iter: 10/1000 lr: 2.000e-04 loss: 2.5 batch_cost: 1.0 sec ips: 15.6\n", "text-paddle", (10, 2.5)),
        ("[11/18 15:33:16] d2.utils.events INFO:  eta: 20:03:12  iter: 19  total_loss: 0.5  loss_cls: 0.1  time: 0.6  data_time: 0.07  lr: 0.02  max_mem: 118M\n", "text-detectron2", (19, 0.5)),
        ("2021-03-13 21:01:53,362 - mmdet - INFO - Epoch [1][50/300]\tlr: 1.000e-02, eta: 1 day, 5:33:36, time: 0.277, data_time: 0.082, memory: 2938, loss_cls: 1.5, loss: 2.5\n", "text-openmmlab", (50, 2.5)),
        ("2023/01/01 10:00:00 - mmengine - INFO - Epoch(train)  [1][ 50/300]  lr: 1.0e-02  eta: 0:10:00  time: 0.2  data_time: 0.08  memory: 1  loss: 2.5\n", "text-openmmlab", (50, 2.5)),
        ("I1009 13:08:39.377732 86511 solver.cpp:229] Iteration 20, loss = 87.3365\n", "text-caffe", (20, 87.3365)),
        (" 100: 8.25, 9.125 avg loss, 0.001000 rate, 3.5 seconds, 6400 images, 1.0 hours left\n", "text-key-value", (100, 8.25)),
    ],
)  # fmt: skip
def test_frameworks(tmp_path: Path, text: str, form: str, expected: tuple[float, float]) -> None:
    """Each framework's line is read and its family named."""
    content = read(tmp_path, text)

    assert content.format == form
    assert points(content, "train/loss")[0] == expected


def test_nanogpt_evaluations(tmp_path: Path) -> None:
    """The line with both losses, and the losses of the iterations."""
    text = "step 0: train loss 4.25, val loss 4.5\niter 0: loss 3.9, time 1099.34ms, mfu 15.34%\niter 10: loss 3.5, time 99ms, mfu 15.34%\n"
    content = read(tmp_path, text)

    assert points(content, "train/loss") == [(0, 3.9), (10, 3.5)]
    assert points(content, "eval/loss") == [(0, 4.5)]


def test_olmo_blocks(tmp_path: Path) -> None:
    """A line with the step, the values on lines below it."""
    text = "".join(
        f"2025-12-27 22:11:54.019\thost:0\tolmo.train:1\tINFO\t[step={s}/1000,epoch=0]\n    optim/total_grad_norm=3.5\n"
        f"    train/CrossEntropyLoss=9.{s}\n    train/Perplexity=9,097\n    throughput/total_tokens=57,671,680\n"
        for s in (10, 20)
    )
    content = read(tmp_path, text)

    assert points(content, "train/loss") == [(10, 9.1), (20, 9.2)]
    assert points(content, "grad_norm") == [(10, 3.5), (20, 3.5)]
    assert points(content, "train/perplexity")[0] == (10, 9097)


def test_composer_blocks(tmp_path: Path) -> None:
    """A line with epoch and batch, the values on lines below it."""
    text = "[epoch=1][batch=5/1000]:\n\t Train loss/train/total: 3.25\n[epoch=1][batch=6/1000]:\n\t Train loss/train/total: 3.5\n"

    assert points(read(tmp_path, text), "train/loss") == [(5, 3.25), (6, 3.5)]


def test_terms_on_lines_below(tmp_path: Path) -> None:
    """Terms of a loss below the line with the step belong to that step."""
    text = "".join(
        f"iter: {i} / 70000, total loss: nan\n >>> rpn_loss_cls: 0.5\n >>> rpn_loss_box: 0.25\n >>> lr: 0.010000\nspeed: 0.794s / iter\n"
        for i in (20, 40)
    )
    content = read(tmp_path, text)

    assert points(content, "train/loss/rpn_cls") == [(20, 0.5), (40, 0.5)]
    assert points(content, "learning_rate") == [(20, 0.01), (40, 0.01)]
    assert all(math.isnan(v) for _, v in points(content, "train/loss"))


def test_word_language_model_example(tmp_path: Path) -> None:
    """Batches of an epoch between bars, the evaluation at its end."""
    text = "| epoch   1 |   200/  400 batches | lr 5.00 | ms/batch 10.51 | loss  8.25 | ppl  3469.70\n| end of epoch   1 | time: 33.16s | valid loss  5.75 | valid ppl   329.78\n"
    text += "| epoch   2 |   200/  400 batches | lr 5.00 | ms/batch 10.51 | loss  6.25 | ppl  469.70\n"
    content = read(tmp_path, text)

    assert points(content, "train/loss") == [(200, 8.25), (600, 6.25)]
    assert points(content, "eval/loss") == [(200, 5.75)]


@pytest.mark.parametrize(
    "text",
    [
        "| epoch | train loss | val loss |\n|-------|------|------|\n| 1 | 0.5 | 0.625 |\n| 2 | 0.25 | nan |\n",
        "epoch  train_loss  val_loss\n1      0.5         0.625\n2      0.25        nan\n",
        "epoch,train_loss,val_loss,time\nnoise between\n1,0.5,0.625,12\n2,0.25,nan,12\n",
    ],
)
def test_tables(tmp_path: Path, text: str) -> None:
    """Numbers under names, between bars, blanks or commas."""
    content = read(tmp_path, text)

    assert points(content, "train/loss") == [(1, 0.5), (2, 0.25)]
    assert points(content, "eval/loss")[0] == (1, 0.625) and math.isnan(points(content, "eval/loss")[1][1])


def test_ultralytics_tables(tmp_path: Path) -> None:
    """The two tables that Ultralytics prints in turn."""
    text = ""
    for epoch in (1, 2):
        text += "      Epoch    GPU_mem   box_loss   cls_loss   dfl_loss  Instances       Size\n"
        text += f"      {epoch}/55      9.95G    0.5{epoch}       5.5      2.5         12        640: 100%|####| 787/787 [09:07<00:00,  1.44it/s]\n"
        text += "                 Class     Images  Instances      Box(P          R      mAP50  mAP50-95): 100%|####| 66/66 [00:36<00:00,  1.83it/s]\n"
        text += (
            f"                   all       1049       1186      0.914      0.898      0.938      0.5{epoch}\n"
        )
    content = read(tmp_path, text)

    assert points(content, "train/loss/box") == [(1, 0.51), (2, 0.52)]
    assert points(content, "eval/map") == [(1, 0.51), (2, 0.52)]
    assert points(content, "eval/map50")[0] == (1, 0.938)


def test_a_share_above_the_whole_stays_as_it_is(tmp_path: Path) -> None:
    """ "5231.2%" is no share: it is not written as 52."""
    content = read(tmp_path, "".join(f"Epoch {e}, Loss: 0.5, Val Acc: {5200 + e}.5%\n" for e in range(4)))

    assert points(content, "eval/accuracy")[0][1] == 5200.5


def test_yolov5_prints_its_head_once(tmp_path: Path) -> None:
    """The colon in the head of YOLOv5's evaluation is no value, and its row does not end the table around it."""
    text = "     Epoch   gpu_mem       box       obj       cls    labels  img_size\n"
    for epoch in (0, 1):
        text += f"      {epoch}/49     3.74G     0.0{epoch + 5}    0.0301     0.002        12       640: 100% 78/78 [00:24<00:00]\n"
        text += "               Class     Images     Labels          P          R     mAP@.5 mAP@.5:.95: 100% 9/9 [00:03<00:00]\n"
        text += f"                 all        265        301      0.7      0.6      0.5      0.2{epoch}\n"
    content = read(tmp_path, text)

    assert points(content, "train/loss/box") == [(0, 0.05), (1, 0.06)]
    assert points(content, "eval/map") == [(0, 0.2), (1, 0.21)]


def test_all_settings_in_one_line(tmp_path: Path) -> None:
    """Ultralytics prints its arguments as `name=value, ...`: lr0 there is a setting and no point of a curve."""
    line = "engine/trainer: task=detect, mode=train, model=yolov8s.pt, epochs=100, time=None, batch=10, save=True"
    row = "epoch=3, step=40, loss=0.5, acc=0.7, lr=0.01, a=1, b=2, c=3, d=True\n"
    content = read(
        tmp_path, line + ", device=None, optimizer=SGD, amp=True, lr0=0.01, momentum=0.937\n" + row
    )

    assert {"amp": True, "batch": 10, "lr0": 0.01}.items() <= {
        s.key: s.value for s in content.settings
    }.items()
    assert points(content, "learning_rate") == [(40, 0.01)]


def test_coco_summary(tmp_path: Path) -> None:
    """Of COCO's rows only those over all sizes count, and what IoU= gives is no metric."""
    rows = [("0.50:0.95", "   all", 0.348), ("0.50     ", "   all", 0.872), ("0.50:0.95", " small", 0.1)]
    text = "step 10 loss 2.0\n" + "".join(
        f" Average Precision  (AP) @[ IoU={iou} | area={area} | maxDets=100 ] = {v}\n"
        for iou, area, v in rows
    )
    content = read(tmp_path, text)

    assert points(content, "eval/map") == [(10, 0.348)] and points(content, "eval/map50") == [(10, 0.872)]
    assert names(content) == {"train/loss", "eval/map", "eval/map50"}


def test_darknet_nan_of_a_layer_without_objects(tmp_path: Path) -> None:
    """darknet prints -nan for a layer that saw no object: no metric."""
    text = " 1: 806.5, 806.5 avg loss, 0.0 rate, 3.5 seconds, 64 images\nRegion 82 Avg IOU: -nan, Class: 0.4, Obj: 0.5, count: 0\n"

    assert names(read(tmp_path, text)) == {"train/loss", "learning_rate"}


def test_the_platform_of_the_interpreter_is_no_device(tmp_path: Path) -> None:
    """mmengine's report of the machine names the operating system, not what it trains on."""
    text = "System environment:\n    sys.platform: linux\n    Python: 3.11.7\n    seed: 7\n"
    text += "".join(f"Epoch(train) [1][{k}/63]  lr: 2.0e-02  loss: {2 - k / 99:.4f}\n" for k in range(1, 9))

    assert "sys.platform" not in {s.key for s in read(tmp_path, text).settings}


@pytest.mark.parametrize(
    "line",
    [
        "第{i}轮 训练损失: {a} 验证损失: {b} 验证准确率: 0.{i}5",
        "第 [{i}/9] 轮，训练集loss：{a}，验证集loss：{b}，验证集准确率：{i}5.00%",
        "INFO:root:第{i}个epoch 训练损失={a} 验证损失={b} 验证精度=0.{i}5",
        "Epoch [{i}/9]，训练平均损失：{a}；验证平均损失：{b}；验证集acc：0.{i}5",
    ],
)
def test_chinese(tmp_path: Path, line: str) -> None:
    """Words for losses and metrics, numbered epochs and full-width signs."""
    content = read(tmp_path, "".join(line.format(i=i, a=2 / i, b=2.1 / i) + "\n" for i in range(1, 10)))

    at = range(1, 10)
    assert points(content, "train/loss") == [(i, 2 / i) for i in at]
    assert points(content, "eval/loss") == [(i, 2.1 / i) for i in at]
    assert [v for _, v in points(content, "eval/accuracy")] == pytest.approx([i / 10 + 0.05 for i in at])
    assert curve(content, "train/loss").unit == "epoch"
    assert any("Chinese" in note for note in content.notes)


@pytest.mark.parametrize(
    "prefix",
    [
        "INFO:root:",
        "INFO:__main__:",
        "DEBUG:my.module: ",
        "2024-05-01T10:01:07.123456789Z stdout F ",
        "trainer_1  | INFO:root:",
        "2024-05-01 10:01:07,123 - INFO:root:",
    ],
)
def test_prefixes_of_logging_and_containers(tmp_path: Path, prefix: str) -> None:
    """What stands before a message hides neither steps nor epochs."""
    text = "".join(f"{prefix}Epoch 0 step {i} loss {2 / i:.4f}\n" for i in range(1, 9))
    assert [s for s, _ in points(read(tmp_path, text), "train/loss")] == list(range(1, 9))

    text = "".join(f"{prefix}loss: {2 / i:.4f}\n" for i in range(1, 9))
    assert len(points(read(tmp_path, text), "train/loss")) == 8


def test_the_bar_of_the_only_epoch_is_a_curve(tmp_path: Path) -> None:
    """A fine-tuning of one epoch: what its bar showed is all there is; of several, each ends in a point."""
    states = [f"{i}%|##| {i * 10}/90 [00:01<00:02, 3.1it/s, loss={2 / i:.3f}]" for i in range(1, 10)]
    content = read(tmp_path, "Epoch 1/1\n\r" + "\r".join(states) + "\n")
    assert points(content, "train/loss") == [(10 * i, round(2 / i, 3)) for i in range(1, 10)]
    assert any("progress bar" in note for note in content.notes)

    several = read(tmp_path, "".join(f"Epoch {e}/3\n\r" + "\r".join(states) + "\n" for e in range(1, 4)))
    assert points(several, "train/loss") == [(e, 0.222) for e in range(1, 4)]


def _bars(losses: list[list[float]], end: str = "\n") -> str:
    """A bar for each epoch, drawn anew every 10 of 80 batches."""
    state = "Epoch {e}/{n}: {p}%|##| {i}/80 [00:01<00:02, 3.1it/s, loss={x:.4f}, lr={r:.2e}]"
    drawn = [
        state.format(e=e, n=len(losses), p=10 * i, i=10 * i, x=x, r=0.1 / (8 * e + i))
        for e, epoch in enumerate(losses, 1)
        for i, x in enumerate(epoch, 1)
    ]
    summary = [f"epoch {e}: train loss {sum(x) / len(x):.4f}" for e, x in enumerate(losses, 1)]
    lines = [[*drawn[8 * e : 8 * e + 8], summary[e]] for e in range(len(losses))]
    return "".join(end.join(rows[:-1]) + "\n" + rows[-1] + "\n" for rows in lines)


@pytest.mark.parametrize("end", ["\n", "\r"])
def test_bars_that_show_the_loss_of_the_batch_are_the_curve(tmp_path: Path, end: str) -> None:
    wave = (0.3, -0.2, 0.25, -0.35, 0.1, -0.15, 0.3, -0.25)
    losses = [[2 / (1 + e + i / 8) + wave[i] for i in range(8)] for e in range(4)]
    content = read(tmp_path, _bars(losses, end))
    found = points(content, "train/loss")

    assert len(found) == 32
    assert found[0] == (10, pytest.approx(losses[0][0], abs=1e-4))
    assert found[-1] == (320, pytest.approx(losses[3][7], abs=1e-4))
    assert len(curve(content, "learning_rate")) == 32
    assert any("progress bar" in note for note in content.notes)


def test_a_bar_that_is_told_more_often_than_it_counts(tmp_path: Path) -> None:
    """tqdm's set_postfix draws the bar at once, its count moves ten times a second: a state is a batch."""
    wave = (0.3, -0.2, 0.25, -0.35, 0.1, -0.15, 0.3, -0.25)
    state = "\rEpoch {e}: {p}%|##| {at}/8 [00:00<00:00, 99it/s, loss={x:.4f}]"
    text = ""
    for e in range(4):
        losses = [2 / (1 + e + i / 8) + wave[i] for i in range(8)]
        text += "".join(state.format(e=e, p=50 * (i > 4), at=4 * (i > 4), x=x) for i, x in enumerate(losses))
        text += state.format(e=e, p=100, at=8, x=losses[-1]) + "\n"
    found = points(read(tmp_path, text), "train/loss")

    assert [at for at, _ in found] == list(range(32))
    assert found[9][1] == pytest.approx(2 / (2 + 1 / 8) - 0.2, abs=1e-4)

    fewer = "\r".join(line for line in text.split("\r") if " 0/8" not in line or "0%" not in line)
    assert len(points(read(tmp_path, fewer), "train/loss")) == 4


def test_bars_that_show_the_mean_of_the_epoch_are_no_curve(tmp_path: Path) -> None:
    """Each epoch would begin with a leap; the learning rate beside it is one of the moment all the same."""
    wave = (0.3, -0.2, 0.25, -0.35, 0.1, -0.15, 0.3, -0.25)
    batches = [[2 / (1 + e + i / 8) + wave[i] for i in range(8)] for e in range(4)]
    means = [[sum(b[: i + 1]) / (i + 1) for i in range(8)] for b in batches]
    content = read(tmp_path, _bars(means))

    assert len(points(content, "train/loss")) == 4
    assert len(curve(content, "learning_rate")) == 32


def test_a_bar_of_an_evaluation_is_no_part_of_the_training_curve(tmp_path: Path) -> None:
    wave = (0.3, -0.2, 0.25, -0.35, 0.1, -0.15, 0.3, -0.25)
    epochs = _bars([[2 / (1 + e) + w for w in wave] for e in range(3)]).split("epoch 1:")
    held = "".join(f"  {i}%|##| {i}/8 [00:01<00:02, 3.1it/s, loss=9.{i}]\n" for i in range(1, 9))
    content = read(tmp_path, epochs[0] + held + "epoch 1:" + epochs[1])

    assert len(points(content, "train/loss")) == 24
    assert max(x for _, x in points(content, "train/loss")) < 9


def test_a_bar_that_names_the_global_step(tmp_path: Path) -> None:
    """NeMo redraws one line: each state is a step of its own, the same step drawn twice is one."""
    bar = "\rEpoch 0: : {i}%|##| {i}/9 [00:01<00:09, reduced_train_loss={a:.3f}, global_step={i}.00]"
    text = "".join(bar.format(i=i, a=9 / i) * (1 + (i < 9)) for i in range(1, 10)) + "\n"
    content = read(tmp_path, text)

    assert points(content, "train/loss") == [(i, round(9 / i, 3)) for i in range(1, 10)]


def test_the_first_table_of_yolov5(tmp_path: Path) -> None:
    head = "     Epoch   gpu_mem       box       obj       cls    labels  img_size\n"
    row = (
        "     {i}/8     1.96G   0.1{i}   0.05{i}   0.01{i}   45   640: 100%|##| 8/8 [00:05<00:00,  1.5it/s]\n"
    )
    content = read(tmp_path, "".join(head + row.format(i=i) for i in range(9)))

    assert points(content, "train/loss/box")[:2] == [(0, 0.1), (1, 0.11)]
    assert {"train/loss/obj", "train/loss/cls"} <= names(content)


def test_gbk_of_chinese_windows(tmp_path: Path) -> None:
    text = "".join(f"第{i}轮 训练损失: {2 / i} 学习率: 0.01\n" for i in range(1, 10))
    content = read(tmp_path, text.encode("gbk"))

    assert points(content, "train/loss") == [(i, 2 / i) for i in range(1, 10)]
    assert len(curve(content, "learning_rate")) == 9


def test_a_table_with_commented_names(tmp_path: Path) -> None:
    content = read(tmp_path, "# step loss acc\n" + "".join(f"{i * 10} {2 / i} 0.{i}\n" for i in range(1, 9)))

    assert points(content, "train/loss") == [(10 * i, 2 / i) for i in range(1, 9)]


def test_a_scaler_that_speaks_chinese(tmp_path: Path) -> None:
    """Loss scale and overflow by their Chinese names; a sentence that tells of a skipped step is an event."""
    text = "".join(
        f"步数: {k}/40, 损失: {3 / k:.3f}, 学习率: 0.01, 损失缩放: {65536 // k}.0, 是否溢出: {'是' if k == 20 else '否'}\n"
        for k in (10, 20, 30, 40)
    )
    content = read(tmp_path, text + "检测到梯度溢出，跳过该步\n")

    assert points(content, "loss_scale") == [(k, float(65536 // k)) for k in (10, 20, 30, 40)]
    assert [v for _, v in points(content, "overflow")] == [0, 1, 0, 0]
    assert "overflow" in {e.kind for e in content.events}


def test_more_chinese_names_of_places(tmp_path: Path) -> None:
    """ "当前步" is a step, "训练轮次" an epoch, "loss值" the loss."""
    text = "".join(
        f"训练轮次: {k // 10 + 1}, 当前步: {k}, loss值: {3 / k:.3f}, 学习率: 0.01\n" for k in range(5, 30, 5)
    )
    content = read(tmp_path, text)

    assert points(content, "train/loss") == [(k, round(3 / k, 3)) for k in range(5, 30, 5)]


def test_the_ranks_of_mpirun(tmp_path: Path) -> None:
    """Open MPI's --tag-output names job and rank: "[1,0]<stdout>:"."""
    text = "".join(
        f"[1,{r}]<stdout>:step {k} loss {r + 3 / k:.2f} lr 0.1\n" for k in (1, 2, 3) for r in (0, 1)
    )
    content = read(tmp_path, text)

    assert points(content, "train/loss", 1) == [(1, 4.0), (2, 2.5), (3, 2.0)]
    assert points(content, "train/loss", 0) == [(1, 3.0), (2, 1.5), (3, 1.0)]


def _logged(*lines: str) -> str:
    return "".join(f"[2026/03/01 12:00:{i:02d}] ppcls INFO: {line}\n" for i, line in enumerate(lines))


PADDLE = (
    "Arch : ",
    "    class_num : 5",
    "    name : ResNet18",
    "DataLoader : ",
    "    Eval : ",
    "        sampler : ",
    "            batch_size : 64",
    "            shuffle : False",
    "    Train : ",
    "        sampler : ",
    "            batch_size : 32",
    "            shuffle : True",
    "Optimizer : ",
    "    lr : ",
    "        learning_rate : 0.1",
    "        name : Cosine",
    "    name : Momentum",
    "profiler_options : None",
    "train with paddle 2.5.1 and device cpu",
)


def test_a_tree_logged_line_by_line(tmp_path: Path) -> None:
    """Each entry keeps the sections that it stands in: another's `name` or `shuffle` is not the training's."""
    row = "[Train][Epoch 1/2][Iter: 0/40]lr(LinearWarmup): 0.1, top1: 0.25, CELoss: 1.6, loss: 1.6"
    content = read(tmp_path, _logged(*PADDLE, row))
    found = {s.key: (s.value, s.line) for s in content.settings}

    assert found["Optimizer.name"] == ("Momentum", 17)
    assert found["Optimizer.lr.name"] == ("Cosine", 16)
    assert found["DataLoader.Eval.sampler.shuffle"] == (False, 8)
    assert found["DataLoader.Train.sampler.shuffle"] == (True, 12)
    assert "shuffle" not in found and "name" not in found
    assert points(content, "train/loss") == [(0, 1.6)]


def test_results_below_a_heading_are_no_settings(tmp_path: Path) -> None:
    """What is measured under a heading stays a row; a heading with nothing farther in begins nothing."""
    lines = ["Validation : "]
    for epoch in range(1, 4):
        lines += ["Results : ", f"    epoch: {epoch}, loss: {2 - 0.1 * epoch:.1f}, accuracy: 0.{epoch}"]
    content = read(tmp_path, _logged("seed : 3", *lines))

    assert [v for _, v in points(content, "train/loss")] == [1.9, 1.8, 1.7]
    assert {s.key: s.value for s in content.settings} == {"seed": 3}


def test_a_name_that_ends_in_seconds_by_steps_is_no_keras(tmp_path: Path) -> None:
    """verl logs `timing_s/step:95.2` beside everything else."""
    rows = [
        f"step:{i} - actor/pg_loss:0.{i} - critic/rewards/mean:0.{i} - timing_s/step:95.2"
        for i in range(1, 6)
    ]
    content = read(tmp_path, "\n".join(rows) + "\n")

    assert content.facts.get("framework") != "keras"
    assert len(points(content, "train/reward")) == 5


@pytest.mark.parametrize(
    ("line", "known"),
    [
        ("dp world size: 1, tp world size: 8", None),
        ("data parallel world size = 1", None),
        ("sequence_parallel_world_size=1", None),
        ("LOCAL_WORLD_SIZE=1", None),
        ("Initialized: world_size=8, rank=0", 8),
        ("setup world size: 4", 4),
    ],
)
def test_world_sizes_of_a_part(tmp_path: Path, line: str, known: int | None) -> None:
    """How many processes share the data or the model is not how many train."""
    assert read(tmp_path, f"{line}\nstep 1 loss 2.0\nstep 2 loss 1.9\n").facts.get("world_size") == known


def test_the_last_line_of_trainer_holds_no_settings(tmp_path: Path) -> None:
    """Transformers 5 prints its figures as texts."""
    text = "".join(
        f"{{'loss': '{2 / i:.3f}', 'learning_rate': '1e-4', 'epoch': '{i}'}}\n" for i in range(1, 9)
    )
    text += (
        "{'train_runtime': '33.2', 'train_samples_per_second': '1.2', 'train_loss': '1.75', 'epoch': '8'}\n"
    )
    content = read(tmp_path, text)

    assert len(points(content, "train/loss")) == 8
    assert not [s.key for s in content.settings if s.key.startswith("train_")]


def test_bars_of_files_among_hugging_face_rows(tmp_path: Path) -> None:
    """Without a bar of the training, those of the shards of a checkpoint count no steps."""
    text = ""
    for i in range(1, 13):
        text += f"{{'loss': '{3.0 / i:.4g}', 'learning_rate': '5e-05', 'epoch': '{i / 4:.4g}'}}\n"
        if i % 4 == 0:
            text += f"{{'eval_loss': '{3.1 / i:.4g}', 'eval_runtime': '0.05', 'epoch': '{i // 4}'}}\n"
            text += "Writing model shards:   0%|          | 0/1 [00:00<?, ?it/s]\r"
            text += "Writing model shards: 100%|##########| 1/1 [00:00<00:00, 264.24it/s]\n"
    content = read(tmp_path, text)

    assert [at for at, _ in points(content, "train/loss")] == [i / 4 for i in range(1, 13)]
    assert [at for at, _ in points(content, "eval/loss")] == [1.0, 2.0, 3.0]
