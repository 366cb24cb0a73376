"""MindSpore checkpoints: a protobuf of named parameters, walked field by field; contents stay on disk.

Checkpoint{value=1*{tag=1, tensor=2{dims=1*, tensor_type=2, tensor_content=3}}}. A large parameter is
split over several values of one tag. Layout: FORMATS-ASCEND B2.
"""

from __future__ import annotations

import math
from typing import BinaryIO

from ..files import RunFile
from .npy import Unreadable
from .numbers import type_of
from .stored import Stored

MAX_VALUES = 500_000
MAX_NAME = 4096
MAX_DIMS = 64
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def is_mindspore_ckpt(head: bytes) -> bool:
    """Whether a file may be one: its first field is a value whose first field is a printable tag."""
    if len(head) < 8 or head[0] != 0x0A:
        return False
    at = 1
    while at < len(head) and head[at] & 0x80:
        at += 1
    at += 1
    if at + 1 >= len(head) or head[at] != 0x0A:
        return False
    length = head[at + 1]
    tag = head[at + 2 : at + 2 + min(length, 64)]
    return 0 < length < 0x80 and tag.isascii() and tag.decode("ascii", "replace").isprintable()


def read_ckpt(file: RunFile) -> tuple[dict[str, tuple[Stored, ...]], list[str]]:
    """Return the pieces of every parameter, in order, and what was damaged. Raises Unreadable, OSError."""
    found: dict[str, list[Stored]] = {}
    notes: list[str] = []
    with file.open() as handle:
        at, count = 0, 0
        while at < file.size:
            try:
                number, wire, length, at = _field(handle, at, file.size)
            except Unreadable as error:
                if not found:
                    raise
                notes.append(f"damaged behind {count} parameters: {error}")
                break
            if number != 1 or wire != _BYTES:  # the trailer "crc_num" and its ten bytes
                break
            if count >= MAX_VALUES:
                notes.append(f"only the first {MAX_VALUES} parameters were looked at")
                break
            try:
                name, piece = _value(handle, file, at, at + length)
            except Unreadable as error:
                notes.append(f"parameter {count + 1}: {error}")
            else:
                found.setdefault(name, []).append(piece)
            at += length
            count += 1
    if not found:
        raise Unreadable(notes[0] if notes else "holds no parameter")
    return {name: tuple(pieces) for name, pieces in found.items()}, notes


def _value(handle: BinaryIO, file: RunFile, at: int, end: int) -> tuple[str, Stored]:
    name = ""
    piece: Stored | None = None
    while at < end:
        number, wire, length, at = _field(handle, at, end)
        if number == 1 and wire == _BYTES:
            if length > MAX_NAME:
                raise Unreadable("its name is implausibly long")
            handle.seek(at)
            name = handle.read(length).decode("utf-8", "replace")
        elif number == 2 and wire == _BYTES:
            piece = _tensor(handle, file, at, at + length)
        at += length
    if piece is None or not name:
        raise Unreadable("has no name or no values")
    return name, piece


def _tensor(handle: BinaryIO, file: RunFile, at: int, end: int) -> Stored:
    dims: list[int] = []
    word, content, size = "", -1, 0
    while at < end:
        number, wire, length, at = _field(handle, at, end)
        if number == 1 and wire == _VARINT:
            dims.append(length)
            length = 0
        elif number == 1 and wire == _BYTES:  # packed
            stop, place = at + length, at
            while place < stop and len(dims) <= MAX_DIMS:
                value, place = _varint(handle, place, stop)
                dims.append(value)
        elif number == 2 and wire == _BYTES and length < 64:
            handle.seek(at)
            word = handle.read(length).decode("ascii", "replace")
        elif number == 3 and wire == _BYTES:
            content, size = at, length
        elif wire == _VARINT:
            length = 0
        if len(dims) > MAX_DIMS:
            raise Unreadable("has implausibly many dimensions")
        at += length
    kind = type_of(word)
    if kind is None:
        raise Unreadable(f"element type {word[:20] or 'without a name'} is not read")
    if content < 0 or size % kind.width:
        raise Unreadable("its values do not fit its type")
    elements = size // kind.width
    shape = tuple(dims)
    if shape in ((), (0,)) or elements != math.prod(shape):  # a scalar (MindSpore writes 0), or a slice
        shape = () if elements == 1 and shape in ((), (0,), (1,)) else (elements,)
    return Stored(file, content, kind, shape)


def whole_shape(pieces: tuple[Stored, ...]) -> tuple[int, ...]:
    """The shape of a parameter; one that was split is told flat."""
    return pieces[0].shape if len(pieces) == 1 else (sum(p.count for p in pieces),)


def _field(handle: BinaryIO, at: int, end: int) -> tuple[int, int, int, int]:
    """(number, wire type, length or value, where its content starts)."""
    key, at = _varint(handle, at, end)
    number, wire = key >> 3, key & 7
    if wire == _VARINT:
        value, at = _varint(handle, at, end)
        return number, wire, value, at
    if wire == _BYTES:
        length, at = _varint(handle, at, end)
    elif wire in (_FIXED64, _FIXED32):
        length = 8 if wire == _FIXED64 else 4
    else:
        raise Unreadable("not a MindSpore checkpoint")
    if number == 0 or at + length > end:
        raise Unreadable("ends before its last element")
    return number, wire, length, at


def _varint(handle: BinaryIO, at: int, end: int) -> tuple[int, int]:
    handle.seek(at)
    value = 0
    for i, byte in enumerate(handle.read(min(10, max(0, end - at)))):
        value |= (byte & 0x7F) << (7 * i)
        if not byte & 0x80:
            return value, at + i + 1
    raise Unreadable("ends within a number")
