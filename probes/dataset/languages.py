"""Pairs of texts in two languages: rows whose sides are exchanged, or hold one and the same text.

A side is told by its words alone: by how much more often each stands on that side than on the other.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...engine.model import Place
from ..run import Floats
from .model import Chats

MOST = 20_000  # pairs that are looked at
LEAST = 100
SURE = 0.5  # mean logarithm of how much rather a word stands on one side
TOLD = 0.6  # share of pairs that tell their sides, in two languages
EXCHANGED, COPIED = 0.01, 0.05  # shares from which on it is no single line; names stand in both languages
FEW = 5
_WORD = re.compile(r"[^\W\d_]+")


_CODE = re.compile(r"(?:[a-z]{2,3}(?:[-_][A-Za-z]{2,4})?|source|target|src|tgt)")


def sides(row: Mapping[str, Any]) -> tuple[str, str] | None:
    """The two texts of a row in Hugging Face's form, {"translation": {"en": ..., "de": ...}}."""
    found = row.get("translation")
    if not isinstance(found, Mapping):  # as one level of nesting is read
        found = {k.partition(".")[2]: v for k, v in row.items() if k.startswith("translation.")}
    if len(found) != 2:
        return None
    (one, a), (other, b) = found.items()
    good = isinstance(a, str) and isinstance(b, str) and _CODE.fullmatch(one) and _CODE.fullmatch(other)
    return (a, b) if good else None


class Gather:
    """Pairs of texts in rows as they were read."""

    def __init__(self) -> None:
        self.pairs: list[tuple[str, str]] = []
        self.places: list[Place] = []

    def add(self, rows: Sequence[Mapping[str, Any]], places: Sequence[Place]) -> None:
        """Take the next rows."""
        for row, place in zip(rows, places, strict=True):
            pair = sides(row) if len(self.pairs) < MOST else None
            if pair is not None:
                self.pairs.append(pair)
                self.places.append(place)

    def found(self) -> Chats | None:
        """Return what was found."""
        return of(self.pairs, self.places)


def _words(text: str) -> list[str]:
    """Its words; of scripts without spaces their letters."""
    found = []
    for word in _WORD.findall(text.lower()):
        found += list(word) if word[0] >= "\u2e80" else [word]
    return found


def of(pairs: Sequence[tuple[str, str]], places: Sequence[Place]) -> Chats | None:
    """Judge pairs (source, target) of lines; None where they are few or of one language."""
    if len(pairs) < LEAST:
        return None
    sides = [[_words(text) for text in pair] for pair in pairs[:MOST]]
    same = np.array([a == b for a, b in sides])
    told = _told(sides, ~same, np.zeros(len(sides), dtype=bool))
    # Once more by what the first look says: many exchanged pairs blur the words of both languages.
    told = _told(sides, ~same, told[:, 0] < told[:, 1])
    same &= np.array([len(a) > 2 for a, _ in sides])
    right = (told[:, 0] >= SURE) & (told[:, 1] <= -SURE)
    turned = (told[:, 0] <= -SURE) & (told[:, 1] >= SURE)
    if right.sum() < TOLD * max(1, (~same).sum()):
        return None
    wrong, at = {}, {}
    for why, found, share in (
        ("whose two languages are exchanged", turned, EXCHANGED),
        ("whose translation is the source again", same, COPIED),
    ):
        if found.sum() >= max(FEW, share * len(sides)):
            row = int(np.flatnonzero(found)[0])
            wrong[why], at[why] = int(found.sum()), (places[row], pairs[row][0][:60])
    return Chats(len(sides), wrong, at)


def _told(sides: Sequence[Sequence[list[str]]], use: NDArray[np.bool_], turned: NDArray[np.bool_]) -> Floats:
    """How much rather the words of each pair's sides [n, 2] stand on the first side of the pairs in `use`."""
    first: Counter[str] = Counter()
    second: Counter[str] = Counter()
    for (a, b), used, crossed in zip(sides, use.tolist(), turned.tolist(), strict=True):
        if used:
            first.update(set(b if crossed else a))
            second.update(set(a if crossed else b))
    weight = {w: float(np.log((first[w] + 0.5) / (second[w] + 0.5))) for w in first.keys() | second.keys()}

    def side(words: list[str]) -> float:
        return float(np.mean([weight.get(w, 0.0) for w in words])) if words else 0.0

    return np.array([[side(a), side(b)] for a, b in sides])
