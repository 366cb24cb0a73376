"""Where the values of a tensor stand in a file, and how they are read: block by block, never all at once."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from ..files import RunFile
from .numbers import Array, ElementType

Axes = tuple[tuple[int, int], ...]  # (size, stride in elements) each, the slowest first

BLOCK = 1 << 17  # elements of one block: half a MiB of float32, so that both sides stay in a core's cache
GATHERED = 64 * 1024**2  # bytes of a tensor whose elements do not stand in order: it is read as a whole


@dataclass(frozen=True, slots=True, eq=False)
class Stored:
    """The values of one tensor: where they start in `file`, of which type, in which order.

    `offset` counts bytes from the start of the file or, with `member`, of that (compressed) zip member.
    `strides` count elements, and are None where the elements stand in C order. `blocked` tells, for each
    dimension of a tensor that lies in blocks, the axes that it is spread over; where they hold more than the
    dimension, the rest is padding. Bounds were checked by the reader that made it: see `checked`.
    """

    file: RunFile
    offset: int
    type: ElementType
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None = None
    member: str = ""
    big_endian: bool = False
    blocked: tuple[Axes, ...] | None = None

    @property
    def count(self) -> int:
        """Number of elements (1 for a scalar)."""
        return math.prod(self.shape)

    @property
    def in_order(self) -> bool:
        """Whether the elements stand in C order; if not, the tensor is read as a whole."""
        return self.strides is None and self.blocked is None

    @property
    def axes(self) -> tuple[Axes, ...]:
        """For each dimension the axes that it is spread over: one, unless it lies in blocks."""
        if self.blocked is not None:
            return self.blocked
        strides = self.strides
        if strides is None:
            strides = tuple(math.prod(self.shape[i + 1 :]) for i in range(len(self.shape)))
        return tuple(((n, s),) for n, s in zip(self.shape, strides, strict=True))

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
        if not self.in_order:
            whole = self._gathered()
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

    def _gathered(self) -> Array:
        axes = [axis for dimension in self.axes for axis in dimension]
        reach = _reach(axes) if self.count else 0
        with self.file.open() as handle:
            data = self._stream(handle).read(reach * self.storage.itemsize)
        flat = np.frombuffer(data, self.storage)
        if flat.size < reach:
            raise ValueError("ends before its last element")
        sizes, strides = tuple(n for n, _ in axes), tuple(s * self.storage.itemsize for _, s in axes)
        spread = np.lib.stride_tricks.as_strided(flat, sizes, strides, writeable=False)
        held = spread.reshape([math.prod(n for n, _ in dimension) for dimension in self.axes])
        return held[tuple(slice(n) for n in self.shape)].ravel()


def checked(stored: Stored, room: int) -> str:
    """Say why a tensor cannot be read from `room` bytes, or "" when it can."""
    width = stored.storage.itemsize
    if any(n < 0 for n in stored.shape) or stored.offset < 0 or len(stored.shape) > 64:
        return "a shape or an offset makes no sense"
    if stored.in_order:
        short = stored.offset + stored.count * width > room
        return "shorter than its header says" if short else ""
    if len(stored.strides if stored.blocked is None else stored.blocked) != len(stored.shape):  # type: ignore[arg-type]
        return "strides make no sense"
    axes = [axis for dimension in stored.axes for axis in dimension]
    if len(axes) > 64 or any(n < 0 or s < 0 for n, s in axes):
        return "strides make no sense"
    if any(math.prod(n for n, _ in d) < n for d, n in zip(stored.axes, stored.shape, strict=True)):
        return "blocks hold less than the shape says"
    if math.prod(n for n, _ in axes) * width > GATHERED:
        return f"not in C order and larger than {GATHERED >> 20} MiB"
    reach = _reach(axes)
    if stored.count and stored.offset + reach * width > room:
        return "shorter than its header says"
    return (
        f"not in C order and spread over more than {GATHERED >> 20} MiB" if reach * width > GATHERED else ""
    )


def _reach(axes: Sequence[tuple[int, int]]) -> int:
    """How far the last element stands from the first, itself included."""
    return 1 + sum((n - 1) * s for n, s in axes)


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
