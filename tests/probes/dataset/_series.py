"""Tables of sensors: three stations, hour by hour."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from traindoctor.engine.model import State

from ._make import csv

P, A, U = State.PRESENT, State.ABSENT, State.UNKNOWN
Row = list[Any]
HOURS = 600
HEADER = ("station", "timestamp", "temperature", "valve", "rain", "humidity")


def rows(change: Callable[[int, str, Row], Row] = lambda _, __, r: r, drift: float = 0.0) -> list[Row]:
    """600 hours of three stations: a temperature, a valve of few positions, and rain that is mostly none."""
    random = np.random.default_rng(0)
    found = []
    for station in ("S1", "S2", "S3"):
        noise = 0.0
        for t in range(HOURS):
            noise = 0.9 * noise + random.normal(0, 0.8)
            warm = 14 + 6 * np.sin(t / 24 * 2 * np.pi) + noise + drift * t / HOURS
            rain = max(0.0, random.normal(-2, 1.5))
            time = str(np.datetime64("2024-03-01T00:00") + np.timedelta64(t, "h")).replace("T", " ")
            one = [station, time, round(warm, 2), 10 * round(warm / 8), round(rain, 1)]
            one.append(round(70 - warm + random.normal(0, 2), 2))
            found.append(change(t, station, one))
    return found


def stuck(t: int, station: str, row: Row) -> Row:
    return [*row[:2], 13.37, *row[3:]] if station == "S2" and 200 <= t < 300 else row


def at_its_end(t: int, station: str, row: Row) -> Row:
    """A range that ends at 18 degrees, over which the sensor stays for half of a day and more."""
    return [*row[:2], min(row[2], 9.0), *row[3:]]


def parked(t: int, station: str, row: Row) -> Row:
    """Everything that is measured rests."""
    return [*row[:2], 13.37, *row[3:5], 55.5] if station == "S2" and 200 <= t < 300 else row


def counted(t: int, station: str, row: Row) -> Row:
    """A meter that goes on, and rests for four days."""
    return [*row[:2], round(5 + 1.37 * min(t, max(200, t - 96)), 2), *row[3:]]


def stations(
    change: Callable[[int, str, Row], Row] = lambda _, __, r: r, drift: float = 0.0
) -> Callable[[Path], None]:
    return lambda root: csv(root / "stations.csv", HEADER, rows(change, drift))


CASES: list[tuple[str, Callable[[Path], None], State]] = [
    ("series-stands-still", stations(), A),
    ("series-stands-still", stations(stuck), P),
    ("series-stands-still", stations(at_its_end), A),
    ("series-stands-still", stations(counted), A),
    ("series-stands-still", stations(parked), A),
    ("series-stands-still", stations(lambda t, s, r: stuck(t, s, r) if t < 210 else r), A),
    (
        "series-stands-still",
        lambda root: csv(root / "train.csv", HEADER[2:], [r[2:] for r in rows(stuck)]),
        U,
    ),
]
