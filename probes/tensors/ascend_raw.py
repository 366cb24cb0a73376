"""Dump files as Ascend writes them, read without its toolkit: what an operator took and made, on the device.

    u64 length of the header | header: protobuf DumpData | inputs | outputs | buffers, each as it lay there

DumpData{1 version, 2 time, 3* output, 4* input, 5* buffer, 6 name}; an input {1 type, 2 format, 3 shape,
5 size, 6 original shape}, an output {1, 2, 3, 6 size, 7 original shape}. Types and formats by number; private
formats (NC1HWC0, FRACTAL_NZ) are put back in order, their padding left out. Layout: FORMATS-ASCEND B1, the
definition in MindSpore's source (debugger/dump_data.proto), and msaccucmp 26.2.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..files import RunFile
from .npy import Unreadable
from .numbers import ElementType, type_of
from .stored import Axes, Stored, checked

MAX_HEADER = 16 * 1024**2
MAX_TENSORS = 10_000
ADVICE = (
    "decode them on the machine with the toolkit: `msaccucmp.py convert -d DUMP_DIR -out DIR -t npy` "
    "(in msprobe 26: `msprobe parse -d DUMP_DIR -t npy -o DIR`)"
)
_TYPES = {
    1: "float32",
    2: "float16",
    3: "int8",
    4: "uint8",
    5: "int16",
    6: "uint16",
    7: "int32",
    8: "int64",
    9: "uint32",
    10: "uint64",
    11: "bool",
    12: "float64",
    16: "complex64",
    17: "complex128",
    27: "bfloat16",
    34: "float8_e5m2",
    35: "float8_e4m3fn",
}
_PLAIN = frozenset({0, 1, 2, 14, 16, 27, 30, 31, 34, 35, 40})  # in the order that their shape tells
_NC1HWC0, _NZ = 3, 29


@dataclass(frozen=True, slots=True, eq=False)
class RawTensor:
    """One tensor of a raw dump; `stored` is None where its type is not read. `note`: what is odd about it."""

    side: str  # "input", "output", "buffer"
    slot: int
    dtype: str
    shape: tuple[int, ...]
    stored: Stored | None
    start: int  # bytes from the start of the file
    size: int
    note: str = ""


def read_raw(file: RunFile) -> list[RawTensor]:
    """Return what a dump file holds. Raises Unreadable where it is none that can be read, or OSError."""
    if file.size < 10:
        raise Unreadable("too short for a dump")
    with file.open() as handle:
        (length,) = struct.unpack("<Q", handle.read(8))
        if not 2 <= length <= min(MAX_HEADER, file.size - 8):
            raise Unreadable("no dump in a layout that is known")
        header = handle.read(length)
    try:
        told = list(_described(header))
    except (IndexError, ValueError) as error:
        raise Unreadable("its header cannot be understood") from error
    if not told or len(told) > MAX_TENSORS:
        raise Unreadable("its header describes no tensors")
    at = 8 + length
    found = []
    slots = {"input": 0, "output": 0, "buffer": 0}
    for one in sorted(told, key=lambda t: list(slots).index(t.side)):
        if at + one.size > file.size:
            raise Unreadable("shorter than its header says")
        found.append(_tensor(file, one, slots[one.side], at))
        slots[one.side] += 1
        at += one.size
    return found


@dataclass(slots=True)
class _Told:
    """What the header tells of one tensor."""

    side: str
    kind: int = 0
    form: int = 0
    size: int = 0
    shape: tuple[int, ...] = ()
    original: tuple[int, ...] = ()


_SIDES = {3: "output", 4: "input", 5: "buffer"}
_SIZE = {"output": 6, "input": 5, "buffer": 3}
_ORIGINAL = {"output": 7, "input": 6, "buffer": -1}


def _described(header: bytes) -> Iterator[_Told]:
    for number, value in _fields(header):
        side = _SIDES.get(number)
        if side is None or not isinstance(value, bytes):
            continue
        told = _Told(side)
        for inner, content in _fields(value):
            if inner == _SIZE[side] and isinstance(content, int):
                told.size = content
            elif side == "buffer":
                continue
            elif inner == 1 and isinstance(content, int):
                told.kind = content
            elif inner == 2 and isinstance(content, int):
                told.form = content
            elif inner == 3 and isinstance(content, bytes):
                told.shape = _dims(content)
            elif inner == _ORIGINAL[side] and isinstance(content, bytes):
                told.original = _dims(content)
        yield told


def _dims(message: bytes) -> tuple[int, ...]:
    dims: list[int] = []
    for number, value in _fields(message):
        if number != 1:
            continue
        if isinstance(value, int):
            dims.append(value)
            continue
        at = 0
        while at < len(value):
            one, at = _varint(value, at)
            dims.append(one)
    if len(dims) > 32 or any(d > 1 << 40 for d in dims):
        raise ValueError("a shape makes no sense")
    return tuple(dims)


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a protobuf message: numbers, and bytes of what has a length. Raises ValueError."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        wire = key & 7
        if wire == 0:
            value, at = _varint(message, at)
            yield key >> 3, value
            continue
        size = 8 if wire == 1 else 4
        if wire == 2:
            size, at = _varint(message, at)
        elif wire not in (1, 5):
            raise ValueError("no protobuf")
        if not key >> 3 or at + size > len(message):
            raise ValueError("ends in a field")
        if wire == 2:
            yield key >> 3, message[at : at + size]
        at += size


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if not byte & 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError("a number is too long")


# -------------------------------------------------------------------------------------------- tensors


def _tensor(file: RunFile, told: _Told, slot: int, at: int) -> RawTensor:
    element = type_of(_TYPES.get(told.kind, ""))
    if element is None or told.side == "buffer":
        note = "" if told.side == "buffer" else f"element type {told.kind} is not read"
        return RawTensor(told.side, slot, "", told.shape, None, at, told.size, note)
    count, odd = divmod(told.size, element.width)
    if odd:
        raise Unreadable("its values do not fit its type")
    shape, note = told.shape, ""
    if math.prod(shape) != count:  # what was padded at its end, or has no shape of its own
        shape, note = ((), "") if count == 1 and not shape else ((count,), "its shape does not fit its size")
    stored = Stored(file, at, element, shape)
    if told.form not in _PLAIN and told.original and not note:
        ordered = _in_order(told, at, file, element)
        if ordered is not None:
            return RawTensor(told.side, slot, element.name, told.original, ordered, at, told.size)
        note = f"in the device's own format {told.form}, shape {told.original} before"
    elif not note and told.original and math.prod(told.original) == count:
        shape = told.original
    wrong = checked(stored, at + told.size)
    return RawTensor(
        told.side, slot, element.name, shape, None if wrong else stored, at, told.size, wrong or note
    )


def _in_order(told: _Told, at: int, file: RunFile, element: ElementType) -> Stored | None:
    """The elements in the order of the original shape; None where the blocks do not hold that shape."""
    strides = _strides(told.shape)
    axes: tuple[Axes, ...] | None = None
    original = told.original
    if told.form == _NC1HWC0 and len(told.shape) == 5 and len(told.original) == 4:
        n, c1, h, w, c0 = zip(told.shape, strides, strict=True)
        groups: list[Axes] = [(n,), (c1, c0), (h,), (w,)]
        for order in ((0, 1, 2, 3), (0, 2, 3, 1)):  # NCHW, NHWC
            axes = _fitted([groups[i] for i in order], told.original)
            if axes is not None:
                break
    elif told.form == _NZ and len(told.shape) >= 4:
        *batch, columns, rows, row, column = zip(told.shape, strides, strict=True)
        original = original if len(original) >= 2 else (1, *original)
        groups = [*((b,) for b in batch), (rows, row), (columns, column)]
        axes = _fitted(groups, original) if len(groups) == len(original) else None
    if axes is None:
        return None
    stored = Stored(file, at, element, original, blocked=axes)
    return None if checked(stored, at + told.size) else stored


def _fitted(groups: Sequence[Axes], shape: Sequence[int]) -> tuple[Axes, ...] | None:
    """The axes of each dimension; None where a dimension is another, or padded by a whole block or more."""
    for axes, size in zip(groups, shape, strict=True):
        block = axes[-1][0] if len(axes) > 1 else 1
        if not 0 <= math.prod(n for n, _ in axes) - size < block:
            return None
    return tuple(groups)


def _strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))
