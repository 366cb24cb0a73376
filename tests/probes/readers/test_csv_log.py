"""Tables of metrics are read cell by cell; tables of data are refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindoctor.probes.assembly import names
from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.files import RunFile
from traindoctor.probes.readers import csv_log
from traindoctor.probes.run import FileContent, Series


def file_of(tmp_path: Path, name: str, data: bytes | str) -> RunFile:
    content = data.encode() if isinstance(data, str) else data
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return RunFile(tmp_path, name, len(content))


def read(tmp_path: Path, data: str | bytes, name: str = "metrics.csv") -> FileContent:
    file = file_of(tmp_path, name, data)
    assert csv_log.sniff(file)
    return csv_log.read(file)


def curve(content: FileContent, raw: str, group: str = "") -> Series:
    return next(s for s in content.series if s.raw == raw and s.group == group)


LIGHTNING = """corr,epoch,lr-Adam,step,train_loss,val_loss
,,0.0047,9,,
,0,,9,0.4228,,
,,0.0046,19,,
,0,,19,0.31,,
nan,0,,19,,0.5
,1,,29,inf,,
"""

KERAS = """epoch,accuracy,loss,lr,val_accuracy,val_loss
0,0.98,0.056,0.001,NA,NA
1,0.99,nan,0.001,0.97,0.06
"""

YOLO = """                  epoch,      train/box_loss,     metrics/mAP50(B),        val/box_loss
                      0,              1.8074,              0.21,              1.5
                      1,              1.6,                 0.3,               nan
"""


def test_lightning_rows_are_not_merged(tmp_path: Path) -> None:
    """Each column has exactly the rows in which it was written; an empty cell is no NaN."""
    content = read(tmp_path, LIGHTNING)

    loss = curve(content, "train_loss")
    assert loss.steps.tolist() == [9, 19, 29] and loss.values.tolist() == [0.4228, 0.31, np.inf]
    assert loss.unit == "step" and loss.lines is not None and loss.lines.tolist() == [3, 5, 7]
    assert loss.epochs is not None and loss.epochs.tolist() == [0, 0, 1]
    assert np.isnan(curve(content, "corr").values).tolist() == [True]
    assert curve(content, "val_loss").steps.tolist() == [19]
    assert curve(content, "lr-Adam").epochs is None


def test_keras_na_is_absent_and_nan_is_a_value(tmp_path: Path) -> None:
    """`NA` leaves no point, `nan` does; epochs count from 0; an epoch's loss is its mean."""
    content = read(tmp_path, KERAS, "training.log")

    assert curve(content, "val_loss").steps.tolist() == [1]
    loss = curve(content, "loss")
    assert loss.values[0] == 0.056 and np.isnan(loss.values[1])
    assert (loss.unit, loss.window) == ("epoch", "epoch-mean")
    assert content.facts["framework"] == "keras"


def test_names_are_stripped_of_their_padding(tmp_path: Path) -> None:
    """Ultralytics pads names and cells; neither reaches the curves."""
    content = read(tmp_path, YOLO, "results.csv")

    assert curve(content, "train/box_loss").values.tolist() == [1.8074, 1.6]
    assert curve(content, "metrics/mAP50(B)").window == "point"
    assert np.isnan(curve(content, "val/box_loss").values[1])


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\r\r\n", "\r\r"])
def test_every_kind_of_line_end(tmp_path: Path, end: str) -> None:
    """CR CR and CR CR LF stand for one line end."""
    content = read(tmp_path, KERAS.replace("\n", end).encode(), "train.log")

    assert curve(content, "accuracy").values.tolist() == [0.98, 0.99]
    assert curve(content, "accuracy").lines.tolist() == [2, 3]  # type: ignore[union-attr]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_separators_and_encodings(tmp_path: Path, delimiter: str, encoding: str) -> None:
    """The separator and the encoding are found from the content."""
    content = read(tmp_path, LIGHTNING.replace(",", delimiter).encode(encoding))

    assert curve(content, "train_loss").values.tolist() == [0.4228, 0.31, np.inf]


def test_decimal_commas(tmp_path: Path) -> None:
    """Where semicolons separate, a comma is the decimal point."""
    content = read(tmp_path, "epoch;loss;acc\n1;0,75;81,5%\n2;0,5;90,25%\n")

    assert curve(content, "loss").values.tolist() == [0.75, 0.5]


