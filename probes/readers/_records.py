"""The framing that TensorBoard and MindSpore event files share, with its checksums.

A file is a row of records: length (u64), masked CRC32C of the length, payload, masked CRC32C of the payload,
little endian. Checksums are computed for many records at once: CRC is linear, so of records of equal length
only the bytes in which they differ from the first one have to be looked up.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Words = NDArray[np.uint32]
Offsets = NDArray[np.int64]

HEAD, TAIL = 12, 4
BLOCK = 4096
SEGMENT = 2048  # records that are followed one by one between two looks at the headers' checksums
RUN = 16_384  # records that are looked at together where their lengths repeat
PERIOD = 256  # the longest row of lengths whose repetition is noticed
MAX_DAMAGE = 256  # places at which reading begins anew
_POLYNOMIAL = 0x82F63B78
_MASK = 0xA282EAD8
_length_at = struct.Struct("<Q").unpack_from


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """Where the payloads of a file lie: `starts` and `lengths` [n]; `lost` counts bytes passed over."""

    starts: Offsets
    lengths: Offsets
    lost: int = 0
    damaged: int = 0  # places where a header was broken
    cut: bool = False  # the last record is incomplete


@lru_cache(maxsize=1)
def _byte_table() -> Words:
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, (table >> 1) ^ np.uint32(_POLYNOMIAL), table >> 1).astype(np.uint32)
    return table


@lru_cache(maxsize=16)
def _tables(size: int) -> Words:
    """[size, 256]: what a byte adds to the checksum when it is followed by 0, 1, 2, ... further bytes."""
    first = _byte_table()
    tables = np.empty((size, 256), dtype=np.uint32)
    tables[0] = first
    for at in range(1, size):
        tables[at] = first[tables[at - 1] & 0xFF] ^ (tables[at - 1] >> 8)
    return tables


def _upto(length: int) -> Words:
    """Tables for at least this many positions (a power of two of them)."""
    return _tables(min(BLOCK, max(16, 1 << (length - 1).bit_length())))


def _masked(crc: Words) -> Words:
    turned = ((crc >> np.uint32(15)) | (crc << np.uint32(17))).astype(np.uint64)
    return ((turned + np.uint64(_MASK)) & np.uint64(0xFFFFFFFF)).astype(np.uint32)


def _advance(crc: int, tables: Words, count: int) -> int:
    """The state after `count` (at least 4) zero bytes."""
    value = 0
    for at in range(4):
        value ^= int(tables[count - 1 - at, (crc >> (8 * at)) & 0xFF])
    return value


def _raw(row: Bytes) -> int:
    """The checksum of at most BLOCK bytes from state 0."""
    count = len(row)
    return int(np.bitwise_xor.reduce(_upto(count)[np.arange(count - 1, -1, -1), row])) if count else 0


def checksum(row: Bytes) -> int:
    """Return the masked CRC32C of these bytes, as event files store it."""
    padded = np.concatenate([np.zeros(4, np.uint8), row])
    head = np.full(min(4, len(row)), 0xFF, np.uint8)
    padded[4 : 4 + len(head)] ^= head
    body = padded[4:]
    crc = 0
    if len(row) < 4:  # shorter than the register: go byte by byte
        crc = 0xFFFFFFFF
        for byte in row.tolist():
            crc = int(_byte_table()[(crc ^ byte) & 0xFF]) ^ (crc >> 8)
    else:
        first = len(body) % BLOCK or min(BLOCK, len(body))
        crc = _raw(body[:first])
        for at in range(first, len(body), BLOCK):
            crc = _advance(crc, _tables(BLOCK), BLOCK) ^ _raw(body[at : at + BLOCK])
    return int(_masked(np.array([crc ^ 0xFFFFFFFF], dtype=np.uint32))[0])


def checksums(first: Bytes, differences: Bytes) -> Words:
    """Masked CRC32C of many payloads of one length.

    `first` [length] is one payload, `differences` [n, length] each payload XOR that one.
    """
    base = checksum(first)
    unmasked = (base - _MASK) & 0xFFFFFFFF
    base = ((unmasked << 15) | (unmasked >> 17)) & 0xFFFFFFFF
    found = np.full(len(differences), base, dtype=np.uint32)
    length = len(first)
    tables = _upto(length)
    for at in np.flatnonzero(differences.any(axis=0)).tolist():
        behind = length - 1 - at
        if behind >= len(tables):
            return np.array([checksum(first ^ row) for row in differences], dtype=np.uint32)
        found ^= tables[behind][differences[:, at]]
    return _masked(found)


def gather(data: Bytes, starts: Offsets, length: int) -> Bytes:
    """Return [n, length]: `length` bytes from each start."""
    if not length:
        return np.empty((len(starts), 0), dtype=np.uint8)
    return np.lib.stride_tricks.sliding_window_view(data, length)[starts]


def words(data: Bytes, starts: Offsets) -> Words:
    """Return the little-endian u32 at each start."""
    found: Words = np.ascontiguousarray(gather(data, starts, 4)).view("<u4").reshape(-1).astype(np.uint32)
    return found


def scan(data: bytes) -> Records:
    """Find the records of a file; broken headers cost the bytes up to the next whole one."""
    view = np.frombuffer(data, dtype=np.uint8)
    pieces: list[Offsets] = [np.empty((2, 0), dtype=np.int64)]
    position, lost, damaged, cut = 0, 0, 0, False
    while position < len(data):
        chain = _foretold(view, position, _period(pieces[-1][1]))
        if chain is None:
            chain = _chain(data, position)
        good = _good_headers(view, chain.starts)
        pieces.append(np.array([chain.starts[:good], chain.lengths[:good]]))
        if good == len(chain.starts) and chain.end == len(data):
            break
        if good == len(chain.starts) and chain.goes_on:
            position = chain.end
            continue
        broken = chain.end if good == len(chain.starts) else int(chain.starts[good]) - HEAD
        if len(data) - broken < HEAD or _is_header(view, broken):
            lost, cut = lost + len(data) - broken, True
            break
        following = _next_header(view, broken + 1) if damaged < MAX_DAMAGE else None
        damaged, lost = damaged + 1, lost + (following or len(data)) - broken
        if following is None:
            break
        position = following
    whole = np.concatenate(pieces, axis=1)
    return Records(whole[0], whole[1], lost, damaged, cut)


class _Chain(NamedTuple):
    """Payloads in a row: starts and lengths int64 [n], where the last record ends, whether to go on."""

    starts: Offsets
    lengths: Offsets
    end: int
    goes_on: bool


def _chain(data: bytes, position: int) -> _Chain:
    """Follow lengths from record to record."""
    starts: list[int] = []
    lengths: list[int] = []
    size = len(data) - HEAD - TAIL
    while position <= size and len(starts) < SEGMENT:
        (length,) = _length_at(data, position)
        if length > size - position:
            break
        starts.append(position + HEAD)
        lengths.append(length)
        position += length + HEAD + TAIL
    told = np.array([starts, lengths], dtype=np.int64)
    return _Chain(told[0], told[1], position, len(starts) == SEGMENT)


def _period(lengths: Offsets) -> Offsets | None:
    """The lengths in which the last records repeat: a row of scalars is written at every step."""
    tail = lengths[-2 * PERIOD :]
    for size in range(1, len(tail) // 2 + 1):
        if tail[-1 - size] == tail[-1] and (tail[size:] == tail[:-size]).all():
            return tail[-size:]
    return None


def _foretold(view: Bytes, position: int, period: Offsets | None) -> _Chain | None:
    """The records from here on as far as they go on in this period; None where not even a few do."""
    if period is None:
        return None
    lengths = np.resize(period, RUN)
    ends = position + np.cumsum(lengths + (HEAD + TAIL))
    lengths = lengths[: int(np.searchsorted(ends, len(view), side="right"))]
    starts = ends[: len(lengths)] - lengths - TAIL
    told = gather(view, starts - HEAD, 8).view("<u8")[:, 0]
    right = told == lengths.astype(np.uint64)
    count = len(lengths) if right.all() else int(np.argmin(right))
    if count < PERIOD:
        return None
    return _Chain(starts[:count], lengths[:count], int(ends[count - 1]), True)


def _good_headers(view: Bytes, starts: Offsets) -> int:
    """How many records from the first on have a header whose checksum is right."""
    if not len(starts):
        return 0
    at = starts - HEAD
    right = _header_sums(view, at) == words(view, at + 8)
    return len(starts) if right.all() else int(np.argmin(right))


def _header_sums(view: Bytes, at: Offsets) -> Words:
    heads = gather(view, at, 8)
    return checksums(heads[0], heads ^ heads[0])


def _is_header(view: Bytes, at: int) -> bool:
    if at + HEAD > len(view):
        return False
    here = np.array([at], dtype=np.int64)
    return bool(_header_sums(view, here)[0] == words(view, here + 8)[0])


def _next_header(view: Bytes, start: int) -> int | None:
    """Where the next whole record begins: a length below 4 GiB whose checksum follows."""
    window = 1 << 20
    for at in range(start, max(start, len(view) - HEAD - TAIL + 1), window):
        part = view[at : at + window + HEAD - 1]
        if len(part) < HEAD:
            return None
        high = np.lib.stride_tricks.sliding_window_view(part[4:], 4)[: len(part) - HEAD + 1]
        possible = np.flatnonzero(~high.any(axis=1)).astype(np.int64)
        possible = possible[gather(part, possible, 4).any(axis=1)]
        if not len(possible):
            continue
        right = possible[_header_sums(part, possible) == words(part, possible + 8)]
        for found in (right + at).tolist():
            if found + HEAD + TAIL + int(words(view, np.array([found]))[0]) <= len(view):
                return int(found)
    return None
