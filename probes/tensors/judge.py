"""Pair the tensors of two matched operators, and judge each pair by the tolerance of its type."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ...engine.model import ComparedTensor, TensorFigures
from .knowledge import Tolerances
from .model import Operator, Statistics, Tensor
from .numbers import TYPES


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """One tensor on both sides, or on one."""

    run: Tensor | None
    benchmark: Tensor | None

    @property
    def name(self) -> str:
        """As the run calls it."""
        some = self.run or self.benchmark
        return some.name if some else ""

    @property
    def comparable(self) -> bool:
        """Whether values can be held against each other, element by element."""
        a, b = self.run, self.benchmark
        return (
            a is not None
            and b is not None
            and a.stored is not None
            and b.stored is not None
            and a.stored.count == b.stored.count
        )

    @property
    def same_digest(self) -> bool:
        """Whether both dumps recorded one checksum: there is nothing left to compare."""
        a, b = self.run, self.benchmark
        return (
            a is not None
            and b is not None
            and bool(a.statistics.digest)
            and a.statistics.digest_kind == b.statistics.digest_kind
            and a.statistics.digest == b.statistics.digest
            and a.dtype == b.dtype
            and a.shape == b.shape
        )


def paired(run: Operator, benchmark: Operator, foreign: bool = False) -> list[Pair]:
    """Pair tensors of one role: those of one index, then those of one size, in order.

    `foreign`: two frameworks, whose operators take other things: inputs of other sizes are no pair.
    """
    found: list[Pair] = []
    for mine, theirs in (
        (run.inputs, benchmark.inputs),
        (run.parameters, benchmark.parameters),
        (run.outputs, benchmark.outputs),
    ):
        loose = not (foreign and mine is run.inputs)
        found.extend(_paired(mine, theirs, loose))
    return found


def _paired(mine: Sequence[Tensor], theirs: Sequence[Tensor], loose: bool) -> list[Pair]:
    left = {t.index: t for t in theirs}
    found: dict[int, Pair] = {}
    for n, tensor in enumerate(mine):
        other = left.get(tensor.index)
        if other is not None and other.count == tensor.count:
            found[n] = Pair(tensor, left.pop(tensor.index))
    for n, tensor in enumerate(mine):
        if n in found:
            continue
        alike = [i for i, t in left.items() if t.count == tensor.count]
        at = next((i for i in alike if left[i].shape == tensor.shape), next(iter(alike), None))
        if at is None and loose and tensor.index in left:
            at = tensor.index
        found[n] = Pair(tensor, left.pop(at) if at is not None else None)
    return [found[n] for n in range(len(mine))] + [Pair(None, t) for t in left.values()]


# -------------------------------------------------------------------------------------------- judging


def judged(
    pair: Pair,
    found: TensorFigures | str | None,
    limits: Tolerances,
    *,
    size: float,
    coarse: float,
    late: bool,
) -> ComparedTensor:
    """Judge one pair.

    `found` are the figures over its values, or why they could not be read, or None where there are
    statistics alone. `size` is the largest norm among the operator's inputs; `coarse` is the bound of
    the coarsest type that values went through before; `late`: this input is changed in place, so that its
    checksum may be that of the result.
    """
    a, b = pair.run, pair.benchmark
    if a is None or b is None:
        some, side = (a or b), "run" if b is None else "benchmark"
        shape = some.shape if some else ()
        return ComparedTensor(pair.name, "unmatched", shape=shape, why=f"only the {side} has it")
    figures = found if isinstance(found, TensorFigures) else None
    why = found if isinstance(found, str) else ""
    if figures is None and not (a.count != b.count and a.shape and b.shape):
        figures = TensorFigures(identical=True, relative=0.0) if pair.same_digest else by_statistics(a, b)
    told = (pair.name, a.dtype, b.dtype, a.shape, b.shape)
    if a.count != b.count and (a.shape or b.shape or a.stored or b.stored):
        return _made(told, "differs", None, f"shape {_shape(a)} against {_shape(b)}")
    if figures is None:
        return _by_digest(told, pair, late, why)
    if figures.identical:
        return _made(told, "identical", figures, why)
    if figures.misplaced:
        return _made(told, "differs", figures, _non_finite(figures))
    if figures.relative is None:
        return _made(told, "agrees", figures, "nothing finite on either side")
    bound = limits.bound(a.dtype, b.dtype)
    bound = max(bound, coarse) if bound else bound
    if not bound:  # integers: equal or not
        return _made(
            told, "agrees" if not figures.relative and not figures.max_abs else "differs", figures, why
        )
    eps = max((TYPES[t].eps for t in (a.dtype, b.dtype) if t in TYPES), default=0.0)
    apart = figures.relative > bound or (figures.cosine is not None and figures.cosine < limits.cosine)
    if apart and _distance(figures) <= min(limits.rounding * eps, limits.most) * size:
        return _made(told, "agrees", figures, "no more than rounding at the size of the operator's inputs")
    return _made(told, "differs" if apart else "agrees", figures, why)


def _distance(figures: TensorFigures) -> float:
    """The L2 norm of the difference; of statistics the largest gap, that of the norms among them."""
    if figures.max_abs is None:
        return math.inf
    if figures.from_statistics:
        return figures.max_abs
    if figures.relative is not None and math.isfinite(figures.relative) and figures.benchmark_norm:
        return figures.relative * figures.benchmark_norm
    return figures.max_abs * math.sqrt(max(figures.count, 1))


_Told = tuple[str, str, str, tuple[int, ...], tuple[int, ...]]


def _made(told: _Told, state: str, figures: TensorFigures | None, why: str) -> ComparedTensor:
    name, dtype, other, shape, other_shape = told
    return ComparedTensor(name, state, dtype, other, shape, other_shape, figures, why)  # type: ignore[arg-type]


def _by_digest(told: _Told, pair: Pair, late: bool, why: str) -> ComparedTensor:
    a, b = pair.run, pair.benchmark
    if a is None or b is None or not (a.statistics.digest and b.statistics.digest):
        return _made(told, "unknown", None, why or "neither values nor statistics")
    if late:
        return _made(told, "unknown", None, "changed in place: its checksum may be that of the result")
    return _made(told, "differs", None, "checksums differ; how far the values lie apart is not recorded")


def _shape(tensor: Tensor) -> str:
    return f"({', '.join(map(str, tensor.shape))})"


def _non_finite(figures: TensorFigures) -> str:
    mine, theirs = figures.nan + figures.inf, figures.benchmark_nan + figures.benchmark_inf
    if figures.from_statistics:
        side = (
            "run"
            if mine and not theirs
            else "benchmark"
            if theirs and not mine
            else "run otherwise than the benchmark"
        )
        return f"not finite in the {side}"
    return f"{mine} element{'' if mine == 1 else 's'} not finite, {theirs} in the benchmark"


def by_statistics(a: Tensor, b: Tensor) -> TensorFigures | None:
    """What min, max, mean and norm say of a pair: a lower bound of its relative error.

    Differences of min and max are held against the larger of both sizes, those of the mean against the root
    mean square; None where the two dumps share no figure.
    """
    left, right = a.statistics, b.statistics
    if not (left.known and right.known):
        return None
    mine, theirs = _broken(left), _broken(right)
    if any(mine) or any(theirs):
        alike = bool(mine[0] and theirs[0]) or _words(left, right) == _words(right, left)
        return TensorFigures(
            count=a.count,
            relative=0.0 if alike else None,
            nan=mine[0],
            inf=mine[1],
            benchmark_nan=theirs[0],
            benchmark_inf=theirs[1],
            misplaced=0 if alike else 1,
            from_statistics=True,
        )
    size = max((abs(v) for v in (right.min, right.max) if v is not None), default=0.0)
    spread = right.norm / math.sqrt(b.count) if right.norm is not None and b.count else size
    errors, apart = [], []
    for mine_value, their_value, scale in (
        (left.min, right.min, size),
        (left.max, right.max, size),
        (left.mean, right.mean, spread),
        (left.norm, right.norm, right.norm or 0.0),
    ):
        if mine_value is None or their_value is None:
            continue
        gap = abs(mine_value - their_value)
        apart.append(gap)
        errors.append(0.0 if gap == 0 else gap / scale if scale > 0 else math.inf)
    if not errors:
        return None
    return TensorFigures(
        count=a.count,
        relative=max(errors),
        max_abs=max(apart),
        norm=left.norm,
        benchmark_norm=right.norm,
        from_statistics=True,
    )


def _words(statistics: Statistics, other: Statistics) -> tuple[str, ...]:
    """What is not finite among the figures that both recorded."""
    return tuple(
        "" if v is None or w is None or math.isfinite(v) else str(v)
        for v, w in zip(statistics.figures, other.figures, strict=True)
    )


def _broken(statistics: Statistics) -> tuple[int, int]:
    """How many are NaN and infinite; 1 where a figure shows it without a count."""
    nan = statistics.nan or 0
    inf = statistics.inf or 0
    extremes = [v for v in (statistics.min, statistics.max) if v is not None]
    if statistics.norm is not None:
        extremes += [statistics.norm] if math.isnan(statistics.norm) else []
    if not nan and any(math.isnan(v) for v in extremes):
        nan = 1
    if not inf and any(math.isinf(v) for v in extremes):
        inf = 1
    return nan, inf
