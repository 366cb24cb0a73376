"""Scalars out of event files, many records at a time.

Records of one length mostly have one layout: the same fields at the same places. The layout is taken from one
record by a plain protobuf walk; all records that agree with it in their structure are then decoded at once.
Fields that hold no scalar (images, histograms, graphs) are passed over without being decoded.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ._records import TAIL, Bytes, Offsets, Records, checksum, checksums, gather, scan, words

BATCH_BYTES = 16 * 1024**2
LARGE = 64 * 1024  # payloads from here on are verified only when a scalar is taken from them
MAX_LAYOUTS = 128  # layouts per length that are worth a pass of their own
MAX_TEXTS = 4000
MAX_TAGS = 200_000
_FORMATS = {  # TensorProto.dtype -> how tensor_content is written
    1: "<f4",
    2: "<f8",
    3: "<i4",
    4: "<u1",
    5: "<i2",
    6: "<i1",
    9: "<i8",
    10: "<u1",
    14: "bfloat16",
    19: "<f2",
    22: "<u4",
    23: "<u8",
}
_FIXED = {5: "<f4", 6: "<f8"}  # TensorProto fields of fixed width
_VARINTS = {7: "int", 10: "int", 11: "int", 13: "half", 16: "int", 17: "int"}


@dataclass(frozen=True, slots=True)
class Dialect:
    """Field numbers that differ between TensorBoard and MindSpore."""

    scalar: int
    tensor: int | None
    metadata: int | None
    histogram: int


TENSORBOARD = Dialect(scalar=2, tensor=8, metadata=9, histogram=5)
MINDSPORE = Dialect(scalar=3, tensor=None, metadata=None, histogram=9)


@dataclass(frozen=True, slots=True)
class Text:
    """A text or plug-in payload beside the scalars."""

    tag: str
    plugin: str
    content: bytes
    step: int


@dataclass(slots=True, eq=False)
class Curve:
    """All points of one tag in file order: int64, float64 and float64 [n]."""

    steps: Any
    values: Any
    walls: Any


@dataclass(slots=True)
class Scalars:
    """What an event file holds."""

    curves: dict[str, Curve] = field(default_factory=dict)
    texts: list[Text] = field(default_factory=list)
    records: Records | None = None
    bad: int = 0  # records whose payload is not what was written
    odd: int = 0  # records that are no events
    histograms: bool = False  # there may be some beside the scalars


# --------------------------------------------------------------------------------------- protobuf walking


def varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Return the number at `at` and the position after it. Raises ValueError."""
    value = shift = 0
    while at < end and shift < 70:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at
        shift += 7
    raise ValueError("a number has no end")


