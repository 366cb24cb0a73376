"""Two folders of batches dumped before the model: what differs, field by field, and what makes that.

The MindSpore guide's step: save the output of the data pipeline as .npy and hold it against the benchmark's
with numpy.allclose. Its defaults (rtol 1e-5, atol 1e-8) are what "equal" means here.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ...engine.model import Place
from ..files import RunFile, walk
from ..run import Floats
from . import arrays, naming
from .pixels import constants_of

Kind = Literal[
    "dtype",
    "layout",
    "channel-order",
    "scale",
    "normalisation",
    "size",
    "crop",
    "flip",
    "order",
    "label-offset",
    "label-numbering",
    "column-order",
    "padding",
    "resampling",
    "rounding",
    "other-samples",
    "values",
    "missing-field",
    "count",
]
KINDS: tuple[Kind, ...] = Kind.__args__  # type: ignore[attr-defined]
RTOL, ATOL = 1e-5, 1e-8
MOST_NUMBERS = 16_000_000  # of one field and side that are compared
CLOSE = 2e-3  # residual over the benchmark's spread below which a transform explains the difference


@dataclass(frozen=True, slots=True)
class Difference:
    """One way in which a field differs from the benchmark's."""

    field: str
    kind: Kind
    words: str  # what was measured, and the likely cause
    value: float | None = None


@dataclass(frozen=True, slots=True)
class Compared:
    """What came of holding two folders of batches against each other."""

    fields: tuple[str, ...]  # compared, in both
    batches: int
    numbers: int
    differences: tuple[Difference, ...]
    where: tuple[Place, ...] = ()

    def of(self, *kinds: str) -> list[Difference]:
        """Return the differences of these kinds."""
        return [d for d in self.differences if d.kind in kinds]


def compare(
    mine: Path,
    theirs: Path,
    mine_only: frozenset[str] | None = None,
    theirs_only: frozenset[str] | None = None,
) -> Compared | None:
    """Compare two folders (or files) of .npy and .npz; None where either side holds no array.

    `mine_only` and `theirs_only` name the files that count, relative to their folders. Raises RunUnreadable.
    """
    a, b = _fields(mine, mine_only), _fields(theirs, theirs_only)
    if not a or not b:
        return None
    a, b = _matched(a, b)
    both = [n for n in a if n in b]
    found: list[Difference] = []
    for name in sorted(set(a) ^ set(b)):
        side = "the run" if name in b else "the benchmark"
        found.append(Difference(name, "missing-field", f"{name} is missing in {side}"))
    numbers = 0
    for name in both:
        if len(a[name]) != len(b[name]):
            words = f"{name}: {len(a[name])} batches here, {len(b[name])} in the benchmark"
            found.append(Difference(name, "count", words, float(len(a[name]))))
        mine_all, theirs_all = _stacked(a[name]), _stacked(b[name])
        numbers += int(mine_all.size)
        found += _one(name, mine_all, theirs_all)
    places = tuple(Place(a[n][0].file.path) for n in both)
    batches = max((min(len(a[n]), len(b[n])) for n in both), default=0)
    return Compared(tuple(both), batches, numbers, tuple(found), places)


# ---------------------------------------------------------------------------------------------- fields


def _fields(path: Path, only: frozenset[str] | None) -> dict[str, list[arrays.Field]]:
    files, _ = walk(path, limit=100_000)
    files = [f for f in files if only is None or f.path in only]
    found: dict[str, list[arrays.Field]] = defaultdict(list)
    for file in sorted((f for f in files if f.suffix in (".npy", ".npz")), key=lambda f: _natural(f.path)):
        for one in _readable(file):
            found[_field_name(one)].append(one)
    return dict(found)


def _readable(file: RunFile) -> Iterator[arrays.Field]:
    try:
        for one in arrays.fields(file):
            if not isinstance(one, tuple) and one.data.dtype.kind in "biuf" and one.data.size:
                yield one
    except (arrays.Refused, OSError):
        return


def _field_name(one: arrays.Field) -> str:
    """The field without what numbers batches; a file that is called only "batch_3" holds "data"."""
    words = [w.lower() for w in re.split(r"[^A-Za-z]+", one.name) if w]
    noise = {"batch", "step", "iter", "rank", "epoch", "npu", "gpu", "sample", "ms", "torch", "tf", "pt"}
    kept = [w for w in words if w not in noise]
    return "_".join(kept) or "data"


