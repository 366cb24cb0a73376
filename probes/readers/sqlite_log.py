"""Databases of sqlite in which a script keeps its curves: tables with a step and metrics, wide or long.

Each table is read like a table of metrics in a file (`csv_log`). sqlite keeps NaN as NULL: in a table of
(step, name, value) rows NULL is a NaN, in a table with a column per metric it may as well be absent and is.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import replace

from ..files import RunFile
from ..run import FileContent, Series, Setting
from ..settings import canonical_key
from . import Gives, csv_log
from ._sqlite import MAGIC, connected
from ._values import BESIDE_CURVES, plain, step_kind
from .text.arguments import scalar, setting

FORMAT = "sqlite-log"
GIVES = Gives(
    title="Tables of metrics in a sqlite database",
    files="`*.db`, `*.sqlite` of own scripts",
    lacks="What a number means beyond its column's name. Of several runs in a table the last written.",
    scalars="yes",
    steps="some",
    epochs="some",
    walls="some",
    settings="some",
)
MAX_TABLES = 50
MAX_ROWS = 1_000_000
LOOK = 100  # rows that detection looks at
_RUNS = frozenset({"run", "run_id", "run_uuid", "run_name", "experiment", "experiment_id", "exp", "exp_id"})
_NAMES = frozenset({"key", "name", "param", "parameter", "setting"})
_Rows = list[tuple[object, ...]]


def sniff(file: RunFile) -> bool:
    """Say whether this is a database with a table of metrics (MLflow's is asked for before)."""
    if not file.head.startswith(MAGIC):
        return False
    try:
        with closing(connected(file)) as connection:
            return any(_curves(file, *_table(connection, name, LOOK)) for name in _names(connection))
    except (sqlite3.Error, OverflowError):
        return False


def read(file: RunFile) -> FileContent:
    """Read all tables of metrics. Raises ValueError when the database cannot be read."""
    series: list[Series] = []
    settings: list[Setting] = []
    notes: list[str] = []
    try:
        with closing(connected(file)) as connection:
            for name in _names(connection):
                header, rows = _table(connection, name, MAX_ROWS + 1)
                if len(rows) > MAX_ROWS:
                    notes.append(f"table {name}: only the first {MAX_ROWS} rows were read")
                header, rows, runs = _last_run(header, rows[:MAX_ROWS])
                found = _curves(file, header, rows)
                settings.extend([] if found else _settings(file, header, rows))
                if found and runs > 1:
                    notes.append(f"table {name} holds {runs} runs; this is the one written last")
                series.extend(found)
    except (sqlite3.Error, OverflowError) as error:
        raise ValueError(f"the database cannot be read: {error}") from error
    return FileContent(FORMAT, tuple(series), tuple(settings), notes=tuple(notes))


def _names(connection: sqlite3.Connection) -> list[str]:
    query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' LIMIT ?"
    return [str(row[0]) for row in connection.execute(query, (MAX_TABLES,))]


def _table(connection: sqlite3.Connection, name: str, most: int) -> tuple[list[str], _Rows]:
    """The columns of a table and its first rows, in the order in which they were written."""
    quoted = '"' + name.replace('"', '""') + '"'
    try:
        cursor = connection.execute(f"SELECT * FROM {quoted} ORDER BY rowid LIMIT ?", (most,))  # noqa: S608
    except sqlite3.OperationalError:  # a table without row ids
        cursor = connection.execute(f"SELECT * FROM {quoted} LIMIT ?", (most,))  # noqa: S608
    return [str(column[0]) for column in cursor.description], cursor.fetchall()


def _last_run(header: Sequence[str], rows: _Rows) -> tuple[list[str], _Rows, int]:
    """The rows of the run that was written last, without its column, and how many runs there are."""
    at = next((i for i, name in enumerate(header) if plain(name) in _RUNS), None)
    if at is None or not rows:
        return list(header), rows, 1
    kept = [(*row[:at], *row[at + 1 :]) for row in rows if row[at] == rows[-1][at]]
    return [*header[:at], *header[at + 1 :]], kept, len({row[at] for row in rows})


def _curves(file: RunFile, header: Sequence[str], rows: _Rows) -> list[Series]:
    """The curves of one table; their places are no lines of a file."""
    if not any(map(step_kind, header)):
        return []
    long = [i for i, name in enumerate(header) if plain(name) == "value"]
    cells = [[_cell(value, at in long) for at, value in enumerate(row)] for row in rows]
    return [replace(one, lines=None) for one in csv_log.of_rows(file, header, cells)]


def _cell(value: object, nan: bool) -> str:
    if value is None:
        return "nan" if nan else ""
    return value if isinstance(value, str) else "" if isinstance(value, bytes) else repr(value)


def _settings(file: RunFile, header: Sequence[str], rows: _Rows) -> Iterable[Setting]:
    """The settings in a table of (key, value) rows."""
    known = [plain(name) for name in header]
    at = next((i for i, name in enumerate(known) if name in _NAMES), None)
    if at is None or "value" not in known:
        return
    for row in rows:
        name, value = str(row[at]), row[known.index("value")]
        if canonical_key(name) and isinstance(value, (str, int, float)):
            yield setting(name, scalar(str(value)), file.path, None, BESIDE_CURVES)
