"""Evaluations that stand still, contradict themselves or are a multiple, each in its three states."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from traindoctor.probes.run import Run, Series

from .._build import run, series
from .._read import reading

FALLING = np.linspace(2.3, 0.2, 60)
AT = [10, 20, 30, 40, 50, 60]


def held(name: str, values: Any) -> Series:
    return series(name, values, AT[: len(values)])


def state(symptom: str, *curves: Series) -> str:
    return str(reading("relations", symptom, run(curves)).state)


@pytest.mark.parametrize(
    ("loss", "training", "expected"),
    [
        ([1.82] * 6, FALLING, "present"),
        ([1.82, 1.5, 1.2, 1.0, 0.9, 0.8], FALLING, "absent"),
        ([1.82] * 6, np.full(60, 2.3), "unknown"),
        ([1.82] * 6, [*FALLING[:40], *[np.nan] * 20], "unknown"),
    ],
)
def test_an_evaluation_that_never_changes_is_not_of_the_model_that_learns(
    loss: Any, training: Any, expected: str
) -> None:
    """Frozen weights and a run of NaN give constant evaluations as well: then nothing is said."""
    assert state("eval-stands-still", series("train/loss", training), held("eval/loss", loss)) == expected


@pytest.mark.parametrize(
    ("loss", "score", "expected"),
    [
        ([0.0] * 6, [0.0] * 6, "present"),
        ([0.0] * 6, [1.0] * 6, "absent"),
        ([0.4] * 6, [0.0] * 6, "absent"),
        ([0.0] * 2, [0.0] * 2, "unknown"),
    ],
)
def test_an_evaluation_of_nothing(loss: Any, score: Any, expected: str) -> None:
    """A sum over no samples is zero, in every term; it is no frozen model."""
    train = series("train/loss", FALLING)

    assert state("eval-scores-nothing", train, held("eval/loss", loss), held("eval/map", score)) == expected
    assert state("eval-stands-still", train, held("eval/loss", [0.0] * 6)) == "unknown"


@pytest.mark.parametrize(
    ("loss", "training", "expected"),
    [
        ([28.8, 28.6, 28.5, 28.4, 28.3, 28.2], FALLING, "present"),
        ([8.8, 8.7, 8.5, 8.4, 8.3, 8.2], FALLING, "present"),
        ([8.2, 8.3, 8.4, 8.5, 8.7, 8.8], FALLING, "absent"),
        ([8.8, 8.7, 8.9, 8.5, 8.8, 8.7], FALLING, "absent"),
        ([1.82, 1.5, 1.2, 1.0, 0.9, 0.8], FALLING, "absent"),
        ([0.32, 0.318, 0.316, 0.313, 0.312, 0.311], FALLING, "absent"),
        ([8.8, 8.7, 8.5], FALLING, "unknown"),
        ([2.31, 2.30, 2.29, 2.28, 2.27, 2.26], np.linspace(2.31, 2.2, 60), "unknown"),
    ],
)
def test_an_evaluation_of_weights_that_follow_slowly(loss: Any, training: Any, expected: str) -> None:
    assert state("eval-follows-slowly", series("train/loss", training), held("eval/loss", loss)) == expected


def test_a_metric_may_stand_at_its_limit() -> None:
    """Zero and one are reached by different weights; what lies between them is not, to the last digit."""
    train = series("train/loss", FALLING)

    assert state("eval-stands-still", train, held("eval/accuracy", [0.145] * 6)) == "present"
    assert state("eval-stands-still", train, held("eval/accuracy", [0.0] * 6)) == "unknown"
    assert state("eval-stands-still", train) == "unknown"


@pytest.mark.parametrize(
    ("loss", "accuracy", "expected"),
    [
        ([2.2, 1.8, 1.5, 1.2, 1.0, 0.9], [0.1, 0.09, 0.1, 0.08, 0.09, 0.1], "present"),
        ([2.2, 1.8, 1.5, 1.2, 1.0, 0.9], [0.1, 0.3, 0.4, 0.5, 0.6, 0.7], "absent"),
        ([40.0, 9.0, 4.0, 2.4, 2.3, 2.3], [0.1, 0.1, 0.1, 0.1, 0.1, 0.1], "absent"),
        ([0.4, 0.3, 0.2, 0.15, 0.1, 0.1], [0.97, 0.97, 0.97, 0.97, 0.97, 0.97], "absent"),
    ],
)
def test_a_better_loss_with_the_same_bad_metric(loss: Any, accuracy: Any, expected: str) -> None:
    """A loss that only comes down to its scale has learned nothing; near its ceiling a metric cannot gain."""
    curves = held("eval/loss", loss), held("eval/accuracy", accuracy)

    assert state("eval-metric-stays-as-loss-falls", *curves) == expected


def test_a_better_loss_needs_a_metric_below_its_ceiling() -> None:
    """Without a metric there is nothing that stays, and a good one may have no more to gain."""
    falling = held("eval/loss", [2, 1.5, 1, 0.9, 0.8, 0.7])

    assert state("eval-metric-stays-as-loss-falls", falling, held("eval/map", [0.0] * 6)) == "present"
    assert state("eval-metric-stays-as-loss-falls", falling, held("eval/map", [0.7] * 6)) == "unknown"
    assert (
        state("eval-metric-stays-as-loss-falls", held("eval/loss", [2, 1.5, 1, 0.9, 0.8, 0.7])) == "unknown"
    )


def sides(factor: float, right: float | None, trained: float = 0.93) -> Run:
    falling = np.interp(AT, np.arange(1, 61), FALLING)
    curves = [series("train/loss", FALLING), held("eval/loss", factor * falling)]
    curves += [held("eval/accuracy", [right] * 6)] if right is not None else []
    return run([*curves, held("train/accuracy", [trained] * 6)])


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (sides(40, 0.92), "present"),
        (sides(1.1, 0.92), "absent"),
        (sides(40, 0.3), "absent"),
        (sides(40, None), "unknown"),
    ],
)
def test_an_evaluation_loss_that_is_a_sum(made: Run, expected: str) -> None:
    """Many times the loss at an equal accuracy; with a bad accuracy the model itself is bad there."""
    assert reading("relations", "eval-loss-is-multiple", made).state == expected


@pytest.mark.parametrize(
    ("train", "held_out", "expected"),
    [
        ([0.2, 0.4, 0.5, 0.55, 0.56, 0.55], [0.3, 0.6, 0.8, 0.84, 0.85, 0.85], "present"),
        ([0.2, 0.5, 0.7, 0.85, 0.9, 0.92], [0.3, 0.6, 0.8, 0.84, 0.85, 0.85], "absent"),
        ([0.2, 0.9, 0.1, 0.8, 0.3, 0.5], [0.3, 0.6, 0.4, 0.7, 0.5, 0.75], "absent"),
        ([0.2, 0.4], [0.3, 0.6], "unknown"),
    ],
)
def test_training_that_is_harder_than_evaluation(train: Any, held_out: Any, expected: str) -> None:
    """The gap has to exceed what single batches scatter."""
    curves = series("train/accuracy", train), series("eval/accuracy", held_out)

    assert state("training-harder-than-evaluation", *curves) == expected


@pytest.mark.parametrize(
    ("training", "loss", "expected"),
    [
        (FALLING, [2.3, 2.5, 2.9, 3.3, 3.8, 4.2], "present"),
        (FALLING, [2.0, 1.6, 1.5, 1.9, 2.8, 3.6], "absent"),
        (np.linspace(2.3, 1.9, 60), [2.3, 2.5, 2.9, 3.3, 3.8, 4.2], "unknown"),
        (np.linspace(5.3, 3.8, 60), [5.3, 5.9, 6.2, 6.3, 6.2, 6.2], "present"),  # of 200 classes
        (np.linspace(5.3, 3.8, 60), [5.4, 5.4, 5.5, 5.4, 5.5, 5.4], "unknown"),
        (-FALLING, [2.3, 2.5, 2.9, 3.3, 3.8, 4.2], "unknown"),
    ],
)
def test_an_evaluation_that_never_gains(training: Any, loss: Any, expected: str) -> None:
    """What is learned by heart helps at first; here it never does."""
    made = run([series("train/loss", training), held("eval/loss", loss)])

    assert reading("metrics", "eval-never-learns", made).state == expected
    if expected == "present":
        ranked = run([*made.all_series, held("eval/auc", [0.74, 0.79, 0.8, 0.81, 0.82, 0.82])])
        assert reading("metrics", "eval-never-learns", ranked).state == "absent"


@pytest.mark.parametrize(
    ("training", "name", "error", "expected"),
    [
        (FALLING, "eval/epe", [10.5, 14.9, 16.4, 16.1, 17.0, 16.4], "present"),
        (FALLING, "eval/epe", [10.5, 8.9, 6.4, 5.1, 4.0, 3.9], "absent"),
        (
            [*FALLING[::6], *[0.2] * 50],
            "eval/mae",
            [4.0, 4.1, 3.95, 4.0, 4.1, 4.0],
            "unknown",
        ),  # learned before
        (FALLING, "eval/wer", [1.0, 1.0, 1.0, 0.99, 1.0, 0.99], "unknown"),
        (FALLING, "eval/mae", [4.0] * 6, "unknown"),  # one number told again
        (FALLING, "eval/fid", [80.0, 90, 100, 90, 100, 95], "unknown"),
    ],
)
def test_an_error_that_never_falls(training: Any, name: str, error: Any, expected: str) -> None:
    """Without an evaluation loss, errors are held against what training learns after the first of them."""
    made = run([series("train/loss", training), held(name, error)])

    assert reading("metrics", "eval-error-never-falls", made).state == expected


def test_a_loss_without_a_floor_tells_of_no_gap() -> None:
    """A loss with a wrong sign runs away in training and mirrors it in evaluation: that is no overfitting."""
    away = series("train/loss", -np.geomspace(1, 1e6, 60))
    made = run([away, held("eval/loss", np.geomspace(2, 1e6, 6))])

    for symptom in ("train-good-eval-bad", "eval-loss-turns-up"):
        assert reading("metrics", symptom, made).state == "unknown"


LEARNS = [2.1, 1.4, 0.9, 0.6, 0.4, 0.3]


@pytest.mark.parametrize(
    ("loss", "accuracy", "expected"),
    [
        # classes under other numbers, an inverted mask, another vocabulary: sure, and wrong
        ([3.9, 6.0, 8.2, 9.1, 9.6, 9.9], [0.07, 0.03, 0.02, 0.01, 0.01, 0.01], "present"),
        ([6.8, 7.5, 8.4, 8.1, 8.2, 8.2], None, "present"),
        ([2.9, 5.0, 6.9, 7.7, 8.0, 8.0], [0.16, 0.17, 0.17, 0.17, 0.17, 0.17], "present"),
        # a shifted domain is unsure; learning by heart was better at first; a sum is of right answers
        ([2.2, 2.4, 2.8, 3.0, 3.1, 3.2], [0.2, 0.2, 0.2, 0.2, 0.2, 0.2], "absent"),
        ([1.7, 1.9, 3.5, 5.5, 6.5, 7.0], [0.4, 0.4, 0.4, 0.4, 0.4, 0.4], "absent"),
        ([34.0, 33.0, 33.0, 33.0, 33.0, 33.0], [0.7, 0.8, 0.9, 0.9, 0.9, 0.9], "absent"),
        (LEARNS, [0.3, 0.5, 0.7, 0.8, 0.9, 0.9], "absent"),
        # part of the answers comes to be right: classes that training lacks are taken for those it has
        ([2.9, 5.0, 6.9, 7.7, 8.0, 8.0], [0.18, 0.24, 0.28, 0.3, 0.32, 0.32], "unknown"),
        # inputs without their scaling cost far more
        ([900.0, 800.0, 850.0, 700.0, 900.0, 800.0], [0.2, 0.2, 0.2, 0.2, 0.2, 0.2], "absent"),
    ],
)
def test_sure_answers_to_another_question_cost_more_than_guesses(
    loss: Any, accuracy: Any, expected: str
) -> None:
    curves = [series("train/loss", LEARNS, AT), held("eval/loss", loss)]
    if accuracy is not None:
        curves.append(held("eval/accuracy", accuracy))

    assert state("eval-surely-wrong", *curves) == expected


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        ([900.0, 800.0, 850.0, 700.0, 900.0, 800.0], "present"),
        ([100.0, 300.0, 1270.0, 400.0, 292.0, 346.0], "present"),
        ([1.1e3, 1.2e3, 1.1e3, 730.0, 700.0, 703.0], "present"),
        ([6.8, 7.5, 8.4, 8.1, 8.2, 8.2], "absent"),
        ([900.0, 80.0, 4.0, 1.4, 0.9, 0.8], "absent"),  # averages that still come down
        (LEARNS, "absent"),
    ],
)
def test_inputs_out_of_all_scale_cost_a_multiple(loss: Any, expected: str) -> None:
    train = series("train/loss", LEARNS, AT)

    assert state("eval-loss-out-of-scale", train, held("eval/loss", loss)) == expected


def test_what_an_untrained_model_loses_needs_a_training_that_learns() -> None:
    high = held("eval/loss", [9.0] * 6)

    for train in ([2.1] * 6, [2.1, 1.0, 0.8, 0.5, np.nan, np.nan], [2.1, 0.3]):
        assert state("eval-surely-wrong", series("train/loss", train, AT[: len(train)]), high) == "unknown"
        assert (
            state("eval-loss-out-of-scale", series("train/loss", train, AT[: len(train)]), high) == "unknown"
        )


@pytest.mark.parametrize(
    ("loss", "settings", "expected"),
    [
        ([2.5, 3.5, 4.6, 5.2, 5.8, 5.9], {}, "unknown"),  # a first epoch of 0.75 began anywhere above
        ([2.5, 3.5, 4.6, 5.2, 5.8, 5.9], {"num_classes": 4}, "present"),
        ([2.5, 2.8, 2.9, 3.0, 3.1, 3.1], {"num_classes": 4}, "absent"),
        ([9.0, 9.5, 9.9, 9.9, 9.9, 9.9], {}, "present"),
    ],
)
def test_the_mean_of_a_first_epoch_is_not_that_of_an_untrained_model(
    loss: Any, settings: dict[str, int], expected: str
) -> None:
    """An epoch in which most is learned begins far above its mean."""
    train = series("train/loss", [0.75, 0.43, 0.31, 0.2, 0.17, 0.16], AT, window="epoch-mean")
    made = run([train, held("eval/loss", loss)], settings)

    assert str(reading("relations", "eval-surely-wrong", made).state) == expected


FALLS = [0.57, 0.43, 0.33, 0.25, 0.19, 0.17]


@pytest.mark.parametrize(
    ("name", "metric", "loss", "expected"),
    [
        ("eval/f1", [0.525] * 6, FALLS, "present"),
        ("eval/accuracy", [0.5] * 6, FALLS, "present"),
        ("eval/f1", [0.525, 0.6, 0.7, 0.8, 0.85, 0.9], FALLS, "absent"),
        ("eval/f1", [0.525, 0.525, 0.525, 0.525, 0.525, 0.53], FALLS, "absent"),
        ("eval/accuracy", [0.97] * 6, FALLS, "unknown"),  # one class in 97 of 100: its entropy is 0.13
        ("eval/accuracy", [0.5] * 6, [0.70, 0.69, 0.68, 0.68, 0.67, 0.67], "unknown"),
        ("eval/accuracy", [1.0] * 6, FALLS, "unknown"),
        ("eval/accuracy", [0.5] * 3, FALLS[:3], "unknown"),
    ],
)
def test_a_metric_that_never_moves_while_the_answers_do(
    name: str, metric: Any, loss: Any, expected: str
) -> None:
    """One answer to everything cannot lose less than the entropy of its share."""
    assert state("eval-metric-frozen", held(name, metric), held("eval/loss", loss)) == expected


@pytest.mark.parametrize("symptom", ["eval-metric-frozen", "eval-metric-stays-as-loss-falls"])
def test_a_loss_below_zero_judges_no_metric(symptom: str) -> None:
    """A loss of the wrong sign falls without end while one class is answered to everything."""
    falls = held("eval/loss", [-3.0, -25.0, -100.0, -300.0, -600.0, -900.0])

    assert state(symptom, held("eval/accuracy", [0.28] * 6), falls) == "unknown"


@pytest.mark.parametrize(
    ("fit", "loss", "expected"),
    [
        ([-2100.0, -2220, -2140, -2210, -2240, -2170], [0.18, 0.14, 0.12, 0.115, 0.11, 0.106], "present"),
        ([-2.0, -1.4, -1.0, -0.9, -0.85, -0.8], [0.18, 0.14, 0.12, 0.115, 0.11, 0.106], "absent"),  # it rises
        ([0.5, 0.5, 0.5, 0.5, 0.5, 0.5], [0.18, 0.14, 0.12, 0.115, 0.11, 0.106], "absent"),
        ([-2100.0, -2220, -2140, -2210, -2240, -2170], [0.11, 0.108, 0.107, 0.106, 0.106, 0.106], "unknown"),
        ([-2100.0, -2220, -2140], [0.18, 0.14, 0.12], "unknown"),
        (None, [0.18, 0.14, 0.12, 0.115, 0.11, 0.106], "unknown"),
    ],
)
def test_r2_that_does_not_follow_the_loss(fit: list[float] | None, loss: list[float], expected: str) -> None:
    curves = [held("eval/loss", loss), *([held("eval/r2", fit)] if fit else [])]

    assert state("eval-error-stays-as-loss-falls", *curves) == expected


def test_a_frozen_metric_without_its_loss_tells_nothing() -> None:
    assert state("eval-metric-frozen", held("eval/accuracy", [0.5] * 6)) == "unknown"


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, "present"),
        ({"dropout": 0.1}, "present"),
        ({"dropout": 0.3}, "present"),
        ({"dropout": 0.5}, "unknown"),
        ({"dropout": 0.95}, "present"),  # too much of it is a fault itself
        ({"mixup": 0.2}, "unknown"),
    ],
)
def test_dropout_and_mixtures_make_training_harder(settings: dict[str, Any], expected: str) -> None:
    """Training is right in 0.7 of its answers, evaluation in 0.9."""
    train = series("train/accuracy", [0.3, 0.5, 0.6, 0.68, 0.7, 0.7, 0.7, 0.7], range(8))
    other = series("eval/accuracy", [0.4, 0.7, 0.8, 0.88, 0.9, 0.9, 0.9, 0.9], range(8))
    made = run([train, other], settings)
    assert str(reading("relations", "training-harder-than-evaluation", made).state) == expected


@pytest.mark.parametrize(
    ("held_out", "tested", "raw", "expected"),
    [
        ([0.5, 0.4, 0.38, 0.37], [61.1], "Test loss", "present"),
        ([0.5, 0.4, 0.38, 0.37], [0.41], "Test loss", "absent"),
        ([0.05, 0.04, 0.03, 0.02], [0.4], "Test loss", "absent"),
        ([0.5, 0.4], [61.1], "Test loss", "unknown"),
        ([0.5, 0.4, 0.38, 0.37], [61.1], "eval/loss", "unknown"),
    ],
    ids=["far above", "alike", "small numbers", "two evaluations", "one and the same"],
)
def test_a_test_far_above_the_evaluation(
    held_out: list[float], tested: list[float], raw: str, expected: str
) -> None:
    """Pixels that were divided for validation alone: the same model loses a hundred times as much."""
    test = series("test/loss", tested, [60], raw=raw)

    found = reading("metrics", "test-loss-far-above-eval", run([held("eval/loss", held_out), test]))

    assert str(found.state) == expected


@pytest.mark.parametrize(
    ("train", "right", "loss", "expected"),
    [
        (0.54, 0.97, 0.75, "present"),
        (0.54, 0.97, 0.35, "absent"),
        (0.54, 0.97, 0.17, "absent"),
        (0.95, 0.97, 0.17, "unknown"),
    ],
)
def test_wrong_labels_make_a_model_unsure(train: float, right: float, loss: float, expected: str) -> None:
    """Mixed samples lower the accuracy in training alone; evaluation is surer than wrong labels allow."""
    curves = [series(n, [v] * 8) for n, v in (("train/accuracy", train), ("eval/accuracy", right))]
    curves.append(series("eval/loss", [loss] * 8))

    assert state("eval-as-unsure-as-labels", *curves) == expected


@pytest.mark.parametrize(("lost", "expected"), [(0.55, "present"), (0.75, "unknown"), (0.95, "absent")])
def test_wrong_labels_make_a_model_only_so_unsure(lost: float, expected: str) -> None:
    """What costs more at right labels than wrong ones explain was learnt too little."""
    ends = (("train/accuracy", 0.615), ("train/loss", 1.33), ("eval/accuracy", 0.93), ("eval/loss", lost))

    assert state("eval-as-unsure-as-labels", *[series(n, [v] * 8) for n, v in ends]) == expected
