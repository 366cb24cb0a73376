"""Columns of a table that hold its label in another form, or part its classes at one threshold."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from ..run import Floats
from . import naming
from .model import Part

Codes = np.ndarray[tuple[int], np.dtype[np.int64]]
MONOTONE = 20  # different targets of a regression below which an order tells nothing


@dataclass(frozen=True, slots=True)
class Answer:
    """One column that tells the label.

    `next_best`: the balanced accuracy of the best threshold on any other column; NaN where `same`.
    """

    name: str
    same: bool  # the label or a one-to-one function of it; else: parts two classes at one threshold
    rows: int
    next_best: float = np.nan


@dataclass(frozen=True, slots=True)
class Answers:
    """What was looked at, and what tells the label."""

    rows: int
    columns: int
    found: tuple[Answer, ...]


def answers(part: Part, least: int, each: int) -> Answers | None:
    """Look at every column of numbers; None with fewer than `least` rows, `each` of a class, or no label.

    Passed over: what is named like the label or its classes, what numbers the rows, and tables of texts,
    where the other columns are not what a model reads.
    """
    labels = part.labels
    if labels is None or labels.by_folder or len(part.features) < least or _of_texts(part):
        return None
    use = [i for i, n in enumerate(part.feature_names) if not _named_so(n, part)]
    if not use:
        return None
    if not labels.classes:
        return _of_quantity(part, use)
    names, codes = np.unique(np.array(part.targets), return_inverse=True)
    if len(names) < 2 or int(np.bincount(codes).min()) < each:
        return None
    found, scores = [], {}
    for i in use:
        values = part.features[:, i]
        if one_to_one(values, codes):
            found.append(Answer(part.feature_names[i], True, len(values)))
        elif len(names) == 2 and not _numbers_rows(values):
            scores[i] = threshold_accuracy(values, codes)
    perfect = [i for i, s in scores.items() if s == 1.0]
    if len(perfect) == 1 and len(scores) > 1:
        best = max(s for i, s in scores.items() if i != perfect[0])
        found.append(Answer(part.feature_names[perfect[0]], False, len(codes), best))
    return Answers(len(codes), len(use), tuple(found))


def _of_texts(part: Part) -> bool:
    return any(c.free_text or (not c.number and naming.is_sample_id(c.name)) for c in part.columns)


def _named_so(name: str, part: Part) -> bool:
    """Whether a column says that it is the label, or one class of it."""
    labels = part.labels
    if naming.is_label(name) or labels is None:
        return True
    words = set(re.split(r"[^a-z]+", name.lower()))
    told = {labels.name.lower(), naming.bare(labels.name)}
    told |= {c.lower() for c in labels.counts if len(c) > 1 and c.isalpha()}
    return bool(words & told) or any(t in name.lower() for t in told if len(t) > 3)


def _of_quantity(part: Part, use: list[int]) -> Answers | None:
    """The same for a target that is a quantity: a column that rises or falls with it in every row."""
    try:
        target = np.array([float(t) for t in part.targets])
    except ValueError:
        return None
    if len(np.unique(target)) < MONOTONE or _numbers_rows(target):
        return None
    found = tuple(
        Answer(part.feature_names[i], True, len(target))
        for i in use
        if _monotone(part.features[:, i], target)
    )
    return Answers(len(target), len(use), found)


def _monotone(values: Floats, target: Floats) -> bool:
    order = np.lexsort((values, target))
    steps, moves = np.diff(values[order]), np.diff(target[order])
    one = np.where(moves > 0, steps, 0.0)
    same = bool((steps[moves == 0] == 0).all())
    return same and bool((one[moves > 0] > 0).all() or (one[moves > 0] < 0).all())


def one_to_one(values: Floats, codes: Codes) -> bool:
    """Whether each value stands with one class and each class with one value."""
    first, inverse = np.unique(values, return_inverse=True)
    if len(first) != int(codes.max()) + 1:
        return False
    return len(np.unique(inverse.astype(np.int64) * len(first) + codes)) == len(first)


def threshold_accuracy(values: Floats, codes: Codes) -> float:
    """The mean recall of two classes under the best single threshold."""
    order = np.argsort(values, kind="stable")
    ones = np.cumsum(codes[order] == 1) / max(1, int((codes == 1).sum()))
    zeros = np.cumsum(codes[order] == 0) / max(1, int((codes == 0).sum()))
    cuts = np.flatnonzero(np.diff(values[order]) > 0)
    if not len(cuts):
        return 0.5
    return float((1 + np.abs(ones[cuts] - zeros[cuts]).max()) / 2)


def _numbers_rows(values: Floats) -> bool:
    """Whether a column rises or falls along the file: it numbers or dates the rows."""
    steps = np.diff(values)
    return bool((steps >= 0).all() or (steps <= 0).all())


def holds_too(held: Part, train: Part, name: str) -> bool | None:
    """Whether a column tells the label in a held-out part as well; None where that cannot be seen."""
    if name not in train.feature_names or held.labels is None:
        return None
    if any(c.name == name and c.constant for c in held.columns):
        return not held.labels.classes or len(held.labels.counts) == 1
    if name not in held.feature_names:
        return None
    mine = train.features[:, train.feature_names.index(name)]
    theirs = held.features[:, held.feature_names.index(name)]
    if held.labels.classes:
        known = dict(zip(mine.tolist(), train.targets, strict=True))
        return all(known.get(v, t) == t for v, t in zip(theirs.tolist(), held.targets, strict=True))
    return _monotone(theirs, np.array([float(t) for t in held.targets]))
