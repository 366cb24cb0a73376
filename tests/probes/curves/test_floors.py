"""Exact levels: each symptom present on its level, absent off it, unknown without what it needs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from traindoctor.probes.curves import floors, levels
from traindoctor.probes.registry import Finding, View
from traindoctor.probes.run import Run

from .._build import run, series

RNG = np.random.default_rng(3)
FALL = np.exp(-np.arange(40) / 8)


def state(function: Any, made: Run, **params: Any) -> str:
    found = function(View(made), **params)
    assert isinstance(found, Finding) and found.why
    return str(found.state)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.693147] * 20, "present"),
        ([0.693147] * 19 + [0.693148], "absent"),
        ([0.5] * 20, "unknown"),
        ([0.0] * 20, "unknown"),
        ([2.31] * 3, "unknown"),
    ],
)
def test_a_loss_that_never_moves(values: list[float], expected: str) -> None:
    """The same digits in every batch; few digits, a zero or few points say nothing."""
    assert state(floors.constant, run([series("train/loss", values)])) == expected


BCE = {"loss_function": "bcewithlogitsloss"}


def curve(floor: float) -> np.ndarray[Any, Any]:
    return floor + 0.19 * FALL + 0.003 * RNG.random(40)


@pytest.mark.parametrize(
    ("floor", "accuracy", "settings", "expected"),
    [
        (0.505, 0.99, BCE, "present"),
        (0.66, 0.98, {"loss_function": "binary_crossentropy"}, "present"),
        (0.05, 0.99, BCE, "absent"),
        (0.9, 0.99, BCE, "absent"),
        (0.505, 0.75, BCE, "unknown"),
        (0.505, None, BCE, "unknown"),
        (0.505, 0.99, {}, "unknown"),
        (0.505, 0.99, {"loss_function": "crossentropyloss"}, "unknown"),
        (0.505, 0.99, {**BCE, "label_smoothing": 0.2}, "unknown"),
    ],
)
def test_a_sigmoid_applied_twice(
    floor: float, accuracy: float | None, settings: dict[str, Any], expected: str
) -> None:
    """Almost every answer is right and the loss stays between 0.3133 and ln 2."""
    curves = [series("train/loss", curve(floor))]
    curves += [series("train/accuracy", [accuracy] * 40)] if accuracy is not None else []

    assert state(floors.double_sigmoid, run(curves, settings)) == expected


def test_a_binary_loss_guesses_at_ln_2_whatever_the_number_of_labels() -> None:
    """A multi-label loss over 20 outputs starts at ln 2; so does a run that guesses."""
    flat = series("train/loss", math.log(2) + 0.001 * RNG.normal(size=40))
    several = {**BCE, "num_classes": 20}

    assert state(levels.at_chance_level, run([flat], several)) == "present"
    assert state(levels.at_chance_level, run([series("train/loss", 3.0 * FALL)], several)) == "absent"


@pytest.mark.parametrize(
    ("values", "settings", "expected"),
    [
        ([50300.0, 50257.0, 50100.0], {"vocab_size": 50257}, "present"),
        ([50300.0, 900.0, 80.0], {"vocab_size": 50257}, "absent"),
        ([50300.0, 50257.0, 50100.0], {}, "unknown"),
        ([50300.0], {"vocab_size": 50257}, "unknown"),
    ],
)
def test_a_perplexity_of_all_words(values: list[float], settings: dict[str, Any], expected: str) -> None:
    """Perplexity V: every word as likely as any other."""
    made = run([series("eval/perplexity", values)], settings)

    assert state(floors.perplexity_at_vocabulary, made) == expected


@pytest.mark.parametrize(
    ("values", "settings", "expected"),
    [
        ([0.1] * 5, {"num_classes": 10}, "present"),
        ([0.1135] * 5, {"num_classes": 10}, "absent"),
        ([0.1, 0.1, 0.3, 0.6], {"num_classes": 10}, "absent"),
        ([0.1] * 5, {}, "unknown"),
        ([0.1] * 2, {"num_classes": 10}, "unknown"),
    ],
)
def test_one_class_is_answered(values: list[float], settings: dict[str, Any], expected: str) -> None:
    """Exactly 1/K at every evaluation; without K nothing is claimed."""
    assert state(floors.one_class_answered, run([series("eval/accuracy", values)], settings)) == expected


@pytest.mark.parametrize(
    ("accuracy", "losses", "expected"),
    [
        ([0.5831] * 5, [0.690, 0.688, 0.685, 0.681, 0.6795], "present"),  # the entropy of 0.5831 and 0.4169
        ([0.5831] * 5, [0.690, 0.60, 0.55, 0.52, 0.50], "unknown"),  # something was learnt
        ([0.5831, 0.59, 0.60, 0.60, 0.60], [0.690, 0.688, 0.685, 0.681, 0.6795], "absent"),
        ([0.98] * 5, [0.10, 0.10, 0.099, 0.098, 0.098], "unknown"),  # so high a share may be skill
    ],
)
def test_one_of_two_classes_is_answered(accuracy: list[float], losses: list[float], expected: str) -> None:
    """Where no shares are recorded the loss tells what a constant answer costs."""
    curves = [series("eval/accuracy", accuracy), series("eval/loss", losses)]

    assert state(floors.one_class_answered, run(curves)) == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([-0.01, 0.0, 0.005, 0.002], "present"),
        ([-0.01, 0.3, 0.6, 0.8], "absent"),
        ([-2.0, -1.5, -1.2], "absent"),
        ([0.0, 0.0], "unknown"),
    ],
)
def test_nothing_is_explained(values: list[float], expected: str) -> None:
    """R² of zero is what the mean of the targets gives."""
    assert state(floors.explains_nothing, run([series("eval/r2", values)])) == expected


RIGHT = np.array([0.3, 0.2, 0.25, 0.1, 0.108, 0.108])


@pytest.mark.parametrize(
    ("loss", "accuracy", "expected"),
    [
        (16.118 * (1 - RIGHT), RIGHT, "present"),
        (100.0 * (1 - RIGHT), RIGHT, "present"),
        ([7.9406, *[7.9712] * 5], [0.5006, *[0.5] * 5], "present"),
        ([2.3, 2.0, 1.5, 1.2, 0.9, 0.8], [0.1, 0.3, 0.5, 0.6, 0.7, 0.7], "absent"),
        ([2.3] * 6, RIGHT, "unknown"),
        ([16.1] * 2, RIGHT[:2], "unknown"),
        (15.0 * (1 - RIGHT), RIGHT, "unknown"),
        ([0.0291, *[0.0266] * 5], [0.998, *[0.9983] * 5], "present"),
        ([0.0291, *[0.0126] * 5], [0.998, *[0.9983] * 5], "absent"),
        ([0.0291, 0.027, 0.0265, 0.024, 0.022, 0.02], [0.998, *[0.9983] * 5], "unknown"),
    ],
    ids=[
        "Keras",
        "binary",
        "one less 1e-7 in float32",
        "learns",
        "guesses",
        "two points",
        "another multiple",
        "few errors, rounded",
        "few errors at the entropy of their share",
        "few errors, and the loss moves",
    ],
)
def test_errors_that_cost_the_most_are_seen(loss: Any, accuracy: Any, expected: str) -> None:
    """Only a loss that is the share of errors times the cost of a cut logarithm tells saturated outputs."""
    curves = [
        series("eval/loss", loss, range(len(loss))),
        series("eval/accuracy", accuracy, range(len(loss))),
    ]
    assert state(floors.errors_cut_off, run(curves)) == expected


SIX = 1.7918


@pytest.mark.parametrize(
    ("train", "held", "accuracy", "expected"),
    [
        ([6.2, 1.80, 1.79, 1.795, 1.79, 1.79], [SIX] * 6, [0.17] * 6, "present"),
        (
            [1.83, 1.88, 1.79, 1.79, 1.795, 1.79],
            [1.5, 1.7, SIX, 1.8, 1.8, 1.8],
            [0.4, 0.2, *[0.16] * 4],
            "present",
        ),
        ([1.80, 1.79, 1.79, 1.795, 1.79, 1.79], [SIX] * 6, [0.17] * 6, "absent"),
        ([1.80, 1.79, 1.79, 1.795, 1.79, 1.79], [SIX] * 6, [0.6, 0.5, *[0.17] * 4], "unknown"),
        (
            [1.80, 1.5, 1.2, 0.9, 0.8, 0.8],
            [1.7, 1.4, 1.1, 0.9, 0.8, 0.8],
            np.linspace(0.2, 0.8, 6),
            "unknown",
        ),
        ([6.2, 3.0, 2.0, 1.5, 1.2, 1.0], [2.0, 1.8, 1.6, 1.4, 1.2, 1.1], np.linspace(0.2, 0.7, 6), "unknown"),
    ],
    ids=["from above", "from below", "never learnt", "accuracy was there", "learns", "comes down"],
)
def test_a_model_that_was_thrown_back_to_guessing(
    train: Any, held: Any, accuracy: Any, expected: str
) -> None:
    """What ends by guessing after another loss was thrown there; what guessed from the start was not."""
    curves = [
        series("train/loss", train, range(6)),
        series("eval/loss", held, range(6)),
        series("eval/accuracy", accuracy, range(6)),
    ]
    assert state(levels.thrown_to_guessing, run(curves)) == expected
