"""Values that are no numbers, loss scales and skipped steps: what is benign, what is not."""

from __future__ import annotations

import math

import numpy as np
import pytest

from traindoctor.engine.model import State
from traindoctor.probes.curves import scaler
from traindoctor.probes.run import Event, Run

from .. import _zoo as zoo
from .._build import run, series

PRESENT, ABSENT, UNKNOWN = State.PRESENT, State.ABSENT, State.UNKNOWN
NAN = math.nan


def losses(*values: float, **rest: object) -> Run:
    return run([series("train/loss", values, **rest)])


@pytest.mark.parametrize(
    ("values", "start", "sudden", "growth", "transient"),
    [
        ([NAN] * 6, PRESENT, ABSENT, ABSENT, ABSENT),
        ([2.3, 2.2, 2.1, 2.2, 2.1, 2.0, NAN, NAN], ABSENT, PRESENT, ABSENT, ABSENT),
        ([2.3, 2.2, 2.1, 5.0, 40.0, 900.0, NAN], ABSENT, ABSENT, PRESENT, ABSENT),
        ([2.3, 2.3, 2.2, 2.9, 3.0, 3.4, NAN, NAN], ABSENT, UNKNOWN, ABSENT, ABSENT),
        ([2.3, 70.0, NAN, NAN], ABSENT, UNKNOWN, PRESENT, ABSENT),
        ([85.7, 43.0, 0.9, NAN, NAN], ABSENT, UNKNOWN, ABSENT, ABSENT),
        ([2.3, NAN, NAN], ABSENT, UNKNOWN, UNKNOWN, ABSENT),
        ([2.3, 2.2, 2.1, 2.2, 2.1, 2.0, NAN, 2.1, 2.0, 1.9, 1.9, 1.8], ABSENT, PRESENT, ABSENT, PRESENT),
        ([2.3, 2.2, 2.1, 2.0, 1.9, 1.8], ABSENT, ABSENT, ABSENT, ABSENT),
    ],
)
def test_ways_of_becoming_nan(
    values: list[float], start: State, sudden: State, growth: State, transient: State
) -> None:
    """A NaN at the start, out of calm, after growth and for a moment are told apart."""
    found = zoo.read(losses(*values))

    assert found["loss-not-finite"].state is (PRESENT if NAN in values or np.isnan(values).any() else ABSENT)
    assert found["loss-not-finite-at-start"].state is start
    assert found["loss-not-finite-sudden"].state is sudden
    assert found["loss-not-finite-after-growth"].state is growth
    assert found["loss-not-finite-transient"].state is transient


def test_the_first_bad_step_is_placed() -> None:
    """The finding holds step, file and line of the first value that is no number."""
    found = zoo.read(losses(2.0, 1.9, math.inf, NAN), "loss-not-finite")["loss-not-finite"]

    assert (found.step, found.where[0].file, found.where[0].line) == (3.0, "log.txt", 3)
    assert "infinite" in found.why


def test_a_masked_nan_counts_as_nan() -> None:
    """A NaN that the file hides as 0.0 is a NaN, and is said to be hidden."""
    masked = np.array([False, False, False, True, True, True])
    made = losses(2.0, 1.9, 1.8, NAN, NAN, NAN, masked=masked)
    found = zoo.read(made, "loss-not-finite", "loss-masked-nan", "loss-zero")

    assert found["loss-masked-nan"].state is PRESENT
    assert found["loss-not-finite"].state is PRESENT
    assert "written as 0.0" in found["loss-not-finite"].why
    assert found["loss-zero"].state is ABSENT


def test_rows_that_stand_for_many_steps_leave_the_first_step_open() -> None:
    """Means of epochs, and logs that begin late, do not show how the NaN began."""
    epochs = zoo.read(losses(NAN, NAN, NAN, NAN, unit="epoch", window="epoch-mean"))
    late = zoo.read(losses(NAN, NAN, NAN, NAN, steps=[50, 100, 150, 200]))

    assert epochs["loss-not-finite"].state is late["loss-not-finite"].state is PRESENT
    assert epochs["loss-not-finite-at-start"].state is UNKNOWN
    assert late["loss-not-finite-at-start"].state is PRESENT
    for found in (epochs, late):
        assert found["loss-not-finite-sudden"].state is UNKNOWN
        assert found["loss-not-finite-after-growth"].state is UNKNOWN


