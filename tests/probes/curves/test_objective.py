"""What a loss's numbers say about how it is computed, and what digits say about a format."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from traindoctor.engine.model import Scalar, State
from traindoctor.probes.benchmark import gradients as against_benchmark
from traindoctor.probes.config import precision
from traindoctor.probes.curves import (
    eval_relations,
    gradients,
    labels_counted,
    metrics,
    objective,
    rounding,
    scaler,
)
from traindoctor.probes.registry import Finding, View
from traindoctor.probes.run import Run, Series

from .._build import run, series

FALL = np.linspace(1.0, 0.3, 40)


def view(mine: Run, theirs: Run | None = None) -> View:
    return View(mine, theirs)


def state(found: Finding) -> str:
    return str(found.state)


@pytest.mark.parametrize(
    ("factor", "accuracy", "expected"),
    [(32.0, 0.95, "present"), (1.0, 0.95, "absent"), (1.0, 0.3, "absent"), (32.0, None, "unknown")],
)
def test_a_sum_is_too_large_for_its_accuracy(factor: float, accuracy: float | None, expected: str) -> None:
    curves = [series("train/loss", factor * np.linspace(2.0, 0.15, 40))]
    if accuracy is not None:
        curves.append(series("train/accuracy", np.linspace(0.1, accuracy, 40)))
    found = objective.batch_sum(view(run(curves, {"batch_size": 32})), spread=1.5, least=8)
    assert state(found) == expected


def test_a_sum_is_the_batch_times_a_guess() -> None:
    rng = np.random.default_rng(0)
    curves = [
        series("train/loss", 16 * math.log(10) * (1 + 0.005 * rng.standard_normal(40)), np.arange(50, 90)),
        series("eval/accuracy", [0.1, 0.11, 0.1], [60, 70, 80]),
    ]
    assert state(objective.batch_sum(view(run(curves, {"batch_size": 16})))) == "present"
    assert state(objective.batch_sum(view(run(curves, {"batch_size": 24})))) == "absent"
    assert state(objective.batch_sum(view(run(curves, {"batch_size": 4})))) == "unknown"
    assert state(objective.batch_sum(view(run(curves)))) == "unknown"


@pytest.mark.parametrize(("factor", "expected"), [(64.0, "present"), (1.0, "absent"), (8.0, "absent")])
def test_a_sum_beside_its_benchmark(factor: float, expected: str) -> None:
    mine = run([series("train/loss", factor * FALL)], {"batch_size": 64})
    theirs = run([series("train/loss", FALL)], {"batch_size": 64})
    assert state(objective.batch_sum(view(mine, theirs))) == expected


def test_a_loss_tied_to_the_error_rate() -> None:
    accuracy = np.linspace(0.4, 0.8, 10)
    floor = math.log(1 + 3 / math.e)
    start = series("train/loss", [math.log(4), 1.3, 1.2, 1.1, 1.0])
    rate = series("eval/accuracy", accuracy)
    tied = run([start, rate, series("eval/loss", floor + 1 - accuracy)])
    found = objective.error_plus_floor(view(tied), tolerance=0.03, span=0.08)
    assert state(found) == "present"
    assert found.threshold == pytest.approx(floor, abs=1e-3)
    ordinary = run([start, rate, series("eval/loss", np.linspace(1.3, 0.5, 10))])
    assert state(objective.error_plus_floor(view(ordinary))) == "absent"
    other_floor = run([start, rate, series("eval/loss", floor + 1.1 - accuracy)], {"num_classes": 4})
    assert state(objective.error_plus_floor(view(other_floor))) == "absent"
    still = run([start, series("eval/accuracy", np.full(10, 0.5)), series("eval/loss", np.full(10, 1.2))])
    assert state(objective.error_plus_floor(view(still))) == "unknown"


@pytest.mark.parametrize(
    ("first", "at", "expected"),
    [
        (2.302585, 1, "present"),
        (2.36, 1, "absent"),
        (2.302585, 60, "unknown"),
    ],
)
def test_the_first_loss_is_exactly_that_of_a_guess(first: float, at: int, expected: str) -> None:
    curve = series("train/loss", [first, *np.linspace(2.2123, 1.0111, 20)], np.arange(at, at + 21))
    found = objective.starts_at_chance(view(run([curve], {"num_classes": 10})), tolerance=0.001)
    assert state(found) == expected


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"num_classes": 10}, "present"),
        ({"num_classes": 10, "init_std": 0.02}, "unknown"),  # a head drawn as BERT's is
        ({"num_classes": 10, "init_std": 0.0}, "present"),
        ({"num_classes": 10, "init_std": 1.0}, "present"),
    ],
)
def test_small_weights_begin_near_a_guess(settings: dict[str, Scalar], expected: str) -> None:
    curve = series("train/loss", [2.302585, *np.linspace(2.2123, 1.0111, 20)])
    found = objective.starts_at_chance(view(run([curve], settings)), tolerance=0.001)
    assert state(found) == expected


@pytest.mark.parametrize(("first", "expected"), [(1.3863, "present"), (1.3875, "unknown"), (1.42, "absent")])
def test_what_trainer_trains_begins_near_a_guess_by_itself(first: float, expected: str) -> None:
    """BERT's head is drawn with 0.02: only equal scores for all classes are exactly at ln 4."""
    side = run([series("train/loss", [first, *np.linspace(1.3123, 0.6111, 20)])], {"num_classes": 4})
    side = replace(side, info=replace(side.info, formats=("hf-trainer",)))
    assert state(objective.starts_at_chance(view(side), tolerance=0.001)) == expected


