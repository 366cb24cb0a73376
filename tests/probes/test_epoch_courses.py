"""The course of the loss inside epochs of a few logged points."""

from __future__ import annotations

import numpy as np
import pytest

from traindoctor.probes import epochs
from traindoctor.probes.registry import View

from ._build import run, series

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