def test_a_mean_that_leaves_nan_out_does_not_put_the_gradient_first() -> None:
    """The Trainer's mean of the row in which the NaN began is a number; the gradient norm is none."""
    masked = np.array([False, True, True, True, True])
    made = run(
        [
            series("train/loss", [1.9, NAN, NAN, NAN, NAN], steps=[5, 10, 15, 20, 25], masked=masked),
            series("grad_norm", [NAN] * 5, steps=[5, 10, 15, 20, 25]),
        ]
    )
    found = zoo.read(made, "grad-not-finite-before-loss", "loss-not-finite-at-start")

    assert found["grad-not-finite-before-loss"].state is UNKNOWN
    assert found["loss-not-finite-at-start"].state is PRESENT


@pytest.mark.parametrize(("precision", "expected"), [("bf16", PRESENT), ("fp16", UNKNOWN)])
def test_a_nan_from_the_first_step_on_is_no_overflow(precision: str, expected: State) -> None:
    """In fp16 the forward pass may overflow at once; once a loss was a number, it is something else."""
    name, norms = "loss-masked-from-first-step", series("grad_norm", [NAN] * 6)
    dead, late = series("train/loss", [0.0] * 6), series("train/loss", [1.9, *[0.0] * 5])

    assert zoo.state(run([dead, norms], {"precision": precision}), name) is expected
    assert zoo.state(run([late, norms], {"precision": precision}), name) is State.ABSENT


def test_what_the_framework_says_counts() -> None:
    """A line that says NaN makes the loss NaN at that step even where no value was logged."""
    said = Event("non-finite-loss", "train.log", 12, 7.0, text="loss is NAN or INF")
    found = zoo.read(run([series("train/loss", [2.3, 2.2, 2.1, 2.2, 2.1, 2.0])], events=[said]))

    assert found["loss-not-finite"].state is PRESENT
    assert found["loss-not-finite"].step == 7.0
    assert found["loss-not-finite"].where[0].line == 12
    assert found["framework-stopped-on-nan"].state is PRESENT
    assert zoo.state(run(events=[said]), "loss-not-finite") is PRESENT


def test_logs_must_have_been_read_for_silence_to_count() -> None:
    """Without any output of the program its silence means nothing."""
    quiet = run([series("train/loss", [2.0, 1.0])])
    heard = run([series("train/loss", [2.0, 1.0])], events=[Event("eval", "log.txt", 1, 1.0)])

    for symptom in ("framework-stopped-on-nan", "numeric-warning", "overflow-ignored"):
        assert zoo.state(quiet, symptom) is UNKNOWN
        assert zoo.state(heard, symptom) is ABSENT


def test_overflow_while_the_scale_is_found_is_benign() -> None:
    """Losses and norms that are infinite in the first, skipped steps are no fault."""
    n = 120
    over = (np.arange(n) < 6).astype(float)
    scale = np.where(np.arange(n) < 6, 2.0 ** (24 - np.arange(n)), 2.0**18)
    made = run(
        [
            series("train/loss", np.where(over > 0, np.inf, zoo.decay(n))),
            series("grad_norm", np.where(over > 0, np.inf, 1.0)),
            series("overflow", over),
            series("loss_scale", scale),
        ]
    )
    benign = ("loss-not-finite", "grad-norm-not-finite", "steps-skipped-often", "loss-scale-collapses")

    assert {zoo.state(made, s) for s in benign} == {ABSENT}