def test_appended_runs_keep_the_order_of_the_file(tmp_path: Path) -> None:
    """A repeated header is no row; the second run follows the first."""
    content = read(tmp_path, "epoch,loss\n0,1.0\n1,0.5\nepoch,loss\n0,0.9\n1,0.4\n", "log.csv")

    assert curve(content, "loss").steps.tolist() == [0, 1, 0, 1]
    assert curve(content, "loss").values.tolist() == [1.0, 0.5, 0.9, 0.4]


def test_another_header_begins_another_table(tmp_path: Path) -> None:
    """A run appended with more columns is read under its own header."""
    content = read(tmp_path, "epoch,loss\n0,1.0\n1,0.5\nepoch,val_loss,loss\n0,2.0,0.9\n", "log.csv")

    assert curve(content, "loss").values.tolist() == [1.0, 0.5, 0.9]
    assert curve(content, "val_loss").values.tolist() == [2.0]


def test_merge_markers_are_skipped_and_said(tmp_path: Path) -> None:
    """An unresolved git merge costs its marker lines."""
    text = "epoch,loss\n<<<<<<< HEAD\n0,1.0\n=======\n0,1.1\n>>>>>>> other\n1,0.5\n"
    content = read(tmp_path, text, "results.csv")

    assert curve(content, "loss").values.tolist() == [1.0, 1.1, 0.5]
    assert "3 lines" in content.notes[0]


def test_a_column_of_splits(tmp_path: Path) -> None:
    """One row per phase gives one curve per phase."""
    text = "epoch,phase,loss,acc\n1,train,1.0,0.5\n1,val,1.2,0.4\n2,train,0.8,0.6\n2,val,1.1,0.45\n"
    content = read(tmp_path, text, "history.csv")

    assert curve(content, "loss", "train").values.tolist() == [1.0, 0.8]
    assert curve(content, "loss", "eval").split == "eval"
    assert curve(content, "loss", "eval").values.tolist() == [1.2, 1.1]


def test_tables_in_long_form(tmp_path: Path) -> None:
    """(step, name, value) rows are one curve per name."""
    text = "tag,step,wall_time,value\nloss,1,1.7e9,2.5\nacc,1,1.7e9,0.1\nloss,2,1.7e9,nan\n"
    content = read(tmp_path, text, "scalar.csv")

    loss = curve(content, "loss")
    assert loss.steps.tolist() == [1, 2] and np.isnan(loss.values[1])
    assert loss.walls is not None and curve(content, "acc").values.tolist() == [0.1]


@pytest.mark.parametrize(
    "comment", ["# lr=0.001 batch_size=64", "# lr: 0.001, batch_size: 64", "#\n# lr=0.001\n# batch_size=64"]
)
def test_comments_above_a_table(tmp_path: Path, comment: str) -> None:
    """They are no header; the settings in them are kept with their line."""
    content = read(tmp_path, comment + "\nepoch,loss\n1,1.0\n2,0.8\n3,0.7\n", "history.csv")

    assert curve(content, "loss").values.tolist() == [1.0, 0.8, 0.7]
    assert {s.key: s.value for s in content.settings} == {"lr": 0.001, "batch_size": 64}


def test_a_header_behind_a_hash_is_a_header(tmp_path: Path) -> None:
    """`numpy.savetxt` writes the header as a comment."""
    content = read(tmp_path, "# epoch,loss\n1,1.0\n2,0.8\n3,0.7\n", "history.csv")

    assert curve(content, "loss").values.tolist() == [1.0, 0.8, 0.7]


def test_units_in_the_names_of_columns(tmp_path: Path) -> None:
    """A percentage is said in the header."""
    text = "Epoch,Train Loss,Validation Accuracy (%)\n1,1.0,50.0\n2,0.8,62.5\n3,0.7,70\n"
    content = read(tmp_path, text, "history.csv")

    assert curve(content, "Validation Accuracy (%)").values.tolist() == [50.0, 62.5, 70.0]
    assert names.canonical("Validation Accuracy (%)") == "eval/accuracy"


def test_a_column_of_splits_in_long_form(tmp_path: Path) -> None:
    """(step, split, name, value) rows are one curve per name and data set: they are not mixed."""
    rows = [f"{e},train,loss,{2 - e}\n{e},val,loss,{2.5 - e}\n{e},val,acc,0.{e}\n" for e in range(2)]
    content = read(tmp_path, "epoch,split,metric,value\n" + "".join(rows), "metrics.csv")

    assert curve(content, "loss", "train").values.tolist() == [2.0, 1.0]
    assert curve(content, "loss", "eval").values.tolist() == [2.5, 1.5]
    assert curve(content, "acc", "eval").values.tolist() == [0.0, 0.1]


