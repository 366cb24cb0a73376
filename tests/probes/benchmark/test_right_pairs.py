"""Right pairs that look like what comparisons with a benchmark look for, beside their sick twins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from traindoctor.engine.model import State

from .._build import run, series, written
from .._read import reading

RNG = np.random.default_rng(7)
LOSS = 2.6 * np.exp(-np.arange(300) / 40) + 0.4 + 0.01 * RNG.normal(size=300)
NORM = 1.2 + 0.1 * RNG.normal(size=300)
FALL = [series("train/loss", LOSS)]


def state(symptom: str, mine: dict[str, Any], theirs: dict[str, Any]) -> State:
    """What is read of a comparison of raw settings."""
    return reading("benchmark", symptom, written(mine, FALL), written(theirs, FALL)).state


@pytest.mark.parametrize(
    ("symptom", "theirs", "right", "sick"),
    [
        ("lr-above-benchmark", {"lr": 1e-5}, {"lr": 2e-4, "peft_type": "LORA"}, {"lr": 2e-4}),
        ("world-size-below-benchmark", {"world_size": 8}, {"world_size": 4}, {"world_size": 1}),
        (
            "shuffle-differs",
            {"train.shuffle": True},
            {"train.shuffle": False, "train.sampler": "DistributedSampler"},
            {"train.shuffle": False},
        ),
        (
            "evaluation-settings-differ",
            {"eval.amp": "fp16", "eval.iters": 200, "eval.save_predictions": False, "eval.source": "a"},
            {"eval.amp": "bf16", "eval.iters": 50, "eval.save_predictions": True, "eval.source": "a"},
            {"eval.amp": "fp16", "eval.iters": 200, "eval.save_predictions": False, "eval.source": "b"},
        ),
    ],
)
def test_right_differences_are_not_taken_for_wrong_ones(
    symptom: str, theirs: dict[str, Any], right: dict[str, Any], sick: dict[str, Any]
) -> None:
    """Each pair differs in what makes the same difference right."""
    assert state(symptom, right, theirs) is not State.PRESENT
    assert state(symptom, sick, theirs) is State.PRESENT


@pytest.mark.parametrize(
    ("factor", "norms", "expected"),
    [
        (1 / np.log(2), 1 / np.log(2), State.UNKNOWN),
        (1 / 8, 1.0, State.UNKNOWN),
        (8.0, 8.0, State.PRESENT),
    ],
)
def test_a_loss_that_is_only_logged_otherwise(factor: float, norms: float, expected: State) -> None:
    """In bits, or divided for the log alone: then the gradients are those of the benchmark."""
    mine = run([series("train/loss", factor * LOSS), series("grad_norm", norms * NORM)])
    theirs = run([series("train/loss", LOSS), series("grad_norm", NORM)])
    assert reading("benchmark", "loss-scaled-by-constant", mine, theirs).state is expected


def test_adapters_have_smaller_gradients_than_a_whole_model() -> None:
    """Adapters train on one side alone: of course less gradient flows."""
    theirs = run([series("train/loss", LOSS), series("grad_norm", NORM)])
    for settings, expected in (({"adapter": "lora"}, State.UNKNOWN), ({}, State.PRESENT)):
        mine = run([series("train/loss", LOSS), series("grad_norm", 0.25 * NORM)], settings)
        assert reading("benchmark", "grad-norm-far-below-at-start", mine, theirs).state is expected


@pytest.mark.parametrize(
    ("steps", "settings", "expected"),
    [
        (458, {}, State.UNKNOWN),
        (458, {"world_size": 1}, State.PRESENT),
        (700, {}, State.PRESENT),
    ],
)
def test_half_as_many_steps_of_twice_as_many_processes(
    steps: int, settings: dict[str, Any], expected: State
) -> None:
    """A whole number of times fewer steps, where nobody counts the processes."""

    def side(length: int) -> Any:
        at = np.arange(1, 61) * length / 5
        curve = series("train/loss", LOSS[:60], steps=at, epochs=np.ceil(at / length))
        return run([curve], {"batch_size": 2, "global_batch_size": 2, **settings})

    assert reading("benchmark", "epoch-shorter-than-benchmark", side(steps), side(916)).state is expected


def test_rates_of_two_families_of_optimizers_are_not_compared() -> None:
    """Muon's rates are some hundred times those of Adam; Adam and AdamW have the same."""
    theirs = {"optimizer": "adamw", "lr": 3e-4}
    assert state("lr-above-benchmark", {"optimizer": "muon", "lr": 2e-2}, theirs) is State.UNKNOWN
    assert state("lr-above-benchmark", {"optimizer": "adam", "lr": 2e-2}, theirs) is State.PRESENT


