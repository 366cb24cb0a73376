"""Made inputs of hand-written metrics, in the layouts that programs give them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .arrays import tensor

KINDS = 6  # classes: more than the five of "top 5"
CUT = 5  # "at k"
Array = np.ndarray


@dataclass(frozen=True)
class Case:
    """What a function is given for what was said and what is true, and what both are behind their layout."""

    task: str  # "reals", "two", "kinds", "tags", "ranks", "texts", "boxes"
    said: Any
    truth: Any
    scores: Array  # what was said: numbers, scores, or decisions where nothing else is given
    right: Array
    decided: bool = False  # decisions are given, and no scores


def cases(family: str, seed: int) -> Iterator[Case]:
    """The cases of a family of metrics, each with other numbers by the seed."""
    of = np.random.default_rng([seed, 11])
    if family == "reals":
        yield from _in_kinds(_reals(of))
    elif family == "decisions":
        yield from _in_kinds(_two(of))
        yield from _in_kinds(_kinds(of))
        yield from _in_kinds(_tags(of))
    elif family == "scores":
        yield from _in_kinds(c for c in _two(of) if not c.decided)
        yield from _in_kinds(c for c in (*_kinds(of), *_tags(of)) if not c.decided)
    elif family == "ranks":
        yield from _ranks(of, 2 if seed == 1 else 0)
    elif family == "texts":
        yield from _texts(of)
    elif family == "found":
        yield from _in_kinds(_found(of))
    elif family == "curve":
        yield from _in_kinds(_curve(of))
    elif family == "kept":
        yield from _in_kinds(_kept(of))
    elif family == "boxes":
        yield from _in_kinds(_boxes(of))


def _in_kinds(made: Iterator[Case] | Any) -> Iterator[Case]:
    """As arrays of numpy, as tensors, and plain lists as lists."""
    for case in made:
        yield case
        yield Case(case.task, tensor(case.said), tensor(case.truth), case.scores, case.right, case.decided)
        if np.ndim(case.said) == 1 and np.ndim(case.truth) == 1:
            yield Case(
                case.task, case.said.tolist(), case.truth.tolist(), case.scores, case.right, case.decided
            )


def _reals(of: np.random.Generator) -> Iterator[Case]:
    for shape in ((23,), (23, 1), (23, 4)):
        truth = of.uniform(5.0, 9.0, shape)
        said = truth + of.normal(0.4, 1.1, shape)
        yield Case("reals", said, truth, said, truth)
    truth = of.uniform(0.0, 1.0, (2, 1, 5, 5))
    said = np.clip(truth + of.normal(0.02, 0.1, truth.shape), 0, 1)
    yield Case("reals", said, truth, said, truth)


def _near(of: np.random.Generator, truth: Array) -> Array:
    """Scores that are right more often than not, no two of them alike."""
    return np.asarray(1.1 * (2 * truth - 1) + of.normal(0.1, 1.3, truth.shape))


def _chances(scores: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-scores)))


def _two(of: np.random.Generator) -> Iterator[Case]:
    for shape in ((41,), (41, 1), (3, 1, 6, 7)):
        truth = (of.uniform(size=shape) < 0.4).astype(int)
        scores = _near(of, truth)
        hard = (scores > 0).astype(int)
        yield Case("two", hard, truth, scores, truth, True)
        yield Case("two", _chances(scores), truth, scores, truth)
        yield Case("two", scores, truth, scores, truth)
        if len(shape) == 1:
            yield Case("two", hard.astype(bool), truth.astype(bool), scores, truth, True)
        else:
            yield Case("two", _chances(scores), truth.astype(float), scores, truth)
            yield Case("two", scores, truth.astype(float), scores, truth)


def _kinds(of: np.random.Generator) -> Iterator[Case]:
    truth = np.concatenate([np.arange(KINDS), of.integers(0, KINDS, 47)])
    scores = of.normal(0, 1, (len(truth), KINDS)) + 1.4 * np.eye(KINDS)[truth]
    scores[np.arange(KINDS), np.arange(KINDS)] += 4.0  # each class is met, and said
    yield Case("kinds", scores.argmax(1), truth, scores, truth, True)
    yield Case("kinds", scores, truth, scores, truth)
    yield Case("kinds", _soft(scores), truth, scores, truth)
    yield Case("kinds", _soft(scores), np.eye(KINDS)[truth], scores, truth)  # as `to_categorical` makes it
    grid = of.integers(0, KINDS, (2, 6, 7))
    maps = of.normal(0, 1, (2, KINDS, 6, 7)) + 1.4 * np.moveaxis(np.eye(KINDS)[grid], -1, 1)
    flat = np.moveaxis(maps, 1, -1).reshape(-1, KINDS)
    yield Case("kinds", maps.argmax(1), grid, flat, grid.reshape(-1), True)
    yield Case("kinds", maps, grid, flat, grid.reshape(-1))
    words = of.integers(0, KINDS, (5, 9))
    said = of.normal(0, 1, (5, 9, KINDS)) + 1.4 * np.eye(KINDS)[words]
    yield Case("kinds", said, words, said.reshape(-1, KINDS), words.reshape(-1))


def _soft(scores: Array) -> Array:
    made = np.exp(scores - scores.max(1, keepdims=True))
    return np.asarray(made / made.sum(1, keepdims=True))


def _tags(of: np.random.Generator) -> Iterator[Case]:
    truth = (of.uniform(size=(31, KINDS)) < 0.4).astype(int)
    truth[0], truth[1] = 1, 0
    scores = _near(of, truth)
    yield Case("tags", (scores > 0).astype(int), truth, scores, truth, True)
    yield Case("tags", _chances(scores), truth, scores, truth)
    yield Case("tags", scores, truth, scores, truth)
    yield Case("tags", _chances(scores), truth.astype(float), scores, truth)


def _ranks(of: np.random.Generator, at: int) -> Iterator[Case]:
    """A list of items in their order, best first; one that is right, or some that are."""
    items = of.permutation(np.arange(100, 120))
    one = int(items[at])
    flags = np.zeros(len(items), int)
    flags[at] = 1
    yield Case("one", items.tolist(), one, flags, flags)
    yield Case("one", items, one, flags, flags)
    yield Case("one", items.tolist(), [one], flags, flags)
    several = np.zeros(len(items), int)
    several[[at, at + 2, CUT + 2, CUT + 6]] = 1
    some = items[several == 1].tolist()
    yield Case("some", items.tolist(), set(some), several, several)
    yield Case("some", items.tolist(), some, several, several)
    yield Case("some", items, np.array(some), several, several)
    scores = np.sort(of.normal(0, 1, len(items)))[::-1].copy()
    order = of.permutation(len(items))
    for made in (np.asarray, tensor):
        yield Case("some", made(scores[order]), made(several[order]), several, several)


MISSED = 4  # objects that no detection met


def _found(of: np.random.Generator) -> Iterator[Case]:
    """Detections in no order: their scores, and which of them met an object."""
    hits = (of.uniform(size=23) < 0.6).astype(int)
    scores = of.permutation(np.linspace(0.05, 0.95, 23)) + 0.1 * hits
    yield Case("found", scores, hits, scores, hits)


def _curve(of: np.random.Generator) -> Iterator[Case]:
    """Precision and recall after each detection, the best first."""
    hits = (of.uniform(size=23) < 0.6).astype(int)
    at = np.cumsum(hits)
    yield Case("curve", at / np.arange(1, 24), at / (at[-1] + MISSED), hits, hits)


def _kept(of: np.random.Generator) -> Iterator[Case]:
    """Boxes of which some lie upon others, far from half of them, with their scores."""
    apart = np.array([[0.0, 0.0], [3.0, 2.0], [28.0, 25.0]])
    low = (100.0 * np.arange(4)[:, None, None] + apart[None]).reshape(-1, 2)
    size = np.full((12, 2), 40.0)
    corners = np.concatenate([low, low + size], axis=1)
    scores = of.permutation(np.linspace(0.3, 0.9, 12))
    for way in (corners, np.concatenate([low, size], 1), np.concatenate([low + size / 2, size], 1)):
        yield Case("kept", way, scores, corners, scores)


_WORDS = ("sea", "sun", "fog", "ice", "oak", "dew", "ash")


def _texts(of: np.random.Generator) -> Iterator[Case]:
    truth = [_WORDS[i] for i in of.integers(0, len(_WORDS), 8)]
    said = [w for i, w in enumerate(truth) if i not in (2, 5)]
    said[1] = "elm"
    said.insert(4, "fir")
    said.append("yew")
    none = np.zeros(0)
    yield Case("words", said, truth, none, none)
    yield Case("words", " ".join(said), " ".join(truth), none, none)
    ids = {w: i for i, w in enumerate(dict.fromkeys((*truth, *said)))}
    yield Case("words", [ids[w] for w in said], [ids[w] for w in truth], none, none)


def _boxes(of: np.random.Generator) -> Iterator[Case]:
    low = of.integers(0, 6, (2, 5, 2)).astype(float)
    size = 2.0 * of.integers(2, 5, (2, 5, 2))  # whole numbers: some cut off what stands behind the point
    corners = np.concatenate([low, low + size], axis=-1)
    for way in (corners, np.concatenate([low, size], -1), np.concatenate([low + size / 2, size], -1)):
        yield Case("boxes", way[0], way[1], corners[0], corners[1])
        yield Case("boxes", way[0, 0], way[1, 0], corners[0, :1], corners[1, :1])
        yield Case("boxes", way[0, 0], way[1], corners[0, :1], corners[1])
