"""Squared errors beside absolute ones: what a few extreme samples do to either."""

from __future__ import annotations

import numpy as np
import pytest

from traindoctor.probes.curves.residuals import heavy_tailed
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
