"""Histograms in event files: TensorBoard's (both forms) and MindSpore's, read when they are asked for.

TensorBoard: Value.histo=5 {1 min, 2 max, 3 count, 4 sum, 5 sum of squares, 6 limits, 7 buckets}; since
version 2 a tensor [k, 3] of (left, right, count) with the plug-in "histograms". MindSpore: Value.histogram=9
{1* bucket, 2 nan, 3 +inf, 4 -inf, 5 max, 6 min, 7 sum, 8 count}. Layouts: FORMATS and FORMATS-ASCEND B2.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..files import RunFile
from ._events import fields, varint
from ._records import scan

MAX_BYTES = 512 * 1024**2
MAX_RECORDS = 50_000
SHORTEST = 40  # bytes of a record that may hold a histogram


@dataclass(frozen=True, slots=True)
class Histogram:
    """What one histogram says of a tensor; `digest` is equal only where all of it is equal."""

    tag: str
    step: int
    low: float | None  # of the finite elements
    high: float | None
    mean: float | None
    count: int
    nan: int
    inf: int
    digest: int


def read_histograms(file: RunFile) -> Iterator[Histogram]:
    """Yield the histograms of an event file in its order. Raises OSError."""
    data = file.read_bytes(MAX_BYTES)
    mindspore = b"MindSpore.Event:" in data[:200] or ".summary." in file.name
    records = scan(data)
    long = np.flatnonzero(records.lengths >= SHORTEST)[:MAX_RECORDS]
    for start, length in zip(records.starts[long].tolist(), records.lengths[long].tolist(), strict=True):
        try:
            yield from _of_event(data, start, start + length, mindspore)
        except (ValueError, struct.error):
            continue


def _of_event(data: bytes, at: int, end: int, mindspore: bool) -> Iterator[Histogram]:
    step = 0
    for number, wire, a, b in fields(data, at, end):
        if number == 2 and wire == 0:
            step, _ = varint(data, a, b)
        elif number == 5 and wire == 2:
            for inner, kind, c, d in fields(data, a, b):
                found = _of_value(data, c, d, step, mindspore) if inner == 1 and kind == 2 else None
                if found is not None:
                    yield found


def _of_value(data: bytes, at: int, end: int, step: int, mindspore: bool) -> Histogram | None:
    tag, plugin = "", ""
    held: tuple[str, int, int] | None = None
    for number, wire, a, b in fields(data, at, end):
        if wire != 2:
            continue
        if number == 1:
            tag = data[a:b].decode("utf-8", errors="replace")
        elif number == 9 and mindspore:
            held = ("mindspore", a, b)
        elif number == 5 and not mindspore:
            held = ("tensorboard", a, b)
        elif number == 8 and not mindspore:
            held = held or ("tensor", a, b)
        elif number == 9:
            plugin = "histograms" if b"histograms" in data[a:b] else ""
    if held is None or not tag or (held[0] == "tensor" and not plugin):
        return None
    kind, a, b = held
    digest = zlib.crc32(data[a:b])
    if kind == "mindspore":
        return _mindspore(data, a, b, tag, step, digest)
    return (
        _tensorboard(data, a, b, tag, step, digest)
        if kind == "tensorboard"
        else _tensor(data, a, b, tag, step)
    )


def _mindspore(data: bytes, at: int, end: int, tag: str, step: int, digest: int) -> Histogram:
    numbers: dict[int, float] = {}
    for number, wire, a, b in fields(data, at, end):
        if wire in (0, 1, 5):
            numbers[number] = _number(data, wire, a, b)
    count, bad = int(numbers.get(8, 0)), int(numbers.get(2, 0))
    inf = int(numbers.get(3, 0) + numbers.get(4, 0))
    known = count - bad - inf > 0 if {2, 3, 4} & set(numbers) else count > 0
    return Histogram(
        tag,
        step,
        numbers.get(6, 0.0) if known else None,
        numbers.get(5, 0.0) if known else None,
        numbers.get(7, 0.0) / max(1, count - bad - inf) if known else None,
        count,
        bad,
        inf,
        digest,
    )


def _tensorboard(data: bytes, at: int, end: int, tag: str, step: int, digest: int) -> Histogram:
    numbers: dict[int, float] = {}
    for number, wire, a, b in fields(data, at, end):
        if wire == 1:
            numbers[number] = _number(data, wire, a, b)
    count = numbers.get(3, 0.0)
    low, high, total = numbers.get(1, 0.0), numbers.get(2, 0.0), numbers.get(4, 0.0)
    bad = [v for v in (low, high, total) if not math.isfinite(v)]
    return Histogram(
        tag,
        step,
        low if math.isfinite(low) and count else None,
        high if math.isfinite(high) and count else None,
        total / count if count and math.isfinite(total) else None,
        int(count),
        int(any(math.isnan(v) for v in bad)),
        int(any(math.isinf(v) for v in bad)),
        digest,
    )


def _tensor(data: bytes, at: int, end: int, tag: str, step: int) -> Histogram | None:
    """A tensor of (left, right, count) per bucket, as doubles."""
    values: Any = None
    for number, wire, a, b in fields(data, at, end):
        if number == 4 and wire == 2 and (b - a) % 24 == 0 and b > a:
            values = np.frombuffer(data, "<f8", (b - a) // 8, a).reshape(-1, 3)
    if values is None:
        return None
    held = values[values[:, 2] > 0]
    if not len(held):
        return None
    finite = bool(np.isfinite(held).all())
    count = float(held[:, 2].sum())
    middle = float(((held[:, 0] + held[:, 1]) / 2 * held[:, 2]).sum()) / count if finite else None
    return Histogram(
        tag,
        step,
        float(held[0, 0]) if finite else None,
        float(held[-1, 1]) if finite else None,
        middle,
        int(count) if finite else len(held),
        int(np.isnan(held).any()),
        int(np.isinf(held).any()),
        zlib.crc32(values.tobytes()),
    )


def _number(data: bytes, wire: int, at: int, end: int) -> float:
    if wire == 0:
        return float(varint(data, at, end)[0])
    return float(struct.unpack_from("<d" if wire == 1 else "<f", data, at)[0])
