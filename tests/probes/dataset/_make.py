"""Small data sets to measure, and the readings of the installed rules on them."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from traindoctor.engine.load import load_rules
from traindoctor.engine.model import Reading, RuleBase, RunInfo
from traindoctor.probes.dataset.measure import measure
from traindoctor.probes.dataset.model import Bounds
from traindoctor.probes.readers._records import checksum
from traindoctor.probes.readings import all_probes
from traindoctor.probes.registry import View, read
from traindoctor.probes.run import Run, Setting

Rows = Sequence[Sequence[object]]
Build = Callable[[Path], None]


@lru_cache(maxsize=1)
def rules() -> RuleBase:
    return load_rules()


def run_of(path: Path | None, bounds: Bounds | None = None, **settings: Any) -> Run:
    """A run that holds nothing but data files, and these settings."""
    from traindoctor.probes.run import Configured

    data = measure(path, bounds) if path is not None else None
    raw = tuple(Setting(k, v, "config.yaml") for k, v in settings.items())
    known = {k: Configured(k, v, k, "config.yaml", 1, 50) for k, v in settings.items()}
    return Run(RunInfo(str(path)), {}, (), known, raw, (), {}, data=data)


def reading(symptom: str, path: Path | None, benchmark: Path | None = None, **settings: Any) -> Reading:
    """Read one symptom of the installed rules."""
    other = run_of(benchmark) if benchmark is not None else None
    return read(View(run_of(path, **settings), other), rules().symptoms[symptom], all_probes())


def csv(path: Path, header: Sequence[str], rows: Rows) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [",".join(header), *(",".join(map(str, r)) for r in rows)]
    path.write_text("\n".join(lines) + "\n")


def table(n: int = 300, seed: int = 0) -> list[list[object]]:
    """[n] rows of a, b, c (numbers of one scale) and a label that two of them tell."""
    random = np.random.default_rng(seed)
    x = np.round(random.normal(size=(n, 3)), 5)
    return [[*r, int(r[0] + r[1] > 0)] for r in x.tolist()]


HEADER = ("a", "b", "c", "label")


def png(width: int = 8, height: int = 8, colour: int = 2, body: bytes = b"") -> bytes:
    """A PNG; what it shows is noise that `body` draws."""
    wide = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colour]
    pixels = np.random.default_rng(list(body)).integers(0, 256, (height, width * wide), dtype=np.uint8)
    rows = np.concatenate([np.zeros((height, 1), np.uint8), pixels], axis=1)  # a filter before each row
    head = struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)
    palette = [(b"PLTE", bytes(range(256)) * 3)] if colour == 3 else []
    chunks = [(b"IHDR", head), *palette, (b"IDAT", zlib.compress(rows.tobytes())), (b"IEND", b"")]
    told = (struct.pack(">I", len(d)) + k + d + struct.pack(">I", zlib.crc32(k + d)) for k, d in chunks)
    return b"\x89PNG\r\n\x1a\n" + b"".join(told)


def record(payload: bytes) -> bytes:
    head = struct.pack("<Q", len(payload))

    def masked(data: bytes) -> bytes:
        return struct.pack("<I", checksum(np.frombuffer(data, dtype=np.uint8)))

    return head + masked(head) + payload + masked(payload)


def varint(value: int) -> bytes:
    out = b""
    while True:
        out += bytes([value & 0x7F | (0x80 if value > 0x7F else 0)])
        value >>= 7
        if not value:
            return out


def field(number: int, data: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(data)) + data


def example(features: Mapping[str, Any]) -> bytes:
    """A tf.train.Example with lists of floats, ints or bytes."""
    entries = b""
    for name, values in features.items():
        if isinstance(values[0], bytes):
            kind, packed = 1, b"".join(field(1, v) for v in values)
        elif isinstance(values[0], float):
            kind, packed = 2, field(1, struct.pack(f"<{len(values)}f", *values))
        else:
            kind, packed = 3, field(1, b"".join(varint(v & (2**64 - 1)) for v in values))
        entries += field(1, field(1, name.encode()) + field(2, field(kind, packed)))
    return field(1, entries)