def test_downloads_of_tensorboard_and_wandb(tmp_path: Path) -> None:
    """Exports carry the quantity in the file's name or behind the run's name."""
    board = read(tmp_path, "Wall time,Step,Value\n1.7e9,1,0.5\n1.7e9,2,0.4\n", "run-a-tag-train_loss.csv")
    wandb = read(tmp_path, '"Step","r1 - val/loss","r1 - val/loss__MIN"\n"1","0.5","0.5"\n', "w.csv")

    assert curve(board, "train_loss").values.tolist() == [0.5, 0.4]
    assert [s.raw for s in wandb.series] == ["val/loss"]


def test_dvclive_names_the_curve_by_its_path(tmp_path: Path) -> None:
    """plots/metrics/train/loss.tsv holds train/loss; NaN is a text."""
    content = read(tmp_path, "step\tloss\n0\t1.5\n1\tnan\n", "dvclive/plots/metrics/train/loss.tsv")

    assert curve(content, "train/loss").steps.tolist() == [0, 1]


def test_epoch_alone_is_the_unit(tmp_path: Path) -> None:
    """With only an epoch column the unit is the epoch, with no counter at all the row."""
    rows = read(tmp_path, "loss,val_loss\n1,2\n0.9,1.8\n0.8,1.7\n", "history.csv")
    timm = read(tmp_path, "epoch,train_loss,eval_loss,eval_top1,lr\n0,6.9,6.8,0.5,0.1\n", "summary.csv")

    assert curve(rows, "loss").unit == "row" and curve(rows, "loss").steps.tolist() == [1, 2, 3]
    assert curve(timm, "eval_top1").unit == "epoch"


def test_values_wrapped_by_careless_scripts(tmp_path: Path) -> None:
    """tensor(...), percent signs and the largest double are understood; texts are absent."""
    text = (
        "step,loss,acc\n"
        "1,\"tensor(0.5, device='cuda:0')\",50%\n"
        "2,1.7976931348623157e308,oops\n"
        "3,-1.#IND,60%\n"
    )
    content = read(tmp_path, text)

    loss = curve(content, "loss").values
    assert loss[0] == 0.5 and np.isposinf(loss[1]) and np.isnan(loss[2])
    assert curve(content, "acc").values.tolist() == [0.5, 0.6]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("houses.csv", "id,price,rooms\n1,100000,3\n2,200000,4\n3,150000,2\n"),
        ("gps.csv", "lat,lon,accuracy\n1.0,2.0,5\n1.1,2.1,6\n1.2,2.2,4\n"),
        ("pred.csv", "id,label,prediction,loss\n1,0,1,0.3\n2,1,1,0.1\n3,0,0,0.2\n"),
        (
            "trials.csv",
            "trial_id,lr,batch_size,loss,acc\n1,0.1,32,0.5,0.8\n2,0.2,64,0.4,0.9\n3,0.3,8,0.3,0.9\n",
        ),
        ("iris.csv", "5.1,3.5,1.4,0.2,setosa\n4.9,3.0,1.4,0.2,setosa\n"),
        ("lfs.csv", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12345\n"),
        ("reviews.csv", 'text,label\n"good, really",1\n"bad, truly",0\n'),
        ("train.log", "Epoch 1, loss 0.5, acc 0.3\nEpoch 2, loss 0.4, acc 0.4\n"),
        ("notes.txt", "we saw the loss, at iteration 2 of epoch 3, rise\n"),
        ("compare.csv", "Index,OpType,NPUDump,CosineSimilarity,MaxAbsoluteError\n0,Conv2D,a,0.99,0.1\n"),
        ("signal.csv", ",".join(f"c{i}" for i in range(5000)) + "\n" + ",".join(["1"] * 5000) + "\n"),
        ("empty.csv", "\n\n"),
        ("a.html", "<html>,loss,step</html>\n"),
    ],
)
def test_tables_of_other_things_are_refused(tmp_path: Path, name: str, text: str) -> None:
    """Data, predictions, trials of a search, sentences and pointers are no logs."""
    assert not csv_log.sniff(file_of(tmp_path, name, text))


def test_a_header_without_rows_is_a_log_without_points(tmp_path: Path) -> None:
    """A run that died before its first flush leaves only the header."""
    content = read(tmp_path, "epoch,step,train_loss\n")

    assert all(not len(s) for s in content.series)


