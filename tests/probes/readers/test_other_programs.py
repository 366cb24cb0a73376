"""Forms of logs that many programs share: sides of tables, printed records, counts, glued and bracketed names."""

# ruff: noqa: E501  (the lines of logs are as long as they are)
from __future__ import annotations

import json
from pathlib import Path

import pytest

from traindoctor.probes.assembly import names as series_names
from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.readers.text.analysis import analyse
from traindoctor.probes.readers.text.listed import listed
from traindoctor.probes.readers.text.table import heading

from ._text import curve, names, points, read

ROWS = range(1, 13)


def falling(i: int, start: float = 2.4) -> float:
    return start / (1 + i / 6)


def rising(i: int) -> float:
    return 0.9 - 0.7 / i


def test_a_dictionary_over_several_lines(tmp_path: Path) -> None:
    """pprint breaks a long dictionary: its entries are one row, whichever comes first."""
    text = "".join(
        f"{{'accuracy': {rising(i):.4f},\n 'gradient_norm': 1.25,\n 'loss': {falling(i):.4f},\n 'step': {i * 50}}}\n"
        for i in ROWS
    )
    content = read(tmp_path, text)

    assert points(content, "train/loss")[0] == (50.0, pytest.approx(falling(1), abs=1e-4))
    assert len(curve(content, "train/accuracy")) == len(curve(content, "grad_norm")) == 12


def test_pairs_in_brackets(tmp_path: Path) -> None:
    """`[('loss', 2.3), ('acc', 0.4)]` holds names and values."""
    text = "".join(f"step {i}: [('loss', {falling(i):.4f}), ('acc', {rising(i):.4f})]\n" for i in ROWS)
    content = read(tmp_path, text)

    assert len(curve(content, "train/loss")) == len(curve(content, "train/accuracy")) == 12


def test_one_loss_averaged_over_several_sets(tmp_path: Path) -> None:
    """The means of a rank and of a slice are the same loss, and no two terms of it."""
    text = "".join(
        f"[2024-03-01 10:00:00,123][root][INFO] - {side}, rank: 0, epoch: {e}/50, step_in_epoch: {b}, total step: {e * 200 + b}, "
        f"(loss_avg_rank: {falling(e + 1):.3f}), (loss_avg_slice: {falling(e + 1):.3f}), (acc_avg_slice: {rising(e + 1):.3f}), (lr: 1.0e-05)\n"
        for e in range(6)
        for b, side in ((50, "train"), (100, "train"), (200, "val"))
    )
    content = read(tmp_path, text)

    assert points(content, "train/loss")[0] == (50.0, pytest.approx(falling(1), abs=1e-3))
    assert {"eval/loss", "eval/accuracy", "train/accuracy", "learning_rate"} <= names(content)
    assert not any(n.startswith("train/loss/") for n in names(content))


@pytest.mark.parametrize("word", ["Std of", "Stddev of", "Variance of"])
def test_the_spread_of_a_reward_is_none(tmp_path: Path, word: str) -> None:
    text = "".join(
        f"[INFO] Ball. Step: {i * 1000}. Time Elapsed: {i * 2.1:.3f} s. Mean Reward: {i}.5. {word} Reward: 3.25. Training.\n"
        for i in ROWS
    )
    content = read(tmp_path, text)

    assert points(content, "train/reward")[:2] == [(1000.0, 1.5), (2000.0, 2.5)]


def test_the_name_within_a_bracket_of_its_side(tmp_path: Path) -> None:
    text = "".join(
        f"epoch:{i * 20}, time: {i}.5(s), valid (NDCG@10: {rising(i):.4f}, HR@10: {rising(i):.4f}), test (NDCG@10: 0.2, HR@10: 0.3)\n"
        for i in ROWS
    )
    content = read(tmp_path, text)

    assert {"eval/ndcg", "eval/hit_rate", "test/ndcg", "test/hit_rate"} <= names(content)


@pytest.mark.parametrize("row", ["! {} {} 3.4 0.005 {:.4f} {:.4f}", "{} {} 3.4 0.005 {:.4f} {:.4f} "])
def test_rows_that_name_their_side(tmp_path: Path, row: str) -> None:
    """One table for both data sets: a cell says which."""
    header = (
        "  Train  #  Epoch  wal  LR  loss  f_mae\n" if row[0] == "!" else "phase epoch wal LR loss f_mae\n"
    )
    text = header + "".join(
        row.format(side, i, falling(i, 2.4 + 0.1 * (side == "Validation")), 0.5) + "\n"
        for i in ROWS
        for side in ("Train", "Validation")
    )
    content = read(tmp_path, text)

    assert points(content, "train/loss")[0] == (1.0, pytest.approx(falling(1), abs=1e-4))
    assert points(content, "eval/loss")[0] == (1.0, pytest.approx(falling(1, 2.5), abs=1e-4))
    assert len(curve(content, "eval/loss")) == 12


