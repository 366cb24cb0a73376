"""Checkpoints as probes look at them: the run's history, and the words that they share."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache

from ...engine.model import Place
from ..registry import Finding, unknown
from ..run import Run
from ..tensors.checkpoints import Checkpoint, Found, find
from ..tensors.history import Change, Figures, History, changes, figures, history_of

NORM = re.compile(r"(?:^|[._])(?:weight|gamma|scale|g)$", re.I)


@lru_cache(maxsize=4)
def history(run: Run) -> History:
    """The checkpoints that lie in the run's directory."""
    return history_of(found_in(run))


@lru_cache(maxsize=4)
def found_in(run: Run) -> Found:
    """All checkpoints of the run, headers read."""
    return find(run.checkpoint_files)


def no_change(past: History) -> Finding | None:
    """Why change cannot be told, or None."""
    if len(past.line) >= 2:
        return None
    if not past.every:
        why = past.refused[0][1] if past.refused else ""
        return unknown(
            f"no checkpoint can be read: {why}" if why else "no checkpoints lie in the run directory"
        )
    if len(past.line) == 1:
        return unknown("there is one checkpoint only: whether weights move shows in two")
    return unknown("the checkpoints do not tell at which step they were saved")


def places(*checkpoints: Checkpoint) -> tuple[Place, ...]:
    """Where these checkpoints lie."""
    return tuple(Place(c.path, step=c.at if c.unit == "step" else None, rank=c.rank) for c in checkpoints)


def few(names: Iterable[str], most: int = 4) -> str:
    """Name the first ones, and how many more."""
    listed = list(names)
    more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return ", ".join(listed[:most]) + more


def apart(before: Checkpoint, after: Checkpoint) -> str:
    """Say which two checkpoints."""
    return f"between {before.said} and {after.said}"


def latest(past: History) -> Checkpoint | None:
    """The latest checkpoint, or the only one."""
    if past.line:
        return past.line[-1]
    whole = [c for c in past.every if c.trained]
    return whole[0] if len(whole) == 1 else None


def no_latest(past: History) -> Finding:
    """Why there is no latest checkpoint."""
    if past.every:
        return unknown("which of the checkpoints is the latest cannot be told")
    return unknown(
        f"no checkpoint can be read: {past.refused[0][1]}"
        if past.refused
        else "no checkpoints lie in the run directory"
    )


def measured(checkpoint: Checkpoint, most: int | None) -> dict[str, Figures]:
    """The figures of every trainable weight that can be read."""
    return {n: f for n, w in checkpoint.trained.items() if (f := figures(w, most)) is not None}


def norms(checkpoint: Checkpoint, most: int | None) -> tuple[set[str], set[str]]:
    """Scales of normalisation layers: those that are exactly 1.0 throughout, and all of them."""
    scales = {
        n for n, w in checkpoint.trained.items() if len(w.shape) == 1 and w.count > 1 and NORM.search(n)
    }
    ones = set()
    for name in scales:
        found = figures(checkpoint.weights[name], most)
        if found is not None and found.bad == 0 and found.low == found.high == 1.0:
            ones.add(name)
    return ones, scales


def parts_of(names: Iterable[str]) -> list[str]:
    """Name groups of weights by what they have in common: "encoder.* (12 weights)"."""
    grouped: dict[str, list[str]] = defaultdict(list)
    for name in names:
        grouped[name.split(".", 1)[0] if "." in name else name].append(name)
    return [f"{head}.* ({len(n)} weights)" if len(n) > 2 else ", ".join(n) for head, n in grouped.items()]


def summary(past: History) -> dict[str, tuple[Change | None, Figures]]:
    """Of every trainable weight of the latest checkpoint: its change since the first, and its figures."""
    last = latest(past)
    if last is None:
        return {}
    moved = changes(past.line[0], last, past.most) if len(past.line) > 1 else {}
    return {n: (moved.get(n), f) for n, f in measured(last, past.most).items()}
