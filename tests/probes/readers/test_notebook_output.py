"""What notebooks printed is read like a log: streams, tables of progress, errors; one training of several."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.files import RunFile
from traindoctor.probes.readers import notebook_output, script
from traindoctor.probes.run import FileContent, Run

Output = dict[str, Any]
SOURCE = "import torch\noptimizer = torch.optim.Adam(model.parameters(), lr=1e-3)\nloss.backward()\n"


def out(text: str, name: str = "stdout") -> Output:
    return {"output_type": "stream", "name": name, "text": text.splitlines(keepends=True)}


def html(text: str) -> Output:
    data = {"text/html": [text], "text/plain": ["<IPython.core.display.HTML object>"]}
    return {"output_type": "display_data", "data": data, "metadata": {}}


def epochs(values: list[float], begin: int = 1) -> str:
    last = begin + len(values) - 1
    return "".join(f"Epoch {begin + k}/{last} loss: {v:.4f}\n" for k, v in enumerate(values))


def notebook_of(*cells: list[Output]) -> str:
    code = [
        {"cell_type": "code", "source": SOURCE if n == 0 else "fit()", "outputs": c}
        for n, c in enumerate(cells)
    ]
    about = {"kernelspec": {"language": "python", "name": "python3"}}
    return json.dumps({"cells": code, "metadata": about, "nbformat": 4, "nbformat_minor": 5})


def content(folder: Path, *cells: list[Output]) -> FileContent:
    text = notebook_of(*cells)
    (folder / "train.ipynb").write_text(text)
    return script.read(RunFile(folder, "train.ipynb", len(text)))


def opened(folder: Path, *cells: list[Output]) -> Run:
    content(folder, *cells)
    return open_run(folder)


def test_printed_losses_are_a_curve_with_cell_and_line(tmp_path: Path) -> None:
    """Points keep the cell and the line of its output in which they stand."""
    run = opened(tmp_path, [], [out("Using device: cpu\n"), out(epochs([2.1, 1.5, 1.1, 0.9, 0.8]))])

    curve = run.series["train/loss"]
    assert curve.values.tolist() == [2.1, 1.5, 1.1, 0.9, 0.8]
    assert curve.steps.tolist() == [1, 2, 3, 4, 5]
    assert (curve.file, curve.lines.tolist() if curve.lines is not None else None) == (
        "train.ipynb cell 2 output",
        [2, 3, 4, 5, 6],
    )
    assert run.settings["learning_rate"].value == 1e-3


def test_bars_on_the_other_stream_do_not_break_lines(tmp_path: Path) -> None:
    """A progress bar that ends in the middle of a line leaves the next print on a line of its own."""
    bars = [out(f"\r{k}it [00:0{k}]", "stderr") for k in range(5)]
    lines = [out(line + "\n") for line in epochs([2.1, 1.5, 1.1, 0.9, 0.8]).splitlines()]
    mixed = [o for pair in zip(bars, lines, strict=True) for o in pair]

    assert opened(tmp_path, [], mixed).series["train/loss"].values.tolist() == [2.1, 1.5, 1.1, 0.9, 0.8]


def table(head: list[str], rows: list[list[str]]) -> Output:
    cells = "".join("<tr>" + "".join(f"<td>{v}</td>" for v in row) + "</tr>" for row in rows)
    heads = "".join(f"<th>{name}</th>" for name in head)
    return html(
        f'<table border="1" class="dataframe"><thead><tr>{heads}</tr></thead><tbody>{cells}</tbody></table>'
    )


def test_tables_of_trainer_and_fastai_are_curves(tmp_path: Path) -> None:
    """Both show a table that counts steps or epochs; "No log" is no value."""
    rows = [[str(50 * k), "No log" if k == 1 else f"{2 / k:.3f}", f"{2.2 / k:.3f}"] for k in range(1, 7)]
    run = opened(tmp_path, [], [table(["Step", "Training Loss", "Validation Loss"], rows)])
    assert run.series["train/loss"].steps.tolist() == [100, 150, 200, 250, 300]
    assert run.series["eval/loss"].steps.tolist() == [50, 100, 150, 200, 250, 300]

    rows = [
        [str(k), f"{2 / (k + 1):.3f}", f"{2.2 / (k + 1):.3f}", f"{0.1 * k:.2f}", "00:12"] for k in range(6)
    ]
    run = opened(tmp_path, [], [table(["epoch", "train_loss", "valid_loss", "accuracy", "time"], rows)])
    assert run.series["eval/accuracy"].steps.tolist() == list(range(6))


def test_a_loss_that_is_nan_in_a_table_is_no_gap(tmp_path: Path) -> None:
    """Both show the loss as it is."""
    rows = [[str(k), "0.7" if k < 3 else "nan", "0.7" if k < 3 else "nan"] for k in range(6)]
    run = opened(tmp_path, [], [table(["epoch", "train_loss", "valid_loss"], rows)])

    assert np.isnan(run.series["train/loss"].values).tolist() == [False] * 3 + [True] * 3


def test_tables_of_data_are_no_curves(tmp_path: Path) -> None:
    """A frame that is looked at (its first column has no name, or counts nothing) gives nothing."""
    frame = table(["", "loss", "accuracy"], [[str(k), "0.3", "0.9"] for k in range(6)])
    other = table(["city", "loss"], [["Oslo", "0.3"]] * 6)

    assert not content(tmp_path, [], [frame], [other]).series


def test_the_last_training_is_looked_at(tmp_path: Path) -> None:
    """Of several trainings the last one counts, with what is scored after it, and the others are named."""
    first, second = epochs([2.3, 2.0, 1.9, 1.8, 1.7]), epochs([2.2, 1.2, 0.8, 0.5, 0.4])
    run = opened(
        tmp_path,
        [],
        [out(first)],
        [out("Test accuracy: 0.41\n")],
        [out(second)],
        [out("Test accuracy: 0.87\n")],
    )

    assert run.series["train/loss"].values.tolist() == [2.2, 1.2, 0.8, 0.5, 0.4]
    assert {float(s.values[-1]) for n, s in run.series.items() if n.endswith("accuracy")} == {0.87}
    assert any("2 trainings one after the other; that of cell 4 is looked at" in n for n in run.info.notes)


def test_a_training_that_goes_on_in_another_cell_is_one(tmp_path: Path) -> None:
    """Epochs 6 to 10 go on where 1 to 5 end."""
    values = [2.3, 2.0, 1.8, 1.6, 1.5, 1.4, 1.3, 1.25, 1.2, 1.15]
    run = opened(tmp_path, [], [out(epochs(values[:5]))], [out(epochs(values[5:], begin=6))])

    assert run.series["train/loss"].values.tolist() == values


def test_a_short_try_at_the_end_does_not_count(tmp_path: Path) -> None:
    """A few points after a whole training are a try."""
    run = opened(tmp_path, [], [out(epochs([2.3, 1.0, 0.8, 0.7, 0.6, 0.5]))], [out(epochs([2.3, 2.2, 2.1]))])

    assert len(run.series["train/loss"]) == 6


def test_an_error_is_the_end_of_the_run(tmp_path: Path) -> None:
    """The traceback of a cell is an event with its class and its message."""
    error = {"output_type": "error", "ename": "RuntimeError", "evalue": "size mismatch", "traceback": []}
    events = content(tmp_path, [], [out(epochs([2.1, 1.5])), error]).events

    assert [(e.kind, e.data, "size mismatch" in e.text) for e in events] == [
        ("traceback", "RuntimeError", True)
    ]


def test_a_log_beside_the_notebook_counts_before_what_it_printed(tmp_path: Path) -> None:
    """The output may be that of an earlier start."""
    rows = "".join(f"{k},{1 / k:.3f}\n" for k in range(1, 9))
    (tmp_path / "metrics.csv").write_text("epoch,train_loss\n" + rows)
    run = opened(tmp_path, [], [out(epochs([9.1, 8.5, 8.1, 7.9, 7.8]))])

    assert run.series["train/loss"].file == "metrics.csv"
    assert len(run.all_series) == 1
    assert any("left out" in note for note in run.info.notes)


@pytest.mark.parametrize(
    "outputs", ["x", [1, None], [{"output_type": "stream"}], [{"output_type": "stream", "text": 3}]]
)
def test_odd_outputs_cost_nothing(tmp_path: Path, outputs: Any) -> None:
    """What is no output of the format is passed over; the code is read all the same."""
    read = content(tmp_path, outputs)

    assert read.script
    assert not read.series
    assert notebook_output.read(RunFile(tmp_path, "train.ipynb", 1)) is None


def test_the_mean_over_the_whole_run_is_no_point_of_it(tmp_path: Path) -> None:
    """`trainer.train()` shows what it returns, with the mean loss over all steps."""
    rows = [[str(k), f"{2 / k:.3f}", f"{2.2 / k:.3f}"] for k in range(1, 6)]
    told = (
        "TrainOutput(global_step=50, training_loss=0.91, metrics={'train_runtime': 3.1, 'train_loss': 0.91})"
    )
    shown = {"output_type": "execute_result", "data": {"text/plain": [told]}, "metadata": {}}
    run = opened(tmp_path, [], [table(["Epoch", "Training Loss", "Validation Loss"], rows), shown])

    assert run.series["train/loss"].values.tolist() == [2.0, 1.0, 0.667, 0.5, 0.4]


def test_the_second_stage_of_a_fine_tuning_is_looked_at(tmp_path: Path) -> None:
    """fastai's `fine_tune` trains the head first, in a table of its own in the same cell."""
    head = ["epoch", "train_loss", "valid_loss", "accuracy", "time"]
    first = [["0", "0.91", "0.52", "0.80", "00:12"]]
    second = [
        [str(k), f"{0.4 - k / 20:.3f}", f"{0.3 - k / 30:.3f}", f"{0.9 + k / 100:.2f}", "00:15"]
        for k in range(5)
    ]
    run = opened(tmp_path, [], [table(head, first), table(head, second)])

    assert run.series["train/loss"].values.tolist() == [0.4, 0.35, 0.3, 0.25, 0.2]


def test_settings_of_another_training_do_not_count(tmp_path: Path) -> None:
    """Settings that a cell printed are of its own training; those of a cell without curves count as well."""
    other = [out("learning_rate: 1.0\nbatch_size: 7\n" + epochs([2.3, 2.0]))]
    shared = [out("num_classes: 12\n")]
    run = opened(tmp_path, [], shared, other, [out("batch_size: 64\n" + epochs([2.1, 1.5, 1.1, 0.9, 0.8]))])

    assert run.settings["batch_size"].value == 64
    assert run.settings["learning_rate"].value == 1e-3
    assert run.settings["num_classes"].value == 12
