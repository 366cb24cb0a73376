"""Lines of much-used programs that name their numbers in ways of their own, written in their style."""

# ruff: noqa: E501  (the lines of logs are as long as they are)
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from traindoctor.probes.readers.text import known_lines

from ._text import curve, events, names, points, read

ROWS = range(1, 13)


def falling(i: int, start: float = 2.4) -> float:
    return start / (1 + i / 6)


def rising(i: int) -> float:
    return 0.9 - 0.7 / i


def lines(row: Callable[[int], str]) -> str:
    return "\n".join(map(row, ROWS)) + "\n"


def test_terms_without_the_word_loss(tmp_path: Path) -> None:
    """CycleGAN's numbers behind the clock are losses, whatever they are called."""
    content = read(
        tmp_path,
        lines(
            lambda i: (
                f"(epoch: {1 + i // 5}, iters: {100 * (i % 5 + 1)}, time: 0.3{i}, data: 0.001) "
                f"D_A: {falling(i):.3f} G_A: {falling(i):.3f} cycle_A: {falling(i):.3f} "
            )
        ),
    )

    assert {"train/loss/d_a", "train/loss/g_a", "train/loss/cycle_a"} <= names(content)


def test_marian_names_updates_and_cost(tmp_path: Path) -> None:
    """The update is the step, the cost the loss; the cross-entropy of its validation is a sum and is left out."""
    content = read(
        tmp_path,
        lines(
            lambda i: (
                f"[2020-05-01 10:11:{i:02d}] Ep. 1 : Up. {i * 500} : Sen. {i * 10000:,d} : "
                f"Cost {falling(i, 9):.8f} : Time 30.12s : 4000.12 words/s : L.r. 1.0000e-04"
                if i % 4
                else f"[2020-05-01 10:11:{i:02d}] [valid] Ep. 1 : Up. {i * 500} : cross-entropy : {falling(i, 150):.3f}"
                f" : new best\n[2020-05-01 10:11:{i:02d}] [valid] Ep. 1 : Up. {i * 500} : bleu : {rising(i):.3f} : new best"
            )
        ),
    )

    assert points(content, "train/loss")[0] == (500.0, pytest.approx(falling(1, 9)))
    assert "eval/bleu" in names(content) and "eval/loss" not in names(content)


def test_wenet_counts_epoch_and_batch(tmp_path: Path) -> None:
    """TRAIN is training, CV held out; "Batch 3/100" is the hundredth batch of epoch 3."""
    content = read(
        tmp_path,
        lines(
            lambda i: (
                f"2021-07-01 10:11:{i:02d},123 DEBUG TRAIN Batch {i // 4}/{(i % 4) * 100} loss {falling(i, 200):.6f} "
                f"loss_att {falling(i, 150):.6f} loss_ctc {falling(i, 250):.6f} lr 0.00012345 rank 0"
                + (
                    f"\n2021-07-01 10:11:{i:02d},123 DEBUG CV Batch {i // 4}/0 loss {falling(i, 210):.6f} loss_att 1.5 rank 0"
                    f"\n2021-07-01 10:11:{i:02d},123 INFO Epoch {i // 4} CV info cv_loss {falling(i, 210):.4f}"
                    if i % 4 == 3
                    else ""
                )
            )
        ),
    )

    assert len(curve(content, "train/loss")) == 12
    assert "eval/loss" in names(content)
    assert "train/loss/cv_info_cv" not in names(content)


def test_the_step_between_name_and_value(tmp_path: Path) -> None:
    """`Train loss 12 0.51 Grad Norm 1.2`: twelve is no loss."""
    content = read(
        tmp_path,
        lines(
            lambda i: (
                f"Train loss {i} {falling(i):.6f} Grad Norm {1 + i / 100:.6f} 1.23s/it"
                if i % 4
                else f"Validation loss {i}: {falling(i, 2.5):9f}"
            )
        ),
    )

    assert points(content, "train/loss")[0] == (1.0, pytest.approx(falling(1), abs=1e-5))
    assert points(content, "eval/loss")[0] == (4.0, pytest.approx(falling(4, 2.5), abs=1e-5))
    assert len(curve(content, "grad_norm")) == 9


