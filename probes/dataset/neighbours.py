"""Label noise by neighbours, and equal samples: within a part, over splits, with other labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...engine.model import Place
from ..run import Floats
from .gather import WIDEST
from .model import Hashes, Part, Squares

K = 10
MOST = 3000  # samples whose neighbours are looked for: memory [MOST, MOST] float32 = 36 MB
LEAST = 60
MOST_CLASSES = 100


@dataclass(frozen=True, slots=True)
class Suspects:
    """Samples whose neighbours nearly all carry one other label.

    `agreement`: share of samples whose label is the most frequent one of their neighbours, as the mean over
    classes: where one class is frequent, all are among its samples whatever the features tell.
    """

    looked: int
    count: int
    agreement: float
    places: tuple[Place, ...]
    examples: tuple[str, ...]  # "cat among dog"
    one_way: float = 1.0  # share of the most frequent pair of classes among them: alike classes, not noise
    classes: int = 0


def suspects(part: Part, seed: int, nearly: float = 0.9) -> Suspects | None:
    """Look at the K nearest neighbours of a seeded sample; None with too few samples or classes."""
    features, targets, at_places = part.features, part.targets, part.target_places
    if part.squares is not None:
        features, targets, at_places = part.squares.features, part.squares.targets, part.squares.places
    if len(features) < LEAST or part.labels is None or not part.labels.classes or part.labels.maps:
        return None
    names, codes = np.unique(np.array(targets), return_inverse=True)
    if not 2 <= len(names) <= min(MOST_CLASSES, len(codes) / 20):
        return None
    chosen = chosen_rows(len(codes), seed, features)
    rows, codes = features[chosen] if pictured(part) else scaled(features[chosen]), codes[chosen]
    squares = (rows**2).sum(axis=1)
    votes = np.zeros((len(rows), len(names)), dtype=np.int32)
    k = min(K, len(rows) - 1)
    for at in range(0, len(rows), 512):
        block = rows[at : at + 512]
        far = squares[None, :] - 2 * block @ rows.T
        far[np.arange(len(block)), np.arange(at, at + len(block))] = np.inf
        near = np.argpartition(far, k - 1, axis=1)[:, :k]
        for j in range(k):
            np.add.at(votes, (np.arange(at, at + len(block)), codes[near[:, j]]), 1)
    best = votes.argmax(axis=1)
    own = votes[np.arange(len(rows)), codes]
    odd = np.flatnonzero((best != codes) & (votes.max(axis=1) >= nearly * k) & (own <= (1 - nearly) * k))
    places = tuple(at_places[int(chosen[i])] for i in odd[:10])
    examples = tuple(dict.fromkeys(f"{names[codes[i]]} among {names[best[i]]}" for i in odd))[:3]
    met = np.bincount(codes, best == codes, len(names)) / np.maximum(
        np.bincount(codes, minlength=len(names)), 1
    )
    pairs = np.unique(codes[odd] * len(names) + best[odd], return_counts=True)[1]
    one_way = float(pairs.max() / len(odd)) if len(odd) else 1.0
    return Suspects(len(rows), len(odd), float(np.mean(met)), places, examples, one_way, len(names))


BELONG, APART = 0.85, 0.4  # agreement with the labels of the next place, and with their own


def shifted(part: Part, seed: int) -> tuple[int, float, float] | None:
    """By how many places (1 or -1) labels stand after their samples, and the agreement so and as they are.

    None where labels agree with their samples, or with no neighbour's; of rows that are not all there.
    """
    squares = part.squares
    if part.times is not None:
        return None  # a label may be what comes next
    if squares is None and len(part.features) == part.looked and part.target_places:
        told = part.targets
        squares = Squares(
            part.features, told, part.target_places, (told[-1], *told[:-1]), (*told[1:], told[0])
        )
    if squares is None or not squares.before:
        return None
    plain = suspects(part, seed)
    if plain is None or plain.agreement > APART:
        return None
    for by, targets in ((-1, squares.before), (1, squares.after)):
        if part.squares is not None:
            other = replace(part, squares=replace(squares, targets=targets))
        else:
            other = replace(part, targets=targets)
        moved = suspects(other, seed)
        if moved is not None and moved.agreement >= BELONG:
            return by, moved.agreement, plain.agreement
    return None


def pictured(part: Part) -> bool:
    """Whether its samples are pictures, all numbers of one unit."""
    return part.squares is not None or (
        len(part.feature_names) > WIDEST or sum(n.startswith("pixel") for n in part.feature_names) >= LEAST
    )


def chosen_rows(count: int, seed: int, features: Floats) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """A seeded sample, drawn in the order of the values: the order of the rows does not matter."""
    if count <= MOST:
        return np.arange(count, dtype=np.int64)
    order = np.lexsort(features.T[::-1][: min(8, features.shape[1])])
    drawn = np.random.default_rng(seed).choice(count, MOST, replace=False)
    return np.sort(order[drawn]).astype(np.int64)


def scaled(features: Floats) -> Floats:
    """Each column about its median over its spread, cut at ten spreads: one odd column does not rule."""
    middle = np.median(features, axis=0)
    spread = np.median(np.abs(features - middle), axis=0) * 1.4826
    spread = np.where(spread > 0, spread, features.std(axis=0))
    spread = np.where(spread > 0, spread, 1.0)
    return np.clip((features - middle) / spread, -10, 10)


# --------------------------------------------------------------------------------------- equal samples


@dataclass(frozen=True, slots=True)
class Equal:
    """How many samples of one part are also in another (or earlier in the same), with the first places."""

    looked: int
    count: int
    places: tuple[Place, ...] = ()
    by_chance: float = 0.0  # share of equal samples that the first part has within itself
    common: int = 0  # samples that are in both, and so often in the first that they tell nothing

    @property
    def share(self) -> float:
        """Of the samples looked at."""
        return self.count / self.looked if self.looked else 0.0


COMMON = 3  # times that a row stands in one split, from which on it is a frequent one


def repeated(part: Part, *, whole: bool = False) -> Equal:
    """Count the samples of a part that repeat an earlier one; `whole`: with what names and dates them."""
    found = part.inputs if len(part.inputs) else part.hashes
    if not len(found):
        return Equal(0, 0)
    if whole:
        found = part.named
    _, first, counts = np.unique(found, return_index=True, return_counts=True)
    twice = np.sort(first[counts > 1])
    return Equal(len(found), int((counts - 1).sum()), tuple(part.place(int(i)) for i in twice[:3]))


DEPENDENT = 0.6  # share of the columns' bits that is taken as a row's: columns tell much of one another
BY_CHANCE = 0.01  # repeats that chance makes, of all samples, from which on repeats tell nothing


def telling(part: Part) -> bool:
    """Whether two samples are hardly equal by chance.

    Files, texts and numbers that seldom repeat tell samples apart; else all columns together may: by their
    bits fewer pairs of rows are equal than a hundredth of the rows.
    """
    if part.hashed in ("files", "samples", "paths"):
        return True
    if part.bits:
        return bool(part.looked / 2 * 2.0 ** (-DEPENDENT * part.bits) < BY_CHANCE)
    return any(
        c.free_text
        or (c.number and not c.integral and len(np.unique(c.values)) > 0.5 * max(1, len(c.values)))
        for c in part.columns
    )


def dated(part: Part) -> bool:
    """Whether rows, which chance repeats, are told apart by who, what and when together.

    So are those of sensors: one that rests measures the same again.
    """
    return (part.still is not None or not telling(part)) and 0 < len(part.named) == len(part.hashes)


def shared(train: Sequence[Part], held: Part) -> Equal:
    """Count the samples of a held-out part that stand in a training part as well."""
    best = Equal(0, 0)
    for part in train:
        if part.hashed != held.hashed or part.kind != held.kind:
            continue
        mine, theirs = _comparable(part, held)
        by_date = dated(part) and len(part.named) == len(mine) and len(held.named) == len(theirs)
        if by_date:  # who, what and when: chance does not repeat these together
            mine, theirs = part.named, held.named
        if not len(mine) or not len(theirs):
            continue
        kinds, counts = np.unique(mine, return_counts=True)
        if part.hashed == "rows":  # "Good." stands in both because it is said often, not because it leaked
            kinds = kinds[counts < COMMON]
        met = np.flatnonzero(np.isin(theirs, kinds))
        common = int(np.isin(theirs, mine).sum()) - len(met)
        places = tuple(held.place(int(i)) for i in met[:3])
        by_chance = 0.0 if by_date or telling(part) else _chance(repeated(part), len(theirs))
        found = Equal(len(theirs), len(met), places, by_chance, common)
        if found.count > best.count or not best.looked:
            best = found
    return best


def _chance(within: Equal, held: int) -> float:
    """Half the share of `held` samples up to which chance makes them equal to training ones.

    To be expected are pairs as within training, with one more seen, and three deviations of their number.
    """
    expected = 2 * (within.count + 1) * held / max(1, within.looked)
    return (expected + 3 * math.sqrt(expected + 1)) / 2 / max(1, held)


def _comparable(part: Part, held: Part) -> tuple[Hashes, Hashes]:
    both = len(part.inputs) and len(held.inputs)
    return (part.inputs, held.inputs) if both else (part.hashes, held.hashes)


def contradicting(part: Part) -> Equal | None:
    """Count samples whose inputs are equal to another's and whose label is not; None without labels."""
    if not len(part.inputs) or part.labels is None or not part.labels.classes:
        return None
    # Equal inputs with unequal rows: what is left over is the label.
    order = np.lexsort((part.hashes, part.inputs))
    inputs, rows = part.inputs[order], part.hashes[order]
    same = inputs[1:] == inputs[:-1]
    other = same & (rows[1:] != rows[:-1])
    group = np.cumsum(np.concatenate([[True], ~same]))
    mixed = np.unique(group[1:][other])
    # One frequent sample counts no more than a pair and a half: short texts of two meanings are no mistake.
    at = np.arange(len(group)) - np.flatnonzero(np.concatenate([[True], ~same]))[group - 1]
    odd = np.flatnonzero(np.isin(group, mixed) & (at < COMMON))
    return Equal(len(inputs), len(odd), tuple(part.place(int(i)) for i in np.sort(order[odd])[:3]))
