"""The dynamic loss scale of a run: its course, the level it found, the steps it skipped.

A scaler begins high and halves at each overflow until gradients fit: that is its calibration. Afterwards it
tries a doubling every so often, and takes it back at the next overflow.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...engine.model import Place, State
from ..registry import Finding, View, absent, place, place_of, present, unknown
from ..run import Event, Floats, Run, Series
from . import situation
from .judging import from_log, probe

HOLD = 10.0  # steps for which a scale must stand to have found its level
EARLY = 100  # a first logged scale up to this step counts as the one that training began with
PROBED = 0.2  # no such share of steps goes to doublings that are tried, unless that is all the time
QUICK = 60  # steps within which four halvings are one storm


@dataclass(frozen=True, slots=True)
class Fall:
    """A fall of the scale after it had found its level."""

    high: float
    low: float
    begins: int
    storm: bool

    @property
    def halvings(self) -> float:
        """How often the scale was halved, net."""
        return math.log2(self.high / max(self.low, 1e-300))


@dataclass(frozen=True, slots=True, eq=False)
class Scale:
    """The logged scales in order. `found` is the index where the first level was found, None if never."""

    steps: Floats
    values: Floats
    place: Callable[[int], Place]  # where scale number i stands
    series: tuple[str, ...]
    found: int | None

    @property
    def dynamic(self) -> bool:
        """Whether the scale changes at all."""
        return bool(np.ptp(self.values) > 0)

    @property
    def from_the_start(self) -> bool:
        """Whether the first logged scale is the one that training began with, as far as its step tells."""
        first = self.step(0)
        return first is not None and first <= EARLY

    def step(self, at: int) -> float | None:
        """The step of a logged scale, where it is known."""
        return float(self.steps[at]) if np.isfinite(self.steps[at]) else None

    def deepest_fall(self) -> Fall | None:
        """The deepest fall from an earlier level after calibration."""
        if self.found is None or self.found >= len(self.values) - 1:
            return None
        values = np.maximum(self.values[self.found :], 1e-300)
        levels = _settled(values)
        depth = np.log2(levels / values)
        at = int(np.argmax(depth))
        if depth[at] <= 0:
            return None
        begins = int(np.flatnonzero(values[: at + 1] >= levels[at])[-1])
        storm = _storm(self.steps[self.found :][: at + 1], values[: at + 1])
        return Fall(float(levels[at]), float(values[at]), self.found + begins, storm)


def _settled(values: Floats) -> Floats:
    """At each point the highest scale so far that was not a mere trial (held for two values at least)."""
    held = np.minimum(values, np.concatenate([values[1:], values[-1:]]))
    return np.maximum.accumulate(np.maximum(held, np.concatenate([values[:1], held[:-1]])))


def _storm(steps: Floats, values: Floats) -> bool:
    """Whether the last four halvings came within sixty steps (or logged rows), without a rise."""
    high = np.flatnonzero(values >= 16 * values[-1])
    if not len(high):
        return False
    top = int(high[-1])
    rows = len(values) - 1 - top
    known = np.all(np.isfinite(steps[top:]))
    interval = max(1.0, float(np.median(np.diff(steps)))) if known and len(steps) > 20 else 1.0
    span = float(steps[-1] - steps[top]) / interval if known else float(rows)
    return span <= QUICK and bool(np.all(np.diff(values[top:]) <= 0))


@lru_cache(maxsize=8)  # many probes ask, about the same run
def scale(run: Run, infinite: bool = False) -> Scale | None:
    """The course of the loss scale from its series, or from what events say; None where neither does."""
    series = run.series.get("loss_scale")
    if series is not None:
        keep = (
            ~np.isnan(series.values) & (series.values > 0)
            if infinite
            else np.isfinite(series.values) & (series.values > 0)
        )
        index = np.flatnonzero(keep)
        if len(index) >= 2:
            steps, values = series.steps[index], series.values[index]
            where = _places_in(series, index)
            return Scale(steps, values, where, (series.name,), _found(steps, values))
    events = [
        e
        for e in run.events_of("overflow", "loss-scale", "skipped-step")
        if e.value is not None
        and e.value > 0
        and (e.kind != "skipped-step")
        and (infinite or math.isfinite(e.value))
    ]
    if len(events) < 2:
        return None
    steps = np.array([math.nan if e.step is None else e.step for e in events])
    values = np.array([float(e.value or 0.0) for e in events])
    places = tuple(Place(e.file, e.line, e.step, e.rank) for e in events)
    return Scale(steps, values, places.__getitem__, (), _found(steps, values))


def _places_in(series: Series, index: NDArray[np.intp]) -> Callable[[int], Place]:
    """The places of some points of a series, made when asked for: there may be millions."""
    return lambda number: place(series, int(index[number]))


def _found(steps: Floats, values: Floats) -> int | None:
    """The first index whose scale stands for `HOLD` steps or is followed by a rise; None if it only falls."""
    known = steps if np.all(np.isfinite(steps)) else np.arange(len(steps), dtype=float)
    start = 0
    for i in range(1, len(values)):
        if values[i] > values[i - 1]:
            return i - 1
        if values[i] < values[i - 1]:
            start = i
        if known[i] - known[start] >= HOLD:
            return start
    return None


@dataclass(frozen=True, slots=True, eq=False)
class Skips:
    """Skipped steps: their numbers, how many each row stands for, and the span of steps that was logged."""

    steps: Floats
    counts: Floats
    place: Callable[[int], Place]  # where row number i stands
    series: tuple[str, ...]
    first: float
    last: float
    interval: float
    rows_hold_many: bool = False  # `counts` says how many of the `interval` steps before a row were skipped

    def trailing(self) -> tuple[int, int]:
        """(number, index of the first) of the skipped steps in a row at the end of the log."""
        full = self.counts >= (0.8 * self.interval if self.rows_hold_many else 0.0)
        if not len(self.steps) or not full[-1] or self.steps[-1] < self.last - self.interval * 1.01:
            return 0, 0
        at = len(self.steps) - 1
        while at > 0 and full[at - 1] and self.steps[at] - self.steps[at - 1] <= self.interval * 1.01:
            at -= 1
        return len(self.steps) - at, at


@lru_cache(maxsize=8)
def skips(run: Run) -> Skips | None:
    """The skipped steps by the overflow or skipped series, events or halvings of the scale; None without."""
    for name in ("overflow", "skipped"):
        series = run.series.get(name)
        if series is not None and len(series) >= 2:
            return _from_series(series, per_row="megatron" in str(run.facts.get("framework")).lower())
    return _from_events(run) or _from_scale(run)


def _from_scale(run: Run) -> Skips | None:
    """Each halving of a logged scale is a skipped step; several may lie between two rows."""
    series = run.series.get("loss_scale")
    trace = scale(run) if series is not None else None
    if series is None or trace is None or not trace.dynamic or not np.all(np.isfinite(trace.steps)):
        return None
    halved = np.log2(trace.values[:-1] / trace.values[1:])
    counts = np.concatenate([[0.0], np.where(halved > 0, np.maximum(np.round(halved), 1.0), 0.0)])
    interval = max(1.0, float(np.median(np.diff(trace.steps))))
    index = np.flatnonzero(counts > 0)
    return Skips(
        trace.steps[index],
        np.minimum(counts[index], interval),
        lambda number: trace.place(int(index[number])),
        trace.series,
        float(trace.steps[0]),
        float(trace.steps[-1]),
        interval,
        rows_hold_many=True,
    )


def _from_series(series: Series, per_row: bool) -> Skips:
    counts = np.where(np.isfinite(series.values), series.values, 0.0)
    if series.name == "overflow":
        counts = (counts > 0).astype(float)
    elif not per_row and np.all(np.diff(counts) >= 0) and counts[-1] > 0:
        counts = np.diff(counts, prepend=0.0)  # a running total
    index = np.flatnonzero(counts > 0)
    interval = float(np.median(np.diff(series.steps))) if len(series) > 1 else 1.0
    return Skips(
        series.steps[index],
        counts[index],
        _places_in(series, index),
        (series.name,),
        float(series.steps[0]),
        float(series.steps[-1]),
        interval,
    )


def _from_events(run: Run) -> Skips | None:
    found: dict[float, tuple[float, Place]] = {}
    for event in run.events_of("overflow", "skipped-step"):
        if event.step is None:
            continue
        count = event.value if event.kind == "skipped-step" and event.value is not None else 1.0
        known = found.get(event.step)
        if known is None or count > known[0]:
            found[event.step] = (count, Place(event.file, event.line, event.step, event.rank))
    if not found:
        return None
    steps = np.array(sorted(found))
    loss = situation.main_loss(run)
    ends = [float(steps[0]), float(steps[-1])]
    if loss is not None and len(loss):
        ends += [float(np.min(loss.steps)), float(np.max(loss.steps))]
    gaps = np.diff(steps)
    interval = float(np.min(gaps)) if len(gaps) else 1.0
    return Skips(
        steps,
        np.array([found[s][0] for s in steps.tolist()]),
        [found[s][1] for s in steps.tolist()].__getitem__,
        (),
        min(ends),
        max(ends),
        interval,
    )


def calibrated(run: Run) -> float | None:
    """The step at which the scale had found its first level, or None where that is not known.

    At most `EARLY` steps count: by halving (every second overflow in DeepSpeed) a scale comes from 2^40 to 1
    in fewer, so a longer way is no calibration but a fault of the scaler.
    """
    trace = scale(run)
    if trace is None or trace.found is None:
        return None
    first, found = trace.step(0), trace.step(trace.found)
    return found if found is None or first is None else min(found, first + EARLY)


def only_probing(run: Run) -> bool:
    """Whether the scale only tries doublings and takes them back: as many rises as falls, and no net fall."""
    window = situation.number(run, "loss_scale_window")
    trace = scale(run)
    if trace is None or trace.found is None or len(trace.values) - trace.found < 4:
        return False
    change = np.diff(np.log2(np.maximum(trace.values[trace.found :], 1e-300)))
    rises, falls = int(np.sum(change > 0)), int(np.sum(change < 0))
    fall = trace.deepest_fall()
    steady = fall is None or fall.halvings <= 2.01
    return steady and rises >= 1 and falls <= 1.5 * rises + 2 and (window is None or window > 1)


# ------------------------------------------------------------------------------------------------- probes


def _powers(value: float) -> str:
    """A loss scale as people say it: 65536 -> 2^16."""
    power = math.log2(value) if value > 0 else -math.inf
    return f"2^{power:.0f}" if value >= 4 and abs(power - round(power)) < 1e-9 else f"{value:g}"


def _scale_finding(trace: Scale, at: int, why: str, value: float, threshold: float) -> Finding:
    step = trace.step(at)
    return present(
        why,
        value=float(f"{value:.5g}"),
        threshold=threshold,
        step=step,
        where=(trace.place(at),),
        series=trace.series,
    )


_USUAL_START = 2.0**16  # where GradScaler begins: a scale above it is on its way down to its level


@probe()
def loss_scale_collapses(view: View, halvings_beyond_calibration: float = 4) -> Finding:
    """Once found, the scale's level falls by that many halvings, in one go or down to almost nothing."""
    trace = scale(view.run)
    if trace is None:
        return unknown("no dynamic loss scale was logged")
    if not trace.dynamic:
        return absent(f"the loss scale is {_powers(float(trace.values[0]))} throughout", series=trace.series)
    fall = trace.deepest_fall()
    limit = float(halvings_beyond_calibration)
    if (
        fall is not None
        and fall.halvings >= limit
        and fall.low < _USUAL_START
        and (fall.storm or fall.low <= 2 or (fall.halvings >= 2 * limit and fall.low <= 64))
    ):
        return _scale_finding(
            trace,
            fall.begins,
            f"the loss scale falls from {_powers(fall.high)} to {_powers(fall.low)},"
            f" {fall.halvings:.0f} halvings"
            f" after it had found its level",
            fall.halvings,
            limit,
        )
    first, low = float(trace.values[0]), float(np.min(trace.values))
    if low <= 2 and math.log2(max(first, 1e-300) / max(low, 1e-300)) >= limit:
        return _scale_finding(
            trace,
            0,
            f"the loss scale falls from {_powers(first)} to {low:g} without finding a level",
            math.log2(first / max(low, 1e-300)),
            limit,
        )
    if trace.found is None and len(trace.values) < 40:
        return unknown(
            f"the loss scale was still finding its level when the log ends"
            f" ({_powers(float(trace.values[-1]))})"
        )
    most = 0.0 if fall is None else fall.halvings
    return absent(
        f"the loss scale stays between {_powers(low)} and"
        f" {_powers(float(np.max(trace.values)))}; once found, it falls"
        f" by {most:.0f} halvings at most",
        value=round(most, 2),
        threshold=limit,
        series=trace.series,
    )


