"""Pictures beside the benchmark's: turned, scaled, cut, resized, made grey, erased, noisy; moved: `shifted`.

Arrays are [n, c, h, w] (other layouts are turned first), float64. Thresholds here say when an
explanation leaves nothing over; they are numerical, not judgements.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np

from ...run import Floats
from .. import arrays
from .fitting import CLOSE, Line, alike, clipped, line, listed, scaled, shown
from .model import Difference, Kind
from .shifted import ALIKE, EXACT, averaged, like, moved, zoomed

MOST = 3_000_000  # numbers that a search over turns and shifts looks at: the first samples
WHITE = 0.15  # largest correlation of neighbours in a residue that is noise
STRAIGHT = 0.2  # corners for each step of an edge, up to which a part is one of straight edges
SOME = 32  # samples whose own scales are looked at


def axis_of_channels(shape: tuple[int, ...]) -> int | None:
    """Return which axis of [n, ...] holds channels, or None where none does."""
    if len(shape) != 4:
        return None
    return next((i for i in (1, 3) if shape[i] in arrays.CHANNELS), None)


def first(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """The first samples of both, few enough to be searched."""
    most = max(2, MOST // max(1, x[0].size))
    return x[:most], y[:most]


# ------------------------------------------------------------------------------------ another shape


def shapes(name: str, said: str, x: Floats, y: Floats) -> tuple[list[Difference], Floats, Floats]:
    """Explain another shape of [n, a, b, c]; return what is then comparable, and differences.

    The arrays come back with equal shapes where the difference of shape is settled.
    """
    found: list[Difference] = []
    for order, words in (((0, 3, 1, 2), "NHWC here, NCHW"), ((0, 2, 3, 1), "NCHW here, NHWC")):
        turned = x.transpose(order)
        mine, theirs = axis_of_channels(x.shape), axis_of_channels(y.shape)
        if mine != theirs and axis_of_channels(turned.shape) == theirs and None not in (mine, theirs):
            found.append(Difference(name, "layout", f"{said}: {words} in the benchmark"))
            x = turned
            break
    axis = axis_of_channels(y.shape)
    if x.shape[1:] == y.shape[1:] or axis is None:
        return found, x, y
    if axis == 3:  # look at both as NCHW from here on
        x, y = x.transpose(0, 3, 1, 2), y.transpose(0, 3, 1, 2)
    if x.shape[2:] == y.shape[2:]:
        return _channels(name, said, found, x, y)
    if x.shape[1] != y.shape[1]:
        return [*found, Difference(name, "size", f"{said}: another size and number of channels")], x, y
    return _sizes(name, said, found, x, y)


def _channels(
    name: str, said: str, found: list[Difference], x: Floats, y: Floats
) -> tuple[list[Difference], Floats, Floats]:
    few, many = sorted((x.shape[1], y.shape[1]))
    here = x.shape[1] > y.shape[1]
    if (few, many) == (3, 4):
        words = f"{said}: a fourth channel (alpha) {'here' if here else 'in the benchmark'} alone"
        return [*found, Difference(name, "layout", words)], x[:, :3], y[:, :3]
    if few == 1:
        side = "in the benchmark" if here else "here"
        words = f"{said}: pictures are read as grey {side}"
        gray = (y if here else x)[:, 0]
        how = _grey_of(gray, x if here else y)
        return [*found, Difference(name, "layout", words + (f" ({how})" if how else ""))], x, y
    return [*found, Difference(name, "layout", f"{said}: another number of channels")], x, y


def _grey_of(grey: Floats, colour: Floats) -> str:
    n = min(len(grey), len(colour))
    grey, colour = first(grey[:n], colour[:n])
    columns = np.stack([c.reshape(-1) for c in colour.swapaxes(0, 1)], 1)
    columns = np.c_[columns, np.ones(len(columns))]
    weights, *_ = np.linalg.lstsq(columns, grey.reshape(-1), rcond=None)
    left = float((columns @ weights - grey.reshape(-1)).std())
    if left > 0.02 * (float(grey.std()) or 1.0):
        return ""
    return f"the channels weighted {listed(weights[:3])}"


def _sizes(
    name: str, said: str, found: list[Difference], x: Floats, y: Floats
) -> tuple[list[Difference], Floats, Floats]:
    n = min(len(x), len(y))
    if x.shape[2:] == y.shape[:1:-1]:
        for words, other in turned(x):
            if other.shape == x.shape or other.shape[1:] != y.shape[1:]:
                continue
            if line(*first(other[:n], y[:n]), keep=(1,)).residual <= CLOSE:
                kind: Kind = "layout" if "exchanged" in words else "flip"
                return [*found, Difference(name, kind, f"{said}: {words}")], other, y
    x, y = first(x[:n], y[:n])
    part = cut_out(x, y)
    if part is not None:
        return [*found, Difference(name, "crop", f"{said}: {part}")], x, y
    cells = min(8, *x.shape[2:], *y.shape[2:])
    whole = alike(averaged(x, cells), averaged(y, cells))
    if whole >= ALIKE:
        words = "the whole picture at another size: resized"
        return [*found, Difference(name, "size", f"{said}: {words}", float(x.shape[-1]))], x, y
    words = "resized or cropped to another size"
    return [*found, Difference(name, "size", f"{said}: {words}", float(x.shape[-1]))], x, y


def cut_out(x: Floats, y: Floats) -> str | None:
    """Whether one side is a part of the other, at one place or at one of its own in each sample."""
    if (np.array(x.shape[2:]) <= np.array(y.shape[2:])).all():
        small, large, whose = x, y, "a part of the benchmark's"
    elif (np.array(x.shape[2:]) >= np.array(y.shape[2:])).all():
        small, large, whose = y, x, "the benchmark's is a part of this"
    else:
        return None
    places = [_place(s, g) for s, g in zip(small[:16], large[:16], strict=True)]
    if None in places:
        return None
    if len(set(places)) > 1:
        return f"{whose}, another one in each sample (a random crop)"
    assert places[0] is not None  # noqa: S101 - for the type checker: excluded above
    return f"{whose}: {_corner(places[0], small.shape, large.shape)}"


def _corner(place: tuple[int, int], small: tuple[int, ...], large: tuple[int, ...]) -> str:
    room = large[2] - small[2], large[3] - small[3]
    if all(abs(p - r / 2) <= 0.5 for p, r in zip(place, room, strict=True)):
        return "the middle (a centre crop)"
    return f"from row {place[0]} and column {place[1]} on"


def _place(small: Floats, large: Floats) -> tuple[int, int] | None:
    """Row and column where `small` [c, h, w] lies in `large`, by correlation at 64 seeded pixels."""
    rows, columns = large.shape[1] - small.shape[1] + 1, large.shape[2] - small.shape[2] + 1
    if rows * columns > 60_000:
        return None
    random = np.random.default_rng(0)
    points = np.stack([random.integers(0, n, 64) for n in small.shape])
    values = small[tuple(points)]
    values = values - values.mean()
    top, left = (g.reshape(-1, 1) for g in np.mgrid[:rows, :columns])
    seen = large[points[0], points[1] + top, points[2] + left]
    seen = seen - seen.mean(axis=1, keepdims=True)
    norm = np.linalg.norm(seen, axis=1) * np.linalg.norm(values)
    score = (seen @ values) / np.where(norm > 0, norm, np.inf)
    best = int(score.argmax())
    at = best // columns, best % columns
    part = large[:, at[0] : at[0] + small.shape[1], at[1] : at[1] + small.shape[2]]
    return at if min(alike(s, p) for s, p in zip(small, part, strict=True)) >= EXACT else None


# ------------------------------------------------------------------------------------ the same shape


def explain(name: str, x: Floats, y: Floats) -> list[Difference]:
    """Explain two sides of one shape [n, c, h, w] or [n, h, w, c]."""
    axis = axis_of_channels(x.shape)
    if axis is None:
        return []
    if axis == 3:
        x, y = x.transpose(0, 3, 1, 2), y.transpose(0, 3, 1, 2)
    a, b = first(x, y)
    for find in (_whole, clipped, _some, _bordered, _erased, _greyed, moved, zoomed, _residue):
        found = find(name, a, b)
        if found:
            return found
    return []


def turned(x: Floats) -> Iterator[tuple[str, Floats]]:
    """The ways in which [n, c, h, w] can be mirrored and turned."""
    yield "mirrored left to right", x[..., ::-1]
    yield "turned upside down", x[:, :, ::-1]
    yield "turned by 180 degrees", x[:, :, ::-1, ::-1]
    across = x.swapaxes(2, 3)
    yield "height and width are exchanged", across
    yield "turned by 90 degrees", across[..., ::-1]
    yield "turned by 90 degrees", across[:, :, ::-1]
    yield "height and width are exchanged, and both turned", across[:, :, ::-1, ::-1]


def _ways(x: Floats) -> Iterator[tuple[Kind | None, str, Floats]]:
    yield None, "", x
    if x.shape[1] == 3:
        reverse = "channels in reverse order: BGR on one side, RGB on the other"
        yield "channel-order", reverse, x[:, ::-1]
    for words, other in turned(x):
        if other.shape == x.shape:
            yield "layout" if "exchanged" in words else "flip", words, other
    if x.shape[1] == 3:
        for order in permutations(range(3)):
            if order not in ((0, 1, 2), (2, 1, 0)):
                yield "channel-order", f"channels stand in another order {order}", x[:, list(order)]


def _whole(name: str, x: Floats, y: Floats) -> list[Difference]:
    """One turn of all samples, with a scale and offset per channel."""
    best: tuple[float, list[Difference]] | None = None
    for kind, words, other in _ways(x):
        fit = line(other, y, keep=(1,))
        if fit.residual > CLOSE:
            continue
        found = [Difference(name, kind, f"{name}: {words}")] if kind else []
        if kind == "channel-order" and _normalised_after(fit):
            found = [replace(found[0], words=f"{found[0].words}, before both are normalised alike")]
        else:
            found += scaled(name, other, y, fit)
        if found and (best is None or (len(found), fit.residual) < (len(best[1]), best[0])):
            best = fit.residual, found
        if best is not None and len(best[1]) == 1:
            break
    return best[1] if best else []


def _normalised_after(fit: Line) -> bool:
    """Whether scale and offset are those of one normalisation of channels that were reversed before it."""
    if len(fit.slope) != 3 or np.allclose(fit.slope, 1, rtol=1e-4):
        return False
    (s0, s1, s2), (o0, o1, o2) = fit.slope, fit.offset
    return bool(
        np.allclose([s0 * s2, s1], 1, rtol=5e-3)
        and np.isclose(o1, 0, atol=5e-3)
        and np.isclose(o2, -o0 / s0, atol=1e-2)
    )


def _some(name: str, x: Floats, y: Floats) -> list[Difference]:
    """Samples mirrored one by one, or each with a scale and offset of its own."""
    mirrored = x[..., ::-1]
    close = [[like(p, r) for p in pair] for *pair, r in zip(x, mirrored, y, strict=True)]
    plain, other = (sum(c[i] >= EXACT for c in close) for i in (0, 1))
    if other and plain + other >= 0.95 * len(x):
        words = f"{name}: {other} of {len(x)} samples are mirrored left to right: a random flip is on"
        return [Difference(name, "augmentation", words, other / len(x))]
    return per_sample(name, x, y, axis=1)


def per_sample(name: str, x: Floats, y: Floats, axis: int | None = None) -> list[Difference]:
    """A scale and offset in each sample and index of `axis`: normalised each by its own, or jittered."""
    if len(x) < 2:
        return []
    x, y = x[:SOME], y[:SOME]
    keep = (0,) if axis is None else (0, axis)
    sides = [np.moveaxis(s, keep, tuple(range(len(keep)))) for s in (x, y)]
    a, b = (s.reshape(int(np.prod(s.shape[: len(keep)])), -1) for s in sides)
    if a.shape[1] < 8:
        return []
    inner = _inside(a, x.shape[0]) & _inside(b, x.shape[0])  # what is cut off at limits follows no line
    fits = [_masked_line(p, q, m) for p, q, m in zip(a, b, inner, strict=True)]
    if inner.mean() < 0.5 or max(f[2] for f in fits) > 2 * CLOSE:
        return []
    slope, offset = (np.array([f[i] for f in fits]) for i in (0, 1))
    found = _own(name, x, y, axis)
    if found or (slope <= 0).any():
        return found
    ratio = 1 / slope
    groups = (ratio.reshape(len(x), -1), offset.reshape(len(x), -1))
    if np.ptp(groups[0], axis=0).max() < 2e-3 and np.ptp(groups[1], axis=0).max() < 5e-3 * (
        float(y.std()) or 1.0
    ):
        return []
    words = (
        f"{name}: every sample has a scale of its own ({shown(ratio.min())} to {shown(ratio.max())} "
        "times the "
        "benchmark's): brightness, contrast or gain are varied, or each is normalised by itself, on one side"
    )
    return [Difference(name, "augmentation", words, float(np.ptp(ratio)))]


def _own(name: str, x: Floats, y: Floats, axis: int | None) -> list[Difference]:
    """Whether one side has brought each sample, or each index of `axis` in it, to the same figures."""
    for keep, each in (
        ((0, axis), "sample and channel" if axis == 1 else "sample and feature"),
        ((0,), "sample"),
    ):
        if None in keep:
            continue
        rest = tuple(i for i in range(1, x.ndim) if i not in keep)
        unit = [_normalised(side, rest) for side in (x, y)]
        for how in ("mean and deviation", "peak", "range"):
            if (unit[0] == how) != (unit[1] == how):
                side, other = ("here", "in the benchmark") if unit[0] == how else ("in the benchmark", "here")
                said = f"each {each} is normalised by its own {how} {side}, not {other}"
                return [Difference(name, "normalisation", f"{name}: {said}")]
    return []


def _inside(x: Floats, groups: int) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """What lies off limits that several numbers share; rows of one channel have one limit."""
    rows = x.reshape(groups, -1, x.shape[1])
    low, high = rows.min(axis=(0, 2), keepdims=True), rows.max(axis=(0, 2), keepdims=True)
    inside: np.ndarray[tuple[int, ...], np.dtype[np.bool_]] = ((rows > low) & (rows < high)).reshape(x.shape)
    return inside


def _masked_line(
    x: Floats, y: Floats, mask: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
) -> tuple[float, float, float]:
    p, q = x[mask], y[mask]
    if p.size < 8 or p.std() == 0:
        return 1.0, 0.0, np.inf
    slope = float(((p - p.mean()) * (q - q.mean())).mean() / p.var())
    offset = float(q.mean() - slope * p.mean())
    return slope, offset, float((q - slope * p - offset).std() / (q.std() or 1.0))


def _normalised(x: Floats, rest: tuple[int, ...]) -> str:
    """What each sample has been brought to, by what all of them share."""
    if np.allclose(x.mean(axis=rest), 0, atol=1e-3) and np.allclose(x.std(axis=rest), 1, rtol=2e-2):
        return "mean and deviation"
    if np.allclose(np.abs(x).max(axis=rest), 1, rtol=1e-3):
        low = x.min(axis=rest)
        return "range" if np.allclose(low, 0, atol=1e-6) or np.allclose(low, -1, rtol=1e-3) else "peak"
    return ""


def _border(x: Floats) -> tuple[int, int, int, int, float] | None:
    """Rows and columns at top, bottom, left and right that hold one value in every sample, and the value."""
    value = float(x[0, 0, 0, 0])
    per = x[0, :, 0, 0]
    same = (x == per[None, :, None, None]).all(axis=(0, 1))
    rows, columns = same.all(axis=1), same.all(axis=0)
    if rows.all() or not (rows.any() or columns.any()):
        return None
    ends = [int(np.argmin(v)) for v in (rows, rows[::-1], columns, columns[::-1])]
    return (*ends, value) if any(ends) else None  # type: ignore[return-value]


def _bordered(name: str, x: Floats, y: Floats) -> list[Difference]:
    """Borders of one value: on one side alone, or filled with another one."""
    mine, theirs = _border(x), _border(y)
    if mine == theirs or (mine is None and theirs is None):
        return []
    if mine is not None and theirs is not None and mine[:4] == theirs[:4]:
        top, bottom, left, right, _ = mine
        inner = (..., slice(top, x.shape[2] - bottom), slice(left, x.shape[3] - right))
        if np.isclose(x[inner], y[inner], 1e-5, 1e-6).mean() >= 0.95:
            words = (
                f"{name}: borders are filled with {shown(mine[4])} here, with {shown(theirs[4])} in "
                "the benchmark"
            )
            return [Difference(name, "padding", words, mine[4])]
    if mine is not None and theirs is not None:
        return []
    found, side, other = (mine, "here", "there") if mine else (theirs, "in the benchmark", "here")
    assert found is not None  # noqa: S101 - for the type checker
    top, bottom, left, right, value = found
    if max(top, bottom, left, right) < 2:
        return []
    rows = f"{top} rows at the top and {bottom} at the bottom, {left} columns left and {right} right"
    inner = (..., slice(top, x.shape[2] - bottom), slice(left, x.shape[3] - right))
    if np.allclose(x[inner], y[inner], 1e-5, 1e-6):
        words = f"{name}: a border holds {shown(value)} {side} ({rows}) and picture {other}"
        return [Difference(name, "padding", words, value)]
    words = (
        f"{name}: a border of {shown(value)} {side} ({rows}) and none {other}: padded to keep the "
        "picture’s shape "
        "(letterbox) on one side, stretched or cut on the other"
    )
    return [Difference(name, "padding", words, value)]


def _erased(name: str, x: Floats, y: Floats) -> list[Difference]:
    """Equal but for a part that holds one value on one side."""
    off = ~np.isclose(x, y, 1e-4, 1e-5)
    share = float(off.mean())
    if not 0 < share <= 0.5:
        return []
    for p, side in ((x, "here"), (y, "in the benchmark")):
        held = np.unique(p[off])
        if len(held) <= x.shape[1] and _rectangles(off.any(axis=1)):
            words = (
                f"{name}: {share:.1%} of the values are {listed(held)} {side}, the others are equal: "
                "a part is erased"
            )
            return [Difference(name, "augmentation", words, share)]
    return []


def _rectangles(off: Any) -> bool:
    """Whether what is marked [n, h, w] has straight edges and few corners, as a part that is cut out has."""
    inside = np.pad(off, ((0, 0), (1, 1), (1, 1))).astype(np.int8)
    around = inside[:, :-1, :-1] + inside[:, 1:, :-1] + inside[:, :-1, 1:] + inside[:, 1:, 1:]
    corners, edges = int(((around == 1) | (around == 3)).sum()), int((around == 2).sum())
    return corners <= max(STRAIGHT * edges, 4 * len(off))


def _greyed(name: str, x: Floats, y: Floats) -> list[Difference]:
    if x.shape[1] != 3:
        return []
    flat = [bool(np.allclose(s[:, :1], s, 1e-4, 1e-4 * (float(s.std()) or 1))) for s in (x, y)]
    equal = "are equal"
    if flat == [False, False]:  # or are, but for the constants that each of them is normalised with
        flat = [all(line(s[:, :1], s[:, i : i + 1]).residual <= CLOSE for i in (1, 2)) for s in (x, y)]
        equal = "differ by their constants alone"
    if flat[0] == flat[1]:
        return []
    grey, colour, side = (x, y, "here") if flat[0] else (y, x, "in the benchmark")
    how = _grey_of(grey[:, 0], colour) if equal == "are equal" else ""
    words = f"{name}: the three channels {equal} {side}: pictures are made grey" + (
        f" ({how})" if how else ""
    )
    return [Difference(name, "layout", words)]


def _residue(name: str, x: Floats, y: Floats) -> list[Difference]:
    """What is over after the best line per channel: white noise, or what smoothing leaves at edges."""
    if alike(x, y) < ALIKE:
        return []
    rest = (0, 2, 3)
    centred = [s - s.mean(axis=rest, keepdims=True) for s in (x, y)]
    slope = (centred[0] * centred[1]).mean(axis=rest, keepdims=True) / np.maximum(
        (centred[1] ** 2).mean(axis=rest, keepdims=True), 1e-24
    )
    over = centred[0] - slope * centred[1]
    size, spread = float(over.std()), float(y.std()) or 1.0
    near = max(abs(alike(over[:, :, 1:], over[:, :, :-1])), abs(alike(over[..., 1:], over[..., :-1])))
    if near <= WHITE and not _edged(over, y):
        words = (
            f"{name}: the same pictures with noise on top (deviation {shown(size)}, "
            f"{size / spread:.2g} of the "
            "spread): noise is added on one side, or another decoder rounds otherwise"
        )
        return [Difference(name, "noise", words, size / spread)]
    said = f"correlation {alike(x, y):.3f}, deviation of the difference {size / spread:.2g} of the spread"
    smooth = _smoothed(x, y)
    if smooth:
        return [
            Difference(
                name, "resampling", f"{name}: {smooth} ({said}): another interpolation or filter", size
            )
        ]
    if _edged(over, y):
        words = (
            f"{name}: the same pictures, differing at their edges ({said}): another interpolation, "
            "crop or decoder"
        )
        return [Difference(name, "resampling", words, size)]
    return []


def _edged(over: Floats, y: Floats) -> bool:
    """Whether the residue lies where the picture changes from pixel to pixel."""
    steps = np.abs(np.diff(y, axis=2))[..., :-1] + np.abs(np.diff(y, axis=3))[:, :, :-1]
    return alike(np.abs(over[:, :, :-1, :-1]), steps) >= 0.2


def _smoothed(x: Floats, y: Floats) -> str:
    """Which side is the other one averaged over neighbours: a 3 x 3 filter that explains nine tenths."""
    soft = float(np.abs(np.diff(x)).mean()) < float(np.abs(np.diff(y)).mean())
    words = "smoother here than there" if soft else "sharper here than there"
    for target, source in ((x, y), (y, x)):
        parts = [
            np.roll(source, (i, j), (2, 3))[:, :, 1:-1, 1:-1].reshape(-1)
            for i in (-1, 0, 1)
            for j in (-1, 0, 1)
        ]
        step = max(1, parts[0].size // 200_000)
        columns = np.stack([*(p[::step] for p in parts), np.ones(len(parts[0][::step]))], 1)
        wanted = target[:, :, 1:-1, 1:-1].reshape(-1)[::step]
        plain = (wanted - wanted.mean()) - (columns[:, 4] - columns[:, 4].mean())
        weights, *_ = np.linalg.lstsq(columns, wanted, rcond=None)
        left = wanted - columns @ weights
        if float(left.var()) <= 0.1 * float(plain.var()) and abs(float(weights[:9].sum()) - 1) < 0.1:
            return words
    return ""
