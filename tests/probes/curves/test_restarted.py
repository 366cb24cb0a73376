"""A resume after which steps and schedule begin again; losses that have no floor."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from traindoctor.engine.model import State
from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.run import Run

from .._build import run, series
from .._read import reading

RESUMED = "resumed from ckpt.pt at step {}"


def log(first: int, *, rate: float = 0.02, loss: float = 1.0, words: str = RESUMED, earlier: str = "") -> str:
    """Two starts of one program: 20 rows to step 190, then again from a step, with a warm-up and a decay."""

    def rows(begin: int, level: float, peak: float) -> list[str]:
        steps = range(begin, begin + 200, 10)
        return [
            f"step {s} | loss {level * 0.99**k:.4f} | lr {peak * min(1.0, (s + 10) / 50) * (1 - s / 800):.6f}"
            for k, s in enumerate(steps)
        ]

    first_part = [
        row.replace("loss ", f"loss {3 - 0.1 * k:.4f} was ") for k, row in enumerate(rows(0, 1.0, 0.02))
    ]
    told = [words.format(first)] if words else []
    return "\n".join([*([earlier] if earlier else []), *first_part, *told, *rows(first, loss, rate)]) + "\n"


def state(folder: Path, text: str) -> State:
    """The reading of a log."""
    (folder / "train.log").write_text(text)
    return reading("learning_rate", "steps-begin-anew-at-resume", open_run(folder)).state


def test_a_counter_that_begins_anew_is_seen(tmp_path: Path) -> None:
    """The loss goes on, while step and rate begin again."""
    assert state(tmp_path, log(0)) is State.PRESENT


def test_words_without_a_step_do_as_well(tmp_path: Path) -> None:
    """Not every program prints the step."""
    assert state(tmp_path, log(0, words="Resuming from runs/a/last.ckpt")) is State.PRESENT


def test_steps_that_go_on_are_right(tmp_path: Path) -> None:
    """A resumed run counts on."""
    assert state(tmp_path, log(200)) is not State.PRESENT


def test_another_rate_is_another_stage(tmp_path: Path) -> None:
    """A second stage with a rate of its own begins at its first step by intent."""
    assert state(tmp_path, log(0, rate=0.001)) is State.ABSENT


def test_a_loss_that_begins_high_was_not_resumed(tmp_path: Path) -> None:
    """What was learned is gone: another fault, or another run."""
    assert state(tmp_path, log(0, loss=3.0)) is State.UNKNOWN


def test_weights_loaded_at_both_starts_are_two_runs(tmp_path: Path) -> None:
    """A run that begins from a checkpoint and is started again begins at its first step both times."""
    words = "resumed from base.pt"
    assert state(tmp_path, log(0, words=words, earlier=words)) is State.UNKNOWN


def test_a_start_at_zero_is_no_resume(tmp_path: Path) -> None:
    """Some frameworks use the same words where nothing was logged before."""
    text = log(0, words="", earlier=RESUMED.format(0), loss=3.0)
    assert state(tmp_path, text) is not State.PRESENT
    assert not open_run(tmp_path).events_of("resume")


def table(second: float, rate: float = 0.02, floor: float = 0.05) -> str:
    """What `CSVLogger(append=True)` leaves of two sessions of twelve epochs; the second begins at a loss."""
    rows = ["epoch,accuracy,learning_rate,loss"]
    for begin, peak in ((1.6, 0.02), (second, rate)):
        for k in range(12):
            falls = floor + (begin - floor) * 0.7**k
            rows.append(
                f"{k},{1 - falls / 2:.4f},{peak * min(1, (k + 1) / 3) * (1 - k / 14):.6f},{falls:.4f}"
            )
    return "\n".join(rows) + "\n"


@pytest.mark.parametrize(
    ("text", "script", "expected"),
    [
        (table(0.08), "", State.PRESENT),
        (table(1.6), "", State.ABSENT),  # the same program again
        (table(0.9), "", State.ABSENT),  # another data set, trained a little
        (table(0.08, rate=0.002), "", State.ABSENT),  # fine-tuning at a rate of its own
        (table(0.08), "for fold in KFold(5).split(x):\n    train(fold)\n", State.ABSENT),
    ],
)
def test_a_table_that_two_sessions_write(tmp_path: Path, text: str, script: str, expected: State) -> None:
    """A table does not tell of a resume: the loss goes on where it was, and epochs and rate begin anew."""
    (tmp_path / "training.csv").write_text(text)
    if script:
        (tmp_path / "train.py").write_text("import keras\n" + script)
    assert reading("learning_rate", "steps-begin-anew-at-resume", open_run(tmp_path)).state is expected


def sinking(held: float | None, low: float = -500.0) -> Run:
    """A run whose training loss falls below zero without end, resumed in its middle."""
    steps = np.arange(1, 41)
    curves = [series("train/loss", np.where(steps < 10, 0.7, -np.geomspace(0.5, -low, 40)), steps)]
    if held is not None:
        curves.append(series("eval/loss", np.linspace(1.0, held, 4), [10, 20, 30, 40]))
    return run(curves)


@pytest.mark.parametrize(
    ("held", "low", "expected"),
    [
        (40.0, -500.0, State.PRESENT),
        (1.0, -9000.0, State.PRESENT),
        (-300.0, -500.0, State.ABSENT),  # a wrong sign sinks both
        (40.0, -3.0, State.ABSENT),  # the log-likelihood of a density
        (None, -500.0, State.UNKNOWN),
    ],
)
def test_a_loss_without_a_floor_in_training_alone(held: float | None, low: float, expected: State) -> None:
    """Targets outside their range sink the loss of those alone that have them."""
    assert reading("loss", "loss-bottomless-in-training", sinking(held, low)).state is expected
    assert reading("loss", "loss-bottomless-from-start", sinking(held, low)).state is not State.PRESENT


@pytest.mark.parametrize(
    ("first", "classes", "bottomless", "minus"),
    [
        (-1.8, 6, State.PRESENT, State.PRESENT),  # -ln 6 is -1.79
        (-1.8, None, State.PRESENT, State.UNKNOWN),
        (-0.05, 6, State.PRESENT, State.ABSENT),  # likelihoods of scores begin near zero
        (0.7, 2, State.ABSENT, State.ABSENT),
    ],
)
def test_a_loss_below_zero_from_its_start(
    first: float, classes: int | None, bottomless: State, minus: State
) -> None:
    """A wrong sign begins at minus what a guess has, where the number of classes is known."""
    values = np.concatenate([[first], -np.geomspace(2.0, 9000.0, 39)])
    curves = [
        series("train/loss", values, np.arange(1, 41)),
        series("eval/loss", [2.0, 40.0, 300.0, 4000.0], [10, 20, 30, 40]),
    ]
    made = run(curves, {} if classes is None else {"num_classes": classes})

    assert reading("loss", "loss-bottomless-from-start", made).state is bottomless
    assert reading("loss", "loss-starts-at-minus-chance", made).state is minus


def test_a_loss_without_a_floor_has_no_level_to_jump_from() -> None:
    """Spikes and enormous values of such a loss tell nothing of their own."""
    made = sinking(40.0, -1e7)
    assert reading("loss", "loss-spikes", made).state is State.UNKNOWN
    assert reading("numerics", "loss-huge", made).state is State.UNKNOWN