def test_a_coarse_print_does_not_tell_an_exact_start() -> None:
    curve = series("train/loss", np.round([2.3, *np.linspace(2.2, 1.0, 20)], 1))
    assert state(objective.starts_at_chance(view(run([curve], {"num_classes": 10})))) == "unknown"


def test_a_climb_is_not_a_divergence_with_falls() -> None:
    up = series("train/loss", 2.0 + np.arange(40.0) ** 2)
    assert state(objective.climbs(view(run([up])), share=0.95, rise=3.0)) == "present"
    wild = series("train/loss", [2.0, 50.0, 20.0, 90.0, 30.0, 80.0, 40.0, 60.0, 10.0, 70.0])
    assert state(objective.climbs(view(run([wild])))) == "absent"
    assert state(objective.climbs(view(run([series("train/loss", FALL)])))) == "absent"
    assert state(objective.climbs(view(run()))) == "unknown"


def test_losses_in_the_steps_of_a_format() -> None:
    fine = np.linspace(4.0, 1.0, 60) + 0.01 * np.sin(np.arange(60.0))
    bits = np.frombuffer((fine.astype(np.float32).view(np.uint32) & 0xFFFF0000).tobytes(), np.float32)
    coarse = np.round(bits.astype(float), 4)
    half = fine.astype(np.float16).astype(float)
    assert state(rounding.loss_in_half_steps(view(run([series("train/loss", coarse)])))) == "present"
    assert state(rounding.loss_in_half_steps(view(run([series("train/loss", half)])))) == "present"
    assert state(rounding.loss_in_half_steps(view(run([series("train/loss", fine)])))) == "absent"
    printed = series("train/loss", np.round(fine, 1))
    assert state(rounding.loss_in_half_steps(view(run([printed])))) == "unknown"


@pytest.mark.parametrize(
    ("kind", "spills", "expected"),
    [
        ("fp16", True, "present"),
        ("fp16", False, "absent"),
        ("bf16", True, "unknown"),  # bf16 reaches as far as fp32
        ("fp32", True, "absent"),  # a logarithm of zero, in any format
        ("large", True, "absent"),
    ],
)
def test_a_loss_that_leaves_the_range_of_half_precision(kind: str, spills: bool, expected: str) -> None:
    fine = np.linspace(900.0, 1.0, 60) + 0.01 * np.sin(np.arange(60.0))
    half = fine.astype(np.float16).astype(float)
    bits = (fine.astype(np.float32).view(np.uint32) & 0xFFFF0000).view(np.float32).astype(float)
    values = {"fp16": half, "bf16": bits, "fp32": fine, "large": half * 1024}[kind]
    values[3] = np.inf if spills else values[3]
    assert state(rounding.loss_overflows_half(view(run([series("train/loss", values)])))) == expected


@pytest.mark.parametrize(
    ("value", "expected"), [(1.0 / 1024, "present"), (1.0, "absent"), (65536.0, "absent")]
)
def test_a_loss_scale_below_one(value: float, expected: str) -> None:
    logged = run([series("loss_scale", np.full(20, value))])
    assert state(scaler.loss_scale_tiny(view(logged), limit=1.0)) == expected
    written = run(settings={"initial_loss_scale": value})
    assert state(scaler.loss_scale_tiny(view(written), limit=1.0)) == expected
    assert state(scaler.loss_scale_tiny(view(run()), limit=1.0)) == "unknown"


