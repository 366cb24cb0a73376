"""Relations that must hold between quantities of one run, whatever the model."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from ...engine.model import Place, State
from ..registry import Finding, View, absent, place, present, probe, unknown
from ..run import Floats, Run, Series
from . import fitted, situation, stats
from .epochs import steps_per_epoch
from .judging import is_mean_of_epochs
from .no_number import broken
from .shapes import shape

NO_CLASSES = 0.01  # an accuracy that never gets above it: equal numbers are counted, of a regression

# counted right only as a whole: a text, all words of a sentence
_WHOLE = re.compile(r"(?i)exact|(?<![a-z])em(?![a-z])|sentence|sequence|seq_?acc|whole")


@probe("train/loss|eval/loss")
def loss_below_accuracy(view: View, *, share: float) -> Finding:
    """The loss is smaller than any cross-entropy with this accuracy can be.

    A wrongly classified sample gives its true class a probability of at most one half, so the mean
    cross-entropy is at least (1 - accuracy) ln 2. A loss below `share` of that bound is not one.
    """
    seen = None
    for split in ("eval", "train"):
        loss = view.run.series.get(f"{split}/loss")
        accuracy = view.run.series.get(f"{split}/accuracy")
        if loss is None or accuracy is None or min(_numbers(loss), _numbers(accuracy)) < 3:
            continue
        if float(np.nanmax(accuracy.values)) <= NO_CLASSES:
            return unknown(f"{accuracy.name} never leaves zero: nothing here is counted by classes")
        wrong = 1.0 - situation.reached(accuracy)
        bound = wrong * situation.chance_loss(view.run, 2)
        level = situation.reached(loss)
        words = (
            f"{loss.name} ends at {level:.4g}; with {accuracy.name} at {1 - wrong:.3g}"
            f" a mean cross-entropy is at least {bound:.4g}"
        )
        if not math.isfinite(level) or wrong < 0.1:
            seen = seen or words
        elif 0 <= level < share * bound:
            names = (loss.name, accuracy.name)
            where = (place(loss, len(loss) - 1),)
            return present(words, value=level, threshold=share * bound, where=where, series=names)
        else:
            seen = words
    return absent(seen) if seen else unknown("no loss and accuracy of the same data were logged")


@probe("eval/loss", "eval/accuracy", "train/loss", "train/accuracy")
def eval_below_accuracy(view: View, *, share: float) -> Finding:
    """Only on evaluation data is the loss smaller than its accuracy allows; see `loss_below_accuracy`.

    The loss is a cross-entropy, as training shows: so it is the accuracy that is counted wrongly.
    """
    bounds = {}
    for split in ("eval", "train"):
        loss, accuracy = view.run.series[f"{split}/loss"], view.run.series[f"{split}/accuracy"]
        if min(_numbers(loss), _numbers(accuracy)) < 3:
            return unknown(f"fewer than 3 values of {split}/loss or {split}/accuracy")
        wrong = 1.0 - situation.reached(accuracy)
        bounds[split] = (situation.reached(loss), wrong * situation.chance_loss(view.run, 2))
    (held, least), (trained, floor) = bounds["eval"], bounds["train"]
    if situation.scored_on_nothing(view.run):
        return unknown("eval/loss is always 0: nothing was evaluated")
    words = (
        f"eval/loss ends at {held:.4g}, its accuracy allows {least:.4g} at least;"
        f" in training {trained:.4g} and {floor:.4g}"
    )
    curves = ("eval/loss", "eval/accuracy")
    rest: dict[str, Any] = {"value": held, "threshold": share * least, "series": curves}
    if least >= 0.1 * math.log(2) and 0 <= held < share * least:
        if trained < share * floor:
            return absent(f"{words}: the same", **rest)
        return present(words, where=_last(view.run.series["eval/accuracy"]), **rest)
    return absent(words, **rest)


UNHEARD_OF = 5000.0  # nats for each wrong answer: logits of this size end at the limits of a number format


@probe("train/loss|eval/loss")
def beyond_accuracy(view: View, *, ratio: float, part: float, classes: int = 1000) -> Finding:
    """From the first points on the loss is far larger than its accuracy explains.

    A model that knows how often it is right loses H(a) + (1 - a) ln(K - 1) nats at an accuracy a (Fano), with
    K unknown at most that of `classes`. The smallest of the first `part` of the points (at least two) counts;
    present from `ratio` times the bound on, where the accuracy of the same data was logged beside the loss.
    """
    run, seen = view.run, None
    pairs = _loss_and_accuracy(run)
    if isinstance(pairs, str):
        return unknown(pairs)
    for split, loss, values, right in pairs:
        first = float(np.min(values[: _size(values, part)]))
        share = float(np.median(right[: _size(right, part)]))
        bound = _fano(run, share, classes)
        words = (
            f"{loss.name} begins at {first:.4g} with {split}/accuracy at {share:.3g};"
            f" a guess with that accuracy loses {bound:.3g} at most"
        )
        if first > ratio * bound and split == "eval" and _starts_below(run, ratio * bound):
            seen = f"{words}, but the training loss begins lower: only the evaluation is out of scale"
            continue
        if first > ratio * bound and first > UNHEARD_OF * (1.0 - share):
            return unknown(f"{words}; no wrong answer costs {UNHEARD_OF:g}: the loss is a sum over samples")
        if first > ratio * bound and _as_far_in_the_end(run, values, right, first / bound, part, classes):
            return unknown(f"{words}, and ends as many times above what its accuracy explains: a sum")
        if first > ratio * bound:
            names = (loss.name, f"{split}/accuracy")
            return present(words, value=first, threshold=ratio * bound, where=(place(loss, 0),), series=names)
        seen = seen or words
    return absent(seen) if seen else unknown("no loss and accuracy of the same data were logged")


def _size(values: Floats, part: float) -> int:
    """How many points a part of a curve holds, two at least."""
    return max(2, round(part * len(values)))


def _as_far_in_the_end(
    run: Run, values: Floats, right: Floats, times: float, part: float, classes: int
) -> bool:
    """Whether a loss that learns is so many times above what its accuracy explains throughout."""
    level, share = (float(np.median(v[-_size(v, part) :])) for v in (values, right))
    learned = share > float(np.median(right[: _size(right, part)])) + LEARNED
    return learned and level > SCALED * times * _fano(run, share, classes)


@probe("train/loss|eval/loss")
def stays_beyond_accuracy(view: View, *, ratio: float, part: float, classes: int = 1000) -> Finding:
    """The loss begins far above what its accuracy explains and is so still at the end; see `beyond_accuracy`.

    Outputs out of scale because of large weights come down no faster than the weights do. Where the inputs
    are large, the first steps already undo it, mostly by switching units off; a loss that is only counted
    otherwise (a sum) stays where it is.
    """
    begins = beyond_accuracy(view, ratio=ratio, part=part, classes=classes)
    if begins.state is not State.PRESENT:
        return Finding(begins.state, begins.why)
    pairs = _loss_and_accuracy(view.run)
    for split, loss, values, right in pairs if not isinstance(pairs, str) else ():
        if loss.name not in begins.series:
            continue
        level, share = (float(np.median(v[-_size(v, part) :])) for v in (values, right))
        bound = _fano(view.run, share, classes)
        words = f"{loss.name} ends at {level:.4g} with {split}/accuracy at {share:.3g} ({bound:.3g} at most)"
        rest: dict[str, Any] = {"value": level, "threshold": ratio * bound, "series": begins.series}
        earlier = float(np.median(values[len(values) // 4 : max(len(values) // 2, len(values) // 4 + 1)]))
        if level > 0.75 * float(values[0]) or level > 0.95 * earlier:
            return absent(f"{words}: it does not come down", **rest)
        return (present if level > ratio * bound else absent)(words, where=_last(loss), **rest)
    return unknown("no loss and accuracy of the same data were logged")


@probe("train/loss", "eval/loss", "eval/accuracy")
def unsure_of_right_answers(
    view: View, *, ratio: float, least: float, most: float, below: float = 0.85, points: int = 3
) -> Finding:
    """Evaluation loses `ratio` times what its accuracy explains, and training `least` to `most` times that.

    A model that trusts its answers as far as they are right loses at most H(a) + (1 - a) ln(K - 1) nats at an
    accuracy a (Fano). One that overfits loses more because it is too sure: its training loss is far lower and
    its evaluation loss has been lower before. Without these the answers are right and held for guesses. Where
    training loses the same, scores cannot differ much on either side; where it loses more, it is made harder
    than evaluation, by noise that is added or by labels that contradict each other. At the beginning accuracy
    runs ahead of a loss that is still that of guessing: it has to be `below` that.

    A second softmax loses ln(1 + (K - 1)/e) where all is right; less than that is no squeezing of scores.

    K by a setting, a first loss of ln K, or as many as 1.05 times the first loss allows; twice, where that is
    the mean of an epoch. Near perfection a tenth of ln K is not held against it.
    """
    run = view.run
    if situation.regression(run) or situation.objective(run) or situation.is_sum(run, "eval"):
        return unknown("this loss has no absolute scale")
    if any(situation.switched_on(run, key) for key in ("label_smoothing", "mixup", "cutmix")):
        return unknown("smoothed or mixed labels ask for answers that are not sure")
    loss, accuracy, curve = (run.series[n] for n in ("eval/loss", "eval/accuracy", "train/loss"))
    _, here, there = np.intersect1d(loss.steps, accuracy.steps, return_indices=True)
    values, right = loss.values[here], accuracy.values[there]
    trained = curve.values[np.isfinite(curve.values)]
    if len(values) < points or len(trained) < points or not np.all(np.isfinite(values) & np.isfinite(right)):
        return unknown("too few losses and accuracies of the same evaluations")
    if min(float(np.min(values)), float(np.min(trained))) < 0:
        return unknown("a loss below zero is no cross-entropy of answers")
    known, first = situation.classes(run), float(np.median(trained[: max(1, min(5, len(trained) // 20))]))
    drawn = shape(curve)
    if known:
        count = known.count
    elif drawn is None or is_mean_of_epochs(drawn):
        count = _as_many_as(2 * first)
    else:
        count = _classes(run) or _as_many_as(1.05 * first)
    late = slice(-max(2, len(values) // 4), None)
    held, share = float(np.median(values[late])), float(np.median(right[late]))
    sure = float(np.clip(share, 1 / count, 1 - 1e-6))
    bound = -sure * math.log(sure) - (1 - sure) * math.log((1 - sure) / max(count - 1, 1))
    bound = max(bound, 0.1 * math.log(count))
    level = float(np.median(trained[-max(2, len(trained) // 10) :]))
    among = f"among {count} classes" if known else f"even among {count} classes"
    words = (
        f"eval/loss ends at {held:.4g} with eval/accuracy at {share:.4g}: that accuracy explains {bound:.3g}"
        f" at most, {among}; train/loss ends at {level:.4g}"
    )
    rest: dict[str, Any] = {
        "value": held,
        "threshold": ratio * bound,
        "series": ("eval/loss", "eval/accuracy"),
    }
    if held <= ratio * bound:
        return absent(words, **rest)
    squeezed = math.log1p(((known.count if known else 2) - 1) / math.e)  # all right, by a second softmax
    if held < 0.98 * squeezed:
        return absent(f"{words}: less than squeezed scores could lose, as under smoothed labels", **rest)
    if level < 0.9 * held or held > 1.05 * float(np.min(values)):
        return absent(f"{words}: too sure of what was learned by heart", **rest)
    if not least <= level / held < most:
        return absent(words, **rest)
    if held > below * situation.chance_loss(run, count) or share < 1.5 / count:
        return unknown(f"{words}: hardly anything is learned so far", **rest)
    return present(words, where=_last(loss), **rest)


def _as_many_as(loss: float) -> int:
    """The most classes that a guess among them loses so much, up to a thousand."""
    return min(1000, max(2, math.ceil(math.exp(min(loss, 7)))))


# Metrics of answers that are sequences, boxes or masks.
_OF_PARTS = frozenset({"wer", "bleu", "rouge", "text_similarity", "map", "map50", "iou", "dice"})
LEARNED = 0.1  # so much accuracy more than in the beginning
SCALED = 0.7  # a loss that is counted otherwise stays as many times too large as it began


def _loss_and_accuracy(run: Run) -> list[tuple[str, Series, Floats, Floats]] | str:
    """Split, loss, and the finite values of loss and accuracy, where both were logged three times."""
    if situation.regression(run) or situation.objective(run):
        return "this loss has no absolute scale"
    parts = sorted({n.rpartition("/")[2] for n in run.series} & _OF_PARTS)
    if parts:
        return f"{parts[0]} is logged: an answer has many parts, and a loss may be summed over them"
    found = []
    for split in ("train", "eval"):
        loss, accuracy = run.series.get(f"{split}/loss"), run.series.get(f"{split}/accuracy")
        if loss is None or accuracy is None or situation.is_sum(run, split):
            continue
        values, right = loss.values[np.isfinite(loss.values)], accuracy.values[np.isfinite(accuracy.values)]
        if len(values) < len(loss) and np.array_equal(loss.steps, accuracy.steps):
            right = accuracy.values[np.isfinite(loss.values) & np.isfinite(accuracy.values)]
        if min(len(values), len(right)) >= 3:
            found.append((split, loss, values, right))
    return found


def _fano(run: Run, accuracy: float, classes: int) -> float:
    """The most that a model loses that knows its accuracy, over the run's classes or so many."""
    known = situation.classes(run)
    count, share = known.count if known is not None else classes, float(np.clip(accuracy, 1e-6, 1 - 1e-6))
    bound = -share * math.log(share) - (1 - share) * math.log((1 - share) / max(count - 1, 1))
    return max(bound, situation.chance_loss(run, 2))


