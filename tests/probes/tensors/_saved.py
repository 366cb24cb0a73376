"""Checkpoints made by hand: safetensors and MindSpore, small enough to write in a test."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent / "checkpoints"  # real ones: see make.py there
_NAMES = {"float32": "F32", "float16": "F16", "uint16": "BF16", "int64": "I64", "uint8": "F8_E5M2"}
Weights = Mapping[str, np.ndarray[Any, Any]]


def safetensors(path: Path, weights: Weights) -> Path:
    """Write a safetensors file; uint16 stands for bf16, uint8 for fp8."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    data = b""
    for name, array in weights.items():
        raw = np.ascontiguousarray(array).tobytes()
        header[name] = {
            "dtype": _NAMES[str(array.dtype)],
            "shape": list(array.shape),
            "data_offsets": [len(data), len(data) + len(raw)],
        }
        data += raw
    text = json.dumps(header).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


def varint(value: int) -> bytes:
    """A protobuf varint."""
    out = b""
    while True:
        value, low = value >> 7, value & 0x7F
        out += bytes([low | (0x80 if value else 0)])
        if not value:
            return out


def part(number: int, content: bytes) -> bytes:
    """A protobuf field of bytes."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def ckpt(path: Path, weights: Weights, pieces: int = 1) -> Path:
    """Write a MindSpore checkpoint; `pieces` > 1 splits every parameter over as many values."""
    names = {"float32": b"Float32", "float16": b"Float16", "int32": b"Int32"}
    out = b""
    for name, array in weights.items():
        for piece in np.array_split(array.ravel(), pieces):
            dims = b"".join(b"\x08" + varint(n) for n in array.shape)
            tensor = dims + part(2, names[str(array.dtype)]) + part(3, piece.tobytes())
            out += part(1, part(1, name.encode()) + part(2, tensor))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(out)
    return path


def layers(seed: int = 0, scale: float = 0.1) -> dict[str, np.ndarray[Any, Any]]:
    """The weights of a small model: two matrices, a norm, a bias, and a buffer."""
    rng = np.random.default_rng(seed)
    return {
        "encoder.fc.weight": (rng.standard_normal((8, 6)) * scale).astype(np.float32),
        "encoder.fc.bias": (rng.standard_normal(8) * scale).astype(np.float32),
        "norm.weight": (1 + rng.standard_normal(8) * scale).astype(np.float32),
        "norm.bias": (rng.standard_normal(8) * scale).astype(np.float32),
        "norm.num_batches_tracked": np.asarray(seed, np.int64),
        "head.weight": (rng.standard_normal((3, 8)) * scale).astype(np.float32),
    }
