"""CSV, TSV, JSON lines and JSON arrays, block by block: rows of cells into columns, labels and hashes."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...engine.model import Place
from ..files import RunFile, decode
from . import chats, codes, dated, groups, named, naming, splits
from .gather import WIDEST, Budget, ColumnGather, HashGather, LabelGather, Problems, Reservoir
from .model import SAMPLE, Part, Split

CHUNK = 4 * 1024**2
LONGEST = 16 * 1024**2  # bytes of one row; beyond it the file is no table
UNIQUE = 64.0  # bits of a column in which no cell of different rows is equal
LEAST_ONCE = 50
FIRST = 4096  # rows by which it is told how much a row tells
MAX_COLUMNS = 20_000
MAX_JSON = 64 * 1024**2
MOST_GONE = 0.2  # share of missing values up to which a column is used for looking at neighbours
DELIMITERS = (",", "\t", ";", "|")
# What pandas reads as missing in a column of numbers, and `?` as the UCI repository writes it.
ABSENT = frozenset(["", "#n/a", "n/a", "na", "null", "nan", "none", "<na>", "-nan", "?"])
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
        self.hashes = HashGather()
        self.inputs: list[Any] = []
        self.problems = Problems()
        self.rows = 0
        self.features = Reservoir(target, seed) if len(names) <= WIDEST else None
        self.kept_targets: list[str] = []
        self.files: list[str] = []
        self.comma = False  # decimals are written with a comma
        self.beside = [
            g for g in (dated.of(self.names), groups.of(self.names), named.of(self.names)) if g is not None
        ]
        self.chats = chats.of(self.names)
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
        for at, cells in enumerate(found):
            parsed[at] = self._column(at, cells, place)
        self._hash(found, parsed, numbers, file)
        if self.labels is not None and self.label_at >= 0:
            values = parsed[self.label_at]
            if values is not None:
                self.labels.add_numbers(values, place)
            else:
                self.labels.add_texts([c.strip() for c in found[self.label_at]])
        self._sample(parsed, found, numbers, file)
        for gather in self.beside:
            gather.add(found, numbers, file)

    def divide(self, rows: Sequence[Row]) -> None:
        """Tell parts by a column that names the split of each row, where these first rows have one."""
        at = splits.column(self.names, rows) if not self.rows else None
        if at is not None:
            self.left_out.add(at)
            self.divided = splits.Divided(at, self._like)

    def _like(self) -> TableGather:
        other = TableGather(self.names, self.seed, self.label, self.target)
        other.files, other.comma, other.chats = self.files, self.comma, None
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
        )
        return [first, *found[1:]]

    def _column(self, at: int, cells: Sequence[str], place: Callable[[int], Place]) -> Any:
        gather = self.columns[at]
        try:
            values = np.array(list(map(float, cells)), dtype=np.float64)
        except ValueError:
            if self.comma:
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
        for at, cells in enumerate(found):
            if at in self.left_out and len(self.left_out) < len(found):
                continue
            values = parsed[at]
            plain = values.tolist() if values is not None and not np.isnan(values).any() else _folded(cells)
            if at == self.label_at:
                label = plain
            else:
                kept.append(plain)
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
            found if i == self.label_at or i in self.left_out else codes.apart(found)
            for i, found in enumerate(c.column() for c in self.columns)
        )
        labels = self.labels.labels() if self.labels is not None else None
        hashes, file_of, row_of = self.hashes.arrays()
        features, names, targets, places = self._neighbours(columns)
        return Part(
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
            times=next((g.found() for g in self.beside if isinstance(g, dated.Dated)), None),
            groups=next((g.found() for g in self.beside if isinstance(g, groups.Groups)), ()),
            chats=self.chats.found() if self.chats is not None else None,
            names=next((g.found() for g in self.beside if isinstance(g, named.Named)), {}),
        )

    def _bits(self) -> float:
        """How much a row tells: the sum over columns, in bits, by the chance that two cells are equal.

        Of the first rows, each of them once: whole rows that repeat say nothing of how far chance goes.
        """
        once = list(dict(zip(self.first_hashes, self.first, strict=True)).values())
        if len(once) < max(LEAST_ONCE, len(self.first) / 4):
            once = self.first  # so few different rows are no copies of whole rows
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


# ------------------------------------------------------------------------------------------------- CSV


def dialect(file: RunFile) -> tuple[str, list[str], bool] | None:
    """Return (delimiter, column names, has a header) of a CSV file; None when it is no table."""
    text = file.head_text.lstrip("\ufeff")
    if "\x00" in text[:4096]:
        return None
    lines = [line for line in text.splitlines()[:40] if line.strip()]
    if len(lines) > 1 and file.size > len(file.head):
        lines.pop()
    if not lines:
        return None
    best: tuple[float, str] | None = None
    for delimiter in DELIMITERS:
        widths = [len(r) for r in _parse(lines, delimiter)]
        if widths and widths[0] > 1:
            same = widths.count(widths[0]) / len(widths)
            if same >= 0.6 and (best is None or same > best[0]):
                best = (same, delimiter)
    if best is None:
        if not all(_is_word(line) for line in lines[:5]) or len(lines) < 3:
            return None
        best = (1.0, ",")  # one column
    first = next(iter(_parse(lines[:1], best[1])), [])
    if len(first) > MAX_COLUMNS:
        return None
    header = _is_header(first, _parse(lines[1:], best[1]))
    names = _unlike([c.strip() for c in first]) if header else [f"column {i + 1}" for i in range(len(first))]
    return best[1], names, header


def _is_header(first: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether a first row names columns: no numbers, and no name twice unless numbers stand below it."""
    named = [c for c in first if c.strip()]
    if not named or any(_is_number(c) for c in named):
        return False
    if len(set(first)) == len(first):
        return True
    below = [r for r in rows if len(r) == len(first)]
    numbers = sum(any(_is_number(c) for c, n in zip(r, first, strict=True) if n.strip()) for r in below)
    return bool(below) and numbers >= 0.8 * len(below)


