"""Where only one of two quantities that belong together leaves the benchmark's: each in its three states."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from traindoctor.probes.benchmark.compare import final, pair
from traindoctor.probes.registry import View
from traindoctor.probes.run import Run, Series

from .._build import run, series
from .._read import reading

N = 12
AT = np.arange(1, N + 1) * 10
LOSS = 0.3 + 1.8 * np.exp(-np.arange(N) / 3)
SCORE = 0.9 - 0.8 * np.exp(-np.arange(N) / 3)
ERROR = 1 - SCORE


def sides(train: Any = LOSS, loss: Any = 1.1 * LOSS, metric: Any = SCORE, name: str = "eval/accuracy") -> Run:
    """A run of a training loss, an evaluation loss and a metric; None leaves one out."""
    made: list[Series] = []
    for key, values in (("train/loss", train), ("eval/loss", loss), (name, metric)):
        if values is not None:
            made.append(series(key, values, AT))
    return run(made)


def state(symptom: str, mine: Run, theirs: Run) -> str:
    return str(reading("benchmark", symptom, mine, theirs).state)


PLAIN = sides()
IN_PERCENT = sides(metric=100 * ERROR, name="eval/wer")
IN_DECIBEL = sides(loss=None, metric=20 + 10 * SCORE, name="eval/psnr")


@pytest.mark.parametrize(
    ("mine", "theirs", "expected"),
    [
        # an axis mixed up, a last batch instead of all, transcripts that are not cleaned: the loss is right
        (sides(metric=np.full(N, 0.05)), PLAIN, "present"),
        (sides(loss=1.12 * LOSS, metric=0.3 * SCORE), PLAIN, "present"),
        (sides(metric=100 * np.full(N, 1.18), name="eval/wer"), IN_PERCENT, "present"),
        # no evaluation loss, and a score that no training loss of this size explains
        (sides(loss=None, metric=50 + 30 * SCORE, name="eval/psnr"), IN_DECIBEL, "present"),
        # other inputs, a shifted domain, other labels: the loss tells the same
        (sides(loss=6 * LOSS, metric=0.3 * SCORE), PLAIN, "absent"),
        (sides(loss=1.6 * LOSS, metric=SCORE - 0.3), PLAIN, "absent"),
        (sides(loss=np.full(N, 2.1), metric=np.full(N, 0.1)), PLAIN, "absent"),
        (sides(metric=SCORE - 0.03), PLAIN, "unknown"),
        (sides(loss=None, metric=12 + 5 * SCORE, name="eval/psnr"), IN_DECIBEL, "unknown"),
        (sides(metric=None), PLAIN, "unknown"),
        (sides(loss=[*LOSS[:-2], np.nan, np.nan], metric=0.3 * SCORE), PLAIN, "unknown"),
    ],
)
def test_a_metric_leaves_the_benchmark_and_its_loss_does_not(mine: Run, theirs: Run, expected: str) -> None:
    assert state("metric-apart-at-equal-loss", mine, theirs) == expected


@pytest.mark.parametrize(
    ("mine", "expected"),
    [
        (sides(loss=128 * LOSS), "present"),
        (sides(loss=LOSS / 50), "present"),
        (sides(loss=4 * LOSS, metric=SCORE - 0.01), "present"),
        (PLAIN, "absent"),
        (sides(loss=8 * LOSS, metric=SCORE - 0.4), "absent"),
        (sides(train=8 * LOSS, loss=8 * LOSS), "absent"),
        (sides(metric=None), "unknown"),
        (sides(loss=None), "unknown"),
    ],
)
def test_the_evaluation_loss_alone_is_a_multiple(mine: Run, expected: str) -> None:
    assert state("eval-loss-apart-at-equal-metric", mine, PLAIN) == expected


FLOOR = 1.15 + 0.5 * np.exp(-np.arange(N) / 3)


@pytest.mark.parametrize(
    ("mine", "expected"),
    [
        # softmax twice: as often right, at the loss of an unsure answer
        (sides(train=FLOOR, loss=FLOOR), "present"),
        (sides(train=1.05 * FLOOR, loss=FLOOR, metric=SCORE - 0.02), "present"),
        (sides(train=20 * LOSS, loss=22 * LOSS), "present"),
        (PLAIN, "absent"),
        # slower: where its metric is, the benchmark's loss was as high
        (sides(*(np.interp(np.arange(N) / 3, np.arange(N), v) for v in (LOSS, 1.1 * LOSS, SCORE))), "absent"),
        # wrong labels in training, and learning by heart
        (sides(train=2.5 * FLOOR, loss=FLOOR), "absent"),
        (sides(train=0.1 * LOSS, loss=3 * LOSS), "absent"),
        (sides(metric=np.full(N, 0.01)), "unknown"),
        (sides(metric=None), "unknown"),
    ],
)
def test_at_the_same_metric_the_run_loses_more(mine: Run, expected: str) -> None:
    assert state("loss-above-at-equal-metric", mine, PLAIN) == expected


@pytest.mark.parametrize(
    ("mine", "expected"),
    [
        (sides(train=5e4 * LOSS, loss=6e4 * LOSS), "present"),
        (sides(train=4 * LOSS, loss=4 * LOSS), "absent"),
        (PLAIN, "absent"),
        (sides(train=5e4 * LOSS, loss=None), "unknown"),
    ],
)
def test_a_loss_of_another_scale_at_the_same_metric(mine: Run, expected: str) -> None:
    """Targets in their raw scale, not another loss, cost tens of thousands of times as much."""
    assert state("loss-out-of-scale-at-equal-metric", mine, PLAIN) == expected


@pytest.mark.parametrize(
    ("mine", "expected"),
    [
        (sides(metric=0.1 * SCORE), "present"),  # other classes are asked for, or answers are counted wrongly
        (sides(loss=4 * LOSS), "present"),
        (sides(loss=4 * LOSS, metric=0.1 * SCORE), "absent"),
        (PLAIN, "unknown"),
        (sides(train=1.1 * LOSS, metric=0.1 * SCORE), "unknown"),
        (sides(loss=None, metric=0.1 * SCORE), "unknown"),
    ],
)
def test_one_figure_of_equal_answers_is_another(mine: Run, expected: str) -> None:
    assert state("eval-partly-identical", mine, PLAIN) == expected


def test_metrics_at_their_limit_do_not_tell_what_the_loss_should_be() -> None:
    """Of two models that are always right one is still surer than the other."""
    sure = 1 - 0.4 * np.exp(-np.arange(N) * 2)

    mine, theirs = sides(train=LOSS / 20, loss=LOSS / 20, metric=sure), sides(metric=sure, loss=LOSS / 80)
    assert state("loss-above-at-equal-metric", mine, theirs) == "unknown"


@pytest.mark.parametrize(
    ("mine", "expected"),
    [
        (sides(train=2.2 * LOSS), "present"),
        (sides(train=0.5 + 1.5 * LOSS, loss=1.3 * LOSS), "present"),
        (sides(train=1.8 * LOSS, metric=None), "present"),
        (sides(train=2.2 * LOSS, metric=1 - (1 - SCORE) / 2), "unknown"),  # label smoothing: evaluation gains
        (PLAIN, "absent"),
        (sides(train=2 * LOSS, loss=2.2 * LOSS), "absent"),
        (sides(train=0.2 * LOSS, loss=2 * LOSS), "absent"),
        (sides(loss=LOSS / 3), "absent"),  # evaluation alone is lower: a question to the evaluation
        (sides(train=3 * LOSS[::-1], loss=2 * LOSS), "unknown"),
        (sides(loss=None), "unknown"),
        (sides(train=[*LOSS[:-1], np.nan]), "unknown"),
    ],
)
def test_training_is_harder_than_evaluation(mine: Run, expected: str) -> None:
    assert state("training-harder-than-benchmark", mine, PLAIN) == expected


@pytest.mark.parametrize(("count", "expected"), [(2, "unknown"), (10, "present")])
def test_harder_data_cost_no_more_than_a_guess(count: int, expected: str) -> None:
    """A training loss that ends at 1.6 lies above a guess between two classes, and below one among ten."""
    curves = {"train/loss": 1.3 + 0.7 * LOSS, "eval/loss": 1.1 * LOSS, "eval/accuracy": SCORE}
    mine = run([series(k, v, AT) for k, v in curves.items()], {"num_classes": count})
    assert state("training-harder-than-benchmark", mine, PLAIN) == expected


def test_a_benchmark_that_trains_on_harder_inputs_is_no_difference() -> None:
    """Strong augmentation on both sides."""
    assert state("training-harder-than-benchmark", sides(train=2.2 * LOSS), sides(train=2 * LOSS)) == "absent"


@pytest.mark.parametrize("jump", [0.6, -0.25])
def test_curves_that_part_once_late_end_apart(jump: float) -> None:
    """The one step of the gap is no scatter; slow wandering is."""
    rng = np.random.default_rng(1)
    smooth = 0.3 + 2 * np.exp(-np.arange(100) / 15)
    mine, theirs = (smooth + 0.02 * rng.normal(size=100) for _ in range(2))
    mine[72:] += jump
    found = pair(View(run([series("train/loss", mine)]), run([series("train/loss", theirs)])), "train/loss")
    assert not isinstance(found, str)

    a, b, error = final(found)

    assert a - b == pytest.approx(jump, abs=0.05)
    assert abs(a - b) > 3 * error


def test_a_better_metric_beside_a_worse_one_is_not_better() -> None:
    """Another loss function is lower; the mean absolute error says what the model is worth."""
    at = AT
    theirs = run(
        [series("train/loss", LOSS, at), series("eval/loss", LOSS, at), series("eval/mae", LOSS, at)]
    )
    low = [series("train/loss", LOSS / 50, at), series("eval/loss", LOSS / 50, at)]

    worse = run([*low, series("eval/mae", 5 * LOSS, at)])
    better = run([*low, series("eval/mae", LOSS / 2, at)])
    assert state("better-than-benchmark", worse, theirs) == "absent"
    assert state("better-than-benchmark", better, theirs) == "present"


def test_a_benchmark_that_is_learning_fast_is_beaten_without_a_leak() -> None:
    """A larger step gets further by its end, in training and in evaluation."""
    right = [0.1, 0.3, 0.5, 0.6, 0.7, 0.8, 0.87]
    ends = [*right[:3], 0.76, 0.9, 0.95, 0.967]
    at = list(range(100, 800, 100))
    mine, theirs = (
        run([series("train/loss", [2.5 - 2 * v for v in x], at), series("eval/accuracy", x, at)])
        for x in (ends, right)
    )
    assert state("better-than-benchmark", mine, theirs) == "unknown"
