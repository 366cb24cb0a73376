"""Files of `torch.save`: where the elements of their tensors stand. Nothing is unpickled.

Formats: a zip (torch >= 1.6) of `data.pkl` and one member per storage, uncompressed; before that five pickles
one after the other (magic number, protocol, system, the object, keys of the storages), then for each key the
number of elements as i64 and the elements. Pickles are walked: see pickle_walk.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any, BinaryIO

from ..files import RunFile
from .npy import Unreadable
from .numbers import ElementType
from .pickle_walk import MAX_PICKLE, Opaque, Rebuild, Storage, walk_pickle
from .stored import Stored, checked, in_order

MAX_MEMBERS = 200_000
LEGACY = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."  # the magic number, pickled
_PROTOCOL = 1001
_OUTSIDE = "a tensor whose storage is not in the file"


def is_torch(head: bytes) -> bool:
    """Whether a file may be one of `torch.save`, in either form."""
    return is_torch_zip(head) or head.startswith(LEGACY)


def is_torch_zip(head: bytes) -> bool:
    """Whether a file may be one of `torch.save` in zip form."""
    return head.startswith(b"PK\x03\x04")


class _Window(io.RawIOBase):
    """A part of a file, as a file of its own; the file is its owner's to close."""

    def __init__(self, handle: BinaryIO, start: int, length: int) -> None:
        self.handle, self.start, self.length, self.at = handle, start, length, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self.at, io.SEEK_END: self.length}[whence]
        self.at = max(0, base + offset)
        return self.at

    def tell(self) -> int:
        return self.at

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        size = max(0, min(len(view), self.length - self.at))
        self.handle.seek(self.start + self.at)
        data = self.handle.read(size)
        view[: len(data)] = data
        self.at += len(data)
        return len(data)


def read_torch(file: RunFile, offset: int = 0, length: int | None = None) -> Any:
    """Return what the file holds: tensors as `Stored` (`Opaque` with a reason), dicts, lists, scalars.

    `offset` and `length`: where in the file one `torch.save` stands among others. Raises Unreadable with one
    phrase (an old format, a damaged file), or OSError.
    """
    with file.open() as whole:
        handle: Any = whole if length is None else _Window(whole, offset, length)
        head = handle.read(len(LEGACY))
        if head == LEGACY and length is None:
            return _read_legacy(file)
        if not is_torch_zip(head):
            raise Unreadable("neither form of torch.save, which alone can be read safely")
        try:
            archive = zipfile.ZipFile(handle)
            members = {m.filename: m for m in archive.infolist()[:MAX_MEMBERS]}
            pickles = [n for n in members if n == "data.pkl" or n.endswith("/data.pkl")]
            if len(pickles) != 1 or members[pickles[0]].file_size > MAX_PICKLE:
                raise Unreadable("no pickle of tensors in it")
            prefix = pickles[0][: -len("data.pkl")]
            program = _content(handle, archive, members[pickles[0]])
            byteorder = members.get(prefix + "byteorder")
            order = _content(handle, archive, byteorder) if byteorder is not None else b"little"
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, ValueError) as error:
            if isinstance(error, Unreadable):
                raise
            raise Unreadable(f"damaged: {error}") from error
        places = {
            name[len(prefix) + 5 :]: (offset + _start(handle, m), m.file_size)
            for name, m in members.items()
            if name.startswith(prefix + "data/") and m.compress_type == zipfile.ZIP_STORED
        }

    return walk_pickle(program, rebuilt(file, places, big_endian=order.strip() == b"big"))


def rebuilt(file: RunFile, places: Mapping[str, tuple[int, int]], *, big_endian: bool) -> Rebuild:
    """Make tensors of a pickle `Stored`; `places`: key of a storage -> where it starts, its size in bytes."""

    def tensor(storage: Any, offset: Any, shape: Any, strides: Any, kind: ElementType | None) -> Any:
        if not isinstance(storage, Storage) or storage.key not in places:
            return Opaque(_OUTSIDE)
        element = kind or storage.type
        sizes = (shape, strides)
        if element is None or not isinstance(offset, int) or not all(_integers(s) for s in sizes):
            return Opaque("a tensor of a type that is not known")
        start, size = places[storage.key]
        stored = Stored(
            file,
            start + offset * element.width,
            element,
            tuple(shape),
            None if len(shape) == len(strides) and in_order(shape, strides) else tuple(strides),
            "",
            big_endian,
        )
        wrong = checked(stored, start + size) if offset >= 0 else "an offset makes no sense"
        return Opaque(f"a tensor {wrong}") if wrong else stored

    return tensor


def _read_legacy(file: RunFile) -> Any:
    """The form before the zip: the keys and types of storages must be known before their places are."""
    program = io.BytesIO(file.read_bytes(min(file.size, MAX_PICKLE)))
    types: dict[str, ElementType | None] = {}

    def noted(storage: Any, *_: Any) -> Any:
        if isinstance(storage, Storage):
            types[storage.key] = storage.type
        return None

    _, protocol, system = (walk_pickle(program, noted) for _ in range(3))
    big = isinstance(system, dict) and system.get("little_endian") is False
    if protocol != _PROTOCOL:
        raise Unreadable("a version of torch.save that is not known")
    begin = program.tell()
    walk_pickle(program, noted)
    keys = walk_pickle(program, noted)
    if not isinstance(keys, list):
        raise Unreadable("its storages are not told")
    places = _one_by_one(file, program.tell(), [str(k) for k in keys[:MAX_MEMBERS]], types, big)
    program.seek(begin)
    return walk_pickle(program, rebuilt(file, places, big_endian=big))


def _one_by_one(
    file: RunFile, at: int, keys: list[str], types: Mapping[str, ElementType | None], big: bool
) -> dict[str, tuple[int, int]]:
    """Where storages lie that stand one behind the other; those behind one of unknown type are not found."""
    places = {}
    with file.open() as handle:
        for key in keys:
            element = types.get(key)
            handle.seek(at)
            told = handle.read(8)
            if element is None or len(told) < 8:
                break
            size = struct.unpack(">q" if big else "<q", told)[0] * element.width
            if not 0 <= size <= file.size - at - 8:
                break
            places[key] = (at + 8, size)
            at += 8 + size
    return places


def read_pickle(file: RunFile) -> Any:
    """Return what a bare pickle of plain data holds, as `read_torch` does. Raises Unreadable, OSError."""
    if file.size > MAX_PICKLE:
        raise Unreadable(f"larger than {MAX_PICKLE >> 20} MiB")
    return walk_pickle(file.read_bytes(), lambda *_: Opaque(_OUTSIDE))


def _integers(value: Any) -> bool:
    return isinstance(value, tuple) and all(type(n) is int for n in value)


def _content(handle: Any, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """The bytes of a small member; those of an uncompressed one at once, as a dump has thousands of them."""
    if member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1:
        return archive.read(member)
    handle.seek(_start(handle, member))
    data: bytes = handle.read(min(member.file_size, MAX_PICKLE))
    if zlib.crc32(data) != member.CRC:
        raise Unreadable(f"damaged: wrong checksum of {member.filename}")
    return data


def _start(handle: Any, member: zipfile.ZipInfo) -> int:
    """Where the bytes of an uncompressed zip member start: behind its local header."""
    handle.seek(member.header_offset)
    header = handle.read(30)
    if len(header) < 30 or header[:4] != b"PK\x03\x04":
        raise Unreadable("damaged: a member has no header")
    name, extra = struct.unpack("<HH", header[26:30])
    return int(member.header_offset) + 30 + int(name) + int(extra)