def test_results_of_yolov5_before_names(tmp_path: Path) -> None:
    """Fifteen columns whose order is that of its training script."""
    row = "{:>9}/9 0.489G 0.05 0.02 0.01 0.08 10 640 0.7 0.6 0.5 0.3 0.04 0.03 0.02\n"
    content = read(tmp_path, "".join(row.format(i) for i in range(4)))

    assert points(content, "train/loss") == [(i, 0.08) for i in range(4)]
    assert points(content, "eval/map")[0] == (0, 0.3)
    assert points(content, "eval/loss/cls")[0] == (0, 0.02)


def test_terms_of_a_variational_autoencoder(tmp_path: Path) -> None:
    """`recon` and `kl` in one line are terms of a loss; `kl` without it is none."""
    row = "====> Epoch {} | recon {:.2f} | kl {:.3f} | beta 1.0\n"
    content = read(tmp_path, "".join(row.format(i, 90 / i, i / 10) for i in range(1, 6)))

    assert points(content, "train/loss/kl")[-1] == (5, 0.5)
    assert points(content, "train/loss/recon")[0] == (1, 90.0)


def test_the_best_iteration_is_no_resume(tmp_path: Path) -> None:
    """LightGBM says the row of its best iteration again at the end."""
    row = "[{}]\ttraining's auc: 0.9{}\tvalid_1's auc: 0.8{}\n"
    text = "".join(row.format(i, i, i) for i in range(10, 50, 10))
    content = read(tmp_path, text + "Early stopping, best iteration is:\n" + row.format(20, 20, 20))

    assert [step for step, _ in points(content, "train/auc")] == [10.0, 20.0, 30.0, 40.0]


def test_boosted_trees(tmp_path: Path) -> None:
    """LightGBM names its metric; CatBoost does not, and what falls while it learns is a loss."""
    light = read(
        tmp_path,
        lines(
            lambda i: (
                f"[{i}]\ttraining's binary_logloss: {falling(i):.4f}\tvalid_1's binary_logloss: {falling(i):.4f}"
            )
        ),
    )
    cat = read(
        tmp_path,
        lines(
            lambda i: (
                f"{i}:\tlearn: {falling(i):.7f}\ttest: {falling(i):.7f}\tbest: {falling(i):.7f} ({i})\ttotal: {i}ms"
                "\tremaining: 4s"
            )
        ),
    )

    assert {"train/loss", "eval/loss"} <= names(light)
    assert {"train/loss", "eval/loss"} <= names(cat)


def test_a_rising_score_of_boosted_trees_is_no_loss(tmp_path: Path) -> None:
    """CatBoost with another metric prints the same lines: they stay unread."""
    text = "loss 1.0 step 1\nloss 0.9 step 2\nloss 0.8 step 3\n" + lines(
        lambda i: (
            f"{i}:\tlearn: {rising(i):.7f}\ttest: {rising(i):.7f}\tbest: {rising(i):.7f} ({i})\ttotal: {i}ms"
        )
    )

    assert "eval/loss" not in names(read(tmp_path, text))


def test_minutes_step_and_loss(tmp_path: Path) -> None:
    """The tutorial on translation prints a loss without a name."""
    content = read(
        tmp_path, lines(lambda i: f"{i}m {i}s (- {20 - i}m 3s) ({i * 1000} {i}%) {falling(i):.4f}")
    )

    assert points(content, "train/loss")[-1] == (12000.0, pytest.approx(falling(12), abs=1e-4))


def test_lists_of_terms(tmp_path: Path) -> None:
    """DeepXDE prints the terms of training and test; their sums are the losses."""
    content = read(
        tmp_path,
        "Step      Train loss              Test loss               Test metric\n"
        + lines(
            lambda i: f"{i * 1000:<9d} [{falling(i):.2e}, 1.00e-01]    [{falling(i):.2e}, 2.00e-01]    []"
        ),
    )

    assert points(content, "train/loss")[0] == (1000.0, pytest.approx(falling(1) + 0.1, rel=0.01))
    assert points(content, "eval/loss")[0] == (1000.0, pytest.approx(falling(1) + 0.2, rel=0.01))


