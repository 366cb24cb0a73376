"""Sensors of a dated table: one that stands still or changes its unit, and rows dealt by chance."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from traindoctor.engine.model import State

from ._make import csv, reading
from ._series import HEADER, HOURS, Row, rows, stations, stuck

P, A, U = State.PRESENT, State.ABSENT, State.UNKNOWN


def fahrenheit(t: int, station: str, row: Row) -> Row:
    return [*row[:2], round(row[2] * 1.8 + 32, 2), *row[3:]] if station == "S3" and t >= 320 else row


def in_millis(t: int, station: str, row: Row) -> Row:
    return [*row[:2], round((row[2] + 40) * (1000 if station == "S1" and t >= 250 else 1), 2), *row[3:]]


@pytest.mark.parametrize(
    ("change", "drift", "why"),
    [
        (lambda _, __, r: r, 0.0, ""),
        (fahrenheit, 0.0, "Fahrenheit after"),
        (in_millis, 0.0, "1000 times as large"),
        (lambda _, __, r: r, 40.0, ""),  # spring
    ],
)
def test_units_that_change_on_some_day(
    change: Callable[[int, str, Row], Row], drift: float, why: str, tmp_path: Path
) -> None:
    stations(change, drift)(tmp_path)
    found = reading("data-units-mixed", tmp_path)
    assert found.state is (P if why else A)
    assert why in found.why


def test_the_sensor_that_stands_still_is_named(tmp_path: Path) -> None:
    stations(stuck)(tmp_path)
    found = reading("series-stands-still", tmp_path)
    assert "temperature of S2 stands at 13.37 over 100 rows" in found.why
    assert found.where[0].line == 2 + HOURS + 200


def dealt(root: Path, held: Callable[[int, Row], bool]) -> Path:
    found = rows()
    csv(root / "train.csv", HEADER, [r for i, r in enumerate(found) if not held(i, r)])
    csv(root / "test.csv", HEADER, [r for i, r in enumerate(found) if held(i, r)])
    return root


def test_rows_of_several_series_dealt_by_chance(tmp_path: Path) -> None:
    chance = np.random.default_rng(1).random(3 * HOURS) < 0.2

    assert (
        reading("series-split-by-chance", dealt(tmp_path / "rows", lambda i, _: bool(chance[i]))).state is P
    )
    by_station = dealt(tmp_path / "station", lambda _, r: r[0] == "S3")
    assert reading("series-split-by-chance", by_station).state is U
    by_time = dealt(tmp_path / "time", lambda _, r: r[1] >= "2024-03-20")
    assert reading("series-split-by-chance", by_time).state is U


def resting(t: int, station: str, row: Row) -> Row:
    return [*row[:2], 14.0, 20, 0.0, 55.5] if t >= 200 else row


def test_a_sensor_that_rests_repeats_nothing(tmp_path: Path) -> None:
    found = rows(resting)
    csv(tmp_path / "rests" / "stations.csv", HEADER, found)
    csv(tmp_path / "twice" / "stations.csv", HEADER, [*found, *found[:400]])

    assert reading("data-duplicates", tmp_path / "rests").state is A
    assert reading("data-duplicates", tmp_path / "twice").state is P
