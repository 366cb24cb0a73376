"""Forms of lines that people's own logs on the web have, written anew: each number with its name and side."""

# ruff: noqa: E501  (the lines of logs are as long as they are)
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.run import Series

from ._text import curve, names, points, read

ROWS = range(1, 9)


def lines(row: Callable[[int], str]) -> str:
    return "\n".join(map(row, ROWS)) + "\n"


def sides(folder: Path, text: str, name: str = "train.log") -> dict[str, list[Series]]:
    """Every curve of a run, by its name."""
    (folder / name).write_text(text, encoding="utf-8")
    found: dict[str, list[Series]] = {}
    for one in open_run(folder).all_series:
        found.setdefault(one.name, []).append(one)
    return found


def test_a_score_twice_is_of_the_loss_before_it(tmp_path: Path) -> None:
    """Two bare scores in a row, each behind a loss that says of which data it is."""
    row = "epoch {0} | trn_loss {1:.3f} acc 0.4{0} f1 0.3{0} | valid_loss {2:.3f} acc 0.5{0} f1 0.2{0}"
    found = sides(tmp_path, lines(lambda i: row.format(i, 3 / i, 4 / i)))
    assert found["train/accuracy"][0].values[0] == 0.41
    assert found["eval/accuracy"][0].values[0] == 0.51
    assert found["train/f1"][0].values[2] == 0.33
    assert found["eval/f1"][0].values[2] == 0.23
    assert all(len(found[n]) == 1 for n in ("train/accuracy", "eval/accuracy", "train/f1", "eval/f1"))


@pytest.mark.parametrize(
    ("raw", "name"), [("TestAcc", "test/accuracy"), ("ValAcc", "eval/accuracy"), ("valLoss", "eval/loss")]
)
def test_a_side_in_camel_case(tmp_path: Path, raw: str, name: str) -> None:
    """A heading before the epoch is of the row, not of a number whose own name says another side."""
    content = read(
        tmp_path, lines(lambda i: f"<Clean> Train Epoch: {i} TrainLoss: {2 / i:.3f}, {raw}: 0.6{i}")
    )
    assert {name, "train/loss"} <= names(content)
    assert "train/accuracy" not in names(content)


@pytest.mark.parametrize("arrow", ["-->", "->", "=>", "→"])
def test_what_a_figure_was_is_no_row(tmp_path: Path, arrow: str) -> None:
    def row(i: int) -> str:
        was = "inf" if i == 1 else f"{9 / (i - 1):.4f}"
        return (
            f"[2024-02-03 10:00:{i:02d},100 INFO] Step {50 * i}/400; acc: {30 + i}.00; ppl: {11 / i:.2f}; lr: 0.50000;\n"
            f"[2024-02-03 10:00:{i:02d},700 INFO] Validation perplexity: {9 / i:.4f}\n"
            f"[2024-02-03 10:00:{i:02d},800 INFO] Model is improving ppl: {was} {arrow} {9 / i:.4f}."
        )

    content = read(tmp_path, lines(row))
    assert len(curve(content, "train/perplexity")) == len(ROWS)
    assert max(max(s.values) for s in content.series if "ppl" in s.raw.lower()) < 12


def test_a_figure_that_goes_over_to_another_is_read(tmp_path: Path) -> None:
    """Nothing there says that it got better: the loss before and behind a step."""
    content = read(tmp_path, lines(lambda i: f"epoch {i} loss: {3 / i:.3f} -> {2.9 / i:.3f}"))
    assert len(curve(content, "train/loss")) == len(ROWS)


def test_targets_are_no_figures(tmp_path: Path) -> None:
    text = lines(lambda i: f"epoch {i}: train loss {3 / i:.2f}, val accuracy {0.5 + i / 20:.2f}")
    content = read(tmp_path, text + "Done. Target metrics: val loss <0.18, AUC >0.80, val accuracy >= 0.95\n")
    assert len(curve(content, "eval/accuracy")) == len(ROWS)
    assert not {"train/auc", "eval/auc"} & names(content)
    assert "eval/loss" not in names(content)


