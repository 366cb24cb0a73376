"""Tables of metrics: Lightning, Keras, Ultralytics, timm and DVCLive CSV or TSV files, and ordinary users'.

A table is taken when it has a column that counts training and one with a metric (or, without a counter,
several metrics and nothing that speaks of data). Each column becomes its own series with the rows in which it
was written: an empty cell and `NA` are absent, `nan` is a value.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..assembly import names
from ..files import RunFile
from ..run import FileContent, Series, Setting, StepUnit, Window
from ..settings import canonical_key
from . import Gives
from ._values import (
    BESIDE_CURVES,
    LARGEST,
    as_split,
    is_clock,
    is_loss,
    is_metric,
    is_wall,
    number,
    of_episodes,
    plain,
    split_of,
    split_word,
    step_kind,
)
from ._wide_ranks import of_columns
from .json_log import tag_of
from .text.arguments import scalar, setting

FORMAT = "csv-log"
GIVES = Gives(
    title="Tables of metrics",
    files="`*.csv`, `*.tsv`: Lightning, Keras, Ultralytics, timm, DVCLive, own scripts",
    lacks="Settings; what a number means beyond the name of its column.",
    scalars="yes",
    steps="some",
    epochs="some",
    walls="some",
    lines="yes",
)
MAX_COLUMNS = 2000
FEW = 3  # rows that a table without a counter must have
LOOK = 60  # rows that detection looks at
LONG_LINE = 1024**2
_NOT_LOGS = frozenset({".py", ".sh", ".json", ".yaml", ".yml", ".toml", ".cfg", ".ini", ".md", ".jsonl"})
_ABSENT = frozenset({"", "na", "n/a", "none", "null", "-", "--", "<na>"})
_NAMES = frozenset({"metric", "metric_name", "tag", "key", "name", "variable"})
_ENTITIES = frozenset({"layer", "layer_name", "param", "parameter", "param_name", "module", "name", "tensor"})
_FOREIGN = frozenset({"vpp_stage", "op_type", "npudump", "timestamp_us"})  # tensor statistics have a reader
_SPLITS = frozenset({"phase", "split", "mode", "stage", "set", "subset", "dataset", "partition"})
# Columns of tables that hold data, predictions or trials of a search: without a step they are no logs.
_DATA = frozenset(
    [
        *("id", "image", "image_id", "filename", "file", "path", "label", "labels", "target", "targets"),
        *(
            "y_true",
            "y_pred",
            "pred",
            "prediction",
            "text",
            "class",
            "class_name",
            "category",
            "name",
            "model",
        ),
        *("model_name", "trial", "trial_id", "fold", "seed", "run", "run_id", "batch_size", "hidden_size"),
        *("dropout", "num_layers", "subject", "user", "x", "y", "lat", "lon", "latitude", "longitude"),
        *("op_name", "op_type", "shape", "dtype"),
    ]
)
_MEASURES = ("accuracy", "acc")
_MONITOR = ["r", "l", "t"]  # Stable-Baselines3's monitor.csv: reward, length and time of each episode
MAX_COMMENTS = 50  # lines above a table
LONGEST_COMMENT = 4000
MOST_BACK = 0.2  # of a column's steps, in one that counts and begins again now and then
_PAIR = re.compile(r"(?<![\w.-])([A-Za-z_][\w.-]{0,60})\s*[=:]\s*([^\s,;]{1,80})")
_MARKERS = ("<<<<<<<", ">>>>>>>", "=======", "|||||||")


@dataclass(slots=True)
class _Table:
    """Rows under one header, with the line of each."""

    header: list[str]
    rows: list[list[str]] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)


def sniff(file: RunFile) -> bool:
    """Say whether the head of the file is a table of metrics."""
    head = file.head
    wide = head.startswith((b"\xff\xfe", b"\xfe\xff"))
    if file.suffix in _NOT_LOGS or (b"\x00" in head[:4096].rstrip(b"\x00") and not wide):
        return False
    text = file.head_text.lstrip("\ufeff\r\n ")
    if not text or text.startswith(("version https://git-lfs", "{", "<", "%PDF")):
        return False
    cut = file.size > len(head)
    lines = _without_comments(_lines(text))[0][: LOOK + 8]
    if cut and len(lines) > 1 and len(lines) < LOOK + 8:
        lines.pop()
    delimiter = _delimiter(lines)
    if delimiter is None:
        return False
    tables, _ = _tables(lines, delimiter)
    return bool(tables) and _is_log(tables[0], file)


def read(file: RunFile) -> FileContent:
    """Read the table. Raises ValueError when no row of it can be read."""
    lines, comments = _without_comments(_lines(file.read_text().lstrip("\ufeff")))
    delimiter = _delimiter(lines)
    if delimiter is None:
        raise ValueError("no table in it")
    tables, notes = _tables(lines, delimiter)
    if file.name.split(".")[0].lower() in _MEASURES:  # Kaldi's accuracy.report calls its columns losses
        for table in tables:
            table.header = [re.sub(r"_loss$", "_accuracy", name) for name in table.header]
    series: list[Series] = []
    for table in tables:
        series.extend(_Reader(file, table, delimiter).series())
    facts = {"framework": "keras"} if _is_keras(tables[0]) else {}
    settings = tuple(_settings(file, comments))
    return FileContent(FORMAT, tuple(_joined(series)), settings, facts=facts, notes=tuple(notes))


def of_rows(file: RunFile, header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[Series]:
    """Return the curves in a table that another reader took out of a file; none when it holds no metrics."""
    table = _Table(_header(header), [list(row) for row in rows], list(range(1, len(rows) + 1)))
    return list(_Reader(file, table, ",").series()) if _is_log(table, file) else []


def has_no_header(file: RunFile) -> bool:
    """Whether the head of a file is a table of numbers from its first row on: nobody knows of what."""
    lines = _lines(file.head_text.lstrip("\ufeff\r\n "))[:LOOK]
    delimiter = _delimiter(lines)
    rows = [line.split(delimiter) for line in lines if line.strip()][:FEW]  # at spaces where there is none
    told = [[cell for cell in row if not _is_absent(cell)] for row in rows if len(row) > 1]
    return len(told) == FEW and all(row and all(number(c) is not None for c in row) for row in told)


def _is_keras(table: _Table) -> bool:
    """Keras writes `epoch` first and then its sorted keys, NA where nothing was measured."""
    head = table.header
    sample = [cell for row in table.rows[:LOOK] for cell in row]
    return head[:1] == ["epoch"] and "NA" in sample and head[1:] == sorted(head[1:])


# ------------------------------------------------------------------------------------------------- lines


def _lines(text: str) -> list[str]:
    """Split at every kind of line end, also CR CR and CR CR LF, which stand for one."""
    if "\r" in text:
        text = re.sub(r"\r+\n?", "\n", text)
    return text.split("\n")


def _without_comments(lines: list[str]) -> tuple[list[str], list[str]]:
    """Blank out the comments above a table: (lines, comments). A "#" may also begin the header itself."""
    first = next((at for at, line in enumerate(lines) if line.strip() and not line.startswith("#")), None)
    if not first or first > MAX_COMMENTS:
        return lines, []
    cells = re.split(r"[,;\t|]", lines[first])
    if len(cells) < 2 or any(number(cell) is not None for cell in cells):
        return lines, []
    return [""] * first + lines[first:], [line.lstrip("# \t") for line in lines[:first]]


def _settings(file: RunFile, comments: Sequence[str]) -> Iterator[Setting]:
    """The settings in comments: `# lr=0.1 batch_size=64`."""
    for at, line in enumerate(comments, start=1):
        for match in _PAIR.finditer(line[:LONGEST_COMMENT]):
            if canonical_key(match.group(1)):
                yield setting(match.group(1), scalar(match.group(2)), file.path, at, BESIDE_CURVES)


def _delimiter(lines: Sequence[str]) -> str | None:
    """The separator that cuts the header and the first rows into equally many cells."""
    sample = [line for line in lines[:40] if line.strip("\x00 \t") and not line.startswith(_MARKERS)]
    sample = [line for line in sample if not line.startswith("#{")][:20]
    if not sample or len(sample[0]) > LONG_LINE:
        return None
    best: tuple[float, str] | None = None
    bordered = sample[0].lstrip().startswith("|")  # a table for the eye, which the reader of texts knows
    for delimiter in (",", "\t", ";") if bordered else (",", "\t", ";", "|"):
        width = _width(sample[0], delimiter)
        if width < 2:
            continue
        same = sum(_width(line, delimiter) == width for line in sample) / len(sample)
        if same >= 0.5 and (best is None or same > best[0]):
            best = (same, delimiter)
    return best[1] if best else None


def _width(line: str, delimiter: str) -> int:
    if '"' not in line:
        return line.count(delimiter) + 1
    try:
        return len(next(csv.reader([line], delimiter=delimiter), []))
    except csv.Error:
        return 0


def _tables(lines: Sequence[str], delimiter: str) -> tuple[list[_Table], list[str]]:
    """Cut the lines into tables, one per different header, and say what was passed over."""
    tables: list[_Table] = []
    notes: list[str] = []
    skipped: Counter[str] = Counter()
    for line, cells in _cells(lines, delimiter, skipped):
        if not tables:
            tables.append(_Table(_header(cells)))
        elif _is_header(cells, tables[-1].header):
            header = _header(cells)
            if header != tables[-1].header:
                tables.append(_Table(header))
        else:
            table = tables[-1]
            if len(cells) != len(table.header):
                skipped["short" if len(cells) < len(table.header) else "long"] += 1
            table.rows.append(cells)
            table.lines.append(line)
    if skipped["marker"]:
        notes.append(f"{skipped['marker']} lines of an unresolved git merge were skipped")
    if skipped["bad"]:
        notes.append(f"{skipped['bad']} lines are no rows of the table")
    if skipped["long"]:
        notes.append(f"{skipped['long']} rows have more cells than the header")
    return tables, notes


def _cells(lines: Sequence[str], delimiter: str, skipped: Counter[str]) -> Iterator[tuple[int, list[str]]]:
    for at, line in enumerate(lines, start=1):
        if "\x00" in line:
            line = line.replace("\x00", "")
        if not line.strip():
            continue
        if line.startswith(_MARKERS):
            skipped["marker"] += 1
        elif line.startswith("#{") or len(line) > LONG_LINE:
            skipped["bad"] += 1
        elif '"' not in line:
            yield at, line.split(delimiter)
        else:
            try:
                yield at, next(csv.reader([line], delimiter=delimiter), [])
            except csv.Error:
                skipped["bad"] += 1


def _header(cells: Sequence[str]) -> list[str]:
    """The names of the columns, stripped; a name that comes again gets its number."""
    seen: Counter[str] = Counter()
    header = []
    for cell in cells:
        name = cell.strip().strip("#").strip().strip("\"'")[:300]
        seen[name] += 1
        header.append(name if seen[name] == 1 else f"{name} #{seen[name]}")
    return header


def _is_header(cells: Sequence[str], header: Sequence[str]) -> bool:
    """A row of names, not of numbers: the header again, or that of another run appended below."""
    if cells[0][:1].isdigit() and not header[0][:1].isdigit():
        return False  # nearly every row: no need to look closer
    first = cells[0].strip().strip("#").strip().strip("\"'")
    if first != header[0] and not step_kind(first):
        return False
    return not any(number(cell) is not None for cell in cells)


# ----------------------------------------------------------------------------------------------- columns


def _is_log(table: _Table, file: RunFile) -> bool:
    header = table.header
    if not 2 <= len(header) <= MAX_COLUMNS or all(number(name) is not None for name in header):
        return False
    known = [plain(name) for name in header]
    if set(known) & _FOREIGN:
        return False
    if known == _MONITOR and table.rows and _mostly_numbers(table, header):
        return True
    if set(known) >= {"wall_time", "step", "value"} or (set(known) & _NAMES and "value" in known):
        return True
    steps = [name for name in header if step_kind(name)]
    metrics = [n for n in header if is_metric(n) or is_metric(_exported(n)) or of_episodes(plain(n), known)]
    metrics += [n for n in of_columns(header, file.path) if n not in metrics]
    if not metrics or not _mostly_numbers(table, metrics):
        return bool(steps) and _is_dvclive(file, table)
    if not table.rows and not (steps and all(map(_is_name, header))):
        return False
    if steps:
        return _mostly_numbers(table, steps) and len(metrics) + len(steps) >= 0.02 * len(header)
    if len(table.rows) < FEW:
        return False
    data = set(known) & _DATA
    distinct = {names.canonical(name) for name in metrics}
    return (
        not data and len(distinct) >= 2 and any(map(is_loss, metrics)) and len(metrics) >= 0.3 * len(header)
    )


def _is_name(text: str) -> bool:
    """A heading, not a sentence."""
    return len(text) <= 80 and text.count(" ") <= 3


def _mostly_numbers(table: _Table, columns: Sequence[str]) -> bool:
    """Some of these columns hold numbers wherever they hold anything (a table without rows passes)."""
    if not table.rows:
        return True
    at = [table.header.index(name) for name in columns]
    cells = [row[i] for row in table.rows[:LOOK] for i in at if i < len(row) and not _is_absent(row[i])]
    good = sum(number(cell) is not None or _comma(cell) is not None for cell in cells)
    return good >= 0.7 * len(cells) if cells else True


def _is_absent(cell: str) -> bool:
    return cell.strip().lower() in _ABSENT


def _comma(cell: str) -> float | None:
    """A number with a decimal comma."""
    usual = re.fullmatch(r"\s*[-+]?\d{1,40},\d{1,40}(?:[eE][-+]?\d{1,4})?\s*%?\s*", cell)
    return number(cell.replace(",", ".")) if usual else None


def _decimal_commas(table: _Table) -> bool:
    """Whether commas part decimals ("0,001" is no 1): one cannot part thousands, and there is no point."""
    cells = [cell.strip() for row in table.rows[:LOOK] for cell in row]
    told = any(
        re.fullmatch(r"[-+]?(?:0,\d+|\d+,(?:\d{1,2}|\d{4,}))(?:[eE][-+]?\d+)?", cell) for cell in cells
    )
    return told and not any(re.fullmatch(r"[-+]?\d+\.\d+", cell) for cell in cells)


def _leaps_back(steps: Any) -> bool:
    """Whether a column (masked float64 [n]) goes back often, and not to where it began: it counts nothing."""
    values = steps.compressed()
    back = np.diff(values) < 0
    if len(back) < FEW or float(np.mean(back)) <= MOST_BACK:
        return False
    return float(np.mean(values[1:][back] <= np.min(values) + 1)) < 0.5


def _is_dvclive(file: RunFile, table: _Table) -> bool:
    """DVCLive keeps one quantity per file: plots/metrics/train/loss.tsv."""
    return "plots/metrics/" in f"/{file.path}" and table.header[-1] == file.name.rsplit(".", 1)[0]


def _exported(name: str) -> str:
    """The quantity in a column of a W&B export, "run-name - train/loss"; min and max bands have none."""
    if name.endswith(("__MIN", "__MAX")):
        return ""
    return name.rsplit(" - ", 1)[-1] if " - " in name else name


@dataclass(slots=True, eq=False)
class _Axis:
    """Where the rows of a table stand; arrays of one entry per row, NaN where the step is not known."""

    steps: Any
    unit: StepUnit
    epochs: Any
    walls: Any
    lines: Any


class _Reader:
    """Turns one table into series."""

    def __init__(self, file: RunFile, table: _Table, delimiter: str) -> None:
        self.file = file
        self.table = table
        self.comma = delimiter == ";"
        self.never_thousands = self.comma and _decimal_commas(table)
        self.known = [plain(name) for name in table.header]

    def series(self) -> Iterator[Series]:
        """Yield the series of all columns (of all names, in a table in long form)."""
        axis = self._axis()
        if self._has_long_form():
            yield from self._long(axis)
            return
        split_column = self._texts_in(_SPLITS)
        entity_column = self._texts_in(_ENTITIES)
        ranks = of_columns(self.table.header, self.file.path)
        for at, name in enumerate(self.table.header):
            if step_kind(name) or is_wall(name) or is_clock(name) or not name or self._is_index(at):
                continue
            raw = self._raw(name)
            values = self._column(at)
            if values is None or not raw:
                continue
            if name in ranks:
                told = self._one(ranks[name][0], values, axis, np.ones(len(values), dtype=bool), "")
                yield replace(told, rank=ranks[name][1])
            elif entity_column is not None:
                yield from self._by_name(f"{raw}/", values, axis, entity_column)
            elif split_column is None:
                yield self._one(raw, values, axis, np.ones(len(values), dtype=bool), "")
            else:
                yield from self._by_split(raw, values, axis, split_column)

    def _has_long_form(self) -> bool:
        return "value" in self.known and any(name in _NAMES for name in self.known)

    def _is_index(self, at: int) -> bool:
        return self.known[at] in ("unnamed:_0", "index")

    def _raw(self, name: str) -> str:
        """The quantity's name; a DVCLive file names its split by its folder, a TB download by its name."""
        if self.known[-1] == "value" and "wall_time" in self.known:
            return tag_of(self.file.name)
        path = f"/{self.file.path}"
        if "plots/metrics/" in path and len(self.known) <= 3:
            return path.split("plots/metrics/", 1)[1].rsplit(".", 1)[0]
        if self.known == _MONITOR:
            return "episode_reward" if name == "r" else ""
        return of_episodes(plain(name), self.known) or _exported(name)

    def _column(self, at: int) -> Any:
        """The numbers of one column, NaN where NaN was written, masked where nothing was; None for texts."""
        cells = [row[at] if at < len(row) else "" for row in self.table.rows]
        try:
            values = np.array(list(map(float, cells)), dtype=np.float64)
        except ValueError:
            return self._mixed(cells)
        large = np.abs(values) >= LARGEST
        values[large] = np.copysign(np.inf, values[large])
        return np.ma.MaskedArray(values, mask=np.zeros(len(values), dtype=bool))

    def _mixed(self, cells: Sequence[str]) -> Any:
        """The numbers of a column that holds other things as well; None when those are the most."""
        values = np.full(len(cells), np.nan)
        there = np.ones(len(cells), dtype=bool)
        known: dict[str, float | None] = {}
        wrong = 0
        for i, cell in enumerate(cells):
            parsed = known[cell] if cell in known else known.setdefault(cell, self._cell(cell))
            if parsed is None:
                there[i] = False
                wrong += not _is_absent(cell)
            else:
                values[i] = parsed
        if wrong > 0.5 * max(1, wrong + int(np.count_nonzero(there))):
            return None
        return np.ma.MaskedArray(values, mask=~there)

    def _cell(self, cell: str) -> float | None:
        if _is_absent(cell):
            return None
        if self.never_thousands and "," in cell:
            return _comma(cell)
        parsed = number(cell)
        return _comma(cell) if parsed is None and self.comma else parsed

    def _axis(self) -> _Axis:
        """The column that counts best, the epochs and the wall times beside it."""
        ranked = sorted(
            (kind[1], i, kind[0]) for i, name in enumerate(self.table.header) if (kind := step_kind(name))
        )
        count = len(self.table.rows)
        lines = np.array(self.table.lines, dtype=np.int64)
        columns = [(unit, column) for _, i, unit in ranked if (column := self._column(i)) is not None]
        columns = [(unit, c) for unit, c in columns if not np.all(np.ma.getmaskarray(c))]
        columns.sort(key=lambda found: _leaps_back(found[1]))  # "episode,steps": so many steps to an episode
        epochs = next((c for unit, c in columns if unit == "epoch"), None)
        walls = next((self._column(i) for i, name in enumerate(self.table.header) if is_wall(name)), None)
        if walls is not None and not (len(walls) and float(np.max(walls.filled(0.0))) > 1e8):
            walls = None
        if not columns:
            return _Axis(np.arange(1, count + 1, dtype=np.float64), "row", None, walls, lines)
        unit, steps = columns[0]
        if unit == "epoch-step" and epochs is None:
            unit = "iteration"
        return _Axis(_filled(steps), unit, epochs, walls, lines)

    def _one(self, raw: str, values: Any, axis: _Axis, rows: Any, word: str) -> Series:
        """One column as a series, of the rows in which it was written."""
        written = rows & ~np.ma.getmaskarray(values) & np.isfinite(axis.steps)
        name = f"test/{raw}" if word == "test" else raw
        return Series(
            name=name,
            raw=name,
            file=self.file.path,
            steps=axis.steps[written],
            values=np.asarray(values.data, dtype=np.float64)[written],
            unit=axis.unit,
            window=_window(name, word, axis.unit),
            epochs=_beside(axis.epochs, written),
            walls=_beside(axis.walls, written),
            lines=axis.lines[written],
            group=word,
            split=as_split(word),
        )

    def _by_split(self, raw: str, values: Any, axis: _Axis, column: int) -> Iterator[Series]:
        for word, rows in self._splits(column):
            if not np.all(np.ma.getmaskarray(values)[rows]):
                yield self._one(raw, values, axis, rows, word)

    def _splits(self, column: int) -> Iterator[tuple[str, Any]]:
        """For each text in a column: the data set that it means ("" for none), and its rows."""
        cells = [row[column].strip() if column < len(row) else "" for row in self.table.rows]
        for cell in dict.fromkeys(cells):
            yield split_of(cell) or "", np.array([c == cell for c in cells], dtype=bool)

    def _long(self, axis: _Axis) -> Iterator[Series]:
        """A table of (step, name, value) rows: one series per name."""
        name_at = next(i for i, name in enumerate(self.known) if name in _NAMES)
        values = self._column(self.known.index("value"))
        if values is None:
            return
        split_column = self._texts_in(_SPLITS)
        for word, rows in [("", None)] if split_column is None else self._splits(split_column):
            yield from self._by_name("", values, axis, name_at, word, rows)

    def _texts_in(self, wanted: frozenset[str]) -> int | None:
        """The first column of one of these names that holds texts."""
        found = (i for i, name in enumerate(self.known) if name in wanted)
        return next((i for i in found if self._column(i) is None), None)

    def _by_name(
        self, prefix: str, values: Any, axis: _Axis, name_at: int, word: str = "", among: Any = None
    ) -> Iterator[Series]:
        """One series per text in a column, called by it; of the rows of one data set, where that is said."""
        found: dict[str, list[int]] = {}
        for i, row in enumerate(self.table.rows):
            if name_at < len(row) and row[name_at].strip():
                found.setdefault(row[name_at].strip()[:200], []).append(i)
        for name, at in list(found.items())[:MAX_COLUMNS]:
            rows = np.zeros(len(self.table.rows), dtype=bool)
            rows[at] = True
            if among is not None:
                rows &= among
            if rows.any():
                yield self._one(prefix + name, values, axis, rows, word)