def _unlike(names: Sequence[str]) -> list[str]:
    """The names, with a number behind those that stand there again (as pandas writes them)."""
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        found.append(f"{name}.{seen[name]}" if seen[name] and name else name)
        seen[name] += 1
    return found


def _parse(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    try:
        return [r for r in csv.reader(lines, delimiter=delimiter) if r]
    except csv.Error:
        return []


def _is_word(line: str) -> bool:
    return len(line) < 80 and not set(line) & set("{}[]<>:")


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def label_of(names: Sequence[str]) -> str | None:
    """Return the column that holds labels, by its name; None when none is called so."""
    found = [n for n in names if n.strip().lower() in naming.LABELS]
    found = found or [n for n in names if naming.is_label(n)]
    order = ("label", "labels", "target", "class", "y")
    return min(found, key=lambda n: order.index(n.lower()) if n.lower() in order else 9) if found else None


def read_csv(
    files: Sequence[RunFile], split: Split, delimiter: str, names: Sequence[str], header: bool, budget: Budget
) -> list[Part]:
    """Read CSV files of one header; of long ones seeded blocks."""
    table = TableGather(names, budget.bounds.seed, label_of(names), SAMPLE // 4)
    table.comma = delimiter == ";"
    if not split and files:
        table.divide(_parse(files[0].head_text.splitlines()[header:200], delimiter))
    total, exact, notes = 0, True, []
    for number, file in enumerate(files):
        table.files.append(file.path)
        limit = max(256, (budget.bounds.samples - table.rows) // (len(files) - number))
        mean = _bytes_per_row(file)
        if file.size > 1.2 * limit * mean or file.size > budget.bytes:
            exact = False
            total += max(0, round(file.size / mean) - header)
            _csv_blocks(table, file, number, delimiter, limit, mean, budget)
        else:
            total += _csv_whole(table, file, number, delimiter, header, budget)
            if budget.spent_out:
                exact = False
        if budget.spent_out:
            notes.append(f"stopped after {budget.spent_out}")
            break
    form = "TSV" if delimiter == "\t" else "CSV"
    return table.parts(split, form, total, exact, tuple(notes))


def _bytes_per_row(file: RunFile) -> float:
    lines = file.head.count(b"\n")
    return max(2.0, len(file.head) / max(1, lines))


def _csv_whole(
    table: TableGather, file: RunFile, number: int, delimiter: str, header: bool, budget: Budget
) -> int:
    before, line = table.rows, 1
    table.cut()
    bad = 0
    for text in _chunks(file, 0, file.size, table.problems):
        if not budget.take(len(text)):
            break
        rows, lines, line = _cells(text, delimiter, line)
        if header and rows and lines[0] == 1:
            del rows[0], lines[0]
        bad += _fitting(table, rows, lines, file, number)
    return table.rows - before + bad


def _csv_blocks(
    table: TableGather,
    file: RunFile,
    number: int,
    delimiter: str,
    limit: int,
    mean: float,
    budget: Budget,
) -> None:
    """Look at seeded stretches spread evenly over the file; lines have no numbers there."""
    count = 64
    size = max(4096, int(limit * mean / count))
    random = np.random.default_rng(budget.bounds.seed)
    step = file.size / count
    for at in range(count):
        start = int(at * step + random.random() * max(0.0, step - size))
        table.cut()
        for text in _chunks(file, start, min(start + size, file.size), None):
            if not budget.take(len(text)):
                return
            _, _, rest = text.partition("\n")  # where a stretch begins is in the middle of a row
            rows, lines, _ = _cells(rest, delimiter, 1)
            width = len(table.names)
            kept = [r for r in rows if len(r) == width]  # a stretch may begin inside a quoted cell
            table.add(kept, [0] * len(kept), number)
            del lines


def _chunks(file: RunFile, start: int, stop: int, problems: Problems | None) -> Iterator[str]:
    """Yield text in pieces of whole lines, quoted line ends kept together where that is within reason."""
    if file.head.startswith((b"\xff\xfe", b"\xfe\xff")):
        if start == 0 and file.size <= MAX_JSON:
            yield file.read_text()
        elif problems is not None:
            problems.add(file.path, "UTF-16, and too large to be read at once")
        return
    with file.open() as handle:
        handle.seek(start)
        rest = b""
        left = stop - start
        while left > 0:
            piece = handle.read(min(CHUNK, left))
            if not piece:
                break
            left -= len(piece)
            data = rest + piece
            end = data.rfind(b"\n") + 1
            if end and data.count(b'"', 0, end) % 2 and len(data) < LONGEST and left > 0:
                end = 0
            if not end and left > 0:
                rest = data
                if len(rest) > LONGEST:
                    if problems is not None:
                        problems.add(file.path, f"a row of more than {LONGEST // 1024**2} MiB")
                    return
                continue
            end = end or len(data)
            rest = data[end:]
            yield decode(data[:end])
        if rest and stop >= file.size:
            yield decode(rest)


def _cells(text: str, delimiter: str, line: int) -> tuple[list[list[str]], list[int], int]:
    """Return rows, the line of each, and the line that follows."""
    if '"' not in text:
        raw = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        if raw and not raw[-1]:
            raw.pop()
        rows = [r.split(delimiter) for r in raw]
        lines = list(range(line, line + len(rows)))
        if "" in raw:
            kept = [i for i, r in enumerate(raw) if r]
            rows, lines = [rows[i] for i in kept], [lines[i] for i in kept]
        return rows, lines, line + len(raw)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    rows, lines, before = [], [], 0
    try:
        for cells in reader:
            if cells:
                rows.append(cells)
                lines.append(line + before)
            before = reader.line_num
    except csv.Error:
        pass  # a cell beyond csv's limit: the rest of this piece cannot be cut into cells
    return rows, lines, line + text.count("\n")


def _fitting(table: TableGather, rows: list[list[str]], lines: list[int], file: RunFile, number: int) -> int:
    """Add the rows of the right width and note the others; return how many those are."""
    width = len(table.names)
    again = [
        i
        for i, r in enumerate(rows)
        if r[0].strip() == table.names[0] and [c.strip() for c in r] == table.names
    ]
    if not again and all(len(r) == width for r in rows):
        table.add(rows, lines, number)
        return 0
    for i in again:
        table.problems.add(file.path, "the header stands there again", lines[i])
    bad = [i for i, r in enumerate(rows) if len(r) != width]
    for i in bad:
        table.problems.add(file.path, f"{len(rows[i])} cells instead of {width}", lines[i])
    bad += again
    wrong = set(bad)
    kept = [i for i in range(len(rows)) if i not in wrong]
    table.add([rows[i] for i in kept], [lines[i] for i in kept], number)
    return len(bad)


# ------------------------------------------------------------------------------------------------ JSON


def json_names(file: RunFile) -> list[str] | None:
    """Return the keys of the first objects of a JSON-lines file; None when it is none."""
    names: dict[str, None] = {}
    seen = 0
    lines = file.head_text.lstrip("\ufeff").splitlines()
    if file.size > len(file.head) and len(lines) > 1:
        lines.pop()
    for line in lines[:200]:
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict):
            seen += 1
            for key in _flat(row):
                names.setdefault(key)
    return list(names)[:MAX_COLUMNS] if seen else None


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """One level of nesting becomes dotted keys; lists stay."""
    found: dict[str, Any] = {}
    for key, value in row.items():
        if isinstance(value, dict):
            found.update({f"{key}.{k}": v for k, v in list(value.items())[:200]})
        else:
            found[key] = value
    return found


def _as_cell(value: Any) -> str:
    """A JSON value as a cell; nothing for null, an empty list or an empty object."""
    if value is None or value == [] or value == {}:
        return ""
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, str):
        return value.strip()
    return repr(value) if isinstance(value, (int, float)) else json.dumps(value, sort_keys=True)[:2000]


def read_jsonl(files: Sequence[RunFile], split: Split, names: Sequence[str], budget: Budget) -> list[Part]:
    """Read JSON lines; of long files seeded stretches."""
    table = TableGather(names, budget.bounds.seed, label_of(names), SAMPLE // 4)
    total, exact, notes = 0, True, []
    if not split and files:
        table.divide(_first_rows(files[0], table.names))
    for number, file in enumerate(files):
        table.files.append(file.path)
        limit = max(256, (budget.bounds.samples - table.rows) // (len(files) - number))
        mean = _bytes_per_row(file)
        if file.size > 1.2 * limit * mean or file.size > budget.bytes:
            exact = False
            total += round(file.size / mean)
            _jsonl_blocks(table, file, number, limit, mean, budget)
        else:
            before, line, bad = table.rows, 1, 0
            table.cut()
            for text in _chunks_of_lines(file, 0, file.size, table.problems):
                if not budget.take(len(text)):
                    exact = False
                    break
                line, wrong = _json_rows(table, text, line, file, number)
                bad += wrong
            total += table.rows - before + bad
        if budget.spent_out:
            notes.append(f"stopped after {budget.spent_out}")
            break
    return table.parts(split, "JSON lines", total, exact, tuple(notes))


def _first_rows(file: RunFile, names: Sequence[str]) -> list[list[str]]:
    """The cells of the first objects of a JSON-lines file."""
    rows = []
    for line in file.head_text.splitlines()[:200]:
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            flat = _flat(found)
            rows.append([_as_cell(flat.get(name)) for name in names])
    return rows


def _jsonl_blocks(
    table: TableGather, file: RunFile, number: int, limit: int, mean: float, budget: Budget
) -> None:
    count = 64
    size = max(4096, int(limit * mean / count))
    random = np.random.default_rng(budget.bounds.seed)
    step = file.size / count
    for at in range(count):
        start = int(at * step + random.random() * max(0.0, step - size))
        table.cut()
        for text in _chunks_of_lines(file, start, min(start + size, file.size), None):
            if not budget.take(len(text)):
                return
            whole = text.split("\n")[1:-1]
            _json_rows(table, "\n".join(whole), 0, file, number)


def _chunks_of_lines(file: RunFile, start: int, stop: int, problems: Problems | None) -> Iterator[str]:
    with file.open() as handle:
        handle.seek(start)
        rest = b""
        left = stop - start
        while left > 0:
            piece = handle.read(min(CHUNK, left))
            if not piece:
                break
            left -= len(piece)
            data = rest + piece
            end = data.rfind(b"\n") + 1
            if not end and left > 0:
                rest = data
                if len(rest) > LONGEST:
                    if problems is not None:
                        problems.add(file.path, f"a row of more than {LONGEST // 1024**2} MiB")
                    return
                continue
            end = end or len(data)
            rest = data[end:]
            yield decode(data[:end])
        if rest:
            yield decode(rest)


def _json_rows(table: TableGather, text: str, line: int, file: RunFile, number: int) -> tuple[int, int]:
    """Add the objects of these lines; return the next line (0: lines are not counted) and the bad ones."""
    rows: list[list[str]] = []
    lines: list[int] = []
    bad = 0
    pieces = text.split("\n")
    if pieces and not pieces[-1]:
        pieces.pop()
    for i, piece in enumerate(pieces):
        if not piece.strip():
            continue
        at = line + i if line else 0
        try:
            row = json.loads(piece)
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict):
            bad += 1
            if line:
                table.problems.add(file.path, "not a JSON object", at)
            continue
        flat = _flat(row)
        rows.append([_as_cell(flat.get(name)) for name in table.names])
        lines.append(at)
        if table.chats is not None:
            table.chats.add([flat], [Place(file.path, at or None)])
    table.add(rows, lines, number)
    return (line + len(pieces) if line else 0), bad


def load_json(file: RunFile, budget: Budget) -> Any:
    """Return what a JSON file holds; None where it is too large. Raises ValueError."""
    if file.size > MAX_JSON or not budget.take(file.size):
        return None
    return json.loads(file.read_text())


def read_json(file: RunFile, found: Any, split: Split, budget: Budget) -> list[Part] | None:
    """Read a JSON array of objects (or an object of such under "data"); None when it is something else."""
    if isinstance(found, dict):
        lists = [v for v in found.values() if isinstance(v, list) and v and isinstance(v[0], dict)]
        found = max(lists, key=len) if lists else None
    if not isinstance(found, list) or not found or not isinstance(found[0], dict):
        return None
    flat = [_flat(r) for r in found[: budget.bounds.samples] if isinstance(r, dict)]
    names = list(dict.fromkeys(k for r in flat[:200] for k in r))[:MAX_COLUMNS]
    table = TableGather(names, budget.bounds.seed, label_of(names), SAMPLE // 4)
    table.files.append(file.path)
    rows = [[_as_cell(r.get(n)) for n in names] for r in flat]
    if not split:
        table.divide(rows[:200])
    table.add(rows, [0] * len(flat), 0)
    if table.chats is not None:
        table.chats.add(flat, [Place(file.path)] * len(flat))
    for _ in range(len(found[: budget.bounds.samples]) - len(flat)):
        table.problems.add(file.path, "an entry that is no object")
    return table.parts(split, "JSON", len(found), True, ())
