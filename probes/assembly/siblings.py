"""Several runs in one folder, a file to each: `resnet.csv`, `vgg.csv` and `mobilenet.csv` of one script.

One run has one loss at a step. Two files that one kind of writer wrote, with other numbers under the same
name at the same steps, are two runs; their curves must not be mixed. Files of other kinds are two runs where
training and evaluation both have far other values in them, counted from 0 or from 1. What tells nothing stays
together: files without a common step, the file of another rank or of a held-out part, a log that goes on.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from ..run import Series
from . import layout, names, segments
from .contents import Read

WRITERS = (
    "csv-log",
    "json-lines",
    "json-log",
    "hf-trainer",
    "text-",
    "python-script",  # of a notebook that printed curves
)  # kinds that hold a run to a file
COMMON = 3  # steps at which two curves are compared, at least
ROUNDED = 2e-3  # relative: one file may round what another one prints in full
FAR = 0.05  # relative: what no rounding and no mean over other batches makes of most values
FAR_POINTS = 5
ALIKE = 0.6  # share of the columns that two files of one writer have in common
MOST = 64  # files that are compared
_PARTS = re.compile(
    r"^(?:log|output|out|std(?:out|err)|gpu|npu|device|card|local|global|host|train|\W)*$", re.I
)


def of_one_run(mine: Sequence[Read]) -> tuple[list[Read], str]:
    """Return the files of one run among those of several in the same folder, and the note that says so."""
    asked = [r for r in mine if r.content.format.startswith(WRITERS) and _main_curves(r)][:MOST]
    apart = [pair for pair in combinations(asked, 2) if _strangers(*pair)]
    involved = {r.path: r for pair in apart for r in pair}
    if not involved:
        return list(mine), ""
    taken_up = [r for r in involved.values() if any(_took_up(r, other) for other in involved.values())]
    chosen = _best(taken_up or list(involved.values()))
    stem = _stem(chosen.path)
    dropped = {p for p in involved if _stem(p) != stem}
    kept = [r for r in mine if r.path not in dropped]
    others = sorted(dropped, key=layout.natural)
    if not others:
        return list(mine), ""
    listed = ", ".join(others[:6]) + (", ..." if len(others) > 6 else "")
    runs = len({_stem(p) for p in involved})
    return kept, f"{runs} runs in one folder, a file to each; this is about {chosen.path} (others: {listed})"


def _strangers(one: Read, other: Read) -> bool:
    """Whether two files hold different runs."""
    if _folder(one.path) != _folder(other.path):
        return False
    if any(layout.rank(r.path) is not None or _tells_part(r.path) for r in (one, other)):
        return False
    if one.content.format != other.content.format:
        return _far_apart(_by_meaning(one), _by_meaning(other))
    mine, theirs = _main_curves(one), _main_curves(other)
    if _numbered_parts(one.path, other.path) or not _same_writer(one, other):
        return False
    compared = [_differ(mine[key], theirs[key]) for key in mine.keys() & theirs.keys()]
    return True in compared and False not in compared


def _by_meaning(read: Read) -> dict[str, Series]:
    """The losses and accuracies of a file by epoch, by their canonical names; the first of each."""
    found: dict[str, Series] = {}
    for (raw, split, _), series in _main_curves(read).items():
        found.setdefault(names.canonical(raw, split) or "", series)
    return found


def _far_apart(mine: dict[str, Series], theirs: dict[str, Series]) -> bool:
    """Whether the losses of training and of evaluation each have other values at most epochs.

    Two loggers of one run may round, smooth or count otherwise; neither makes all values far others.
    """
    asked = ("train/loss", "eval/loss")  # accuracies of two runs may well cross
    if not all(n in mine and n in theirs for n in asked):
        return False
    pairs = [(mine[n], theirs[n]) for n in asked]
    if any("epoch" not in (a.unit, b.unit) for a, b in pairs):
        return False
    return all(_never_meet(a, b) for a, b in pairs)


def _never_meet(one: Series, other: Series) -> bool:
    for shift in (-1.0, 0.0, 1.0):
        _, a, b = np.intersect1d(one.steps, other.steps + shift, return_indices=True)
        x, y = one.values[a], other.values[b]
        kept = np.isfinite(x) & np.isfinite(y)
        x, y = x[kept], y[kept]
        if len(x) < FAR_POINTS:
            return False
        if float(np.mean(np.abs(x - y) > FAR * np.maximum(np.abs(x), np.abs(y)))) < 0.7:
            return False
    return True


def _differ(one: Series, other: Series) -> bool | None:
    """Whether two curves hold other numbers at the same steps; None where that cannot be told."""
    if _goes_on(one, other) or _goes_on(other, one):
        return None
    _, a, b = np.intersect1d(one.steps, other.steps, return_indices=True)
    x, y = one.values[a], other.values[b]
    both = np.isfinite(x) & np.isfinite(y)
    x, y = x[both], y[both]
    if len(x) < COMMON or float(np.ptp(x)) == 0.0 == float(np.ptp(y)):
        return None
    unlike = np.abs(x - y) > ROUNDED * np.maximum(np.abs(x), np.abs(y))
    return bool(np.mean(unlike) > 0.5)


def _goes_on(before: Series, after: Series) -> bool:
    """Whether a file is the later part of a run that was taken up again past its middle."""
    late = len(before) and len(after) and float(after.steps[0]) > 0.5 * float(np.max(before.steps))
    return bool(late) and segments.goes_on(before, before, after)


def _took_up(after: Read, before: Read) -> bool:
    """Whether a log that counts from its beginning tells that it loaded what another one ended with."""
    ends = [float(np.max(s.steps)) for s in _main_curves(before).values() if len(s)]
    starts = [float(s.steps[0]) for s in _main_curves(after).values() if len(s)]
    loaded = [e.step for e in after.content.events if e.kind == "resume" and e.step]
    return any(
        0.5 * end < step <= end and max(starts) < 0.5 * step for step in loaded for end in ends if starts
    )


def _main_curves(read: Read) -> dict[tuple[str, str, str], Series]:
    """The losses and accuracies of a whole model in a file, by how the file names them."""
    found: dict[tuple[str, str, str], Series] = {}
    for series in read.content.series:
        known = names.canonical(series.raw, series.split) or ""
        if known in ("train/loss", "eval/loss", "train/accuracy", "eval/accuracy") and series.rank is None:
            found.setdefault((series.raw, series.split, series.unit), series)
    return found


def _same_writer(one: Read, other: Read) -> bool:
    if one.content.format == "hf-trainer":
        return True
    mine, theirs = ({s.raw for s in r.content.series} for r in (one, other))
    return len(mine & theirs) >= ALIKE * len(mine | theirs)


def _tells_part(path: str) -> bool:
    """Whether a file's name says which data it is of: `val_log.txt` beside `train_log.txt` is one run."""
    stem = path.rpartition("/")[2].rpartition(".")[0]
    return any(names.tells_split(word) for word in re.split(r"[\s_\-.]+", stem))


