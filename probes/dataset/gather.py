"""Accumulators: blocks of samples in, columns, labels and samples out, in bounded memory."""

from __future__ import annotations

import math
import re
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...engine.model import Place
from ..run import Floats
from . import garbled, naming
from .model import SAMPLE, Bounds, Column, Hashes, Labels, Problem

MOST_CLASSES = 10_000
MOST_PROBLEMS = 20
_MEASURED = re.compile(
    r"[^\w\s.,+-]?\s?[-+]?\d[\d,]*(?:\.\d+)?\s?(?:[^\W\d_]{1,6}\.?|[^\w\s.,]{1,2})?"
)  # $1,200 or 5 km
_DATES = (  # ways of writing a date; which of the two numbers of the last one is the day is told apart later
    ("2024-01-31", re.compile(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}(?!\d)")),
    ("31.01.2024", re.compile(r"\d{1,2}\.\d{1,2}\.\d{4}(?!\d)")),
    ("31/01/2024", re.compile(r"(?:1[3-9]|2\d|3[01])[/-]\d{1,2}[/-]\d{4}(?!\d)")),
    ("01/31/2024", re.compile(r"\d{1,2}[/-](?:1[3-9]|2\d|3[01])[/-]\d{4}(?!\d)")),
    ("01/02/2024", re.compile(r"\d{1,2}[/-]\d{1,2}[/-]\d{4}(?!\d)")),
)
FEW_WORDS = 5  # different words in a column of numbers; with more of them it is a column of texts
DENSE = 64 * 1024  # numbers of one block beyond which only some are offered to the sample
_COMMA = re.compile(r"[-+]?\d*,\d+(?:[eE][-+]?\d+)?")
_MARKS = frozenset(".!?,;:。！？、，")
_AT_END = _MARKS | frozenset("\"')]}…”’»")
MEASURED = 0.9  # share of what is no number that carries a unit or marks between thousands
_ALL_IGNORED = re.compile(r"\[\s*-100(?:\s*,\s*-100)*\s*\]")
WIDEST = 512  # columns that are kept one by one; wider rows are looked at as one field


class Budget:
    """What is left of bytes and seconds; shared by all parts."""

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self.bytes = bounds.bytes
        self.until = time.monotonic() + bounds.seconds
        self.spent_out = ""  # which bound ended it

    def take(self, size: int) -> bool:
        """Spend `size` bytes; False when nothing is left, from then on for ever."""
        if not self.spent_out:
            self.bytes -= size
            if self.bytes < 0:
                self.spent_out = f"{self.bounds.bytes / 1024**2:g} MiB"
            elif time.monotonic() > self.until:
                self.spent_out = f"{self.bounds.seconds:g} s"
        return not self.spent_out


class Reservoir:
    """A seeded uniform sample of rows of a stream: every row draws a number, the smallest are kept."""

    def __init__(self, size: int, seed: int) -> None:
        self.size = size
        self.random = np.random.default_rng(seed)
        self.drawn: list[Floats] = []
        self.kept: list[Any] = []
        self.held = 0

    def add(self, rows: Any) -> None:
        """Offer rows [n, ...]."""
        drawn = self.random.random(len(rows))
        if self.held >= self.size and len(self.drawn) == 1:
            below = drawn < self.drawn[0].max(initial=0.0)
            drawn, rows = drawn[below], rows[below]
        if not len(rows):
            return
        self.drawn.append(drawn)
        self.kept.append(rows)
        self.held += len(rows)
        if self.held > 2 * self.size:
            self._thin()

    def _thin(self) -> None:
        drawn, rows = np.concatenate(self.drawn), np.concatenate(self.kept)
        if len(drawn) > self.size:
            best = np.sort(np.argpartition(drawn, self.size - 1)[: self.size])
            drawn, rows = drawn[best], rows[best]
        self.drawn, self.kept, self.held = [drawn], [rows], len(drawn)

    def rows(self) -> Any:
        """Return the sample, in the order in which it came."""
        if not self.kept:
            return np.empty(0)
        self._thin()
        return self.kept[0]


class ColumnGather:
    """One column of numbers or texts."""

    def __init__(self, name: str, seed: int, dtype: str = "", keep: int = SAMPLE) -> None:
        self.name = name
        self.dtype = dtype
        self.numbers = 0
        self.texts = 0
        self.count = self.missing = self.infinite = self.entries = 0
        self.missing_at: Place | None = None
        self.infinite_at: Place | None = None
        self.low, self.high = math.inf, -math.inf
        self.low_at: Place | None = None
        self.high_at: Place | None = None
        self.total = self.squares = 0.0
        self.shift = math.nan
        self.integral = True
        self.sample = Reservoir(keep, seed)
        self.words: Counter[str] = Counter()
        self.words_at: Place | None = None
        self.written = 0  # numbers among the cells that were taken as texts
        self.measured = 0  # numbers among them that carry a unit, a currency or marks between thousands
        self.dates: Counter[str] = Counter()  # way of writing a date -> cells
        self.dates_at: dict[str, Place] = {}
        self.capitals = self.marks = 0  # texts with a capital letter, with a full stop or its like
        self.tagged = 0  # with tags of HTML
        self.ended = self.longest = 0  # that end with one; characters of the longest
        self.broken: Counter[int] = Counter()  # characters of texts that do not -> texts
        self.commas = 0  # of these with a decimal comma
        self.commas_at: Place | None = None
        self.text: str | None = None
        self.one_text = True
        self.garbled = 0
        self.garbled_at: Place | None = None
        self.garbled_as = ""

    def add_numbers(self, values: Floats, place: Any, *, whole: bool = False) -> None:
        """Take float64 values [n]; NaN is missing. `place(i)` tells where value i stands.

        `whole`: they were integers, and need not be looked through for what is none.
        """
        self.count += len(values)
        with np.errstate(all="ignore"):
            index, good = None, values
            if not whole and not np.isfinite(values).all():
                self._not_finite(values, place)
                index = np.flatnonzero(np.isfinite(values))
                good = values[index]
            if not len(good):
                return
            self.numbers += len(good)
            low, high = int(np.argmin(good)), int(np.argmax(good))
            if good[low] < self.low:
                self.low = float(good[low])
                self.low_at = place(low if index is None else int(index[low]))
            if good[high] > self.high:
                self.high = float(good[high])
                self.high_at = place(high if index is None else int(index[high]))
            if math.isnan(self.shift):
                self.shift = float(good[0])
            moved = good - self.shift
            self.total += float(moved.sum())
            self.squares += float(np.dot(moved, moved))
            if self.integral and not whole:
                self.integral = bool((good == np.rint(good)).all())
        if len(good) > DENSE:  # pixels: a seeded few of each block stand for it
            good = good[self.sample.random.integers(0, len(good), DENSE // 16)]
        self.sample.add(good)

    def _not_finite(self, values: Floats, place: Any) -> None:
        gone = np.flatnonzero(np.isnan(values))
        if len(gone):
            self.missing += len(gone)
            self.missing_at = self.missing_at or place(int(gone[0]))
        endless = np.flatnonzero(np.isinf(values))
        if len(endless):
            self.infinite += len(endless)
            self.infinite_at = self.infinite_at or place(int(endless[0]))

    def add_words(self, cells: Sequence[str], place: Any) -> None:
        """Count the numbers among text cells, and keep the first few words that stand among them."""
        for i, cell in enumerate(cells):
            try:
                float(cell)
            except ValueError:
                word = cell.strip()
                if _COMMA.fullmatch(word):
                    self.commas += 1
                    self.commas_at = self.commas_at or place(i)
                elif word:
                    self.measured += _MEASURED.fullmatch(word[:40]) is not None
                    if len(self.words) <= FEW_WORDS:
                        self.words[word[:40]] += 1
                        self.words_at = self.words_at or place(i)
            else:
                self.written += 1

    def count_commas(self, cells: Sequence[str], place: Any) -> None:
        """Count decimal commas, and points, in cells of a table that may have either."""
        for i, cell in enumerate(cells):
            if _COMMA.fullmatch(cell.strip()):
                self.commas += 1
                self.commas_at = self.commas_at or place(i)
            elif "." in cell:
                self.written += 1

    def add_texts(self, cells: Sequence[str], place: Any) -> None:
        """Take text cells; an empty one is missing."""
        self.count += len(cells)
        if "" in cells:
            blank = [i for i, c in enumerate(cells) if not c]
            self.missing += len(blank)
            self.missing_at = self.missing_at or place(blank[0])
            self.texts += len(cells) - len(blank)
        else:
            self.texts += len(cells)
        for i, cell in enumerate(cells):
            told = None if cell.isascii() else garbled.fragment(cell)
            if told is not None:
                self.garbled += 1
                if self.garbled_at is None:
                    self.garbled_at, self.garbled_as = place(i), told
            if cell[:1].isdigit():
                self._date(cell, i, place)
        if naming.is_text(self.name):
            self.capitals += sum(c != c.lower() for c in cells)
            self.marks += sum(not _MARKS.isdisjoint(c) for c in cells)
            self.tagged += sum("</" in c or "<br" in c for c in cells)
            self.ended += sum(c[-1:] in _AT_END for c in cells if c)
            self.longest = max(self.longest, max(map(len, cells), default=0))
            self.broken.update(len(c) for c in cells if c and c[-1:] not in _AT_END)
        if self.one_text:
            for cell in cells:
                if cell and cell != self.text:
                    if self.text is not None:
                        self.one_text = False
                        break
                    self.text = cell

    def _date(self, cell: str, i: int, place: Any) -> None:
        form = next((name for name, way in _DATES if way.match(cell)), None)
        if form is not None:
            self.dates[form] += 1
            if form not in self.dates_at:
                self.dates_at[form] = place(i)

    def column(self) -> Column:
        """Return what was gathered."""
        numeric = self.numbers > 0 and self.texts <= 0.02 * (self.numbers + self.texts)
        n = self.numbers
        mean = std = math.nan
        if n:
            moved = self.total / n
            mean = self.shift + moved
            std = math.sqrt(max(0.0, self.squares / n - moved * moved))
        constant = (n > 1 and self.low == self.high) if numeric else (self.one_text and self.texts > 1)
        return Column(
            self.name,
            numeric,
            self.count,
            self.missing,
            self.infinite,
            self.missing_at,
            self.infinite_at,
            self.low if n else math.nan,
            self.high if n else math.nan,
            self.low_at,
            self.high_at,
            mean,
            std,
            np.asarray(self.sample.rows(), dtype=np.float64),
            bool(n) and self.integral,
            constant,
            naming.is_text(self.name),
            self.dtype,
            self.entries or self.count,
            written=self.written,
            words=tuple(self.words)[:FEW_WORDS] if not numeric and self._one_kind() else (),
            words_at=self.words_at,
            commas=self.commas,
            commas_at=self.commas_at,
            garbled=self.garbled,
            garbled_at=self.garbled_at,
            garbled_as=self.garbled_as,
            dates=dict(self.dates),
            dates_at=dict(self.dates_at),
            capitals=self.capitals,
            marks=self.marks,
            tagged=self.tagged,
            ended=self.ended,
            longest=self.longest,
            cut=self.broken[self.longest] + self.broken[self.longest - 1],
        )

    def _one_kind(self) -> bool:
        """Whether what stands among the numbers is a few words, or numbers with a unit or the like."""
        odd = self.count - self.missing - self.written - self.commas - self.numbers
        return len(self.words) <= FEW_WORDS or self.measured >= MEASURED * odd


class LabelGather:
    """The labels of a part in file order."""

    def __init__(self, name: str, *, by_folder: bool = False) -> None:
        self.name = name
        self.by_folder = by_folder
        self.counts: Counter[str] = Counter()
        self.overflown = False
        self.runs = self.pairs = self.batches = 0
        self.low, self.high = math.inf, -math.inf
        self.low_at: Place | None = None
        self.high_at: Place | None = None
        self.numbers = 0
        self.integral = True
        self.ignored: list[Place] = []
        self.ignored_count = 0
        self.sequences = False  # each sample carries a list of them: no classes of samples
        self.maps = False  # each pixel or token carries one
        self.last: Any = None

    def cut(self) -> None:
        """What follows is not the neighbour of what came last."""
        self.last = None

    def add_numbers(self, values: Floats, place: Any) -> None:
        """Take numeric labels [n] in file order; NaN is passed over."""
        index = np.flatnonzero(np.isfinite(values))
        good = values[index]
        if not len(good):
            return
        self.numbers += len(good)
        low, high = int(np.argmin(good)), int(np.argmax(good))
        if good[low] < self.low:
            self.low, self.low_at = float(good[low]), place(int(index[low]))
        if good[high] > self.high:
            self.high, self.high_at = float(good[high]), place(int(index[high]))
        if self.integral:
            self.integral = bool((good == np.rint(good)).all())
        changes = int(np.count_nonzero(good[1:] != good[:-1]))
        self._neighbours(changes, len(good), good[0], good[-1])
        if not self.overflown:
            found, counts = np.unique(good, return_counts=True)
            self._count(zip((_label(v) for v in found.tolist()), counts.tolist(), strict=True), len(found))

    def add_texts(self, cells: Sequence[str]) -> None:
        """Take text labels in file order; empty ones are passed over."""
        good = [c for c in cells if c]
        if not good:
            return
        changes = sum(a != b for a, b in pairwise(good))
        self._neighbours(changes, len(good), good[0], good[-1])
        if not self.overflown:
            counts = Counter(good)
            self._count(counts.items(), len(counts))

    def add_lists(self, cells: Sequence[str], place: Any) -> None:
        """Take samples that carry a list of labels each, written out: of tokens, or several classes."""
        self.sequences = True
        self.batches += len(cells)
        for i, cell in enumerate(cells):
            if _ALL_IGNORED.fullmatch(cell):
                self.ignored_count += 1
                if len(self.ignored) < MOST_PROBLEMS:
                    self.ignored.append(place(i))

    def _neighbours(self, changes: int, count: int, first: Any, last: Any) -> None:
        fresh = self.last is None
        if not fresh:
            changes += bool(first != self.last)
        self.runs += changes + (1 if fresh else 0)
        self.pairs += count - (1 if fresh else 0)
        self.last = last

    def _count(self, pairs: Iterable[tuple[str, int]], count: int) -> None:
        if count > MOST_CLASSES or len(self.counts) > MOST_CLASSES:
            self.overflown = True
            return
        for label, n in pairs:
            self.counts[label[:80]] += n

    def labels(self) -> Labels | None:
        """Return what was gathered; None when there was no label at all."""
        if self.sequences:
            ignored = tuple(self.ignored)
            return Labels(
                self.name,
                {},
                classes=False,
                all_ignored=ignored,
                batches=self.batches,
                ignored=self.ignored_count,
            )
        total = sum(self.counts.values())
        if not total and not self.overflown:
            return None
        kinds = len(self.counts)
        few = kinds <= max(20, 0.2 * total) if self.integral or not self.numbers else kinds <= 20
        classes = not self.overflown and few and kinds <= max(2, total / 2)
        return Labels(
            self.name,
            dict(sorted(self.counts.items(), key=lambda kv: (-kv[1], kv[0]))) if classes else {},
            self.runs,
            self.pairs,
            bool(self.numbers) and self.integral,
            self.low if self.numbers else math.nan,
            self.high if self.numbers else math.nan,
            self.low_at,
            self.high_at,
            self.by_folder,
            classes,
            tuple(self.ignored[:MOST_PROBLEMS]),
            self.batches,
            maps=self.maps,
        )


def _label(value: float) -> str:
    return str(int(value)) if value == int(value) else f"{value:.6g}"


class HashGather:
    """A hash per sample, with where it stands."""

    def __init__(self) -> None:
        self.hashes: list[Hashes] = []
        self.files: list[NDArray[np.int32]] = []
        self.rows: list[NDArray[np.int64]] = []

    def add(self, hashes: Sequence[int] | Hashes, file: int, rows: Sequence[int] | NDArray[np.int64]) -> None:
        """Take the hashes of consecutive samples of file number `file`; a row of 0 is not known."""
        found = np.asarray(hashes, dtype=np.int64)
        self.hashes.append(found)
        self.files.append(np.full(len(found), file, dtype=np.int32))
        self.rows.append(np.asarray(rows, dtype=np.int64))

    def arrays(self) -> tuple[Hashes, NDArray[np.int32], NDArray[np.int64]]:
        """Return hashes, file numbers and rows."""
        if not self.hashes:
            return np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.int64)
        return np.concatenate(self.hashes), np.concatenate(self.files), np.concatenate(self.rows)


class Problems:
    """The first problems, and how many there were."""

    def __init__(self) -> None:
        self.found: list[Problem] = []
        self.count = 0

    def add(self, file: str, what: str, row: int | None = None) -> None:
        """Note that this file, or this row of it, cannot be read."""
        self.count += 1
        if len(self.found) < MOST_PROBLEMS:
            self.found.append(Problem(Place(file, row), what))


def draw_blocks(rows: int, limit: int, seed: int, block: int = 1024) -> list[tuple[int, int]]:
    """Return (start, stop) of the rows to look at: all, or seeded blocks spread evenly over them."""
    if rows <= limit:
        return [(at, min(at + 65536, rows)) for at in range(0, rows, 65536)]
    block = max(1, min(block, limit // 16))
    count = max(1, limit // block)
    random = np.random.default_rng(seed)
    step = rows / count
    starts = (np.arange(count) * step + random.random(count) * max(0.0, step - block)).astype(np.int64)
    return [(int(s), min(int(s) + block, rows)) for s in starts]
