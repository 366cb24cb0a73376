"""Squared errors beside absolute ones: what a few extreme samples do to either."""

from __future__ import annotations

import numpy as np
import pytest

from traindoctor.probes.curves.residuals import heavy_tailed, training_error_of_few
from traindoctor.probes.registry import View

from .._build import run, series

EPOCHS = np.arange(1, 11, dtype=float)
MAE = 0.3 / EPOCHS**0.3


def _state(**curves: object) -> str:
    named = [series(name.replace("_", "/"), values) for name, values in curves.items()]
    return str(heavy_tailed(View(run(named))).state)


@pytest.mark.parametrize("name", ["mse", "rmse", "loss"])
def test_a_few_samples_far_off(name: str) -> None:
    """The squared error is 150 times the absolute one squared in training, 1.6 times in evaluation."""
    power = 0.5 if name == "rmse" else 1.0
    sides = {
        f"train_{name}": (150 * MAE**2) ** power,
        f"eval_{name}": (1.6 * MAE**2) ** power,
        "train_mae": MAE,
        "eval_mae": MAE,
    }
    assert _state(**sides) == "present"


@pytest.mark.parametrize("held", [1.6, 12.0])
def test_errors_as_they_are_by_nature(held: float) -> None:
    """Normal errors, and ones of heavy tails on both sides: prices, counts, waiting times."""
    assert (
        _state(train_mse=held * 2 * MAE**2, train_mae=MAE, eval_mse=held * MAE**2, eval_mae=MAE) == "absent"
    )
    assert _state(train_mse=held * 2 * MAE**2, train_mae=MAE) == "absent"


def test_without_evaluation_only_what_is_beyond_nature() -> None:
    assert _state(train_mse=150 * MAE**2, train_mae=MAE) == "present"
    assert _state(train_mse=40 * MAE**2, train_mae=MAE) == "absent"


def test_what_says_nothing() -> None:
    """A loss of its own may be anything; absolute errors alone have no square beside them."""
    assert _state(train_loss=150 * MAE**2, train_mae=MAE) == "unknown"
    assert _state(train_loss=150 * MAE**2, train_mae=MAE, eval_mse=MAE**2, eval_mae=MAE) == "unknown"
    assert _state(train_mae=MAE, eval_mae=MAE) == "unknown"
    assert _state(train_mse=MAE**2) == "unknown"


def test_a_loss_that_is_the_absolute_error() -> None:
    """MAE as the loss: small errors make the quotient large, on both sides alike."""
    small = 0.01 * MAE
    assert _state(train_loss=small, train_mae=small, eval_loss=small, eval_mae=small) == "absent"


STEPS = np.arange(1, 41, dtype=float)
LEAPING = 2500 * np.where(STEPS % 2 == 0, 0.4, 1.3)


@pytest.mark.parametrize(
    ("train", "held", "expected"),
    [
        (LEAPING, [0.3, 0.2, 0.18, 0.17], "present"),
        (np.full(40, 2500.0), [0.3, 0.2, 0.18, 0.17], "absent"),  # a sum over the batch is smooth
        (LEAPING / 1000, [0.3, 0.2, 0.18, 0.17], "absent"),  # wrong targets cost some ten times as much
        (LEAPING[:10], [0.3, 0.2, 0.18, 0.17], "unknown"),
        (LEAPING, [0.3], "unknown"),
    ],
)
def test_training_that_leaps_far_above_its_evaluation(train: object, held: object, expected: str) -> None:
    made = run([series("train/loss", train), series("eval/loss", held)])
    assert str(training_error_of_few(View(made)).state) == expected


def test_a_loss_over_classes_may_be_as_far_above() -> None:
    right = series("eval/accuracy", [0.9, 0.9, 0.9, 0.9])
    made = run([series("train/loss", LEAPING), series("eval/loss", [0.3, 0.2, 0.18, 0.17]), right])
    assert str(training_error_of_few(View(made)).state) == "unknown"