@pytest.mark.parametrize(
    ("value", "expected"), [(2.0**30, "present"), (65536.0, "unknown"), (2.0**-14, "present")]
)
def test_a_loss_scale_that_cannot_work(value: float, expected: str) -> None:
    logged = view(run([series("loss_scale", np.full(20, value))], {"precision": "fp16"}))
    found = precision.loss_scale_unfit(logged, large=65536.0, logged=2.0**24, tiny=1.0)
    assert state(found) == ("absent" if expected == "unknown" else expected)
    fixed = precision.fixed_loss_scale_large(logged, limit=65536.0, logged=2.0**24)
    assert state(fixed) == ("present" if value == 2.0**30 else "unknown")


def test_a_logged_scale_of_one_is_no_scaling() -> None:
    curve = series("loss_scale", np.ones(20))
    found = precision.fp16_without_scaling(view(run([curve], {"precision": "fp16"})))
    assert state(found) == "present"
    falls = series("loss_scale", [4.0, 2.0] + [1.0] * 18)
    assert state(precision.fp16_without_scaling(view(run([falls], {"precision": "fp16"})))) == "absent"


def test_skips_show_in_the_norms_where_the_scale_hides_them() -> None:
    steps = np.arange(5, 405, 5)
    scales = np.where(np.arange(80) % 8 == 0, 2.0**17, 2.0**16)
    norms = np.where(np.arange(80) % 3 == 0, np.inf, 1.0)
    curves = [series("loss_scale", scales, steps), series("train/loss", np.linspace(2, 1, 80), steps)]
    skipping = run([*curves, series("grad_norm", norms, steps)], {"loss_scale_window": 1})
    assert state(scaler.steps_skipped_often(view(skipping), share=0.1, minimum=5)) == "present"
    calm = run([*curves, series("grad_norm", np.ones(80), steps)], {"loss_scale_window": 2000})
    assert state(scaler.steps_skipped_often(view(calm), share=0.1, minimum=5)) == "absent"


def test_a_norm_in_proportion_to_the_step() -> None:
    steps = np.arange(8, 408, 8)
    wobble = 1 + 0.05 * np.sin(np.arange(50.0))
    line, calm = series("grad_norm", 3.5 * steps * wobble, steps), series("train/loss", np.ones(50), steps)

    def of(*curves: Series) -> str:
        return state(gradients.grad_grows_linearly(view(run(curves)), tolerance=0.25, ratio=10.0))

    assert of(line, calm) == "present"
    assert of(line) == "unknown"
    assert of(line, series("train/loss", np.linspace(2, 9, 50), steps)) == "absent"
    assert of(series("grad_norm", 0.01 * steps**2.0, steps), calm) == "absent"
    assert of(series("grad_norm", wobble, steps), calm) == "absent"
    assert of(series("grad_norm", 3.5 * steps * wobble, steps + 900), calm) == "unknown"
    settled = series(
        "grad_norm", 40 * np.minimum(steps / 100, 1.0 + steps / 4000), steps
    )  # all are cleared late
    assert of(settled, calm) == "absent"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1.41629] * 6, "present"),
        ([1.38629] * 6, "unknown"),  # ln 4: the weights may decay to nothing, or the units be dead
        ([1.3811, 1.3782, 1.3741, 1.3721, 1.3720], "absent"),
        ([1.4, 1.4, 1.4, 1.4], "unknown"),
        ([1.41629, 1.41629], "unknown"),
    ],
)
def test_an_evaluation_loss_that_stands_still(values: list[float], expected: str) -> None:
    found = metrics.eval_loss_constant(view(run([series("eval/loss", values)])), relative=1e-4)
    assert state(found) == expected


@pytest.mark.parametrize(
    ("share", "apart", "expected"),
    [(0.5, 1.0, "present"), (0.9, 1.0, "absent"), (0.5, 1.3, "unknown")],
)
def test_first_gradients_beside_the_benchmarks(share: float, apart: float, expected: str) -> None:
    loss, norm = series("train/loss", FALL), series("grad_norm", 1 + FALL)
    mine = run([series("train/loss", apart * FALL), series("grad_norm", share * (1 + FALL))])
    found = against_benchmark.grad_norm_below_at_start(view(mine, run([loss, norm])), ratio=0.67, loss=0.1)
    assert state(found) == expected


