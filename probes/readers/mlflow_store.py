"""MLflow: the file store (`mlruns/<experiment>/<run>/{meta.yaml,metrics,params,tags}`) and the sqlite store.

In the file store each metric and each parameter is a file of its own, so that one run is put together from
many contents. A database holds all runs; the one that started last is read. What a step counts is up to the
program that logged it. User names, paths and hardware metrics (`system/`) are passed over.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...engine.model import Scalar
from ..assembly import names
from ..files import RunFile
from ..run import FileContent, Series, Setting, StepUnit
from . import Gives
from ._sqlite import MAGIC, connected
from ._values import number
from .config_file import clean, value_of

FORMAT = "mlflow"
GIVES = Gives(
    title="MLflow stores",
    files="`mlruns/` folders, `mlflow.db` (sqlite)",
    lacks=(
        "Whether a step counts steps or epochs; epochs, ranks; artifacts are not opened. Of a "
        "database the run that started last."
    ),
    scalars="some",
    steps="some",
    walls="yes",
    lines="some",
    settings="some",
    environment="some",
)
TRUST = 84
MAX_PARAMETER = 16 * 1024
MAX_ROWS = 2_000_000
_TABLES = frozenset({"runs", "metrics", "params"})
_RUN = r"(?:^|/)[0-9a-f]{32}/"
_METRIC = re.compile(r"(?:^|/)metrics/(.+)$")
_PARAMETER = re.compile(_RUN + r"params/(.+)$|^params/(.+)$")
_TAG = re.compile(_RUN + r"tags/(.+)$")
_MODEL = re.compile(r"(?:^|/)models/m-[0-9a-f]+/")  # a logged model repeats metrics of its run
_LINE = re.compile(r"^(\d{9,16}) (\S{1,40})(?: (-?\d{1,19})(?: .*)?)?\s*$")
_HARDWARE = "system/"
_MANY = 2000  # nobody trains for more epochs than this
_STATUS = {"1": "RUNNING", "2": "SCHEDULED", "3": "FINISHED", "4": "FAILED", "5": "KILLED"}
_FRAMEWORKS = {"pytorch": "pytorch", "tensorflow": "tensorflow", "keras": "keras"}


def sniff(file: RunFile) -> bool:
    """Say whether this is a metric, parameter, tag or description of MLflow's file store, or its database."""
    if file.head.startswith(MAGIC):
        return _is_store(file)
    if file.name == "meta.yaml":
        return _is_meta(file.head_text)
    if _METRIC.search(file.path):
        first = file.head_text.split("\n", 1)[0]
        return _LINE.match(first) is not None
    path = f"{file.root.name}/{file.path}"
    if _TAG.search(path):
        return True
    if not (found := _PARAMETER.search(path) or _PARAMETER.search(file.path)):
        return False
    # Without the run's id above it, "params" may be anybody's folder.
    plain = found.group(1) is not None or ("." not in file.name and "\n" not in file.head_text.strip())
    return plain and file.size <= MAX_PARAMETER and b"\0" not in file.head


def read(file: RunFile) -> FileContent:
    """Read one file of the store, or the last run of a database. Raises ValueError when nothing is in it."""
    if file.head.startswith(MAGIC):
        return _read_database(file)
    if file.name == "meta.yaml":
        return FileContent(FORMAT, facts=_meta(file.head_text))
    if (found := _METRIC.search(file.path)) and _LINE.match(file.head_text.split("\n", 1)[0]):
        return _read_metric(file, found.group(1))
    path = f"{file.root.name}/{file.path}"
    if found := _TAG.search(path):
        return FileContent(FORMAT, facts=_tags([(found.group(1), file.read_text(MAX_PARAMETER))]))
    found = _PARAMETER.search(path) or _PARAMETER.search(file.path)
    if found is None:
        raise ValueError("no part of an MLflow run")
    key = found.group(1) or found.group(2)
    return FileContent(FORMAT, settings=(_setting(file.path, key, file.read_text(MAX_PARAMETER), 1),))


# --------------------------------------------------------------------------------------------- file store


def _is_meta(text: str) -> bool:
    """The description of a run or of an experiment."""
    keys = set(re.findall(r"^(\w+):", text, re.MULTILINE))
    return "lifecycle_stage" in keys and bool(keys & {"run_id", "run_uuid", "artifact_location"})


def _meta(text: str) -> dict[str, Scalar]:
    """How the run ended, as MLflow has it; names and places stay where they are."""
    match = re.search(r"^status: *['\"]?(\w+)", text, re.MULTILINE)
    return {"mlflow.status": _STATUS.get(match.group(1), match.group(1)[:20])} if match else {}


def _tags(tags: Iterable[tuple[str, str]]) -> dict[str, Scalar]:
    """The framework whose automatic logging wrote the run; other tags say nothing about training."""
    found = {value.strip() for key, value in tags if key == "mlflow.autologging"} & _FRAMEWORKS.keys()
    return {"framework": _FRAMEWORKS[min(found)]} if found else {}


def _read_metric(file: RunFile, key: str) -> FileContent:
    points = _Points()
    bad: list[int] = []
    lines = re.split(r"\r\n|\n|\r", file.read_text())
    for at, line in enumerate(lines, 1):
        match = _LINE.match(line)
        value = number(match.group(2)) if match else None
        if match is None or value is None:
            bad.extend([at] if line.strip("\0 \t") else [])
            continue
        points.add(int(match.group(1)), value, int(match.group(3) or 0), at)
    if not points.values:
        raise ValueError("no line `timestamp value step` in it")
    if key.startswith(_HARDWARE) or _MODEL.search(file.path):
        return FileContent(FORMAT)
    series = points.series(file.path, key)
    notes = [f"{len(bad)} lines could not be read, first line {bad[0]}"] if bad else []
    return FileContent(FORMAT, (series,), notes=tuple(notes + _ordered([series])))


