"""How far two tensors lie apart: all figures of a pair in one walk over its blocks.

Values are compared as float32 (float64 for 64-bit and integer types). Blocks are small enough for a core's
cache and buffers are used again, so that memory stays at a few blocks whatever the tensor's size.
Definitions, for run a and benchmark b over the elements finite on both sides:

    cosine = a.b / (|a| |b|)      relative = |a - b| / |b| (L2 norms)      element-wise error = |a - b| / |b|,
    over elements with b != 0; an element with b = 0 is within a limit only where a = 0 too

Accuracy: maxima are those of the differences and quotients rounded to float32 (two roundings: a relative
error of at most 2**-23). Sums are taken in float32 over CHUNK elements and in float64 over chunks: the
relative error of a sum of n = CHUNK terms of one sign is at most n * 2**-24 (1.3e-4) in any order of
addition, and far below for the interleaved partial sums of linear algebra libraries; tests hold all figures
to 2e-5. a.b is (a.a + b.b - (a - b).(a - b)) / 2 where |a| and |b| are within a factor of 4, and a product of
its own where not: the cosine is then as accurate as the sums, and more so near 1. Blocks whose squares leave
float32 at either end are summed in float64. Counts, NaN, inf and ULP distances are exact.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...engine.model import TensorFigures
from .numbers import Array, ElementType

BLOCK = 1 << 16  # elements: two sides and two buffers of float32 are 1 MiB
CHUNK = 1 << 11  # elements that are added in the type of the values
TINY = 2.0**-120  # a mean square below it: its terms may have lost bits to float32's least exponent


class Scratch:
    """Buffers for one block of one type of values; every thread keeps its own and uses it again."""

    def __init__(self, dtype: np.dtype[Any], size: int) -> None:
        self.dtype = dtype
        self.size = size
        self.sides = (np.empty(size, dtype), np.empty(size, dtype))
        self.apart = np.empty(size, dtype)
        self.relative = np.empty(size, dtype)
        self.flags = np.empty(size, np.bool_)
        self.others = np.empty(size, np.bool_)
        self.bits = np.empty(size, np.int64 if dtype.itemsize == 8 else np.int32)
        self.ones = np.ones(CHUNK, dtype)
        self.limits = tuple(dtype.type(x) for x in (1e-3, 5e-3))


_KEPT = threading.local()


def scratch_for(dtype: np.dtype[Any], size: int) -> Scratch:
    """Return this thread's buffers for blocks of at most `size` values."""
    kept: dict[np.dtype[Any], Scratch] = _KEPT.__dict__.setdefault("scratch", {})
    found = kept.get(dtype)
    if found is None or found.size < size:
        found = kept[dtype] = Scratch(dtype, size)
    return found


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
    dtype = np.dtype(np.float64 if any(t.decoded == np.float64 for t in types) else np.float32)
    mantissa = types[0].mantissa if same and types[0].kind == "float" else None
    parts = max(t.parts for t in types)
    with np.errstate(all="ignore"):
        scratch = scratch_for(dtype, parts * BLOCK)
        for raw_a, raw_b in pairs:
            sums.count += raw_a.size
            equal = same and raw_a.dtype == raw_b.dtype and _bits_equal(raw_a, raw_b)
            a = types[0].decode(raw_a, scratch.sides[0])
            if equal:
                _add_equal(a, sums)
                continue
            b = types[1].decode(raw_b, scratch.sides[1])
            if sums.identical:
                sums.identical = types[0].kind != "float" and bool(np.array_equal(a, b)) and not same
            bits = None if mantissa is None else (raw_a, raw_b, mantissa)
            _add_different(a, b, bits, sums, scratch)


# The raw elements of both sides and the bits of their significand, where both have one floating-point type
_Bits = tuple[Array, Array, int]


def _row_products(a: Array, b: Array) -> Array:
    """The inner product of each row of `a` with that of `b`, or with `b` where it is a single row."""
    found: Array = np.matmul(a[:, None, :], b[..., :, None])[:, 0, 0]
    return found


