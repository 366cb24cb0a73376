"""Rows of cells into columns, labels, hashes and what stands beside them, whatever file they come from."""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...engine.model import Place
from . import chats, codes, dated, gaps, groups, languages, named, naming, series, spans, splits, token_rows
from .gather import ColumnGather, HashGather, LabelGather, Problems, Reservoir
from .model import SAMPLE, UNIQUE, Part, Split, TokenRows

LEAST_ONCE = 50
LONG_CELL = 2000
FIRST = 4096  # rows by which it is told how much a row tells
MOST_GONE = 0.2  # share of missing values up to which a column is used for looking at neighbours
# What pandas reads as missing in a column of numbers, and `?` as the UCI repository writes it.
ABSENT = frozenset(["", "#n/a", "n/a", "na", "null", "nan", "none", "<na>", "-nan", "?"])
WIDEST_PICTURE, MOST_WIDE = 1100, 2_500_000  # columns of a row that are kept together, numbers in all
_NAN = math.nan
_COMMA = re.compile(r"\s*[-+]?\d*,\d+(?:[eE][-+]?\d+)?\s*")  # as Excel writes it beside semicolons

Row = Sequence[str]


class TableGather:
    """Rows of one table, from however many files."""

    def __init__(self, names: Sequence[str], seed: int, label: str | None, target: int) -> None:
        self.names = [n.strip() or f"unnamed {i + 1}" for i, n in enumerate(names)]
        self.label = label
        self.label_at = self.names.index(label) if label in self.names else -1
        keep = max(200, min(SAMPLE, 4_000_000 // max(1, len(names))))
        self.columns = [ColumnGather(n, seed + i, keep=keep) for i, n in enumerate(self.names)]
        self.labels = LabelGather(label) if label is not None else None
        self.left_out = {i for i, n in enumerate(self.names) if naming.is_identifier(n)}
        self.counting: set[int] = set()  # columns that number the rows, whatever they are called
        self.hashes = HashGather()
        self.inputs: list[Any] = []
        self.whole: list[Any] = []  # the same of rows with what names and dates them
        self.problems = Problems()
        self.rows = 0
        few = min(target, MOST_WIDE // max(1, len(names)))  # of the pixels of a picture
        self.features = Reservoir(few, seed) if len(names) <= WIDEST_PICTURE else None
        self.kept_targets: list[str] = []
        self.files: list[str] = []
        self.comma = False  # decimals are written with a comma
        self.beside = [
            g for g in (dated.of(self.names), groups.of(self.names), named.of(self.names)) if g is not None
        ]
        self.series = series.of(self.names, label)
        translated = any(n.partition(".")[0] == "translation" for n in self.names)
        self.chats: chats.ChatGather | languages.Gather | spans.Gather | None = (
            languages.Gather()
            if translated
            else spans.Gather()
            if spans.is_spans(self.names)
            else chats.of(self.names)
        )
        self.gaps = gaps.Gaps() if self.label_at >= 0 else None
        self.token_rows = token_rows.of(self.names)
        self.seed, self.target = seed, target
        self.divided: splits.Divided | None = None
        self.first: list[Row] = []  # by which it is told how much a row tells
        self.first_hashes: list[int] = []

    def add(self, rows: Sequence[Row], numbers: Sequence[int], file: int) -> None:
        """Take rows of the right width; `numbers` are their lines (0: not known)."""
        if not rows:
            return
        if self.divided is not None:
            self.rows += len(rows)
            for split, some in self.divided.dealt(rows).items():
                self.divided.of(split).add([rows[i] for i in some], [numbers[i] for i in some], file)
            return
        path = self.files[file]

        def place(i: int) -> Place:
            return Place(path, numbers[i] or None)

        self.rows += len(rows)
        found = list(zip(*rows, strict=True))
        parsed: dict[int, Any] = {}
        empty: dict[str, Sequence[int]] = {}
        for at, cells in enumerate(found):
            before = self.columns[at].missing
            parsed[at] = values = self._column(at, cells, place)
            if self.columns[at].missing > before and at != self.label_at:
                gone = (
                    [i for i, c in enumerate(cells) if not c.strip()] if values is None else np.isnan(values)
                )
                empty[self.names[at]] = gone if values is None else np.flatnonzero(gone).tolist()
        if self.gaps is not None:
            self.gaps.add([c.strip() for c in found[self.label_at]], empty)
        self._hash(found, parsed, numbers, file)
        if self.labels is not None and self.label_at >= 0:
            values = parsed[self.label_at]
            if values is not None:
                self.labels.add_numbers(values, place)
            else:
                said = [c.strip() for c in found[self.label_at]]
                if self.labels.sequences or all(c.startswith("[") for c in said):
                    self.labels.add_lists(said, place)
                else:
                    self.labels.add_texts(said)
        self._sample(parsed, found, numbers, file)
        for gather in self.beside:
            gather.add(found, numbers, file)
        if self.series is not None:
            self.series.add(parsed, found, numbers)

    @property
    def takes_read(self) -> bool:
        """Whether rows are wanted as they were read, too."""
        return self.chats is not None or bool(self.token_rows)

    def add_read(self, rows: Sequence[Mapping[str, Any]], places: Sequence[Place]) -> None:
        """Take rows as they were read, before they became cells."""
        for gather in (*((self.chats,) if self.chats is not None else ()), *self.token_rows):
            gather.add(rows, places)

    def divide(self, rows: Sequence[Row]) -> None:
        """Tell parts by a column that names the split of each row, where these first rows have one."""
        at = splits.column(self.names, rows) if not self.rows else None
        if at is not None:
            self.left_out.add(at)
            self.divided = splits.Divided(at, self._like)

    def _like(self) -> TableGather:
        other = TableGather(self.names, self.seed, self.label, self.target)
        other.files, other.comma, other.chats, other.token_rows = self.files, self.comma, None, ()
        other.left_out = self.left_out
        return other

    def cut(self) -> None:
        """What follows is not the neighbour of what came last."""
        for one in self.divided.tables.values() if self.divided is not None else (self,):
            if one.labels is not None:
                one.labels.cut()

    def parts(
        self, split: Split, form: str, rows: int | None, exact: bool, notes: tuple[str, ...]
    ) -> list[Part]:
        """Return what was gathered: one part, or one of each split that a column names."""
        if self.divided is None:
            return [self.part(split, form, rows, exact, notes)]
        whole = exact and rows is not None and self.rows + self.problems.count >= rows
        found = []
        for name, table in self.divided.tables.items():
            share = table.rows if whole or rows is None else round(rows * table.rows / max(1, self.rows))
            found.append(table.part(name, form, share, whole, notes))
        first = replace(
            found[0],
            problems=tuple(self.problems.found),
            problem_count=self.problems.count,
            rows=(found[0].rows or 0) + self.problems.count,
            chats=self.chats.found() if self.chats is not None else None,
            token_rows=self._token_rows(),
        )
        return [first, *found[1:]]

    def _column(self, at: int, cells: Sequence[str], place: Callable[[int], Place]) -> Any:
        gather = self.columns[at]
        try:
            values = np.array(list(map(float, cells)), dtype=np.float64)
        except ValueError:
            if self.comma:
                gather.count_commas(cells, place)
                cells = [c.replace(",", ".") if _COMMA.fullmatch(c) else c for c in cells]
            values = _mixed(cells, certain=gather.numbers > gather.texts)
        if values is None:
            gather.add_words(cells, place)
            gather.add_texts([c.strip() for c in cells], place)
            return None
        gather.add_numbers(values, place)
        return values

    def _hash(self, found: Sequence[Row], parsed: dict[int, Any], numbers: Sequence[int], file: int) -> None:
        """Hash rows without what numbers them: numbers by value, texts without case and spacing.

        `inputs` leaves the label out too: equal there and unequal in `hashes` is one sample labelled twice.
        """
        kept: list[Any] = []
        label: Any = None
        if not self.inputs:
            counting = (at for at, v in parsed.items() if at != self.label_at and _counts_up(v))
            self.counting = set(counting)
            self.left_out |= self.counting
        for at, cells in enumerate(found):
            if at in self.left_out and len(self.left_out) < len(found):
                continue
            values = parsed[at]
            plain = _folded(cells) if values is None else values.tolist()
            if values is not None and np.isnan(values).any():  # numbers stay numbers beside an empty field
                plain = [c if v != v else v for v, c in zip(plain, _folded(cells), strict=True)]
            if at == self.label_at:
                label = plain
            else:
                kept.append(plain)
        if any(isinstance(g, dated.Dated) and g.at in self.left_out for g in self.beside):
            self.whole.append(np.array([hash(r) for r in zip(*found, strict=True)], dtype=np.int64))
        inputs = [hash(r) for r in zip(*kept, strict=True)] if kept else [hash(v) for v in label]
        self.inputs.append(np.array(inputs, dtype=np.int64))
        more = max(1, min(FIRST, 400_000 // len(found))) - len(self.first)
        if more > 0:
            self.first += list(zip(*found, strict=True))[:more]
            self.first_hashes += inputs[:more]
        rows = inputs if label is None else [hash(p) for p in zip(inputs, label, strict=True)]
        self.hashes.add(rows, file, numbers)

    def _sample(
        self, parsed: dict[int, Any], found: Sequence[Row], numbers: Sequence[int], file: int
    ) -> None:
        """Keep rows of numbers with their label and place, for looking at neighbours."""
        if self.features is None or self.label_at < 0:
            return
        block = np.full((len(numbers), len(self.names) + 3), np.nan)
        for at, values in parsed.items():
            if values is not None and at != self.label_at and at not in self.left_out:
                block[:, at] = values
        seen = dict.fromkeys(found[self.label_at])
        known = {c: i for i, c in enumerate(self.kept_targets)}
        for cell in seen:
            if cell not in known and len(self.kept_targets) < 2000:
                known[cell] = len(self.kept_targets)
                self.kept_targets.append(cell)
        block[:, -3] = [known.get(c, -1) for c in found[self.label_at]]
        block[:, -2] = numbers
        block[:, -1] = file
        self.features.add(block)

    def part(self, split: Split, form: str, rows: int | None, exact: bool, notes: tuple[str, ...]) -> Part:
        """Return what was gathered."""
        columns = tuple(
            replace(found, counting=i in self.counting)
            if i == self.label_at or i in self.left_out
            else codes.apart(found)
            for i, found in enumerate(c.column() for c in self.columns)
        )
        labels = self.labels.labels() if self.labels is not None else None
        hashes, file_of, row_of = self.hashes.arrays()
        features, names, targets, places = self._neighbours(columns)
        found = Part(
            split,
            "table",
            form,
            tuple(self.files),
            rows,
            exact,
            self.rows,
            columns,
            labels,
            features,
            names,
            targets,
            places,
            hashes,
            np.concatenate(self.inputs) if self.inputs else np.empty(0, dtype=np.int64),
            file_of,
            row_of,
            tuple(self.problems.found),
            self.problems.count,
            notes,
            hashed="rows",
            bits=self._bits(),
            gaps=self.gaps.found() if self.gaps is not None else {},
            times=next((g.found() for g in self.beside if isinstance(g, dated.Dated)), None),
            groups=next((g.found() for g in self.beside if isinstance(g, groups.Groups)), ()),
            chats=self.chats.found() if self.chats is not None else None,
            token_rows=self._token_rows(),
            names=next((g.found() for g in self.beside if isinstance(g, named.Named)), {}),
            named=np.concatenate(self.whole) if self.whole else np.empty(0, dtype=np.int64),
            names_are_ids=any(isinstance(g, named.Named) and g.identifiers for g in self.beside),
        )
        if self.series is None or found.times is None:
            return found
        still, switched = self.series.found(found)
        return replace(found, still=still, switched=switched)

    def _token_rows(self) -> tuple[TokenRows, ...]:
        return tuple(one for g in self.token_rows if (one := g.found()) is not None)

    def _bits(self) -> float:
        """How much a row tells: the sum over columns, in bits, by the chance that two cells are equal.

        Of the first rows, each of them once: whole rows that repeat say nothing of how far chance goes.
        """
        once = list(dict(zip(self.first_hashes, self.first, strict=True)).values())
        told = [i for i in range(len(self.names)) if i != self.label_at and i not in self.left_out]
        alone = len(told) == 1 and self.columns[told[0]].numbers > self.columns[told[0]].texts
        if alone or len(once) < max(LEAST_ONCE, len(self.first) / 4):
            once = self.first  # so few different rows, or single numbers, are no copies of whole rows
        pairs = len(once) * (len(once) - 1)
        if not pairs:
            return 0.0
        bits = 0.0
        for at, cells in enumerate(zip(*once, strict=True)):
            if at != self.label_at and at not in self.left_out:
                equal = sum(n * (n - 1) for n in Counter(cells).values())
                bits += math.log2(pairs / equal) if equal else UNIQUE
        return bits

    def _neighbours(self, columns: Sequence[Any]) -> Any:
        nothing = (np.empty((0, 0)), (), (), ())
        if self.features is None or self.label_at < 0 or not self.features.held:
            return nothing
        block = self.features.rows()
        use = [
            i
            for i, c in enumerate(columns)
            if c.number
            and not c.constant
            and i != self.label_at
            and i not in self.left_out
            and c.missing <= MOST_GONE * c.count
        ]
        for (
            i
        ) in use:  # a gap, or the code for one, does not cost the row: the middle of the column stands there
            gone = ~np.isfinite(block[:, i]) | np.isin(block[:, i], [v for v, _ in columns[i].codes])
            block[gone, i] = np.median(columns[i].values)
        whole = np.isfinite(block[:, use]).all(axis=1) & (block[:, -3] >= 0) if use else np.zeros(0, bool)
        if not use or not whole.any():
            return nothing
        block = block[whole]
        targets = tuple(self.kept_targets[int(c)] for c in block[:, -3])
        places = tuple(Place(self.files[int(f)], int(n) or None) for n, f in block[:, -2:])
        return block[:, use], tuple(columns[i].name for i in use), targets, places


def _counts_up(values: Any) -> bool:
    """Whether numbers [n] rise by one from row to row."""
    return values is not None and len(values) >= LEAST_ONCE and bool((np.diff(values) == 1).all())


def shortened(text: str) -> str:
    """A long cell as its beginning and a checksum of all of it: lists of ids often begin alike."""
    if len(text) <= LONG_CELL:
        return text
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return f"{text[:LONG_CELL]} ... {digest}"


def _folded(cells: Sequence[str]) -> list[str]:
    return [" ".join(c.split()).casefold() for c in cells]


def _mixed(cells: Sequence[str], *, certain: bool) -> Any:
    """Numbers of a block that holds empty or odd cells; None where it is a column of texts.

    `certain`: the column held numbers before; a block of which nothing is a number then counts as missing.
    """
    values = np.empty(len(cells))
    odd = gone = 0
    for i, cell in enumerate(cells):
        try:
            values[i] = float(cell)
        except ValueError:
            values[i] = _NAN
            if cell.strip().lower() in ABSENT:
                gone += 1
            else:
                odd += 1
    good = len(cells) - odd - gone
    if odd > 0.02 * len(cells) or (not good and not certain):
        return None
    return values