@pytest.mark.parametrize("told", [{"label_smoothing": 0.1}, {"mixup": 0.8}, {"teacher_model": "regnety"}])
def test_training_that_is_harder_by_design(told: dict[str, Any]) -> None:
    """Smoothed or mixed labels and a teacher raise the training loss alone."""
    held = 4 * np.exp(-np.arange(30) / 5) + 1.0
    at = np.arange(10, 301, 10)
    theirs = run([series("train/loss", LOSS), series("eval/loss", held, at)])
    curves = [series("train/loss", LOSS + 1.2), series("eval/loss", held, at)]
    assert reading("benchmark", "training-harder-than-benchmark", written(told, curves), theirs).state is (
        State.UNKNOWN
    )
    assert reading("benchmark", "training-harder-than-benchmark", run(curves), theirs).state is State.PRESENT


@pytest.mark.parametrize(("right", "expected"), [(0.9, State.ABSENT), (0.7, State.PRESENT)])
def test_a_training_loss_of_smoothed_labels(right: float, expected: State) -> None:
    """It ends above the benchmark's by design, and matters where something is evaluated worse."""
    at = np.arange(10, 301, 10)
    theirs = run([series("train/loss", LOSS), series("eval/accuracy", np.full(30, 0.9), at)])
    curves = [series("train/loss", LOSS + 1.2), series("eval/accuracy", np.full(30, right), at)]
    smoothed = written({"label_smoothing": 0.1}, curves)
    for symptom in ("final-loss-above-benchmark", "final-loss-far-above-benchmark"):
        assert reading("benchmark", symptom, smoothed, theirs).state is expected
        assert reading("benchmark", symptom, run(curves), theirs).state is State.PRESENT


def test_names_that_two_libraries_write_otherwise() -> None:
    """The same column or split under the words of two libraries; longer inputs, which cut nothing."""
    theirs = {"data.label_column": "label", "data.split": "training", "max_seq_length": 512}
    right = {"data.label_column": "labels", "data.split": "train", "max_seq_length": 2048}
    sick = {"data.label_column": "coarse", "data.split": "test", "max_seq_length": 128}
    for symptom in ("label-settings-differ", "split-settings-differ", "processing-value-far"):
        assert state(symptom, right, theirs) is not State.PRESENT
        assert state(symptom, sick, theirs) is State.PRESENT


@pytest.mark.parametrize(
    ("off", "planned", "expected"),
    [(1.0, 300, State.UNKNOWN), (1.2, 300, State.PRESENT), (1.0, 130, State.PRESENT)],
)
def test_a_run_that_is_on_its_way(off: float, planned: int, expected: State) -> None:
    """It follows the benchmark and is planned as long: nobody knows whether it has stopped."""
    falls = 2.6 * np.exp(-np.arange(300) / 80) + 0.4
    theirs = run([series("train/loss", falls)], {"max_steps": 300})
    mine = run([series("train/loss", off * falls[:120])], {"max_steps": planned})
    assert reading("benchmark", "stops-before-benchmark", mine, theirs).state is expected


@pytest.mark.parametrize("told", [{"teacher_model": "big"}, {"kd_weight": 0.9}, {"distillation": True}])
def test_a_loss_that_a_teacher_makes_is_not_compared(told: dict[str, Any]) -> None:
    """What is lost against the answers of a teacher is another quantity than against labels."""
    theirs = run(FALL)
    for settings, expected in ((told, State.UNKNOWN), ({"teacher_forcing_ratio": 0.5}, State.PRESENT)):
        mine = written(settings, [series("train/loss", LOSS + 1.0)])
        for symptom in ("final-loss-above-benchmark", "final-loss-far-above-benchmark"):
            assert reading("benchmark", symptom, mine, theirs).state is expected


@pytest.mark.parametrize(
    ("symptom", "mine", "theirs"),
    [
        ("dataset-settings-differ", {"n_train": 3000}, {"n_train": 2400}),
        ("more-samples-than-benchmark", {"n_train": 3000}, {"n_train": 2400}),
        ("model-differs", {"hidden_size": 96}, {"hidden_size": 64}),
    ],
)
@pytest.mark.parametrize(
    ("end", "expected"), [(0.92, State.UNKNOWN), (0.90, State.UNKNOWN), (0.7, State.PRESENT)]
)
def test_sizes_that_somebody_chose(
    symptom: str, mine: dict[str, Any], theirs: dict[str, Any], end: float, expected: State
) -> None:
    """More samples or a wider model are another experiment where held-out data end no worse."""

    def side(raw: dict[str, Any], last: float) -> Any:
        accuracy = last - 0.5 * np.exp(-np.arange(20) / 3)
        return written(raw, [*FALL, series("eval/accuracy", accuracy)])

    assert reading("benchmark", symptom, side(mine, end), side(theirs, 0.91)).state is expected
    assert reading("benchmark", symptom, written(mine, FALL), written(theirs, FALL)).state is State.PRESENT
    fewer = reading("benchmark", symptom, side(theirs, end), side(mine, 0.91)).state
    assert symptom == "model-differs" or fewer is not State.UNKNOWN