_products: Callable[[Array, Array], Array] = getattr(np, "vecdot", _row_products)  # numpy < 2.0 has none


def _dot(a: Array, b: Array) -> float:
    """The inner product, by chunks that are added in float64.

    Chunks are what makes it accurate, and what keeps the linear algebra library from starting threads of its
    own for each of them: the cores are shared out by tensors.
    """
    head = a.size - a.size % CHUNK
    if not head:
        return float(np.dot(a, b))
    total: float = sum(_products(a[:head].reshape(-1, CHUNK), b[:head].reshape(-1, CHUNK)).tolist())
    return total + float(np.dot(a[head:], b[head:])) if head < a.size else total


def _total(a: Array, ones: Array) -> float:
    """The sum, by chunks that are added in float64; a product with ones is faster than numpy's sum."""
    head = a.size - a.size % CHUNK
    total: float = sum(_products(a[:head].reshape(-1, CHUNK), ones).tolist()) if head else 0.0
    return total + float(np.dot(a[head:], ones[: a.size - head])) if head < a.size else total


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
    elif _underflows(a, square):
        wide = a.astype(np.float64)
        square = _dot(wide, wide)
    sums.finite += finite
    sums.nonzero += finite
    sums.within_1 += finite
    sums.within_5 += finite
    sums.aa += square
    sums.bb += square
    sums.ab += square


def _underflows(a: Array, square: float) -> bool:
    """Whether a sum of squares is so small that terms of it may be lost."""
    return a.dtype == np.float32 and square < a.size * TINY and bool(a.max() != 0 or a.min() != 0)


def _add_different(a: Array, b: Array, bits: _Bits | None, sums: Sums, scratch: Scratch) -> None:
    if not a.size:
        return
    aa, bb = _dot(a, a), _dot(b, b)
    apart = np.subtract(a, b, out=scratch.apart[: a.size])
    dd = _dot(apart, apart)
    if (
        not (math.isfinite(aa) and math.isfinite(bb) and math.isfinite(dd))
        or _underflows(a, aa)
        or _underflows(b, bb)
        or _underflows(apart, dd)
    ):
        a, b, bits = _finite_of(a, b, bits, sums)
        if not a.size:
            return
        scratch = scratch_for(np.dtype(np.float64), max(BLOCK, a.size))
        aa, bb = _dot(a, a), _dot(b, b)
        apart = np.subtract(a, b, out=scratch.apart[: a.size])
        dd = _dot(apart, apart)
    n = a.size
    sums.finite += n
    sums.aa += aa
    sums.bb += bb
    sums.dd += dd
    alike = aa <= 16 * bb and bb <= 16 * aa and math.isfinite(dd)
    sums.ab += (aa + bb - dd) / 2 if alike else _dot(a, b)
    np.abs(apart, out=apart)
    sums.max_abs = max(sums.max_abs, float(np.maximum.reduce(apart)))
    sums.sum_abs += _total(apart, scratch.ones)
    relative = np.divide(apart, b, out=scratch.relative[:n])
    np.abs(relative, out=relative)
    most = float(np.maximum.reduce(relative))
    missing = outside = 0
    if not math.isfinite(most):  # b = 0 there: inf, or NaN where a = 0 too
        missing, outside = _without_zeros(b, apart, relative, scratch)
        most = float(np.maximum.reduce(relative))
    sums.nonzero += n - missing
    sums.max_rel = max(sums.max_rel, most)
    sums.sum_rel += _total(relative, scratch.ones)
    near, within = (
        n if most < limit else int(np.count_nonzero(np.less(relative, limit, out=scratch.flags[:n])))
        for limit in scratch.limits
    )
    sums.within_1 += near - outside
    sums.within_5 += within - outside
    if bits is not None:
        _add_ulp(bits, relative, most if not outside else math.inf, missing > 0, sums, scratch)


