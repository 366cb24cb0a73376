"""The course of the loss inside epochs of a few logged points."""

from __future__ import annotations

import numpy as np
import pytest

from traindoctor.probes.curves import epochs
from traindoctor.probes.registry import View

from .._build import run, series

COURSE = np.array([0.12, -0.05, -0.06, -0.04, 0.06])


def logged(parts: list[np.ndarray]) -> str:
    values = np.concatenate(parts)
    at = np.concatenate([n + np.arange(1, len(p) + 1) / len(p) for n, p in enumerate(parts)])
    made = run([series("train/loss", values, None, epochs=at)])
    return str(epochs.epoch_sawtooth(View(made), correlation=0.3, epochs=3).state)


@pytest.mark.parametrize("seed", range(4))
def test_sorted_batches_repeat_their_course(seed: int) -> None:
    """Eight epochs of five points, whose first is another: the same hard batches come at the same place."""
    noise = np.random.default_rng(seed)
    parts = [2.4 - 0.03 * n + COURSE + noise.normal(0, 0.01, 5) for n in range(7)]

    assert logged([np.array([2.4, 3.6, 2.5, 2.5, 2.8]), *parts]) == "present"
    assert logged(parts[:4]) == "unknown"  # too few epochs to compare so few points


@pytest.mark.parametrize("seed", range(12))
def test_shuffled_batches_do_not(seed: int) -> None:
    """Noise alone, on a falling loss or one that drops where an epoch begins, has no course of its own."""
    noise = np.random.default_rng(seed)
    falling = 2.3 * np.exp(-np.arange(40) / 15) * (1 + noise.normal(0, 0.08, 40))
    drops = np.repeat(2.0 * 0.8 ** np.arange(8), 5) * (1 + noise.normal(0, 0.05, 40))

    for values in (falling, drops):
        assert logged(list(values.reshape(8, 5))) == "absent"


@pytest.mark.parametrize("seed", range(4))
def test_many_epochs_that_agree_in_part(seed: int) -> None:
    """Twenty epochs of six points whose course is half noise agree better than chance would have it."""
    noise = np.random.default_rng(seed)
    course = np.array([0.04, -0.05, 0.05, -0.05, -0.03, 0.04])
    parts = [2.4 - 0.03 * n + course + noise.normal(0, 0.03, 6) for n in range(20)]
    mere = [2.4 - 0.03 * n + noise.normal(0, 0.03, 6) for n in range(20)]

    assert logged(parts) == "present"
    assert logged(mere) == "absent"


def test_the_chance_of_an_agreement() -> None:
    """Friedman's test: 12 courses of 5 free values that correlate by 0 are no surprise, by 0.6 they are."""
    assert epochs._chance(0.0, 12, 5) == pytest.approx(0.416, abs=2e-3)  # chi squared of 5 beyond 5
    assert epochs._chance(0.6, 12, 5) == pytest.approx(3.77e-7, rel=0.01)
    assert epochs._chance(0.0, 12, 4) == pytest.approx(0.406, abs=2e-3)  # chi squared of 4 beyond 4


def test_epochs_by_their_evaluations() -> None:
    """A run that evaluates every 30 steps and records no length of an epoch; one whose setting says so."""
    noise = np.random.default_rng(1)
    values = np.concatenate([2.4 - 0.03 * n + COURSE + noise.normal(0, 0.01, 5) for n in range(12)])
    loss = series("train/loss", values, np.arange(6.0, 361.0, 6.0))
    held = series("eval/loss", np.linspace(2, 1, 12), np.arange(30.0, 361.0, 30.0))

    def found(**settings: float) -> str:
        made = run([loss, held], settings=settings)
        return str(epochs.epoch_sawtooth(View(made), correlation=0.3, epochs=3).state)

    assert found() == "present"
    assert found(eval_steps=30) == "unknown"


def test_rounded_values_that_stand_do_not_come_again() -> None:
    """A slow curve that is printed with four digits stands for long, and a frozen one repeats its batches."""
    slow = np.round(np.linspace(0.67254, 0.67241, 30), 4)
    frozen = np.tile([0.6725, 0.6931, 0.7012, 0.6644], 6)

    found = [
        str(epochs.repeats_exactly(View(run([series("train/loss", y)]), None), digits=6).state)
        for y in (slow, frozen)
    ]

    assert found == ["unknown", "present"]