@probe()
def loss_scale_at_floor(view: View, share: float = 0.1, floor: float = 1.0) -> Finding:
    """`share` of the logged scales lie at the minimum, having been higher, or the log says so."""
    run = view.run
    said = run.events_of("scale-at-minimum")
    if said:
        return from_log(run, "scale-at-minimum", "the loss scale is at its minimum", "")
    trace = scale(run)
    if trace is None:
        return unknown("no dynamic loss scale was logged")
    least = situation.number(run, "min_loss_scale")
    limit = max(least, 0.0) if least is not None else floor
    low = trace.values <= limit * 1.001
    part = float(np.mean(low))
    words = f"the loss scale is {limit:g} or less at {part:.0%} of {len(low)} logged values"
    highest = float(np.max(trace.values))
    if trace.dynamic and highest <= 2 * limit and not trace.from_the_start:
        return unknown(f"the log begins with a loss scale of {highest:g}, after its fall")
    if not trace.dynamic or highest <= 2 * limit:
        return absent(f"the loss scale is not dynamic ({float(np.max(trace.values)):g})", series=trace.series)
    if part >= share and np.sum(low) >= 2 and not _climbs(trace):
        return _scale_finding(trace, int(np.argmax(low)), words, part, share)
    return absent(words, value=round(part, 4), threshold=share, series=trace.series)