def test_a_constant_metric_with_a_moving_loss_does_not_say_that_weights_stand_still() -> None:
    """One answer to everything scores the same each time, and its loss still moves with the weights."""
    constant = series("eval/accuracy", [0.28] * 6)
    moving = series("eval/loss", [1.39, 1.384, 1.379, 1.375, 1.372, 1.371])
    still = series("eval/loss", [1.386294] * 6)
    assert metrics.eval_metric_constant(view(run([constant]))).state is State.PRESENT
    assert metrics.eval_metric_constant(view(run([constant, still]))).state is State.PRESENT
    assert metrics.eval_metric_constant(view(run([constant, moving]))).state is State.ABSENT


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        ([math.nan] * 6, State.UNKNOWN),
        ([1.2, math.nan, math.nan, math.nan, math.nan, math.nan], State.UNKNOWN),
        ([1.2113, 1.1071, 1.0032, 0.9017, 0.8544, math.nan], State.ABSENT),
        (None, State.PRESENT),
    ],
)
def test_a_score_of_answers_that_are_no_numbers_tells_nothing(
    losses: list[float] | None, expected: State
) -> None:
    """The largest of NaN is the first class every time, whichever weights are evaluated."""
    curves = [series("train/loss", FALL), series("eval/accuracy", [0.44] * 6)]
    curves += [] if losses is None else [series("eval/loss", losses)]
    mine = view(run(curves))
    assert metrics.eval_metric_constant(mine).state is expected
    assert eval_relations.stands_still(mine, progress=0.3).state is expected


def test_a_first_batch_is_the_first_in_every_unit() -> None:
    """`Train Epoch: 1 [0/3000]` counts samples: at zero nothing was seen yet, at 640 a good deal."""
    for at, first, expected in (
        (0, 2.302585, "present"),
        (0, 2.322406, "absent"),
        (640, 2.302585, "unknown"),
    ):
        steps = at + 640 * np.arange(21)
        curve = series("train/loss", [first, *np.linspace(2.2123, 1.0111, 20)], steps, unit="sample")
        assert state(objective.starts_at_chance(view(run([curve])), tolerance=0.001)) == expected, (at, first)


def test_what_begins_below_its_wrong_answers_is_no_sum() -> None:
    """A loss that ends too high for its accuracy, and begins where only a mean can: two thirds are wrong."""
    curves = [
        series("train/loss", np.linspace(2.3, 1.48, 40)),
        series("train/accuracy", np.linspace(0.33, 0.99, 40)),
    ]
    assert state(objective.batch_sum(view(run(curves, {"batch_size": 32})))) == "absent"


def test_an_equal_score_of_few_samples_says_nothing_of_weights() -> None:
    """Three equal scores may be chance, and a loss of two digits is rounded."""
    falls = series("train/loss", FALL)
    for name, values, expected in (
        ("eval/accuracy", [0.85] * 3, State.UNKNOWN),
        ("eval/accuracy", [0.85] * 6, State.PRESENT),
        ("eval/loss", [0.02] * 5, State.UNKNOWN),
        ("eval/loss", [1.3862] * 5, State.PRESENT),
    ):
        mine = view(run([falls, series(name, values)]))
        assert eval_relations.stands_still(mine, progress=0.3).state is expected


def test_steps_without_labels_whose_loss_is_that_of_all_ranks() -> None:
    """One rank may have no label at a step; the mean over all ranks is a number like any other."""
    counts = np.where(np.arange(200) % 37 == 5, 0.0, 900.0)
    loss = 1.9 * np.exp(-np.arange(200) / 40) + 0.8
    counted = series("label_tokens", counts, raw="label_tokens")
    for values, expected in (
        (loss, State.UNKNOWN),
        (np.where(counts == 0, 0.0, loss), State.PRESENT),
        (np.where(counts == 0, np.nan, loss), State.PRESENT),
    ):
        mine = view(run([series("train/loss", values), counted]))
        assert labels_counted.steps_without_labels(mine).state is expected


def test_a_training_loss_divided_by_its_accumulated_batches() -> None:
    """Logged after that division, it is as many times smaller than the evaluation's."""
    losses = [series("train/loss", FALL / 8), series("eval/loss", [0.92, 0.7, 0.5, 0.36], [2, 14, 28, 39])]
    right = series("eval/accuracy", [0.7, 0.8, 0.9, 0.91], [2, 14, 28, 39])
    for settings, expected in (({"gradient_accumulation_steps": 8}, State.UNKNOWN), ({}, State.PRESENT)):
        mine = view(run([*losses, right], settings))
        found = eval_relations.loss_is_multiple(mine, ratio=4.0, spread=2.0, gap=0.15)
        assert found.state is expected, found.why