def _natural(text: str) -> list[tuple[int, int | str]]:
    return [(0, int(p)) if p.isdigit() else (1, p) for p in re.split(r"(\d+)", text)]


def _matched(
    a: dict[str, list[arrays.Field]], b: dict[str, list[arrays.Field]]
) -> tuple[dict[str, list[arrays.Field]], dict[str, list[arrays.Field]]]:
    """Call fields alike that only differ in name, where the roles leave one choice."""
    lone_a, lone_b = [n for n in a if n not in b], [n for n in b if n not in a]
    for role in (naming.is_label, naming.is_mask, naming.is_input):
        mine, theirs = [n for n in lone_a if role(n)], [n for n in lone_b if role(n)]
        if len(mine) == len(theirs) == 1:
            b = {mine[0] if n == theirs[0] else n: v for n, v in b.items()}
            lone_a.remove(mine[0])
            lone_b.remove(theirs[0])
    if len(lone_a) == len(lone_b) == 1:
        b = {lone_a[0] if n == lone_b[0] else n: v for n, v in b.items()}
    return a, b


def _stacked(some: Sequence[arrays.Field]) -> Any:
    """The batches of a field one after the other, as many as the bound allows, of the first one's shape."""
    first = some[0].data
    kept, left = [], MOST_NUMBERS
    for one in some:
        data = one.data
        if data.ndim != first.ndim or data.shape[1:] != first.shape[1:]:
            continue
        if data.size > left:
            data = data[: max(1, left // max(1, data[0].size))] if data.ndim else data
        kept.append(np.asarray(data))
        left -= data.size
        if left <= 0:
            break
    return np.concatenate(kept) if first.ndim else np.array([k[()] for k in kept])


# ------------------------------------------------------------------------------------------ one field


def _one(name: str, a: Any, b: Any) -> list[Difference]:
    found: list[Difference] = []
    if a.dtype != b.dtype:
        words = f"{name}: element type {a.dtype} here, {b.dtype} in the benchmark"
        found.append(Difference(name, "dtype", words))
    integers = a.dtype.kind in "iub" and b.dtype.kind in "iub"
    tokens = integers and a.ndim <= 2 and b.ndim <= 2
    x, y = a.astype(np.float64), b.astype(np.float64)
    if tokens and naming.is_label(name):
        return found + _labels(name, x.reshape(len(x), -1), y.reshape(len(y), -1))
    if x.shape[1:] != y.shape[1:]:
        shaped = _shapes(name, x, y)
        if shaped is None:
            return found
        difference, x, y = shaped
        found.append(difference)
        if difference.kind in ("size", "crop", "padding"):
            return found
    rows = min(len(x), len(y))
    if len(x) != len(y):
        words = f"{name}: {len(x)} samples here, {len(y)} in the benchmark; the first {rows} are compared"
        found.append(Difference(name, "count", words, float(len(x))))
        x, y = x[:rows], y[:rows]
    return found + _values(name, x, y, whole=a.dtype.kind in "iub" and tokens)


def _shapes(name: str, x: Floats, y: Floats) -> tuple[Difference, Floats, Floats] | None:
    here, there = "x".join(map(str, x.shape[1:])), "x".join(map(str, y.shape[1:]))
    said = f"{name}: {here} per sample here, {there} in the benchmark"
    if x.ndim == y.ndim == 4:
        for order, words in (((0, 3, 1, 2), "NHWC here, NCHW"), ((0, 2, 3, 1), "NCHW here, NHWC")):
            turned = x.transpose(order)
            if turned.shape[1:] == y.shape[1:] and x.shape[1:] != turned.shape[1:]:
                return Difference(name, "layout", f"{said}: {words} in the benchmark"), turned, y
        cut = _crop(x, y)
        if cut is not None:
            return Difference(name, "crop", f"{said}: {cut}"), x, y
        words = f"{said}: resized or cropped to another size"
        return Difference(name, "size", words), x, y
    if x.ndim == y.ndim == 2 and len(x) == len(y) and _tokens(x) and _tokens(y):
        if all(
            np.array_equal(_stripped(p, _pad(x)), _stripped(q, _pad(y))) for p, q in zip(x, y, strict=True)
        ):
            words = f"{said}: the same content, padded to another length"
            return Difference(name, "padding", words, float(x.shape[1])), x, y
        return Difference(name, "size", f"{said}: cut or padded to another length"), x, y
    return Difference(name, "size", said), x, y


def _crop(x: Floats, y: Floats) -> str | None:
    """Whether one is the middle of the other."""
    for channels_last in (False, True):
        h, w = (1, 2) if channels_last else (2, 3)
        for small, large, words in (
            (x, y, "the middle of the benchmark's"),
            (y, x, "the benchmark's is the middle"),
        ):
            if small.shape[h] > large.shape[h] or small.shape[w] > large.shape[w]:
                continue
            if small.shape[3 if channels_last else 1] != large.shape[3 if channels_last else 1]:
                continue
            top, left = (large.shape[h] - small.shape[h]) // 2, (large.shape[w] - small.shape[w]) // 2
            rows, columns = slice(top, top + small.shape[h]), slice(left, left + small.shape[w])
            rest = large[:, rows, columns] if channels_last else large[:, :, rows, columns]
            n = min(len(small), len(rest))
            if rest[:n].shape == small[:n].shape and np.allclose(small[:n], rest[:n], RTOL, 1e-6):
                return f"{words} (a centre crop)"
    return None


def _tokens(x: Floats) -> bool:
    return bool((x == np.rint(x)).all())


def _pad(x: Floats) -> float:
    """The value that rows begin or end with most often."""
    found, counts = np.unique(np.concatenate([x[:, 0], x[:, -1]]), return_counts=True)
    return float(found[counts.argmax()])


def _stripped(row: Floats, pad: float) -> Floats:
    kept = np.flatnonzero(row != pad)
    return row[kept[0] : kept[-1] + 1] if len(kept) else row[:0]


def _values(name: str, x: Floats, y: Floats, *, whole: bool) -> list[Difference]:
    if np.allclose(x, y, RTOL, ATOL, equal_nan=True):
        return []
    bad = np.isnan(x).sum(), np.isnan(y).sum()
    if bad[0] != bad[1]:
        words = f"{name}: {bad[0]} missing values here, {bad[1]} in the benchmark"
        return [Difference(name, "values", words, float(bad[0]))]
    x, y = np.nan_to_num(x), np.nan_to_num(y)
    spread = float(y.std()) or 1.0
    worst = float(np.abs(x - y).max())
    if worst <= 1e-3 * spread and not whole:
        words = (
            f"{name}: equal but for rounding (largest difference {worst:.3g}, "
            f"{worst / spread:.2g} of the spread): another element type or library on the way"
        )
        return [Difference(name, "rounding", words, worst)]
    for find in (_reordered, _padded_side, _columns, _transformed):
        found = find(name, x, y)
        if found:
            return found
    return [_unexplained(name, x, y, worst)]


def _reordered(name: str, x: Floats, y: Floats) -> list[Difference]:
    if len(x) < 2:
        return []
    scale = float(np.abs(y).max()) or 1.0
    keys = [[hash(np.rint(r / scale * 1e5).astype(np.int64).tobytes()) for r in side] for side in (x, y)]
    met = len(set(keys[0]) & set(keys[1])) / len(set(keys[1]))
    if sorted(keys[0]) == sorted(keys[1]):
        moved = sum(p != q for p, q in zip(*keys, strict=True))
        words = (
            f"{name}: the same samples in another order ({moved} of {len(x)} elsewhere): shuffling or seed"
        )
        return [Difference(name, "order", words, moved / len(x))]
    if met >= 0.2 and len(x) >= 5:
        words = f"{name}: {met:.0%} of the benchmark's samples are here, the others are not: other samples"
        return [Difference(name, "other-samples", words, met)]
    return []


def _padded_side(name: str, x: Floats, y: Floats) -> list[Difference]:
    if x.ndim != 2 or not _tokens(x) or not _tokens(y):
        return []
    pads = _pad(x), _pad(y)
    if not all(
        np.array_equal(_stripped(p, pads[0]), _stripped(q, pads[1])) for p, q in zip(x, y, strict=True)
    ):
        return []
    if pads[0] != pads[1]:
        words = f"{name}: padded with {pads[0]:g} here, with {pads[1]:g} in the benchmark"
    else:
        words = f"{name}: the same content, padded on the other side"
    return [Difference(name, "padding", words)]


def _columns(name: str, x: Floats, y: Floats) -> list[Difference]:
    if x.ndim != 2 or not 2 <= x.shape[1] <= 2000 or len(x) < 3:
        return []
    keys = [[hash(np.round(c, 6).tobytes()) for c in side.T] for side in (x, y)]
    if keys[0] != keys[1] and sorted(keys[0]) == sorted(keys[1]):
        moved = sum(p != q for p, q in zip(*keys, strict=True))
        return [
            Difference(name, "column-order", f"{name}: {moved} columns stand in another order", float(moved))
        ]
    return []


def _transformed(name: str, x: Floats, y: Floats) -> list[Difference]:
    """Try the ways in which pictures are turned, each followed by a scale and offset per channel."""
    axis = _channel_axis(x)
    best: tuple[float, list[Difference]] | None = None
    for kind, words, turned in _turns(x, axis):
        slope, offset, residual = _fit(turned, y, axis)
        if residual > CLOSE:
            continue
        found = [Difference(name, kind, f"{name}: {words}")] if kind else []
        found += _scaling(name, turned, y, slope, offset)
        if found and (best is None or (len(found), residual) < (len(best[1]), best[0])):
            best = residual, found
        if best is not None and len(best[1]) == 1:
            break
    return best[1] if best else []


def _channel_axis(x: Floats) -> int | None:
    if x.ndim == 4:
        return next((i for i in (1, 3) if x.shape[i] in arrays.CHANNELS), None)
    return 1 if x.ndim == 2 and x.shape[1] <= 512 else None


def _turns(x: Floats, axis: int | None) -> Iterator[tuple[Kind | None, str, Floats]]:
    yield None, "", x
    if x.ndim != 4 or axis is None:
        return
    h, w = (2, 3) if axis == 1 else (1, 2)
    if x.shape[axis] == 3:
        yield (
            "channel-order",
            "channels in reverse order: BGR on one side, RGB on the other",
            np.flip(x, axis),
        )
    yield "flip", "mirrored left to right", np.flip(x, w)
    yield "flip", "turned upside down", np.flip(x, h)
    if x.shape[h] == x.shape[w]:
        yield "layout", "height and width are exchanged", np.swapaxes(x, h, w)


def _fit(x: Floats, y: Floats, axis: int | None) -> tuple[Floats, Floats, float]:
    """Least squares y = slope * x + offset for each channel; the worst channel's residual over its spread."""
    rest = tuple(i for i in range(x.ndim) if i != axis)
    mx, my = x.mean(axis=rest, keepdims=True), y.mean(axis=rest, keepdims=True)
    var = ((x - mx) ** 2).mean(axis=rest, keepdims=True)
    both = ((x - mx) * (y - my)).mean(axis=rest, keepdims=True)
    flat = var <= 1e-24
    slope = np.where(flat, 1.0, both / np.where(flat, 1.0, var))
    offset = my - slope * mx
    off = np.sqrt(((y - slope * x - offset) ** 2).mean(axis=rest))
    spread = y.std(axis=rest)
    overall = float(y.std()) or 1.0
    residual = float(np.max(off / np.maximum(spread, 1e-3 * overall)))
    return slope.reshape(-1), offset.reshape(-1), residual


def _scaling(name: str, x: Floats, y: Floats, slope: Floats, offset: Floats) -> list[Difference]:
    """Say which scale and offset lie between the two sides, and which constants make them."""
    typical = float(y.std()) or 1.0
    if np.allclose(slope, 1.0, rtol=2e-3) and bool((np.abs(offset) <= 5e-3 * typical).all()):
        return []
    even = np.allclose(slope, slope[0], rtol=2e-3) and bool((np.abs(offset) <= 5e-3 * typical).all())
    if even and np.isclose(slope[0], 1 / 255, rtol=5e-3):
        words = f"{name}: 255 times the benchmark's: the division by 255 is missing here"
        return [Difference(name, "scale", words, 255.0)]
    if even and np.isclose(slope[0], 255.0, rtol=5e-3):
        words = f"{name}: 1/255 of the benchmark's: divided by 255 here (or twice) and not there"
        return [Difference(name, "scale", words, 1 / 255)]
    named = constants_of(x, y, slope, offset)
    if named:
        words = f"{name}: normalised otherwise: {named[0]} here, {named[1]} in the benchmark"
        return [Difference(name, "normalisation", words)]
    if even:
        words = f"{name}: {1 / slope[0]:.4g} times the benchmark's"
        return [Difference(name, "scale", words, float(1 / slope[0]))]
    mean, std = _shown(x.reshape(-1).mean()), _shown(x.std())
    words = (
        f"{name}: normalised with other constants: the benchmark's is this times {_list(slope)} plus "
        f"{_list(offset)} (mean {mean}, deviation {std} here; {_shown(y.mean())}, {_shown(y.std())} there)"
    )
    return [Difference(name, "normalisation", words)]


def _unexplained(name: str, x: Floats, y: Floats, worst: float) -> Difference:
    spread = float(y.std()) or 1.0
    flat = [side.reshape(-1) - side.mean() for side in (x, y)]
    norm = float(np.linalg.norm(flat[0]) * np.linalg.norm(flat[1]))
    alike = float(np.dot(flat[0], flat[1])) / norm if norm else 0.0
    said = f"correlation {alike:.3f}, largest difference {worst:.3g}, {worst / spread:.2g} of the spread"
    stats = (
        f"mean {_shown(x.mean())} and deviation {_shown(x.std())} here, "
        f"{_shown(y.mean())} and {_shown(y.std())} in the benchmark"
    )
    if x.ndim == 4 and alike >= 0.9:
        words = f"{name}: alike and not equal ({said}): another decoder, interpolation, crop or colour step"
        return Difference(name, "resampling", words, worst)
    if alike >= 0.9:
        off = float(np.mean(~np.isclose(x, y, RTOL, ATOL)))
        words = f"{name}: {off:.1%} of the values differ ({said}; {stats})"
        return Difference(name, "values", words, worst)
    words = f"{name}: nothing in common ({said}; {stats}): other samples, or random augmentation is on"
    return Difference(name, "other-samples", words, worst)


def _labels(name: str, x: Floats, y: Floats) -> list[Difference]:
    if x.shape == y.shape and np.array_equal(x, y):
        return []
    if x.shape != y.shape:
        here, there = "x".join(map(str, x.shape)), "x".join(map(str, y.shape))
        return [Difference(name, "size", f"{name}: {here} labels here, {there} in the benchmark")]
    gaps = np.unique(x - y)
    if len(gaps) == 1:
        words = f"{name}: every label is {gaps[0]:+g} against the benchmark's: numbering begins elsewhere"
        return [Difference(name, "label-offset", words, float(gaps[0]))]
    if x.shape[1] == 1:
        pairs = {(p, q) for p, q in zip(x[:, 0].tolist(), y[:, 0].tolist(), strict=True)}
        one = len({p for p, _ in pairs}) == len({q for _, q in pairs}) == len(pairs)
        if one and len(pairs) > 1 and len(x) >= 3 * len(pairs):
            moved = ", ".join(f"{p:g} for {q:g}" for p, q in sorted(pairs)[:4] if p != q)
            words = f"{name}: the classes are numbered otherwise ({moved})"
            return [Difference(name, "label-numbering", words)]
    off = float(np.mean((x != y).any(axis=1)))
    if sorted(map(tuple, x.tolist())) == sorted(map(tuple, y.tolist())):
        words = f"{name}: the same labels in another order ({off:.0%} elsewhere): shuffling or seed"
        return [Difference(name, "order", words, off)]
    return [Difference(name, "values", f"{name}: {off:.0%} of the labels differ", off)]


def _shown(value: Any) -> str:
    return f"{float(value):.4g}"


def _list(values: Floats) -> str:
    shown = ", ".join(_shown(v) for v in values[:4])
    return f"({shown}{', ...' if len(values) > 4 else ''})"
