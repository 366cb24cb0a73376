"""Rows of token ids with their attention masks and labels, as tokenizers leave them in a data set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...engine.model import Place
from .model import TokenRows

MOST = 5_000  # rows that are looked at
LEAST = 20  # rows that tell what is usual
RUN = 3  # equal ids at the end of a row from which on they may be padding
PADDED = 0.3  # share of rows that end so, if it is padding
FEW = 0.2  # share up to which something is an exception
_IDS = "input_ids"
_TOKENS, _TAGS = ("tokens", "words"), ("ner_tags", "tags", "pos_tags", "ner", "bio_tags", "labels")


def of(names: Sequence[str]) -> tuple[RowGather | TagGather, ...]:
    """Return what looks at rows of token ids, one for each field ("chosen_input_ids"), or of tagged words."""
    found: list[RowGather | TagGather] = []
    words, tags = (next((n for n in some if n in names), None) for some in (_TOKENS, _TAGS))
    if words is not None and tags is not None:
        found.append(TagGather(words, tags))
    for name in names:
        if name.endswith(_IDS):
            stem = name.removesuffix(_IDS)
            found.append(RowGather(name, f"{stem}attention_mask", f"{stem}labels"))
    return tuple(found)


class TagGather:
    """Rows of words with a tag each."""

    def __init__(self, words: str, tags: str) -> None:
        self.words, self.tags = words, tags
        self.looked = 0
        self.uneven: list[Place] = []

    def add(self, rows: Sequence[Mapping[str, Any]], places: Sequence[Place]) -> None:
        """Take rows as they were read, before they became cells."""
        for row, place in zip(rows, places, strict=True):
            words, tags = row.get(self.words), row.get(self.tags)
            if isinstance(words, list) and isinstance(tags, list):
                self.looked += 1
                self.uneven += [place] if len(words) != len(tags) else []

    def found(self) -> TokenRows | None:
        """Return how many rows have more or fewer tags than words, where most have as many."""
        if not self.looked or len(self.uneven) > 0.5 * self.looked:
            return None
        why = f"whose labels ({self.tags}) are more or fewer than their words"
        if not self.uneven:
            return TokenRows(self.words, self.looked)
        return TokenRows(self.words, self.looked, {why: len(self.uneven)}, {why: self.uneven[0]})


class RowGather:
    """What is wrong with the rows of one field, counted by reason."""

    def __init__(self, ids: str, mask: str, labels: str) -> None:
        self.ids, self.mask, self.labels = ids, mask, labels
        self.looked = self.labelled = self.even = 0
        self.wrong: Counter[str] = Counter()
        self.first: dict[str, Place] = {}
        self.sides: Counter[str] = Counter()
        self.side_at: dict[str, Place] = {}
        self.lengths: set[int] = set()
        self.ends: Counter[tuple[str, int]] = Counter()  # (side, id) of rows that may be padded unmasked
        self.runs: dict[tuple[str, int], set[int]] = {}
        self.end_at: dict[tuple[str, int], Place] = {}
        self.uneven: list[Place] = []
        self.doubled: Counter[int] = Counter()  # id that a row begins with, twice -> rows
        self.doubled_at: dict[int, Place] = {}

    def add(self, rows: Sequence[Mapping[str, Any]], places: Sequence[Place]) -> None:
        """Take rows as they were read, before they became cells."""
        for row, place in zip(rows, places, strict=True):
            if self.looked >= MOST:
                return
            ids = _numbers(row.get(self.ids))
            if ids is None or not len(ids):
                continue
            self.looked += 1
            self.lengths.add(len(ids))
            mask = _numbers(row.get(self.mask))
            if mask is not None and len(mask) != len(ids):
                self._note("whose attention mask has another length than the ids", place)
            elif mask is not None:
                self._masked(ids, mask, place)
            kept = ids[mask != 0] if mask is not None and len(mask) == len(ids) else ids
            if len(kept) > 2 and kept[0] == kept[1] != kept[2]:
                self.doubled[int(kept[0])] += 1
                self.doubled_at.setdefault(int(kept[0]), place)
            labels = _numbers(row.get(self.labels))
            if labels is not None:
                self._labels(ids, mask, labels, place)

    def _note(self, why: str, place: Place) -> None:
        self.wrong[why] += 1
        self.first.setdefault(why, place)

    def _masked(self, ids: Any, mask: Any, place: Place) -> None:
        """Count the side that is left out; where none is, the side on which one id repeats."""
        if mask[0] != mask[-1]:
            side = "left" if mask[0] == 0 else "right"
            self.sides[side] += 1
            self.side_at.setdefault(side, place)
        elif (mask != 0).all():
            for side, way in (("right", ids[::-1]), ("left", ids)):
                other = np.flatnonzero(way != way[0])
                run = int(other[0]) if len(other) else len(way)
                if run >= RUN and len(other):
                    key = (side, int(way[0]))
                    self.ends[key] += 1
                    self.runs.setdefault(key, set()).add(run)
                    self.end_at.setdefault(key, place)

    def _labels(self, ids: Any, mask: Any, labels: Any, place: Place) -> None:
        self.labelled += 1
        if len(labels) != len(ids):
            self.uneven.append(place)
            return
        self.even += 1
        if mask is None or len(mask) != len(ids) or (mask != 0).all() or not (mask != 0).any():
            return
        out = mask == 0
        if (labels[out] == ids[out]).all() and (labels[~out] == ids[~out]).mean() > 0.5:
            self._note("whose labels count the padding", place)

    def found(self) -> TokenRows | None:
        """Return what was found; lengths and ends that most rows have are their form."""
        if not self.looked:
            return None
        wrong, first = dict(self.wrong), dict(self.first)
        if 0 < len(self.uneven) <= FEW * self.labelled and self.even >= LEAST and len(self.lengths) > 1:
            wrong["whose labels have another length than the ids"] = len(self.uneven)
            first["whose labels have another length than the ids"] = self.uneven[0]
        few = min(self.sides["left"], self.sides["right"])
        if few >= max(5, 0.01 * self.sides.total()):
            side = "left" if self.sides["left"] == few else "right"
            why = f"that are padded on the {side}, the others on the other side"
            wrong[why], first[why] = few, self.side_at[side]
        if self.ends and not self.sides and len(self.lengths) == 1 and self.looked >= LEAST:
            key, count = self.ends.most_common(1)[0]
            if count >= PADDED * self.looked and len(self.runs[key]) >= 5:
                why = f"that end in padding (id {key[1]}) which the attention mask does not leave out"
                why = why.replace("end in", "begin with") if key[0] == "left" else why
                wrong[why], first[why] = count, self.end_at[key]
        for one, count in self.doubled.most_common(1):
            if count >= max(LEAST, PADDED * self.looked):
                why = f"that begin with id {one} twice: a special token that was added twice"
                wrong[why], first[why] = count, self.doubled_at[one]
        return TokenRows(self.ids, self.looked, wrong, first)


def _numbers(value: Any) -> Any:
    """A list of whole numbers as an array [n]; None where it is none."""
    if not isinstance(value, list):
        return None
    try:
        found = np.asarray(value)
    except (ValueError, OverflowError):
        return None
    return found.astype(np.int64) if found.ndim == 1 and found.dtype.kind in "bi" else None
