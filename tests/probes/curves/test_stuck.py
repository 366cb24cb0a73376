"""Training that stands still, by its accuracy; a loss that comes to stand at a guess."""

from __future__ import annotations

import numpy as np
import pytest

from traindoctor.engine.model import State
from traindoctor.probes.curves import gaps, levels, progress, stuck
from traindoctor.probes.registry import View

from .._build import run, series

FLAT = [1.9112, *[1.9105] * 9]


@pytest.mark.parametrize(
    ("accuracy", "loss", "expected"),
    [
        ([0.5325, *[0.5378] * 9], FLAT, State.PRESENT),
        ([0.53, 0.5378, 0.5391, 0.5378, 0.5391, 0.5378, 0.54, 0.5378, 0.53, 0.5378], FLAT, State.ABSENT),
        ([0.5325, *[0.5378] * 9], np.linspace(1.9, 0.9, 10), State.ABSENT),
        ([0.5, 0.7, 0.8, 0.85, 0.88, 0.9, 0.912, 0.912, 0.912, 0.912], FLAT, State.ABSENT),
        ([0.9, *[0.9978] * 9], FLAT, State.UNKNOWN),  # nothing left to gain
        ([0.4, *[0.5] * 9], FLAT, State.UNKNOWN),  # one digit
        (None, FLAT, State.UNKNOWN),
    ],
)
def test_an_accuracy_that_stands_still(accuracy: object, loss: object, expected: State) -> None:
    curves = [series("train/loss", loss, unit="epoch")]
    if accuracy is not None:
        curves.append(series("train/accuracy", accuracy, unit="epoch"))
    assert stuck.accuracy_stands_still(View(run(curves))).state is expected


def test_a_loss_that_hardly_moves_is_told_by_its_accuracy() -> None:
    curves = [series("train/loss", FLAT, unit="epoch"), series("train/accuracy", [0.5378] * 10, unit="epoch")]
    assert progress.hardly_moves(View(run(curves[:1]))).state is State.PRESENT
    assert progress.hardly_moves(View(run(curves))).state is State.ABSENT


THROWN = [16.43517, 5.16361, 0.69327, 0.69327, 0.69319, 0.69314, 0.6931, 0.69302, 0.69291, 0.6927, 0.6902]


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        (THROWN, State.PRESENT),
        ([v + 0.01 for v in THROWN], State.UNKNOWN),  # near ln 2, and no guess
        ([16.4, 5.2, 2.1, 1.4, 1.1, 0.9, 0.8, 0.72, 0.6931, 0.65, 0.62], State.UNKNOWN),  # passes through
        (THROWN[2:], State.UNKNOWN),  # few points: where it stands is not known
        ([0.6931 + 1e-4 * k for k in range(10)], State.ABSENT),  # a guess from the first point on
    ],
)
def test_a_loss_that_comes_to_stand_at_a_guess(loss: list[float], expected: State) -> None:
    assert levels.thrown_to_guessing(View(run([series("train/loss", loss, unit="epoch")]))).state is expected


def test_what_guesses_is_no_worse_than_its_evaluation() -> None:
    """An evaluation loss far below that of training says nothing of the data where training only guesses."""
    held = series("eval/loss", [0.456, *[0.0533] * 10], unit="epoch")
    falls = np.linspace(2.0, 0.7, 11)
    for loss, expected in ((THROWN, State.UNKNOWN), (falls, State.PRESENT)):
        both = View(run([series("train/loss", loss, unit="epoch"), held]))
        assert gaps.eval_better_than_train(both).state is expected
