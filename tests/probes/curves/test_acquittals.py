"""What looks like a fault and is how such a run looks: losses below zero, harder data, rewards."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .._build import run, series
from .._read import reading

SETTLES = -2.4 + 2.1 * np.exp(-np.arange(60) / 10)


def state(area: str, symptom: str, settings: Any = None, **curves: Any) -> str:
    made = [series(n.replace("_", "/", 1), v) for n, v in curves.items()]
    return str(reading(area, symptom, run(made, settings)).state)


@pytest.mark.parametrize(
    ("loss", "more", "settings", "expected"),
    [
        (SETTLES, {}, {}, "unknown"),
        (SETTLES, {"eval_rmse": np.linspace(1, 0.1, 60)}, {}, "unknown"),
        (SETTLES, {"eval_accuracy": np.linspace(0.1, 0.9, 60)}, {}, "present"),
        (SETTLES, {}, {"num_classes": 10}, "present"),
        (SETTLES, {}, {"loss_function": "CrossEntropyLoss"}, "present"),
        (SETTLES, {}, {"loss_function": "memoryefficientsoftdiceloss"}, "unknown"),
        (SETTLES, {}, {"loss_function": "tverskycrossentropy", "num_classes": 3}, "unknown"),
        (-2.3 - 0.5 * np.arange(60), {}, {}, "present"),
        (-SETTLES, {}, {}, "absent"),
        (np.linspace(11.8, -1.0, 60), {}, {}, "unknown"),  # far above zero at first: no wrong sign
        (np.linspace(1.8, -1.0, 60), {}, {}, "present"),
    ],
)
def test_a_loss_below_zero(loss: Any, more: Any, settings: Any, expected: str) -> None:
    """Densities and similarities settle below zero; cross-entropies do not, and a wrong sign runs away."""
    assert state("loss", "loss-negative", settings, train_loss=loss, **more) == expected


def test_the_script_may_name_a_density() -> None:
    """A likelihood of a Gaussian process goes below zero while it still falls; a cross-entropy does not."""
    loss = series("train/loss", 1.0 - 0.03 * np.arange(60))
    process = "mll = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)\nloss = -mll(output, y)\n"
    similarity = "loss = similarity_matching(net(x), x)\n"

    sign = "loss = -F.cross_entropy(output, y)\n"
    for text, expected in ((process, "unknown"), (similarity, "unknown"), (sign, "present")):
        assert str(reading("loss", "loss-negative", run([loss], scripts={"fit.py": text})).state) == expected


@pytest.mark.parametrize(("held", "expected"), [("falls", "absent"), ("rises", "present")])
def test_harder_data_are_no_divergence(held: str, expected: str) -> None:
    """A curriculum raises the training loss and not that of the evaluation."""
    train = np.r_[np.geomspace(2.2, 0.2, 20), np.linspace(0.7, 0.8, 20)]
    falls = np.linspace(2.2, 0.7, 40)
    rises = np.r_[np.linspace(2.2, 0.7, 20), np.linspace(0.8, 2.0, 20)]

    found = state("loss", "loss-diverges", train_loss=train, eval_loss=falls if held == "falls" else rises)

    assert found == expected


def test_the_loss_of_a_policy_may_be_nothing() -> None:
    """Once an action is sure its gradient is nothing: no sample was learned by heart."""
    loss = np.geomspace(5, 1e-4, 60)

    assert state("loss", "train-loss-near-zero", train_loss=loss) == "present"
    assert state("loss", "train-loss-near-zero", train_loss=loss, train_reward=-loss) == "unknown"


@pytest.mark.parametrize(("right", "expected"), [(0.999, "unknown"), (0.8, "present"), (None, "present")])
def test_strong_regularisation_that_holds_nothing_back(right: float | None, expected: str) -> None:
    """What learns its training data to the last one is not held back."""
    more = {} if right is None else {"train_accuracy": [right] * 8}

    assert state("settings", "regularization-large", {"weight_decay": 1.0}, **more) == expected


@pytest.mark.parametrize(
    ("start", "more", "settings", "expected"),
    [
        (2.3, {}, {}, "present"),
        (68.0, {}, {}, "unknown"),  # of whatever scale
        (68.0, {}, {"num_classes": 10}, "present"),
        (
            2.3,
            {"eval_accuracy": 0.99 - 0.5 * np.exp(-np.arange(60) / 4)},
            {},
            "unknown",
        ),  # the task is solved
        (2.3, {"eval_accuracy": np.linspace(0.5, 0.7, 60)}, {}, "present"),
    ],
)
def test_next_to_no_training_loss(start: float, more: Any, settings: Any, expected: str) -> None:
    loss = start * np.exp(-np.arange(60) / 4)

    assert state("loss", "train-loss-near-zero", settings, train_loss=loss, **more) == expected
