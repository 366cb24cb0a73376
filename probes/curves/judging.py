"""What the probes of the training loss share: a decorator, and how a finding points at its curve."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ...engine.model import Place
from .. import registry
from ..registry import Finding, View, absent, place, present, unknown
from ..run import EventKind, Run
from . import situation
from .shapes import Shape, shape

Judge = Callable[..., Finding]


def probe(*needs: str) -> Callable[[Judge], Judge]:
    """Mark a probe as the registry does; sums and ratios of absurd values may overflow without a warning."""

    def mark(judge: Judge) -> Judge:
        @functools.wraps(judge)
        def look(view: View, **params: Any) -> Finding:
            with np.errstate(all="ignore"):
                return judge(view, **params)

        return registry.probe(*needs)(look)

    return mark


def on_loss(points: int = 5) -> Callable[[Judge], Judge]:
    """Make a probe of `judge(run, curve, **params)`; without enough of a training loss it is unknown."""

    def mark(judge: Judge) -> Judge:
        @functools.wraps(judge)
        def look(view: View, **params: Any) -> Finding:
            series = situation.main_loss(view.run)
            if series is None:
                return unknown(situation.no_loss(view.run))
            curve = shape(series)
            if curve is None or curve.count < points:
                found = "fewer than 3" if curve is None else curve.count
                return unknown(f"{series.name} has {found} finite points; {points} are needed")
            return judge(view.run, curve, **params)

        return probe()(look)

    return mark


def see(curve: Shape, *points: int) -> dict[str, Any]:
    """The place and curve of a finding about these points."""
    where = tuple(place(curve.series, int(curve.index[p])) for p in points)
    return {"where": where, "series": (curve.name,)}


def tail_of(curve: Shape) -> str:
    """What the level at the end is, in words."""
    count = curve.end.last - curve.end.first + 1
    return f"median of the last {count} points" if count > 1 else "the last point"


def is_mean_of_epochs(curve: Shape) -> bool:
    """Whether one point stands for a whole epoch."""
    return curve.series.unit == "epoch" or curve.series.window == "epoch-mean"


def logs_read(run: Run) -> bool:
    """Whether the output of the training program itself was read."""
    return any(f.startswith("text") or "log" in f for f in run.info.formats) or bool(run.events)


def from_log(run: Run, kind: EventKind, words: str, none: str) -> Finding:
    """Present with the first event of a kind; absent where the logs were read and hold none."""
    events = run.events_of(kind)
    if events:
        first, count = events[0], sum(e.count for e in events)
        at = "" if first.step is None else f" at step {first.step:g}"
        where = tuple(Place(e.file, e.line, e.step, e.rank) for e in events[:5])
        return present(
            f"{words}{at} ({count} times): {first.text[:160]}",
            value=count,
            threshold=0,
            step=first.step,
            where=where,
        )
    return absent(none, value=0) if logs_read(run) else unknown("no output of the training program was found")
