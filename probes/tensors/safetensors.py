"""safetensors: a JSON header of names, types, shapes and offsets, then the raw elements.

Format: 8 bytes little-endian length of the header, the header, the data; `__metadata__` holds strings.
"""

from __future__ import annotations

import json
import struct

from ..files import RunFile
from .npy import Unreadable
from .numbers import type_of
from .stored import Stored, checked

MAX_HEADER = 100 * 1024**2  # the limit of the format's own library


def is_safetensors(head: bytes) -> bool:
    """Whether a file may be one: a plausible length, then a JSON object."""
    return len(head) > 8 and head[8:9] == b"{" and 2 <= struct.unpack("<Q", head[:8])[0] <= MAX_HEADER


def read_safetensors(file: RunFile) -> tuple[dict[str, Stored], list[str]]:
    """Return where the tensors stand, and why others cannot be read. Raises Unreadable, OSError."""
    with file.open() as handle:
        start = handle.read(8)
        if len(start) < 8:
            raise Unreadable("ends in its header")
        (size,) = struct.unpack("<Q", start)
        if not 2 <= size <= MAX_HEADER:
            raise Unreadable("not a safetensors file")
        text = handle.read(size)
    try:
        header = json.loads(text.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise Unreadable("its header is damaged or cut off") from error
    if not isinstance(header, dict):
        raise Unreadable("its header cannot be understood")
    found: dict[str, Stored] = {}
    refused: list[str] = []
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        try:
            kind = type_of(str(entry["dtype"]))
            begin, end = entry["data_offsets"]
            shape = tuple(entry["shape"])
            if not all(type(n) is int for n in (*shape, begin, end)):
                raise ValueError
        except (KeyError, TypeError, ValueError):
            refused.append(f"{name}: its entry cannot be understood")
            continue
        if kind is None:
            refused.append(f"{name}: element type {str(entry['dtype'])[:20]} is not read")
            continue
        stored = Stored(file, 8 + size + begin, kind, shape)
        wrong = checked(stored, min(file.size, 8 + size + end)) if begin >= 0 else "an offset makes no sense"
        if wrong:
            refused.append(f"{name}: {wrong}")
        else:
            found[name] = stored
    return found, refused