def test_short_names_of_losses(tmp_path: Path) -> None:
    """BasicSR's `l_pix` is a loss, its `# psnr:` the metric of the validation."""
    content = read(
        tmp_path,
        lines(
            lambda i: (
                f"2021-05-01 10:11:{i:02d},123 INFO: [001_M..][epoch:{i:3d}, iter:{i * 1000:8,d}, lr:(2.000e-04,)] "
                f"[eta: 1 day, 2:03:04, time (data): 0.123 (0.002)] l_pix: {falling(i, 0.1):.4e} \n"
                f"2021-05-01 10:11:{i:02d},223 INFO: Validation Set5\n\t # psnr: {30 + i / 10:.4f}\tBest: 31.2 @ 5000 iter"
            )
        ),
    )

    assert [p[0] for p in points(content, "train/loss/pix")] == [1000.0 * i for i in ROWS]
    assert [v for _, v in points(content, "eval/psnr")][:2] == [30.1, 30.2]


def test_summaries_in_capitals(tmp_path: Path) -> None:
    """` * LOSS - 3.1, TOP-5 ACCURACY - 71.2` sums up an evaluation."""
    content = read(
        tmp_path,
        lines(
            lambda i: (
                f"Epoch: [{i}][0/3000]\tBatch Time 0.3 (0.3)\tLoss {falling(i):.4f} ({falling(i):.4f})\n"
                f" * LOSS - {falling(i):.3f}, TOP-5 ACCURACY - {100 * rising(i):.3f}, BLEU-4 - 0.2"
            )
        ),
    )

    assert {"train/loss", "eval/loss"} <= names(content)
    assert len(curve(content, "eval/loss")) == 12


def test_a_rate_that_is_told_in_words(tmp_path: Path) -> None:
    """`Updating learning rate to 5e-05`, once an epoch."""
    content = read(
        tmp_path,
        lines(
            lambda i: (
                f"Epoch: {i}, Steps: 30 | Train Loss: {falling(i):.4f} Vali Loss: {falling(i):.4f}\n"
                f"Updating learning rate to {1e-4 / 2**i}"
            )
        ),
    )

    assert len(curve(content, "learning_rate")) == 12


def test_curled_quotes(tmp_path: Path) -> None:
    """A log that went through a program for texts."""
    content = read(
        tmp_path,
        lines(
            lambda i: f"{{‘loss’: {falling(i):.4f}, ‘learning_rate’: {1e-4 / i:.3e}, ‘epoch’: {i / 4:.2f}}}"
        ),
    )

    assert {"train/loss", "learning_rate"} <= names(content)


@pytest.mark.parametrize(("share", "named"), [(rising, True), (lambda i: falling(i, 0.9), False)])
def test_scores_named_by_their_side_alone(tmp_path: Path, share: Callable[[int], float], named: bool) -> None:
    """`Loss: 1.2, Train: 0.81, Val: 0.74`: shares that rise are accuracies, those that fall are not known."""
    content = read(
        tmp_path,
        lines(
            lambda i: (
                f"Epoch: {i:03d}, Loss: {falling(i):.4f}, Train: {share(i):.4f}, Val: {share(i) - 0.02:.4f}, "
                f"Test: {share(i) - 0.03:.4f}"
            )
        ),
    )

    assert ({"train/accuracy", "eval/accuracy"} <= names(content)) is named
    assert "train/loss" in names(content)


def test_two_counts_are_epoch_and_batch(tmp_path: Path) -> None:
    """`[3/25][150/782] Loss_D: 0.5`: the step is counted on over the epochs."""
    text = "".join(
        f"[{e}/3][{50 * k}/200] Loss_D: 0.{k}5 Loss_G: 2.{k}1 D(x): 0.61 D(G(z)): 0.21 / 0.12\n"
        for e in range(3)
        for k in range(4)
    )
    steps = [s for s, _ in points(read(tmp_path, text), "train/loss/d")]

    assert steps == sorted(set(steps)) and steps[-1] > 400


def test_an_epoch_with_its_total_and_a_bare_step(tmp_path: Path) -> None:
    """`[3/20][90] loss: 0.5`: the epochs have a total, the steps have none."""
    text = "".join(
        f"[{e}/20][{10 * k}] loss: {falling(e + k):.4f}\n" for e in range(1, 21) for k in range(10)
    )

    assert points(read(tmp_path, text), "train/loss")[-1][0] > 1000


