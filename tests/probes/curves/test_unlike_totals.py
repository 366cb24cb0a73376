"""Right runs whose losses look wrong: sums, weighted terms, other units, harder training data."""

from __future__ import annotations

import numpy as np
import pytest

from traindoctor.probes.run import Run

from .._build import run, series
from .._read import reading

RNG = np.random.default_rng(11)
N = 60
T = np.arange(N) / N
FALLS = 2.2 * np.exp(-5 * T) + 0.2 + 0.005 * RNG.standard_normal(N)
RIGHT = 0.93 - 0.8 * np.exp(-6 * T)


def epochs(**curves: np.ndarray) -> list:
    """Curves over epochs: `train_loss`, `eval_accuracy`, `train_loss_kl`, ..."""
    return [series(name.replace("_", "/"), values, unit="epoch") for name, values in curves.items()]


def made(settings: dict[str, object] | None = None, **curves: np.ndarray) -> Run:
    return run(epochs(**curves), settings or {})


RAMP = np.minimum(1, 2 * T)


@pytest.mark.parametrize(
    ("area", "symptom", "sick", "right"),
    [
        # gensim's sum over all epochs; a climb from a guess
        (
            "loss",
            "loss-diverges",
            made(train_loss=np.linspace(2.3, 9, N)),
            made(train_loss=np.cumsum(4e5 / (1 + 5 * T))),
        ),
        (
            "relations",
            "loss-climbs-steadily",
            made(train_loss=np.linspace(2.3, 9, N)),
            made(train_loss=np.cumsum(4e5 / (1 + 5 * T))),
        ),
        # a weight grows, and no term rises; one term does
        (
            "loss",
            "loss-diverges",
            made(train_loss=FALLS + 4 * RAMP, train_loss_a=FALLS, train_loss_b=4 * RAMP),
            made(train_loss=FALLS + 4 * RAMP, train_loss_a=FALLS, train_loss_b=0.5 - 0.1 * T),
        ),
        # an entropy is taken off
        (
            "loss",
            "loss-below-its-floor",
            made({"loss_function": "cross_entropy"}, train_loss=FALLS - 0.5),
            made({"loss_function": "cross_entropy", "entropy_weight": 0.5}, train_loss=FALLS - 0.5),
        ),
        # the evaluation sums over its set; inputs are processed otherwise
        (
            "metrics",
            "eval-bad-from-start",
            made(train_loss=FALLS, eval_loss=5 + 0.1 * T),
            made(train_loss=FALLS, eval_loss=5000 * FALLS),
        ),
        (
            "metrics",
            "eval-never-learns",
            made(train_loss=FALLS, eval_loss=5 + 0.1 * T),
            made(train_loss=FALLS, eval_loss=5000 * FALLS),
        ),
        # below zero: the way that both came tells
        (
            "metrics",
            "train-good-eval-bad",
            made(train_loss=-0.9 + FALLS, eval_loss=0.8 + 0 * T),
            made(train_loss=-18 + 7 * FALLS, eval_loss=-16.5 + 6.5 * FALLS),
        ),
        # mixtures are scored in training
        (
            "relations",
            "train-metric-below-chance",
            made({"num_classes": 10}, train_loss=FALLS, train_accuracy=0.03 + 0 * T),
            made(train_loss=FALLS, train_accuracy=0.14 + 0 * T, eval_accuracy=0.8 * RIGHT),
        ),
    ],
)
def test_right_runs_that_look_wrong(area: str, symptom: str, sick: Run, right: Run) -> None:
    """Present in the sick run, and not in the right one."""
    assert reading(area, symptom, sick).state == "present"
    assert reading(area, symptom, right).state != "present"


def test_errors_of_answers_near_zero() -> None:
    """A relative error near one with a loss that has halved is that of hard data."""
    flat, fell = 5000 - 40 * T, 5000 + 9000 * np.exp(-8 * T)
    for losses, expected in ((flat, "present"), (fell, "absent")):
        found = made(train_loss=losses, eval_loss=losses, eval_mape=0.93 + 0.01 * T)
        assert reading("metrics", "answers-near-nothing", found).state == expected


