"""Values that are no numbers: in the loss, its terms, the gradient norm; and what the log says of them.

What is benign: the halvings by which a dynamic scaler finds its level, about log2(first / steady) plus its
hysteresis; one overflow each time it tries a doubling; a norm that is infinite at such a skipped step;
metrics that are undefined. Where a loss is no number, and what a file hides of it, is in `no_number`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...engine.model import Place
from ..config.values import value_of
from ..registry import Finding, View, absent, place, present, unknown
from ..run import Event, Floats, Run, Series
from . import scaler, situation, stats
from .judging import from_log, probe
from .no_number import Broken, absent_and_dead, broken, broken_series, covers_many, losses_of

CLAMPS = (
    (87.3365, "-ln of the smallest float32"),
    (27.631, "-ln 1e-12"),
    (18.4207, "-ln 1e-8"),
    (16.118, "-ln 1e-7"),
)


# --------------------------------------------------------------------------------------- no number as loss

FEW = 3  # values below which "all are numbers" says nothing of the run


def _no_loss(run: Run) -> Finding | None:
    if broken(run) is None and not any(len(s) for s in losses_of(run)):
        return unknown(situation.no_loss(run))
    return None


def _numbers_only(run: Run) -> Finding:
    series = losses_of(run)[0]
    if len(series) < FEW:
        return unknown(f"only {len(series)} values of {series.name} were logged, all of them numbers")
    return absent(f"all {len(series)} values of {series.name} are numbers", value=0, series=(series.name,))


def _found(bad: Broken, why: str, **rest: Any) -> Finding:
    return present(why, step=bad.step, where=(bad.where,), series=(bad.name,), **rest)


@probe()
def loss_not_finite(view: View) -> Finding:
    """Any point of the training loss is no number, outside a scaler's calibration."""
    bad = broken(view.run)
    if bad is not None:
        return _found(bad, bad.said, value=bad.count, threshold=0)
    return _no_loss(view.run) or _numbers_only(view.run)


@probe()
def loss_not_finite_at_start(view: View, first_points: int = 1) -> Finding:
    """Not one of the first logged points is a number, and it does not recover.

    A first row that is the mean of an epoch hides the numbers before the NaN: then this is unknown.
    """
    bad = broken(view.run)
    if bad is None:
        return _no_loss(view.run) or _numbers_only(view.run)
    main = situation.main_loss(view.run)
    if bad.first_row and main is not None and main.name == bad.name and covers_many(main):
        return unknown(f"{bad.said}; a row is the mean of an epoch, whose first step is not logged")
    if bad.lasting and (bad.first_row or len(bad.before) < first_points):
        return _found(
            bad, f"{bad.said}: there was no number before it", value=len(bad.before), threshold=first_points
        )
    norms = view.run.series.get("grad_norm")
    if norms is not None and len(norms) and main is not None and not np.isfinite(norms.values[0]):
        if bad.lasting and _filtered_mean(main, float(norms.steps[0]), bad):
            words = "grad_norm is no number from the first row on, whose mean loss leaves NaN out"
            return _found(bad, f"{bad.said}; {words}", value=len(bad.before), threshold=first_points)
    return absent(f"{bad.said}, after {len(bad.before)} numbers", series=(bad.name,))


CLIMBS = 1.3  # from here on three values above all before them are no calm


THROWN_OFF = 3.0  # times its lowest level


def _growth(before: Floats) -> tuple[float, float, float]:
    """(last level, usual level, ratio) of the numbers before the first that is none."""
    last = float(np.max(before[-3:]))
    if len(before) >= 6:
        usual = min(float(np.median(before[-13:-3])), float(np.median(before)))
        if len(before) >= 10:  # thrown off for good long before, it is calm no more
            low = float(np.min(stats.running_median(before, 5)[2:-2]))
            if 0 < THROWN_OFF * low <= float(np.median(before[-5:])):
                usual = min(usual, low)
    else:  # so few that only what came before the peak is its past: a falling curve has not grown
        past = (
            before[: len(before) - 3 + int(np.argmax(before[-3:]))]
            if len(before) > 3
            else before[: int(np.argmax(before))]
        )
        usual = float(np.min(past)) if len(past) else last
    scatter = stats.noise(before[:-3]) if len(before) >= 10 else 0.0
    grown = last / usual if usual > 0 else (math.inf if last > usual + 5 * scatter else 1.0)
    return last, usual, grown if last > usual + 4 * scatter else 1.0