def test_torchtitan_validates_on_lines_of_its_own(tmp_path: Path) -> None:
    """`validate step: 50 loss: 3.1` is no loss of training."""
    text = "".join(
        f"[titan] 2026-03-04 09:00:{i:02d},000 - root - INFO - {word}step: {i:2}  loss: {2 + 3 * bool(word):7.4f}"
        "  memory:  0.94GiB(1.19%)  tps: 31,000\n"
        for i in range(1, 60)
        for word in ("", "validate ")[: 1 + (i % 10 == 0)]
    )
    content = read(tmp_path, text)

    assert {v for _, v in points(content, "train/loss")} == {2.0}
    assert {v for _, v in points(content, "eval/loss")} == {5.0}


def test_times_are_no_steps(tmp_path: Path) -> None:
    """`Step: 21ms` and `Batch (t): 2.345` name durations."""
    text = "".join(
        f"Train Epoch: {e} [{512 * k}/2048 ({25 * k}%)] Data (t): 1.2{k} Batch (t): 2.3{k} LR: 0.0001"
        f" Logit Scale: 14.{k}86 Loss: {falling(4 * e + k):.4f}\n"
        for e in range(3)
        for k in range(4)
    )
    content = read(tmp_path, text)

    assert [s for s, _ in points(content, "train/loss")][:2] == [0.0, 512.0]
    assert "loss_scale" not in names(content)  # a temperature of the answers


def test_the_second_bar_of_an_epoch_is_the_evaluation(tmp_path: Path) -> None:
    """Bars that count at their end: training, then test."""
    text = "".join(
        f"\nEpoch: {e}\n [=====>]  Step: 21ms | Tot: 12s | Loss: {falling(e):.3f} | Acc: {100 * rising(e):.3f}%"
        f" (20000/50000) 391/391 \n [=====>]  Step: 10ms | Tot: 1s | Loss: {falling(e) + 0.1:.3f} | Acc:"
        f" {100 * rising(e) - 1:.3f}% (4000/10000) 100/100 \nSaving..\n"
        for e in range(1, 8)
    )
    content = read(tmp_path, text)

    assert [v for _, v in points(content, "train/loss")] == pytest.approx(
        [falling(e) for e in range(1, 8)], abs=1e-3
    )
    assert len(curve(content, "test/loss")) == 7


def test_names_in_one_word(tmp_path: Path) -> None:
    """`IDLoss=45.7,` is a loss."""
    content = read(
        tmp_path,
        lines(lambda i: f"Epoch[1] Batch[{i}] Speed: 300.1 samples/sec,  IDLoss={falling(i, 45):.3f},"),
    )

    assert "train/loss/id" in names(content)


def test_a_checkpoint_named_by_its_epoch_alone(tmp_path: Path) -> None:
    """`=> loaded checkpoint (epoch 83)` is a resume, though no file is named."""
    text = "Epoch: [82][0/10]\tLoss 1.5 (1.5)\n=> loaded checkpoint (epoch 83)\nEpoch: [83][0/10]\tLoss 3.5 (3.5)\n"

    assert [e.kind for e in events(read(tmp_path, text), "resume")] == ["resume"]


def test_places_behind_the_name(tmp_path: Path) -> None:
    """`Loss [3, 100](epoch, minibatch): 2.1`, and accuracies told in a sentence that names the images."""
    text = "".join(
        f"Loss [{e}, {100 * k}](epoch, minibatch):  {falling(e):.5f}\n"
        if k < 4
        else f"Accuracy on 50,000 train images: {100 * rising(e):.2f} %\nAccuracy on 10,000 test images: {90 * rising(e):.1f} %\n"
        for e in range(1, 9)
        for k in range(1, 5)
    )
    content = read(tmp_path, text)

    assert [v for _, v in points(content, "train/loss")][:3] == pytest.approx([falling(1)] * 3, abs=1e-4)
    assert len(curve(content, "train/accuracy")) == len(curve(content, "test/accuracy")) == 8
    assert "eval/loss" not in names(content) and "test/loss" not in names(content)


