"""Training against evaluation: what is seen, what is not there, and what scatter or poor training hides."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from traindoctor.engine.model import State
from traindoctor.probes.curves import gaps, metrics
from traindoctor.probes.registry import Finding, View

from .. import _zoo as zoo
from .._build import run, series

FALLING = list(np.linspace(2.0, 0.2, 40))
VALLEY = [*np.linspace(2.0, 1.0, 12), *np.linspace(1.0, 1.6, 28)]
FLICKER = np.tile([-0.45, 0.45, 0.3, -0.3], 10)


def seen(function: Any, curves: dict[str, list[float]], **params: Any) -> str:
    found = function(View(run([series(n, v) for n, v in curves.items()])), **params)
    assert isinstance(found, Finding)
    return str(found.state)


@pytest.mark.parametrize(
    ("held", "rise", "state"),
    [
        (VALLEY, 0.1, "present"),
        (VALLEY, 0.5, "present"),
        (VALLEY, 0.8, "absent"),
        (FALLING, 0.1, "absent"),
        (list(np.array(VALLEY) * 0.2 + FLICKER + 1), 0.05, "unknown"),
        (VALLEY[:4], 0.1, "unknown"),
    ],
)
def test_an_evaluation_loss_that_turns_up(held: list[float], rise: float, state: str) -> None:
    """A rise of the asked share is seen, a smaller one is not there, one within its scatter is not known."""
    curves = {"train/loss": FALLING[: len(held)], "eval/loss": held}

    assert seen(gaps.eval_turns_up, curves, rise=rise) == state


@pytest.mark.parametrize(
    ("train", "held", "state"),
    [
        ([*np.linspace(2.0, 0.2, 40)], [2.0] * 40, "present"),
        ([*np.linspace(2.0, 0.2, 40)], [*np.linspace(2.0, 0.3, 40)], "absent"),
        ([*np.linspace(1.0, 0.02, 40)], [*np.linspace(1.0, 0.3, 40)], "present"),
        ([*np.linspace(1.0, 0.02, 40)], [*np.linspace(1.0, 0.22, 40)], "absent"),
        ([*np.linspace(3.5, 1.9, 40)], [*np.linspace(3.7, 7.6, 40)], "unknown"),
        ([*np.linspace(3.5, 3.3, 40)], [*np.linspace(3.7, 7.6, 40)], "unknown"),
    ],
)
def test_a_gap_of_losses(train: list[float], held: list[float], state: str) -> None:
    """The evaluation is far above a training that is good; above one that is not, nothing is claimed."""
    assert seen(gaps.generalisation_gap, {"train/loss": train, "eval/loss": held}) == state


@pytest.mark.parametrize(
    ("flicker", "down", "gap"),
    [(0.0, "present", "present"), (0.8, "unknown", "unknown"), (0.05, "present", "present")],
)
def test_metrics_that_scatter(flicker: float, down: str, gap: str) -> None:
    """What the scatter of the evaluation hides is not known, and not absent."""
    held = np.array([*np.linspace(0.3, 0.75, 10), *np.linspace(0.75, 0.62, 30)]) + flicker * FLICKER
    curves = {"train/accuracy": list(np.linspace(0.3, 0.95, 40)), "eval/accuracy": list(held)}

    assert seen(gaps.eval_metric_turns_down, curves) == down
    assert seen(gaps.generalisation_gap, curves) == gap


def _told_by_loss(held: float, end: float = 0.25, first: float = 2.0, **settings: object) -> State:
    """A classifier of 6 classes that logs no training accuracy: its loss falls from `first` to `end`."""
    loss = np.linspace(first, end, 60)
    loss[40:] = end
    curves = [
        series("train/loss", loss, np.arange(1, 61)),
        series("eval/accuracy", np.full(8, held) + 0.004 * (-1.0) ** np.arange(8), 7.0 * np.arange(1, 9)),
    ]
    return zoo.state(run(curves, {"num_classes": 6, **settings}), "eval-metric-at-chance-train-good")


def test_a_low_training_loss_tells_that_training_answers_are_right() -> None:
    """A wrong answer loses ln 2 at least, so a mean cross-entropy of 0.25 leaves a third of them at most."""
    assert _told_by_loss(0.168) is State.PRESENT
    assert _told_by_loss(0.60) is State.ABSENT
    assert _told_by_loss(0.26) is State.UNKNOWN  # not at a guess, and not far from one
    assert _told_by_loss(0.168, end=0.6) is not State.PRESENT  # hardly anything follows from this loss
    assert _told_by_loss(0.168, first=0.5) is State.UNKNOWN  # no cross-entropy from the start
    assert _told_by_loss(0.168, loss_function="focal") is State.UNKNOWN


def test_an_evaluation_that_rises_below_a_resting_training_loss_is_no_overfitting() -> None:
    """Noisy inputs in training alone: training stays above evaluation, and has not got better since."""
    held = np.concatenate([np.linspace(0.8, 0.55, 8), np.linspace(0.56, 0.76, 12)])

    def state(end: float) -> State:
        train = np.concatenate([np.linspace(1.5, 0.86, 20), np.linspace(0.86, end, 80)])
        curves = [
            series("train/loss", train, np.arange(1, 101)),
            series("eval/loss", held, 5.0 * np.arange(1, 21)),
        ]
        return zoo.state(run(curves), "eval-loss-turns-up")

    assert state(0.80) is State.UNKNOWN
    assert state(0.20) is State.PRESENT


def test_an_evaluation_that_was_never_down_does_not_turn_up() -> None:
    """Best at its first point, above what training began with: the evaluation is wrong, nobody over-fits."""
    train = series("train/loss", np.geomspace(2.0, 0.05, 14), unit="epoch")
    never = series("eval/loss", np.linspace(2.8, 13.0, 14), unit="epoch")
    turning = series("eval/loss", np.linspace(1.9, 5.0, 14), unit="epoch")

    assert gaps.eval_turns_up(View(run([train, never])), above=1.2).state is State.UNKNOWN
    assert gaps.eval_turns_up(View(run([train, turning])), above=1.2).state is State.PRESENT


@pytest.mark.parametrize(
    ("dropout", "state"), [(0.05, "present"), (0.1, "present"), (0.3, "unknown"), (None, "present")]
)
def test_a_little_dropout_does_not_make_training_harder(dropout: float | None, state: str) -> None:
    """Evaluation loses a fifth of what training does: a dropout of a tenth explains no such gap."""
    held = np.linspace(2.0, 0.2, 40)
    curves = [series("train/loss", np.linspace(2.0, 1.2, 40)), series("eval/loss", held)]
    settings = {} if dropout is None else {"dropout": dropout}
    assert str(gaps.eval_better_than_train(View(run(curves, settings))).state) == state


@pytest.mark.parametrize(
    ("train", "held", "state"),
    [
        (FALLING, [0.3 * v for v in FALLING], "present"),
        (FALLING, [0.9 * v for v in FALLING], "absent"),
        ([0.01 * v if i > 9 else v for i, v in enumerate(FALLING)], [0.001 * v for v in FALLING], "unknown"),
    ],
    ids=["far below", "alike", "both solved"],
)
def test_a_ratio_of_losses_counts_until_both_are_next_to_nothing(
    train: list[float], held: list[float], state: str
) -> None:
    """What is left of two losses that came down to almost nothing is no comparison."""
    settings = {"dropout": 0.0, "augmentation": "none"}
    curves = [series("train/loss", train), series("eval/loss", held)]
    assert str(gaps.eval_better_than_train(View(run(curves, settings))).state) == state


EASY = [0.78, 0.998, 0.999, *[1.0] * 17]
LATE = [0.4, 0.5, *np.linspace(0.6, 0.99, 18)]


@pytest.mark.parametrize(
    ("curves", "alone", "both"),
    [
        ({"eval/accuracy": [1.0] * 20, "train/accuracy": LATE}, "present", "absent"),
        ({"eval/accuracy": [1.0] * 20, "train/accuracy": EASY}, "unknown", "present"),
        ({"eval/accuracy": [1.0] * 20, "train/loss": [1.2, 0.09, 0.03, *[0.01] * 17]}, "unknown", "present"),
        ({"eval/accuracy": [1.0] * 20, "train/loss": np.linspace(2.0, 0.2, 20)}, "present", "absent"),
        ({"eval/accuracy": np.linspace(0.3, 1.0, 20), "train/accuracy": EASY}, "absent", "absent"),
        ({"eval/accuracy": [1.0] * 3, "train/accuracy": EASY}, "unknown", "unknown"),
        ({"train/accuracy": EASY}, "unknown", "unknown"),
    ],
    ids=["training lags", "easy", "easy by its loss", "loss lags", "slow", "few points", "not evaluated"],
)
def test_perfect_at_once_is_told_from_an_easy_task(
    curves: dict[str, list[float]], alone: str, both: str
) -> None:
    """Evaluation that is perfect before training is good is suspicious."""
    given = View(run([series(n, v) for n, v in curves.items()]))
    assert str(metrics.eval_near_perfect_early(given, level=0.99).state) == alone
    assert str(metrics.near_perfect_early(given, level=0.99).state) == both


def test_a_score_of_zero_at_the_rest_of_the_loss() -> None:
    """Of rare labels none is said: the loss of their shares is reached, and rests. It is no wrong loss."""
    rests = [0.69, 0.55, 0.45, 0.424, *[0.423] * 16]
    names = "train/loss", "train/f1"

    assert seen(gaps.loss_falls_metric_flat, dict(zip(names, (rests, [0.0] * 20), strict=True))) == "unknown"
    assert (
        seen(gaps.loss_falls_metric_flat, dict(zip(names, (FALLING, [0.0] * 40), strict=True))) == "present"
    )
    assert seen(gaps.loss_falls_metric_flat, dict(zip(names, (rests, [0.1] * 20), strict=True))) == "present"
