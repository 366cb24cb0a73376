"""Relations between loss and accuracy that hold whatever the model, each in its three states."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from traindoctor.probes.curves import pace, relations
from traindoctor.probes.registry import Finding, View
from traindoctor.probes.run import Run, Series

from .._build import run, series


def seen(function: Any, made: Run, **params: Any) -> str:
    found = function(View(made), **params)
    assert isinstance(found, Finding)
    return str(found.state)


def flat(name: str, value: float, points: int = 8) -> Series:
    return series(name, [value] * points)


@pytest.mark.parametrize(
    ("loss", "accuracy", "state"),
    [(0.06, 0.6, "present"), (1.2, 0.6, "absent"), (0.03, 0.97, "absent")],
)
def test_a_loss_below_what_the_accuracy_allows(loss: float, accuracy: float, state: str) -> None:
    """(1 - accuracy) ln 2 is the least a mean cross-entropy can be; near the ceiling nothing is claimed."""
    made = run([flat("eval/loss", loss), flat("eval/accuracy", accuracy)])

    assert seen(relations.loss_below_accuracy, made, share=0.6) == state


def test_a_loss_of_nothing_but_nan_says_nothing() -> None:
    """Where no value is a number there is nothing to hold against the bound."""
    made = run([flat("eval/loss", float("nan")), flat("eval/accuracy", 0.6)])

    assert seen(relations.loss_below_accuracy, made, share=0.6) == "unknown"


def test_without_an_accuracy_nothing_is_said() -> None:
    """Loss alone cannot be held against the bound."""
    assert seen(relations.loss_below_accuracy, run([flat("eval/loss", 0.1)]), share=0.6) == "unknown"


@pytest.mark.parametrize(("accuracy", "state"), [(0.1, "present"), (0.6, "absent")])
def test_evaluation_at_chance(accuracy: float, state: str) -> None:
    """Accuracy that never leaves 1/K is at chance."""
    made = run([flat("eval/accuracy", accuracy)], {"num_classes": 10})

    assert seen(relations.eval_at_chance, made, margin=0.02) == state


def test_chance_needs_the_number_of_classes() -> None:
    """Without K, and without a first loss of ln K, chance is not known."""
    assert seen(relations.eval_at_chance, run([flat("eval/accuracy", 0.1)]), margin=0.02) == "unknown"


@pytest.mark.parametrize(
    ("values", "state"),
    [
        ([900.0, 2.3, 2.3, 2.3, 2.3], "present"),
        ([2.3, 1.9, 1.5, 1.2, 1.0], "absent"),
        ([np.nan, 2.0, 2.0, 2.0], "unknown"),
        ([900.0, 2.3], "unknown"),
    ],
)
def test_an_enormous_start(values: list[float], state: str) -> None:
    """The first value dwarfs the rest, or does not, or there are too few numbers to say."""
    made = run([series("train/loss", values)])

    assert seen(relations.starts_enormous, made, ratio=10.0) == state


@pytest.mark.parametrize(("accuracy", "state"), [(0.02, "present"), (0.1, "absent"), (0.9, "absent")])
def test_training_below_chance(accuracy: float, state: str) -> None:
    """Clearly below 1/K on training batches is no guessing: batches are sorted."""
    made = run([flat("train/accuracy", accuracy)], {"num_classes": 10})

    assert seen(relations.train_below_chance, made, share=0.7) == state


def test_below_chance_needs_the_number_of_classes_or_an_evaluation() -> None:
    """Without K nothing is below chance but what lies far below the evaluation, which guesses at least."""
    train, held = flat("train/accuracy", 0.02), flat("eval/accuracy", 0.18)

    assert seen(relations.train_below_chance, run([train]), share=0.7) == "unknown"
    assert seen(relations.train_below_chance, run([train, held]), share=0.7) == "present"
    assert seen(relations.train_below_chance, run([flat("train/accuracy", 0.1), held]), share=0.7) == "absent"


def test_batches_of_two_often_have_no_hit() -> None:
    """With two samples a batch the median of a guess among six is zero."""
    for batch, state in ((2, "unknown"), (64, "present")):
        made = run([flat("train/accuracy", 0.0)], {"num_classes": 6, "global_batch_size": batch})

        assert seen(relations.train_below_chance, made, share=0.7) == state


FALLING = [2.3, 1.8, 1.2, 0.8, 0.4, 0.3, 0.2, 0.2]


@pytest.mark.parametrize(
    ("accuracy", "loss", "settings", "state"),
    [
        ([0.02] * 8, FALLING, {"num_classes": 10}, "present"),
        ([0.17, 0.12, 0.05, 0.02, 0.01, 0.01, 0.01, 0.01], FALLING, {}, "present"),
        ([0.08] * 8, FALLING, {"num_classes": 10}, "absent"),
        ([0.134, 0.12, 0.1, 0.09, 0.092, 0.078, 0.088, 0.084], FALLING, {"num_classes": 6}, "present"),
        ([0.134, 0.12, 0.1, 0.09, 0.09, 0.09, 0.09, 0.09], FALLING, {"num_classes": 6}, "absent"),
        ([0.09, 0.1, 0.1, 0.09, 0.092, 0.078, 0.088, 0.084], FALLING, {"num_classes": 6}, "absent"),
        ([0.02] * 8, [2.3] * 8, {"num_classes": 10}, "absent"),
        ([0.5, 0.7, 0.8, 0.9, 0.9, 0.9, 0.9, 0.9], FALLING, {}, "absent"),
        ([0.02] * 8, [3.3, *FALLING[1:]], {}, "unknown"),
        ([0.02] * 3, FALLING, {"num_classes": 10}, "unknown"),
        ([0.02] * 8, [], {"num_classes": 10}, "unknown"),
    ],
)
def test_evaluation_below_chance(
    accuracy: list[float], loss: list[float], settings: dict[str, int], state: str
) -> None:
    """Less than half of guessing while training works; without K the first evaluation stands for it."""
    curves = [series("eval/accuracy", accuracy)] + ([series("train/loss", loss)] if loss else [])
    made = run(curves, settings)

    assert seen(relations.eval_below_chance, made, share=0.5, progress=0.3) == state


@pytest.mark.parametrize(("part", "state"), [([20.0, 15, 12, 9, 7, 6], "unknown"), (None, "present")])
def test_a_sum_is_held_against_no_accuracy(part: list[float] | None, state: str) -> None:
    """Beside another term (weight decay, a margin) the loss is a sum; one that repeats it changes nothing."""
    total = [300.0, 200, 150, 120, 100, 90]
    curves = [series("train/loss", total), series("train/accuracy", [0.1, 0.3, 0.4, 0.5, 0.5, 0.5])]

    made = run([*curves, series("train/loss/cls", part or total)])

    assert seen(relations.beyond_accuracy, made, ratio=3.0, part=0.1) == state


@pytest.mark.parametrize(
    ("losses", "accuracies", "settings", "state"),
    [
        ([300.0, 200, 150, 120, 100, 90], [0.1, 0.3, 0.4, 0.5, 0.5, 0.5], {}, "present"),
        ([40.0, 30, 20, 10, 5, 3], [0.5] * 6, {"num_classes": 2}, "present"),
        ([2.3, 1.8, 1.2, 0.8, 0.5, 0.4], [0.1, 0.3, 0.5, 0.7, 0.8, 0.8], {}, "absent"),
        ([2.3, 1.8, 1.2, 3.0, 30.0, 90.0], [0.1, 0.3, 0.5, 0.7, 0.8, 0.8], {}, "absent"),
        ([7.5, 7.0, 6.9, 6.8, 6.8, 6.7], [0.001] * 6, {}, "absent"),
        ([300.0, 200, 150, 120, 100, 90], [], {}, "unknown"),
        ([300.0, 200, 150, 120, 100, 90], [0.1] * 6, {"loss_function": "mse_loss"}, "unknown"),
    ],
)
def test_a_loss_beyond_its_accuracy(
    losses: list[float], accuracies: list[float], settings: dict[str, int | str], state: str
) -> None:
    """Wrong answers of absurd confidence before anything is learned; a late rise is another matter."""
    curves = [series("train/loss", losses)] + ([series("train/accuracy", accuracies)] if accuracies else [])

    assert seen(relations.beyond_accuracy, run(curves, settings), ratio=3.0, part=0.1) == state


LEARNING = [2.3, 1.5, 0.9, 0.7, 0.6, 0.5, 0.45, 0.4, 0.4, 0.38]


def leap(values: list[float], **settings: Any) -> str:
    made = run([series("train/loss", values)], {"steps_per_epoch": 4, **settings})
    return seen(relations.leaps, made, ratio=1e6, calm=30.0, points=5)


def test_a_leap_out_of_calm_training() -> None:
    """Many orders of magnitude from one step to the next; a growth over several steps is none."""
    assert leap([*LEARNING, 3e7]) == "present"
    assert leap([*LEARNING, 3.0, 400.0, 5e4, 7e6, 3e9]) == "absent"
    assert leap([*LEARNING, float("nan")]) == "absent"


def test_a_leap_in_the_first_epoch_may_be_a_sample() -> None:
    """Every sample is seen in the first epoch, bad ones too; without epochs that is not known."""
    assert leap([*LEARNING, 3e7], steps_per_epoch=20) == "unknown"
    assert leap([0.5, 0.4]) == "unknown"


def test_an_evaluation_out_of_scale_is_no_start_out_of_scale() -> None:
    """The training loss begins where a guess does: signals are in scale, the evaluation is not."""
    curves = [flat("eval/loss", 400.0), flat("eval/accuracy", 0.2)]
    begun = series("train/loss", [2.3, 1.5, 0.9, 0.7, 0.6])

    assert seen(relations.beyond_accuracy, run(curves), ratio=3.0, part=0.1) == "present"
    assert seen(relations.beyond_accuracy, run([*curves, begun]), ratio=3.0, part=0.1) == "absent"


def test_a_training_loss_that_leaves_the_scale_does_not_excuse_the_evaluation() -> None:
    """A learning rate of 8 begins at ln K like any other and is far out of scale by the first evaluation."""
    left = series("train/loss", [2.0, 20.0, 40.0, 50.0, 45.0, 60.0])
    curves = [series("eval/loss", [46.0, 60.0, 62.0]), flat("eval/accuracy", 0.45, 3)]

    assert seen(relations.beyond_accuracy, run([*curves, left]), ratio=3.0, part=0.1) == "present"


def test_one_evaluation_out_of_scale_is_no_beginning() -> None:
    """A model whose first evaluation is in order did not begin out of scale."""
    made = run([series("eval/loss", [0.5, 1e28, 2.1, 2.1]), flat("eval/accuracy", 0.5, 4)])

    assert seen(relations.beyond_accuracy, made, ratio=3.0, part=0.1) == "absent"


@pytest.mark.parametrize("raw", ["exact match", "EM", "sentence_acc"])
def test_nobody_guesses_a_whole_answer(raw: str) -> None:
    """Not one translation that is right to the last word is no numbering of classes."""
    made = run(
        [series("train/loss", FALLING), series("eval/accuracy", [0.02] * 8, raw=raw)], {"num_classes": 10}
    )

    assert seen(relations.eval_below_chance, made, share=0.5, progress=0.3) == "unknown"
    assert seen(relations.eval_at_chance, made, margin=0.02) == "unknown"


def test_answers_of_a_model_of_nan_say_nothing() -> None:
    """A run that ends as NaN answers one class, which may lie below guessing."""
    falls = series("train/loss", [2.3, 1.5, 0.9, 0.5, float("nan")])
    made = run([falls, series("eval/accuracy", [0.5, 0.01, 0.01, 0.01])])

    assert seen(relations.eval_below_chance, made, share=0.5, progress=0.3) == "unknown"


@pytest.mark.parametrize(
    ("losses", "state"),
    [
        ([900.0, 800.0, 600.0, 500.0, 450.0, 400.0, 390.0, 380.0], "present"),
        ([900.0, 800.0, 20.0, 3.0, 2.3, 2.3, 2.3, 2.3], "absent"),
        ([73.0, 73.0, 73.0, 72.0, 72.0, 72.0, 72.0, 71.0], "absent"),
        ([2.3, 2.2, 2.0, 1.9, 1.7, 1.6, 1.5, 1.5], "absent"),
    ],
)
def test_a_loss_out_of_scale_to_the_end(losses: list[float], state: str) -> None:
    """It comes down slowly and is enormous still; one that is back soon, or stands still, is none."""
    made = run([series("train/loss", losses), flat("train/accuracy", 0.4)])

    assert seen(relations.stays_beyond_accuracy, made, ratio=3.0, part=0.1) == state


def test_a_loss_out_of_scale_needs_its_accuracy() -> None:
    """A loss alone has no bound."""
    made = run([flat("train/loss", 900.0)])

    assert seen(relations.stays_beyond_accuracy, made, ratio=3.0, part=0.1) == "unknown"


@pytest.mark.parametrize(
    ("held", "trained", "state"),
    [
        ((0.06, 0.6), (0.1, 0.97), "present"),
        ((0.06, 0.6), (0.06, 0.6), "absent"),
        ((1.2, 0.6), (0.1, 0.97), "absent"),
    ],
)
def test_an_accuracy_counted_wrongly_in_evaluation_alone(
    held: tuple[float, float], trained: tuple[float, float], state: str
) -> None:
    """Where training breaks the bound, too, the loss is no cross-entropy and nothing is said of accuracy."""
    curves = [flat("eval/loss", held[0]), flat("eval/accuracy", held[1])]
    curves += [flat("train/loss", trained[0]), flat("train/accuracy", trained[1])]

    assert seen(relations.eval_below_accuracy, run(curves), share=0.6) == state


def test_the_bound_of_both_needs_values_of_both() -> None:
    """Two points of an accuracy are too few."""
    curves = [flat("eval/loss", 0.06), flat("eval/accuracy", 0.6, 2)]
    curves += [flat("train/loss", 0.1), flat("train/accuracy", 0.97)]

    assert seen(relations.eval_below_accuracy, run(curves), share=0.6) == "unknown"


UNSURE = {"ratio": 1.15}
ALIKE, HARDER = {"least": 0.9, "most": 1.12}, {"least": 1.12, "most": 1000.0}


def ending(
    train: float, held: float, accuracy: float, start: float = 2.3026, best: float | None = None
) -> list[Series]:
    """A run over ten classes that comes down to these levels."""
    course = np.concatenate([np.linspace(1, 0, 6), np.zeros(4)])
    values = held + (start - held) * course
    if best is not None:
        values[4] = best
    return [
        series("train/loss", train + (start - train) * course),
        series("eval/loss", values),
        series("eval/accuracy", accuracy + (0.1 - accuracy) * course),
    ]


@pytest.mark.parametrize(
    ("curves", "settings", "alike", "harder"),
    [
        (ending(1.6, 1.58, 0.9), {}, "present", "absent"),  # a softmax into a cross-entropy
        (ending(1.6, 1.58, 0.9), {"num_classes": 10}, "present", "absent"),
        (
            ending(1.1, 1.08, 0.7, start=1.609),
            {"num_classes": 5},
            "absent",
            "absent",
        ),  # a hard task, well known
        (ending(1.64, 0.93, 0.88), {}, "absent", "present"),  # labels at random in training alone
        (
            ending(2.0, 1.75, 0.72),
            {},
            "absent",
            "present",
        ),  # three quarters of the units left out in training
        (ending(0.2, 0.3, 0.92), {}, "absent", "absent"),
        (ending(0.01, 0.8, 0.9), {}, "absent", "absent"),  # learned by heart: too sure
        (ending(1.6, 1.58, 0.9, best=0.6), {}, "absent", "absent"),  # was better before: diverged
        (ending(2.28, 2.25, 0.6), {}, "unknown", "absent"),  # accuracy runs ahead of the loss at first
        (ending(-0.4, -0.5, 0.6), {}, "unknown", "unknown"),  # probabilities in a likelihood: below zero
        (ending(1.6, 1.58, 0.9), {"label_smoothing": 0.1}, "unknown", "unknown"),
        (ending(0.02, 0.01, 1.0), {}, "absent", "absent"),  # perfect answers
        (ending(0.21, 0.204, 0.9999), {}, "absent", "absent"),  # a second softmax loses 0.31 or more
    ],
)
def test_right_answers_that_are_held_for_guesses(
    curves: list[Series], settings: dict[str, Any], alike: str, harder: str
) -> None:
    """More is lost than an accuracy explains, with or without a training that is harder than evaluation."""
    made = run(curves, settings)
    judge = relations.unsure_of_right_answers

    for params, expected in ((ALIKE, alike), (HARDER, harder)):
        assert seen(judge, made, **UNSURE, **params) == expected, params


def test_the_mean_of_an_epoch_may_be_of_more_classes() -> None:
    """Where the first loss is the mean of an epoch, twice as much is taken for that of a guess."""
    low = [
        s if s.name != "train/loss" else series("train/loss", s.values, window="epoch-mean")
        for s in ending(0.86, 0.86, 0.89, start=1.1)
    ]
    lower = [
        s if s.name != "train/loss" else series("train/loss", s.values, window="epoch-mean")
        for s in ending(0.5, 0.5, 0.89, start=1.1)
    ]

    assert seen(relations.unsure_of_right_answers, run(low), **UNSURE, **ALIKE) == "present"
    assert seen(relations.unsure_of_right_answers, run(lower), **UNSURE, **ALIKE) == "absent"


STOOD = [0.69, 0.6801, 0.6795, 0.6798, 0.6795, 0.6797, 0.6796, 0.6795, 0.6798, 0.6796]
OFFSETS = [0.7100, *([0.6812, 0.6805, 0.6821] * 5)]


@pytest.mark.parametrize(
    ("trained", "held", "state"),
    [
        (OFFSETS, STOOD, "present"),
        # it goes on learning, in training or in evaluation; it is much better than at first
        ([0.71 - 0.01 * k for k in range(16)], STOOD, "absent"),
        (OFFSETS, [0.69 - 0.003 * k for k in range(10)], "absent"),
        (OFFSETS, [0.69, *(0.681 - 0.0002 * k for k in range(9))], "absent"),
        ([2.5, *OFFSETS[1:]], STOOD, "absent"),
        # flat from the start, or the same to its last digit, is told otherwise
        ([0.6812, 0.6805, 0.6821, 0.6811] * 4, STOOD, "unknown"),
        (OFFSETS, [0.68] * 10, "unknown"),
        # too coarse, too few
        (OFFSETS, [0.69, *([0.68] * 5), 0.69, 0.68, 0.68, 0.68], "unknown"),
        (OFFSETS, STOOD[:4], "unknown"),
        ([-v for v in OFFSETS], STOOD, "unknown"),
    ],
)
def test_offsets_of_the_output_are_all_that_is_learned(
    trained: list[float], held: list[float], state: str
) -> None:
    steps = np.linspace(16 / len(held), 16, len(held))
    made = run([series("train/loss", trained), series("eval/loss", held, steps)])

    assert seen(pace.eval_stands_still, made) == state


def test_a_rate_that_is_spent_leaves_evaluation_standing() -> None:
    """Where the rate is gone after the first quarter, that is why nothing moves."""
    gone = series("learning_rate", [1e-3] * 4 + [1e-6] * 12)
    held = series("eval/loss", STOOD, np.linspace(1.6, 16, 10))

    assert seen(pace.eval_stands_still, run([series("train/loss", OFFSETS), held, gone])) == "absent"


@pytest.mark.parametrize("other", ["eval/text_similarity", "eval/wer", "eval/bleu"])
def test_answers_of_many_parts_bound_no_loss(other: str) -> None:
    """A loss over the letters of a word may be a sum: an accuracy of whole words says nothing of its size."""
    curves = [
        series("train/loss", np.linspace(30, 25, 20)),
        series("train/accuracy", np.linspace(0.1, 0.2, 20)),
    ]

    assert seen(relations.beyond_accuracy, run(curves), ratio=3.0, part=0.1) == "present"
    assert seen(relations.beyond_accuracy, run([*curves, flat(other, 0.5)]), ratio=3.0, part=0.1) == "unknown"


def test_a_loss_that_is_a_sum_throughout_did_not_begin_out_of_scale() -> None:
    """As many times above its bound in the end as in the beginning, while the model learns."""
    curves = [
        series("train/loss", np.linspace(28, 10, 20)),
        series("train/accuracy", np.linspace(0.16, 0.76, 20)),
    ]

    assert seen(relations.beyond_accuracy, run(curves), ratio=3.0, part=0.1) == "unknown"


def test_a_loss_of_absurd_size_for_each_error_is_a_sum() -> None:
    """43 nats beside three errors in a thousand: summed over the batch. A NaN pairs with no accuracy."""
    curves = [
        series("train/loss", [85.7, 43.0, 0.95, np.nan, np.nan]),
        series("train/accuracy", [0.996, 0.998, 1.0, 0.1, 0.1]),
    ]

    assert seen(relations.beyond_accuracy, run(curves), ratio=3.0, part=0.1) == "unknown"
    assert seen(relations.stays_beyond_accuracy, run(curves), ratio=3.0, part=0.1) == "unknown"


def test_an_accuracy_of_zero_is_none() -> None:
    """A regression watched with an accuracy: no number is hit exactly, and the loss is no cross-entropy."""
    loss = series("train/loss", [0.158, 0.064, 0.061, 0.036, 0.03])

    def below(accuracy: float) -> str:
        return seen(
            relations.loss_below_accuracy, run([loss, flat("train/accuracy", accuracy, 5)]), share=0.6
        )

    assert below(0.0056) == "unknown"
    assert below(0.4) == "present"