def test_nan_at_the_end_of_a_sentence(tmp_path: Path) -> None:
    """`train loss: nan. acc: 0.10`: the full stop is no part of the number."""
    content = read(
        tmp_path,
        lines(
            lambda i: (
                f"Epoch {i}, Batch 100, train loss: {falling(i) if i < 8 else float('nan'):.4f}. acc: 0.{i:02d}"
            )
        ),
    )

    assert [v == v for _, v in points(content, "train/loss")] == [True] * 7 + [False] * 5


@pytest.mark.parametrize(
    "line",
    [
        "2021-05-01 10:11:12,123 INFO: Set5\n\n\t # psnr: 30.12\tBest: 31.2 @ 5000 iter\n",
        "\n * LOSS - 3.1, TOP-5 ACCURACY - 71.2, BLEU-4 - 0.2\n\n",
        "1000      [1.00e-01, 2.00e-01]    [1.00e-01]    []\n\n",
    ],
)
def test_lines_stay_lines(line: str) -> None:
    """Empty lines around what is written out stand where they stood: places in the file are told by them."""
    data = line.encode() * 4
    written = known_lines.written_out(data, len(data))

    assert written != data
    assert [n for n, row in enumerate(data.split(b"\n")) if not row] == [
        n for n, row in enumerate(written.split(b"\n")) if not row
    ]


def test_a_number_within_a_name(tmp_path: Path) -> None:
    """Found in a public log: two lines of one shape, of which only the first is an accuracy that counts."""
    content = read(
        tmp_path,
        lines(
            lambda i: (
                f"2025-01-06 15:{i:02d}:15,292 INFO: Epoch: {i}/50, Iteration step: {1300 * i}, loss: {falling(i):.6f}\n"
                f"2025-01-06 15:{i:02d}:20,051 INFO: ==============Epoch: {i}/50,top 1 acc: {rising(i):.4f}==============\n"
                f"2025-01-06 15:{i:02d}:20,052 INFO: ==============Epoch: {i}/50,top 5 acc: {rising(i) + 0.05:.4f}=============="
            )
        ),
    )

    assert points(content, "train/loss")[1][0] == 2600
    assert [v for _, v in points(content, "train/accuracy")] == pytest.approx(
        [rising(i) for i in ROWS], abs=1e-4
    )


def test_the_score_of_an_episode_is_its_reward(tmp_path: Path) -> None:
    content = read(
        tmp_path, lines(lambda i: f"Episode: {i}, Score: {20 * i:.2f}, Average Score: {15 * i:.2f}")
    )

    assert [v for _, v in points(content, "train/reward")][:2] == [20, 40]


def test_a_warning_behind_an_unended_line(tmp_path: Path) -> None:
    """ssd.pytorch prints `end=' '`; what Python warns of is written behind it."""
    warning = (
        "/home/u/utils/augment.py:238: VisibleDeprecationWarning: Creating an ndarray from ragged nested sequences "
        "(which is a list-or-tuple of lists-or-tuples with different lengths or shapes) is deprecated. If you meant "
        "to do this, you must specify 'dtype=object' when creating the ndarray\n  mode = choice(options)"
    )
    content = read(
        tmp_path,
        lines(lambda i: f"timer: 0.3{i} sec.\niter {10 * i} || Loss: {falling(i):.4f} || {warning}"),
    )

    assert points(content, "train/loss")[0] == (10.0, pytest.approx(falling(1), abs=1e-4))


def test_a_count_behind_its_share_is_no_step(tmp_path: Path) -> None:
    """The training of spectral graph networks (M. Defferrard's cnn_graph)."""
    content = read(
        tmp_path,
        lines(
            lambda i: (
                f"step {30 * i} / 4000 (epoch 0.{i:02d} / 20):\n  learning_rate = 1.00e-03, loss_average = {falling(i):.2e}\n"
                f"  validation accuracy: {rising(i):.4f} ({round(6144 * rising(i))} / 6144), f1 (weighted): 0.44, loss: 1.8e+00"
            )
        ),
    )

    assert [at for at, _ in points(content, "eval/accuracy")][:3] == [30, 60, 90]


