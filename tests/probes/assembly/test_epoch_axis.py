"""Steps that are epochs, in trackers that take any number as the step."""

from __future__ import annotations

import numpy as np
import pytest

from traindoctor.probes.assembly.epoch_axis import by_epochs
from traindoctor.probes.run import Series

from .._build import run, series

FALL = np.linspace(2.0, 0.5, 12)


def units(curves: list[Series], epochs: object) -> set[str]:
    settings = run((), {"epochs": epochs}).settings if epochs is not None else {}
    return {s.unit for s in by_epochs({s.name: s for s in curves}, settings).values()}


def both(unit: str, first: int = 0, count: int = 12) -> list[Series]:
    steps = np.arange(first, first + count, dtype=float)
    return [series(n, FALL[:count], steps, unit=unit) for n in ("train/loss", "eval/loss", "learning_rate")]


@pytest.mark.parametrize("unit", ["unknown", "step"])
@pytest.mark.parametrize("first", [0, 1])
def test_one_point_for_each_configured_epoch(unit: str, first: int) -> None:
    """Training and evaluation have a point for each of twelve epochs: their steps count epochs."""
    assert units(both(unit, first), 12) == {"epoch"}


def test_means_over_epochs() -> None:
    """The training loss of an epoch is its mean; the evaluation's is one point."""
    made = by_epochs({s.name: s for s in both("unknown")}, run((), {"epochs": 12}).settings)
    assert made["train/loss"].window == "epoch-mean" and made["eval/loss"].window == "point"


@pytest.mark.parametrize(
    ("curves", "epochs"),
    [
        (both("unknown"), 10),  # the run ended early, or logs something else
        (both("unknown"), None),
        (both("unknown", first=100), 12),
        (both("step")[:1], 12),  # twelve steps that the file calls steps
        ([*both("unknown"), series("grad_norm", np.ones(240), unit="unknown")], 12),
        (both("unknown", count=2), 2),
    ],
)
def test_what_may_be_steps_stays(curves: list[Series], epochs: object) -> None:
    """Where one series counts otherwise, or no number of epochs is known, nothing is changed."""
    assert "epoch" not in units(curves, epochs)


def test_nothing_was_logged() -> None:
    """A run without curves stays one."""
    assert by_epochs({}, run((), {"epochs": 12}).settings) == {}