@pytest.mark.parametrize("first", [7, 16, 24, 32])
def test_a_log_that_ends_in_calibration_is_not_judged(first: int) -> None:
    """A few halvings and then no more log: unknown, not a collapse."""
    values = 2.0 ** (first - np.arange(5.0))
    found = zoo.read(run([series("loss_scale", values)]), "loss-scale-collapses")["loss-scale-collapses"]

    assert found.state is (UNKNOWN if first > 7 else found.state)
    assert found.state is not PRESENT


@pytest.mark.parametrize("halvings", [1, 2, 3, 4, 8])
def test_a_collapse_needs_four_halvings(halvings: int) -> None:
    """Fewer than four net halvings after the level was found are no collapse, more are."""
    down = 2.0 ** (16 - np.arange(halvings + 1.0))
    values = np.concatenate([np.full(30, 2.0**16), down, np.full(30, down[-1])])
    expected = PRESENT if halvings >= 4 else ABSENT

    assert zoo.state(run([series("loss_scale", values)]), "loss-scale-collapses") is expected


def test_slow_drift_is_no_collapse() -> None:
    """A scale that is halved once in thousands of steps follows the gradients."""
    values = np.repeat(2.0 ** np.array([18.0, 17, 16, 15, 14, 13]), 100)

    assert zoo.state(run([series("loss_scale", values)]), "loss-scale-collapses") is ABSENT


def test_the_floor_must_have_been_fallen_to() -> None:
    """A scale of one all the time is a scaler switched off; the configured minimum is the floor."""
    off = run([series("loss_scale", np.ones(50))])
    fell = run(
        [series("loss_scale", np.concatenate([np.full(20, 64.0), np.full(30, 8.0)]))], {"min_loss_scale": 8.0}
    )

    assert zoo.state(off, "loss-scale-at-floor") is ABSENT
    assert zoo.state(fell, "loss-scale-at-floor") is PRESENT
    assert zoo.state(run(), "loss-scale-at-floor") is UNKNOWN


@pytest.mark.parametrize(("late", "expected"), [(8.0, ABSENT), (2.0**-10, PRESENT)])
def test_a_scale_that_begins_at_one(late: float, expected: State) -> None:
    """The scaler of icefall begins at 1 and climbs; below it lies what falls from there for good."""
    scales = np.concatenate([np.tile([1.0, 0.5], 10), np.full(20, min(2.0, late)), np.full(40, late)])
    made = run([series("loss_scale", scales)])

    assert zoo.state(made, "loss-scale-below-one") is expected
    assert zoo.state(made, "loss-scale-at-floor") is ABSENT


def test_the_log_can_say_that_the_floor_is_reached() -> None:
    """DeepSpeed's and fairseq's line about the minimum is enough."""
    said = Event("scale-at-minimum", "log.txt", 40, 100.0, text="Current loss scale already at minimum")

    assert zoo.state(run(events=[said]), "loss-scale-at-floor") is PRESENT


def test_megatron_starts_at_the_limit() -> None:
    """A scale that begins at 2^32 has not run away."""
    assert zoo.state(run([series("loss_scale", np.full(9, 2.0**32))]), "loss-scale-runs-away") is ABSENT
    assert (
        zoo.state(run([series("loss_scale", [2.0**16, 2.0**40, math.inf])]), "loss-scale-runs-away")
        is PRESENT
    )


def test_skips_are_counted_wherever_they_are_told() -> None:
    """The same overflows are found in a flag, a count, a running total, events and the scale itself."""
    n, bad = 100, np.arange(60, 100, 3)
    flags = np.isin(np.arange(n), bad).astype(float)
    scale = np.full(n, 65536.0) * 0.5 ** np.cumsum(flags)
    loss = series("train/loss", zoo.decay(n))
    told = [Event("overflow", "log.txt", int(b) + 1, float(b) + 1, 1024.0) for b in bad]
    runs = [
        run([loss, series("overflow", flags)]),
        run([loss, series("skipped", flags)], facts={"framework": "megatron-lm"}),
        run([loss, series("skipped", np.cumsum(flags))]),
        run([loss], events=told),
        run([loss, series("loss_scale", scale)]),
    ]

    for made in runs:
        found = scaler.skips(made)
        assert found is not None
        assert found.steps.tolist() == (bad + 1.0).tolist()
        assert zoo.state(made, "steps-skipped-often") is PRESENT