def test_what_a_line_tells_of_an_epoch_goes_before_its_bar(tmp_path: Path) -> None:
    """A bar whose description is the loss at hand, and a line of the same name for the epoch."""

    def epoch(i: int) -> str:
        bar = "\r".join(
            f"Train Loss: {falling(i) + 0.1 * k:.4f}: {14 * k:3d}%|{'#' * k:7s}| {k}/7 [00:0{k}<00:03,  1.60step/s]"
            for k in range(8)
        )
        return f"{bar}\n[{i}/100] Train Loss: {falling(i):.4f}, Valid Loss: {falling(i) + 0.2:.4f}"

    content = read(tmp_path, lines(epoch))
    told = [v for _, v in points(content, "train/loss")]

    assert told == pytest.approx([falling(i) for i in ROWS], abs=1e-4)
    assert [v for _, v in points(content, "eval/loss")] == pytest.approx([v + 0.2 for v in told], abs=2e-4)


def test_the_scale_that_the_guide_for_ascend_prints(tmp_path: Path) -> None:
    """A line of its own behind that of the loss: the scale at that step."""
    content = read(
        tmp_path,
        lines(
            lambda i: (
                f"INFO:tensorflow:loss = {falling(i):.5f}, step = {10 * i}\n"
                f">>> Current Loss Scale >>>  [{1024.0 / i:.1f}]"
            )
        ),
    )

    assert points(content, "loss_scale")[:2] == [(10.0, 1024.0), (20.0, 512.0)]


def test_precision_tool_tells_what_did_not_overflow(tmp_path: Path) -> None:
    """The callback of precision_tool, between the lines of the Estimator."""
    content = read(
        tmp_path,
        lines(
            lambda i: (
                f"INFO:tensorflow:loss = {falling(i):.5f}, step = {10 * i}\n"
                f"PrecisionTool: Train steps {10 * i}, loss_scale={1024.0 / i:.3f} / not_overflow_status={i != 2}"
            )
        ),
    )

    assert points(content, "loss_scale")[:2] == [(10.0, 1024.0), (20.0, 512.0)]
    assert [e.step for e in content.events if e.kind == "overflow"] == [20.0] or points(content, "overflow")[
        :2
    ]


def test_what_the_step_of_mindspore_returns(tmp_path: Path) -> None:
    """BERT's callback prints loss, overflow and loss scale as tensors."""
    content = read(
        tmp_path,
        lines(
            lambda i: (
                f"epoch: 1, current epoch percent: 0.{i:03d}, step: {i}, outputs are (Tensor(shape=[], "
                f"dtype=Float32, value= {falling(i, 9):.5f}), Tensor(shape=[], dtype=Bool, value= False), "
                f"Tensor(shape=[], dtype=Float32, value= {2.0**i:g}))"
            )
        ),
    )

    assert points(content, "train/loss")[0] == (1.0, pytest.approx(falling(1, 9), abs=1e-4))
    assert points(content, "loss_scale")[3] == (4.0, 16.0)


def test_the_token_counts_of_marian_are_no_loss(tmp_path: Path) -> None:
    """Marian prints of how many tokens its cost is, its rate, and its options before the first row."""
    options = (
        "[2026-03-04 10:00:00] [config] type: transformer\n[2026-03-04 10:00:00] [config] lr-warmup: 0\n"
    )
    content = read(
        tmp_path,
        options
        + lines(
            lambda i: (
                f"[2026-03-04 10:{i:02d}:00] Ep. 1 : Up. {500 * i} : Sen. 30,{i:03d} : Cost {falling(i, 9):.6f} * 850,112"
                f" @ 8,300 after {i},234,567 : Time 60.1s : 13000.1 words/s : gNorm 0.61 : L.r. {i / 1e5:.4e}"
            )
        ),
    )

    assert points(content, "train/loss")[1] == (1000.0, pytest.approx(falling(2, 9), abs=1e-5))
    assert points(content, "learning_rate")[2] == (1500.0, pytest.approx(3e-5))
    assert {s.key: s.value for s in content.settings}["type"] == "transformer"


@pytest.mark.parametrize("held", ["valid", "val_0", "dev", "eval_set", "validation"])
def test_lightgbm_by_the_names_of_its_sets(tmp_path: Path, held: str) -> None:
    """Whoever trains names the sets."""
    content = read(
        tmp_path,
        lines(lambda i: f"[{10 * i}]\ttraining's rmse: {falling(i):.4f}\t{held}'s rmse: {falling(i, 3):.4f}"),
    )

    assert {"train/rmse", "eval/rmse"} <= names(content)


