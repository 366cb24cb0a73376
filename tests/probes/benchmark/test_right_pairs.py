"""Right pairs that look like what comparisons with a benchmark look for, beside their sick twins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from traindoctor.engine.model import State

from .._build import run, series, written
from .._read import reading

RNG = np.random.default_rng(7)
LOSS = 2.6 * np.exp(-np.arange(300) / 40) + 0.4 + 0.01 * RNG.normal(size=300)
NORM = 1.2 + 0.1 * RNG.normal(size=300)
FALL = [series("train/loss", LOSS)]


def state(symptom: str, mine: dict[str, Any], theirs: dict[str, Any]) -> State:
    """What is read of a comparison of raw settings."""
    return reading("benchmark", symptom, written(mine, FALL), written(theirs, FALL)).state


@pytest.mark.parametrize(
    ("symptom", "theirs", "right", "sick"),
    [
        ("lr-above-benchmark", {"lr": 1e-5}, {"lr": 2e-4, "peft_type": "LORA"}, {"lr": 2e-4}),
        ("world-size-below-benchmark", {"world_size": 8}, {"world_size": 4}, {"world_size": 1}),
        (
            "shuffle-differs",
            {"train.shuffle": True},
            {"train.shuffle": False, "train.sampler": "DistributedSampler"},
            {"train.shuffle": False},
        ),
        (
            "evaluation-settings-differ",
            {"eval.amp": "fp16", "eval.iters": 200, "eval.save_predictions": False, "eval.source": "a"},
            {"eval.amp": "bf16", "eval.iters": 50, "eval.save_predictions": True, "eval.source": "a"},
            {"eval.amp": "fp16", "eval.iters": 200, "eval.save_predictions": False, "eval.source": "b"},
        ),
    ],
)
def test_right_differences_are_not_taken_for_wrong_ones(
    symptom: str, theirs: dict[str, Any], right: dict[str, Any], sick: dict[str, Any]
) -> None:
    """Each pair differs in what makes the same difference right."""
    assert state(symptom, right, theirs) is not State.PRESENT
    assert state(symptom, sick, theirs) is State.PRESENT


@pytest.mark.parametrize(
    ("factor", "norms", "expected"),
    [
        (1 / np.log(2), 1 / np.log(2), State.UNKNOWN),
        (1 / 8, 1.0, State.UNKNOWN),
        (8.0, 8.0, State.PRESENT),
    ],
)
def test_a_loss_that_is_only_logged_otherwise(factor: float, norms: float, expected: State) -> None:
    """In bits, or divided for the log alone: then the gradients are those of the benchmark."""
    mine = run([series("train/loss", factor * LOSS), series("grad_norm", norms * NORM)])
    theirs = run([series("train/loss", LOSS), series("grad_norm", NORM)])
    assert reading("benchmark", "loss-scaled-by-constant", mine, theirs).state is expected


def test_adapters_have_smaller_gradients_than_a_whole_model() -> None:
    """Adapters train on one side alone: of course less gradient flows."""
    theirs = run([series("train/loss", LOSS), series("grad_norm", NORM)])
    for settings, expected in (({"adapter": "lora"}, State.UNKNOWN), ({}, State.PRESENT)):
        mine = run([series("train/loss", LOSS), series("grad_norm", 0.25 * NORM)], settings)
        assert reading("benchmark", "grad-norm-far-below-at-start", mine, theirs).state is expected


@pytest.mark.parametrize(
    ("steps", "settings", "expected"),
    [
        (458, {}, State.UNKNOWN),
        (458, {"world_size": 1}, State.PRESENT),
        (700, {}, State.PRESENT),
    ],
)
def test_half_as_many_steps_of_twice_as_many_processes(
    steps: int, settings: dict[str, Any], expected: State
) -> None:
    """A whole number of times fewer steps, where nobody counts the processes."""

    def side(length: int) -> Any:
        at = np.arange(1, 61) * length / 5
        curve = series("train/loss", LOSS[:60], steps=at, epochs=np.ceil(at / length))
        return run([curve], {"batch_size": 2, "global_batch_size": 2, **settings})

    assert reading("benchmark", "epoch-shorter-than-benchmark", side(steps), side(916)).state is expected
