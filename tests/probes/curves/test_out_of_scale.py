"""Losses below their floor, and batches whose loss is of another size, each in its three states."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from .._build import run, series
from .._read import reading

DOWN = np.linspace(4.0, 0.5, 60)


def negative(values: Any, raw: str = "loss", settings: dict[str, Any] | None = None) -> str:
    made = run([series("train/loss", values, range(len(values)), raw=raw)], settings or {})
    return str(reading("loss", "loss-below-its-floor", made).state)


@pytest.mark.parametrize(
    ("raw", "lowest", "expected"),
    [
        ("ctc_loss", -3.4, "present"),
        ("cross_entropy", -3.4, "present"),
        ("ctc_loss", 0.5, "absent"),
        ("mse", -1e-9, "absent"),  # rounding
        ("nll_loss", -3.4, "unknown"),  # of a density
        ("info_nce", -3.4, "unknown"),
        ("cross_modal", -3.4, "unknown"),
        ("loss", -1.2e35, "present"),
    ],
)
def test_what_no_loss_of_its_name_can_be(raw: str, lowest: float, expected: str) -> None:
    """A single value is enough: minus the logarithm of a probability is never negative."""
    assert negative([lowest, *DOWN], raw) == expected


def test_an_overlap_is_added() -> None:
    """Cross-entropy and minus an overlap, as nnU-Net names them."""
    assert negative([-2.0, *DOWN], settings={"loss_function": "DC_and_CE_loss"}) == "unknown"


def test_the_name_may_stand_in_the_settings() -> None:
    assert negative([-2.0, *DOWN], settings={"loss_function": "cross_entropy"}) == "present"


@pytest.mark.parametrize(
    ("values", "settings", "script", "expected"),
    [
        (0.7 - 0.1 * np.arange(40), {"loss_function": "BCEWithLogitsLoss"}, "", "present"),
        (0.7 - 0.1 * np.arange(40), {"loss_function": "binary_crossentropy"}, "", "present"),
        (-0.7 - 0.1 * np.arange(40), {"loss_function": "BCEWithLogitsLoss"}, "", "absent"),  # a wrong sign
        (DOWN, {"loss_function": "BCEWithLogitsLoss"}, "", "absent"),
        (0.7 - 0.1 * np.arange(40), {"loss_function": "mse"}, "", "unknown"),
        (0.7 - 0.1 * np.arange(40), {}, "", "unknown"),
        (
            0.7 - 0.1 * np.arange(40),
            {"loss_function": "bce"},
            "loss = bce(z, y) - dice_score(z, y)",
            "unknown",
        ),
    ],
)
def test_targets_outside_of_zero_to_one(
    values: Any, settings: dict[str, Any], script: str, expected: str
) -> None:
    """Such targets reward ever larger outputs; nothing else takes this loss from above zero to below it."""
    made = run([series("train/loss", values, range(len(values)))], settings)
    made = replace(made, scripts={"train.py": script} if script else {})
    assert str(reading("loss", "loss-sinks-below-zero", made).state) == expected


@pytest.mark.parametrize(
    ("factors", "expected"),
    [
        ([100.0] * 5, "present"),
        ([1.0] * 5, "absent"),
        ([100.0, 100.0, 1.0, 1.0, 1.0], "absent"),  # two only
        ([30.0, 8.0, 4.0, 2.5, 100.0], "absent"),  # a tail
    ],
)
def test_batches_of_another_size(factors: list[float], expected: str) -> None:
    loss = DOWN * (1 + 0.05 * np.random.default_rng(0).standard_normal(60))
    loss[[12, 21, 33, 40, 52]] *= factors
    made = run([series("train/loss", loss, range(60))])

    assert str(reading("loss", "loss-of-another-size", made).state) == expected


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        ([np.inf, np.nan, np.nan, np.nan], "present"),
        ([*DOWN, np.inf, np.nan], "present"),
        ([*DOWN, np.nan, np.inf], "absent"),
        ([*DOWN, 1e3, 1e9, 1e30, np.inf], "unknown"),  # it has grown out of range
        (DOWN, "absent"),
    ],
)
def test_an_infinite_loss_is_no_missing_value(loss: Any, expected: str) -> None:
    made = run([series("train/loss", loss, range(len(loss)))])

    assert str(reading("loss", "loss-infinite-at-once", made).state) == expected


def test_points_in_a_row_are_no_batches() -> None:
    """A model that is thrown off needs a while to come back."""
    loss = DOWN.copy()
    for at in (12, 27, 42):
        loss[at : at + 4] *= 100
    made = run([series("train/loss", loss, range(60))])

    assert str(reading("loss", "loss-of-another-size", made).state) != "present"


@pytest.mark.parametrize(
    ("mode", "last", "expected"),
    [
        ("force_fp16", np.nan, "present"),
        ("force_fp16", 0.4, "absent"),
        ("allow_mix_precision", np.nan, "absent"),
        (None, np.nan, "unknown"),
    ],
)
def test_a_graph_that_is_all_in_half_precision(mode: str | None, last: float, expected: str) -> None:
    """Beside it an infinite loss of CTC says nothing of its targets."""
    settings = {"graph_precision": mode} if mode else {}
    made = run([series("train/loss", [*DOWN, last, last], range(62))], settings)
    frames = run([series("train/loss", [*DOWN, np.inf, np.inf], range(62), raw="ctc_loss")], settings)

    assert str(reading("loss", "loss-lost-in-forced-half", made).state) == expected
    told = str(reading("loss", "ctc-infinite-at-once", frames).state)
    assert told == ("unknown" if mode == "force_fp16" else "present")