def fields(data: bytes, at: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield (field, wire type, start, end) of the contents of a message's fields. Raises ValueError."""
    while at < end:
        key, at = varint(data, at, end)
        wire = key & 7
        start = at
        if wire == 0:
            _, stop = varint(data, at, end)
        elif wire == 1:
            stop = at + 8
        elif wire == 5:
            stop = at + 4
        elif wire == 2:
            length, start = varint(data, at, end)
            stop = start + length
        else:
            raise ValueError("an unknown wire type")
        if stop > end:
            raise ValueError("a field is longer than its message")
        yield key >> 3, wire, start, stop
        at = stop


# ------------------------------------------------------------------------------------------------ layouts


@dataclass(slots=True)
class _Spot:
    """Where one scalar of a record stands; `kind` says how it is written."""

    tag: tuple[int, int]
    kind: str  # a numpy format, "bfloat16", "int" and "half" (varints), "zero"
    value: tuple[int, int]


@dataclass(slots=True)
class _Layout:
    """The structure of one record; `free` lists spans whose bytes may differ, `numbers` varints."""

    wall: int | None = None
    step: tuple[int, int] | None = None
    spots: list[_Spot] = field(default_factory=list)
    texts: list[tuple[tuple[int, int], str, tuple[int, int]]] = field(default_factory=list)
    free: list[tuple[int, int]] = field(default_factory=list)
    numbers: list[tuple[int, int]] = field(default_factory=list)
    histogram: bool = False  # a value is one, or a tensor that may be

    def mask(self, length: int) -> Bytes:
        """[length]: the bits in which records of this layout agree."""
        mask = np.full(length, 0xFF, dtype=np.uint8)
        for start, end in self.free:
            mask[start:end] = 0
        for start, end in self.numbers:
            mask[start:end] = 0x80
        return mask


def _layout(data: bytes, dialect: Dialect) -> _Layout:
    """Find out where everything stands in one record. Raises ValueError."""
    found = _Layout()
    for number, wire, start, end in fields(data, 0, len(data)):
        if number == 1 and wire == 1:
            found.wall = start
            found.free.append((start, end))
        elif number == 2 and wire == 0:
            found.step = (start, end)
            found.numbers.append((start, end))
        elif number == 5 and wire == 2:
            for inner, kind, a, b in fields(data, start, end):
                if inner == 1 and kind == 2:
                    _value(data, a, b, dialect, found)
        elif wire == 2:
            found.free.append((start, end))
    return found


def _value(data: bytes, at: int, end: int, dialect: Dialect, found: _Layout) -> None:
    """Add one Summary.Value to the layout."""
    tag: tuple[int, int] = (at, at)
    scalar: tuple[str, tuple[int, int]] | None = None
    plugin, content = "", (at, at)
    for number, wire, start, stop in fields(data, at, end):
        if number == 1 and wire == 2:
            tag = (start, stop)
            found.free.append(tag)
        elif number == dialect.scalar and wire == 5:
            scalar = ("<f4", (start, stop))
            found.free.append((start, stop))
        elif number == dialect.tensor and wire == 2:
            scalar = _tensor(data, start, stop, found)
            found.histogram = found.histogram or scalar is None
        elif number == dialect.metadata and wire == 2:
            plugin, content = _metadata(data, start, stop)
        elif wire == 2:
            found.histogram = found.histogram or number == dialect.histogram
            found.free.append((start, stop))
    if plugin == "hparams":
        found.texts.append((tag, plugin, content))
    elif scalar is not None and scalar[0] == "text":
        found.texts.append((tag, plugin or "text", scalar[1]))
    elif scalar is not None:
        found.spots.append(_Spot(tag, *scalar))


def _metadata(data: bytes, at: int, end: int) -> tuple[str, tuple[int, int]]:
    """The plug-in's name and where its content stands."""
    name, content = "", (at, at)
    for number, wire, start, stop in fields(data, at, end):
        if number == 1 and wire == 2:
            for inner, kind, a, b in fields(data, start, stop):
                if inner == 1 and kind == 2:
                    name = data[a:b].decode("utf-8", errors="replace")
                elif inner == 2 and kind == 2:
                    content = (a, b)
    return name, content


def _tensor(data: bytes, at: int, end: int, found: _Layout) -> tuple[str, tuple[int, int]] | None:
    """How and where a tensor of one element holds it; None for any other tensor."""
    dtype, elements = 0, 1
    held: tuple[str, tuple[int, int]] | None = None
    for number, wire, start, stop in fields(data, at, end):
        if number == 1 and wire == 0:
            dtype, _ = varint(data, start, stop)
        elif number == 2 and wire == 2:
            elements = _elements(data, start, stop)
        elif number == 4 and wire == 2 and stop > start:
            held = ("content", (start, stop))
        elif number in _FIXED and stop - start == int(_FIXED[number][2]):
            held = (_FIXED[number], (start, stop))
        elif number in _VARINTS and _is_one_varint(data, start, stop):
            held = (_VARINTS[number], (start, stop))
        elif number == 8 and wire == 2:
            held = held or ("text", (start, stop))
        elif wire == 2:
            found.free.append((start, stop))
    return _scalar(dtype, elements, held, found)


def _elements(data: bytes, at: int, end: int) -> int:
    count = 1
    for number, wire, start, stop in fields(data, at, end):
        if number == 2 and wire == 2:
            size = 0
            for inner, kind, a, b in fields(data, start, stop):
                if inner == 1 and kind == 0:
                    size, _ = varint(data, a, b)
            count *= min(size, 1 << 20)
    return count


def _is_one_varint(data: bytes, at: int, end: int) -> bool:
    return end > at and data[end - 1] < 0x80 and all(b >= 0x80 for b in data[at : end - 1])


def _scalar(
    dtype: int, elements: int, held: tuple[str, tuple[int, int]] | None, found: _Layout
) -> tuple[str, tuple[int, int]] | None:
    if elements != 1:
        if held is not None:
            found.free.append(held[1])
        return None
    if held is None:
        return ("zero", (0, 0)) if dtype in _FORMATS else None
    kind, span = held
    if kind == "text":
        return held if dtype == 7 else None
    if kind == "content":
        kind = _FORMATS.get(dtype, "")
        width = 2 if kind == "bfloat16" else np.dtype(kind).itemsize if kind else 0
        if not kind or span[1] - span[0] != width:
            found.free.append(span)
            return None
    if kind == "half":
        kind = "half16" if dtype == 19 else "halfb16"
    (found.numbers if kind in ("int", "half16", "halfb16") else found.free).append(span)
    return kind, span


# ----------------------------------------------------------------------------------------------- decoding


def _numbers(rows: Bytes, span: tuple[int, int]) -> Any:
    """The varints that stand in these columns, as int64 [n]."""
    value = np.zeros(len(rows), dtype=np.uint64)
    for at, column in enumerate(range(*span)):
        if at < 10:
            value |= (rows[:, column].astype(np.uint64) & np.uint64(0x7F)) << np.uint64(7 * at)
    return value.view(np.int64)


def _values(rows: Bytes, spot: _Spot) -> Any:
    """The scalars at one spot of many records, as float64 [n]."""
    start, end = spot.value
    if spot.kind == "zero":
        return np.zeros(len(rows))
    if spot.kind in ("int", "half16", "halfb16"):
        whole = _numbers(rows, spot.value)
        if spot.kind == "int":
            return whole.astype(np.float64)
        bits = whole.astype(np.uint16)
        return bits.view(np.float16).astype(np.float64) if spot.kind == "half16" else _bfloat(bits)
    columns = np.ascontiguousarray(rows[:, start:end])
    if spot.kind == "bfloat16":
        return _bfloat(columns.view("<u2").reshape(-1))
    return columns.view(spot.kind).reshape(-1).astype(np.float64)


def _bfloat(bits: Any) -> Any:
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)