@dataclass(slots=True)
class _Points:
    """The points of one metric, in file order."""

    times: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)

    def add(self, time: int, value: float, step: int, line: int | None = None) -> None:
        """Add one point; `time` in milliseconds (seconds in very old stores)."""
        self.times.append(time)
        self.values.append(value)
        self.steps.append(step)
        if line is not None:
            self.lines.append(line)

    def series(self, path: str, key: str) -> Series:
        """Return the curve; one that was logged without steps is counted by its rows."""
        steps = np.array(self.steps, dtype=np.float64)
        times = np.array(self.times, dtype=np.float64)
        unit: StepUnit = "step" if len(steps) and steps.max() > _MANY else "unknown"
        if len(steps) > 1 and not steps.any():
            steps, unit = np.arange(len(steps), dtype=np.float64), "row"
        evaluated = (names.canonical(key) or "").startswith(("eval/", "test/"))
        return Series(
            name=key,
            raw=key,
            file=path,
            steps=steps,
            values=np.array(self.values, dtype=np.float64),
            unit=unit,
            window="point" if evaluated else "unknown",
            walls=np.where(times > 1e11, times / 1000.0, times),
            lines=np.array(self.lines, dtype=np.int64) if len(self.lines) == len(steps) else None,
        )


def _ordered(series: Iterable[Series]) -> list[str]:
    unstepped = [s.raw for s in series if s.unit == "row"]
    return (
        [f"{', '.join(unstepped[:3])}: logged without steps, in the order of the rows"] if unstepped else []
    )


def _setting(path: str, key: str, text: str, line: int | None = None) -> Setting:
    name = key.replace("/", ".")[:200]
    return Setting(name, clean(name, value_of(text)), path, line, TRUST)


# ------------------------------------------------------------------------------------------------- sqlite


def _is_store(file: RunFile) -> bool:
    """Say whether the database has the tables (no views) of an MLflow store, and a run in them."""
    try:
        with closing(connected(file)) as connection:
            query = "SELECT name FROM sqlite_master WHERE type = 'table' LIMIT 500"
            tables = {row[0] for row in connection.execute(query)}
            return tables >= _TABLES and connection.execute("SELECT 1 FROM runs").fetchone() is not None
    except sqlite3.Error:
        return b"TABLE alembic_version" in file.head and b"latest_metric_pk" in file.head


def _read_database(file: RunFile) -> FileContent:
    try:
        with closing(connected(file)) as connection:
            return _latest(file, connection)
    except (sqlite3.Error, OverflowError) as error:
        raise ValueError(f"the database cannot be read: {error}") from error


def _latest(file: RunFile, connection: sqlite3.Connection) -> FileContent:
    """The run that started last among those that hold metrics (among all, if none does)."""
    measured = {row[0] for row in connection.execute("SELECT DISTINCT run_uuid FROM metrics LIMIT 100000")}
    query = "SELECT run_uuid, start_time, status, lifecycle_stage FROM runs LIMIT 100000"
    runs = [row for row in connection.execute(query) if row[3] != "deleted"]
    candidates = [row for row in runs if row[0] in measured] or runs
    if not candidates:
        raise ValueError("a database of MLflow's without a run")
    run, _, status, _ = max(candidates, key=lambda row: (_time(row[1]), str(row[0])))
    notes = [f"{len(runs)} runs in the database; this is the one that started last"] if len(runs) > 1 else []
    series, more = _database_series(file.path, connection, run)
    notes.extend([f"only the first {MAX_ROWS} points were read"] if more else [])
    query = "SELECT key, value FROM params WHERE run_uuid = ? ORDER BY key LIMIT 5000"
    rows = connection.execute(query, (run,))
    settings = tuple(_setting(file.path, str(k), str(v)[:MAX_PARAMETER]) for k, v in rows)
    facts: dict[str, Scalar] = {"mlflow.status": status[:20]} if isinstance(status, str) else {}
    facts.update(_tags(_database_tags(connection, run)))
    return FileContent(FORMAT, series, settings, facts=facts, notes=tuple(notes + _ordered(series)))


def _time(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0


def _database_series(path: str, connection: sqlite3.Connection, run: str) -> tuple[tuple[Series, ...], bool]:
    """The curves of one run, in the order in which they were logged, and whether there was more."""
    query = (
        "SELECT key, value, timestamp, step, is_nan FROM metrics"
        " WHERE run_uuid = ? AND key NOT LIKE 'system/%' ORDER BY timestamp, step, rowid LIMIT ?"
    )
    curves: dict[str, _Points] = {}
    count = 0
    for key, value, when, step, is_nan in connection.execute(query, (run, MAX_ROWS + 1)):
        count += 1
        measured = float("nan") if is_nan else number(value)
        if count <= MAX_ROWS and measured is not None:
            points = curves.setdefault(str(key)[:200], _Points())
            points.add(int(_time(when)), measured, int(_time(step)))
    return tuple(points.series(path, key) for key, points in curves.items()), count > MAX_ROWS


def _database_tags(connection: sqlite3.Connection, run: str) -> Iterator[tuple[str, str]]:
    """The tags of one run; a very old store has no table for them."""
    query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name = 'tags'"
    if connection.execute(query).fetchone():
        rows: Any = connection.execute("SELECT key, value FROM tags WHERE run_uuid = ? LIMIT 1000", (run,))
        yield from ((str(key), str(value)) for key, value in rows)