@pytest.mark.parametrize("text", [LIGHTNING, KERAS, YOLO])
def test_truncations_and_flips(tmp_path: Path, text: str) -> None:
    """A cut file keeps the rows before the cut; a flipped byte never ends in a traceback."""
    data = text.encode()
    whole = csv_log.read(file_of(tmp_path, "a.csv", data))
    for at in range(len(data)):
        for damaged in (data[:at], data[:at] + bytes([data[at] ^ 0x15]) + data[at + 1 :]):
            file = file_of(tmp_path, "a.csv", damaged)
            if csv_log.sniff(file):
                content = csv_log.read(file)
                assert all(len(s.steps) == len(s.values) for s in content.series)
                assert len(content.series) <= 2 * len(whole.series) + 2


@given(st.lists(st.tuples(st.integers(0, 10**9), st.floats(allow_nan=False)), min_size=1, max_size=30))
def test_values_are_kept_exactly(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[int, float]]
) -> None:
    """Whatever float was written in full comes back as the same float."""
    text = "step,loss\n" + "".join(f"{s},{v!r}\n" for s, v in rows)
    content = csv_log.read(file_of(tmp_path_factory.mktemp("csv"), "m.csv", text))

    loss = curve(content, "loss")
    assert loss.steps.tolist() == [float(s) for s, _ in rows]
    expected = [v if abs(v) < 1.797e308 else float(np.copysign(np.inf, v)) for _, v in rows]
    assert loss.values.tolist() == expected


def test_a_huge_line_and_binary_garbage(tmp_path: Path) -> None:
    """A line of many megabytes and NUL blocks cost themselves."""
    text = "step,loss\n1,0.5\n2," + "9" * 3_000_000 + "\n3,0.25\n" + "\x00" * 500
    content = read(tmp_path, text)

    assert curve(content, "loss").steps.tolist() == [1, 3]


def test_one_row_per_layer(tmp_path: Path) -> None:
    """A table of layers gives one curve per layer, not one that jumps between them."""
    text = "step,layer,grad_norm\n1,fc1,0.5\n1,fc2,0.1\n2,fc1,0.4\n2,fc2,nan\n"
    content = read(tmp_path, text, "grads.csv")

    assert curve(content, "grad_norm/fc1").values.tolist() == [0.5, 0.4]
    assert np.isnan(curve(content, "grad_norm/fc2").values[1])


def test_tensor_statistics_are_left_to_their_own_reader(tmp_path: Path) -> None:
    """A monitor's table of tensors is no log of metrics."""
    text = "vpp_stage,name,step,min,max,mean,norm,nans\n0,a.weight,1,0,1,0.5,2,0\n0,b.weight,1,0,1,0.5,2,0\n"

    assert not csv_log.sniff(file_of(tmp_path, "grad_0-0.csv", text))


@pytest.mark.parametrize("separator", [",", "\t", " "])
def test_numbers_without_a_header_are_named_as_such(tmp_path: Path, separator: str) -> None:
    """Which column is the loss is not guessed; a table with a header has another reason, or none."""
    rows = "".join(separator.join((str(n), f"{2 / n:.4f}", "0.001")) + "\n" for n in range(1, 20))
    (tmp_path / "log.csv").write_text(rows)
    (tmp_path / "pixels.csv").write_text(separator.join("abc") + "\n" + rows)
    (tmp_path / "config.yaml").write_text("lr: 0.1\n")

    told = dict(open_run(tmp_path).info.not_read)

    assert told["log.csv"] == "no header: columns are not known"
    assert "header" not in told["pixels.csv"]


