"""Test scores against validation, and scores that rank backwards, each in its three states."""

from __future__ import annotations

from typing import Any

import pytest

from traindoctor.probes.curves import tested
from traindoctor.probes.registry import View
from traindoctor.probes.run import Run

from .._build import run, series

RISING = [0.2, 0.5, 0.7, 0.78, 0.8, 0.79]
FALLING = [2.3, 1.8, 1.2, 0.8, 0.4, 0.3]


def _state(function: Any, made: Run, **params: Any) -> str:
    return str(function(View(made), **params).state)


@pytest.mark.parametrize(
    ("score", "held", "worse", "untrained"),
    [
        ([0.21], RISING, "present", "present"),
        ([0.5], RISING, "present", "absent"),
        ([0.76], RISING, "absent", "absent"),
        ([0.9], RISING, "absent", "absent"),
        ([21.0], [100 * x for x in RISING], "present", "present"),
        ([0.21], [0.78, 0.79, 0.8, 0.8], "unknown", "unknown"),  # it began as good as it ended
        ([0.21], [0.2, 0.8, 0.8], "unknown", "unknown"),
        ([78.0], RISING, "unknown", "unknown"),  # one in percent
    ],
)
def test_a_test_score_beside_validation(
    score: list[float], held: list[float], worse: str, untrained: str
) -> None:
    made = run([series("test/accuracy", score), series("eval/accuracy", held)])

    assert _state(tested.test_below_validation, made, share=0.35) == worse
    assert _state(tested.test_below_validation, made, share=0.9) == untrained


def test_the_gain_of_a_ranking_is_from_a_guess_on() -> None:
    """The first epoch may bring most of it; the test score is that of a guess."""
    held = series("eval/auc", [0.89, 0.92, 0.93, 0.934])
    made, good = (run([series("test/auc", [x]), held]) for x in (0.48, 0.91))

    assert _state(tested.test_below_validation, made, share=0.9) == "present"
    assert _state(tested.test_below_validation, good, share=0.35) == "absent"


def test_two_scores_of_two_kinds_are_not_held_against_each_other() -> None:
    made = run([series("test/f1", [0.1]), series("eval/accuracy", RISING)])

    assert _state(tested.test_below_validation, made, share=0.35) == "unknown"


@pytest.mark.parametrize(
    ("auc", "loss", "state"),
    [
        ([0.2, 0.1, 0.05, 0.04], FALLING, "present"),
        ([20.0, 10.0, 5.0, 4.0], FALLING, "present"),
        ([0.5, 0.7, 0.9, 0.9], FALLING, "absent"),
        ([0.5, 0.46, 0.44, 0.47], FALLING, "absent"),  # it says nothing
        ([0.2, 0.1, 0.05, 0.04], [0.7] * 6, "unknown"),
        ([0.2, 0.1], FALLING, "unknown"),
    ],
)
def test_scores_that_rank_backwards(auc: list[float], loss: list[float], state: str) -> None:
    made = run([series("eval/auc", auc), series("train/loss", loss)])

    assert _state(tested.ranks_backwards, made, below=0.3, progress=0.3) == state
