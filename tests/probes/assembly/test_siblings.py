"""Several runs in one folder, a file to each, are told apart; what may be one run is left together."""

from pathlib import Path

from traindoctor.probes.assembly.assemble import open_run

KERAS = "epoch,accuracy,loss,val_accuracy,val_loss\n"


def history(start: float, epochs: int) -> str:
    """A CSV of Keras whose loss halves every three epochs."""
    rows = [(start * 0.8**e, start * 0.82**e + 0.1) for e in range(epochs)]
    return KERAS + "".join(f"{e},{1 - a / 4},{a},{1 - b / 4},{b}\n" for e, (a, b) in enumerate(rows))


def lines(start: float, first: int = 1, last: int = 20) -> str:
    """A log of a line per epoch."""
    return "".join(f"epoch {e} loss {start * 0.9**e:.4f} lr 0.001\n" for e in range(first, last + 1))


def written(tmp_path: Path, **files: str) -> Path:
    """A folder with these files; "__" in a name stands for its dot."""
    for name, text in files.items():
        (tmp_path / name.replace("__", ".")).write_text(text)
    return tmp_path


def test_one_file_to_each_run(tmp_path: Path) -> None:
    """Other numbers at the same epochs are other runs: the longest is looked at, and nothing is mixed in."""
    run = open_run(
        written(tmp_path, resnet__csv=history(2.0, 12), vgg__csv=history(1.2, 20), small__csv=history(3.0, 8))
    )

    assert run.info.files_read == ("vgg.csv",)
    assert "3 runs in one folder" in run.info.notes[0]
    assert "about vgg.csv (others: resnet.csv, small.csv)" in run.info.notes[0]
    assert {s.file for s in run.series.values()} == {"vgg.csv"}


def test_the_same_numbers_are_one_run(tmp_path: Path) -> None:
    """A copy of a log is no second run."""
    run = open_run(written(tmp_path, a__csv=history(2.0, 12), b__csv=history(2.0, 12)))

    assert run.info.notes == ()
    assert len(run.info.files_read) == 2


def test_a_file_of_held_out_data_is_of_the_same_run(tmp_path: Path) -> None:
    """`train.csv` and `valid.csv` with the same columns belong together."""
    run = open_run(
        written(
            tmp_path,
            train__csv="step,loss\n" + "".join(f"{s},{2 * 0.9**s}\n" for s in range(20)),
            valid__csv="step,loss\n" + "".join(f"{s},{2.2 * 0.9**s}\n" for s in range(20)),
        )
    )

    assert {"train/loss", "eval/loss"} <= set(run.series)
    assert not any("one folder" in note for note in run.info.notes)


def test_files_of_other_columns_tell_nothing(tmp_path: Path) -> None:
    """A log of the steps beside one of the epochs is read as one run, as ever."""
    run = open_run(written(tmp_path, history__csv=history(2.0, 12), train__log=lines(2.3)))

    assert not any("one folder" in note for note in run.info.notes)


def test_a_log_that_goes_on_is_of_the_same_run(tmp_path: Path) -> None:
    """A later part that was taken up from a checkpoint repeats some epochs with other numbers."""
    run = open_run(written(tmp_path, part_1__log=lines(2.0, 1, 20), part_2__log=lines(2.1, 15, 40)))

    assert len(run.series["train/loss"]) == 40


def test_devices_of_one_run_stay_together(tmp_path: Path) -> None:
    """`log_0` and `log_1` may be two devices: nothing is said of several runs."""
    run = open_run(written(tmp_path, log_0__txt=lines(2.0), log_1__txt=lines(2.2)))

    assert not any("one folder" in note for note in run.info.notes)


def test_a_chosen_run_keeps_its_second_log(tmp_path: Path) -> None:
    """`b.log` and `b.csv` are of one run, `a.log` and `a.csv` of another."""
    run = open_run(
        written(
            tmp_path,
            a__log=lines(2.0),
            b__log=lines(1.0, 1, 30),
            a__csv=history(2.0, 20),
            b__csv=history(1.0, 30),
        )
    )

    assert run.info.files_read == ("b.csv", "b.log")


def test_other_kinds_of_files_with_far_other_values(tmp_path: Path) -> None:
    """Each run was logged in another way: their curves are not mixed, and a dot in a number ends no name."""
    rows = "".join(f'{{"epoch": {e}, "train_loss": 2.31, "val_loss": {2.3 + e / 100}}}\n' for e in range(14))
    text = "".join(f"epoch {e + 1} loss {2 * 0.9**e:.4f} val_loss {2.1 * 0.9**e:.4f}\n" for e in range(12))
    run = open_run(written(tmp_path, **{"lr0.5__jsonl": rows, "lr0.01__log": text}))

    assert run.info.files_read == ("lr0.5.jsonl",)
    assert "2 runs in one folder" in run.info.notes[0]


def test_two_loggers_of_one_run_stay_together(tmp_path: Path) -> None:
    """A log that counts from 1, rounds and logs a running training loss is of the same run."""
    table = history(2.0, 12)
    text = "".join(
        f"epoch {e + 1} loss {2.0 * 0.8 ** (e + 0.5):.2f} val_loss {2.0 * 0.82**e + 0.1:.2f}\n"
        for e in range(12)
    )
    run = open_run(written(tmp_path, history__csv=table, console__log=text))

    assert not any("one folder" in note for note in run.info.notes)


def test_a_log_that_took_up_the_others_end(tmp_path: Path) -> None:
    """It counts from its beginning, and tells that it loaded what the longer one ended with."""
    row = " iteration {:8d}/ 500 | lm loss: {:.4f} | learning rate: 1.0E-04 | grad norm: 1.0 |\n"
    first = "".join(row.format(n, 9 - n / 20) for n in range(1, 101))
    later = " loading checkpoint from ./c at iteration 100\n" + "".join(
        row.format(n, 4.1 - n / 90) for n in range(1, 41)
    )

    run = open_run(written(tmp_path, run_1__log=first, run_2__log=later))
    other = written(tmp_path, run_2__log=later.replace("100\n", "7\n", 1))

    assert run.info.files_read == ("run_2.log",)
    assert open_run(other).info.files_read == ("run_1.log",)


def test_nodes_are_parts_of_one_run(tmp_path: Path) -> None:
    """A log of each node is that of a rank; the files that each reads stand below a heading."""
    rows = lines(2.0)
    for node in (0, 1):
        names = "".join(f"   train.mindrecord{n:02d}\n" for n in range(node * 3, node * 3 + 4))
        (tmp_path / f"node{node}_10.0.0.1.log").write_text(f"this node reads 4 files:\n{names}{rows}")

    run = open_run(tmp_path)

    assert {d.rank: len(d.entries) for d in run.lists} == {0: 4, 1: 4}
