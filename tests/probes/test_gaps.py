"""Training against evaluation: what is seen, what is not there, and what scatter or poor training hides."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from traindoctor.probes import gaps
from traindoctor.probes.registry import Finding, View

from ._build import run, series

FALLING = list(np.linspace(2.0, 0.2, 40))
VALLEY = [*np.linspace(2.0, 1.0, 12), *np.linspace(1.0, 1.6, 28)]
FLICKER = np.tile([-0.45, 0.45, 0.3, -0.3], 10)


def seen(function: Any, curves: dict[str, list[float]], **params: Any) -> str:
    found = function(View(run([series(n, v) for n, v in curves.items()])), **params)
    assert isinstance(found, Finding)
    return str(found.state)


@pytest.mark.parametrize(
    ("held", "rise", "state"),
    [
        (VALLEY, 0.1, "present"),
        (VALLEY, 0.5, "present"),
        (VALLEY, 0.8, "absent"),
        (FALLING, 0.1, "absent"),
        (list(np.array(VALLEY) * 0.2 + FLICKER + 1), 0.05, "unknown"),
        (VALLEY[:4], 0.1, "unknown"),
    ],
)
def test_an_evaluation_loss_that_turns_up(held: list[float], rise: float, state: str) -> None:
    """A rise of the asked share is seen, a smaller one is not there, one within its scatter is not known."""
    curves = {"train/loss": FALLING[: len(held)], "eval/loss": held}

    assert seen(gaps.eval_turns_up, curves, rise=rise) == state


@pytest.mark.parametrize(
    ("train", "held", "state"),
    [
        ([*np.linspace(2.0, 0.2, 40)], [2.0] * 40, "present"),
        ([*np.linspace(2.0, 0.2, 40)], [*np.linspace(2.0, 0.3, 40)], "absent"),
        ([*np.linspace(3.5, 1.9, 40)], [*np.linspace(3.7, 7.6, 40)], "unknown"),
        ([*np.linspace(3.5, 3.3, 40)], [*np.linspace(3.7, 7.6, 40)], "unknown"),
    ],
)
def test_a_gap_of_losses(train: list[float], held: list[float], state: str) -> None:
    """The evaluation is far above a training that is good; above one that is not, nothing is claimed."""
    assert seen(gaps.generalisation_gap, {"train/loss": train, "eval/loss": held}) == state


@pytest.mark.parametrize(
    ("flicker", "down", "gap"),
    [(0.0, "present", "present"), (0.8, "unknown", "unknown"), (0.05, "present", "present")],
)
def test_metrics_that_scatter(flicker: float, down: str, gap: str) -> None:
    """What the scatter of the evaluation hides is not known, and not absent."""
    held = np.array([*np.linspace(0.3, 0.75, 10), *np.linspace(0.75, 0.62, 30)]) + flicker * FLICKER
    curves = {"train/accuracy": list(np.linspace(0.3, 0.95, 40)), "eval/accuracy": list(held)}

    assert seen(gaps.eval_metric_turns_down, curves) == down
    assert seen(gaps.generalisation_gap, curves) == gap
