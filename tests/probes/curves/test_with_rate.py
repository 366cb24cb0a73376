"""Losses that worsen with the rate or from the start; one class for all by its accuracy and macro F1."""

from __future__ import annotations

import numpy as np
import pytest

from traindoctor.probes.curves import epochs, pace, progress, rate_size, with_rate
from traindoctor.probes.registry import Finding, View
from traindoctor.probes.run import Run

from .._build import run, series
from .._read import reading

RATE = [0.5, 1.0, 0.8, 0.4, 0.1]
AT = [500, 1000, 1500, 2000, 2500]


def view(*curves: object, **rest: object) -> View:
    return View(run(list(curves), **rest))  # type: ignore[arg-type]


def state(found: Finding) -> str:
    return str(found.state)


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        ([1.24, 2.03, 2.16, 1.98, 1.79], "present"),
        ([2.9, 2.03, 1.6, 1.3, 1.2], "absent"),  # a warm-up that fits
        ([1.24, 2.03, 2.16, 1.3, 0.9], "absent"),  # what the peak cost was made good
        ([1.24, 2.03, 2.2, 2.4, 2.6], "absent"),  # it does not fall again: another matter
    ],
)
def test_a_loss_that_rises_with_the_rate(loss: list[float], expected: str) -> None:
    curves = [series("train/loss", loss, AT), series("learning_rate", [3e-3 * r for r in RATE], AT)]
    assert state(with_rate.rises_with_rate(view(*curves))) == expected


def test_a_rate_that_does_not_rise_or_fall_says_nothing() -> None:
    loss = series("train/loss", [1.24, 2.03, 2.16, 1.98, 1.79], AT)
    for rates in ([1, 1, 1, 1, 1], [1, 0.8, 0.6, 0.4, 0.2], [0.2, 0.4, 0.6, 0.8, 1]):
        found = with_rate.rises_with_rate(view(loss, series("learning_rate", rates, AT)))
        assert state(found) == "unknown"
    assert state(with_rate.rises_with_rate(view(loss))) == "unknown"
    assert state(with_rate.rises_with_rate(view())) == "unknown"


def test_both_losses_that_only_worsen() -> None:
    up, down = np.linspace(1.0, 1.4, 10), np.linspace(1.0, 0.6, 10)
    dip = np.array([1.0, 0.8, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4])
    judge = with_rate.both_losses_worsen

    assert state(judge(view(series("train/loss", up), series("eval/loss", up)), above=0.1)) == "present"
    for one, other in ((up, down), (down, up), (up, dip), (dip, up)):
        assert (
            state(judge(view(series("train/loss", one), series("eval/loss", other)), above=0.1)) == "absent"
        )
    assert state(judge(view(series("train/loss", up)), above=0.1)) == "unknown"
    assert state(judge(view(series("train/loss", up[:3]), series("eval/loss", up)), above=0.1)) == "unknown"


@pytest.mark.parametrize(
    ("accuracy", "f1", "expected"),
    [
        ([0.9021207, 0.78, 0.78], [0.1897084, 0.2, 0.235], "present"),
        ([0.9021207, 0.78, 0.93], [0.1897084, 0.4, 0.8], "absent"),  # learned in the end
        ([0.9021207, 0.78, 0.78], [0.1850, 0.2, 0.235], "absent"),  # no such number of classes
        ([0.2, 0.2, 0.2], [0.0666667, 0.07, 0.07], "absent"),  # guessing among equal classes
        ([0.9021207, 0.78, 0.78], None, "unknown"),
    ],
)
def test_one_class_by_its_f1(accuracy: list[float], f1: list[float] | None, expected: str) -> None:
    curves = [series("eval/accuracy", accuracy), *([series("eval/f1", f1)] if f1 else [])]
    assert state(with_rate.one_class_by_f1(view(*curves))) == expected


@pytest.mark.parametrize(
    ("right", "f1", "loss", "expected"),
    [
        ([0.7, 0.72, 0.72, 0.72, 0.72], [0.1, 0, 0, 0, 0], [0.5, 0.2, 0.1, 0.08, 0.06], "present"),
        ([0.7, 0.72, 0.73, 0.72, 0.72], [0.1, 0, 0, 0, 0], [0.5, 0.2, 0.1, 0.08, 0.06], "absent"),
        ([0.72, 0.72, 0.72, 0.72, 0.8], [0, 0, 0, 0, 0.4], [0.5, 0.2, 0.1, 0.08, 0.06], "absent"),
        (
            [0.72, 0.72, 0.72, 0.72, 0.72],
            [0, 0, 0, 0, 0],
            [0.6, 0.6, 0.59, 0.6, 0.59],
            "absent",
        ),  # learns nothing
        ([0.72, 0.72], [0, 0], [0.5, 0.1], "absent"),
    ],
)
def test_the_rarer_of_two_classes_is_never_answered(
    right: list[float], f1: list[float], loss: list[float], expected: str
) -> None:
    curves = [series("eval/accuracy", right), series("eval/f1", f1), series("train/loss", loss)]
    assert state(with_rate.one_class_by_f1(view(*curves))) == expected