def test_lightnings_files_tell_the_framework(tmp_path: Path) -> None:
    rows = "".join(f"{n},{n},{2 / n:.4f}\n" for n in range(1, 20))
    for name in ("lightning_logs/version_0/metrics.csv", "own/metrics.csv"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(f"epoch,step,train_loss\n{rows}")

    assert open_run(tmp_path / "lightning_logs").info.framework == "pytorch"
    assert open_run(tmp_path / "own").info.framework is None


def test_eta_is_kept_where_it_may_be_a_rate(tmp_path: Path) -> None:
    """A column "eta" that rests is the learning rate; one that counts down stays a time."""
    for name, eta in (("rests", [0.1] * 9), ("counts", [90.0 - 10 * k for k in range(9)])):
        rows = "".join(f"{k},{2 / (k + 1)},{e}\n" for k, e in enumerate(eta))
        (tmp_path / name).mkdir()
        (tmp_path / name / "log.csv").write_text("iter,trn_ce,eta\n" + rows)

    assert "learning_rate" in open_run(tmp_path / "rests").series
    assert "learning_rate" not in open_run(tmp_path / "counts").series


def test_a_rate_with_a_decimal_comma_is_no_thousand(tmp_path: Path) -> None:
    """ "0,001" beside "0,4475" is a thousandth; "1,000" beside points stays a thousand."""
    (tmp_path / "a.csv").write_text(
        "epoch;train_loss;lr\n" + "".join(f"{e};{3 / e:.4f};0.001\n".replace(".", ",") for e in range(1, 9))
    )
    (tmp_path / "b.csv").write_text(
        "step;train_loss;lr\n" + "".join(f"{e},000;{3 / e:.4f};0.001\n" for e in range(1, 9))
    )
    first, second = (
        csv_log.read(file_of(tmp_path, n, (tmp_path / n).read_bytes())) for n in ("a.csv", "b.csv")
    )

    assert {s.raw: s.values[1] for s in first.series} == {"train_loss": 1.5, "lr": 0.001}
    assert {s.raw: (s.steps[1], s.values[1]) for s in second.series}["lr"] == (2000, 0.001)


def test_a_table_of_episodes(tmp_path: Path) -> None:
    """So many steps to an episode are no axis, and the score of an episode is its reward."""
    lengths = [20, 31, 18, 40, 22, 60, 35, 80, 42, 90]
    rows = "".join(f"{i + 1},{n},{n * 1.5},{0.5}\n" for i, n in enumerate(lengths))
    content = read(tmp_path, "episode,steps,score,loss\n" + rows)
    score = next(s for s in content.series if names.canonical(s.raw, s.split) == "train/reward")

    assert list(score.steps) == list(range(1, 11))
    assert curve(content, "loss").steps[-1] == 10


def test_steps_that_begin_again_stay_the_axis(tmp_path: Path) -> None:
    rows = "".join(f"{e},{b},{1.0 / (e + b)}\n" for e in range(1, 6) for b in (1, 2, 3))
    content = read(tmp_path, "epoch,step,loss\n" + rows)

    assert list(curve(content, "loss").steps[:4]) == [1, 2, 3, 1]


def test_a_monitor_of_episodes(tmp_path: Path) -> None:
    """Stable-Baselines3's monitor.csv; `r,l,t` over texts is another table."""
    rows = "".join(f"{10.5 * i},{10 * i},{1.7 * i:.2f}\n" for i in range(1, 9))
    content = read(
        tmp_path, '#{"t_start": 1600000.0, "env_id": "CartPole-v1"}\nr,l,t\n' + rows, "monitor.csv"
    )

    assert list(curve(content, "episode_reward").values[:2]) == [10.5, 21.0]
    assert not csv_log.sniff(file_of(tmp_path, "other.csv", "r,l,t\n" + "a,b,c\n" * 8))


@pytest.mark.parametrize(
    ("name", "header", "raw"),
    [
        ("grad_norm_by_rank.csv", "step,rank0,rank1,rank2", "rank_grad_norm"),
        ("loss_per_card.csv", "step,card_0,card_1,card_2", "loss"),
        ("ranks.csv", "step,loss/rank0,loss/rank1,loss/rank2", "loss"),
    ],
)
def test_a_column_to_each_rank(tmp_path: Path, name: str, header: str, raw: str) -> None:
    rows = "".join(f"{i},{3 / i:.4f},{4 / i:.4f},{5 / i:.4f}\n" for i in range(1, 30))
    (tmp_path / name).write_text(f"{header}\n{rows}")
    file = RunFile(tmp_path, name, (tmp_path / name).stat().st_size)
    assert csv_log.sniff(file)
    found = csv_log.read(file).series
    assert [(s.raw, s.rank, len(s)) for s in found] == [(raw, r, 29) for r in range(3)]


def test_columns_of_devices_that_are_no_metric(tmp_path: Path) -> None:
    rows = "".join(f"{i},{90 + i % 7},{91 + i % 5}\n" for i in range(1, 30))
    (tmp_path / "gpu_util.csv").write_text(f"step,gpu0,gpu1\n{rows}")
    assert not csv_log.sniff(RunFile(tmp_path, "gpu_util.csv", (tmp_path / "gpu_util.csv").stat().st_size))
