"""Series are cut at restarts before anything is computed."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.assembly.segments import concatenate, split
from traindoctor.probes.run import Series


def series(steps: list[float], values: list[float] | None = None, **rest: object) -> Series:
    held = np.asarray(steps, dtype=float)
    shown = np.arange(len(held), dtype=float) if values is None else np.asarray(values, dtype=float)
    made = Series(
        "train/loss", "loss", "log.txt", held, shown, unit="step", lines=np.arange(1, len(held) + 1)
    )
    return replace(made, **rest)  # type: ignore[arg-type]


def test_one_run_stays_whole() -> None:
    """Rising steps are one run without rewinds."""
    (only,) = split(series([1, 2, 3, 10]))

    assert len(only.series) == 4
    assert only.rewinds == ()


def test_a_resume_replaces_what_it_repeats() -> None:
    """The later points win from the step on that the run was resumed at."""
    (only,) = split(series([100, 200, 300, 400, 500, 300, 400, 500, 600]))

    assert only.series.steps.tolist() == [100, 200, 300, 400, 500, 600]
    assert only.series.values.tolist() == [0, 1, 5, 6, 7, 8]
    assert only.rewinds == ((500.0, 300.0),)


def test_a_restart_is_another_run() -> None:
    """A step that goes back to the first one begins another run."""
    first, second = split(series([1, 2, 3, 4, 1, 2, 3]))

    assert len(first.series) == 4
    assert second.series.lines is not None and second.series.lines.tolist() == [5, 6, 7]


def test_a_counter_inside_the_epoch_runs_on() -> None:
    """A step that restarts while the epoch goes up is one run with a running step."""
    (only,) = split(series([1, 2, 3, 1, 2, 3], epochs=np.array([1.0, 1, 1, 2, 2, 2])))

    assert only.series.steps.tolist() == [1, 2, 3, 4, 5, 6]


def test_rounds_without_a_number_run_on_where_the_values_do() -> None:
    """A counter that restarts five times while the loss goes on falling is one run of five epochs."""
    (only,) = split(series([50, 100] * 5, [2.0, 1.7, 1.5, 1.3, 1.2, 1.1, 1.0, 0.95, 0.9, 0.88]))

    assert only.series.steps.tolist() == [50, 100, 150, 200, 250, 300, 350, 400, 450, 500]


def test_values_that_begin_anew_with_the_counter_are_runs() -> None:
    """Five starts of one script, each from the same loss, stay five runs."""
    assert len(split(series([50, 100] * 5, [2.0, 1.0, 2.1, 1.1, 1.9, 0.9, 2.0, 1.0, 2.0, 1.1]))) == 5


def test_few_rounds_are_runs() -> None:
    """Two rounds whose values go on may be a run that was started again from its weights."""
    assert len(split(series([50, 100] * 2, [2.0, 1.5, 1.4, 1.0]))) == 2


def test_parts_of_several_files_lose_their_line_numbers() -> None:
    """A line number without its own file would point at the wrong place."""
    joined = concatenate([series([1, 2]), replace(series([3, 4]), file="other.txt")])

    assert joined.steps.tolist() == [1, 2, 3, 4]
    assert joined.lines is None


@given(st.lists(st.integers(0, 50), min_size=1, max_size=60))
def test_every_attempt_rises(steps: list[int]) -> None:
    """Whatever the order in the file, each run's steps never go back."""
    for attempt in split(series([float(s) for s in steps])):
        assert bool(np.all(np.diff(attempt.series.steps) >= 0))


def test_logs_of_several_starts(tmp_path: Path) -> None:
    """Each start has a file of its own, named by a number: one curve, with the rewind."""
    first = "".join(f"step {i}0 loss {9 - i}.5\n" for i in range(1, 9))
    second = "resuming from step 60\n" + "".join(f"step {i}0 loss {12 - i}.25\n" for i in range(7, 12))
    (tmp_path / "slurm-99.out").write_text(first)
    (tmp_path / "slurm-100.out").write_text(second)
    run = open_run(tmp_path)

    loss = run.series["train/loss"]
    assert loss.steps.tolist() == [10.0 * i for i in range(1, 12)]
    assert loss.values.tolist() == [9.5 - i for i in range(1, 7)] + [12.25 - i for i in range(7, 12)]
    assert [(e.value, e.step) for e in run.events if e.kind == "rewind"] == [(80.0, 70.0)]


def test_a_log_that_was_rotated(tmp_path: Path) -> None:
    """`train.log.2` is the oldest part."""
    lines = [f"step {i} loss {10 / i:.4f}\n" for i in range(1, 31)]
    for name, part in (("train.log.2", lines[:10]), ("train.log.1", lines[10:20]), ("train.log", lines[20:])):
        (tmp_path / name).write_text("".join(part))
    run = open_run(tmp_path)

    assert run.series["train/loss"].steps.tolist() == list(range(1, 31)) and not run.events


def test_logs_of_several_runs_or_ranks_stay_apart(tmp_path: Path) -> None:
    """They begin at the same step, or far from where the other ends."""
    for name, start in (("again", 1), ("far", 500)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "log_1.txt").write_text("".join(f"step {i} loss {9 - i}.5\n" for i in range(1, 9)))
        (folder / "log_2.txt").write_text("".join(f"step {start + i} loss 2.{i}\n" for i in range(9)))
        run = open_run(folder)
        assert len(run.series["train/loss"]) == 9 and not run.events


def test_steps_that_go_back_in_a_later_epoch_are_a_resume() -> None:
    """A counter that runs on over epochs and goes back once does not begin again in each epoch."""
    steps = [*range(0, 400, 10), *range(300, 500, 10)]
    epochs = np.array([s // 100 for s in steps], dtype=float)
    epochs[40:] = np.array([s // 100 for s in steps[40:]])
    (only,) = split(series([float(s) for s in steps], epochs=epochs))

    assert only.series.steps[-1] == 490
    assert only.rewinds == ((390.0, 300.0),)


def test_the_lines_of_one_file_keep_their_order() -> None:
    """Rows of one file under two headings are put together as they stand: no step goes back."""
    bare = series([1, 2, 4], lines=np.array([10, 20, 40]))
    headed = series([3], lines=np.array([30]), split="train")

    assert concatenate([bare, headed]).steps.tolist() == [1, 2, 3, 4]
