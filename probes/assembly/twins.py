"""Runs that several loggers recorded at once: the same curves in two formats are one run, not two.

Lightning gives each of its loggers a folder of its own (`version_0` to the CSV logger, `version_1` to
TensorBoard, or `csv_logs/` and `tb_logs/`), so that one training looks like two.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from ..run import FileContent, Series
from .layout import TRACKERS, natural

MOST = 24  # homes among which twins are looked for
POINTS = 5  # common points from which equal values are no accident
_VERSION = re.compile(r"version_\d+$")
FLOAT32 = 2e-6  # relative: one logger keeps float32, another prints float64


def twins(homes: Mapping[str, Sequence[FileContent]]) -> dict[str, str]:
    """Return each home under the first home that holds the same curves in other formats, or itself."""
    same = {home: home for home in homes}
    made = [home for home in homes if _by_logger(home)]
    if len(made) > MOST:
        return same
    for one, other in combinations(sorted(made, key=natural), 2):
        if same[other] == other and same[one] == one and _twins(homes[one], homes[other]):
            same[other] = one
    return same


def _by_logger(home: str) -> bool:
    """Whether a logger made the folder: people's own copies of a curve are theirs to keep apart."""
    return any(_VERSION.match(part) or part in TRACKERS for part in home.split("/"))


def _twins(one: Sequence[FileContent], other: Sequence[FileContent]) -> bool:
    if {c.format for c in one if c.series} & {c.format for c in other if c.series}:
        return False  # one logger writes one run into one folder: a repetition, with the same seed
    mine, theirs = _curves(one), _curves(other)
    compared = [_equal(mine[key], theirs[key]) for key in mine.keys() & theirs.keys()]
    return None not in compared and sum(n or 0 for n in compared) >= POINTS


def _curves(contents: Sequence[FileContent]) -> dict[tuple[str, int | None], Series]:
    """The longest series under each name as written, by rank."""
    found: dict[tuple[str, int | None], Series] = {}
    for series in (s for c in contents for s in c.series):
        key = (series.raw, series.rank)
        if key not in found or len(series) > len(found[key]):
            found[key] = series
    return found


def _equal(one: Series, other: Series) -> int | None:
    """At how many common steps two series hold the same numbers; None where any differs.

    Values that do not move count for nothing: a constant learning rate is the same in every run.
    """
    _, a, b = np.intersect1d(one.steps, other.steps, return_indices=True)
    x, y = one.values[a], other.values[b]
    if not np.allclose(x, y, rtol=FLOAT32, atol=0.0, equal_nan=True):
        return None
    finite = x[np.isfinite(x)]
    return len(finite) if len(finite) and float(np.ptp(finite)) > 0 else 0