def test_angle_brackets_around_a_value(tmp_path: Path) -> None:
    content = read(tmp_path, lines(lambda i: f"epoch <{i}> loss: <{3 / i:.3f}> val_loss: <{4 / i:.3f}>"))
    assert len(curve(content, "train/loss")) == len(curve(content, "eval/loss")) == len(ROWS)


@pytest.mark.parametrize("name", ["Avg. cost", "avg cost", "train cost", "Mean cost"])
def test_a_mean_cost_is_a_loss(tmp_path: Path, name: str) -> None:
    content = read(tmp_path, lines(lambda i: f"Epoch: {i:04d} {name} = {1.3 / i:.4f}"))
    assert len(curve(content, "train/loss")) == len(ROWS)


def test_a_cost_of_time_is_none(tmp_path: Path) -> None:
    row = (
        "epoch: {0}, step: {0}, loss: {1:.3f}, avg_reader_cost: 0.0{0}, batch_cost: 0.3{0}, time cost: 4.{0}"
    )
    content = read(tmp_path, lines(lambda i: row.format(i, 2 / i)))
    assert curve(content, "train/loss").values[0] == 2.0
    assert all("cost" not in s.raw for s in content.series)


def test_score_of_deeplearning4j(tmp_path: Path) -> None:
    row = "10:11:{0:02d}.402 [main] INFO org.deeplearning4j.optimize.listeners.ScoreIterationListener - Score at iteration {1} is {2}"
    content = read(tmp_path, lines(lambda i: row.format(i, 20 * i, 2.25 / i)))
    assert points(content, "train/loss")[:2] == [(20.0, 2.25), (40.0, 1.125)]


def test_tabs_in_octal_digits(tmp_path: Path) -> None:
    def row(i: int) -> str:
        batches = "\n".join(
            f"Train Epoch: {i} [{b}/900 ({b // 9}%)]#011Loss: {3 / i - b / 9000:.4f}" for b in (0, 300, 600)
        )
        return (
            f"{batches}\nTest set: Average loss: {2.5 / i:.4f}, Accuracy: {500 + 30 * i}/1000 ({50 + 3 * i}%)"
        )

    content = read(tmp_path, lines(row))
    assert len(curve(content, "train/loss")) == 3 * len(ROWS)
    assert len(curve(content, "test/loss")) == len(ROWS)


def test_metrics_of_fuxictr_are_of_an_evaluation(tmp_path: Path) -> None:
    def row(i: int) -> str:
        at = f"2023-04-01 08:{i:02d}:00,4{i}1 P4711 INFO"
        return (
            f"{at} [Metrics] AUC: 0.71{i} - logloss: {0.5 - i / 100:.4f}\n{at} Save best model: monitor(max): 0.71{i}\n"
            f"{at} --- 512/512 batches finished ---\n{at} Train loss: {0.6 - i / 50:.4f}\n{at} ***** Epoch={i} end *****"
        )

    content = read(tmp_path, lines(row))
    assert {"eval/auc", "eval/loss", "train/loss"} <= names(content)
    assert "train/auc" not in names(content)
    assert min(curve(content, "train/loss").values) == pytest.approx(0.44)


def test_lightgcn_glues_its_loss(tmp_path: Path) -> None:
    def row(i: int) -> str:
        test = (
            f"[TEST]\n{{'precision': array([0.1{i}]), 'recall': array([0.2{i}]), 'ndcg': array([0.3{i}])}}\n"
        )
        return (test if i % 3 == 0 else "") + f"EPOCH[{i}/60] loss{0.4 / i:.3f}-|Sample:2.0{i}|"

    content = read(tmp_path, lines(row))
    assert points(content, "train/loss")[0] == (1.0, 0.4)
    assert curve(content, "eval/precision").values.tolist() == [0.13, 0.16]
    assert curve(content, "eval/recall").values.tolist() == [0.23, 0.26]