def test_composers_rate_is_called_after_its_optimizer(tmp_path: Path) -> None:
    content = read(
        tmp_path,
        lines(
            lambda i: (
                f"[batch={20 * i}/4800]:\n\t Train time/batch: {20 * i - 1}\n\t Train loss/train/total: {falling(i):.4f}"
                f"\n\t Train lr-DecoupledAdamW/group0: {i / 1e4:.6g}"
            )
        ),
    )

    assert [v for _, v in points(content, "learning_rate")][:2] == [1e-4, 2e-4]


@pytest.mark.parametrize("written", ["np.float32({:.4f})", "{:.4f}"])
def test_scores_of_each_class_of_nnunet(tmp_path: Path, written: str) -> None:
    """The list of nnU-Net holds a score for each class; their mean is the score."""
    content = read(
        tmp_path,
        lines(
            lambda i: (
                f"Epoch {i}\ntrain_loss {-rising(i):.4f}\nval_loss {-rising(i) / 2:.4f}\n"
                f"Pseudo dice [{written.format(rising(i))}, {written.format(0.0)}]"
            )
        ),
    )

    assert points(content, "eval/dice")[-1][1] == pytest.approx(rising(12) / 2, abs=1e-3)
    assert points(content, "eval/dice/2")[-1][1] == 0.0


def test_the_models_that_autogluon_fits(tmp_path: Path) -> None:
    """Each has a score; errors are told with a minus and are left out."""
    row = "Fitting model: M{} ...\n\t{:.4f}\t = Validation score   ({})\n\t2.1s\t = Training   runtime"
    assert points(read(tmp_path, lines(lambda i: row.format(i, rising(i), "roc_auc"))), "eval/auc")[0][1] > 0
    errors = lines(
        lambda i: row.format(i, -falling(i), "-root_mean_squared_error") + f"\nepoch {i} loss {falling(i)}"
    )
    assert "eval/rmse" not in names(read(tmp_path, errors))


def test_the_overlaps_of_torchvisions_classes(tmp_path: Path) -> None:
    """The first of a list is that of the background, and not the mean."""
    content = read(
        tmp_path,
        lines(
            lambda i: (
                f"Epoch: [{i}]  [ 0/20]  lr: 0.01  loss: {falling(i):.4f} ({falling(i):.4f})\nglobal correct: 97.2\n"
                f"average row correct: ['99.9', '0.0']\nIoU: ['97.2', '0.0']\nmean IoU: 48.6"
            )
        ),
    )

    assert points(content, "eval/iou")[-1][1] == pytest.approx(48.6)
    assert (points(content, "eval/iou/0")[-1][1], points(content, "eval/iou/1")[-1][1]) == (0.972, 0.0)


TURNED = """         count     mean      std   min   25%   50%   75%    max
age     3000.0    49.19    18.01  18.0  34.0  50.0  65.0   79.0
income  3000.0 49889.45 {:8.2f} 3006.0 20761.0 35244.0 62601.0 491766.0
score   3000.0     0.50     0.29   0.0   0.26  0.51  0.75  1.00
"""
STRAIGHT = """       age     income  \\
count  3.0     3.0
mean   49.1    49889.45
std    18.01   {:.2f}
min    18.0    3006.0

      score   years
count 3.0 3.0
mean  0.5 9.4
std   0.29 5.80
min   0.0 0.0
"""


@pytest.mark.parametrize("table", [TURNED, STRAIGHT])
@pytest.mark.parametrize(("deviation", "told"), [(46078.60, 1), (95.0, 0)])
def test_columns_of_a_described_table(tmp_path: Path, table: str, deviation: float, told: int) -> None:
    """Columns that deviate a thousand times as much as others are an event."""
    content = read(
        tmp_path, table.format(deviation) + lines(lambda i: f"Iteration {i}, loss = {falling(i, 14):.5f}")
    )

    found = [e for e in events(content, "worked-out") if e.data == "columns-apart"]
    assert len(found) == told
    assert all("score" in e.text and "income" in e.text for e in found)


