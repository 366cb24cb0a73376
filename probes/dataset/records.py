"""TFRecord: framing with checksums, and tf.train.Example taken apart by hand. Nothing of TensorFlow is used.

A record is length (u64), masked CRC32C of it, payload, masked CRC32C of it. An Example is protobuf:
Example.features(1) -> Features.feature(1, map<string, Feature>) -> bytes_list(1), float_list(2) or
int64_list(3).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..files import RunFile
from ..readers._records import checksum
from .examples import Examples
from .gather import Budget, Problems
from .model import Part, Split

CHECKED = 256  # payloads of a file whose checksum is computed
LONGEST = 256 * 1024**2


class _Broken(ValueError):
    pass


def is_tfrecord(file: RunFile) -> bool:
    """Whether a file begins with a record whose length has the right checksum."""
    head = file.head[:12]
    return len(head) == 12 and _length(head) is not None


def _length(head: bytes) -> int | None:
    told = int(struct.unpack("<I", head[8:12])[0])
    if checksum(np.frombuffer(head[:8], dtype=np.uint8)) != told:
        return None
    return int(struct.unpack("<Q", head[:8])[0])


def read_tfrecords(files: Sequence[RunFile], split: Split, budget: Budget) -> Part:
    """Read TFRecord files one record after the other; beyond the bound records are only counted."""
    found = Examples([f.path for f in files], budget.bounds.seed, budget.bounds.label)
    problems = Problems()
    total = 0
    exact, notes = True, []
    for number, file in enumerate(files):
        limit = max(64, (budget.bounds.samples - found.looked) // (len(files) - number))
        found.cut()
        at = 0
        for payload in _payloads(file, limit, problems, budget):
            at += 1
            if payload is None:
                continue
            try:
                sample = dict(_features(payload))
            except (_Broken, IndexError, struct.error):
                if at == 1:
                    notes.append(f"{file.path}: the payload is no tf.train.Example")
                found.unread(number, at, hash(payload))
                continue
            found.add(sample, number, at, hash(payload))
        total += at
        if budget.spent_out:
            exact = False
            notes.append(f"stopped after {budget.spent_out}")
            break
    return found.part(split, "TFRecord", total, exact, problems, tuple(dict.fromkeys(notes)))


def _payloads(file: RunFile, limit: int, problems: Problems, budget: Budget) -> Iterator[bytes | None]:
    """Yield the payloads of the first `limit` records, then None for every further one."""
    with file.open() as handle:
        at = position = 0
        while position < file.size:
            head = handle.read(12)
            if len(head) == 12 and at >= limit and at % CHECKED:  # what is only counted is seldom checked
                length: int | None = int(struct.unpack("<Q", head[:8])[0])
            else:
                length = _length(head) if len(head) == 12 else None
            if length is None:
                cut = len(head) < 12
                what = "cut off in a record's header" if cut else "a record's header is damaged"
                problems.add(file.path, f"{what} at byte {position}; the rest is not read", at + 1)
                return
            if length > file.size - position - 16:
                problems.add(file.path, f"cut off: record {at + 1} is incomplete", at + 1)
                return
            position += 16 + length
            at += 1
            if at > limit or length > LONGEST:
                handle.seek(position)
                if not budget.take(16):
                    return
                yield None
                continue
            payload = handle.read(length)
            tail = handle.read(4)
            if not budget.take(length):
                return
            if at <= CHECKED and length <= 1024**2:
                told = int(struct.unpack("<I", tail)[0])
                if checksum(np.frombuffer(payload, dtype=np.uint8)) != told:
                    problems.add(file.path, f"record {at}: wrong checksum", at)
                    yield None
                    continue
            yield payload


# ---------------------------------------------------------------------------------------- protobuf


def _features(payload: bytes) -> Iterator[tuple[str, Any]]:
    """Yield (name, float64 array or list of bytes) of an Example. Raises _Broken."""
    for number, features in _messages(payload):
        if number != 1:
            raise _Broken
        for inner, entry in _messages(features):
            if inner != 1:
                raise _Broken
            name, value = "", b""
            for part, data in _messages(entry):
                if part == 1:
                    name = data.decode("utf-8", "replace")
                elif part == 2:
                    value = data
            yield name, _values(value)


def _messages(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the length-delimited fields of a message; any other wire type is not an Example."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        if key & 7 != 2:
            raise _Broken
        size, at = _varint(data, at)
        if size > len(data) - at:
            raise _Broken
        yield key >> 3, data[at : at + size]
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise _Broken
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return value, at
        shift += 7


def _values(feature: bytes) -> Any:
    for kind, packed in _messages(feature):
        if kind == 1:
            return [v for n, v in _messages(packed) if n == 1]
        if kind == 2:
            return _floats(packed)
        if kind == 3:
            return _integers(packed)
    return []


def _floats(data: bytes) -> Any:
    if data[:1] == b"\x0d":  # not packed: a key before every value
        return np.frombuffer(b"".join(data[i + 1 : i + 5] for i in range(0, len(data), 5)), "<f4").astype(
            np.float64
        )
    found = b"".join(v for n, v in _messages(data) if n == 1)
    return np.frombuffer(found[: len(found) // 4 * 4], "<f4").astype(np.float64)


def _integers(data: bytes) -> Any:
    found: list[int] = []
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        if key & 7 == 0:
            value, at = _varint(data, at)
            found.append(value)
        elif key & 7 == 2:
            size, at = _varint(data, at)
            end = at + size
            if end > len(data):
                raise _Broken
            while at < end:
                value, at = _varint(data, at)
                found.append(value)
        else:
            raise _Broken
    return np.array([v - 2**64 if v >= 2**63 else v for v in found], dtype=np.float64)
