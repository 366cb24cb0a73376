"""Metrics of which less is better are judged as those of which more is: each in its three states."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from traindoctor.probes.assembly import names
from traindoctor.probes.curves import situation

from .._build import run, series
from .._read import reading

DOWN = np.linspace(5.0, 0.3, 40)
VALLEY = np.concatenate([np.linspace(90, 24, 12), np.linspace(24, 38, 28)])


def state(area: str, symptom: str, **curves: Any) -> str:
    made = [series(n.replace("_", "/", 1), v) for n, v in curves.items()]
    return str(reading(area, symptom, run(made)).state)


@pytest.mark.parametrize(
    ("raw", "canonical"),
    [
        ("bestEER", None),
        ("EER", "eval/eer"),
        ("minDCF", "eval/min_dcf"),
        ("fid50k", "eval/fid"),
        ("val_lpips", "eval/lpips"),
        ("P-MPJPE", "eval/mpjpe"),
        ("val_mpjpe_mm", "eval/mpjpe"),
        ("valid_cer", "eval/wer"),
        ("val/hd95", "eval/hd95"),
        ("eval_chrf", "eval/chrf"),
        ("val_auprc", "eval/auprc"),
    ],
)
def test_their_names(raw: str, canonical: str | None) -> None:
    """Names in use; what is the best so far is no value of this evaluation."""
    assert names.canonical(raw) == canonical


def test_which_way_is_better() -> None:
    """Every error that is judged is told to be one by the table of names, and no other metric is."""
    assert all(names.quantities()[kind].lower for kind in situation.ERRORS)
    assert not any(names.quantities()[kind].lower for kind in (*situation.FRACTIONS, *situation.OTHERS))


@pytest.mark.parametrize(
    ("wer", "expected"),
    [
        (VALLEY, "present"),
        (np.linspace(90, 24, 40), "absent"),
        (np.linspace(90, 24, 40)[:3], "unknown"),
        (VALLEY * 0.02 + 10 + np.tile([-0.45, 0.45, 0.3, -0.3], 10), "absent"),
    ],
)
def test_a_word_error_rate_turns_up(wer: Any, expected: str) -> None:
    """Where no loss of the evaluation is logged its error stands for it, and it is a metric as well."""
    curves = {"train_loss": DOWN, "eval_wer": wer}

    assert state("metrics", "eval-metric-turns-down", **curves) == expected
    assert state("metrics", "eval-loss-turns-up", **curves) == expected


def test_an_error_that_is_the_loss_counts_once() -> None:
    """A mean absolute error that stands for the loss is no second reading of it."""
    mae = series("eval/mae", VALLEY)
    loss = series("eval/loss", VALLEY, raw=mae.raw)
    found = reading("metrics", "eval-metric-turns-down", run([series("train/loss", DOWN), mae, loss]))

    assert found.state == "unknown"


@pytest.mark.parametrize(
    ("eer", "chance", "beside"),
    [
        (50 + np.tile([-0.7, 0.5, 0.2], 8), "present", "present"),
        (0.5 + np.tile([-0.007, 0.005, 0.002], 8), "present", "present"),
        (np.linspace(30, 2, 24), "absent", "absent"),
    ],
)
def test_an_equal_error_rate_of_one_half_is_a_guess(eer: Any, chance: str, beside: str) -> None:
    """In percent or as a share; beside a training that works the evaluation is at fault."""
    loss, right = np.linspace(14, 1, 24), np.linspace(0.2, 0.95, 24)

    assert state("metrics", "metric-at-chance", train_loss=loss, eval_eer=eer) == chance
    assert (
        state(
            "metrics",
            "eval-metric-at-chance-train-good",
            train_loss=loss,
            train_accuracy=right,
            eval_eer=eer,
        )
        == beside
    )


@pytest.mark.parametrize(
    ("mae", "expected"),
    [([12.4] * 6, "present"), ([12.4, 12.1, 11.0], "absent"), ([1.0] * 6, "unknown"), ([3.0], "unknown")],
)
def test_an_error_that_never_changes(mae: Any, expected: str) -> None:
    """Answers that say nothing have a word error rate of one each time, whatever the weights are."""
    assert state("metrics", "eval-metric-constant", train_loss=DOWN, eval_wer=mae) == expected


@pytest.mark.parametrize(
    ("loss", "kind", "score", "expected"),
    [
        (np.geomspace(150, 14, 20), "wer", np.tile([1.0, 1.01], 10), "present"),
        (np.geomspace(150, 14, 20), "wer", np.tile([100.0, 101.0], 10), "present"),
        (np.r_[300, 80, np.linspace(50, 47, 18)], "wer", np.ones(20), "absent"),  # CTC before it says a word
        (np.geomspace(150, 14, 20), "wer", np.linspace(1.0, 0.1, 20), "absent"),
        (np.geomspace(0.43, 0.28, 20), "wer", np.linspace(31, 97, 20), "present"),
        (np.geomspace(0.28, 0.43, 20), "wer", np.linspace(31, 97, 20), "absent"),
        (np.geomspace(9, 3, 20), "bleu", np.tile([0.15, 0.2], 10), "present"),
        (np.geomspace(9, 3, 20), "bleu", np.linspace(0.02, 0.3, 20), "absent"),
        (np.geomspace(9, 3, 20), "bleu", np.linspace(30, 12, 20), "present"),
        (np.geomspace(9, 3, 3), "wer", np.ones(3), "unknown"),
    ],
)
def test_answers_against_the_loss_of_the_same_data(loss: Any, kind: str, score: Any, expected: str) -> None:
    """Decoded answers that stay wrong or get worse while the loss falls, and those that follow it."""
    curves = {"train_loss": loss, "eval_loss": loss, f"eval_{kind}": score}

    assert state("relations", "eval-answers-part-from-loss", **curves) == expected
    if expected == "present" and score[-1] != score[0]:
        assert state("metrics", "eval-metric-turns-down", **curves) != "present"


@pytest.mark.parametrize(("rise", "expected"), [(0.03, "unknown"), (0.0, "present")])
def test_a_metric_that_begins_to_rise_is_no_guess(rise: float, expected: str) -> None:
    """An AUC that has come to 0.53 step by step has left guessing; one that wanders there has not."""
    wander = np.tile([0.002, -0.003, 0.001, 0.0], 5)
    auc = 0.5 + rise * np.linspace(0, 1, 20) + wander

    assert state("metrics", "metric-at-chance", train_loss=np.full(20, 0.692), eval_auc=auc) == expected
