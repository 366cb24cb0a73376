"""How far two tensors lie apart: all figures of a pair in one walk over its blocks.

Values are compared as float32 (float64 for 64-bit and integer types) with sums kept in float64. Blocks are
small enough for a core's cache and buffers are used again, so that memory stays at a few blocks whatever the
tensor's size. Definitions, for run a and benchmark b over the elements finite on both sides:

    cosine = a.b / (|a| |b|)      relative = |a - b| / |b| (L2 norms)      element-wise error = |a - b| / |b|,
    over elements with b != 0; an element with b = 0 is within a limit only where a = 0 too
"""

from __future__ import annotations

import math
import os
import sys
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...engine.model import TensorFigures
from .numbers import Array, ElementType
from .stored import Stored

BLOCK = 1 << 16  # elements: two sides and three buffers of float32 are 1.25 MiB
PART = 1 << 21  # elements that one task walks over; a larger tensor is shared between the workers
WORKERS = 0  # processes; 0: as many as there are cores
CHUNK = 1 << 13
LARGE = 1 << 25  # elements from which starting processes pays


class _Buffers:
    """Scratch space for one block of one element type; every worker has its own."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.difference = np.empty(BLOCK, dtype)
        self.size = np.empty(BLOCK, dtype)
        self.ones = np.ones(BLOCK, dtype)
        self.flags = np.empty(BLOCK, np.bool_)
        self.bits = np.empty(BLOCK, np.int64 if dtype.itemsize == 8 else np.int32)


@dataclass(slots=True)
class Sums:
    """What is added up over the blocks of a pair."""

    count: int = 0
    finite: int = 0  # elements finite on both sides
    nonzero: int = 0  # of those, with b != 0
    ab: float = 0.0
    aa: float = 0.0
    bb: float = 0.0
    dd: float = 0.0
    max_abs: float = 0.0
    sum_abs: float = 0.0
    max_rel: float = 0.0
    sum_rel: float = 0.0
    within_1: int = 0
    within_5: int = 0
    max_ulp: int = 0
    nan: int = 0
    inf: int = 0
    benchmark_nan: int = 0
    benchmark_inf: int = 0
    misplaced: int = 0
    identical: bool = True

    def add(self, other: Sums) -> None:
        """Take in another part of the same pair."""
        for name in ("count", "finite", "nonzero", "ab", "aa", "bb", "dd", "sum_abs", "sum_rel"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("within_1", "within_5", "nan", "inf", "benchmark_nan", "benchmark_inf", "misplaced"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("max_abs", "max_rel", "max_ulp"):
            setattr(self, name, max(getattr(self, name), getattr(other, name)))
        self.identical = self.identical and other.identical

    def figures(self, ulp: bool) -> TensorFigures:
        """Return the figures; `ulp`: both sides have one floating-point type."""
        n, known = self.finite, self.finite > 0
        norm, other = math.sqrt(self.aa), math.sqrt(self.bb)
        if not known:
            cosine = None
        elif norm == 0 or other == 0:
            cosine = 1.0 if norm == other else 0.0
        else:
            cosine = max(-1.0, min(1.0, self.ab / norm / other))
        apart = math.sqrt(self.dd)
        relative = apart / other if other > 0 else (0.0 if apart == 0 else math.inf)
        return TensorFigures(
            count=self.count,
            identical=self.identical,
            cosine=cosine,
            relative=relative if known else None,
            max_abs=self.max_abs if known else None,
            mean_abs=self.sum_abs / n if known else None,
            max_rel=self.max_rel if known else None,
            mean_rel=(self.sum_rel / self.nonzero if self.nonzero else 0.0) if known else None,
            within_1=self.within_1 / n if known else None,
            within_5=self.within_5 / n if known else None,
            norm=norm if known else None,
            benchmark_norm=other if known else None,
            max_ulp=self.max_ulp if ulp and known else None,
            nan=self.nan,
            inf=self.inf,
            benchmark_nan=self.benchmark_nan,
            benchmark_inf=self.benchmark_inf,
            misplaced=self.misplaced,
        )


def compare_blocks(
    pairs: Iterable[tuple[Array, Array]], types: tuple[ElementType, ElementType], sums: Sums
) -> None:
    """Add up the raw blocks of a pair (equal lengths, at most BLOCK elements each)."""
    same = types[0] is types[1]
    wide = any(t.decode(np.zeros(0, t.storage)).dtype == np.float64 for t in types)
    dtype: np.dtype[Any] = np.dtype(np.float64 if wide else np.float32)
    buffers = _Buffers(dtype)
    ulp = same and types[0].kind == "float"
    with np.errstate(all="ignore"):
        for raw_a, raw_b in pairs:
            sums.count += raw_a.size
            equal = same and raw_a.dtype == raw_b.dtype and _bits_equal(raw_a, raw_b)
            a = np.asarray(types[0].decode(raw_a), dtype)
            if equal:
                _add_equal(a, sums)
                continue
            b = np.asarray(types[1].decode(raw_b), dtype)
            if sums.identical:
                sums.identical = types[0].kind != "float" and bool(np.array_equal(a, b)) and not same
            bits = (raw_a, raw_b) if ulp else None
            _add_different(a, b, bits, sums, buffers)


def _dot(a: Array, b: Array) -> float:
    """The inner product, by chunks that are added in float64.

    Chunks are what makes it accurate, and what keeps the linear algebra library from starting threads of its
    own for each of them: the cores are shared out by tensors.
    """
    head = a.size - a.size % CHUNK
    total = 0.0
    if head:
        parts = np.matmul(a[:head].reshape(-1, 1, CHUNK), b[:head].reshape(-1, CHUNK, 1))
        total = float(parts.sum(dtype=np.float64))
    return total + float(np.dot(a[head:], b[head:])) if head < a.size else total


def _bits_equal(a: Array, b: Array) -> bool:
    left, right = a.view(np.uint8), b.view(np.uint8)
    if left[:64].tobytes() != right[:64].tobytes():  # most that differ do so at once
        return False
    size = left.size & ~7
    return bool(
        np.array_equal(left[:size].view(np.uint64), right[:size].view(np.uint64))
        and np.array_equal(left[size:], right[size:])
    )


def _add_equal(a: Array, sums: Sums) -> None:
    """Both sides hold the same bits: only norms and what is not finite are left to count."""
    square = _dot(a, a)
    finite = a.size
    if not math.isfinite(square):
        good = np.isfinite(a)
        finite = int(np.count_nonzero(good))
        nan = int(np.count_nonzero(np.isnan(a)))
        inf = a.size - finite - nan
        sums.nan += nan
        sums.benchmark_nan += nan
        sums.inf += inf
        sums.benchmark_inf += inf
        wide = a[good].astype(np.float64)
        square = _dot(wide, wide)
    sums.finite += finite
    sums.nonzero += finite
    sums.within_1 += finite
    sums.within_5 += finite
    sums.aa += square
    sums.bb += square
    sums.ab += square


def _add_different(
    a: Array, b: Array, bits: tuple[Array, Array] | None, sums: Sums, buffers: _Buffers
) -> None:
    aa, bb, ab = _dot(a, a), _dot(b, b), _dot(a, b)
    if not (math.isfinite(aa) and math.isfinite(bb)):
        a, b, bits = _finite_of(a, b, bits, sums)
        buffers = _Buffers(np.dtype(np.float64))
        aa, bb, ab = _dot(a, a), _dot(b, b), _dot(a, b)
    n = a.size
    if not n:
        return
    sums.finite += n
    sums.aa += aa
    sums.bb += bb
    sums.ab += ab
    apart = np.subtract(a, b, out=buffers.difference[:n])
    sums.dd += _dot(apart, apart)
    np.abs(apart, out=apart)
    sums.max_abs = max(sums.max_abs, float(apart.max()))
    sums.sum_abs += _dot(apart, buffers.ones[:n])
    size = np.abs(b, out=buffers.size[:n])
    zeros = np.equal(size, 0, out=buffers.flags[:n])
    missing = int(np.count_nonzero(zeros))
    outside = 0
    if missing:
        outside = int(np.count_nonzero(apart[zeros]))
        np.copyto(size, np.inf, where=zeros)
    relative = np.divide(apart, size, out=size)
    sums.nonzero += n - missing
    sums.max_rel = max(sums.max_rel, float(relative.max()))
    sums.sum_rel += _dot(relative, buffers.ones[:n])
    sums.within_1 += int(np.count_nonzero(np.less(relative, 1e-3, out=buffers.flags[:n]))) - outside
    sums.within_5 += int(np.count_nonzero(np.less(relative, 5e-3, out=buffers.flags[:n]))) - outside
    if bits is not None:
        sums.max_ulp = max(sums.max_ulp, ulp_distance(*bits, buffers.bits))


def _finite_of(
    a: Array, b: Array, bits: tuple[Array, Array] | None, sums: Sums
) -> tuple[NDArray[np.float64], NDArray[np.float64], tuple[Array, Array] | None]:
    """Count what is not finite, and return the elements that are on both sides, as float64."""
    good_a, good_b = np.isfinite(a), np.isfinite(b)
    nan_a, nan_b = np.isnan(a), np.isnan(b)
    sums.nan += int(np.count_nonzero(nan_a))
    sums.benchmark_nan += int(np.count_nonzero(nan_b))
    sums.inf += int(np.count_nonzero(~good_a & ~nan_a))
    sums.benchmark_inf += int(np.count_nonzero(~good_b & ~nan_b))
    both = good_a & good_b
    alike = both | (nan_a & nan_b) | (~good_a & ~good_b & (a == b))
    sums.misplaced += int(np.count_nonzero(~alike))
    kept = None if bits is None else (bits[0][both], bits[1][both])
    return a[both].astype(np.float64), b[both].astype(np.float64), kept


def ulp_distance(a: Array, b: Array, scratch: Array | None = None) -> int:
    """The largest number of representable values between two raw elements of one floating-point type.

    The bits of a float, read as sign and magnitude, count its representable values; so the distance is the
    difference of magnitudes where signs agree, their sum where they do not.
    """
    width = a.dtype.itemsize
    signed = np.dtype(f"i{width}")
    left, right = (
        a.view(np.dtype(f"{a.dtype.byteorder}i{width}")),
        b.view(np.dtype(f"{b.dtype.byteorder}i{width}")),
    )
    n = a.size
    if scratch is None or scratch.dtype != signed:
        scratch = np.empty(n, signed)
    work = scratch[:n]
    np.bitwise_xor(left, right, out=work)
    if int(work.min(initial=0)) >= 0:
        np.subtract(left, right, out=work)
        return max(abs(int(work.min(initial=0))), abs(int(work.max(initial=0))))
    crossed = work < 0
    top = np.iinfo(signed).max
    apart = np.subtract(left, right, out=work)
    straight = apart[~crossed]
    most = max(abs(int(straight.min(initial=0))), abs(int(straight.max(initial=0))))
    sizes = (left[crossed] & top).astype(np.float64) + (right[crossed] & top).astype(np.float64)
    return max(most, int(sizes.max(initial=0)))


# ------------------------------------------------------------------------------------------ many pairs


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
    """The sums of each part, in order: from processes where that pays and is safe, else from here.

    Threads would not do: a pass over a block takes so little time that they would wait for each other.
    """
    workers = min(WORKERS or _cores(), len(parts))
    if sum(p.stop - p.start for p in parts) < LARGE or workers < 2 or not sys.platform.startswith("linux"):
        for part in parts:
            yield _walk(*pairs[part.pair], part)
        return
    with _pool(pairs, parts, workers) as pool:
        yield from pool.imap(
            _numbered, range(len(parts)), chunksize=max(1, min(16, len(parts) // (8 * workers)))
        )


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_SHARED: tuple[list[tuple[Stored, Stored]], list[_Part]] = (
    [],
    [],
)  # what forked workers find in their memory


def _numbered(index: int) -> Sums | str:
    pairs, parts = _SHARED
    return _walk(*pairs[parts[index].pair], parts[index])


@contextmanager
def _pool(pairs: list[tuple[Stored, Stored]], parts: list[_Part], workers: int) -> Iterator[Any]:
    """Forked workers: they have the pairs in memory, and only the sums travel back."""
    global _SHARED
    import multiprocessing

    _SHARED = (pairs, parts)
    try:
        with warnings.catch_warnings():
            # Python warns of forking beside threads: the only ones here are the algebra library's, idle
            warnings.simplefilter("ignore", DeprecationWarning)
            pool = multiprocessing.get_context("fork").Pool(workers)
        with pool:
            yield pool
    finally:
        _SHARED = ([], [])
