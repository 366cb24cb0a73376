"""Pictures in folders of classes: their format, size and compression."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

from traindoctor.engine.model import State

from ._make import csv, png

P, A, U = State.PRESENT, State.ABSENT, State.UNKNOWN


def jpeg(step: int, width: int = 32, height: int = 24, body: bytes = b"") -> bytes:
    """The header and the end of a JPEG whose brightness is rounded by `step` everywhere."""
    table = b"\xff\xdb" + struct.pack(">HB", 67, 0) + bytes([step]) * 64
    frame = b"\xff\xc0" + struct.pack(">HBHHB", 17, 8, height, width, 3) + b"\1\x11\0" * 3
    return b"\xff\xd8" + table + frame + body + b"\xff\xd9"


Make = Callable[[str, str, int], tuple[str, bytes]]


def pictures(make: Make, classes: tuple[str, str] = ("real", "fake")) -> Callable[[Path], None]:
    """Thirty pictures of each of two classes, in two splits; `make` gives end and bytes."""

    def build(root: Path) -> None:
        for split in ("train", "val"):
            for name in classes:
                for i in range(30):
                    end, data = make(split, name, i)
                    file = root / split / name / f"{name}{split}{i}.{end}"
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_bytes(data)

    return build


def body(split: str, name: str, i: int) -> bytes:
    return f"{split}{name}{i}".encode()


def same(split: str, name: str, i: int) -> tuple[str, bytes]:
    return "jpg", jpeg(4 + i % 2, 30 + i % 5, body=body(split, name, i))


def by_class(split: str, name: str, i: int) -> tuple[str, bytes]:
    return "jpg", jpeg(4 if name == "real" else 20, 30 + i % 5, body=body(split, name, i))


def a_little(split: str, name: str, i: int) -> tuple[str, bytes]:
    return "jpg", jpeg(4 if name == "real" else 5, 30 + i % 5, body=body(split, name, i))


def by_split(split: str, name: str, i: int) -> tuple[str, bytes]:
    return "jpg", jpeg(4 if split == "train" else 30, body=body(split, name, i))


def by_size(split: str, name: str, i: int) -> tuple[str, bytes]:
    return "jpg", jpeg(4 + i % 2, 32 if name[:4] == "real" else 64, body=body(split, name, i))


def by_format(split: str, name: str, i: int) -> tuple[str, bytes]:
    if name == "real":
        return same(split, name, i)
    return "png", png(30 + i % 5, 8, body=body(split, name, i))


def some(split: str, name: str, i: int) -> tuple[str, bytes]:
    """A tenth of one class has the size of the other: no size tells the class without an error."""
    return by_size(split, "fake" if name == "real" and i % 10 == 0 else name, i)


def nothing(root: Path) -> None:
    csv(root / "train.csv", ("a", "label"), [[i, i % 2] for i in range(60)])


CASES = [
    ("classes-stored-apart", pictures(same), A),
    ("classes-stored-apart", pictures(by_class), P),
    ("classes-stored-apart", pictures(a_little), A),
    ("classes-stored-apart", pictures(by_size), P),
    ("classes-stored-apart", pictures(by_size, ("real_hr", "real_lr")), U),
    ("classes-stored-apart", pictures(by_format), P),
    ("classes-stored-apart", pictures(some), A),
    ("classes-stored-apart", nothing, U),
    ("splits-stored-apart", pictures(by_split), P),
    ("splits-stored-apart", pictures(a_little), U),
    ("splits-stored-apart", pictures(lambda s, n, i: ("jpg", jpeg(4, body=body(s, n, i)))), A),
    ("splits-stored-apart", nothing, U),
]