def test_every_step_overflows_from_a_point_on() -> None:
    """Eight overflows in a row at the end are present; seven, or eight in the middle, are not."""
    flags = np.zeros(100)
    end, middle, few = flags.copy(), flags.copy(), flags.copy()
    end[-8:], middle[40:60], few[-7:] = 1, 1, 1

    assert zoo.state(run([series("overflow", end)]), "every-step-overflows") is PRESENT
    assert zoo.state(run([series("overflow", middle)]), "every-step-overflows") is ABSENT
    assert zoo.state(run([series("overflow", few)]), "every-step-overflows") is ABSENT
    assert zoo.state(run([series("overflow", np.ones(20))]), "every-step-overflows") is UNKNOWN


def test_a_norm_without_number_now_and_then_is_benign() -> None:
    """Skipped rows (the learning rate stands still) are benign, a norm that stays NaN is not."""
    made = zoo.skipped_rows(np.random.default_rng(0), 200)
    norms = made.series["grad_norm"].values.copy()
    norms[150:] = np.nan
    dead = run([made.series["train/loss"], series("grad_norm", norms, zoo.steps(200))])

    assert zoo.state(made, "grad-norm-not-finite") is ABSENT
    assert zoo.state(dead, "grad-norm-not-finite") is PRESENT
    assert zoo.state(dead, "grad-not-finite-before-loss") is PRESENT


def test_a_column_left_out_needs_a_dead_norm() -> None:
    """Megatron leaves the loss out of rows of NaN; rows that were merely skipped are not that."""
    at = np.arange(1.0, 41.0)
    half = series("train/loss", zoo.decay(20), at[:20], absent=at[20:])
    norms = np.where(at > 20, np.nan, 1.0)
    dead = run([half, series("grad_norm", norms)])
    skipped = run([half, series("grad_norm", norms), series("overflow", (at > 20).astype(float))])
    silent = run([half, series("grad_norm", np.ones(40))])

    assert zoo.state(dead, "loss-not-finite") is PRESENT
    assert zoo.state(skipped, "loss-not-finite") is ABSENT
    assert zoo.state(silent, "loss-not-finite") is ABSENT


def test_an_undefined_metric_is_not_nan_training() -> None:
    """AUC of one class is undefined; the training is not."""
    made = run([series("train/loss", zoo.decay(30)), series("eval/auc", [NAN, NAN, 0.7, 0.8])])
    found = zoo.read(made)

    assert found["metric-undefined"].state is PRESENT
    assert found["loss-not-finite"].state is ABSENT
    assert found["eval-loss-not-finite"].state is UNKNOWN


def test_terms_that_break_together_name_none() -> None:
    """Only a term that breaks before or without the others is named."""
    good, bad = zoo.decay(20), np.append(zoo.decay(10), np.full(10, NAN))
    alone = run([series("train/loss/a", good), series("train/loss/b", bad), series("train/loss/c", good)])
    both = run([series("train/loss/a", bad), series("train/loss/b", bad)])

    assert zoo.state(alone, "one-loss-term-not-finite") is PRESENT
    assert zoo.state(both, "one-loss-term-not-finite") is ABSENT
    assert zoo.state(losses(1.0, 2.0), "one-loss-term-not-finite") is UNKNOWN


def test_a_small_zero_is_not_zero() -> None:
    """Zeros of a loss that is printed to four decimals are small values."""
    printed = np.round(2.3 * 10.0 ** (-6 * np.arange(100) / 100), 4)
    found = zoo.read(run([series("train/loss", printed)]), "loss-zero", "train-loss-near-zero")

    assert found["loss-zero"].state is ABSENT
    assert found["train-loss-near-zero"].state is PRESENT


