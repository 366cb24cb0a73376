"""Patterns of the training loss that repeat: epochs alike, drops at their boundaries, jumps at a resume."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np

from ..registry import Finding, absent, present, unknown
from ..run import Floats, Run
from . import situation, stats
from .judging import is_mean_of_epochs, on_loss, see
from .shapes import Shape, shape

SHORT = 4  # points that an epoch has at least for its course to be compared
UNLIKELY = (
    2e-4  # how rarely courses agree so well by chance; of 600 recorded runs that shuffle two come below
)
AGAIN = 6  # epochs that such an agreement is told from


def _epochs(run: Run, curve: Shape) -> Floats | None:
    """The epoch (from 0) of each finite point, or None where it cannot be known."""
    if curve.series.epochs is not None:
        values = curve.series.epochs[curve.index]
        if np.all(np.isfinite(values)) and np.all(np.diff(values) >= 0):
            whole = bool(np.all(values == np.floor(values)))
            return values - values[0] if whole else np.floor(np.maximum(values - 1e-9, 0))
        return None
    length = situation.number(run, "steps_per_epoch")
    if length and length > 1 and curve.series.unit in situation.STEPS:
        return np.floor(np.maximum(curve.x - 1e-9, 0) / length)
    length = _epoch_length(run, curve)
    if length is not None:
        return np.floor(np.maximum(curve.x - 1e-9, 0) / length)
    logged = run.series.get("epoch")
    if logged is not None and len(logged) > 1 and np.all(np.diff(logged.steps) > 0):
        return np.floor(np.interp(curve.x, logged.steps, logged.values) + 1e-9)
    return None


def _between_evaluations(run: Run, curve: Shape) -> Floats | None:
    """Which evaluation each finite point comes before, where `AGAIN` of them or more come at equal distances.

    Most scripts evaluate at the end of each epoch; where a setting says otherwise, None.
    """
    held = run.series.get("eval/loss") or run.series.get("eval/accuracy")
    if held is None or len(held) < AGAIN or held.unit != curve.series.unit or "eval_steps" in run.settings:
        return None
    gaps = np.diff(held.steps)
    if np.ptp(gaps) > 0 or gaps[0] <= 1 or held.steps[0] != gaps[0]:
        return None
    before: Floats = np.floor(np.maximum(curve.x - 1e-9, 0) / float(gaps[0]))
    return before


def _epoch_length(run: Run, curve: Shape) -> float | None:
    """Steps per epoch: from the sizes of data set and batch, or one evaluation at the end of each epoch."""
    if curve.series.unit not in (*situation.STEPS, "unknown"):
        return None
    samples, batch = situation.number(run, "train_samples"), situation.number(run, "global_batch_size")
    epochs, last = situation.number(run, "epochs"), float(curve.series.steps[-1])  # points that are NaN count
    if samples and batch and epochs and abs(last * batch / (samples * epochs) - 1) < 0.1:
        return last / epochs
    for name in ("eval/loss", "eval/accuracy"):
        held = run.series.get(name)
        if held is None or not epochs or len(held) != epochs or len(held) < 3:
            continue
        gaps = np.diff(held.steps)
        if np.ptp(gaps) == 0 and abs(held.steps[-1] - last) <= gaps[0] / 2 and gaps[0] > 1:
            return float(gaps[0])
    return None


def _by_epoch(run: Run, curve: Shape, points: int) -> list[Floats] | None:
    """The values of each complete epoch with at least `points` points."""
    numbers = _epochs(run, curve)
    if numbers is None:
        numbers = _between_evaluations(run, curve)
    if numbers is None:
        return None
    order = np.argsort(numbers, kind="stable")  # there may be as many epochs as points
    parts = np.split(curve.y[order], np.unique(numbers[order], return_index=True)[1][1:])
    size = float(np.median([len(p) for p in parts]))
    return [p for p in parts if len(p) >= max(points, 0.9 * size)]


GREW = 10.0  # the last number over the least before it: nothing about a sample makes a loss swell first


@on_loss(1)
def not_finite_in_first_epoch(run: Run, curve: Shape) -> Finding:
    """The loss stops being a number before one whole epoch has passed.

    One epoch shows every sample of a fixed data set once: what is wrong with a sample comes up in it.
    """
    values = curve.series.values
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad) == 0:
        return unknown(f"{curve.name} is a number throughout")
    numbers = _epochs(run, curve)
    if numbers is None:
        return unknown("where epochs begin is not known")
    before = numbers[curve.index < bad[0]]
    if len(before) == 0:
        return unknown(f"{curve.name} was never a number before: no sample need have done it")
    passed = is_mean_of_epochs(curve) or bool(before[-1] >= 1)
    known = curve.y[curve.index < bad[0]]
    if len(known) > 1 and known[-1] > GREW * np.min(np.abs(known[:-1])) > 0:
        return unknown(f"{curve.name} grew to {known[-1]:.4g} before: it left the numbers by its size")
    words = f"{curve.name} is no number from point {bad[0] + 1} on"
    if passed:
        return absent(f"{words}, after whole epochs of numbers", value=float(before[-1]), threshold=1)
    return present(f"{words}, within the first epoch", value=0, threshold=1, **_first_bad(curve, int(bad[0])))


def _first_bad(curve: Shape, at: int) -> dict[str, Any]:
    return {"step": float(curve.series.steps[at]), "series": (curve.name,)}


@on_loss(2)
def updates_few(run: Run, curve: Shape, limit: float = 100.0) -> Finding:
    """The run ends after fewer than `limit` optimizer steps, as planned, and does not fine-tune.

    Only a log that names its counter a step is read so; where as many epochs are configured, the counter may
    be one of epochs.
    """
    if curve.series.unit not in situation.STEPS:
        return unknown(f"{curve.name} is not logged over steps")
    last = float(np.max(curve.series.steps))
    words = f"{curve.name} ends at step {last:g}"
    seen: dict[str, Any] = {"value": last, "threshold": limit, "series": (curve.name,)}
    if last >= limit:
        return absent(words, **seen)
    if not np.isfinite(curve.series.values[-1]):
        return unknown(f"{words}, where it is no number: that is not for want of updates", **seen)
    epochs, share = situation.number(run, "epochs"), situation.planned_share(run, curve.series)
    if why := situation.reinforced(run):
        return unknown(f"{words}; {why}, and an iteration may take many updates", **seen)
    if epochs is not None and epochs >= last:
        return unknown(f"{words}, which may be an epoch ({epochs:g} are configured)", **seen)
    if share is not None and share < 0.9:
        return unknown(f"{words}, {share:.0%} of the planned run", **seen)
    own = situation.resumed_itself(run)
    tuned = ("pretrained", "adapter", "lora_rank", *(() if own else ("resume_from",)))
    if any(situation.switched_on(run, key) for key in tuned):
        return unknown(f"{words}, and it fine-tunes: that can be enough", **seen)
    where = see(curve, curve.count - 1)["where"]
    return present(f"{words}: fewer than {limit:g} updates", where=where, step=last, **seen)


@on_loss(24)
def epoch_sawtooth(
    run: Run, curve: Shape, correlation: float = 0.3, epochs: int = 3, least: int = 16
) -> Finding:
    """The course inside an epoch, its trend taken away, is the same from epoch to epoch.

    `least`: how many values have to be free to agree or not, beyond those of the first epoch and the trends.
    Epochs of four to seven points need to be many and alike throughout; the first, in which most is learned,
    does not count there. Many epochs that agree less, but better than by chance (Friedman's test, of
    judges that agree on ranks), are a pattern as well.
    """
    if curve.series.window == "running-mean":
        return unknown(f"{curve.name} is a running mean, which starts anew in every epoch")
    parts = _by_epoch(run, curve, SHORT)
    if parts is not None and curve.series.window == "mean-since-last":
        parts = [p[1:] for p in parts if len(p) > SHORT]  # the first of an epoch is a mean over its beginning
    size = min((len(p) for p in parts), default=0) if parts else 0
    few = SHORT <= size < 8
    if parts is not None and few:
        parts = parts[1:]
    if parts is None or len(parts) < epochs + 2 * few:
        found = "not known" if parts is None else f"{len(parts)} with {SHORT} points or more"
        return unknown(f"epochs in {curve.name}: {found}; {epochs} are needed, of short ones {epochs + 3}")
    free = (min(32, size) - _taken(size)) * (len(parts) - 1)
    if free < least:
        return unknown(
            f"{len(parts)} epochs of {len(parts[0])} points of {curve.name} are too few to compare"
        )
    alike, elsewhere = _likeness(parts[-16:])
    usual, spread = float(np.mean(elsewhere)), max(float(np.std(elsewhere)), 0.02)
    seen: dict[str, Any] = {"value": round(alike, 3), "threshold": correlation, "series": (curve.name,)}
    words = (
        f"the courses of {curve.name} inside {len(parts)} epochs correlate by {alike:.2f}"
        f" (by {usual:.2f} ± {spread:.2f} when shifted against each other)"
    )
    clear = alike > 1.3 * float(np.max(elsewhere)) and (alike >= 0.8 or alike > usual + 2.5 * spread)
    needed = 0.8 if few else max(correlation, 0.95 / len(parts) ** 0.5)
    middle, last = curve.step(curve.count // 2), curve.step(-1)
    if few and _bends_all_along(parts):
        return absent(f"{words}, and so it bends across their boundaries", **seen)
    if not situation.rate_jumps(run, middle, last, 2.0):
        if alike >= needed and clear:
            return present(words, step=curve.step(0), **seen)
        # the last batch may hold few samples: what is alike there alone is no order
        inner = min(alike, _likeness([p[: len(p) - 1] for p in parts[-16:]])[0]) if not few else alike
        chance = _chance(inner, len(parts[-16:]), min(32, size) - _taken(size))
        if (
            chance < UNLIKELY
            and len(parts) >= AGAIN
            and usual < alike
            and not situation.bottomless(curve.series)
        ):
            return present(
                f"{words}, by chance once in {1 / max(chance, 1e-9):,.0f} runs", step=curve.step(0), **seen
            )
    return absent(words, **seen)


def _bends_all_along(parts: list[Floats]) -> bool:
    """Whether stretches from the middle of one epoch to the middle of the next have the course of epochs.

    A loss that falls smoothly bends alike wherever it is looked at; what epochs make turns with their start,
    and is not small beside the whole fall.
    """
    fall = abs(float(np.mean(parts[0]) - np.mean(parts[-1])))
    if float(np.mean([np.std(p) for p in parts])) > 0.3 * fall:
        return False
    size = min(len(p) for p in parts)
    whole = np.concatenate(parts)
    within = np.mean([_pattern(p, size) for p in parts], axis=0)
    starts = np.cumsum([len(p) for p in parts[:-1]]) - size // 2
    across = np.mean([_pattern(whole[s : s + size], size) for s in starts], axis=0)
    spread = float(np.std(within) * np.std(across))
    return spread > 0 and float(np.mean(within * across)) > 0.8 * spread


def _taken(size: int) -> int:
    """How many values of an epoch's course of `size` points its trend takes."""
    return 4 if size >= 8 else 2