def test_f1_at_other_steps_is_not_held_against_accuracy() -> None:
    curves = [series("eval/accuracy", [0.9, 0.8], [1, 3]), series("eval/f1", [0.19, 0.2], [2, 4])]
    assert state(with_rate.one_class_by_f1(view(*curves))) == "unknown"


def _falling(turned: bool) -> Run:
    rng = np.random.default_rng(4)
    held = [1.49, 1.37, 1.33, 1.36, 1.37, 1.43, 1.44, 1.48, 1.5, 1.49]
    if not turned:
        held = [1.49, 1.46, 1.43, 1.4, 1.37, 1.34, 1.31, 1.28, 1.25, 1.22]
    loss = np.linspace(1.5, 1.15, 40) + 0.005 * rng.standard_normal(40)
    return run([series("train/loss", loss), series("eval/loss", held, np.arange(4, 41, 4))])


@pytest.mark.parametrize(("turned", "expected"), [(True, "absent"), (False, "present")])
def test_what_held_out_data_no_longer_gain_is_not_missing(turned: bool, expected: str) -> None:
    """A training loss that still falls, or slowly, while that of evaluation rises wants no larger steps."""
    assert state(progress.falling_at_end(View(_falling(turned)))) == expected
    assert state(pace.converges_slowly(View(_falling(turned)))) == expected


def test_the_trainer_of_transformers_starts_small() -> None:
    settings = {"learning_rate": 2e-5, "optimizer": "adamw"}
    assert state(rate_size.lr_small(View(run(settings=settings)), adam=5e-5, sgd=5e-4)) == "present"
    theirs = run(settings=settings, facts={"trainer": "transformers"})
    assert state(rate_size.lr_small(View(theirs), adam=5e-5, sgd=5e-4)) == "unknown"


def test_a_mean_over_the_end_of_the_last_epoch_makes_no_pattern() -> None:
    """Means of 500 steps: the first of each epoch holds some of the epoch before, and lies above the rest."""
    rng = np.random.default_rng(0)
    steps = np.arange(500, 30001, 500)
    epoch = steps / 3300
    loss = 0.9 * 0.65 ** np.floor(epoch) + 0.003 * rng.standard_normal(len(steps))
    first = np.diff(np.floor(epoch), prepend=0) > 0
    loss[first] *= 1.2
    for window, expected in (("mean-since-last", "absent"), ("point", "present")):
        curve = series("train/loss", loss, steps, epochs=epoch, window=window)
        assert state(epochs.epoch_sawtooth(View(run([curve])))) == expected


@pytest.mark.parametrize(("rate", "expected"), [(-1e-3, "unknown"), (1e-7, "present"), (1e-3, "absent")])
def test_a_rate_below_zero_is_not_small(rate: float, expected: str) -> None:
    settings = {"learning_rate": rate, "optimizer": "adam"}
    assert state(rate_size.lr_small(View(run(settings=settings)), adam=5e-5, sgd=5e-4)) == expected


@pytest.mark.parametrize(
    ("accuracy", "scores", "expected"),
    [
        ([0.96] * 3, {"f1": [0.0] * 3, "recall": [0.0] * 3}, "present"),
        ([0.93, 0.931, 0.93], {"f1": [0.0] * 3, "precision": [0.0] * 3}, "present"),
        ([0.96] * 3, {"f1": [0.0, 0.2, 0.3], "recall": [0.0, 0.1, 0.2]}, "absent"),
        ([0.5] * 3, {"f1": [0.0] * 3, "recall": [0.0] * 3}, "absent"),
        ([0.96] * 2, {"f1": [0.0] * 2, "recall": [0.0] * 2}, "absent"),
        ([0.96] * 3, {"f1": [0.0] * 3}, "absent"),
    ],
)
def test_a_rare_class_that_few_evaluations_never_find(
    accuracy: list[float], scores: dict[str, list[float]], expected: str
) -> None:
    """Fine-tuning of three epochs evaluates three times: two scores that are zero each time tell as much."""
    made = [series("eval/accuracy", accuracy), *(series(f"eval/{k}", v) for k, v in scores.items())]
    assert reading("metrics", "one-class-by-f1", run(made)).state == expected
