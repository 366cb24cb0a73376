"""Where the run ends and the benchmark goes on: was the rest worth it?

Comparisons at common steps say nothing about a run that is merely shorter; what the benchmark gains after the
run's last step does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...engine.model import State
from ..assembly import names as quantities
from ..config.in_force import one_process_script
from ..config.values import number_of
from ..curves.epochs import steps_per_epoch
from ..curves.stats import level, noise
from ..events import unfinished
from ..registry import Finding, View, absent, place, present, probe, unknown
from ..run import Floats, Run
from ..settings import last_part, number
from .compare import FLOOR, sides
from .end import end_of_metric, ends_as_well, metric_of_both

_LOSSES = ("train/loss", "eval/loss")


@probe("benchmark")
def stops_before(view: View, ratio: float, gain: float, points: int = 6) -> Finding:
    """The benchmark runs `ratio` times as long, and its loss falls by `gain` after the run's last step.

    A metric that passes the run's only then says the same.

    The fall is a share of the benchmark's loss at that step, at least a tenth of all the ground it covers.
    """
    found = [_judge(view, name, ratio, gain, points) for name in _LOSSES]
    known = [f for f in found if not isinstance(f, str)]
    told = [f for f in known if f.state is State.PRESENT]
    if told and (said := ends_as_well(view)):
        return absent(f"{told[0].why}; {said}", value=told[0].value, where=told[0].where)
    if told and (said := _on_its_way(view)):
        return unknown(f"{told[0].why}; {said}", value=told[0].value, where=told[0].where)
    if not told and (metric := _metric_goes_on(view, ratio)) is not None:
        return metric
    return (told or known)[0] if known else unknown(str(found[0]))


ALIKE = 0.03  # of the loss, by which two seeds lie apart
WHOLE = 0.9  # of the benchmark's length that is planned here as well


def _on_its_way(view: View) -> str:
    """In words, that the run follows the benchmark so far, and is planned as long."""
    planned = number_of(view.run, "max_steps")
    losses, ended = sides(view, "train/loss"), unfinished(view, WHOLE)
    if planned is None or isinstance(losses, str) or ended.state is not State.PRESENT:
        return ""
    (mine, x, y), (_, u, v) = losses
    later = len(x) // 2
    if mine.unit == "epoch" or len(x) < 20 or len(u) < 20 or planned < WHOLE * float(u[-1]):
        return ""
    beside = np.interp(x[later:], u, v)
    if not np.all(beside > 0) or abs(float(np.median(y[later:] / beside)) - 1) > ALIKE:
        return ""
    return f"it follows the benchmark so far, and {planned:g} steps are planned: it may be on its way"


def _metric_goes_on(view: View, ratio: float, absolute: float = 0.01) -> Finding | None:
    """The benchmark runs `ratio` times as long, and its metric passes the run's only after the run's end.

    It has to gain `absolute` (five times that share of an error) and three times its scatter; else None.
    """
    name = metric_of_both(view)
    both = sides(view, name) if name else ""
    if isinstance(both, str) or view.benchmark is None or name is None:
        return None
    (mine, x, _), (theirs, u, v) = both
    ends = end_of_metric(mine), end_of_metric(theirs)
    if not len(x) or len(u) < 4 or ends[0] is None or ends[1] is None:
        return None
    last, end = float(x[-1]), float(u[-1])
    at = int(np.searchsorted(u, last, side="right")) - 1
    passes = _passes(view.run, last), _passes(view.benchmark, end)
    as_long = mine.unit != "epoch" and abs(passes[0] - passes[1]) < 0.1 * passes[1]
    if at < 0 or last <= 0 or end < ratio * last or as_long:
        return None
    quantity = quantities.base(name)
    sign = -1.0 if quantity is not None and quantity.lower else 1.0
    limit = absolute if quantity is not None and quantity.fraction else 5 * absolute * abs(ends[1][0])
    least = max(limit, 3 * ends[1][1])  # of the run's own end, where it still rises, there is no scatter
    if min(sign * (ends[1][0] - ends[0][0]), sign * (ends[1][0] - float(v[at]))) <= least:
        return None
    text = (
        f"the run ends at {mine.unit} {last:g} with {name} {ends[0][0]:.4g}; the benchmark goes on to"
        f" {end:g}, where it has {ends[1][0]:.4g}"
    )
    rest: dict[str, Any] = {"value": ends[0][0], "threshold": ends[1][0], "series": (name,)}
    return present(text, step=last, where=(place(mine, len(mine.steps) - 1),), **rest)


def _judge(view: View, name: str, ratio: float, gain: float, points: int) -> Finding | str:
    both = sides(view, name)
    if isinstance(both, str) or view.benchmark is None:
        return str(both)
    (mine, x, y), (_, u, v) = both
    if not len(x) or len(u) < points:
        return f"the benchmark has fewer than {points} points of {name}"
    if not np.isfinite(mine.values[-1]):
        return f"{name} of the run is no number at its end: where it would have gone on is not known"
    last, end = float(x[-1]), float(u[-1])
    rest: dict[str, Any] = {"threshold": gain, "series": (name,)}
    lengths = f"the run ends at {mine.unit} {last:g}, the benchmark at {end:g}"
    if mine.unit == "unknown":
        lengths = f"the run ends at step {last:g}, the benchmark at {end:g}"
    if last <= 0 or end < ratio * last:
        return absent(lengths, value=0.0, **rest)
    passes = _passes(view.run, last), _passes(view.benchmark, end)
    if mine.unit != "epoch" and abs(passes[0] - passes[1]) < 0.1 * passes[1]:
        return absent(f"{lengths}, both after {passes[1]:.3g} passes over their data", value=0.0, **rest)
    if _as_many_evaluations(view.run, view.benchmark, last / end):
        return absent(f"{lengths}, both after as many evaluations of their epochs", value=0.0, **rest)
    there, final, error = _levels(u, v, last)
    base = max(abs(there), FLOOR * float(np.max(v) - np.min(v)), 1e-12)
    share = (there - final) / base
    fall = 1 - final / there if there > 0 else share  # as the two numbers show it
    text = f"{lengths}, whose {name} falls from {there:.4g} to {final:.4g} in between ({fall:.0%})"
    if gain <= share < OF_A_PLAN * gain and _rate_ran_out(view.run):
        text += "; the run's learning rate had come to its end: a shorter plan, and little is left"
        gain = OF_A_PLAN * gain
    rest |= {"value": round(share, 4), "where": (place(mine, len(mine.steps) - 1),)}
    arrived = _end_of(y)
    if there > final and there - arrived >= ARRIVED * (there - final):
        return absent(f"{text}; the run has come as low by its own end ({arrived:.4g})", **rest)
    if share >= gain and there - final > 3 * error:
        return present(text, step=last, **rest)
    return absent(text, **rest)


ARRIVED = 0.9  # of the way that the benchmark goes on after the run's last step, gone by the run before it


def _end_of(values: Floats) -> float:
    """The middle of the last tenth of a curve."""
    return float(np.median(values[-max(1, len(values) // 10) :]))


OF_A_PLAN = 3.0  # times the gain that counts where the schedule was over
OVER = 0.02  # of the highest rate


def _rate_ran_out(run: Run) -> bool:
    """The learning rate came down to next to nothing at the run's end, by its own schedule."""
    rate = run.series.get("learning_rate")
    if rate is None or len(rate) < 3 or not np.all(np.isfinite(rate.values)):
        return False
    return bool(rate.values[-1] <= OVER * np.max(rate.values))


