"""Robust statistics: noise is not taken for trend, nor trend for noise, and spikes are what comes back."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindoctor.probes.curves import stats
from traindoctor.probes.curves.shapes import rises_for_good, shape

from .. import _zoo as zoo
from .._build import series


@pytest.mark.parametrize("trend", [0.0, 5.0, -40.0])
def test_noise_is_blind_to_a_trend(trend: float) -> None:
    """The scatter of one point is found to a fifth, whatever line lies below it."""
    rng = np.random.default_rng(0)
    values = np.linspace(0, trend, 400) + 0.5 * rng.standard_normal(400)

    assert stats.noise(values) == pytest.approx(0.5, rel=0.2)


def test_noise_ignores_outliers_and_few_points() -> None:
    """A tenth of outliers changes the noise by less than half; three points have none."""
    rng = np.random.default_rng(0)
    values = rng.standard_normal(400)
    values[::11] += 100

    assert stats.noise(values) < 2.0
    assert stats.noise(np.array([1.0, 5.0, 2.0])) == 0.0


@given(st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=40), st.sampled_from([3, 5, 9]))
def test_running_median_stays_within_the_values(values: list[float], width: int) -> None:
    """A running median has one value for each point and invents none outside their range."""
    array = np.array(values)
    medians = stats.running_median(array, width)

    assert len(medians) == len(array)
    assert medians.min() >= array.min()
    assert medians.max() <= array.max()


@given(st.integers(1, 500), st.integers(1, 60))
def test_block_medians_are_medians_of_all_points(count: int, blocks: int) -> None:
    """Blocks cover all points once, differ by one in size, and each gives its median."""
    values = np.random.default_rng(count).standard_normal(count)
    edges = stats.block_edges(count, blocks)

    expected = [float(np.median(values[a:b])) for a, b in pairwise(edges)]

    assert (edges[0], edges[-1]) == (0, count)
    assert np.ptp(np.diff(edges)) <= 1
    assert stats.block_medians(values, edges).tolist() == pytest.approx(expected)


def test_smoothing_bounds_the_number_of_points() -> None:
    """Any length ends in at most 120 smoothed points that follow the curve."""
    x = np.arange(100_000, dtype=float)
    sx, sy = stats.smooth(x, x * 2)

    assert len(sx) <= stats.MAX_BLOCKS
    assert sy == pytest.approx(sx * 2)


@pytest.mark.parametrize("height", [4.0, 30.0])
def test_a_spike_is_found_where_it_is(height: float) -> None:
    """A jump of a few points that comes back is one spike with its peak and its height."""
    rng = np.random.default_rng(0)
    values = 1.0 + 0.05 * rng.standard_normal(300)
    values[150:153] = [height, height / 1.5, height / 2]
    (found,) = stats.spikes(values, 8.0, 0.5)

    assert found.peak == 150
    assert found.height == height
    assert found.before == pytest.approx(1.0, abs=0.1)


def test_a_step_is_no_spike() -> None:
    """What does not come back is no spike, nor is heavy-tailed noise."""
    rng = np.random.default_rng(0)
    step = np.where(np.arange(300) < 150, 1.0, 5.0) + 0.05 * rng.standard_normal(300)
    tails = np.exp(0.8 * rng.standard_normal(1000))

    assert stats.spikes(step, 8.0, 0.5) == []
    assert stats.spikes(tails, 8.0, 0.5) == []


@pytest.mark.parametrize(("value", "digits"), [(2.3026, 5), (0.25, 2), (0.0001, 1), (12.5, 3), (2.302617, 7)])
def test_digits_as_written(value: float, digits: int) -> None:
    """The number of significant digits is that of the shortest way to write a number."""
    assert stats.significant_digits(value) == digits


def test_the_quantum_of_printed_values() -> None:
    """Two decimals are seen as two decimals, full floats as none."""
    rng = np.random.default_rng(0)
    values = rng.standard_normal(100)

    assert stats.quantum(np.round(values, 2)) == pytest.approx(0.01)
    assert stats.quantum(values) == 0.0
    assert stats.quantum(np.array([1.0, 0.0, 3.0])) == 1.0


def test_stretches_of_flags() -> None:
    """Stretches are given as half-open intervals."""
    flags = np.array([True, True, False, True])

    assert stats.stretches(flags) == [(0, 2), (3, 4)]
    assert stats.stretches(np.zeros(3, dtype=bool)) == []


def test_a_level_knows_its_error() -> None:
    """The error of a level shrinks with the root of its points and holds the truth most of the time."""
    rng = np.random.default_rng(0)
    inside = 0
    for _ in range(100):
        values = 3.0 + 0.3 * rng.standard_normal(64)
        found = stats.level(values, 0, 63, 0.3)
        inside += abs(found.value - 3.0) < 2 * found.error

    assert inside >= 85


def test_shape_of_a_decay() -> None:
    """Start, best and end of a decaying curve are what was put in."""
    rng = np.random.default_rng(0)
    curve = shape(series("train/loss", zoo.noisy(rng, zoo.decay(400, 2.3, 0.2), 0.02)))

    assert curve is not None
    assert curve.start.value == pytest.approx(2.2, abs=0.1)
    assert curve.end.value == pytest.approx(0.2, abs=0.03)
    assert curve.progress == pytest.approx(0.91, abs=0.02)
    assert rises_for_good(curve, 1.3) is None


def test_shape_takes_only_numbers() -> None:
    """Points that are no numbers are left out, and positions point into the series."""
    values = np.array([3.0, np.nan, 2.0, np.inf, 1.0])
    curve = shape(series("train/loss", values))

    assert curve is not None
    assert curve.index.tolist() == [0, 2, 4]
    assert curve.step(2) == 5.0
    assert shape(series("train/loss", [1.0, np.nan, 2.0])) is None


@given(st.integers(3, 30), st.booleans())
def test_shape_of_steps_that_do_not_rise(count: int, zero: bool) -> None:
    """Equal or falling steps are replaced by point numbers."""
    at = np.zeros(count) if zero else np.arange(count, 0, -1.0)
    curve = shape(series("train/loss", np.linspace(2, 1, count), at))

    assert curve is not None
    assert curve.x.tolist() == list(range(count))