def _starts_below(run: Run, limit: float) -> bool:
    """Whether the training loss begins below a limit and does not leave the scale itself soon after."""
    series = run.series.get("train/loss")
    values = series.values[np.isfinite(series.values)] if series is not None else np.empty(0)
    return len(values) > 0 and float(values[0]) < limit and float(np.median(values)) < limit


def _numbers(series: Series) -> int:
    """How many of its values are numbers."""
    return int(np.sum(np.isfinite(series.values)))


@probe("eval/accuracy")
def eval_at_chance(view: View, *, margin: float) -> Finding:
    """Accuracy on evaluation data never leaves 1/K. Needs the number of classes, or a first loss of ln K."""
    series = view.run.series["eval/accuracy"]
    values = series.values[np.isfinite(series.values)]
    count = _classes(view.run)
    if count is None:
        return unknown("the number of classes is not known")
    if _WHOLE.search(series.raw):
        return unknown(f"{series.raw}: nobody guesses a whole answer")
    if len(values) < 3:
        return unknown(f"eval/accuracy has {len(values)} points; 3 are needed")
    chance = 1.0 / count
    near = min(margin, 0.6 * chance) + 2 * stats.noise(values)
    end, best = situation.reached(series), float(np.max(values))
    words = f"eval/accuracy ends at {end:.4g} (best {best:.4g}); a guess among {count} gives {chance:.4g}"
    if end <= chance + near and best <= chance + 2 * near:
        return present(
            words, value=end, threshold=chance + near, series=("eval/accuracy",), where=_last(series)
        )
    return absent(words, value=end, threshold=chance + near)