BURST = 100.0  # times its level: no batch of data does that to a term of a calm loss


def _term_bursts(run: Run, bad: Broken) -> str:
    """In words: a term of the loss that is still a number at the step of the first NaN, and has burst.

    A sample without a number spoils every term that it enters. Outputs that ran away make one term huge
    before they make another one NaN.
    """
    for series in losses_of(run):
        at = np.flatnonzero(series.steps == bad.step) if bad.step is not None else np.empty(0, dtype=int)
        if series.name == bad.name or not len(at):
            continue
        now, past = float(series.values[at[0]]), series.values[: at[0]]
        past = past[np.isfinite(past)]
        level = float(np.median(np.abs(past))) if len(past) >= FEW else 0.0
        if math.isfinite(now) and level > 0 and abs(now) > BURST * level:
            return f"at this step {series.name} is {now:.4g}, and its level was {level:.4g}"
    return ""


@probe()
def loss_not_finite_sudden(view: View, calm_points: int = 5, rise: float = 2.0) -> Finding:
    """At least `calm_points` numbers came before, the last of them no higher than `rise` times the level."""
    bad = broken(view.run)
    if bad is None:
        return _no_loss(view.run) or _numbers_only(view.run)
    burst = _term_bursts(view.run, bad)
    if burst:
        return absent(f"{bad.said}; {burst}", series=(bad.name,))
    if len(bad.before) < calm_points:
        few = f"{bad.said}, after {len(bad.before)} numbers; {calm_points} are needed to call them calm"
        return unknown(few) if len(bad.before) or bad.hidden_steps else absent(few, series=(bad.name,))
    last, usual, grown = _growth(bad.before)
    words = f"{bad.said}; the last values before it go up to {last:.4g}, the level was {usual:.4g}"
    if CLIMBS <= grown < rise and float(np.min(bad.before[-3:])) > float(np.max(bad.before[:-3])):
        return unknown(f"{words}: it climbs already, though not to {rise:g} times its level")
    if grown < rise:
        return _found(bad, words, value=round(grown, 3), threshold=rise)
    return absent(words, value=round(min(grown, 1e300), 3), threshold=rise, series=(bad.name,))


@probe()
def loss_not_finite_after_growth(view: View, rise: float = 2.0) -> Finding:
    """The last numbers before the first that is none exceed the level before them by `rise`."""
    bad = broken(view.run)
    if bad is None:
        return _no_loss(view.run) or _numbers_only(view.run)
    burst = _term_bursts(view.run, bad)
    if burst:
        return _found(bad, f"{bad.said}; {burst}", value=BURST, threshold=rise)
    if len(bad.before) < 2:
        few = f"{bad.said}, after {len(bad.before)} numbers; 2 are needed to see growth"
        return unknown(few) if len(bad.before) or bad.hidden_steps else absent(few, series=(bad.name,))
    last, usual, grown = _growth(bad.before)
    words = f"{bad.said}; before it the loss grew from {usual:.4g} to {last:.4g}"
    if grown >= rise:
        return _found(bad, words, value=round(min(grown, 1e300), 3), threshold=rise)
    calm = f"{bad.said}; the last values before it go up to {last:.4g}, the level was {usual:.4g}"
    return absent(calm, value=round(grown, 3), threshold=rise, series=(bad.name,))