def _passes(run: Run, last: float) -> float:
    """How many epochs the run had made at this step; NaN where the steps of one are not known."""
    length = steps_per_epoch(run)
    return last / length[0] if length is not None else float("nan")


def _as_many_evaluations(run: Run, benchmark: Run, share: float, least: int = 5) -> bool:
    """Both sides evaluate equally often, at intervals as different as their lengths: once per epoch."""
    for name in ("eval/loss", "eval/accuracy"):
        mine, theirs = run.series.get(name), benchmark.series.get(name)
        if mine is None or theirs is None or len(mine) < least or len(mine) != len(theirs):
            continue
        gaps = float(np.median(np.diff(mine.steps))), float(np.median(np.diff(theirs.steps)))
        if gaps[1] > 0 and abs(gaps[0] / gaps[1] / share - 1) < 0.1:
            return True
    return False


def _levels(u: Floats, v: Floats, last: float) -> tuple[float, float, float]:
    """The benchmark's level around the run's last step and at its own end, with the error of both."""
    at = max(0, int(np.searchsorted(u, last, side="right")) - 1)
    width = max(1, round(0.1 * at), round(0.05 * len(u)) if at > 5 else 1)
    first = max(0, at - width + 1)
    count = max(1, round(0.1 * len(u)))
    sigma = noise(v[len(v) // 3 :]) if len(v) >= 12 else noise(v)
    early, late = level(v, first, at, sigma), level(v, len(v) - count, len(v) - 1, sigma)
    return early.value, late.value, float(np.hypot(early.error, late.error))


_LENGTH = ("steps_per_epoch", "iters_per_epoch", "batches_per_epoch", "limit_train_batches", "epoch_length")


def _told_length(run: Run) -> float | None:
    """How many steps settings call an epoch."""
    told = (s for s in run.raw_settings if last_part(s.key) in _LENGTH and not isinstance(s.value, tuple))
    return next((n for s in told if (n := number(s.value)) is not None), None)


@probe("benchmark")
def epoch_shorter(view: View, ratio: float) -> Finding:
    """An epoch has fewer steps than the benchmark's, by `ratio` or more, at an equal batch.

    The same files, batch and number of processes make the same number of steps: fewer mean that samples are
    left out. The batch has to be known on both sides, or all settings of the two have to agree on it.
    """
    if view.benchmark is None:
        return unknown("needs a benchmark run (--benchmark)")
    mine, theirs = steps_per_epoch(view.run), steps_per_epoch(view.benchmark)
    if mine is None or theirs is None:
        return unknown(f"the steps of an epoch are not known in the {'run' if mine is None else 'benchmark'}")
    text = f"an epoch has {mine[0]:.4g} steps, in the benchmark {theirs[0]:.4g}"
    rest: dict[str, Any] = {"value": mine[0], "threshold": theirs[0] / ratio}
    for key in ("global_batch_size", "batch_size", "world_size", "gradient_accumulation_steps"):
        sides = number_of(view.run, key), number_of(view.benchmark, key)
        if sides[0] != sides[1]:
            return unknown(f"{text}; {key} is {sides[0]} and {sides[1]}", **rest)
    if number_of(view.run, "global_batch_size") is None:
        return unknown(f"{text}; the batch is not known", **rest)
    told = [_told_length(r) for r in (view.run, view.benchmark)]
    if any(told) and told[0] != told[1]:
        return unknown(
            f"{text}; the settings ask for {told[0] or 'all'} and {told[1] or 'all'} steps", **rest
        )
    times = theirs[0] / max(mine[0], 1e-9)
    counted = number_of(view.run, "world_size") is not None or one_process_script(view.run) is not None
    if not counted and times > 1.9 and abs(times / round(times) - 1) < 0.01:
        return unknown(
            f"{text}: {round(times)} times as many processes do that, and they are not counted", **rest
        )
    apart = theirs[0] - mine[0]
    if mine[0] * ratio <= theirs[0] and apart > 2 * (mine[1] + theirs[1]):
        return present(text, **rest)
    return absent(text, **rest)
