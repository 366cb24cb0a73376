"""What the numbers of a loss say about how it is computed: summed, of a softmax twice over, climbed."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from ..benchmark.compare import pair
from ..registry import Finding, View, absent, any_of, place, present, unknown
from ..run import Floats, Run, Series
from . import situation, stats
from .judging import is_mean_of_epochs, on_loss, probe, see
from .levels import floor_double_softmax
from .shapes import Shape, shape
from .unlike_totals import adds_up

CLASSES = (*range(2, 201), 365, 500, 1000)
BEGIN = 10  # steps within which a loss is still that of the untrained model


@probe("train/loss")
def batch_sum(view: View, spread: float = 1.5, least: int = 8) -> Finding:
    """The loss is as many times too large as the batch has samples.

    Told in any of three ways: against the benchmark's first loss (equal up to `spread` once divided by the
    batch size), against ln K where a model guesses among K classes, and against the accuracy of the same
    data: a mean far above ten times the error rate would take wrong answers of absurd confidence.
    Batches of fewer than `least` samples are not judged.
    """
    run, batch = view.run, situation.number(view.run, "batch_size")
    curve = shape(run.series["train/loss"])
    if batch is None or batch < least or curve is None:
        return unknown("the batch size is not known" if batch is None else "too few samples or points")
    if situation.regression(run) or situation.objective(run):
        return unknown("this loss has no absolute scale")
    if situation.is_sum(run):
        return unknown("this loss is a sum by what it is")
    first, end = float(curve.y[0]), curve.end.value
    seen: dict[str, Any] = {"value": round(first, 4), "threshold": batch}
    words = f"{curve.name} begins at {first:.4g} and ends at {end:.4g} with batches of {batch:g}"
    judged = False
    both = pair(view, "train/loss", 3)
    early = not is_mean_of_epochs(curve) and curve.step(0) <= BEGIN
    if not isinstance(both, str) and float(both.bench[0]) > 0 and early and both.x[0] <= BEGIN:
        judged = True
        ratio = float(both.run[0]) / float(both.bench[0])
        if batch / spread < ratio < batch * spread:
            return present(f"{words}; the benchmark begins at {both.bench[0]:.4g}", **see(curve, 0), **seen)
    known = situation.classes(run)
    accuracies = [s for split in ("train", "eval") if (s := situation.metric(run, split, ("accuracy",)))]
    for count in (known.count,) if known else CLASSES if accuracies else ():
        judged = True
        chance = situation.chance_loss(run, count)
        reached = [situation.reached(s) for s in accuracies]
        guesses = bool(reached) and all(abs(r * count - 1) < 0.35 for r in reached)
        if guesses and abs(end / batch - chance) < 0.02 * chance:
            text = f"{words}: {batch:g} times ln {count} = {chance:.4g}, and the accuracy is that of a guess"
            return present(text, **see(curve, curve.count - 1), **seen)
        if known is not None and early and batch * chance / spread < first < batch * chance * spread:
            return present(
                f"{words}: about {batch:g} times ln {count} = {chance:.4g}", **see(curve, 0), **seen
            )
    trained = situation.metric(run, "train", ("accuracy",))
    if trained is not None:
        judged = True
        wrong = 1.0 - situation.reached(trained)
        # a wrong answer gives the right class less than half and costs ln 2 or more: a sum begins above that
        begins = math.log(2) * (1.0 - float(trained.values[0])) * batch
        if first >= 0.5 * begins and wrong < 0.3 and end > 10 * wrong + 1.0 and end / batch < 3 * wrong + 0.3:
            text = f"{words}, far too large for an accuracy of {1 - wrong:.3g}; divided by the batch it fits"
            return present(text, **see(curve, curve.count - 1), **seen)
    if not judged:
        return unknown(f"{words}; nothing tells its scale")
    return absent(words, series=(curve.name,), **seen)


@probe("train/loss/kl", "train/loss/recon")
def kl_vanishes(view: View, left: float = 0.02, points: int = 5) -> Finding:
    """The divergence of a variational autoencoder goes to `left` of its highest value, and of its error.

    The code then tells nothing of the sample: the divergence weighs too much, or the decoder needs no code.
    """
    kl, error = (shape(view.run.series[f"train/loss/{n}"]) for n in ("kl", "recon"))
    if kl is None or error is None or min(kl.count, error.count) < points:
        return unknown(f"fewer than {points} values of divergence and error")
    high, end, beside = float(np.max(kl.y)), kl.end.value, abs(error.end.value)
    words = f"{kl.name} goes from {high:.4g} to {end:.4g}, {error.name} ends at {beside:.4g}"
    seen: dict[str, Any] = {"value": end, "threshold": left * high}
    if high > 0 and abs(end) <= left * min(high, beside):
        return present(words, step=kl.step(kl.end.first), **see(kl, kl.count - 1), **seen)
    return absent(words, series=(kl.name, error.name), **seen)


_OF_BOXES = re.compile(
    r"(?i)(?:^|[/_ .])(?:(?:loss_(?:rpn_)?|l)(?:bbox|box_reg|rpn_loc|box)|(?:bbox|box)_loss)$"
)


@probe("train/loss")
def boxes_cost_nothing(view: View, points: int = 10, share: float = 0.99) -> Finding:
    """The terms of the boxes in a training loss are exactly zero at `share` of at least `points` values.

    A detector that is given a box places it wrongly at first. Terms that stay zero were given none: no label
    was found for the pictures, or none has a name or number that the model knows.
    """
    terms = [
        s
        for s in view.run.all_series
        if s.split != "eval" and not s.name.startswith(("eval/", "test/")) and _OF_BOXES.search(s.raw)
    ]
    terms = [s for s in terms if np.count_nonzero(np.isfinite(s.values)) >= points]
    if not terms:
        return unknown(f"no term of a training loss for boxes has {points} values")
    least = min(float(np.mean(s.values[np.isfinite(s.values)] == 0)) for s in terms)
    words = f"{', '.join(sorted({s.raw for s in terms})[:3])}: exactly zero at {least:.0%} of the values"
    seen: dict[str, Any] = {"value": round(least, 4), "threshold": share}
    if least >= share:
        return present(words, where=(place(terms[0], 0),), **seen)
    return absent(words, **seen)


@probe()
def double_softmax(view: View, tolerance: float = 0.03, span: float = 0.12) -> Finding:
    """The loss ends at the floor of a doubled softmax, or goes with the error rate above it; see each."""
    if not {"train/loss", "eval/loss"} & set(view.run.series):
        return unknown("the run has no loss")
    return any_of(
        (
            floor_double_softmax(view, tolerance=tolerance),
            error_plus_floor(view, tolerance=tolerance, span=span),
        )
    )


@probe("eval/loss|train/loss")
def error_plus_floor(view: View, tolerance: float = 0.03, span: float = 0.12, points: int = 5) -> Finding:
    """At every evaluation the loss is ln(1 + (K-1)/e) + (1 - accuracy).

    A softmax of a softmax sees scores between 0 and 1: a confident right answer costs ln(1 + (K-1)/e) and a
    confident wrong one exactly one more. An ordinary cross-entropy has no such tie to the accuracy. Needs
    `points` evaluations over which the accuracy moves by `span`, ten times the misfit at least, and K, by a
    setting or a first loss of ln K.
    """
    run = view.run
    curve = shape(run.series["train/loss"]) if "train/loss" in run.series else None
    known = situation.classes(run)
    seen = None
    for split in ("eval", "train"):
        tied = _tied(run, split)
        if tied is None or len(tied[0]) < points or float(np.ptp(tied[1])) < span:
            continue
        loss, accuracy, series = tied
        height = float(np.median(loss + accuracy)) - 1.0
        rest = np.abs(loss + accuracy - 1.0 - height)
        counts = (known.count,) if known else _by_start(run, curve)
        floors = {k: math.log(1 + (k - 1) / math.e) for k in counts}
        words = (
            f"{series.name} + accuracy - 1 is {height:.4g} at {len(loss)} evaluations,"
            f" within {float(np.quantile(rest, 0.9)):.2g}"
        )
        fits = [k for k, floor in floors.items() if abs(height - floor) <= tolerance]
        if fits and float(np.quantile(rest, 0.9)) <= min(tolerance, 0.1 * float(np.ptp(accuracy))):
            return present(
                f"{words}: the floor of a softmax applied twice over {fits[0]} classes",
                value=round(height, 4),
                threshold=round(floors[fits[0]], 4),
                where=(place(series, len(series) - 1),),
                series=(series.name,),
            )
        if counts:
            seen = seen or words
    return absent(seen) if seen else unknown("no loss and moving accuracy of the same data, or K not known")


def _tied(run: Run, split: str) -> tuple[Floats, Floats, Series] | None:
    """Loss and accuracy of the same points."""
    loss, accuracy = run.series.get(f"{split}/loss"), run.series.get(f"{split}/accuracy")
    if loss is None or accuracy is None:
        return None
    _, here, there = np.intersect1d(loss.steps, accuracy.steps, return_indices=True)
    a, b = loss.values[here], accuracy.values[there]
    good = np.isfinite(a) & np.isfinite(b)
    return a[good], b[good], loss


def _by_start(run: Run, curve: Shape | None) -> tuple[int, ...]:
    """Possible K by the first loss, which a softmax of a softmax begins with: ln K, or a little less."""
    if curve is None:
        return ()
    first = float(curve.y[0])
    return tuple(k for k in CLASSES if 0.9 <= first / situation.chance_loss(run, k) <= 1.01)


DRAWN_SMALL = 0.05  # deviation of drawn weights: BERT and GPT have 0.02
EXACT = 0.0003  # of a loss, from which outputs that are drawn small are told from equal ones
LABELS = 100  # classes; of a vocabulary even small weights give other scores


@on_loss(5)
def starts_at_chance(run: Run, curve: Shape, tolerance: float = 0.001) -> Finding:
    """The first loss, from one of the first ten steps, is ln K to `tolerance`.

    Outputs drawn at random are off by more; only a model whose last layer gives all classes the same score
    begins there. K by a setting, else any up to ten.
    """
    if why := situation.preferred(run):
        return unknown(f"{why}: its loss begins at ln 2, where it is still its reference")
    known = situation.classes(run)
    begins = curve.step(0) <= (
        BEGIN if curve.series.unit in situation.STEPS else 0
    )  # nothing seen yet, in any unit
    if is_mean_of_epochs(curve) or not begins:
        return unknown("the loss of the first steps was not logged")
    if situation.regression(run) or curve.index[0] > 0:
        return unknown("the loss is that of a regression, or not finite at first")
    first = float(curve.y[0])
    if stats.quantum(curve.y) > 2 * tolerance * abs(first):
        return unknown(f"{curve.name} is printed too coarsely")
    counts = (known.count,) if known else range(2, 11)
    near = min(counts, key=lambda k: abs(first - situation.chance_loss(run, k)))
    level = situation.chance_loss(run, near)
    words = f"{curve.name} begins at {first:.5g}; ln {near} is {level:.5g}"
    seen: dict[str, Any] = {"value": first, "threshold": round(tolerance * level, 5)}
    if abs(first - level) > tolerance * level:
        return absent(words, series=(curve.name,), **seen)
    spread = situation.number(run, "init_std")
    if spread is not None and 0 < spread <= DRAWN_SMALL and near <= LABELS:
        return unknown(f"weights are drawn as small as {spread:g}: such a loss begins near chance by itself")
    apart = abs(first - level) / level
    if spread is None and "hf-trainer" in run.info.formats and near <= LABELS and apart > EXACT:
        return unknown(f"{words}; models that Trainer trains draw weights as small as 0.02 and begin near it")
    return present(words, **see(curve, 0), **seen)


@on_loss(8)
def climbs(run: Run, curve: Shape, share: float = 0.95, rise: float = 3.0) -> Finding:
    """The loss rises from its first value to its last, `rise` times and more, almost without a fall.

    Steps that are too large throw the loss up and let it fall again; steps that climb it go up all the way.
    """
    if situation.objective(run):
        return unknown(str(situation.objective(run)))
    levels = stats.block_medians(curve.y, stats.block_edges(curve.count, min(20, curve.count)))
    ups = float(np.mean(np.diff(levels) > 0))
    first, last = float(levels[0]), float(levels[-1])
    words = f"{curve.name} goes from {first:.4g} to {last:.4g}, rising in {ups:.0%} of its course"
    seen: dict[str, Any] = {"value": round(ups, 4), "threshold": share}
    if adds_up(curve.y):
        return unknown(f"{words}: each value adds to the one before, as a sum does that is never set back")
    if first > 0 and last >= rise * first and ups >= share:
        return present(words, **see(curve, curve.count - 1), **seen)
    return absent(words, series=(curve.name,), **seen)