@pytest.mark.parametrize(
    ("stamp", "word"), [("", "validation"), ("10:01:40 | ", "valid:"), ("2024-01-01 10:00:00 INFO ", "Test:")]
)
def test_a_table_under_the_name_of_a_data_set(tmp_path: Path, stamp: str, word: str) -> None:
    """A heading is of the table under it alone: the next one is the training's again."""
    table = "  clen  exps  loss  ppl  token_acc  total_train_updates\n  45.1  96.1  {:.3f}  8.1  0.4  {}\n\n"
    text = "".join(
        "10:01:00 | training\n"
        + table.format(falling(i), i * 100)
        + f"{stamp}{word}\n"
        + table.format(falling(i, 2.6), i * 100)
        for i in ROWS
    )
    content = read(tmp_path, text)
    held_out = "test/loss" if word == "Test:" else "eval/loss"

    assert points(content, "train/loss")[0] == (100.0, pytest.approx(falling(1), abs=1e-3))
    assert len(curve(content, "train/loss")) == 12
    assert points(content, held_out)[0] == (100.0, pytest.approx(falling(1, 2.6), abs=1e-3))


def test_lines_that_are_no_heading() -> None:
    assert heading("validation") == "eval" and heading("== Test ==") == "test"
    for line in ("Loading validation data", "validation samples: 500", "training", "valid moves"):
        assert heading(line) == ""
    assert analyse(b"2024-01-01 10:00:00 INFO Loading validation data") is None


def test_columns_with_names_of_several_words(tmp_path: Path) -> None:
    """`Train Loss` is one column where blanks part them wider than within."""
    text = "      Iter       Train Loss   Remaining Time \n" + "".join(
        f"{i:10d} {falling(i):16.4f} {'1.50s':>16}\n" for i in ROWS
    )
    content = read(tmp_path, text)

    assert points(content, "train/loss")[0] == (1.0, pytest.approx(falling(1), abs=1e-4))


def test_an_overlap_in_a_loss_is_a_loss(tmp_path: Path) -> None:
    """`iou_loss: 4.5` is no overlap in percent."""
    text = "".join(
        f"epoch: 1/30, iter: {i * 10}/500, total_loss: {falling(i, 15):.2f}, iou_loss: {falling(i, 5):.2f}, lr: 1.0e-04\n"
        for i in ROWS
    )
    (tmp_path / "train.log").write_text(text)
    run = open_run(tmp_path)

    assert run.series["train/loss/iou"].values[0] == pytest.approx(falling(1, 5), abs=0.01)
    assert series_names.base("train/loss/iou") is None
    assert series_names.base("eval/iou") is not None


def test_counts_of_epochs_and_batches(tmp_path: Path) -> None:
    """The epoch in a share of its own, a count behind a side in brackets, and one glued to its word."""
    share = read(
        tmp_path,
        "".join(
            f"INFO  Train: {e:4d}/80 ({e:3d}%) [{b:5d}/100 ({b:3d}%)]  Loss: {falling(e):.3f} (2.1)  LR: {3e-4 * e:.3e}  Time cost: 00:10/01:00\n"
            for e in range(1, 5)
            for b in range(0, 100, 20)
        ),
    )
    bracket = read(
        tmp_path, "".join(f"[proc 0][Train]({i * 100}/9000) average loss: {falling(i):.4f}\n" for i in ROWS)
    )
    glued = read(
        tmp_path,
        "".join(
            f"INFO:Train|Epoch{1 + i // 5}/30|Iter{i * 10}({i * 10}/50)| lr:1.0e-03| loss_qfl:{falling(i):.4f}| \n"
            for i in ROWS
        ),
    )

    assert len(curve(share, "learning_rate")) == len(curve(share, "train/loss")) == 20
    assert points(bracket, "train/loss")[-1][0] == 1200.0
    assert points(glued, "train/loss/qfl")[-1][0] == 120.0


def test_the_number_of_a_process_is_no_step(tmp_path: Path) -> None:
    text = "".join(
        f"[Train]({i * 100}/9000) average loss: {falling(i):.4f}\n[0]Valid average MRR: {rising(i):.4f}\n"
        for i in ROWS
    )

    assert points(read(tmp_path, text), "eval/mrr")[0][0] == 100.0