def test_a_curve_that_passes_a_clamp_does_not_stand_there() -> None:
    """Only a loss that stays at the logarithm of a clamp is saturated."""
    passing = np.linspace(30, 5, 200)
    stuck = np.append(passing[:100], np.full(100, 18.4207))

    assert zoo.state(run([series("train/loss", passing)]), "loss-at-log-clamp") is ABSENT
    assert zoo.state(run([series("train/loss", stuck)]), "loss-at-log-clamp") is PRESENT


def test_a_long_way_down_is_no_calibration() -> None:
    """A scale that takes 230 of 280 steps to its level skips too many; one that halves ten times does not."""
    steps = np.arange(1.0, 281.0)
    slow = np.where(steps < 230, 4.0e9 * 0.95**steps, 4.0e9 * 0.95**230)
    quick = np.maximum(65536.0 * 0.5**steps, 64.0)
    loss = series("train/loss", zoo.decay(280))

    assert zoo.state(run([loss, series("loss_scale", slow)]), "steps-skipped-often") is PRESENT
    assert zoo.state(run([loss, series("loss_scale", quick)]), "steps-skipped-often") is ABSENT


@pytest.mark.parametrize(("good", "state"), [(2, PRESENT), (40, ABSENT)])
def test_doublings_that_are_tried_all_the_time(good: int, state: State) -> None:
    """After every second good step a scale is doubled in vain: a third of the steps is lost."""
    scales, level = [], 2.0**16
    while len(scales) < 300:
        scales += [level] * good + [2 * level]
    loss = series("train/loss", zoo.decay(300))

    assert (
        zoo.state(run([loss, series("loss_scale", np.array(scales[:300]))]), "steps-skipped-often") is state
    )


def test_a_term_that_bursts_where_another_is_nan_is_growth() -> None:
    """Boxes that are NaN beside a term of 13,795 are outputs that ran away; a usual term tells nothing."""

    def made(last: float) -> Run:
        total = series("train/loss", [2.7, 2.72, 2.77, 2.8, NAN])
        return run(
            [
                total,
                series("train/loss/cls", [1.2, 1.4, 1.5, 1.5, last]),
                series("train/loss/bbox", [0.8, 0.6, 0.6, 0.6, NAN]),
            ]
        )

    burst, calm = zoo.read(made(13794.6)), zoo.read(made(1.6))

    assert burst["loss-not-finite-after-growth"].state is PRESENT
    assert "train/loss/cls is 1.379e+04" in burst["loss-not-finite-after-growth"].why
    assert burst["loss-not-finite-sudden"].state is ABSENT
    assert calm["loss-not-finite-after-growth"].state is ABSENT


@pytest.mark.parametrize(
    ("values", "right", "expected"),
    [
        ([85.7, 43.0, 0.9, NAN, NAN], [0.99, 0.998, 1.0, 0.1, 0.1], PRESENT),
        ([2.3, 1.9, 1.7, NAN, NAN], [0.1, 0.3, 0.4, 0.1, 0.1], ABSENT),
        ([0.9, 0.2, 0.4, NAN, NAN], [0.7, 0.97, 1.0, 0.1, 0.1], UNKNOWN),
        ([0.9, 0.2, 0.1, NAN, NAN], [0.7, 0.9, 0.95, 0.1, 0.1], UNKNOWN),
        ([0.9, 0.2, 0.1, NAN, NAN], [], UNKNOWN),
        ([0.9, 0.2, 0.1, 0.05, 0.04], [0.7, 0.9, 0.95, 0.99, 1.0], ABSENT),
    ],
)
def test_a_nan_once_the_model_is_sure(values: list[float], right: list[float], expected: State) -> None:
    """A logarithm without a floor fails when the last answer is right and the loss at its lowest."""
    curves = [series("train/loss", values)] + ([series("train/accuracy", right)] if right else [])
    found = zoo.read(run(curves), "loss-not-finite-once-sure")["loss-not-finite-once-sure"]

    assert found.state is expected