@probe()
def starts_enormous(view: View, *, ratio: float) -> Finding:
    """The first point of a training loss (often the mean of the first epoch) dwarfs all that follow.

    Every training-loss curve in the files is looked at: a batch-wise log may begin after the worst is over,
    and the epoch's mean still tells.
    """
    curves = [s for s in view.run.all_series if s.name == "train/loss" and len(s) >= 4]
    if not curves:
        return unknown("no training loss with 4 points")
    if re.search(r"ctc|rnn_?t|transducer", situation.text(view.run, "loss_function")):
        return unknown("a loss of alignments adds up over frames: it is large as long as nothing is aligned")
    if fitted.tensors(view.run):
        return unknown("what is fitted are single tensors: where they begin is no initialisation")
    seen = None
    for series in curves:
        first, rest = float(series.values[0]), series.values[1:]
        rest = rest[np.isfinite(rest)]
        if not math.isfinite(first) or len(rest) < 3:
            continue
        usual = max(float(np.median(rest)), float(np.quantile(rest, 0.9)))
        words = (
            f"the first value of {series.raw} is {first:.4g}; nine tenths of the others lie below {usual:.4g}"
        )
        if usual > 0 and first > ratio * usual and first > ratio * math.log(10):
            return present(
                words, value=first, threshold=ratio * usual, where=(place(series, 0),), series=("train/loss",)
            )
        seen = seen or words
    return absent(seen) if seen else unknown("the first values of the training loss are not finite")


