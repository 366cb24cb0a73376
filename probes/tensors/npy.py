"""NumPy's .npy and .npz: where the elements stand. Headers are parsed as literals; objects are refused.

Format: numpy.lib.format, versions 1.0 to 3.0.
"""

from __future__ import annotations

import ast
import re
import struct
import zipfile
from collections.abc import Iterator
from typing import Any, BinaryIO

from ..files import RunFile
from .numbers import TYPES, ElementType, type_of
from .stored import Stored, checked, in_order

MAGIC = b"\x93NUMPY"
MAX_HEADER = 64 * 1024
MAX_MEMBERS = 100_000
_CODES = {
    "f8": "float64",
    "f4": "float32",
    "f2": "float16",
    "c8": "complex64",
    "c16": "complex128",
    "b1": "bool",
    "?": "bool",
    **{f"{k}{n}": f"{'u' if k == 'u' else ''}int{8 * n}" for k in "iu" for n in (1, 2, 4, 8)},
}


class Unreadable(ValueError):
    """An array that cannot be read; the message says why, without the file's name."""


def read_npy(file: RunFile, named: str = "") -> Stored:
    """Find the elements of a .npy file. Raises Unreadable or OSError.

    `named` is the element type that the file's name tells ("BFloat16"): numpy itself stores bf16 and fp8 as
    bytes without a type.
    """
    with file.open() as handle:
        stored = _header(handle, file, "", named)
    return _sound(stored, file.size)


def read_npz(file: RunFile) -> Iterator[tuple[str, Stored | Unreadable]]:
    """Yield every array of a .npz, or why it cannot be read. Raises Unreadable or OSError."""
    with file.open() as handle:
        try:
            archive = zipfile.ZipFile(handle)
            members = archive.infolist()
        except (zipfile.BadZipFile, NotImplementedError, ValueError, EOFError) as error:
            raise Unreadable(f"damaged: {error}") from error
        for member in members[:MAX_MEMBERS]:
            if not member.filename.endswith(".npy"):
                continue
            name = member.filename[: -len(".npy")]
            try:
                with archive.open(member) as stream:
                    stored = _header(stream, file, member.filename, "")  # type: ignore[arg-type]
                yield name, _sound(stored, member.file_size)
            except (
                Unreadable,
                zipfile.BadZipFile,
                RuntimeError,
                NotImplementedError,
                EOFError,
                OSError,
            ) as error:
                yield name, error if isinstance(error, Unreadable) else Unreadable(f"damaged: {error}")


def _sound(stored: Stored, room: int) -> Stored:
    wrong = checked(stored, room)
    if wrong:
        raise Unreadable(wrong)
    return stored


def _header(stream: BinaryIO, file: RunFile, member: str, named: str) -> Stored:
    start = stream.read(8)
    if not start.startswith(MAGIC) or len(start) < 8:
        raise Unreadable("not a .npy file")
    wide = start[6] >= 2
    size_field = stream.read(4 if wide else 2)
    if len(size_field) < (4 if wide else 2):
        raise Unreadable("ends in its header")
    (size,) = struct.unpack("<I" if wide else "<H", size_field)
    if size > MAX_HEADER:
        raise Unreadable("its header is implausibly long")
    text = stream.read(size)
    try:
        header: Any = ast.literal_eval(text.decode("utf-8" if start[6] >= 3 else "latin-1").strip())
        code, fortran, shape = header["descr"], bool(header["fortran_order"]), tuple(header["shape"])
    except (ValueError, SyntaxError, KeyError, TypeError, MemoryError, RecursionError) as error:
        raise Unreadable("its header cannot be understood") from error
    if not all(isinstance(n, int) for n in shape):
        raise Unreadable("its shape cannot be understood")
    kind, big = _type(code, named)
    strides = None
    if fortran and len(shape) > 1:
        ahead, found = 1, []
        for n in shape:
            found.append(ahead)
            ahead *= n
        strides = None if in_order(shape, tuple(found)) else tuple(found)
    offset = 8 + len(size_field) + size
    return Stored(file, offset, kind, shape, strides, member, big)


def _type(code: Any, named: str) -> tuple[ElementType, bool]:
    if not isinstance(code, str):
        raise Unreadable("a record array, not a tensor")
    found = re.match(r"^([<>|=]?)(.+)$", code)
    order, rest = (found[1], found[2]) if found else ("", code)
    if rest.startswith("O"):
        raise Unreadable("holds Python objects, which are never loaded")
    told = type_of(named) if named else None
    if rest in ("V2", "V1", "u2", "u1") and told is not None and told.storage == "u" + rest[1:]:
        return told, order == ">"
    if rest == "V2":  # ml_dtypes' bfloat16 is the only 2-byte type without a code of its own
        return TYPES["bfloat16"], order == ">"
    if rest not in _CODES:
        plain = type_of(rest)
        if plain is None:
            raise Unreadable(f"element type {code[:20]} is not a number")
        return plain, order == ">"
    return TYPES[_CODES[rest]], order == ">"