@pytest.mark.parametrize(("end", "expected"), [(0.88, State.ABSENT), (0.80, State.PRESENT)])
def test_fewer_steps_that_end_as_well(end: float, expected: State) -> None:
    """A run of smaller batches may need fewer epochs; one that ends worse stopped too early."""
    steps = np.arange(1, 31)

    def side(length: int, last: float) -> Any:
        fall = 1.5 * np.exp(-steps[:length] / 6) + 0.3 - 0.004 * steps[:length]
        curves = [
            series("train/loss", fall + (0.03 if length < 30 else 0), steps[:length]),
            series("eval/loss", 1.2 * np.exp(-steps[:length] / (6 * length / 30)) + 0.4, steps[:length]),
            series("eval/accuracy", last - 0.5 * np.exp(-steps[:length] / 3), steps[:length]),
        ]
        return written({}, curves)

    for symptom in ("stops-before-benchmark", "final-loss-above-benchmark"):
        assert reading("benchmark", symptom, side(15, end), side(30, 0.87)).state is expected, symptom


@pytest.mark.parametrize(
    ("mine", "expected"),
    [
        ({"lr": 4e-4, "batch_size": 10}, State.ABSENT),  # a fifth of the batch, two fifths of the rate
        ({"lr": 2e-4, "batch_size": 10}, State.ABSENT),
        ({"lr": 1e-5, "batch_size": 10}, State.PRESENT),
        ({"lr": 4e-4, "batch_size": 50}, State.PRESENT),
        ({"lr": 4e-4, "batch_size": 200}, State.PRESENT),
    ],
)
def test_a_rate_that_follows_the_batch(mine: dict[str, Any], expected: State) -> None:
    assert state("lr-below-benchmark", mine, {"lr": 1e-3, "batch_size": 50}) is expected


@pytest.mark.parametrize(
    ("milestones", "epochs", "expected"),
    [
        ((6,), 8, State.ABSENT),
        ((5,), 8, State.PRESENT),
        ((9,), 8, State.PRESENT),
        ((6, 7), 8, State.PRESENT),
        ((6,), 14, State.PRESENT),
    ],
)
def test_drops_at_the_same_part_of_a_shorter_run(
    milestones: tuple[int, ...], epochs: int, expected: State
) -> None:
    theirs = {"milestones": (10,), "epochs": 14}
    assert state("schedule-differs", {"milestones": milestones, "epochs": epochs}, theirs) is expected


@pytest.mark.parametrize(
    ("end", "rest", "expected"),
    [(0.0, 0.95, State.ABSENT), (1e-3, 0.95, State.PRESENT), (0.0, 0.6, State.PRESENT)],
)
def test_a_shorter_plan_that_leaves_little(end: float, rest: float, expected: State) -> None:
    """The schedule of the run was over, and the benchmark gains some percent after it."""
    steps = np.arange(1, 41)
    theirs = np.where(steps <= 20, 1 - 0.5 * steps / 20, 0.5 * (1 - (1 - rest) * 2 * (steps - 20) / 20))
    rate = np.linspace(1e-3, end, 20)
    mine = written({}, [series("train/loss", theirs[:20]), series("learning_rate", rate)])
    bench = written({}, [series("train/loss", theirs)])
    assert reading("benchmark", "stops-before-benchmark", mine, bench).state is expected


@pytest.mark.parametrize(
    ("length", "end", "expected"),
    [(90, 0.5, State.ABSENT), (90, 0.6, State.PRESENT), (30, 0.5, State.PRESENT)],
)
def test_a_run_that_goes_on_and_comes_as_low(length: int, end: float, expected: State) -> None:
    """Smaller batches take more steps: what counts is where they end."""
    theirs = 0.5 + 1.5 * np.exp(-np.arange(30) / 5)
    mine = end + 1.5 * np.exp(-np.arange(90) / 18)
    found = reading(
        "benchmark",
        "final-loss-above-benchmark",
        written({}, [series("train/loss", mine[:length])]),
        written({}, [series("train/loss", theirs)]),
    )
    assert found.state is expected
    assert ("the last of both" in found.why) is (length > 30)


@pytest.mark.parametrize(
    ("end", "expected"), [(0.2, State.ABSENT), (0.24, State.ABSENT), (0.45, State.PRESENT)]
)
def test_a_shorter_run_that_comes_as_low(end: float, expected: State) -> None:
    """The benchmark goes on to where the run came by its own end, in half of the steps."""
    bench = written({}, [series("train/loss", np.linspace(1.0, 0.2, 40))])
    mine = written({}, [series("train/loss", [*np.linspace(1.0, end, 17), end, end, end])])
    assert reading("benchmark", "stops-before-benchmark", mine, bench).state is expected