def test_a_precision_alone_is_a_setting(tmp_path: Path) -> None:
    content = read(tmp_path, "precision: 16\n" + lines(lambda i: f"epoch {i} loss {3 / i:.3f}"))
    assert "eval/precision" not in names(content)


def test_sets_of_boosting_by_their_place(tmp_path: Path) -> None:
    """One set is held out; of two the first is learned from, unless its figures say otherwise."""
    one = read(tmp_path, lines(lambda i: f"[{10 * i}]\tvalidation_0-mlogloss:{2 / i:.5f}"))
    assert names(one) == {"eval/loss"}
    both = "[{0}]\tvalidation_0-auc:0.8{0}\tvalidation_1-auc:0.7{0}"
    two = read(tmp_path, lines(lambda i: both.format(i)))
    assert curve(two, "train/auc").values[0] == 0.81
    assert curve(two, "eval/auc").values[0] == 0.71
    turned = "[{0}]\tvalidation_0-rmse:{1:.4f}\tvalidation_1-rmse:{2:.4f}"
    other = read(tmp_path, lines(lambda i: turned.format(i, 3 / i + 1, 3 / i)))
    assert curve(other, "eval/rmse").values[0] == 4.0
    assert curve(other, "train/rmse").values[0] == 3.0


def test_losses_of_cito(tmp_path: Path) -> None:
    row = "Loss at epoch {0}: training: {1:.3f}, validation: {2:.3f}, lr: 0.01000"
    content = read(tmp_path, lines(lambda i: row.format(i, 300 / i, 330 / i)))
    assert points(content, "train/loss")[1] == (2.0, 150.0)
    assert points(content, "eval/loss")[1] == (2.0, 165.0)


@pytest.mark.parametrize("words", ["in Validation data", "on the val set", "over validation samples:"])
def test_the_side_behind_the_loss(tmp_path: Path, words: str) -> None:
    content = read(
        tmp_path, lines(lambda i: f"Epoch {i} Train Loss: {2 / i:.4f}\nEpoch {i} Loss {words} {3 / i:.4f}")
    )
    assert points(content, "eval/loss")[2] == (3.0, 1.0)
    assert len(curve(content, "train/loss")) == len(ROWS)


def test_chinese_lines_that_begin_a_test(tmp_path: Path) -> None:
    """What stands below a line that begins a test is of it, until the next epoch."""

    def row(i: int) -> str:
        at = f"2025-02-03 11:12:{i:02d},100 - __main__ - INFO -"
        return f"{at} epoch {i} begin\n{at} epoch average loss: {1.2 / i:.4f}\n{at} 开始测试第{i}轮模型效果：\n{at} 预测准确率：0.7{i}"

    content = read(tmp_path, lines(row))
    assert len(curve(content, "test/accuracy")) == len(ROWS)
    assert len(curve(content, "train/loss")) == len(ROWS)
    assert "train/accuracy" not in names(content)


@pytest.mark.parametrize("word", ["Loss moyenne", "Loss média", "Perte moyenne", "Mittlerer Verlust"])
def test_a_mean_in_other_languages(tmp_path: Path, word: str) -> None:
    content = read(tmp_path, lines(lambda i: f"Epoch {i}/30 - {word}: {0.6 / i:.4f}"))
    assert len(curve(content, "train/loss")) == len(ROWS)


