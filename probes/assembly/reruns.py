"""Two runs of one seed, data and settings beside one another: where do their losses part?

Runs of equal programs that part in the last digits after an equal first step are told from runs of two
programs, or from two seeds, whose first losses differ already.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .. import settings
from ..run import Event, Series
from . import starts
from .contents import Read

DATA = "rerun"
COMMON = 20  # steps that both log, at least
DIGITS = 6  # of the first loss: fewer agree by chance
SMALL = 1e-3  # relative: what rounding makes of the first steps that differ
EARLY = 5
SETTINGS = 3  # that both record, at least
_SEED = re.compile(r"(?i)(?<![a-z])seed[_=-]?(\d{1,10})(?!\d)")


def parted(mine: Sequence[Read], others: Iterable[Sequence[Read]]) -> Event | None:
    """The event of a run beside this one with equal settings that parts from it after an equal first loss.

    `step` is where they part, `value` how far apart they are in the second half, relative to the loss.
    """
    for theirs in others:
        if not _one_recipe(mine, theirs):
            continue
        one, other = _losses(mine), _losses(theirs)
        found = None if one is None or other is None else _apart(one, other)
        if found is not None:
            return found
    return None


def _one_recipe(mine: Sequence[Read], theirs: Sequence[Read]) -> bool:
    """Whether both record their seed, the same, and no setting that could matter with another value."""
    a, b = _settings(mine), _settings(theirs)
    seeds = a.pop("seed", _seed_of_path(mine)), b.pop("seed", _seed_of_path(theirs))
    if seeds[0] is None or seeds[0] != seeds[1] or a.keys() ^ b.keys():
        return False
    return len(a) >= SETTINGS and all(settings.same(a[key], b[key]) for key in a)


def _settings(reads: Iterable[Read]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for setting in sorted((s for r in reads for s in r.content.settings), key=lambda s: -s.trust):
        known = settings.canonical_key(setting.key)
        if not settings.is_harmless(setting.key):
            found.setdefault(known[0] if known else ".".join(settings.parts_of(setting.key)), setting.value)
    return found


def _seed_of_path(reads: Iterable[Read]) -> object | None:
    said = {m[1] for r in reads for m in _SEED.finditer(r.path)}
    return float(said.pop()) if len(said) == 1 else None


def _losses(reads: Iterable[Read]) -> Series | None:
    return starts.main_curve(s for r in reads for s in r.content.series)


def _apart(mine: Series, theirs: Series) -> Event | None:
    steps, a, b = np.intersect1d(mine.steps, theirs.steps, return_indices=True)
    x, y = mine.values[a], theirs.values[b]
    if len(steps) < COMMON or not (np.isfinite(x).all() and np.isfinite(y).all()):
        return None
    if x[0] != y[0] or len(f"{x[0]:.9g}".replace(".", "").lstrip("-0")) < DIGITS:
        return None
    other = np.flatnonzero(x != y)
    if not len(other):
        return None
    off = np.abs(x - y) / np.maximum(np.abs(y), 1e-12)
    if float(np.max(off[other[:EARLY]])) > SMALL:
        return None
    late = float(np.median(off[len(off) // 2 :]))
    at = int(other[0])
    text = (
        f"two runs of one seed and equal settings ({mine.file}, {theirs.file}) agree in every digit of the"
        f" loss before step {steps[at]:g}, not from there on, and are {late:.2%} apart in the second half"
    )
    line = None if mine.lines is None else int(mine.lines[a[at]])
    return Event("worked-out", mine.file, line, float(steps[at]), late, None, text[:300], DATA)