@probe()
def loss_not_finite_once_sure(view: View, accuracy: float = 0.995, learning: float = 0.9) -> Finding:
    """The accuracy on training data came to `accuracy` and the loss to its lowest just before the first NaN.

    A probability that has come to exactly zero has no logarithm, and zero times it is no number: so ends a
    cross-entropy that is written out once the model is sure of all its answers. A bad sample is met in the
    first epoch.
    """
    run, bad = view.run, broken(view.run)
    if bad is None:
        return _no_loss(run) or _numbers_only(run)
    right = run.series.get("train/accuracy")
    if right is None or bad.step is None:
        return unknown(f"{bad.said}; no accuracy on training data was logged")
    before = right.values[(right.steps < bad.step) & np.isfinite(right.values)]
    if not len(before):
        return unknown(f"{bad.said}; no accuracy was logged before it")
    words = f"{bad.said}; {right.name} was {before[-1]:.4g} before it"
    names = (bad.name, right.name)
    if float(before[-1]) < learning:
        return absent(words, value=float(before[-1]), threshold=accuracy, series=names)
    lowest = len(bad.before) and float(bad.before[-1]) <= float(np.min(bad.before))
    if not bad.lasting or float(before[-1]) < accuracy or not lowest:
        return unknown(words)
    return _found(bad, f"{words}, and the loss was never lower", value=float(before[-1]), threshold=accuracy)


@probe()
def loss_not_finite_transient(view: View) -> Finding:
    """Some points are no numbers, and numbers come after them."""
    bad = broken(view.run)
    if bad is None:
        return _no_loss(view.run) or _numbers_only(view.run)
    if bad.lasting:
        return absent(bad.said, series=(bad.name,))
    return _found(bad, bad.said, value=bad.count, threshold=0)


@probe()
def loss_masked_nan(view: View, rows: int = 2) -> Finding:
    """`rows` rows whose loss is written as 0.0 and whose gradient norm (if logged) is no number."""
    run = view.run
    events = run.events_of("masked-nan")
    series = situation.main_loss(run)
    if series is None:
        return unknown(situation.no_loss(run)) if not events else _maskedfrom_log(events[0])
    masked = series.masked if series.masked is not None else np.zeros(len(series), dtype=bool)
    masked = masked | _zero_with_dead_norm(run, series)
    if np.sum(masked) >= rows:
        first = int(np.argmax(masked))
        return present(
            f"{series.name} is written as 0.0 at {np.sum(masked)} rows from step"
            f" {series.steps[first]:g} on, where it"
            " cannot be a loss of zero: NaN was filtered",
            value=int(np.sum(masked)),
            threshold=rows,
            step=float(series.steps[first]),
            where=(place(series, first),),
            series=(series.name, "grad_norm") if "grad_norm" in run.series else (series.name,),
        )
    if events and sum(e.count for e in events) >= rows:
        return _maskedfrom_log(events[0])
    if not len(series):
        return unknown(f"{series.name} has no points")
    return absent(
        f"{np.sum(masked)} rows of {series.name} hide a NaN",
        value=int(np.sum(masked)),
        threshold=rows,
        series=(series.name,),
    )


@probe("train/loss", "config:precision")
def masked_from_first(view: View, rows: int = 3) -> Finding:
    """Every loss from the first one on is the 0.0 of a NaN, in a format that does not overflow so soon.

    A mean over no labels is NaN at once, whatever the weights are.
    """
    run = view.run
    series = run.series["train/loss"]
    masked = _zero_with_dead_norm(run, series)
    if series.masked is not None:
        masked = masked | series.masked
    words = f"{int(np.sum(masked))} of {len(series)} losses are the 0.0 of a NaN"
    if len(series) < rows or not masked[0] or not np.all(masked):
        return absent(words, value=int(np.sum(masked)), threshold=rows, series=(series.name,))
    if value_of(run, "precision") not in ("bf16", "fp32"):
        return unknown(f"{words}, in a format that overflows")
    return present(
        f"{words}, from the first step on, in {value_of(run, 'precision')}",
        value=int(np.sum(masked)),
        threshold=rows,
        step=float(series.steps[0]),
        where=(place(series, 0),),
        series=(series.name,),
    )


