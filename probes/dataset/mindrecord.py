"""MindRecord: the sqlite index beside each file, and the samples in its pages.

Layout, as MindSpore's FileWriter writes it (version 3): a header of `header_size` bytes that begins with the
length of its JSON (u64); then pages of `page_size` bytes. The index tells of each sample the page and offsets
of two pieces: the raw one, a length (u64) and msgpack of its scalars; the blob, a length and the bytes of
each array field in turn. Nothing of MindSpore is used.
"""

from __future__ import annotations

import json
import re
import sqlite3
import struct
from collections.abc import Container, Iterator, Mapping
from typing import Any, BinaryIO

import numpy as np

from ..files import RunFile
from .examples import Examples
from .gather import Budget, LabelGather, Problems
from .model import Part, Split

MOST_HEADER = 64 * 1024**2
MOST_PIECE = 64 * 1024**2
_QUERY = (
    "SELECT PAGE_ID_RAW, PAGE_OFFSET_RAW, PAGE_OFFSET_RAW_END, PAGE_ID_BLOB, PAGE_OFFSET_BLOB, "
    "PAGE_OFFSET_BLOB_END FROM INDEXES ORDER BY ROW_ID LIMIT ?"
)
_DATA = re.compile(r"\.mindrecord\d*$", re.IGNORECASE)
_TYPES = frozenset(("int32", "int64", "float32", "float64"))


def is_index(file: RunFile) -> bool:
    """Whether a file is the sqlite index that stands beside a MindRecord file."""
    known = file.suffix == ".db" and "mindrecord" in file.name.lower()
    return known and len(file.head) >= 100 and file.head.startswith(b"SQLite format 3\x00")


def lacks_index(file: RunFile, there: Container[str]) -> bool:
    """Whether a MindRecord file has no index beside it: MindSpore opens none without."""
    return bool(_DATA.search(file.name)) and file.size > 0 and f"{file.path}.db" not in there


def read_index(file: RunFile, data: RunFile | None, split: Split, budget: Budget) -> Part:
    """Count the samples of an index and read them from `data`, the file beside it.

    The index is opened read-only; none of its content is run.
    """
    problems = Problems()
    rows, labels, where = None, None, []
    size, pages = struct.unpack(">H", file.head[16:18])[0], struct.unpack(">I", file.head[28:32])[0]
    told = (65536 if size == 1 else size) * pages
    if told > file.size:
        problems.add(file.path, f"cut off: {file.size} of {told} bytes")
    path = file.local()
    try:
        connection = sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True, timeout=1.0)
        try:
            connection.set_progress_handler(lambda: int(not budget.take(0)), 10_000)
            names = [str(r[1]) for r in connection.execute("PRAGMA table_info(INDEXES)")]
            rows = int(connection.execute("SELECT COUNT(*) FROM INDEXES").fetchone()[0])
            labels = _indexed_labels(connection, names, budget)
            where = connection.execute(_QUERY, (budget.bounds.samples,)).fetchall()
        finally:
            connection.close()
    except (sqlite3.Error, ValueError) as error:
        problems.add(file.path, f"cannot be read as an index: {str(error)[:100]}")
    found = Examples([data.path if data is not None else file.path], budget.bounds.seed, budget.bounds.label)
    note = "of MindRecord only the index is read: counts and indexed fields"
    if data is not None and where:
        note = _read(data, where, found, problems, budget)
    part = found.part(split, "MindRecord", rows, rows is not None, problems, (note,) if note else ())
    if part.labels is None and labels is not None:
        from dataclasses import replace

        part = replace(part, labels=labels)
    return part


def _read(data: RunFile, where: list[Any], found: Examples, problems: Problems, budget: Budget) -> str:
    """Read the samples that an index points to; return what is to be said of it."""
    try:
        with data.open() as handle:
            header = _header(handle, data.size)
            schema = header["schema"][0]
            fields = {str(k): v for k, v in schema["schema"].items() if isinstance(v, dict)}
            blobs = [str(b) for b in schema.get("blob_fields") or ()]
            start, page = int(header["header_size"]), int(header["page_size"])
            packed = bool(header.get("compression_size"))
            for at, row in enumerate(where, 1):
                if not all(isinstance(v, int) and v >= 0 for v in row):
                    problems.add(data.path, f"sample {at}: the index points nowhere", at)
                    continue
                pieces = []
                for first, begin, end in (row[:3], row[3:]):
                    position = start + first * page + begin
                    if not 0 <= end - begin <= MOST_PIECE or position + end - begin > data.size:
                        problems.add(data.path, f"cut off: sample {at} lies beyond its end", at)
                        break
                    handle.seek(position)
                    pieces.append(handle.read(end - begin))
                if len(pieces) < 2:
                    continue
                if not budget.take(sum(map(len, pieces))):
                    return f"stopped after {budget.spent_out}"
                digest = hash(tuple(pieces))
                try:
                    sample = {} if packed else dict(_sample(pieces[0], pieces[1], fields, blobs))
                except (ValueError, IndexError, struct.error, RecursionError):
                    found.unread(0, at, digest)
                    continue
                found.add(sample, 0, at, digest)
    except (KeyError, IndexError, TypeError, ValueError, struct.error) as error:
        problems.add(data.path, f"its header cannot be understood: {str(error)[:60]}")
    except OSError as error:
        problems.add(data.path, error.strerror or "cannot be read")
    return ""


