"""The loss around a resume: what is a jump, and what is learning."""

from __future__ import annotations

import numpy as np
import pytest

from traindoctor.engine.model import State
from traindoctor.probes.run import Event

from .._build import run, series
from .._read import reading

STEPS = np.arange(1, 41)
BEFORE, AFTER = 1.0, 0.7


def resumed(after: float, held: list[float] | None = None) -> State:
    """The reading of a run that is resumed in its middle, with a level after it, evaluated each 10 steps."""
    rng = np.random.default_rng(7)
    loss = np.where(STEPS <= 20, BEFORE, after) + 0.02 * rng.standard_normal(40)
    curves = [series("train/loss", loss, STEPS)]
    if held:
        curves.append(series("eval/loss", held, [10, 20, 30, 40]))
    return reading(
        "loss", "loss-jumps-at-resume", run(curves, events=[Event("resume", "log.txt", 9, 20.0)])
    ).state


@pytest.mark.parametrize("held", [None, [1.2, 1.2, 1.2, 1.2], [1.2, 1.2, 1.15, 1.1]])
def test_a_fall_that_held_out_data_do_not_share_is_a_jump(held: list[float] | None) -> None:
    """Samples that come again are known already: only their loss falls."""
    assert resumed(AFTER, held) is State.PRESENT


def test_a_fall_that_held_out_data_share_is_learning() -> None:
    """Where the evaluation falls as much, the next epoch has taught the model something."""
    assert resumed(AFTER, [1.3, 1.2, 0.95, 0.9]) is State.ABSENT


def test_a_rise_is_a_jump_whatever_the_evaluation_says() -> None:
    """A loss that is higher after the resume is a jump; one that goes on is none."""
    assert resumed(1.5, [1.3, 1.2, 0.95, 0.9]) is State.PRESENT
    assert resumed(1.0, [1.3, 1.2, 0.95, 0.9]) is State.ABSENT


@pytest.mark.parametrize(
    ("back", "expected"), [(0.4, State.PRESENT), (0.12, State.ABSENT)], ids=["thrown back", "goes on"]
)
def test_a_loss_that_is_soon_back_jumped_nevertheless(back: float, expected: State) -> None:
    """Ten points after it the loss has learned again what it lost; the three next to the resume show it."""
    noise = 1 + 0.03 * np.random.default_rng(3).standard_normal(40)
    loss = np.where(STEPS <= 20, 0.1 + 0.9 * 0.8**STEPS, 0.1 + (back - 0.1) * 0.5 ** (STEPS - 21)) * noise
    made = run([series("train/loss", loss, STEPS)], events=[Event("resume", "log.txt", 9, 20.0)])

    assert reading("loss", "loss-jumps-at-resume", made).state is expected


@pytest.mark.parametrize(("after", "expected"), [(2e-2, State.PRESENT), (8e-4, State.ABSENT)])
def test_a_rate_that_jumps_behind_the_step_of_a_resume(after: float, expected: State) -> None:
    """Another file tells of the resume: the rate of its very step is still that before it."""
    rate = np.where(STEPS <= 20, 1e-3, after) * 0.99 ** np.where(STEPS <= 20, STEPS, STEPS - 20)
    made = run([series("learning_rate", rate, STEPS)], events=[Event("resume", "other.log", 9, 20.0)])

    assert reading("learning_rate", "lr-jumps-at-resume", made).state is expected
