"""Checkpoints of torch.distributed.checkpoint (FSDP, torchtitan, Megatron's torch_dist): a folder of shards.

`.metadata` is a pickle that tells each tensor's type, shape, chunks, and in which `__<rank>_<n>.distcp` a
chunk stands, from which byte on; a chunk is what `torch.save` writes of a tensor. Only that description is
walked, opcode by opcode; nothing is unpickled. Layout: torch 2.0 to 2.13.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ..files import RunFile
from .npy import Unreadable
from .numbers import ElementType, type_of
from .pickle_walk import Opaque, Record
from .stored import Stored
from .torch_file import read_pickle, read_torch

METADATA = ".metadata"
SUFFIX = ".distcp"
MAX_TENSORS = 200_000


@dataclass(frozen=True, slots=True, eq=False)
class Chunk(Stored):
    """A part of a tensor inside a shard file: `offset` and `length` say where what was saved stands."""

    length: int = 0

    def located(self) -> Stored:
        """Look into the shard for where the values begin. Raises OSError, ValueError."""
        return _located(self)


@lru_cache(maxsize=65_536)
def _located(chunk: Chunk) -> Stored:
    try:
        found = read_torch(chunk.file, chunk.offset, chunk.length)
    except Unreadable as error:
        raise ValueError(str(error)) from error
    if not isinstance(found, Stored) or found.shape != chunk.shape or found.type is not chunk.type:
        raise ValueError("its chunk is not what the metadata says")
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """One tensor: its whole shape, its chunks, and how it was cut (empty: along its first dimension)."""

    type: ElementType
    shape: tuple[int, ...]
    chunks: tuple[Chunk, ...]
    layout: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Described:
    """What a folder holds. `paths` tells how names were put together; `scalars` are the numbers in it."""

    tensors: Mapping[str, Pieces]
    paths: Mapping[str, tuple[str, ...]]
    scalars: Mapping[str, float]
    notes: tuple[str, ...]


def read_folder(members: Sequence[RunFile]) -> Described:
    """Read the metadata of a folder. Raises Unreadable, OSError."""
    told = next(f for f in members if f.name == METADATA)
    shards = {f.name: f for f in members if f.suffix == SUFFIX}
    content = read_pickle(told)
    if not isinstance(content, Record) or not isinstance(content.field("state_dict_metadata"), dict):
        raise Unreadable("its .metadata cannot be understood")
    places = _places(content.field("storage_data"))
    wanted = {place.field("relative_path") for place in places.values()}
    missing = sorted(str(w) for w in wanted if w not in shards)
    notes = [f"{len(wanted) - len(missing)} of {len(wanted)} shard files are here"] if missing else []
    tensors: dict[str, Pieces] = {}
    scalars: dict[str, float] = {}
    for name, entry in list(content.field("state_dict_metadata").items())[:MAX_TENSORS]:
        if not isinstance(entry, Record):
            continue
        if entry.field("chunks") is None:
            number = _number(places.get((str(name), ())), shards) if "." not in str(name) else None
            if number is not None:
                scalars[str(name)] = number
            continue
        made = _pieces(str(name), entry, places, shards)
        if isinstance(made, Pieces):
            tensors[str(name)] = made
        elif len(notes) < 5:
            notes.append(f"{name}: {made}")
    return Described(tensors, _paths(content.field("planner_data")), scalars, tuple(notes))


_Places = Mapping[tuple[str, tuple[int, ...]], Record]


def _places(told: Any) -> _Places:
    """(name, offsets of the chunk) -> where it is stored."""
    found = {}
    for key, place in told.items() if isinstance(told, dict) else ():
        if isinstance(key, Record) and isinstance(place, Record):
            offsets = key.field("offset")
            found[str(key.field("fqn")), offsets if isinstance(offsets, tuple) else ()] = place
    return found


def _pieces(name: str, entry: Record, places: _Places, shards: Mapping[str, RunFile]) -> Pieces | str:
    properties, shape = entry.field("properties"), entry.field("size")
    state = properties.state if isinstance(properties, Record) else None
    kind = state[0] if isinstance(state, tuple) and state else None
    element = type_of(kind.name) if isinstance(kind, Opaque) else None
    if element is None:
        return "its element type is not read"
    if not _whole(shape):
        return "its shape cannot be understood"
    chunks = []
    listed = entry.field("chunks")
    for one in sorted(
        (c for c in listed if isinstance(c, Record)) if isinstance(listed, list) else (),
        key=lambda c: c.field("offsets") or (),
    ):
        offsets, sizes = one.field("offsets"), one.field("sizes")
        if not _whole(offsets) or not _whole(sizes):
            return "a chunk cannot be understood"
        if not math.prod(sizes):
            continue
        place = places.get((name, offsets))
        file = shards.get(str(place.field("relative_path"))) if place is not None else None
        start, length = (place.field(w) if place is not None else None for w in ("offset", "length"))
        if file is None or not isinstance(start, int) or not isinstance(length, int):
            return "a chunk of it is missing"
        if start < 0 or length <= 0 or start + length > file.size:
            return f"{file.name} is shorter than the metadata says"
        chunks.append((offsets, Chunk(file, start, element, sizes, length=length)))
    if sum(c.count for _, c in chunks) != math.prod(shape):
        return "its chunks do not make up the whole"
    first = all(not any(offsets[1:]) and c.shape[1:] == shape[1:] for offsets, c in chunks)
    layout = () if first else tuple((*offsets, *c.shape) for offsets, c in chunks)
    return Pieces(element, shape, tuple(c for _, c in chunks), layout)


def _whole(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) <= 64 and all(type(n) is int and n >= 0 for n in value)


def _number(place: Record | None, shards: Mapping[str, RunFile]) -> float | None:
    """A number that was saved beside the tensors, e.g. the step."""
    file = shards.get(str(place.field("relative_path"))) if place is not None else None
    start, length = (place.field(w) if place is not None else None for w in ("offset", "length"))
    if file is None or not isinstance(start, int) or not isinstance(length, int) or length > 1 << 16:
        return None
    try:
        found = read_torch(file, start, length)
    except (Unreadable, OSError):
        return None
    return float(found) if isinstance(found, (int, float)) and not isinstance(found, bool) else None


def _paths(told: Any) -> dict[str, tuple[str, ...]]:
    found = {}
    for name, path in told.items() if isinstance(told, dict) else ():
        if isinstance(path, tuple):
            found[str(name)] = tuple(str(p) for p in path)
    return found
