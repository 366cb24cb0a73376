"""Schedules that watch how the run goes: a rate that comes down follows from it, or watches upside down."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from traindoctor.probes.config.plateau import lowered, watches
from traindoctor.probes.run import Run

from .._build import run, series, written
from .._read import reading

N = 30
AT = np.arange(1, N + 1)
FALLS = 0.1 + 2 * 0.85**AT
STANDS = np.maximum(FALLS, 0.6)


def rate(*drops: int, factor: float = 0.5) -> Any:
    """A rate that comes down at the given epochs."""
    return 1e-3 * np.cumprod([factor if n in drops else 1.0 for n in range(N)])


def made(loss: Any, rates: Any, **settings: Any) -> Run:
    curves = [
        series("train/loss", loss, AT, unit="epoch"),
        series("eval/loss", loss, AT, unit="epoch"),
        series("learning_rate", rates, AT, unit="epoch"),
    ]
    return written(settings, curves)


IRREGULAR = rate(12, 16, 19, 23, 26, factor=0.2)
WATCHING = {"lr_scheduler": "ReduceLROnPlateau"}


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (WATCHING, True),
        ({"plateau_patience": 3}, True),
        ({"sched.name": "plateau"}, True),
        ({"lr_scheduler": "cosine"}, False),
        ({"early_stopping_patience": 3}, False),
        ({}, False),
    ],
)
def test_a_schedule_that_watches_is_known_by_name(settings: dict[str, Any], expected: bool) -> None:
    assert watches(made(FALLS, IRREGULAR, **settings)) is expected


def test_drops_are_counted_with_what_the_loss_did_before() -> None:
    assert lowered(made(STANDS, IRREGULAR)) == (5, 0)
    assert lowered(made(FALLS, rate(3, 5, 7, 9))) == (4, 4)
    assert lowered(run([series("eval/loss", FALLS, AT)])) is None


def test_a_loss_near_zero_improves_no_more() -> None:
    """Keras asks for 1e-4 at least by default: a loss of a millionth stands still for it."""
    assert lowered(made(1e-6 * FALLS, rate(5, 9, 13))) == (3, 0)


@pytest.mark.parametrize(
    ("loss", "rates", "settings", "expected"),
    [
        # lowered as nothing improves: the schedule does its work
        (STANDS, IRREGULAR, WATCHING, "absent"),
        (STANDS, IRREGULAR, {"plateau_patience": 3}, "absent"),
        # waits for a loss to rise: lowered while it improves
        (FALLS, rate(2, 4, 6, 8, factor=0.1), {"plateau_patience": 1}, "present"),
        (FALLS, rate(2, 4, 6, 8, factor=0.1), WATCHING, "present"),
    ],
)
def test_a_rate_comes_down_early(loss: Any, rates: Any, settings: dict[str, Any], expected: str) -> None:
    found = reading("learning_rate", "lr-decays-too-early", made(loss, rates, **settings))

    assert found.state == expected, found.why


def test_a_rate_that_follows_the_run_is_no_difference_from_the_benchmark() -> None:
    """It began as the benchmark's. From another first rate on, or under another schedule, it is one."""
    plain = made(FALLS, rate(), plateau_patience=3)

    def state(mine: Run) -> str:
        return str(reading("benchmark", "lr-curve-differs-from-benchmark", mine, plain).state)

    assert state(made(STANDS, IRREGULAR, plateau_patience=3)) == "unknown"
    assert state(made(STANDS, IRREGULAR)) == "present"
    assert state(made(STANDS, 5 * IRREGULAR, plateau_patience=3)) == "present"
    assert state(made(FALLS, rate(2, 4, 6, 8), plateau_patience=3)) == "present"
