"""Files that hold the figures of one evaluation each, numbered in their names, as the curves that they are.

AllenNLP leaves `metrics_epoch_3.json`, Kaldi `log/compute_prob_valid.12.log`: alone each is a final result or
a curve of one point. The number in the name is the step, where it counts epochs or steps by its name or by an
entry of the file, or where many files are numbered without a gap. Folds, seeds and ranks are no steps.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from ..readers import json_log
from ..readers._values import split_word
from ..run import FileContent, Series, StepUnit
from . import names
from .contents import Read

LEAST = 3  # files whose names say what they count
LEAST_BARE = 8  # of those that are only numbered
MOST = 20_000
_COUNTED = re.compile(
    r"(?:^|[._-])(?:(epochs?|ep)|(?:global[._-]?)?(?:steps?|iter(?:ation)?s?|updates?))[._-]?(\d{1,9})(?=[._-]|$)",
    re.I,
)
_BARE = re.compile(r"(?<=[._-])(\d{1,9})(?=[._-]|$)")
_NO_STEPS = re.compile(r"fold|seed|rank|worker|trial|run|shard|part|split|exp|node|proc|gpu|task|job", re.I)
_FINAL = "final."
_BEST = re.compile(r"(?:^|[_/.])best(?:_|$)", re.I)


def joined(reads: Sequence[Read]) -> list[Read]:
    """The contents, those of numbered files as curves in the first of them."""
    groups: dict[str, list[tuple[float, StepUnit, Read]]] = defaultdict(list)
    for read in reads:
        if (found := _place(read)) is not None:
            groups[found[0]].append((found[1], found[2], read))
    made: dict[str, FileContent] = {}
    for rows in groups.values():
        bare = any(unit == "iteration" for _, unit, _ in rows)
        numbers = sorted({at for at, _, _ in rows})
        if len(numbers) < (LEAST_BARE if bare else LEAST) or len(rows) > MOST or len(numbers) < len(rows):
            continue
        if bare and numbers[-1] - numbers[0] > len(numbers):
            continue
        rows.sort(key=lambda row: row[0])
        series = tuple(_curves(rows))
        if not series:
            continue
        for _, _, read in rows:
            facts = {k: v for k, v in read.content.facts.items() if not k.startswith(_FINAL)}
            made[read.path] = replace(read.content, series=(), facts=facts)
        first = rows[0][2].path
        made[first] = replace(made[first], series=series)
    return [replace(read, content=made[read.path]) if read.path in made else read for read in reads]


def _place(read: Read) -> tuple[str, float, StepUnit] | None:
    """(what files of one kind have in common, number, what it counts) of one that may be of many."""
    content = read.content
    folder, _, name = read.path.rpartition("/")
    if content.format == json_log.FORMAT and not content.series and _figures(content):
        found = _COUNTED.search(name)
        if found is None:
            return None
        unit: StepUnit = "epoch" if found[1] else "step"
        return f"{folder}/{name[: found.start(2)]}#{name[found.end(2) :]}", float(found[2]), unit
    if content.series and all(len(s) == 1 and s.unit == "row" for s in content.series):
        found = _BARE.search(name)
        if found is None or _NO_STEPS.search(name):
            return None
        rest = _BARE.sub("#", name[found.end() :])
        if _BARE.search(name[found.end() :]) and not re.match(r"[._-]1(?=[._-])", name[found.end() :]):
            return None  # of several jobs the first
        return f"{folder}/{name[: found.start(1)]}#{rest}", float(found[1]), "iteration"
    return None


def _figures(content: FileContent) -> list[tuple[str, float]]:
    return [
        (name, float(value))
        for key, value in content.facts.items()
        if key.startswith(_FINAL) and isinstance(value, (int, float))
        if names.canonical(name := key.removeprefix(_FINAL)) is not None and not _BEST.search(name)
    ]


def _curves(rows: Sequence[tuple[float, StepUnit, Read]]) -> Iterable[Series]:
    """One curve for each quantity that most of the files hold."""
    points: dict[str, list[tuple[float, float]]] = defaultdict(list)
    shown: dict[str, Series] = {}
    for at, _, read in rows:
        for name, value in _figures(read.content):
            points[name].append((at, value))
        for series in read.content.series:
            points[series.raw].append((at, float(series.values[0])))
            shown.setdefault(series.raw, series)
    unit, first = rows[0][1], rows[0][2].path
    word = split_word(first.rpartition("/")[2])
    for name, found in points.items():
        if len(found) < len(rows) / 2:
            continue
        table = np.array(found, dtype=np.float64)
        told = shown[name].split if name in shown else ""
        side = told or ("train" if word == "train" else "eval" if word == "eval" and name in shown else "")
        yield Series(name, name, first, table[:, 0], table[:, 1], unit=unit, split=side)
