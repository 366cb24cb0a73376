"""Which simple function leads from one side's numbers to the other's: lines, logarithms, powers, limits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...run import Floats
from ..pixels import constants_of
from .model import Difference

CLOSE = 2e-3  # residual over the benchmark's spread below which a transform explains the difference


@dataclass(frozen=True, slots=True)
class Line:
    """y = slope * x + offset for each index of `axes`; `residual` is the worst one's over the spread of y."""

    slope: Floats
    offset: Floats
    residual: float


def line(x: Floats, y: Floats, keep: tuple[int, ...] = ()) -> Line:
    """Fit y = slope * x + offset by least squares over all axes but `keep`."""
    rest = tuple(i for i in range(x.ndim) if i not in keep)
    mx, my = x.mean(axis=rest, keepdims=True), y.mean(axis=rest, keepdims=True)
    var = ((x - mx) ** 2).mean(axis=rest, keepdims=True)
    both = ((x - mx) * (y - my)).mean(axis=rest, keepdims=True)
    flat = var <= 1e-24
    slope = np.where(flat, 1.0, both / np.where(flat, 1.0, var))
    offset = my - slope * mx
    off = np.sqrt(((y - slope * x - offset) ** 2).mean(axis=rest))
    overall = float(y.std()) or 1.0
    residual = float(np.max(off / np.maximum(y.std(axis=rest), 1e-3 * overall)))
    return Line(slope.reshape(-1), offset.reshape(-1), residual)


def alike(x: Floats, y: Floats) -> float:
    """Return the correlation of two arrays of one shape, 0 where either is constant."""
    a, b = x.reshape(-1) - x.mean(), y.reshape(-1) - y.mean()
    norm = float(np.sqrt((a * a).sum() * (b * b).sum()))
    return float((a * b).sum()) / norm if norm else 0.0


def scaled(name: str, x: Floats, y: Floats, found: Line) -> list[Difference]:
    """Say which scale and offset lie between the two sides, and which constants make them."""
    slope, offset = found.slope, found.offset
    typical = float(y.std()) or 1.0
    centred = bool((np.abs(offset) <= 5e-3 * typical).all())
    if np.allclose(slope, 1.0, rtol=2e-3) and centred:
        return []
    even = np.allclose(slope, slope[0], rtol=2e-3) and centred
    for factor, words, other in (
        (255.0, "the division by 255 is missing here", "divided by 255 here (or twice) and not there"),
        (32768.0, "16-bit audio that is not divided by 32768 here", "divided by 32768 here and not there"),
    ):
        if even and np.isclose(slope[0], 1 / factor, rtol=5e-4 * 10):
            return [Difference(name, "scale", f"{name}: {factor:g} times the benchmark's: {words}", factor)]
        if even and np.isclose(slope[0], factor, rtol=5e-4 * 10):
            said = f"{name}: 1/{factor:g} of the benchmark's: {other}"
            return [Difference(name, "scale", said, 1 / factor)]
    if np.allclose(slope, 1 / 255, rtol=2e-3) and len(slope) <= 4:
        words = (
            f"{name}: 255 times the benchmark's before the mean is taken away: the division by 255 "
            "is missing here"
        )
        return [Difference(name, "scale", words, 255.0)]
    if np.allclose(slope, -1, rtol=2e-3) and not centred:
        words = f"{name}: inverted: the benchmark's is {listed(np.unique(np.round(offset, 4)))} minus this"
        return [Difference(name, "scale", words, -1.0)]
    if len(slope) > 1 and np.ptp(slope) > 0.01 and np.allclose(offset, 1 - slope, atol=5e-3):
        words = (
            f"{name}: mean and deviation are exchanged: the benchmark's is this times "
            f"{listed(slope)} plus {listed(offset)}"
        )
        return [Difference(name, "normalisation", words)]
    named = constants_of(x, y, slope, offset)
    if named:
        words = f"{name}: normalised otherwise: {named[0]} here, {named[1]} in the benchmark"
        return [Difference(name, "normalisation", words)]
    if even:
        turned = ": the sign is turned" if np.isclose(slope[0], -1, rtol=2e-3) else ""
        words = f"{name}: {1 / slope[0]:.4g} times the benchmark's{turned or _base(float(slope[0]))}"
        return [Difference(name, "scale", words, float(1 / slope[0]))]
    if len(slope) == 1 and np.isclose(slope[0], 1, rtol=2e-3):
        words = f"{name}: {shown(-offset[0])} is added here against the benchmark's"
        return [Difference(name, "normalisation", words)]
    words = (
        f"{name}: normalised with other constants: the benchmark's is this times {listed(slope)} plus "
        f"{listed(offset)} (mean {shown(x.mean())}, deviation {shown(x.std())} here; "
        f"{shown(y.mean())}, {shown(y.std())} there)"
    )
    return [Difference(name, "normalisation", words)]


