"""A rate that is another in one stage of training: told from a schedule of another form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from traindoctor.probes.run import Run

from .._build import run, series
from .._read import reading

Numbers = Any


def cosine(peak: float, steps: int, warm: int = 10) -> Numbers:
    """Warm-up and a cosine down to a hundredth of the peak."""
    at = np.arange(steps)
    down = 0.01 + 0.99 * 0.5 * (1 + np.cos(np.pi * np.clip((at - warm) / (steps - warm), 0, 1)))
    return peak * np.minimum((at + 1) / warm, 1.0) * down


def logged(rates: Numbers, **recorded: Any) -> Run:
    return run([series("learning_rate", rates)], recorded)


def staged(first: float, second: float) -> Run:
    """Pre-training and fine-tuning, each with a schedule of its own; the first rate is on record."""
    return logged(np.concatenate([cosine(first, 200), cosine(second, 100)]), learning_rate=first)


def states(mine: Run, theirs: Run) -> list[str]:
    """Of above and below."""
    return [
        str(reading("benchmark", f"lr-{way}-benchmark", mine, theirs).state) for way in ("above", "below")
    ]


def test_the_rate_of_a_second_stage() -> None:
    theirs = staged(1e-3, 1e-4)
    assert states(staged(1e-3, 1e-2), theirs) == ["present", "absent"]
    assert states(staged(1e-3, 1e-6), theirs) == ["absent", "present"]
    assert states(staged(1e-3, 1.2e-4), theirs) == ["absent", "absent"]
    found = reading("benchmark", "lr-above-benchmark", staged(1e-3, 1e-2), theirs)
    assert (found.step, found.value) == (201, pytest.approx(1e-2))
    assert "100 times" in found.why


def test_the_rate_of_a_first_stage() -> None:
    """A linear and an exponential decay; the first is five times the benchmark's, whatever is on record."""
    at = np.arange(100)
    linear, falling = 1.0 - 0.99 * at / 100, 0.97**at
    mine = logged(np.concatenate([5e-2 * linear, 1e-3 * falling]), learning_rate=1e-2)
    theirs = logged(np.concatenate([1e-2 * linear, 1e-3 * falling]), learning_rate=1e-2)
    assert states(mine, theirs) == ["present", "absent"]


@pytest.mark.parametrize(
    "mine",
    [
        cosine(1e-3, 300, warm=100),
        cosine(1e-3, 450)[:300],
        1e-3 * 0.99 ** np.arange(300),
        np.full(300, 1e-3),
        1e-3 * np.where(np.arange(300) < 250, 1.0, 0.1),
        1e-3 * np.minimum((np.arange(300) + 1) / 100, 1.0),
    ],
    ids=["long warm-up", "longer period", "exponential", "constant", "later step", "no decay"],
)
def test_another_schedule_is_no_other_rate(mine: Numbers) -> None:
    for theirs in (cosine(1e-3, 300), 1e-3 * np.where(np.arange(300) < 150, 1.0, 0.1)):
        sides = logged(mine, learning_rate=1e-3), logged(theirs, learning_rate=1e-3)
        assert states(*sides) == ["absent", "absent"]


def test_a_schedule_on_a_plateau_follows_the_run() -> None:
    falling = 1e-3 * np.where(np.arange(300) < 200, 1.0, 0.1)
    mine = logged(0.1 * falling, learning_rate=1e-3, lr_scheduler="plateau")
    assert states(mine, logged(falling, learning_rate=1e-3)) == ["absent", "absent"]


def test_without_a_curve_the_records_decide() -> None:
    sides = run(settings={"learning_rate": 1e-2}), run(settings={"learning_rate": 1e-3})
    assert states(*sides) == ["present", "absent"]
    assert states(run(), run()) == ["unknown", "unknown"]
