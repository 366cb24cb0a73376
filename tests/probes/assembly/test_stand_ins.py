"""What stands for the loss in a run that logs none."""

import math

import numpy as np
import pytest

from traindoctor.probes.assembly.stand_ins import add, is_rate_by_eta
from traindoctor.probes.run import Series

from .._build import series


def _added(*curves: Series) -> tuple[dict[str, Series], list[str]]:
    found = {c.name: c for c in curves}
    return found, add(found)


@pytest.mark.parametrize(
    ("quantity", "value", "loss"),
    [
        ("perplexity", math.e**2, 2.0),
        ("bits", 2.0, 2 * math.log(2)),
        ("log_likelihood", -2.0, 2.0),
        ("mse", 2.0, 2.0),
        ("rmse", 2.0, 4.0),
        ("mae", 2.0, 2.0),
    ],
)
def test_each_is_the_loss_in_another_unit(quantity: str, value: float, loss: float) -> None:
    """Perplexities, bits, log-likelihoods and squared errors become losses, of both data sets."""
    found, notes = _added(series(f"train/{quantity}", [value] * 3), series(f"eval/{quantity}", [value] * 3))

    assert found["train/loss"].values == pytest.approx([loss] * 3)
    assert found["eval/loss"].values == pytest.approx([loss] * 3)
    assert len(notes) == 2


def test_a_loss_that_was_logged_stands() -> None:
    """Where any loss was logged nothing is made up, not even for the other data set."""
    found, notes = _added(series("train/loss", [2.0, 1.0]), series("eval/perplexity", [9.0, 8.0]))

    assert set(found) == {"train/loss", "eval/perplexity"} and notes == []


def test_infinite_perplexities_stay_infinite() -> None:
    """An overflow of the exponential, NaN and impossible values do not become ordinary losses."""
    found, _ = _added(series("train/perplexity", [math.inf, math.nan, 0.0, 1.0]))

    assert found["train/loss"].values[0] == math.inf and found["train/loss"].values[3] == 0.0
    assert np.isnan(found["train/loss"].values[1:3]).all()


def test_a_likelihood_of_a_density_is_left_alone() -> None:
    """A positive log-likelihood has no floor at 0: it is no cross-entropy."""
    assert _added(series("train/log_likelihood", [-1.0, 0.5]))[1] == []


def test_sums_over_other_numbers_of_samples_are_not_compared() -> None:
    """The evaluation's sum over a tenth of the samples is no loss below that of the training."""
    found, notes = _added(
        series("train/log_likelihood", [-2000.0, -900.0]), series("eval/log_likelihood", [-200.0, -90.0])
    )

    assert "train/loss" in found and "eval/loss" not in found and len(notes) == 1


def test_nothing_to_go_by() -> None:
    """An accuracy stands for no loss."""
    assert _added(series("train/accuracy", [0.1, 0.9]))[1] == []


def test_wrong_answers_stand_for_the_accuracy() -> None:
    """A rate of errors in percent leaves the accuracy; of an "error" alone nothing is known."""
    found, notes = _added(series("eval/error", [90.0, 5.0], raw="top1_err"), series("eval/loss", [2.0, 1.0]))

    assert found["eval/accuracy"].values == pytest.approx([0.1, 0.95]) and len(notes) == 1
    assert "eval/accuracy" not in _added(series("eval/error", [90.0, 5.0], raw="val_error"))[0]
    assert "eval/accuracy" not in _added(series("eval/error", [900.0, 5.0], raw="err_rate"))[0]


@pytest.mark.parametrize(
    ("values", "rate"),
    [
        ([0.001] * 8, True),
        ([0.1] * 4 + [0.01] * 4, True),
        ([0.1 * 0.8**k for k in range(9)], True),
        ([0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.0], False),
        ([0.5, 0.47, 0.49, 0.41, 0.44, 0.3, 0.33, 0.2, 0.22, 0.1], False),
        ([3600.0, 3000.0, 2000.0, 1900.0, 1000.0, 10.0], False),
        ([0.001] * 3, False),
    ],
)
def test_eta_is_a_rate_or_a_time(values: list[float], rate: bool) -> None:
    """What rests or follows a formula below 1 is a rate; what counts down or jitters is a time."""
    assert is_rate_by_eta(series("", values, raw="opt/eta")) is rate
    assert not is_rate_by_eta(series("", values, raw="beta"))


def test_what_both_data_sets_log_comes_first() -> None:
    """A root of squares of the evaluation alone leaves training without a loss; absolute errors do not."""
    found, _ = _added(*(series(n, [2.0, 1.0]) for n in ("eval/rmse", "train/mae", "eval/mae")))

    assert found["train/loss"].values[0] == 2.0 and found["eval/loss"].values[0] == 2.0