def test_a_detector_that_gets_better() -> None:
    """A precision that rises from one evaluation to the next is that of a short training."""
    for found, expected in ((0.019 * T**1.5, "unknown"), (0.004 + 0.001 * np.sin(9 * N * T), "present")):
        shown = made(train_loss=14 * FALLS, eval_loss=14 * FALLS, eval_map=found)
        assert reading("metrics", "detects-next-to-nothing", shown).state == expected


def test_a_guess_by_the_shares_of_classes() -> None:
    """Of rare classes a guess by their shares loses little."""
    started = series("train/loss", np.linspace(0.012, 0.002, N))
    for counts, expected in (((5000, 5000), "present"), ((28, 9972), "absent")):
        shown = run([started], {"num_classes": 2, "class_counts": counts})
        assert reading("loss", "loss-initial-below-chance", shown).state == expected


ZERO = 0 * T


@pytest.mark.parametrize(
    ("area", "symptom", "shown", "expected"),
    [
        ("loss", "loss-negative", made(train_loss=0.05 * np.sin(7 * N * T)), "unknown"),  # of energies
        # the count of classes is unknown, but an AUC of a half is a guess among any
        (
            "metrics",
            "metric-at-chance",
            made(train_loss=ZERO + 0.6935 - 0.0002 * T, eval_accuracy=ZERO + 0.002, eval_auc=ZERO + 0.5003),
            "present",
        ),
        (
            "metrics",
            "metric-at-chance",
            made(train_loss=FALLS, eval_accuracy=ZERO + 0.31, eval_auc=RIGHT),
            "absent",
        ),
        # far below a half it tells the classes apart, the wrong way round
        ("metrics", "metric-at-chance", made(train_loss=FALLS, eval_auc=ZERO + 0.33), "unknown"),
        # of a critic: it swings across zero, more and more on one side
        ("loss", "loss-negative", made(train_loss=20 * np.sin(5 * N * T) - 16 * T), "unknown"),
        (
            "loss",
            "loss-negative",
            made(train_loss=4 - 30 * T + 2 * np.sin(5 * N * T)),
            "present",
        ),  # runs away
        (
            "metrics",
            "eval-metric-zero",
            made(train_loss=FALLS, eval_loss=ZERO, eval_accuracy=ZERO),
            "unknown",
        ),
        (
            "metrics",
            "eval-metric-zero",
            made(train_loss=FALLS, eval_loss=FALLS, eval_accuracy=ZERO),
            "present",
        ),
        ("metrics", "eval-metric-constant", made(train_loss=FALLS, eval_accuracy=ZERO - 1), "unknown"),
        (
            "relations",
            "test-as-untrained",
            made(train_loss=FALLS, eval_accuracy=RIGHT, test_accuracy=np.where(T < 0.97, 0, 0.9)),
            "absent",
        ),
        (
            "relations",
            "test-as-untrained",
            made(train_loss=FALLS, eval_accuracy=RIGHT, test_accuracy=ZERO),
            "present",
        ),
    ],
)
def test_figures_that_stand_for_none(area: str, symptom: str, shown: Run, expected: str) -> None:
    """Zeros and minus ones that programs write where they did not measure."""
    assert reading(area, symptom, shown).state == expected


def test_a_threshold_that_answers_one_class() -> None:
    """Scores that rank well do not come from a model that knows one class."""
    counts = {"num_classes": 2, "class_counts": (9700, 300)}
    for ranked, expected in ((0.5 + 0.01 * T, "present"), (0.9 - 0.4 * np.exp(-5 * T), "unknown")):
        shown = made(counts, train_loss=FALLS, eval_accuracy=0.97 + ZERO, eval_auc=ranked)
        assert reading("metrics", "accuracy-equals-majority", shown).state == expected
        assert reading("relations", "eval-answers-one-class", shown).state == expected