def test_steps_of_who_acts_and_who_learns(tmp_path: Path) -> None:
    text = "".join(
        f"[Learner] Critic Loss = {falling(i):.3f} | Learner Steps = {i * 100} | Policy Loss = 1.5\n"
        for i in ROWS
    )

    assert points(read(tmp_path, text), "train/loss/critic")[0][0] == 100.0


def test_printed_records_name_their_kind(tmp_path: Path) -> None:
    """The type of a record says of which data set it is."""
    text = "".join(
        "[INFO] json_stats: "
        + json.dumps(
            {
                "_type": "train_iter",
                "epoch": f"{i}/30",
                "iter": "10/50",
                "loss": falling(i),
                "top1_err": 80.0 - i,
            }
        )
        + "\n[INFO] json_stats: "
        + json.dumps({"_type": "val_epoch", "epoch": f"{i}/30", "min_top1_err": 40.0, "top1_err": 85.0 - i})
        + "\n"
        for i in ROWS
    )
    content = read(tmp_path, text)

    assert len(curve(content, "train/error")) == len(curve(content, "eval/error")) == 12


def test_scores_under_their_own_name(tmp_path: Path) -> None:
    """`Val_metrics: {...}` and bounds of overlaps within a name."""
    nano = read(
        tmp_path,
        "".join(
            f"step {i} loss {falling(i):.4f}\nVal_metrics: {{'mAP': {rising(i):.4f}, 'AP_50': 0.5}}\n"
            for i in ROWS
        ),
    )
    bounds = read(
        tmp_path,
        "".join(
            f"Epoch: {i} | mAP@0.5: {rising(i):.4f} | mAP@0.50:0.95: {rising(i) / 2:.4f}\n" for i in ROWS
        ),
    )

    assert len(curve(nano, "eval/map")) == 12
    assert points(bounds, "eval/map")[-1] == (12.0, pytest.approx(rising(12) / 2, abs=1e-4))
    assert points(bounds, "eval/map50")[-1] == (12.0, pytest.approx(rising(12), abs=1e-4))


def test_both_data_sets_in_one_line(tmp_path: Path) -> None:
    """What stands behind the time once more is of the validation; shares of three data sets are scores."""
    twice = read(
        tmp_path,
        "".join(
            f"2020-01-01-10-10: epoch: {i} |loss {falling(i):.4f} | hm_loss 1.5 | time 10.0 | "
            + (f"loss {falling(i, 3):.4f} | hm_loss 1.6 | time 1.0 | " if i % 3 == 0 else "")
            + "\n"
            for i in ROWS
        ),
    )
    shares = read(
        tmp_path,
        "".join(
            f"Run: 01, Epoch: {i:02d}, Loss: {falling(i):.4f}, Train: {100 * rising(i):.2f}%, Valid: {90 * rising(i):.2f}% Test: {80 * rising(i):.2f}%\n"
            for i in ROWS
        ),
    )

    assert len(curve(twice, "train/loss")) == 12
    assert points(twice, "eval/loss")[0] == (3.0, pytest.approx(falling(3, 3), abs=1e-4))
    assert {"train/accuracy", "eval/accuracy", "test/accuracy", "train/loss"} <= names(shares)


def test_unnamed_values_that_fall_are_losses(tmp_path: Path) -> None:
    text = "".join(f"#Iter={i:3d}\tTrain={falling(i, 0.9):.6g}\tTest={falling(i, 0.95):.6g}\n" for i in ROWS)

    assert {"train/loss", "eval/loss"} <= names(read(tmp_path, text))


def test_a_bar_under_printed_arguments(tmp_path: Path) -> None:
    """Rows of several numbers end the arguments that stand above them."""
    text = "Arguments: \nlr: 0.01\ndim: 100\nmargin: 0.05\n" + "".join(
        f"\rEpoch: {i * 2.5:.1f}%  lr: {0.01 - i / 5000:.6f}  loss: {falling(i):.6f}  eta: <1min   tot: 0h0m{i}s  ({i * 2.5:.1f}%)"
        for i in ROWS
    )
    content = read(tmp_path, text + "\n")

    assert len(curve(content, "train/loss")) == 12
    assert {"lr", "dim"} <= {s.key for s in content.settings}


def test_progressive_loss_in_two_lines_of_names(tmp_path: Path) -> None:
    text = (
        "learning rate = 0.5\naverage  since         example        example  current  current  current\n"
        "loss     last          counter         weight    label  predict features\n"
        + "".join(
            f"{falling(i, 0.7):.6f} {falling(i, 0.6):.6f} {2**i:12d} {float(2**i):14.1f}   1.0000   0.5000       50\n"
            for i in ROWS
        )
    )

    assert points(read(tmp_path, text), "train/loss")[1] == (4.0, pytest.approx(falling(2, 0.7), abs=1e-5))