def _numbered_parts(one: str, other: str) -> bool:
    """`log_0.txt` and `log_1.txt` may be what the devices of one run wrote."""
    a, b = (p.rpartition("/")[2].rpartition(".")[0] for p in (one, other))
    if layout.numberless(a) != layout.numberless(b):
        return False
    return bool(_PARTS.match(re.sub(r"[\d_\-. ]+", "", a)))


def _stem(path: str) -> str:
    """A file's name up to its first ending: `20240501.log` and `20240501.log.json` are of one run.

    A dot before a digit is that of a number: `lr0.1.csv` and `lr0.01.csv` are not.
    """
    folder, _, name = path.rpartition("/")
    return f"{folder}/{re.split(r'[.](?=[^0-9]|$)', name, maxsplit=1)[0]}"


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _best(candidates: Sequence[Read]) -> Read:
    """The file that stands for a folder: the latest where all tell the time, else the longest."""
    last = {r.path: max((_end(s) for s in r.content.series), default=0.0) for r in candidates}
    timed = all(last.values())

    def standing(read: Read) -> tuple[float, int, list[tuple[int, int | str]]]:
        points = max(len(s) for s in _main_curves(read).values())
        return (last[read.path] if timed else 0.0, points, layout.natural(read.path))

    return max(candidates, key=standing)


def _end(series: Series) -> float:
    walls = series.walls
    return float(np.nanmax(walls)) if walls is not None and len(walls) and np.any(np.isfinite(walls)) else 0.0