def _chance(alike: float, count: int, free: int) -> float:
    """How often `count` courses of `free` values agree so well by chance: their pairs correlate by `alike`.

    Friedman's test: `count * free * W` of Kendall's W, which the mean correlation of all pairs gives, is
    distributed as chi squared with `free` degrees of freedom.
    """
    agreement = free * max(0.0, 1.0 + (count - 1) * alike)
    odd = free % 2
    chance = math.erfc(math.sqrt(agreement / 2)) if odd else math.exp(-agreement / 2)
    for k in range(1 if odd else 2, free, 2):
        chance += math.exp(
            k / 2 * math.log(max(agreement, 1e-300) / 2) - agreement / 2 - math.lgamma(k / 2 + 1)
        )
    return chance


def _likeness(parts: list[Floats]) -> tuple[float, Floats]:
    """The mean correlation between the courses of all pairs of epochs, and the same for shifted courses.

    The shifted ones tell what chance makes of courses that are smooth in themselves.
    """
    size = min(32, min(len(p) for p in parts))
    patterns = np.array([_pattern(p, size) for p in parts])
    count = len(patterns)
    shifts = range(max(2, size // 8), size - max(2, size // 8) + 1)

    def mean(shift: int) -> float:
        products = patterns @ np.roll(patterns, shift, axis=1).T / size
        return float((np.sum(products) - np.trace(products)) / (count * (count - 1)))

    return mean(0), np.array([mean(s) for s in shifts])


def _pattern(values: Floats, size: int) -> Floats:
    """The course inside an epoch: `size` medians, their slow change taken away, as standardised ranks.

    Slow change (a cubic) is common to epochs for another reason: the drop at the boundary wears off. Of a few
    points only a line is taken away.
    """
    medians = stats.block_medians(values, stats.block_edges(len(values), size))
    at = np.linspace(-1, 1, size)
    rest = medians - np.polyval(np.polyfit(at, medians, 3 if size >= 8 else 1), at)
    if float(np.std(rest)) < 1e-9 * max(float(np.max(np.abs(medians))), 1e-12):
        return np.zeros(size)
    ranks = np.argsort(np.argsort(rest)) - (size - 1) / 2
    standard: Floats = ranks / np.std(ranks)
    return standard


@on_loss(18)
def drops_at_epochs(run: Run, curve: Shape, share: float = 0.5) -> Finding:
    """`share` of the whole fall happens from one epoch's last points to the next one's first."""
    parts = _by_epoch(run, curve, 6)
    if parts is None or len(parts) < 3:
        found = "not known" if parts is None else f"{len(parts)} with 6 points or more"
        return unknown(f"epochs in {curve.name}: {found}; 3 are needed")
    edge = max(2, min(len(p) for p in parts) // 6)
    ends = [(float(np.median(p[:edge])), float(np.median(p[-edge:]))) for p in parts]
    steps = np.array([before[1] - after[0] for before, after in pairwise(ends)])
    whole = ends[0][0] - ends[-1][1]
    error = stats.MEDIAN_ERROR * curve.sigma_tail * (2 / edge) ** 0.5
    part = float(np.sum(steps)) / whole if whole > 0 else 0.0
    seen: dict[str, Any] = {"value": round(part, 3), "threshold": share, "series": (curve.name,)}
    words = f"{part:.0%} of the fall of {curve.name} happens at the {len(steps)} epoch boundaries"
    if (
        part >= share
        and float(np.median(steps)) > 3 * error
        and np.mean(steps > 0) >= 0.8
        and curve.progress > 0.1
    ):
        return present(words, step=curve.step(0), **seen)
    return absent(words, **seen)


@on_loss(6)
def jumps_at_resume(run: Run, curve: Shape, relative: float = 0.2) -> Finding:
    """The level after a resume differs from that before by `relative` of it and by four times its noise.

    Levels are those of the ten points on either side, and of the three next to it: a loss that falls fast is
    soon back where it was.

    A lower level is one only where held-out data do not gain about as much: samples that come again help
    those alone that are trained on (FIELD-PROBLEMS P24).
    """
    resumes = [e for e in run.events_of("resume", "rewind") if e.step is not None or e.value is not None]
    if not resumes:
        late = situation.trained_start(run, curve)
        if (
            run.events_of("resume")
            or (late and "begins at step" in late)
            or situation.switched_on(run, "resume_from")
        ):
            return unknown("the run was resumed, but the step is not known or lies before the log")
        return absent("no resume is seen in the logs", series=(curve.name,))
    worst: tuple[float, float, float, float, int] | None = None
    for event in resumes:
        step = event.step if event.step is not None else event.value
        found = _around(curve, float(step or 0.0))
        at_once = _around(curve, float(step or 0.0), _AT_ONCE)
        if at_once is not None and found is not None and _clear(at_once):
            found = max(found, at_once, key=lambda one: abs(one[0]))
        if found is not None and (worst is None or abs(found[0]) > abs(worst[0])):
            worst = found
    sunk = situation.bottomless(curve.series)
    if worst is None or sunk:
        return unknown(sunk or "there are too few points of the loss on both sides of the resume")
    jump, before, after, error, point = worst
    seen: dict[str, Any] = {"value": round(jump, 4), "threshold": relative}
    words = (
        f"{curve.name} is {before:.4g} before the resume at step {curve.step(point):g} and"
        f" {after:.4g} after it"
    )
    if abs(jump) >= relative and abs(after - before) > 4 * error:
        held = _fall_of_held_out(run, curve.step(point)) if jump < 0 else None
        if held is not None and held <= _LEARNED * jump:
            return absent(f"{words}; eval/loss falls with it, by {-held:.0%}", series=(curve.name,), **seen)
        return present(words, step=curve.step(point), **seen, **see(curve, point))
    return absent(words, series=(curve.name,), **seen)


_LEARNED = 0.5  # of the training loss's fall: where held-out data fall by as much, the model has learned


def _fall_of_held_out(run: Run, step: float) -> float | None:
    """How far eval/loss after a step lies from the value before, relative; None where it is not logged."""
    held = run.series.get("eval/loss")
    if held is None:
        return None
    point = int(np.searchsorted(held.steps, step, side="right"))
    if not 0 < point < len(held):
        return None
    before, after = float(held.values[point - 1]), float(held.values[point])
    fall = (after - before) / max(abs(before), 1e-300)
    return fall if math.isfinite(fall) else None


_AT_ONCE = 3  # points next to a resume


def _clear(found: tuple[float, float, float, float, int]) -> bool:
    """Whether a rise of few points is beyond doubt: to twice the level, by six times its noise.

    A fall of few points is what learning looks like.
    """
    jump, before, after, error, _ = found
    return jump >= 1.0 and after - before > 6 * error


def _around(curve: Shape, step: float, most: int = 10) -> tuple[float, float, float, float, int] | None:
    """(relative jump, level before, level after, error, first point after) at a step."""
    point = int(np.searchsorted(curve.x, step))
    point += bool(most == _AT_ONCE and point < curve.count and curve.x[point] == step)
    count = min(most, point, curve.count - point)
    if count < 2:
        return None
    before, after = curve.y[point - count : point], curve.y[point : point + count]
    low, high = float(np.median(before)), float(np.median(after))
    sigma = max(stats.deviation(before), stats.noise(curve.y[max(0, point - 50) : point]))
    error = stats.MEDIAN_ERROR * sigma * (2 / count) ** 0.5
    return (high - low) / max(abs(low), 1e-300), low, high, error, point


@on_loss()
def repeats_exactly(_run: Run, curve: Shape, digits: int = 6) -> Finding:
    """The values come again, digit by digit, after a fixed number of points, or are all the same.

    Coincidence is ruled out by information: the repeated digits must be many (`digits` and more), and a value
    that only stands, as rounded ones of a slow curve do, has none.
    """
    if np.all(curve.y == 0):
        return unknown(f"{curve.name} is zero throughout")
    written = max(stats.significant_digits(float(v)) for v in curve.y[:200])
    seen: dict[str, Any] = {"threshold": digits, "series": (curve.name,)}
    if np.all(curve.y == curve.y[0]):
        words = f"all {curve.count} values of {curve.name} are {curve.y[0]:.10g}"
        if written >= digits - 1:
            return present(words, value=curve.count, step=curve.step(0), where=see(curve, 0)["where"], **seen)
        return unknown(f"{words}, written with {written} digits only")
    period = _period(curve.y)
    if period is None:
        return absent(
            f"{curve.name} has {len(np.unique(curve.y))} different values in {curve.count} points", **seen
        )
    equal = int(np.sum(curve.y[period:] == curve.y[:-period]))
    again = (curve.y[period:] == curve.y[:-period]) & (curve.y[period:] != curve.y[period - 1 : -1])
    known = int(np.sum(again)) * max(0.0, math.log10(max(len(np.unique(curve.y)), 1)))
    words = f"{equal} of {curve.count - period} values of {curve.name} are those of {period} points before"
    if known >= digits and written >= 4:
        return present(words, value=equal, step=curve.step(period), where=see(curve, period)["where"], **seen)
    return unknown(f"{words}, written with {written} digits only")


def _period(y: Floats) -> int | None:
    """The number of points after which nine of ten values come again, if there is one (two periods seen)."""
    first = np.flatnonzero(y[1:] == y[0])[:50] + 1
    for candidate in first.tolist():
        if candidate >= 2 and len(y) >= 2 * candidate and np.mean(y[candidate:] == y[:-candidate]) >= 0.9:
            return int(candidate)
    return None


def steps_per_epoch(run: Run) -> tuple[float, float] | None:
    """How many steps one epoch has, and how far that may be off, or None where it cannot be known."""
    said = situation.number(run, "steps_per_epoch")
    if said and said > 1:
        return said, 0.5
    series = situation.main_loss(run)
    curve = shape(series) if series is not None else None
    if curve is None or curve.series.unit not in (*situation.STEPS, "unknown"):
        return None
    epochs = curve.series.epochs
    if epochs is not None and np.all(np.isfinite(epochs)) and np.all(np.diff(epochs) >= 0):
        return _by_numbers(curve.series.steps, epochs)
    length = _epoch_length(run, curve)
    if length is not None:
        return length, 1.0
    return None


def _by_numbers(steps: Floats, epochs: Floats) -> tuple[float, float] | None:
    """From the epoch beside each step: the slope, or the distance of the first steps of whole epochs."""
    interval = float(np.median(np.diff(steps))) if len(steps) > 1 else 0.0
    if np.any(epochs != np.floor(epochs)):
        passed = float(epochs[-1] - epochs[0])
        length = float(steps[-1] - steps[0]) / passed if passed > 0.5 else 0.0
        return (length, max(1.0, 0.02 * length)) if length > 1 else None
    _, first = np.unique(epochs, return_index=True)
    if len(first) < 3 or interval <= 0:
        return None
    return float(steps[first[-1]] - steps[first[0]]) / (len(first) - 1), 2 * interval / (len(first) - 1)