def _climbs(trace: Scale) -> bool:
    """Whether the scale begins at 2 or less, as that of icefall at 1, and has come to four times as much."""
    first, late = float(trace.values[0]), trace.values[-max(1, len(trace.values) // 5) :]
    return trace.from_the_start and first <= 2 and float(np.median(late)) >= 4 * first


@probe()
def loss_scale_below(view: View, limit: float = 1.0) -> Finding:
    """The scale falls below `limit`, having been at or above it."""
    trace = scale(view.run)
    if trace is None:
        return unknown("no dynamic loss scale was logged")
    low = (trace.values < limit) & (np.maximum.accumulate(trace.values) >= limit)
    least = float(np.min(trace.values))
    if trace.dynamic and float(np.max(trace.values)) < limit and not trace.from_the_start:
        low = trace.values < limit  # the log begins after the fall
    if np.any(low) and not _climbs(trace):
        at = int(np.argmax(low))
        return _scale_finding(
            trace, at, f"the loss scale falls below {limit:g}, to {least:.3g}", least, limit
        )
    return absent(f"the smallest loss scale is {least:g}", value=least, threshold=limit, series=trace.series)


@probe()
def loss_scale_tiny(view: View, limit: float = 1.0) -> Finding:
    """The scale is below `limit` from its first value on, logged or configured: it shrinks gradients."""
    trace = scale(view.run)
    if trace is not None:
        first, most = float(trace.values[0]), float(np.max(trace.values))
        words = f"the loss scale begins at {first:.4g} and is never above {most:.4g}"
        seen: dict[str, Any] = {"value": first, "threshold": limit, "series": trace.series}
        if most < limit and trace.dynamic and not trace.from_the_start:
            return unknown(f"{words}, but the log does not show how it came to that")
        return present(words, where=(trace.place(0),), **seen) if most < limit else absent(words, **seen)
    for key in ("loss_scale", "initial_loss_scale"):
        value = situation.number(view.run, key)
        if value is not None and value > 0:
            setting = view.run.settings[key]
            words = f"{setting.raw} = {value:g}"
            small: dict[str, Any] = {"value": value, "threshold": limit, "where": (place_of(setting),)}
            return present(words, **small) if value < limit else absent(words, **small)
    return unknown("neither the log nor the configuration tells the loss scale")


@probe()
def loss_scale_above(view: View, limit: float = 4e9) -> Finding:
    """The scale grows above `limit` and above its first value."""
    trace = scale(view.run, infinite=True)
    if trace is None:
        return unknown("no dynamic loss scale was logged")
    high = (trace.values > limit) & (trace.values > 2 * trace.values[0])
    most = float(np.max(trace.values))
    if np.any(high):
        at = int(np.argmax(high))
        return _scale_finding(trace, at, f"the loss scale grows to {most:.3g}", min(most, 1e300), limit)
    return absent(
        f"the largest loss scale is {_powers(most)}", value=most, threshold=limit, series=trace.series
    )


@probe()
def steps_skipped_often(view: View, share: float = 0.1, minimum: int = 5) -> Finding:
    """After calibration `share` of the steps (`minimum` at least) are skipped, not only tried doublings."""
    run = view.run
    skipped = skips(run)
    if skipped is None:
        return unknown("no skipped steps or overflows were logged")
    begin = calibrated(run)
    begin = begin if begin is not None else skipped.first + 40
    late = skipped.steps > begin
    count, steps = float(np.sum(skipped.counts[late])), max(skipped.last - max(begin, skipped.first), 0.0)
    what = "steps"
    if skipped.series == ("overflow",) and skipped.interval > 1:  # a row tells of its own step alone
        steps, what = steps / skipped.interval, "logged steps"
    part = count / steps if steps > 0 else 0.0
    seen: dict[str, Any] = {"value": round(part, 4), "threshold": share, "series": skipped.series}
    words = f"{count:g} of {steps:g} {what} after step {begin:g} were skipped for overflow"
    if steps < 20 and not count:
        if not len(skipped.steps):
            return absent("no step was skipped", **seen)
        return unknown(f"only {steps:g} steps after the scaler's calibration were logged")
    if count >= minimum and part >= share and (part >= PROBED or not only_probing(run)):
        at = int(np.argmax(late))
        return present(words, step=float(skipped.steps[at]), where=(skipped.place(at),), **seen)
    dead = _dead_norms(run, begin) if skipped.rows_hold_many else None
    if dead is not None and dead[0] >= minimum and dead[0] / dead[1] >= share and not only_probing(run):
        text = f"grad_norm is not finite in {dead[0]} of {dead[1]} rows after step {begin:g}: skipped steps"
        seen = {"value": round(dead[0] / dead[1], 4), "threshold": share, "series": ("grad_norm",)}
        return present(text, where=(place(run.series["grad_norm"], dead[2]),), **seen)
    return absent(words, **seen)


@probe("config:loss_scale_window")
def eager_growth_skips(view: View, interval: float, share: float, minimum: int) -> Finding:
    """The scale grows after fewer than `interval` good steps, and falls as often: steps are lost to it."""
    window = situation.number(view.run, "loss_scale_window")
    if window is None or not 0 < window < interval:
        return (
            absent(f"the loss scale grows after {window:g} good steps") if window else unknown("not a number")
        )
    told = steps_skipped_often(view, share=share, minimum=minimum)
    if told.state is State.UNKNOWN or not isinstance(told.value, float) or told.value < share:
        return told
    trace = scale(view.run)
    change = np.diff(trace.values) if trace is not None else np.zeros(0)
    rises, falls = int(np.sum(change > 0)), int(np.sum(change < 0))
    if min(rises, falls) < minimum:
        return absent(f"the scale rises {rises} times and falls {falls} times")
    why = f"the loss scale may grow after {window:g} good steps, and {told.why}"
    return replace(told, state=State.PRESENT, why=why, threshold=share)


def _dead_norms(run: Run, begin: float) -> tuple[int, int, int] | None:
    """Rows with a gradient norm that is no number, all rows, and the first such row, after a step.

    A scale logged every so often hides skips that were made up for in between; each row's norm does not.
    """
    norms = run.series.get("grad_norm")
    if norms is None:
        return None
    late = norms.steps > begin
    bad = np.flatnonzero(late & ~np.isfinite(norms.values))
    return (len(bad), int(np.sum(late)), int(bad[0])) if len(bad) else None


@probe()
def every_step_overflows(view: View, run_length: int = 8) -> Finding:
    """From some point on, outside calibration, all steps to the end of the log overflow."""
    run = view.run
    ending = _overflows_at_the_end(run)
    if len(ending) >= run_length:
        first = ending[0]
        return present(
            f"the log ends with {len(ending)} overflows in a row",
            value=len(ending),
            threshold=run_length,
            step=first.step,
            where=(Place(first.file, first.line, first.step, first.rank),),
        )
    skipped = skips(run)
    if skipped is None:
        return unknown("no skipped steps or overflows were logged")
    length, at = skipped.trailing()
    seen: dict[str, Any] = {"value": length, "threshold": run_length, "series": skipped.series}
    if length < run_length:
        said = f"only the last {length} logged steps overflow" if length else "the last steps do not overflow"
        return absent(said, **seen)
    step = float(skipped.steps[at])
    trace = scale(run)
    low = trace is not None and float(trace.values[-1]) <= 2
    if length <= 40 and step <= skipped.first + 1 and not low:
        return unknown(f"all {length} logged steps overflow: the scaler may still be finding its level")
    return present(
        f"every step from step {step:g} on overflows ({length} in a row, to the end of the log)",
        step=step,
        where=(skipped.place(at),),
        **seen,
    )


def _overflows_at_the_end(run: Run) -> list[Event]:
    """The overflows that a log tells of below its last row, where that row is past the calibration."""
    loss = situation.main_loss(run)
    if loss is None or loss.lines is None or not len(loss) or float(np.max(loss.steps)) <= EARLY:
        return []
    last = int(np.max(loss.lines))
    events = (e for e in run.events_of("overflow") if e.file == loss.file and e.line is not None)
    return [e for e in events if (e.line or 0) > last]