@probe("train/loss|grad_norm")
def leaps(view: View, *, ratio: float, calm: float, points: int) -> Finding:
    """Loss or gradient norm leap by `ratio` from one logged point to the next, out of calm training.

    Calm: the `points` points before are numbers within a factor of `calm` of each other. An update too large
    needs many steps to carry a loss that far, and shakes it before; a flipped bit of an exponent multiplies a
    value by up to 2^64 at once. So does a sample with such a value, but in the first epoch: a leap there is
    unknown, as it is where epochs are not known.
    """
    seen, length = None, steps_per_epoch(view.run)
    for name in ("train/loss", "grad_norm"):
        series = view.run.series.get(name)
        if series is None or len(series) <= points:
            continue
        values = np.abs(series.values)
        found = _leap(values, ratio, calm, points)
        if found is not None:
            i, high = found
            words = f"{name} leaps to {values[i]:.4g} at step {series.steps[i]:g}, out of {high:.4g} at most"
            rest: dict[str, Any] = {"value": float(values[i] / high), "threshold": ratio, "series": (name,)}
            if length is None or series.steps[i] <= length[0]:
                return unknown(f"{words}; a sample of the first epoch may have made it", **rest)
            return present(words, step=float(series.steps[i]), where=(place(series, i),), **rest)
        seen = seen or f"no point of {name} is {ratio:.0e} times those before it"
    return absent(seen, threshold=ratio) if seen else unknown(f"fewer than {points + 1} points were logged")