def _without_zeros(b: Array, apart: Array, relative: Array, scratch: Scratch) -> tuple[int, int]:
    """Set the relative error to 0 where b = 0; return how many there are, and at how many a is not 0."""
    n = b.size
    zeros = np.equal(b, 0, out=scratch.flags[:n])
    missing = int(np.count_nonzero(zeros))
    if not missing:
        return 0, 0
    outside = np.not_equal(apart, 0, out=scratch.others[:n])
    np.logical_and(outside, zeros, out=outside)
    kept = np.subtract(zeros.view(np.int8), 1, out=scratch.bits[:n])  # all bits set where b is not 0
    raw = relative.view(kept.dtype)
    np.bitwise_and(raw, kept, out=raw)  # several times as fast as an assignment under a mask
    return missing, int(np.count_nonzero(outside))


def _add_ulp(bits: _Bits, relative: Array, most: float, zeros: bool, sums: Sums, scratch: Scratch) -> None:
    """Bring the largest ULP distance up to date; `most`: the largest relative error, inf where unknown.

    A spacing is at least 2**-(mantissa + 1) of its number, so that a relative error of r below 1 is at most
    r / (1 - r) * 2**(mantissa + 1) spacings: only elements that may exceed what was found before are counted.
    """
    left, right, mantissa = bits
    agree = most < 0.5 and not zeros  # no element has another sign than its counterpart
    if most < 0.5:
        if not sums.max_ulp:
            at = int(relative.argmax())
            sums.max_ulp = ulp_distance(left[at : at + 1], right[at : at + 1])
        least = sums.max_ulp * (1 - most) * 2.0 ** -(mantissa + 1) * (1 - 2.0**-20)  # less the roundings of r
        if most <= least:
            return
        flags = np.greater(relative, relative.dtype.type(least), out=scratch.flags[: relative.size])
        few = flags.nonzero()[0]
        if 16 * few.size <= flags.size:
            left, right = left[few], right[few]
    sums.max_ulp = max(sums.max_ulp, ulp_distance(left, right, scratch.bits, agree=agree))


def _finite_of(
    a: Array, b: Array, bits: _Bits | None, sums: Sums
) -> tuple[NDArray[np.float64], NDArray[np.float64], _Bits | None]:
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
    kept = None if bits is None else (bits[0][both], bits[1][both], bits[2])
    return a[both].astype(np.float64), b[both].astype(np.float64), kept


def ulp_distance(a: Array, b: Array, scratch: Array | None = None, *, agree: bool = False) -> int:
    """The largest number of representable values between two raw elements of one floating-point type.

    The bits of a float, read as sign and magnitude, count its representable values; so the distance is the
    difference of magnitudes where signs agree, their sum where they do not. `agree`: they do everywhere.
    """
    width = a.dtype.itemsize
    signed = np.dtype(f"i{width}")
    left, right = (
        a.view(np.dtype(f"{a.dtype.byteorder}i{width}")),
        b.view(np.dtype(f"{b.dtype.byteorder}i{width}")),
    )
    n = a.size
    if scratch is None or scratch.dtype != signed or scratch.size < n:
        scratch = np.empty(n, signed)
    work = scratch[:n]
    if agree or int(np.bitwise_xor(left, right, out=work).min(initial=0)) >= 0:
        np.subtract(left, right, out=work)
        return max(abs(int(work.min(initial=0))), abs(int(work.max(initial=0))))
    crossed = np.right_shift(work, 8 * width - 1, out=work)  # all bits set where signs differ
    top = signed.type(np.iinfo(signed).max)
    unsigned = np.dtype(f"u{width}")  # holds the sum of two magnitudes
    other = np.bitwise_and(right, top)
    sizes = np.bitwise_and(left, top).view(unsigned)
    np.add(sizes, other.view(unsigned), out=sizes)
    np.bitwise_and(sizes, crossed.view(unsigned), out=sizes)
    straight = np.subtract(left, right, out=other)
    np.bitwise_and(straight, np.invert(crossed, out=crossed), out=straight)
    return max(int(sizes.max(initial=0)), abs(int(straight.min(initial=0))), int(straight.max(initial=0)))
