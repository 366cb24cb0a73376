"""Where a training loss is no number: the first step, how long, and what came before.

What is benign: steps that a scaler skipped while it was finding its level. What a file hides: NaN written
as 0.0 (a masked point holds NaN here), and a loss column that is left out of the line.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...engine.model import Place
from ..registry import place
from ..run import Floats, Run, Series
from . import scaler, situation


@dataclass(frozen=True, slots=True, eq=False)
class Broken:
    """Where a loss is no number: first step, the place, how many points, and what came before."""

    name: str
    step: float | None
    where: Place
    count: int
    of: int
    lasting: bool
    before: Floats
    first_row: bool
    word: str
    hidden_steps: bool = False  # the first row stands for, or comes after, steps that were not logged

    @property
    def said(self) -> str:
        """What and where, in words."""
        at = "" if self.step is None else f" at step {self.step:g}"
        rest = "and stays so" if self.lasting else f"and recovers ({self.count} of {self.of} points)"
        return f"{self.name} is {self.word}{at} {rest}"


def losses_of(run: Run) -> list[Series]:
    """The training loss, and its terms."""
    main = situation.main_loss(run)
    others = [s for s in situation.terms(run).values() if main is None or s.name != main.name]
    return ([main] if main is not None else []) + others


def broken(run: Run) -> Broken | None:
    """The earliest place where the training loss (or a term of it) is no number, if there is one."""
    found = [b for s in losses_of(run) if (b := broken_series(run, s)) is not None]
    dead = absent_and_dead(run)
    if dead is not None:
        found.append(dead)
    found.sort(key=lambda b: (b.step if b.step is not None else math.inf, not b.lasting))
    said = _said_by_framework(run)
    if found:
        first = found[0]
        if (
            said is not None
            and not first.lasting
            and first.step is not None
            and (said.step or 0) > first.step
        ):
            return first
        return next((b for b in found if b.lasting and b.step == first.step), first)
    return said


def broken_series(run: Run, series: Series) -> Broken | None:
    """Where one loss is no number, outside a scaler's calibration."""
    bad = ~np.isfinite(series.values)
    bad[np.isin(np.arange(len(bad)), _calibrating(run, series, bad))] = False
    if not np.any(bad):
        return None
    first = int(np.argmax(bad))
    after = bad[first:]
    lasting = bool(bad[-1]) or float(np.mean(after)) >= 0.5
    if lasting and not bad[-1]:
        lasting = bool(np.mean(bad[-max(3, len(bad) // 10) :]) >= 0.5)
    hidden = series.masked is not None and bool(series.masked[first])
    word = "NaN (written as 0.0)" if hidden else "NaN" if np.isnan(series.values[first]) else "infinite"
    before = series.values[:first]
    return Broken(
        series.name,
        float(series.steps[first]),
        place(series, first),
        int(np.sum(bad)),
        len(bad),
        lasting,
        before[np.isfinite(before)],
        first == 0,
        word,
        covers_many(series) or float(series.steps[first]) > 2,
    )


def covers_many(series: Series) -> bool:
    """One row is a mean over an epoch: a single NaN in it makes the whole row NaN."""
    return series.unit == "epoch" or series.window == "epoch-mean"


def _calibrating(run: Run, series: Series, bad: Any) -> list[int]:
    """Points that are no numbers in steps which the scaler skipped while it was finding its level."""
    skips = scaler.skips(run) if np.any(bad) else None
    if skips is None:
        return []
    end = scaler.calibrated(run)
    until = end if end is not None else float(series.steps[0]) + 40
    last = int(np.max(np.flatnonzero(~bad), initial=-1))
    early = bad & (series.steps <= until) & np.isin(series.steps, skips.steps)
    return [i for i in np.flatnonzero(early).tolist() if i < last]


def _never_scaled(run: Run) -> bool:
    """Whether the log shows a loss scale of one throughout: no scaler skips a step."""
    trace = scaler.scale(run)
    return trace is not None and not trace.dynamic and float(trace.values[0]) == 1.0


def absent_and_dead(run: Run) -> Broken | None:
    """A loss column left out of the last rows, whose gradient norm is NaN: Megatron's way to say NaN."""
    series, norms = situation.main_loss(run), run.series.get("grad_norm")
    if series is None or norms is None or not len(series.absent):
        return None
    dead = norms.steps[~np.isfinite(norms.values)]
    rows = np.array([s for s in series.absent if s in dead])
    last = float(series.steps[-1]) if len(series.steps) else -math.inf
    rows = rows[rows > last] if len(rows) else rows
    skipped = scaler.skips(run)
    if skipped is not None and len(rows) and np.all(np.isin(rows, skipped.steps)):
        return None
    if len(rows) < 2 and not (len(rows) and _never_scaled(run) and rows[0] == norms.steps[-1]):
        return None
    at = int(np.flatnonzero(norms.steps == rows[0])[0])
    finite = series.values[np.isfinite(series.values)]
    word = "left out of the log, with grad_norm NaN,"
    return Broken(
        series.name,
        float(rows[0]),
        place(norms, at),
        len(rows),
        len(series) + len(rows),
        True,
        finite,
        not len(finite),
        word,
    )


def _said_by_framework(run: Run) -> Broken | None:
    events = run.events_of("non-finite-loss")
    if not events:
        return None
    first = events[0]
    series = situation.main_loss(run)
    values = series.values if series is not None else np.empty(0)
    if series is not None and first.step is not None:
        values = values[series.steps < first.step]
    where = Place(first.file, first.line, first.step, first.rank)
    begins = not len(values) and (first.step is None or first.step <= 2)
    name = series.name if series is not None else "the loss"
    word = "NaN or infinite, as the framework says,"
    finite = values[np.isfinite(values)]
    return Broken(name, first.step, where, len(events), max(len(values), 1), True, finite, begins, word)
