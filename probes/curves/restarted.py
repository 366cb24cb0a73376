"""A restart after which the program counts its steps from the beginning again."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ..assembly.continued import DATA as BESIDE
from ..registry import Finding, View, absent, place, present, unknown
from ..run import Event, Run, Series
from . import situation
from .judging import logs_read, probe

_RATE = "learning_rate"
_COMMON = 3  # steps at which both starts logged the learning rate


@probe()
def steps_begin_anew(view: View, learned: float = 0.6) -> Finding:
    """After a resume the loss goes on where it was, but steps and learning rate run as they did at first.

    The loss goes on where its first values keep `learned` of what the start before it had gained. Only a
    start that the log tells of between the two is one; weights loaded at both are those of another run.
    """
    run = view.run
    loss = situation.main_loss(run)
    if loss is None:
        return unknown(situation.no_loss(run))
    resumes = run.events_of("resume")
    appended = not resumes and _appended(run, loss)
    if not resumes and not appended:
        none = "no resume is seen in the logs"
        return absent(none) if logs_read(run) else unknown(none)
    before = run.earlier.get(loss.name)
    if before is None:
        if any(e.step is not None and e.step > loss.steps[0] for e in resumes):
            return absent("the steps go on where training was resumed", series=(loss.name,))
        return unknown("what was logged before the resume is not there")
    beside = any(e.data == BESIDE for e in resumes)
    event = next((e for e in resumes if e.data == BESIDE or _between(e, before, loss)), None)
    if event is None and not appended:
        return unknown("the log does not tell of a resume between its two starts alone")
    again = _walked_again(run.earlier.get(_RATE), run.series.get(_RATE))
    if beside and not again and loss.steps[0] < before.steps[-1]:
        again = _warms_up_alike(run.earlier.get(_RATE), run.series.get(_RATE)) or again
    if again is None:
        return unknown("the learning rate is not logged in both starts, or never changes")
    begun, ended, now = (
        float(np.median(v)) for v in (before.values[:3], before.values[-3:], loss.values[:3])
    )
    seen: dict[str, Any] = {"value": float(loss.steps[0]), "threshold": float(before.steps[-1])}
    words = (
        f"{loss.name} is {ended:.4g} at step {before.steps[-1]:g}, where training was resumed, and {now:.4g}"
        f" after it, at step {loss.steps[0]:g}"
    )
    if not again:
        return absent(f"{words}; the learning rate is not the one of the first start", **seen)
    if not begun - ended > 0.1 * abs(begun):
        return unknown(f"{words}; the first start learned too little to tell whether it was taken up")
    if appended and float(loss.values[0]) > begun - _TAKEN_UP * (begun - ended):
        return absent(f"{words}; it began at {begun:.4g}: another run", **seen)
    if begun - now < learned * (begun - ended):
        return unknown(f"{words}; it began at {begun:.4g}: what was learned was not taken up", **seen)
    text = f"{words}; the learning rate runs through the same values once more"
    return present(text, step=float(loss.steps[0]), where=(place(loss, 0),), series=(loss.name,), **seen)


_TAKEN_UP = 0.8  # of what a start gained is there at the very first point of the next one
_TABLES = (".csv", ".tsv", ".jsonl")  # which a second start goes on with, and tells nothing of it


def _appended(run: Run, loss: Series) -> bool:
    """Whether two starts stand one after the other in one table, and not the parts of a cross-validation."""
    before = run.earlier.get(loss.name)
    if before is None or before.file != loss.file or not loss.file.endswith(_TABLES):
        return False
    folds = any(_FOLDS.search(text) for text in run.scripts.values()) or _FOLDS.search(loss.file)
    return not folds and before.unit == loss.unit and bool(loss.steps[0] < before.steps[-1])


_FOLDS = re.compile(r"(?i)k_?fold|folds?\b|cross_?val|leave_?one")


def _warms_up_alike(before: Series | None, after: Series | None) -> bool:
    """Whether both rates rise to one peak: another peak is another stage of training."""
    if before is None or after is None or not (_warms_up(before) and _warms_up(after)):
        return False
    return bool(np.isclose(np.max(before.values), np.max(after.values), rtol=0.02))


def _warms_up(rate: Series | None) -> bool:
    """Whether a rate rises from a small part of its peak at first."""
    if rate is None or len(rate.values) < _COMMON or not np.all(np.isfinite(rate.values)):
        return False
    peak = int(np.argmax(rate.values))
    return peak > 0 and bool(rate.values[0] < 0.5 * rate.values[peak])


def _between(event: Event, before: Series, after: Series) -> bool:
    """Whether a log tells of it once, after the last point of one start and before the first of the next."""
    if event.line is None or before.lines is None or after.lines is None or event.count > 1:
        return False
    return bool(
        event.file == before.file == after.file
        and float(np.max(before.lines)) < event.line < float(np.min(after.lines))
    )


def _walked_again(before: Series | None, after: Series | None) -> bool | None:
    """Whether a rate that changes is the same at the same steps; None where it is not known."""
    if before is None or after is None or before.unit != after.unit:
        return None
    common, left, right = np.intersect1d(before.steps, after.steps, return_indices=True)
    old, new = before.values[left], after.values[right]
    if len(common) < _COMMON or not (np.all(np.isfinite(old)) and np.max(old) > 1.05 * np.min(old)):
        return None
    return bool(np.mean(np.isclose(old, new, rtol=1e-3, atol=0.0)) >= 0.9)