def _base(slope: float) -> str:
    """What a factor between logarithms of two bases is."""
    for factor, words in (
        (10 / np.log(10), "10/ln 10"),
        (20 / np.log(10), "20/ln 10"),
        (1 / np.log(10), "1/ln 10"),
    ):
        if np.isclose(slope, 1 / factor, rtol=1e-4):
            return f" ({words}): a logarithm to the base 10 or decibels here, the natural one there"
        if np.isclose(slope, factor, rtol=1e-4):
            return f" (1 over {words}): the natural logarithm here, one to the base 10 or decibels there"
    return ""


# ------------------------------------------------------------------------------------------ functions


def _functions(x: Floats) -> Iterator[tuple[str, Callable[[Floats], Floats]]]:
    if float(x.min()) >= 0:
        for floor in (0.0, 1.0, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-3):
            if floor or float(x.min()) > 0:
                yield "the logarithm", lambda v, f=floor: np.log(v + f)  # type: ignore[misc]
        yield "the square root", np.sqrt
        for power in (2.2, 1 / 2.2, 2.4, 1 / 2.4):
            yield f"the power {power:.3g} (gamma)", lambda v, p=power: v**p  # type: ignore[misc]


def function(name: str, x: Floats, y: Floats) -> list[Difference]:
    """Find the logarithm, root or power that leads from one side to the other."""
    limit = 400_000
    step = max(1, x.size // limit)
    a, b = x.reshape(-1)[::step], y.reshape(-1)[::step]
    if a.std() == 0 or b.std() == 0:
        return []
    for p, q, here in ((b, a, True), (a, b, False)):
        for words, make in _functions(p):
            made = make(p)
            if not np.isfinite(made).all():
                continue
            fit = line(made, q)
            if fit.residual <= CLOSE:
                side, other = ("here", "the benchmark") if here else ("in the benchmark", "here")
                decibel = words == "the logarithm" and np.isclose(abs(fit.slope[0]), 10 / np.log(10), 1e-3)
                said = f"{words} (10 log10, decibels)" if decibel else words
                other = f"not in {other}" if here else "not here"
                return [Difference(name, "function", f"{name}: {said} is taken {side} and {other}")]
    return []


def clipped(name: str, x: Floats, y: Floats) -> list[Difference]:
    """Whether one side is the other cut off at limits."""
    off = ~np.isclose(x, y, 1e-5, 1e-6)
    share = float(off.mean())
    if not 0 < share <= 0.9:
        return []
    for p, q, side in ((x, y, "here"), (y, x, "in the benchmark")):
        low, high = float(p.min()), float(p.max())
        at_low, at_high = off & (p <= low), off & (p >= high)
        if not (at_low | at_high)[off].all() or p.size < 20:
            continue
        if (q[at_low] < low).all() and (q[at_high] > high).all() and _spread(q[off]):
            ends = [shown(low)] * bool(at_low.any()) + [shown(high)] * bool(at_high.any())
            words = f"{name}: cut off at {' and '.join(ends)} {side} ({share:.1%} of the values)"
            return [Difference(name, "function", words, share)]
    return []


def _spread(values: Floats) -> bool:
    return len(np.unique(values)) >= 5


def shown(value: Any) -> str:
    """A number with four figures."""
    return f"{float(value):.4g}"


def listed(values: Iterable[float]) -> str:
    """The first four numbers in brackets."""
    some = list(values)
    said = ", ".join(shown(v) for v in some[:4])
    return f"({said}{', ...' if len(some) > 4 else ''})"