@pytest.mark.parametrize("score", ["precision", "dice_coef", "mean_iou", "psnr"])
@pytest.mark.parametrize("form", ["log", "csv"])
def test_a_score_beside_that_of_the_validation(tmp_path: Path, score: str, form: str) -> None:
    """Keras tells each twice: the bare one is of the training."""
    if form == "csv":
        head = f"epoch,loss,{score},val_loss,val_{score}\n"
        text = head + lines(lambda i: f"{i},{2 / i:.4f},0.5{i},{3 / i:.4f},0.3{i}")
    else:
        text = lines(
            lambda i: (
                f"Epoch {i}/8\n50/50 [=====] - 3s 60ms/step - loss: {2 / i:.4f} - {score}: 0.5{i} - val_loss: {3 / i:.4f} - val_{score}: 0.3{i}"
            )
        )
    found = sides(tmp_path, text, "history.csv" if form == "csv" else "train.log")
    told = {n: s for n, listed in found.items() for s in listed if "/loss" not in n}
    assert sorted(n.partition("/")[0] for n in told) == ["eval", "train"]
    assert next(s for n, s in told.items() if n.startswith("train/")).values[0] == 0.51
    assert next(s for n, s in told.items() if n.startswith("eval/")).values[0] == 0.31


def test_scores_of_one_count_are_of_one_side(tmp_path: Path) -> None:
    """Precision, recall and F1 are counted from the same hits, mostly those of an evaluation."""
    found = sides(
        tmp_path,
        lines(
            lambda i: (
                f"Epoch {i} | Loss: {4 / i:.4f} | F1: 0.6{i} | Precision: 0.5{i} | Recall: 0.7{i} | AUC: 0.8{i}"
            )
        ),
    )
    assert {"eval/f1", "eval/precision", "eval/recall", "eval/auc", "train/loss"} <= set(found)
    assert not {"train/f1", "train/auc"} & set(found)


def test_scores_of_one_count_in_rows_of_the_training(tmp_path: Path) -> None:
    row = "- loss: {1:.4f} - precision: 0.5{0} - f1_score: 0.6{0} - val_loss: {1:.4f} - val_precision: 0.4{0} - val_f1_score: 0.3{0}"
    found = sides(
        tmp_path, lines(lambda i: f"Epoch {i}/8\n50/50 [=====] - 3s 60ms/step " + row.format(i, 3 / i))
    )
    assert found["train/f1"][0].values[0] == 0.61
    assert found["eval/f1"][0].values[0] == 0.31


def test_a_logger_of_any_name(tmp_path: Path) -> None:
    """`logging.basicConfig` writes level and logger before the message, a name such as `cifar-100_run` too."""
    content = read(
        tmp_path, lines(lambda i: f"INFO:cifar-100_run:Epoch {i}: Train Loss: {3 / i:.4f}, LR: 0.0029")
    )
    assert points(content, "train/loss")[1] == (2.0, 1.5)


def test_a_message_told_by_a_logger_and_by_its_root(tmp_path: Path) -> None:
    """The same message in two layouts is one row; what the root alone tells stays."""

    def row(i: int) -> str:
        told = f"Epoch {i}: Train Loss: {3 / i:.4f}, Test Acc: 5{i}.06%"
        return (
            f"2025-01-02 09:{i:02d}:49,158 - net-18 - INFO - {told}\nINFO:net-18:{told}\n"
            f"INFO:net-18:Epoch {i}: LR: 0.00{i}"
        )

    content = read(tmp_path, lines(row))
    assert points(content, "train/loss") == [(i, pytest.approx(3 / i, abs=1e-4)) for i in ROWS]
    assert len(curve(content, "learning_rate")) == len(ROWS)


def test_the_same_line_twice_is_two_lines(tmp_path: Path) -> None:
    """Two processes that tell the same, in one layout, are not parted by this."""
    content = read(
        tmp_path, lines(lambda i: f"INFO:net:step {i} loss {3 / i:.3f}\nINFO:net:step {i} loss {3 / i:.3f}")
    )
    assert len(curve(content, "train/loss")) >= len(ROWS)


def test_dashes_around_a_row(tmp_path: Path) -> None:
    content = read(tmp_path, lines(lambda i: f"   ----- iter: {100 * i}, loss: {13 - i / 4:.4f} -----"))
    assert points(content, "train/loss")[0] == (100.0, 12.75)
