"""Where the values of a tensor stand in a file, and how they are read: block by block, never all at once."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from ..files import RunFile
from .numbers import Array, ElementType

BLOCK = 1 << 17  # elements of one block: half a MiB of float32, so that both sides stay in a core's cache
GATHERED = 64 * 1024**2  # bytes of a tensor whose elements do not stand in order: it is read as a whole


@dataclass(frozen=True, slots=True, eq=False)
class Stored:
    """The values of one tensor: where they start in `file`, of which type, in which order.

    `offset` counts bytes from the start of the file or, with `member`, of that (compressed) zip member.
    `strides` count elements, and are None where the elements stand in C order. Bounds were checked by the
    reader that made it: see `checked`.
    """

    file: RunFile
    offset: int
    type: ElementType
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None = None
    member: str = ""
    big_endian: bool = False

    @property
    def count(self) -> int:
        """Number of elements (1 for a scalar)."""
        return math.prod(self.shape)

    @property
    def storage(self) -> np.dtype[np.generic]:
        """The numpy type of the raw elements, in the file's byte order."""
        return np.dtype((">" if self.big_endian else "<") + self.type.storage)

    def located(self) -> Stored:
        """The same values, where they stand in the file. Raises OSError or ValueError."""
        return self

    def raw_blocks(self, size: int = BLOCK, start: int = 0, stop: int | None = None) -> Iterator[Array]:
        """Yield the raw elements from `start` to before `stop`, flat, in C order, `size` at a time.

        A block may share its memory with the next one: use it before asking for more. Raises OSError or
        ValueError when the file has become shorter or is damaged.
        """
        if self.strides is not None:
            whole = self._gathered(self.strides)
            for at in range(start, whole.size if stop is None else stop, size):
                yield whole[at : min(at + size, whole.size if stop is None else stop)]
            return
        with self.file.open() as handle:
            stream = self._stream(handle, start * self.storage.itemsize)
            left, width = (self.count if stop is None else stop) - start, self.storage.itemsize
            buffer = np.empty(min(size, left), self.storage)
            view = buffer.view(np.uint8).data if left else memoryview(b"")
            while left:
                take = min(size, left)
                if _fill(stream, view[: take * width]) < take * width:
                    raise ValueError("ends before its last element")
                yield buffer[:take]
                left -= take

    def blocks(self, size: int = BLOCK) -> Iterator[Array]:
        """Yield the values as float32 or float64 (see `ElementType.decode`); the rest as `raw_blocks`."""
        for raw in self.raw_blocks(size):
            yield self.type.decode(raw)

    def _stream(self, handle: BinaryIO, ahead: int = 0) -> BinaryIO:
        """Open at the first element, or `ahead` bytes behind it."""
        if not self.member:
            handle.seek(self.offset + ahead)
            return handle
        archive = zipfile.ZipFile(handle)  # closed with `handle`, which its owner closes
        stream = archive.open(self.member)
        left = self.offset + ahead
        while left:
            got = len(stream.read(min(left, 1 << 16)))
            if not got:
                raise ValueError("ends before its first element")
            left -= got
        return stream  # type: ignore[return-value]

    def _gathered(self, strides: tuple[int, ...]) -> Array:
        reach = 1 + sum((n - 1) * s for n, s in zip(self.shape, strides, strict=True)) if self.count else 0
        with self.file.open() as handle:
            data = self._stream(handle).read(reach * self.storage.itemsize)
        flat = np.frombuffer(data, self.storage)
        if flat.size < reach:
            raise ValueError("ends before its last element")
        steps = tuple(s * self.storage.itemsize for s in strides)
        return np.lib.stride_tricks.as_strided(flat, self.shape, steps, writeable=False).ravel()


def checked(stored: Stored, room: int) -> str:
    """Say why a tensor cannot be read from `room` bytes, or "" when it can."""
    width = stored.storage.itemsize
    if any(n < 0 for n in stored.shape) or stored.offset < 0 or len(stored.shape) > 64:
        return "a shape or an offset makes no sense"
    if stored.strides is None:
        short = stored.offset + stored.count * width > room
        return "shorter than its header says" if short else ""
    if len(stored.strides) != len(stored.shape) or any(s < 0 for s in stored.strides):
        return "strides make no sense"
    if stored.count * width > GATHERED:
        return f"not in C order and larger than {GATHERED >> 20} MiB"
    reach = 1 + sum((n - 1) * s for n, s in zip(stored.shape, stored.strides, strict=True))
    if stored.count and stored.offset + reach * width > room:
        return "shorter than its header says"
    return (
        f"not in C order and spread over more than {GATHERED >> 20} MiB" if reach * width > GATHERED else ""
    )


def in_order(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether strides (in elements) are those of C order."""
    expected = 1
    for n, stride in zip(reversed(shape), reversed(strides), strict=True):
        if n > 1 and stride != expected:
            return False
        expected *= n
    return True


def _fill(stream: BinaryIO, view: memoryview) -> int:
    done = 0
    while done < len(view):
        got = stream.readinto(view[done:])  # type: ignore[attr-defined]
        if not got:
            break
        done += got
    return done