def _filled(steps: Any) -> Any:
    """Steps as float64; a row without one stands where the row before it stood."""
    values = np.asarray(np.ma.filled(steps, np.nan), dtype=np.float64)
    known = ~np.isnan(values)
    if known.all() or not known.any():
        return values
    last = np.maximum.accumulate(np.where(known, np.arange(len(values)), -1))
    return np.where(last >= 0, values[np.maximum(last, 0)], np.nan)


def _beside(column: Any, rows: Any) -> Any:
    """These rows of another column, or None when any of them is empty."""
    if column is None or np.ma.getmaskarray(column)[rows].any():
        return None
    return np.asarray(column.data, dtype=np.float64)[rows]


def _window(name: str, word: str, unit: StepUnit) -> Window:
    """A quantity of training written once per epoch is that epoch's mean; one of an evaluation is a point."""
    split = word or split_word(name)
    canonical = names.canonical(name, as_split(word)) or ""
    if split in ("eval", "test") or canonical.startswith(("eval/", "test/", "learning_rate")):
        return "point"
    return "epoch-mean" if unit == "epoch" and canonical.startswith("train/") else "unknown"


def _joined(series: Sequence[Series]) -> list[Series]:
    """Put the parts of one quantity from several tables of the file together."""
    from ..assembly import segments

    groups: dict[tuple[str, str, str, int | None], list[Series]] = {}
    for one in series:
        groups.setdefault((one.raw, one.group, one.unit, one.rank), []).append(one)
    return [segments.concatenate(parts) for parts in groups.values()]