def _leap(values: Floats, ratio: float, calm: float, points: int) -> tuple[int, float] | None:
    """The first point that leaps out of calm ones, and the largest of these; up to where all are numbers."""
    bad = np.flatnonzero(~np.isfinite(values))
    end = int(bad[0]) if len(bad) else len(values)
    if end <= points:
        return None
    before = np.lib.stride_tricks.sliding_window_view(values[: end - 1], points)
    high, low = before.max(axis=1), before.min(axis=1)
    with np.errstate(over="ignore"):
        leaps = (low > 0) & (high <= calm * low) & (values[points:end] >= ratio * high)
    at = np.flatnonzero(leaps)
    return (int(at[0]) + points, float(high[at[0]])) if len(at) else None


KNOWS = 0.6  # of the answers: batches of one class each never lead there


@probe("train/accuracy")
def train_below_chance(view: View, *, share: float) -> Finding:
    """Accuracy on training batches, measured while training, lies clearly below guessing.

    A model that has just learned the class of the last batches and meets another one is wrong more often than
    a coin: batches sorted by class do this, bad labels do not. Where the number of classes is not known, the
    accuracy on evaluation data stands for guessing, which it is at least, and 0.3 of `share` counts. Needs
    batches of more samples than half of the classes, or the median is zero by itself. What was measured after
    the loss had stopped being a number says nothing about the order of the data.
    """
    series = view.run.series["train/accuracy"]
    sound = np.isfinite(series.values)
    if (end := broken(view.run)) is not None and end.step is not None:
        sound &= series.steps < end.step
    values = series.values[sound]
    count = _classes(view.run)
    if len(values) < 3:
        return unknown("fewer than 3 points")
    level, batch = float(np.median(values)), situation.number(view.run, "global_batch_size")
    least = 1 / batch if batch else float(np.min(values[values > 0], initial=1.0))
    if count is not None:
        chance, whose = 1 / count, f"guessing among {count} classes gives"
    else:
        held = view.run.series.get("eval/accuracy")
        if held is None or _numbers(held) < 3:
            return unknown("the number of classes is not known")
        chance, whose, share = situation.reached(held), "on evaluation data it ends at", 0.3 * share
        if chance >= KNOWS:
            return unknown(
                f"train/accuracy is {level:.4g} in the median and eval/accuracy ends at {chance:.4g}: what"
                " training scores is made harder, by mixtures or by what counts as right"
            )
    words = f"train/accuracy is {level:.4g} in the median; {whose} {chance:.4g}"
    rest: dict[str, Any] = {"value": level, "threshold": share * chance, "series": ("train/accuracy",)}
    if level >= share * chance:
        return absent(words, **rest)
    if least > 0.5 * chance:  # a batch of so few samples often has no hit at all
        return unknown(f"{words}; one point counts about {1 / least:.0f} samples", **rest)
    return present(words, where=_last(series), **rest)


