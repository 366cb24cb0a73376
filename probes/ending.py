"""How far a run came, and whether a message stands at the end of its training, within it or after it."""

from __future__ import annotations

import numpy as np

from .config.values import number_of
from .run import Event, Run, Series


def went_on(series: Series | None, event: Event) -> bool:
    """Points were logged after the message, in the same file."""
    if series is None or event.line is None or series.file != event.file or series.lines is None:
        return False
    return bool(np.sum(series.lines > event.line) >= 3)


def is_over(run: Run, event: Event) -> bool:
    """Say whether the log says that training is over, with all that was planned, before this message."""
    said = [e.line for e in run.events_of("finished") if e.file == event.file and e.line is not None]
    if event.line is None or not said or min(said) > event.line:
        return False
    length = length_of(run)
    return length is None or length[0] >= 0.98 * length[1]


def length_of(run: Run) -> tuple[float, float, str] | None:
    """How far the run came, and what was planned, in one unit: (done, planned, unit)."""
    found: list[tuple[float, float, str]] = []
    epochs, steps = number_of(run, "epochs"), number_of(run, "max_steps")
    for name in ("train/loss", "eval/loss", "learning_rate", "train/accuracy", "eval/accuracy"):
        series = run.series.get(name)
        if series is None or not len(series.steps):
            continue
        last, first = float(np.max(series.steps)), float(np.min(series.steps))
        gaps = np.diff(np.unique(series.steps))
        slack = float(np.median(gaps)) if len(gaps) else 1.0
        if series.unit in ("step", "iteration") and steps is not None and steps > 0:
            # the last row is written up to one interval before the end, and may itself be missing
            found.append((steps if last + 2 * slack >= steps else last, steps, "step"))
        elif series.unit == "epoch" and epochs is not None and epochs > 0:
            found.append((min(epochs, last + (1 if first == 0 else 0)), epochs, "epoch"))
        elif series.epochs is not None and epochs is not None and epochs > 0 and not (steps and steps > 0):
            ends = series.epochs[np.isfinite(series.epochs)]
            if len(ends):
                whole = bool(np.all(ends == np.floor(ends)))
                share = slack / max(last, 1e-12) * float(np.max(ends))
                from_zero = whole and float(np.min(ends)) == 0
                done = float(np.max(ends)) + (1 if from_zero else 0 if whole else share)
                found.append((min(epochs, done), epochs, "epoch"))
    return max(found, key=lambda row: row[0] / row[1]) if found else None