def test_tesseract_counts_training_steps_second(tmp_path: Path) -> None:
    """Of its three counters the second is of steps; the error of characters is in percent."""
    content = read(
        tmp_path,
        lines(
            lambda i: (
                f"At iteration {80 * i}/{100 * i}/{104 * i}, mean rms={falling(i):.3f}%, delta=1.3%, "
                f"BCER train={10 * falling(i):.3f}%, BWER train=45.1%, skip ratio=0.0%,  wrote checkpoint.\n"
            )
        ),
    )
    assert curve(content, "train/wer").steps[:2].tolist() == [100, 200]


def test_object_detection_tells_all_twice(tmp_path: Path) -> None:
    """TensorFlow's API prints the step above, the losses over lines, and both by two loggers."""

    def row(i: int) -> str:
        told = f"{{'Loss/box_loss': {falling(i):.4f},\n 'Loss/total_loss': {2 * falling(i):.4f},\n 'learning_rate': 0.04}}"
        stamp = "I0813 13:07:28.326545 139687560058752 model_lib_v2.py"
        step = f"Step {100 * i} per-step time 0.561s"
        return f"INFO:tensorflow:{step}\n{stamp}:700] {step}\nINFO:tensorflow:{told}\n{stamp}:701] {told}"

    found = curve(read(tmp_path, lines(row)), "train/loss/total")
    assert found.steps.tolist() == [100.0 * i for i in ROWS]


def test_open_clip_rate_and_zero_shot(tmp_path: Path) -> None:
    """The unit of the speed is no part of the rate's name, and the data set none of the accuracy's."""

    def row(i: int) -> str:
        return (
            f"2023-04-21,12:03:13 | INFO | Train Epoch: {i} [  16384/3200000 (1%)] Data (t): 0.9 Batch (t): 1.6, "
            f"119.065/s, 3.72078/s/gpu LR: 0.0001{i} Logit Scale: 14.286 Contrastive_loss: {falling(i):.4f} Loss: {falling(i):.4f}\n"
            f"2023-04-21,12:09:13 | INFO | Eval Epoch: {i} imagenet-zeroshot-val-top1: {rising(i):.4f}\timagenet-zeroshot-val-top5: 0.9"
        )

    content = read(tmp_path, lines(row))
    assert len(curve(content, "learning_rate")) == len(ROWS)
    assert len(curve(content, "eval/accuracy")) == len(ROWS)


def test_mmengine_counts_iterations(tmp_path: Path) -> None:
    """Where no epochs are counted the count in brackets is that of the training."""
    row = "2025/03/14 10:00:07 - mmengine - INFO - Iter(train) [{:6d}/600]  lr: 1.0e-02  eta: 0:11:01  time: 0.2  loss: {:.4f}"
    found = curve(read(tmp_path, lines(lambda i: row.format(50 * i, falling(i)))), "train/loss")
    assert found.steps.tolist() == [50.0 * i for i in ROWS]


def test_gluonts_tells_both_losses_alike(tmp_path: Path) -> None:
    """Both are called metrics of evaluation, one of them is that of training."""
    row = "INFO:gluonts.trainer:Epoch[{0}] Evaluation metric '{1}epoch_loss'={2:.4f}"
    text = lines(
        lambda i: row.format(i, "", falling(i)) + "\n" + row.format(i, "validation_", 2 * falling(i))
    )
    content = read(tmp_path, text)
    assert curve(content, "eval/loss").values[0] == pytest.approx(
        2 * curve(content, "train/loss").values[0], rel=1e-3
    )


def test_paddleseg_prints_overlaps_of_classes_below_their_name(tmp_path: Path) -> None:
    """An array of numpy, its numbers parted by blanks, the background's first."""
    row = (
        "2025-03-14 09:12:07 [INFO]\t[TRAIN] epoch: 1, iter: {0}/9000, loss: {1:.4f}, lr: 0.01\n"
        "2025-03-14 09:12:09 [INFO]\t[EVAL] #Images: 500 mIoU: 0.2447 Acc: 0.9788 Kappa: 0.2692 Dice: 0.2814\n"
        "2025-03-14 09:12:09 [INFO]\t[EVAL] Class IoU: \n[0.97{2:02d} 0.    0.0012]"
    )
    content = read(tmp_path, lines(lambda i: row.format(100 * i, falling(i), i)))
    assert curve(content, "eval/iou/0").values[:2].tolist() == [0.9701, 0.9702]
    assert curve(content, "eval/iou/2").values[0] == 0.0012