@probe("eval/accuracy")
def eval_below_chance(view: View, *, share: float, progress: float, sinking: float = 0.65) -> Finding:
    """Accuracy on evaluation data lies far below guessing while training works.

    Not knowing gives 1/K; less than `share` of that for half of the evaluations means that right answers are
    counted as wrong ones: labels under other numbers, or a prediction looked for in the wrong place. A model
    that is often wrong is right so by chance: less than `sinking` is as telling where it came down there as
    training went on. Where the number of classes is not known, the first evaluation stands for guessing.
    Training works when its loss falls by `progress` of its first value.
    """
    series, loss = view.run.series["eval/accuracy"], situation.main_loss(view.run)
    values = series.values[np.isfinite(series.values)]
    count = _classes(view.run)
    if _WHOLE.search(series.raw):
        return unknown(f"{series.raw}: nobody guesses a whole answer")
    if len(values) < 4:
        return unknown("fewer than 4 points")
    level = float(np.median(values[len(values) // 2 :]))
    base = 1 / count if count is not None else float(values[0])
    words = f"eval/accuracy is {level:.4g} in the later half; " + (
        f"guessing among {count} gives {base:.4g}" if count is not None else f"it began at {base:.4g}"
    )
    if not 0 < base <= 0.6:
        return absent(f"{words}, which is no guess")
    sinks = count is not None and len(values) >= 6 and _sinks(values, base, sinking)
    share = sinking if sinks else share
    seen: dict[str, Any] = {"value": level, "threshold": share * base, "series": ("eval/accuracy",)}
    if level >= share * base:
        if count is None and level < 0.5:
            return unknown(f"{words}; the number of classes is not known", **seen)
        return absent(words, **seen)
    finite = loss.values[np.isfinite(loss.values)] if loss is not None else values[:0]
    if loss is not None and len(loss) and not np.isfinite(loss.values[-1]):
        return unknown(f"{words}; the training loss is no number at the end", **seen)
    if len(finite) < 4:
        return unknown(f"{words}; whether training works is not logged", **seen)
    fall = 1 - float(np.median(finite[-max(2, len(finite) // 5) :])) / max(float(finite[0]), 1e-12)
    if fall < progress:
        return absent(f"{words}; the training loss falls by {fall:.0%} only", **seen)
    return present(f"{words}, while the training loss falls by {fall:.0%}", where=_last(series), **seen)


def _sinks(accuracy: Floats, chance: float, share: float) -> bool:
    """An accuracy that begins at guessing and comes down below `share` of it, not to that of one class."""
    half, early = accuracy[len(accuracy) // 2 :], float(np.max(accuracy[:2]))
    moves = len(np.unique(half)) > 2
    sunk = early >= 0.75 * chance and early > float(np.max(half)) and bool(np.all(half < share * chance))
    return moves and sunk


def _classes(run: Run) -> int | None:
    known = situation.classes(run)
    if known is not None:
        return known.count if known.setting.key == "num_classes" else None
    loss = run.series.get("train/loss")
    if loss is None or not len(loss):
        return None
    first = float(np.median(loss.values[: max(1, min(5, len(loss) // 20))]))
    found = situation.classes_by_start(run, first, among=situation.USUAL_CLASSES)
    return found[0] if found else None


def _last(series: Series) -> tuple[Place, ...]:
    return (place(series, len(series) - 1),)
