"""Wrong labels among classes that a linear model parts: errors that stay as many far from the border.

Classes that overlap are confused where they meet, and less and less away from there; labels that somebody
turned are wrong everywhere alike (Angluin and Laird 1988: classification noise of one rate).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...engine.model import Place
from ..run import Floats
from .model import Part
from .neighbours import MOST_CLASSES, K, chosen_rows, scaled

FOLDS = 5
TAIL = 0.25  # of the samples told to be of a class, those farthest from the border
LEAST = 20  # samples of that tail
ROWS = 300
WIDEST = 256  # columns


@dataclass(frozen=True, slots=True)
class Flips:
    """How a linear model, fitted on the other folds, errs.

    `tail`: the smallest share of wrong labels, over classes, among the samples farthest on a side; `flat`:
    the mean of these shares over that of all samples; `own`: the largest share of neighbours that agree with
    the labels that are wrong there (much where a group of its own lies beyond the border).
    """

    rows: int
    wrong: float
    tail: float
    flat: float
    own: float
    count: int
    places: tuple[Place, ...]


def flips(part: Part, seed: int) -> Flips | None:
    """Fit and look; None with too few samples of a class, too many columns, or a class that is never told."""
    if part.labels is None or not part.labels.classes or len(part.features) < ROWS:
        return None
    names, codes = np.unique(np.array(part.targets), return_inverse=True)
    if not 2 <= len(names) <= min(MOST_CLASSES, len(codes) / 60) or part.features.shape[1] > WIDEST:
        return None
    at = chosen_rows(len(codes), seed, part.features)
    rows, codes = np.clip(scaled(part.features[at]), -5, 5), codes[at]
    if int(np.bincount(codes, minlength=len(names)).min()) < 2 * FOLDS:
        return None
    scores = _scores(rows, codes, len(names), seed)
    told = scores.argmax(axis=1)
    ordered = np.sort(scores, axis=1)
    margin = ordered[:, -1] - ordered[:, -2]
    own = _agreeing(rows, codes)
    tails, owns, odd = [], [], []
    for code in range(len(names)):
        mine = np.flatnonzero(told == code)
        if len(mine) < 2 * LEAST:
            return None
        far = mine[np.argsort(-margin[mine], kind="stable")][: max(LEAST, int(TAIL * len(mine)))]
        bad = far[codes[far] != code]
        tails.append(len(bad) / len(far))
        owns.append(float(own[bad].mean()) if len(bad) else 0.0)
        odd.append(bad)
    wrong = float(np.mean(told != codes))
    found = np.sort(np.concatenate(odd))
    places = tuple(part.target_places[int(at[i])] for i in found[:10])
    flat = float(np.mean(tails)) / max(wrong, 1e-9)
    return Flips(len(rows), wrong, min(tails), flat, max(owns), len(found), places)


def _scores(rows: Floats, codes: np.ndarray[tuple[int], np.dtype[np.int64]], kinds: int, seed: int) -> Floats:
    """Out-of-fold scores [n, kinds] of least squares on classes of equal weight."""
    inputs = np.column_stack([rows, np.ones(len(rows))])
    wanted = np.eye(kinds)[codes]
    weight = 1 / np.bincount(codes, minlength=kinds)[codes]
    fold = np.random.default_rng(seed).integers(0, FOLDS, len(rows))
    scores = np.zeros((len(rows), kinds))
    for one in range(FOLDS):
        fit, out = fold != one, fold == one
        weighted = inputs[fit].T * weight[fit]
        square = weighted @ inputs[fit]
        square += np.eye(len(square)) * 1e-3 * np.trace(square) / len(square)
        scores[out] = inputs[out] @ np.linalg.solve(square, weighted @ wanted[fit])
    return scores


def _agreeing(rows: Floats, codes: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Floats:
    """The share of each sample's K nearest neighbours that carry its label, [n]."""
    squares = (rows**2).sum(axis=1)
    found = np.zeros(len(rows))
    for at in range(0, len(rows), 512):
        block = rows[at : at + 512]
        far = squares[None, :] - 2 * block @ rows.T
        far[np.arange(len(block)), np.arange(at, at + len(block))] = np.inf
        near = np.argpartition(far, K - 1, axis=1)[:, :K]
        found[at : at + 512] = (codes[near] == codes[at : at + 512, None]).mean(axis=1)
    return found