def _header(handle: BinaryIO, size: int) -> Mapping[str, Any]:
    head = handle.read(8)
    if len(head) < 8:
        raise ValueError("it is empty")
    length = int(struct.unpack("<Q", head)[0])
    if not 2 <= length <= min(MOST_HEADER, size):
        raise ValueError(f"it tells {length} bytes")
    found = json.loads(handle.read(length))
    if not isinstance(found, dict):
        raise ValueError("no object in it")
    return found


def _sample(
    raw: bytes, blob: bytes, fields: Mapping[str, Any], blobs: list[str]
) -> Iterator[tuple[str, Any]]:
    """Yield (name, float64 array or list of bytes) of a sample."""
    length = int(struct.unpack("<Q", raw[:8])[0])
    told, _ = _unpack(raw[8 : 8 + length], 0)
    for name, value in told.items() if isinstance(told, dict) else ():
        if isinstance(value, (bool, int, float)):
            yield str(name), np.array([float(value)])
        elif isinstance(value, (str, bytes)):
            yield str(name), [value.encode() if isinstance(value, str) else value]
    at = 0
    for name in blobs:
        length = int(struct.unpack("<Q", blob[at : at + 8])[0])
        piece = blob[at + 8 : at + 8 + length]
        if len(piece) < length:
            raise ValueError("cut off")
        at += 8 + length
        kind = str(fields.get(name, {}).get("type", "bytes"))
        if kind in _TYPES:
            yield name, np.frombuffer(piece, dtype=f"<{kind[0]}{int(kind[-2:]) // 8}").astype(np.float64)
        else:
            yield name, [piece]


def _unpack(data: bytes, at: int, depth: int = 0) -> tuple[Any, int]:
    """Read one msgpack value. Raises ValueError, IndexError or struct.error."""
    if depth > 8:
        raise ValueError("nested too deep")
    kind = data[at]
    at += 1
    if kind < 0x80:
        return kind, at
    if kind >= 0xE0:
        return kind - 256, at
    if kind in _NUMBERS:
        form, size = _NUMBERS[kind]
        return struct.unpack(form, data[at : at + size])[0], at + size
    if kind in (0xC0, 0xC2, 0xC3):
        return {0xC0: None, 0xC2: False, 0xC3: True}[kind], at
    if 0xA0 <= kind < 0xC0:
        length = kind & 31
    elif kind in _LENGTHS:
        form, size = _LENGTHS[kind]
        length = int(struct.unpack(form, data[at : at + size])[0])
        at += size
    elif kind < 0xA0:
        length = kind & 15
    else:
        raise ValueError(f"type {kind:#x}")
    if kind < 0x90 or kind in (0xDE, 0xDF):
        found = {}
        for _ in range(length):
            key, at = _unpack(data, at, depth + 1)
            found[str(key)], at = _unpack(data, at, depth + 1)
        return found, at
    if kind < 0xA0 or kind in (0xDC, 0xDD):
        values = []
        for _ in range(length):
            value, at = _unpack(data, at, depth + 1)
            values.append(value)
        return values, at
    if at + length > len(data):
        raise ValueError("cut off")
    piece = data[at : at + length]
    return piece if kind in (0xC4, 0xC5, 0xC6) else piece.decode("utf-8", "replace"), at + length


_NUMBERS = {
    0xCA: (">f", 4),
    0xCB: (">d", 8),
    0xCC: (">B", 1),
    0xCD: (">H", 2),
    0xCE: (">I", 4),
    0xCF: (">Q", 8),
    0xD0: (">b", 1),
    0xD1: (">h", 2),
    0xD2: (">i", 4),
    0xD3: (">q", 8),
}
_LENGTHS = {
    0xC4: (">B", 1),
    0xC5: (">H", 2),
    0xC6: (">I", 4),
    0xD9: (">B", 1),
    0xDA: (">H", 2),
    0xDB: (">I", 4),
    0xDC: (">H", 2),
    0xDD: (">I", 4),
    0xDE: (">H", 2),
    0xDF: (">I", 4),
}


def _indexed_labels(connection: sqlite3.Connection, names: list[str], budget: Budget) -> Any:
    """The labels, where a label field is indexed (MindRecord names it label_0, label_1, ...)."""
    name = next((n for n in names if n.lower().rstrip("_0123456789") in ("label", "target", "class")), None)
    if name is None:
        return None
    quoted = name.replace('"', '""')
    gather = LabelGather(name)
    # The name comes from the table's own description and is quoted as an identifier.
    query = f'SELECT "{quoted}" FROM INDEXES ORDER BY ROW_ID LIMIT ?'  # noqa: S608
    found = [r[0] for r in connection.execute(query, (budget.bounds.samples,))]
    if all(isinstance(v, (int, float)) for v in found):
        gather.add_numbers(np.array(found, dtype=np.float64), lambda _: None)
    else:
        gather.add_texts([str(v) for v in found])
    return gather.labels()
