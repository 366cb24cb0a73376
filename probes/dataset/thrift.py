"""Thrift's compact protocol, as far as a Parquet footer needs it (Apache Thrift compact protocol spec)."""

from __future__ import annotations

from typing import Any

DEEPEST = 24
MOST = 5_000_000  # values of one footer


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0
        self.left = MOST

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 63:
                raise ValueError("a number is too long")

    def zigzag(self) -> int:
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def binary(self) -> bytes:
        size = self.varint()
        if size > len(self.data) - self.at:
            raise ValueError("a text is longer than the footer")
        self.at += size
        return self.data[self.at - size : self.at]

    def value(self, kind: int, depth: int) -> Any:
        self.left -= 1
        if depth > DEEPEST or self.left < 0:
            raise ValueError("too much in it")
        if kind in (1, 2):
            return kind == 1
        if kind == 3:
            return self.byte()
        if kind in (4, 5, 6):
            return self.zigzag()
        if kind == 7:
            self.at += 8
            return None
        if kind == 8:
            return self.binary()
        if kind in (9, 10):
            return self.items(depth)
        if kind == 12:
            return self.struct(depth + 1)
        raise ValueError(f"a value of kind {kind}")

    def items(self, depth: int) -> list[Any]:
        head = self.byte()
        size = head >> 4
        if size == 15:
            size = self.varint()
        if size > len(self.data) - self.at:
            raise ValueError("a list is longer than the footer")
        if head & 15 in (1, 2):
            return [self.byte() == 1 for _ in range(size)]
        return [self.value(head & 15, depth + 1) for _ in range(size)]

    def struct(self, depth: int) -> dict[int, Any]:
        found: dict[int, Any] = {}
        last = 0
        while True:
            head = self.byte()
            if head == 0:
                return found
            last = last + (head >> 4) if head >> 4 else self.zigzag()
            found[last] = self.value(head & 15, depth)


def struct_of(data: bytes) -> dict[int, Any]:
    """Return the struct that these bytes begin with: field number -> value. Raises ValueError."""
    try:
        return _Reader(data).struct(0)
    except IndexError as error:
        raise ValueError("its footer is cut off") from error