class _Reader:
    """Reads one file; lives only inside `read_scalars`."""

    def __init__(self, data: bytes, dialect: Dialect) -> None:
        self.data = data
        self.view = np.frombuffer(data, dtype=np.uint8)
        self.dialect = dialect
        self.records = scan(data)
        self.found = Scalars(records=self.records)
        self.parts: dict[bytes, list[tuple[Any, Any, Any, Any]]] = {}

    def run(self) -> Scalars:
        starts, lengths = self.records.starts, self.records.lengths
        order = np.argsort(lengths, kind="stable")
        bounds = np.flatnonzero(np.diff(lengths[order])) + 1
        for group in np.split(order, bounds):
            if len(group):
                self._group(np.sort(starts[group]), int(lengths[group[0]]))
        self._collect()
        return self.found

    def _group(self, starts: Offsets, length: int) -> None:
        """All records of one length, in batches."""
        if length > LARGE:
            for start in starts.tolist():
                self._large(start, length)
            return
        size = max(1, BATCH_BYTES // max(1, length))
        for at in range(0, len(starts), size):
            self._batch(starts[at : at + size], length)

    def _batch(self, starts: Offsets, length: int) -> None:
        rows = gather(self.view, starts, length)
        differences = rows ^ rows[0] if len(rows) else rows
        right: Any = checksums(rows[0], differences) == words(self.view, starts + length)
        if not right.all():
            self.found.bad += int(np.count_nonzero(~right))
            rows, starts = rows[right], starts[right]
            differences = rows ^ rows[0] if len(rows) else rows
        for _ in range(MAX_LAYOUTS):
            if not len(rows):
                return
            alike = self._alike(rows, differences, starts)
            if alike.all():
                return
            rows, starts = rows[~alike], starts[~alike]
            differences = rows ^ rows[0]
        for at in range(len(rows)):
            self._alike(rows[at : at + 1], np.zeros_like(rows[at : at + 1]), starts[at : at + 1])

    def _alike(self, rows: Bytes, differences: Bytes, starts: Offsets) -> Any:
        """Decode the records that have the layout of the first one, and tell which they are."""
        try:
            layout = _layout(rows[0].tobytes(), self.dialect)
        except ValueError:
            self.found.odd += 1
            odd = np.zeros(len(rows), dtype=bool)
            odd[0] = True
            return odd
        self.found.histograms = self.found.histograms or layout.histogram
        alike: Any = ~(differences & layout.mask(rows.shape[1])).any(axis=1)
        if alike.all():
            self._take(rows, starts, layout)
        else:
            self._take(rows[alike], starts[alike], layout)
        return alike

    def _take(self, rows: Bytes, starts: Offsets, layout: _Layout) -> None:
        if not layout.spots and not layout.texts:
            return
        steps = _numbers(rows, layout.step) if layout.step else np.zeros(len(rows), dtype=np.int64)
        walls = np.full(len(rows), np.nan)
        if layout.wall is not None:
            walls = np.ascontiguousarray(rows[:, layout.wall : layout.wall + 8]).view("<f8").reshape(-1)
        for at, spot in enumerate(layout.spots):
            values = _values(rows, spot)
            order = starts + at
            for tag, which in self._by_tag(rows, spot.tag):
                self._add(tag, order[which], steps[which], values[which], walls[which])
        for tag_span, plugin, span in layout.texts:
            self._texts(rows, steps, tag_span, plugin, span)

    def _add(self, tag: bytes, order: Any, steps: Any, values: Any, walls: Any) -> None:
        if tag in self.parts or len(self.parts) < MAX_TAGS:
            self.parts.setdefault(tag, []).append((order, steps, values, walls))

    def _by_tag(self, rows: Bytes, span: tuple[int, int]) -> Iterator[tuple[bytes, Any]]:
        """Yield (tag, index of its rows) for the tags that stand in these columns."""
        columns = np.ascontiguousarray(rows[:, slice(*span)])
        if not columns.shape[1] or not (columns != columns[0]).any():
            yield columns[0].tobytes(), slice(None)
            return
        _, firsts, which = np.unique(_hashes(columns), return_index=True, return_inverse=True)
        if (columns != columns[firsts][which]).any():  # two tags with one hash
            packed = columns.view(np.dtype((np.void, columns.shape[1]))).reshape(-1)
            _, firsts, which = np.unique(packed, return_index=True, return_inverse=True)
        order = np.argsort(which, kind="stable")
        ends = np.cumsum(np.bincount(which))
        for at, (first, end) in enumerate(zip(firsts.tolist(), ends.tolist(), strict=True)):
            yield columns[first].tobytes(), order[(ends[at - 1] if at else 0) : end]

    def _texts(
        self, rows: Bytes, steps: Any, tag: tuple[int, int], plugin: str, span: tuple[int, int]
    ) -> None:
        for row, step in zip(rows, steps.tolist(), strict=True):
            if len(self.found.texts) >= MAX_TEXTS:
                return
            name = row[slice(*tag)].tobytes().decode("utf-8", errors="replace")
            self.found.texts.append(Text(name, plugin, row[slice(*span)].tobytes(), step))

    def _large(self, start: int, length: int) -> None:
        """A record with an image or the like: scalars beside it are taken if the payload is whole."""
        row = self.view[start : start + length]
        try:
            layout = _layout(row.tobytes(), self.dialect)
        except ValueError:
            self.found.odd += 1
            return
        self.found.histograms = self.found.histograms or layout.histogram
        if not layout.spots and not layout.texts:
            return
        (stored,) = struct.unpack_from("<I", self.data, start + length)
        if checksum(row) != stored:
            self.found.bad += 1
            return
        self._take(row.reshape(1, -1), np.array([start], dtype=np.int64), layout)

    def _collect(self) -> None:
        """Put the parts of every tag together, in the order of the file."""
        curves: list[tuple[int, str, Curve]] = []
        for tag, parts in self.parts.items():
            order, steps, values, walls = (np.concatenate(columns) for columns in zip(*parts, strict=True))
            if len(parts) > 1:
                at = np.argsort(order, kind="stable")
                order, steps, values, walls = order[at], steps[at], values[at], walls[at]
            name = tag.decode("utf-8", errors="replace")
            curves.append((int(order[0]), name, Curve(steps, values, walls)))
        self.found.curves = {name: curve for _, name, curve in sorted(curves, key=lambda c: c[:2])}


def _hashes(columns: Bytes) -> Any:
    """A number per row that is the same for the same bytes."""
    rng = np.random.default_rng(0x7AD)
    weights: Any = rng.integers(1, 2**63, columns.shape[1], dtype=np.uint64) | np.uint64(1)
    total = np.zeros(len(columns), dtype=np.uint64)
    for at in range(columns.shape[1]):
        total = total * np.uint64(0x9E3779B97F4A7C15) + columns[:, at].astype(np.uint64) * weights[at]
    return total


def read_scalars(data: bytes, dialect: Dialect) -> Scalars:
    """Read all scalars of an event file. Raises ValueError when it holds not one whole record."""
    if len(data) < TAIL:
        raise ValueError("no whole record in it")
    found = _Reader(data, dialect).run()
    if found.records is None or not len(found.records.starts):
        raise ValueError("no whole record in it")
    return found


def notes_of(found: Scalars) -> list[str]:
    """Say what was damaged, one sentence each."""
    records = found.records
    notes: list[str] = []
    if records is None:
        return notes
    if records.damaged:
        notes.append(f"{records.damaged} broken record headers: {records.lost} bytes passed over")
    if records.cut:
        notes.append("the last record is incomplete (the writer was stopped, or still writes)")
    if found.bad:
        notes.append(f"{found.bad} records with a wrong checksum were skipped")
    if found.odd:
        notes.append(f"{found.odd} records could not be understood")
    return notes