def test_scores_of_recommenders_behind_the_loss(tmp_path: Path) -> None:
    sums = read(
        tmp_path,
        "".join(
            f"Epoch {i} [3.5s + 4.0s]: train==[{falling(i):.5f}=1.0 + 0.5], recall=[{rising(i):.4f}, 0.3], ndcg=[0.2, 0.4]\n"
            for i in ROWS
        ),
    )
    terms = read(
        tmp_path,
        "".join(
            f"Epoch {i} (train)3.5s + (eval)0.4s: train loss = {falling(i):.5f} = (mf)0.4 + (embed)0.1, recall = {rising(i):.4f}, ndcg = 0.3\n"
            for i in ROWS
        ),
    )

    for content in (sums, terms):
        assert {"train/loss", "eval/recall", "eval/ndcg"} <= names(content)
        assert "train/recall" not in names(content)


def test_a_running_count_is_no_setting() -> None:
    assert listed("time:10s total_exs:1000 total_steps:100 epochs:0.25") == []
    assert [name for name, _ in listed("total_steps: 1000, epochs: 5")] == ["total_steps", "epochs"]


def test_a_list_of_cocos_scores(tmp_path: Path) -> None:
    rows = [
        {
            "train_loss": falling(i),
            "test_loss": falling(i),
            "test_coco_eval_bbox": [rising(i), 0.6, *[0.3] * 10],
            "epoch": i,
        }
        for i in ROWS
    ]
    (tmp_path / "log.txt").write_text("".join(json.dumps(r) + "\n" for r in rows))
    run = open_run(tmp_path)

    assert run.series["eval/map"].values[-1] == pytest.approx(rising(12))
    assert run.series["eval/map50"].values[0] == pytest.approx(0.6)


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("max_num_epochs", "epochs"),
        ("numb_steps", "max_steps"),
        ("max_step", "max_steps"),
        ("pytorch_seed", "seed"),
        ("batchsize_per_gpu", "batch_size"),
    ],
)
def test_names_of_settings(tmp_path: Path, key: str, name: str) -> None:
    (tmp_path / "train.log").write_text("".join(f"step {i} loss {falling(i):.4f}\n" for i in ROWS))
    (tmp_path / "config.yaml").write_text(f"lr: 0.001\n{key}: 7\n")

    assert open_run(tmp_path).settings[name].value == 7


@pytest.mark.parametrize(
    "text",
    [
        "the list [('loss', 2.5), ('acc', 3.5)] is an example of what the function returns to those that had called it\n",
        "Std of Reward: 3.2\n",
        "valid (see the notes: 3)\n",
        "#Iter=1 Train=0.5 Test=0.6\n",
    ],
)
def test_what_is_no_row(tmp_path: Path, text: str) -> None:
    (tmp_path / "notes.txt").write_text(text)
    (tmp_path / "train.log").write_text("".join(f"step {i} train loss {falling(i):.4f}\n" for i in ROWS))

    assert set(open_run(tmp_path).series) == {"train/loss"}


def test_a_ranking_at_a_step(tmp_path: Path) -> None:
    text = "".join(
        f"INFO     Training average loss at step {i * 100}: {falling(i):f}\nINFO     Valid HITS@10 at step {i * 100}: {rising(i):f}\n"
        for i in ROWS
    )

    assert points(read(tmp_path, text), "eval/hit_rate")[0] == (100.0, pytest.approx(rising(1), abs=1e-5))


def test_a_mean_of_precisions_in_percent(tmp_path: Path) -> None:
    """A logger's line needs no step for it; prose that names one is no row."""
    text = "".join(
        f"2021-01-01 10:00:00,123 reid.train INFO: Epoch[{i}] Iteration[20/185] Loss: {falling(i):.3f}\n"
        f"2021-01-01 10:00:00,123 reid.train INFO: mAP: {50 + i}.5%\n"
        for i in ROWS
    )

    assert len(curve(read(tmp_path, text), "eval/map")) == 12
    assert analyse(b"mAP: 76.1%") is None


def test_the_loss_of_identities(tmp_path: Path) -> None:
    """`id_loss` is a term; an id beside a loss is none."""
    content = read(
        tmp_path,
        "".join(
            f"epoch: {i} |loss {falling(i):.4f} | id_loss {falling(i, 6):.4f} | run id 7\n" for i in ROWS
        ),
    )

    assert {"train/loss", "train/loss/id"} <= names(content)
    assert all(7.0 not in s.values for s in content.series)
