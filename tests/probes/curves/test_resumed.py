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
