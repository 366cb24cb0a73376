"""Databases of own scripts: tables with a step and metrics are curves, other databases are left alone."""

from __future__ import annotations

import math
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np

from traindoctor.probes.files import RunFile
from traindoctor.probes.readers import sqlite_log

LONG = "CREATE TABLE metrics (step INTEGER, epoch INTEGER, name TEXT, value REAL)"


def database(path: Path, schema: str, *rows: tuple[object, ...]) -> RunFile:
    """A database whose last created table holds these rows."""
    path.unlink(missing_ok=True)
    table = schema.rsplit("CREATE TABLE ", 1)[1].split()[0]
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(schema)
        for row in rows:
            marks = ", ".join("?" * len(row))
            connection.execute(f"INSERT INTO {table} VALUES ({marks})", row)  # noqa: S608
        connection.commit()
    return RunFile(path.parent, path.name, path.stat().st_size)


def test_rows_of_name_and_value(tmp_path: Path) -> None:
    """One curve per name; the NULL that sqlite keeps for NaN is NaN again."""
    file = database(tmp_path / "m.db", LONG, (0, 0, "loss", 2.0), (5, 0, "loss", None), (5, 0, "hit@10", 0.1))

    assert sqlite_log.sniff(file)
    loss, hits = sqlite_log.read(file).series
    assert loss.raw == "loss" and loss.steps.tolist() == [0, 5] and loss.unit == "step"
    assert np.array_equal(loss.values, [2.0, math.nan], equal_nan=True) and loss.lines is None
    assert hits.raw == "hit@10" and hits.values.tolist() == [0.1]


def test_a_column_per_metric(tmp_path: Path) -> None:
    """NULL is absent where each metric has a column of its own."""
    schema = "CREATE TABLE history (epoch INT, train_loss REAL, val_loss REAL, note TEXT)"
    file = database(
        tmp_path / "h.sqlite", schema, (1, 0.9, None, "a"), (2, 0.8, 0.95, "b"), (3, 0.7, 0.9, "c")
    )

    assert sqlite_log.sniff(file)
    train, held = sqlite_log.read(file).series
    assert train.steps.tolist() == [1, 2, 3] and train.unit == "epoch"
    assert held.steps.tolist() == [2, 3] and held.values.tolist() == [0.95, 0.9]


def test_of_several_runs_the_last_one(tmp_path: Path) -> None:
    """A table that is appended to holds all runs; the one written last is read, with a note."""
    schema = "CREATE TABLE log (run_id TEXT, step INT, loss REAL)"
    file = database(tmp_path / "r.db", schema, ("a", 1, 5.0), ("a", 2, 4.0), ("b", 1, 3.0), ("b", 2, 2.0))

    content = sqlite_log.read(file)
    (loss,) = content.series
    assert loss.values.tolist() == [3.0, 2.0] and "2 runs" in content.notes[0]


def test_settings_beside_the_metrics(tmp_path: Path) -> None:
    """A table of keys and values gives the settings that are known, and never a curve."""
    filled = LONG + "; INSERT INTO metrics VALUES (1, 0, 'loss', 1.0); "  # noqa: S608
    schema = filled + "CREATE TABLE params (key TEXT, value TEXT)"
    file = database(tmp_path / "p.db", schema, ("learning_rate", "0.01"), ("colour", "red"))

    content = sqlite_log.read(file)
    assert [s.raw for s in content.series] == ["loss"]
    assert [(s.key, s.value) for s in content.settings] == [("learning_rate", 0.01)]


def test_other_databases(tmp_path: Path) -> None:
    """Data, trials of a search and damaged files are no logs."""
    others = [
        ("CREATE TABLE users (id INT, age INT, city TEXT)", (1, 30, "x")),
        ("CREATE TABLE trial_values (trial_id INT, objective INT, value REAL)", (1, 0, 0.5)),
        ("CREATE TABLE params (key TEXT, value TEXT)", ("learning_rate", "0.01")),
        ("CREATE TABLE steps (step INT, place TEXT)", (1, "x")),
    ]
    for at, (schema, row) in enumerate(others):
        assert not sqlite_log.sniff(database(tmp_path / f"{at}.db", schema, row)), schema
    cut = tmp_path / "cut.db"
    cut.write_bytes(b"SQLite format 3\0" + b"\0" * 300)
    assert not sqlite_log.sniff(RunFile(tmp_path, "cut.db", cut.stat().st_size))