def _zero_with_dead_norm(run: Run, series: Series) -> Any:
    norms = run.series.get("grad_norm")
    if norms is None:
        return np.zeros(len(series), dtype=bool)
    dead = norms.steps[~np.isfinite(norms.values)]
    return (series.values == 0) & np.isin(series.steps, dead)


def _maskedfrom_log(event: Event) -> Finding:
    return present(
        f"a NaN was written as another value: {event.text[:120]}",
        step=event.step,
        where=(Place(event.file, event.line, event.step),),
    )


@probe()
def loss_huge(view: View, ratio: float = 1000.0, absolute: float = 1e6) -> Finding:
    """A finite value exceeds `ratio` times the first level, or `absolute` and ten times the first level."""
    series = situation.main_loss(view.run)
    if series is None:
        return unknown(situation.no_loss(view.run))
    finite = np.flatnonzero(np.isfinite(series.values))
    if len(finite) < 2:
        return unknown(f"{series.name} has {len(finite)} finite points; 2 are needed")
    sunk = situation.bottomless(series)
    if sunk:
        return unknown(sunk)
    values = series.values[finite]
    first = abs(float(np.median(values[: max(1, min(5, len(values) // 10))])))
    at = int(np.argmax(values))
    high = float(values[at])
    words = (
        f"the highest {series.name} is {high:.4g} at step {series.steps[finite[at]]:g}, its first {first:.4g}"
    )
    seen: dict[str, Any] = {
        "value": float(f"{high:.5g}"),
        "threshold": float(f"{min(absolute, ratio * first):.5g}"),
    }
    if (high > ratio * first and high > 100) or (high > absolute and high > 10 * first):
        begins = int(np.argmax(values > min(absolute, ratio * max(first, 1e-300))))
        return present(
            words,
            step=float(series.steps[finite[begins]]),
            where=(place(series, int(finite[at])),),
            series=(series.name,),
            **seen,
        )
    return absent(words, series=(series.name,), **seen)


@probe()
def one_term_not_finite(view: View) -> Finding:
    """One term of the loss stops being a number before, or without, the others."""
    terms = situation.terms(view.run)
    if len(terms) < 2:
        return unknown("the terms of the loss were not logged")
    onset = {n: b for n, s in terms.items() if (b := broken_series(view.run, s)) is not None}
    if not onset:
        return absent(f"all {len(terms)} terms of the loss are numbers", series=tuple(terms)[:3])
    first = min(b.step for b in onset.values() if b.step is not None)
    earliest = [n for n, b in onset.items() if b.step == first]
    if len(earliest) > 1:  # where a model diverges the terms of one head go together
        return absent(
            f"{len(earliest)} of {len(terms)} terms stop being numbers at step {first:g}",
            series=tuple(earliest[:3]),
        )
    bad = onset[earliest[0]]
    others = ", ".join(n for n in terms if n not in earliest)
    return _found(
        bad,
        f"{earliest[0]} stops being a number at step {first:g}, before {others}",
        value=len(earliest),
    )


@probe("eval/loss")
def eval_not_finite(view: View) -> Finding:
    """The evaluation loss is no number at a point up to which the training loss was one."""
    series = view.run.series["eval/loss"]
    bad = ~np.isfinite(series.values)
    if not len(series):
        return unknown("eval/loss has no points")
    if not np.any(bad):
        return absent(f"all {len(series)} values of eval/loss are numbers", value=0, series=("eval/loss",))
    first = int(np.argmax(bad))
    training = broken(view.run)
    step = float(series.steps[first])
    words = (
        f"eval/loss is {series.values[first]:g} at step {step:g} ({np.sum(bad)} of {len(series)} evaluations)"
    )
    train = situation.main_loss(view.run)
    if train is not None and training is not None and (training.step is None or training.step <= step):
        return absent(f"{words}, as the training loss was before", series=("eval/loss",))
    if train is None:
        return unknown(f"{words}, but no training loss was logged")
    return present(
        f"{words}, where the training loss is a number",
        value=int(np.sum(bad)),
        threshold=0,
        step=step,
        where=(place(series, first),),
        series=("eval/loss", train.name),
    )


# ------------------------------------------------------------------------------------------ gradient norm


def bad_norms(run: Run, calibration_steps: int) -> list[int]:
    """The points of grad_norm that are no numbers and that no scaler's skipping explains."""
    series = run.series["grad_norm"]
    bad = ~np.isfinite(series.values)
    kept: list[int] = []
    for start, end in stats.stretches(bad):
        recovered = end < len(bad)
        if not recovered and end - start <= 2 and start > 0 and _skipped(run, series, start, end):
            continue
        if recovered and _explained(run, series, start, end, calibration_steps):
            continue
        kept.extend(range(start, end))
    return kept


def _explained(run: Run, series: Series, start: int, end: int, calibration: int) -> bool:
    """Whether a stretch of points without number that recovers is what a scaler's skips look like."""
    first = float(series.steps[0])
    if series.steps[end - 1] <= max(first + calibration, scaler.calibrated(run) or 0.0):
        return True
    if end - start <= 3 and _skipped(run, series, start, end):
        return True
    precision = situation.text(run, "precision")
    return end - start == 1 and ("fp16" in precision or precision == "16" or not precision)


def _skipped(run: Run, series: Series, start: int, end: int) -> bool:
    """Whether the log says that these steps were skipped, or the learning rate stood still over them."""
    skips = scaler.skips(run)
    if skips is not None and np.any(np.isin(series.steps[start:end], skips.steps)):
        return True
    rate = run.series.get("learning_rate")
    if rate is None or start == 0:
        return False
    before = rate.values[rate.steps == series.steps[start - 1]]
    during = rate.values[np.isin(rate.steps, series.steps[start:end])]
    return bool(len(before) and len(during) and np.all(during[0] == before[0]) and _moves(rate))


def _moves(rate: Series) -> bool:
    return bool(np.mean(np.diff(rate.values) != 0) > 0.5)


def _to_the_end(run: Run, series: Series, kept: list[int]) -> bool:
    """Whether the norm is no number in the last two rows, or in the last one together with the loss."""
    last = len(series) - 1
    if last not in kept:
        return False
    return last - 1 in kept or last == 0 or broken(run) is not None


@probe("grad_norm")
def grad_norm_not_finite(view: View, calibration_steps: int = 40) -> Finding:
    """The norm stays without number to the end, or is without more than now and then, outside calibration."""
    series = view.run.series["grad_norm"]
    if not len(series):
        return unknown("grad_norm has no points")
    kept = bad_norms(view.run, calibration_steps)
    total = int(np.sum(~np.isfinite(series.values)))
    seen: dict[str, Any] = {"value": len(kept), "threshold": 0, "series": ("grad_norm",)}
    if not kept:
        explained = (
            f"{total} values are no numbers, as a scaler's skipped steps make them"
            if total
            else "all are numbers"
        )
        return absent(f"grad_norm: {explained} ({len(series)} point{'s' * (len(series) != 1)})", **seen)
    bad = absent_and_dead(view.run)
    lasting = _to_the_end(view.run, series, kept) or (bad is not None and len(series) - 1 in kept)
    words = (
        f"grad_norm is no number at {len(kept)} of {len(series)} points, first at step"
        f" {series.steps[kept[0]]:g}"
    )
    if lasting or (len(kept) >= 3 and len(kept) >= 0.02 * len(series)):
        tail = " and to the end" if lasting else ""
        return present(
            f"{words}{tail}", step=float(series.steps[kept[0]]), where=(place(series, kept[0]),), **seen
        )
    if len(series) - 1 in kept:
        return unknown(f"{words}, where the log ends")
    return absent(f"{words}, at single steps only", **seen)


@probe("grad_norm")
def grad_before_loss(view: View) -> Finding:
    """The norm is no number (outside calibration, not only once) at a step where the loss still is one."""
    run = view.run
    series, loss = run.series["grad_norm"], situation.main_loss(run)
    if loss is None:
        return unknown(situation.no_loss(run))
    kept = bad_norms(run, 40)
    names = ("grad_norm", loss.name)
    lasting = _to_the_end(run, series, kept)
    if not kept or not (lasting or len(kept) >= 3):
        return absent("grad_norm does not stop being a number", series=names)
    step = float(series.steps[kept[0]])
    bad = broken(run)
    if bad is not None and bad.step is not None and bad.step <= step:
        return absent(
            f"the loss stops being a number at step {bad.step:g}, grad_norm at step {step:g}", series=names
        )
    if bad is not None and _filtered_mean(loss, step, bad):
        return unknown(
            f"grad_norm stops being a number at step {step:g}, the loss in the next row; the Trainer leaves"
            " NaN out of the mean that it logs, so either may have come first"
        )
    numbers = np.isfinite(loss.values) & (loss.steps >= step)
    if not np.any(numbers):
        return unknown(f"grad_norm stops being a number at step {step:g}; no loss was logged from there on")
    later = "" if bad is None or bad.step is None else f", {bad.step - step:g} steps before the loss"
    return present(
        f"grad_norm stops being a number at step {step:g} while the loss is"
        f" {loss.values[int(np.argmax(numbers))]:.4g}{later}",
        step=step,
        where=(place(series, kept[0]),),
        series=names,
    )


def _filtered_mean(loss: Series, step: float, bad: Broken) -> bool:
    """The row before the first hidden NaN: its mean may have NaN left out (logging_nan_inf_filter)."""
    if loss.masked is None or bad.step is None or not np.any(loss.masked & (loss.steps == bad.step)):
        return False
    return not np.any((loss.steps > step) & (loss.steps < bad.step))


# -------------------------------------------------------------------------------------------- what logs say


@probe()
def framework_stopped(view: View) -> Finding:
    """The log says that the loss is no number."""
    return from_log(
        view.run,
        "non-finite-loss",
        "the framework says that the loss is no number",
        "no such line in the logs",
    )


@probe()
def numeric_warning(view: View) -> Finding:
    """The log warns of an overflow, an invalid value or a division by zero."""
    return from_log(
        view.run,
        "non-finite-value",
        "the log warns of a value that is no number",
        "no such warning in the logs",
    )


@probe()
def overflow_ignored(view: View) -> Finding:
    """The log says that a step with overflow was applied."""
    return from_log(
        view.run, "overflow-ignored", "a step with overflow was applied", "no such line in the logs"
    )


@probe()
def loss_at_log_clamp(view: View, tolerance: float = 0.002) -> Finding:
    """A third of the last values, three at least, equal the logarithm of a clamp."""
    series = situation.main_loss(view.run)
    if series is None:
        return unknown(situation.no_loss(view.run))
    finite = np.flatnonzero(np.isfinite(series.values))
    if len(finite) < 3:
        return unknown(f"{series.name} has {len(finite)} finite points; 3 are needed")
    last = finite[-max(3, len(finite) // 3) :]
    for level, name in CLAMPS:
        at = last[np.abs(series.values[last] / level - 1) <= tolerance]
        if (
            len(at) >= 3
            and len(at) >= 0.33 * len(last)
            and float(np.ptp(series.values[at])) <= tolerance * level
        ):
            return present(
                f"{series.name} stands at {np.median(series.values[at]):.5g} = {name} at"
                f" {len(at)} of its last"
                f" {len(last)} values: a clamped logarithm is saturated",
                value=float(f"{np.median(series.values[at]):.6g}"),
                threshold=level,
                step=float(series.steps[at[0]]),
                where=(place(series, int(at[0])),),
                series=(series.name,),
            )
    return absent(
        f"{series.name} ends at {np.median(series.values[last]):.4g}, not at a clamp", series=(series.name,)
    )
