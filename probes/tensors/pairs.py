"""Compare many pairs of tensors: they are cut into parts, and the parts shared between processes."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields

from ...engine.model import TensorFigures
from .figures import BLOCK, Sums, compare_blocks
from .stored import Stored
from .workers import cores, shared_out

PART = 1 << 21  # elements that one task walks over; a larger tensor is shared between the workers
WORKERS = 0  # processes; 0: as many as there are cores
LARGE = 1 << 25  # elements from which starting processes pays


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    pair: int
    start: int
    stop: int


def compare_pairs(
    pairs: list[tuple[Stored, Stored]], progress: Callable[[int, int], None] | None = None
) -> list[TensorFigures | str]:
    """Compare pairs of tensors with equal numbers of elements, over all cores.

    A pair whose file has become shorter or is damaged gives a phrase that says so. `progress` is told how
    many of how many parts are done.
    """
    parts = list(_parts(pairs))
    sums: list[Sums | str] = [Sums() for _ in pairs]
    for done, (part, found) in enumerate(zip(parts, _walked(pairs, parts), strict=True), 1):
        so_far = sums[part.pair]
        if isinstance(found, str) or isinstance(so_far, str):
            sums[part.pair] = so_far if isinstance(so_far, str) else found
        else:
            so_far.add(found)
        if progress is not None:
            progress(done, len(parts))
    return [
        s if isinstance(s, str) else s.figures(a.type is b.type and a.type.kind == "float")
        for s, (a, b) in zip(sums, pairs, strict=True)
    ]


def _parts(pairs: list[tuple[Stored, Stored]]) -> Iterator[_Part]:
    for index, (a, b) in enumerate(pairs):
        whole = not (a.in_order and b.in_order) or bool(a.member or b.member)
        if whole or a.count <= PART:
            yield _Part(index, 0, a.count)
            continue
        for start in range(0, a.count, PART):
            yield _Part(index, start, min(start + PART, a.count))


def _walk(a: Stored, b: Stored, part: _Part) -> Sums | str:
    found = Sums()
    try:
        left, right = (s.raw_blocks(BLOCK, part.start, part.stop) for s in (a, b))
        compare_blocks(zip(left, right, strict=True), (a.type, b.type), found)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        return getattr(error, "strerror", None) or str(error) or "damaged"
    return found


def _walked(pairs: list[tuple[Stored, Stored]], parts: list[_Part]) -> Iterator[Sums | str]:
    """The sums of each part, in order: from several processes where that pays, else from here."""

    def walk(index: int) -> list[float] | str:  # plain values: they come from other processes as JSON
        found = _walk(*pairs[parts[index].pair], parts[index])
        return found if isinstance(found, str) else [getattr(found, name) for name in names]

    names = [f.name for f in fields(Sums)]

    large = sum(p.stop - p.start for p in parts) >= LARGE
    for found in shared_out(walk, len(parts), (WORKERS or cores()) if large else 1):
        yield found if isinstance(found, str) else Sums(*found)
