"""Restarts: where the step number goes back, and what that means.

A log in file order may hold one run, one run resumed from a checkpoint (the step goes back a little and the
curve goes on), several runs one after the other (the step goes back to the beginning), or a step counter
that starts again in each epoch. Statistics over more than one of these at once are wrong, so every series
is cut here before anything is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..run import Series

T = TypeVar("T")

Index = NDArray[np.intp]
ROUNDS = 4  # of a counter that names no epoch, for them to be told from runs
_ARRAYS = ("epochs", "walls", "lines", "masked")


@dataclass(frozen=True, slots=True, eq=False)
class Attempt:
    """One run of possibly several in a series: its points, and the steps where it was resumed."""

    series: Series
    rewinds: tuple[tuple[float, float], ...] = ()  # (step before, step after) each resume


def take(series: Series, index: Index | slice | NDArray[np.bool_]) -> Series:
    """Return the series with these points only (absent steps inside their span are kept)."""
    steps = series.steps[index]
    changes: dict[str, Any] = {"steps": steps, "values": series.values[index]}
    for name in _ARRAYS:
        array = getattr(series, name)
        if array is not None:
            changes[name] = array[index]
    if len(steps) and len(series.absent):
        inside = series.absent >= np.min(steps)
        changes["absent"] = series.absent[inside]
    return replace(series, **changes)


def split(series: Series) -> list[Attempt]:
    """Cut a series in file order into runs; each run's resumed parts are joined, later ones winning."""
    steps = series.steps
    if len(steps) < 2:
        return [Attempt(series)]
    backs = np.flatnonzero(np.diff(steps) < 0) + 1
    if not len(backs):
        return [Attempt(series)]
    running = _epoch_counter(series, backs)
    if running is not None:
        return [Attempt(running)]
    bounds = [0, *backs.tolist(), len(steps)]
    runs: list[list[tuple[int, int]]] = [[(0, bounds[1])]]
    for start, end in pairwise(bounds[1:]):
        fresh = _is_fresh(steps, runs[-1], start)
        if fresh:
            runs.append([(start, end)])
        else:
            runs[-1].append((start, end))
    return [_join(series, parts) for parts in runs]


def _is_fresh(steps: NDArray[np.float64], parts: list[tuple[int, int]], start: int) -> bool:
    """A step that goes back to the first one (within two logging intervals) is a new run."""
    first = steps[parts[0][0]]
    last = float(np.max(steps[parts[0][0] : parts[-1][1]]))
    gaps = np.diff(steps[parts[0][0] : parts[0][1]])
    interval = float(np.median(gaps[gaps > 0])) if np.any(gaps > 0) else 1.0
    return bool(steps[start] <= first + 1.5 * interval and last > first + 2 * interval) or bool(
        steps[start] <= first
    )


def _join(series: Series, parts: list[tuple[int, int]]) -> Attempt:
    rewinds: list[tuple[float, float]] = []
    kept: Index = np.arange(*parts[0])
    for start, end in parts[1:]:
        rewinds.append((float(series.steps[kept[-1]]), float(series.steps[start])))
        kept = np.concatenate([kept[series.steps[kept] < series.steps[start]], np.arange(start, end)])
    return Attempt(take(series, kept), tuple(rewinds))


def _epoch_counter(series: Series, backs: Index) -> Series | None:
    """Turn a step counter that restarts in each epoch into a running one, if that is what it is."""
    if len(backs) < 1:
        return None
    pieces = np.split(np.arange(len(series.steps)), backs)
    ends = np.array([series.steps[p[-1]] for p in pieces])
    if series.unit != "epoch-step":
        epochs = series.epochs
        if epochs is None:
            return _goes_through(series, pieces)
        firsts = np.array([epochs[p[0]] for p in pieces])
        if not bool(np.all(np.diff(firsts) > 0)):
            return None
        if any(np.floor(epochs[p[-1]]) > np.floor(epochs[p[0]]) for p in pieces[:-1]):
            return None  # it went on over the end of an epoch: it went back for another reason
    length = float(np.max(ends))
    if len(pieces) > 2 and np.median(ends[:-1]) < 0.8 * length:
        return None
    numbers = np.concatenate([np.full(len(p), k, dtype=float) for k, p in enumerate(pieces)])
    epochs = series.epochs
    if epochs is not None and bool(np.all(np.diff(epochs) >= 0)) and np.all(epochs == np.floor(epochs)):
        numbers = epochs - epochs[0]
    return replace(series, steps=series.steps + numbers * length, unit="step")


def _goes_through(series: Series, pieces: list[Index]) -> Series | None:
    """Rounds of one counter that names no epoch: equal steps in each, and values that go on where they ended.

    Runs one after the other begin anew where the first one began.
    """
    if len(pieces) < ROUNDS or len(pieces[-1]) > len(pieces[0]):
        return None
    first = series.steps[pieces[0]]
    if any(not np.array_equal(series.steps[p], first[: len(p)]) for p in pieces):
        return None
    if any(len(p) != len(first) for p in pieces[:-1]):
        return None
    values = series.values
    starts, ends = values[[p[0] for p in pieces]], values[[p[-1] for p in pieces]]
    on = np.abs(starts[1:] - ends[:-1]) < 0.5 * np.abs(starts[1:] - starts[0])
    if np.mean(on) < 0.75 or not on[-1]:
        return None
    numbers = np.repeat(np.arange(len(pieces), dtype=float), [len(p) for p in pieces])
    return replace(series, steps=series.steps + numbers * float(np.max(first)), unit="step")


def goes_on(first: Series, before: Series, after: Series) -> bool:
    """Whether a series of a later file is the resumed part of a run that another file begins.

    It begins after the run's beginning, near or before where the file before it ends, and goes further.
    """
    if not (len(first) and len(before) and len(after)) or first.file == after.file:
        return False
    gaps = np.diff(before.steps)
    interval = float(np.median(gaps[gaps > 0])) if np.any(gaps > 0) else 1.0
    start, end = float(after.steps[0]), float(np.max(before.steps))
    begun = float(first.steps[0]) + 1.5 * interval
    return begun < start <= end + 5 * interval and float(np.max(after.steps)) > end


def chains(parts: Iterable[T], goes_on: Callable[[T, T, T], bool]) -> list[list[T]]:
    """Cut parts where one does not go on; `goes_on` is told a chain's first part, its last one, the next."""
    found: list[list[T]] = []
    for part in parts:
        if found and goes_on(found[-1][0], found[-1][-1], part):
            found[-1].append(part)
        else:
            found.append([part])
    return found


def concatenate(parts: list[Series]) -> Series:
    """Put the parts of one quantity from several files into one series, in the order given."""
    if len(parts) == 1:
        return parts[0]
    changes: dict[str, Any] = {
        "steps": np.concatenate([p.steps for p in parts]),
        "values": np.concatenate([p.values for p in parts]),
        "absent": np.concatenate([p.absent for p in parts]),
    }
    for name in _ARRAYS:
        arrays = [getattr(p, name) for p in parts]
        changes[name] = np.concatenate(arrays) if all(a is not None for a in arrays) else None
    joined = replace(parts[-1], **changes)
    if len({p.file for p in parts}) > 1:
        return replace(joined, lines=None)  # a line number without its own file points at the wrong place
    if joined.lines is None:
        return joined
    return take(joined, np.argsort(joined.lines, kind="stable"))  # one file is read in the order of its lines
