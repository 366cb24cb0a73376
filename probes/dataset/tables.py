"""CSV, TSV, JSON lines and JSON arrays, block by block: rows of cells into columns, labels and hashes."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...engine.model import Place
from ..files import RunFile, decode
from . import naming
from .gather import Budget, Problems
from .model import SAMPLE, Part, Split
from .rows import TableGather, shortened

CHUNK = 4 * 1024**2
LONG_FIRST = 8 * 1024**2  # bytes of a first line whose keys are looked for
LONGEST = 16 * 1024**2  # bytes of one row; beyond it the file is no table
MAX_COLUMNS = 20_000
MAX_JSON = 64 * 1024**2
DELIMITERS = (",", "\t", ";", "|")


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


def label_of(names: Sequence[str], told: str = "") -> str | None:
    """Return the column of labels: the one that was `told`, or by its name; None when none is called so."""
    if told in names:
        return told
    found = [n for n in names if n.strip().lower() in naming.LABELS]
    found = found or [n for n in names if naming.is_label(n)]
    order = ("label", "labels", "target", "class", "y")
    return min(found, key=lambda n: order.index(n.lower()) if n.lower() in order else 9) if found else None


class Headers:
    """The columns of tables that lie together: what the test file lacks, or is asked for, is the label."""

    def __init__(self) -> None:
        self.columns: dict[tuple[str, Split], list[str]] = {}
        self.answers: dict[str, str] = {}  # folder -> the one column that predictions are asked for in

    def add(self, file: RunFile, split: Split, names: Sequence[str]) -> None:
        """Take the header of a table; of several of one folder and split none tells."""
        key = (file.path.rpartition("/")[0], split)
        self.columns[key] = list(names) if self.columns.get(key, names) == names else []

    def asked(self, file: RunFile, names: Sequence[str]) -> None:
        """Take the header of a form to hand predictions in with: an identifier and what is asked for."""
        if len(names) == 2:
            self.answers[file.path.rpartition("/")[0]] = names[1]

    def label(self, file: RunFile, names: Sequence[str]) -> str | None:
        """Return the column of labels of a table, told by the files beside it; None where they do not."""
        folder = file.path.rpartition("/")[0]
        if self.answers.get(folder) in names:
            return self.answers[folder]
        train, test = self.columns.get((folder, "train")), self.columns.get((folder, "test"))
        if not train or not test or not set(test) < set(train) or names != train:
            return None
        lacking = [n for n in train if n not in test]
        return lacking[0] if len(lacking) == 1 and not naming.is_identifier(lacking[0]) else None


def read_csv(
    files: Sequence[RunFile],
    split: Split,
    delimiter: str,
    names: Sequence[str],
    header: bool,
    budget: Budget,
    label: str | None = None,
) -> list[Part]:
    """Read CSV files of one header; of long ones seeded blocks. `label`: told by other files than these."""
    table = TableGather(names, budget.bounds.seed, label or label_of(names, budget.bounds.label), SAMPLE // 4)
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


def _stretches(file: RunFile, limit: int, mean: float, budget: Budget) -> Iterator[tuple[int, int]]:
    """Yield first and last byte of seeded stretches of `limit` rows in all, `mean` bytes each."""
    count = 64
    size = max(4096, int(limit * mean / count))
    random = np.random.default_rng(budget.bounds.seed)
    step = file.size / count
    for at in range(count):
        start = int(at * step + random.random() * max(0.0, step - size))
        yield start, min(start + size, file.size)


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
    for start, stop in _stretches(file, limit, mean, budget):
        table.cut()
        for text in _chunks(file, start, stop, None):
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
    yield from map(decoded, _pieces(file, start, stop, problems, quoted=True))


def _pieces(
    file: RunFile, start: int, stop: int, problems: Problems | None, *, quoted: bool
) -> Iterator[bytes]:
    """Yield the file in pieces of whole lines; `quoted`: a line end between quotes ends no line."""
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
            if quoted and end and data.count(b'"', 0, end) % 2 and len(data) < LONGEST and left > 0:
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
            yield data[:end]
        if rest:
            yield rest


def decoded(data: bytes) -> str:
    """Text of a table; what is no UTF-8 is Windows-1252, as Excel writes it."""
    text = decode(data)
    if "\ufffd" in text and "\ufffd".encode() not in data:
        return data.decode("cp1252", errors="replace")
    return text


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


def is_lines(file: RunFile) -> bool:
    """Whether a file called .json holds one object per line, as many tools write it."""
    lines = [line for line in file.head_text.lstrip("\ufeff").splitlines() if line.strip()][:3]
    if file.size > len(file.head):
        lines = lines[:-1] if len(lines) < 3 else lines[:2]
    try:
        return len(lines) >= 2 and all(isinstance(json.loads(line), dict) for line in lines)
    except (ValueError, RecursionError):
        return False


def is_endless(file: RunFile) -> bool:
    """Whether the first line of a file is longer than what is looked at."""
    return b"\n" not in file.head and file.size > LONG_FIRST and b"\n" not in file.read_bytes(LONG_FIRST)[:-1]


def json_names(file: RunFile) -> list[str] | None:
    """Return the keys of the first objects of a JSON-lines file; None when it is none."""
    names: dict[str, None] = {}
    seen = 0
    text, seen_bytes = file.head_text, len(file.head)
    if b"\n" not in file.head and file.size > seen_bytes:  # a long document in the first line
        text, seen_bytes = file.read_text(LONG_FIRST), LONG_FIRST
    lines = text.lstrip("\ufeff").splitlines()
    if file.size > seen_bytes and len(lines) > 1:
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
    if isinstance(value, list) and value[:1] == [-100] and all(v == -100 for v in value):
        return "[-100]"  # however long: nothing of it counts
    return repr(value) if isinstance(value, (int, float)) else shortened(json.dumps(value, sort_keys=True))


def read_jsonl(files: Sequence[RunFile], split: Split, names: Sequence[str], budget: Budget) -> list[Part]:
    """Read JSON lines; of long files seeded stretches."""
    table = TableGather(names, budget.bounds.seed, label_of(names, budget.bounds.label), SAMPLE // 4)
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
            for text in map(decode, _pieces(file, 0, file.size, table.problems, quoted=False)):
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
    for start, stop in _stretches(file, limit, mean, budget):
        table.cut()
        for text in map(decode, _pieces(file, start, stop, None, quoted=False)):
            if not budget.take(len(text)):
                return
            whole = text.split("\n")[1:-1]
            _json_rows(table, "\n".join(whole), 0, file, number)


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
        if table.takes_read:
            table.add_read([flat], [Place(file.path, at or None)])
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
    table = TableGather(names, budget.bounds.seed, label_of(names, budget.bounds.label), SAMPLE // 4)
    table.files.append(file.path)
    rows = [[_as_cell(r.get(n)) for n in names] for r in flat]
    if not split:
        table.divide(rows[:200])
    table.add(rows, [0] * len(flat), 0)
    if table.takes_read:
        table.add_read(flat, [Place(file.path)] * len(flat))
    for _ in range(len(found[: budget.bounds.samples]) - len(flat)):
        table.problems.add(file.path, "an entry that is no object")
    return table.parts(split, "JSON", len(found), True, ())
