"""Two folders of batches dumped before the model: what differs, field by field, and what makes that.

The MindSpore guide's step: save the output of the data pipeline as .npy and hold it against the benchmark's
with numpy.allclose. Its defaults (rtol 1e-5, atol 1e-8) are what "equal" means here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ....engine.model import Place
from ...run import Floats
from .. import naming
from . import boxes, labels, order, pictures, reading, series, tables, tokens
from .fitting import CLOSE, alike, clipped, function, line, scaled, shown
from .model import ATOL, RTOL, Compared, Difference

Finder = Callable[[str, Floats, Floats], list[Difference]]
OTHER = 0.3  # correlation below which two sides have nothing in common
FEW = 2_000_000  # numbers of a field that is kept beside the others, for what fields tell of each other
MOVING = ("padding", "truncation", "special-tokens", "other-samples")  # after these, positions are others


@dataclass(slots=True)
class _State:
    """What the fields looked at so far tell of those that follow."""

    found: list[Difference] = field(default_factory=list)
    order: order.Order | None = None
    ids: tuple[Floats, Floats] | None = None  # tokens of run and benchmark
    ids_equal: bool = False
    ids_moved: bool = False
    inputs_stay: bool = False  # an input holds the same samples in the same order on both sides
    inputs_other: bool = False


def compare(
    mine: Path,
    theirs: Path,
    mine_only: frozenset[str] | None = None,
    theirs_only: frozenset[str] | None = None,
) -> Compared | None:
    """Compare two folders (or files) of .npy and .npz; None where either side holds no array.

    `mine_only` and `theirs_only` name the files that count, relative to their folders. Raises RunUnreadable.
    """
    a, b = reading.read(mine, mine_only), reading.read(theirs, theirs_only)
    if not a or not b:
        return None
    a, b = reading.matched(a, b)
    both = sorted((n for n in a if n in b), key=_turn)
    state = _State()
    for name in sorted(set(a) ^ set(b)):
        side = "the run" if name in b else "the benchmark"
        state.found.append(Difference(name, "missing-field", f"{name} is missing in {side}"))
    numbers = 0
    state.found += reading.unturned(a, b)
    state.found += _counts({n: (a[n], b[n]) for n in both})
    with np.errstate(all="ignore"):
        state.order = _order(state, both, a, b)
    for name in both:
        x, y = reading.stacked(a[name]), reading.stacked(b[name])
        numbers += int(x.size)
        with np.errstate(all="ignore"):  # fits of odd numbers end in NaN, which explains nothing
            state.found += _one(name, x, y, state)
    places = tuple(Place(a[n][0].file.path) for n in both)
    batches = max((min(len(a[n]), len(b[n])) for n in both), default=0)
    shown_fields = tuple(n for n in a if n in b)
    return Compared(shown_fields, batches, numbers, tuple(_joined(state.found)), places)


def _turn(name: str) -> tuple[int, str]:
    """Inputs first: what is said of masks and labels depends on them."""
    late = naming.is_label(name) or boxes.is_boxes(name, (1, 4))
    return (2 if late else 1 if naming.is_mask(name) or _beside_ids(name) else 0), name


def _beside_ids(name: str) -> str:
    """What a field for each position holds beside the ids themselves: "segment" or "position" ids."""
    lowered = name.lower()
    if "token_type" in lowered or "segment" in lowered:
        return "segment"
    return "position" if "position" in lowered else ""


def _joined(found: Sequence[Difference]) -> list[Difference]:
    """Say once what is true of several fields."""
    groups: dict[tuple[str, str], list[Difference]] = defaultdict(list)
    for d in found:
        groups[d.kind, d.words.removeprefix(f"{d.field}: ")].append(d)
    if any("though the inputs are in another" in d.words for d in found):
        groups = {key: some for key, some in groups.items() if key[0] != "order"}
    return [
        some[0]
        if len(some) == 1
        else replace(some[0], words=f"{', '.join(dict.fromkeys(d.field for d in some))}: {words}")
        for (_, words), some in groups.items()
    ]


# ----------------------------------------------------------------------------------- number and order


def _counts(fields: dict[str, tuple[Any, Any]]) -> list[Difference]:
    """Other numbers of batches or samples, or other batch sizes."""
    found = []
    for name, (a, b) in fields.items():
        rows = [sum(len(f.data) if f.data.ndim else 1 for f in side) for side in (a, b)]
        first = [len(side[0].data) if side[0].data.ndim else 1 for side in (a, b)]
        if len(a) == len(b) and rows[0] == rows[1]:
            continue
        said = f"{len(a)} batches, {rows[0]} samples here, {len(b)} and {rows[1]} in the benchmark"
        if first[0] != first[1]:
            said += f" (batches of {first[0]} against {first[1]})"
        if rows[0] != rows[1]:
            said += f"; the first {min(rows)} samples are compared"
        found.append(Difference(name, "count", f"{name}: {said}", float(rows[0])))
    return found


def _order(state: _State, names: Sequence[str], a: reading.Fields, b: reading.Fields) -> order.Order | None:
    """The order of the benchmark's samples among the run's, told by the field whose rows differ most."""
    inputs = [n for n in names if _turn(n)[0] == 0]
    best: tuple[int, order.Order, str] | None = None
    for name in inputs or list(names):
        x, y = (np.asarray(s, dtype=np.float64) for s in (reading.stacked(a[name]), reading.stacked(b[name])))
        if x.shape != y.shape or np.allclose(x, y, RTOL, ATOL, equal_nan=True):
            continue
        found, _ = order.exact(x, y)
        if found is None and inputs and x.dtype.kind == "f" and x.ndim >= 2:
            found = order.near(x, y)
        if found is not None and (best is None or len(x) > best[0]):
            best = len(x), found, name
    if best is None or (not inputs and len(names) > 1):
        return None
    rows = {reading.stacked(a[n]).shape[:1] for n in inputs}
    if len(rows) > 1:
        return None
    moved = order.moved(best[1])
    fields = ", ".join(inputs) if inputs else best[2]
    words = f"{fields}: the same samples in another order ({moved} of {best[0]} elsewhere): shuffling or seed"
    state.found.append(Difference(best[2], "order", words, moved / best[0]))
    return best[1]


# ------------------------------------------------------------------------------------------ one field


def _one(name: str, a: Any, b: Any, state: _State) -> list[Difference]:
    found: list[Difference] = []
    if a.dtype != b.dtype and not _whole_and_equal(a, b):
        words = f"{name}: element type {a.dtype} here, {b.dtype} in the benchmark"
        found.append(Difference(name, "dtype", words))
    coarse = _coarsest(a.dtype, b.dtype)
    integers = a.dtype.kind in "iub" and b.dtype.kind in "iub"
    x, y = a.astype(np.float64), b.astype(np.float64)
    if x.ndim and y.ndim:
        rows = min(len(x), len(y))
        x, y = x[:rows], y[:rows]
    else:
        rows, x, y = 1, x.reshape(1, -1), y.reshape(1, -1)
    found += _infinite(name, x, y)
    raw = x
    if state.order is not None and len(state.order) == rows and len(a) == len(b):
        x = x[state.order]
    if naming.is_label(name) or (integers and _is_map(name, x.shape)):
        return found + _label(name, raw, x, y, state)
    if naming.is_mask(name):
        return found + _mask(name, x, y, state)
    if boxes.is_boxes(name, x.shape) and x.shape == y.shape and np.allclose(x, y, RTOL, ATOL):
        return found + _left_behind(name, x, state)
    if integers and _beside_ids(name):
        return found + _beside(name, x, y, state)
    ids = integers and x.ndim == y.ndim == 2
    told = _explained(name, x, y, ids=ids, coarse=coarse)
    if ids and x.size <= FEW:
        state.ids = x, y
        state.ids_equal = x.shape == y.shape and np.array_equal(x, y)
        state.ids_moved = any(d.kind in MOVING for d in told)
    other = any(d.kind == "other-samples" for d in told)
    state.inputs_other |= other
    same = state.order is None and not any(d.kind in ("other-samples", "values") for d in told)
    state.inputs_stay |= same and rows > 1 and x.shape == y.shape and bool(np.ptp(y, axis=0).any())
    if found and all(d.kind == "rounding" for d in told) and x.shape == y.shape:
        precise = f"{found[0].words}; equal within its precision"
        found, told = ([replace(found[0], words=precise)] if told else found), []
    return found + told


def _whole_and_equal(a: Any, b: Any) -> bool:
    """Whether both are the same whole numbers: which type holds them is each framework's habit."""
    return a.dtype.kind in "iub" and b.dtype.kind in "iub" and np.array_equal(a, b)


def _infinite(name: str, x: Floats, y: Floats) -> list[Difference]:
    """Say where infinite values differ, and count them as missing from here on."""
    here, there = np.isinf(x), np.isinf(y)
    some = int(here.sum()), int(there.sum())
    x[here], y[there] = np.nan, np.nan
    if some[0] == some[1]:
        return []
    words = f"{name}: {some[0]} infinite values here, {some[1]} in the benchmark"
    return [Difference(name, "values", words, float(some[0]))]


def _is_map(name: str, shape: tuple[int, ...]) -> bool:
    """Whether whole numbers are a class for each pixel."""
    words = name.lower()
    return len(shape) in (3, 4) and ("mask" in words or "seg" in words) and shape[-1] >= 4


def _coarsest(*types: np.dtype[Any]) -> float:
    """The larger step between 1 and the next number of two element types, 0 for whole numbers."""
    return max((float(np.finfo(t).eps) for t in types if t.kind == "f"), default=0.0)


def _explained(name: str, x: Floats, y: Floats, *, ids: bool, coarse: float) -> list[Difference]:
    found: list[Difference] = []
    if ids:
        if x.shape == y.shape and np.array_equal(x, y):
            return []
        told = tokens.explain(name, x, y)
        if told:
            return told
        if x.shape == y.shape and _same_columns(x, y):
            return tables.explain(name, x, y)
        return [_other_rows(name, x, y)]
    if x.shape[1:] != y.shape[1:] or x.ndim != y.ndim:
        found, x, y = _shaped(name, np.nan_to_num(x), np.nan_to_num(y))
        if x.shape != y.shape or any(
            d.kind in ("size", "crop", "truncation", "missing-field") for d in found
        ):
            return found
    if boxes.is_boxes(name, x.shape) and not np.allclose(x, y, RTOL, ATOL):
        told = boxes.explain(name, x, y)
        if told:
            return found + told
    return found + _values(name, x, y, coarse)


def _same_columns(x: Floats, y: Floats) -> bool:
    return bool(np.array_equal(np.sort(x.sum(axis=0)), np.sort(y.sum(axis=0))))


def _shaped(name: str, x: Floats, y: Floats) -> tuple[list[Difference], Floats, Floats]:
    here, there = ("x".join(map(str, s.shape[1:])) or "one number" for s in (x, y))
    said = f"{name}: {here} per sample here, {there} in the benchmark"
    if x.ndim == y.ndim == 4 and pictures.axis_of_channels(x.shape) and pictures.axis_of_channels(y.shape):
        return pictures.shapes(name, said, x, y)
    if x.ndim == y.ndim == 2 and not (series.is_series(name, x.shape) and series.is_series(name, y.shape)):
        shaped = tables.shapes(name, said, x, y)
        if shaped.kind != "size":
            return [shaped], x, y
    return series.shapes(name, said, x, y)


def _values(name: str, x: Floats, y: Floats, coarse: float) -> list[Difference]:
    if np.allclose(x, y, RTOL, ATOL, equal_nan=True):
        return []
    if (np.isnan(x) != np.isnan(y)).any():
        return [_missing(name, x, y)]
    x, y = np.nan_to_num(x), np.nan_to_num(y)
    spread = float(y.std()) or 1.0
    worst = float(np.abs(x - y).max())
    rounded = _rounded(name, x, y, worst, spread, coarse)
    if rounded:
        return rounded
    constant = _constant(name, x, y)
    if constant:
        return constant
    for find in _finders(name, x):
        found = find(name, x, y)
        if found:
            return found
    return [_unexplained(name, x, y, worst)]


def _finders(name: str, x: Floats) -> list[Finder]:
    if x.ndim == 4 and pictures.axis_of_channels(x.shape) is not None:
        return [pictures.explain, function, _partly]
    if series.is_series(name, x.shape):
        return [_partly, series.explain]
    if x.ndim == 2:
        return [tables.explain, series.explain, _partly]
    return [_scaled, clipped, function, _partly]


def _scaled(name: str, x: Floats, y: Floats) -> list[Difference]:
    fit = line(x, y)
    return scaled(name, x, y, fit) if fit.residual <= CLOSE else []


def _missing(name: str, x: Floats, y: Floats) -> Difference:
    bad = np.isnan(x), np.isnan(y)
    either = bad[0] | bad[1]
    rest = np.allclose(x[~either], y[~either], RTOL, ATOL)
    said = f"{name}: {int(bad[0].sum())} values are missing (NaN) here, {int(bad[1].sum())} in the benchmark"
    if rest:
        other = y if bad[0].any() else x
        held = np.unique(other[either & ~np.isnan(other)])
        count = int((either & ~np.isnan(other)).sum())
        one = len(held) == 1 and count > 1
        said += f": filled with {shown(held[0])} on the other side" if one else ""
        said += "; all others are equal"
        if x.ndim > 2 and not one:  # of pictures and signals nothing is missing that could be filled
            return Difference(name, "values", said, float(bad[0].sum()))
    return Difference(name, "fill", said, float(bad[0].sum()))


def _rounded(name: str, x: Floats, y: Floats, worst: float, spread: float, coarse: float) -> list[Difference]:
    """Equal within what the coarser element type holds."""
    for side, other, where in ((x, y, "here"), (y, x, "in the benchmark")):
        if np.array_equal(side, np.rint(other)) and not np.array_equal(other, np.rint(other)) and spread > 1:
            words = f"{name}: rounded to whole numbers {where}"
            return [Difference(name, "rounding", words, worst)]
    if worst <= 8 * coarse * (float(np.abs(y).max()) or 1.0) and coarse >= 1e-4:
        said = f"equal within the precision of the coarser element type (largest difference {worst:.3g})"
        return [Difference(name, "rounding", f"{name}: {said}", worst)]
    for eps, words in ((2**-7, "bfloat16"), (2**-10, "float16")):
        for side, where in ((x, "here"), (y, "in the benchmark")):
            off = np.abs(x - y) <= eps * np.maximum(np.abs(x), np.abs(y)) + 1e-7
            if off.all() and _fits(side, words):
                return [
                    Difference(
                        name,
                        "rounding",
                        f"{name}: the numbers are those of {words} {where}: equal within its precision",
                        worst,
                    )
                ]
    if worst <= 1e-3 * spread:
        words = (
            f"{name}: equal but for rounding (largest difference {worst:.3g}, "
            f"{worst / spread:.2g} of the spread): another element type or library on the way"
        )
        return [Difference(name, "rounding", words, worst)]
    return []


def _fits(x: Floats, element: str) -> bool:
    """Whether numbers lie on the grid of an element type; whole numbers do on all and tell nothing."""
    if np.array_equal(x, np.rint(x)):
        return False
    single = x.astype(np.float32)
    if element == "float16":
        with np.errstate(over="ignore"):
            return bool(np.array_equal(single, single.astype(np.float16).astype(np.float32)))
    return not bool((single.view(np.uint32) & 0xFFFF).any())


def _constant(name: str, x: Floats, y: Floats) -> list[Difference]:
    for side, other, where, there in ((x, y, "here", "in the benchmark"), (y, x, "in the benchmark", "here")):
        if side.std() == 0 and other.std() > 0:
            words = f"{name}: every value is {shown(side.reshape(-1)[0])} {where}, not {there}"
            return [Difference(name, "values", words, 1.0)]
    return []


def _partly(name: str, x: Floats, y: Floats) -> list[Difference]:
    """Many samples are equal and the others are not."""
    if len(x) < 5 or x.ndim < 2:
        return []
    equal = np.isclose(x, y, 1e-4, 1e-6).reshape(len(x), -1).all(axis=1)
    _, met = order.exact(x, y)
    share = max(met, float(equal.mean()))
    if not 0.2 <= share < 1:
        return []
    words = f"{name}: {share:.0%} of the benchmark's samples are here, the others are not: other samples"
    return [Difference(name, "other-samples", words, share)]


def _unexplained(name: str, x: Floats, y: Floats, worst: float) -> Difference:
    spread = float(y.std()) or 1.0
    close = alike(x, y)
    said = f"correlation {close:.3f}, largest difference {worst:.3g}, {worst / spread:.2g} of the spread"
    stats = (
        f"mean {shown(x.mean())} and deviation {shown(x.std())} here, "
        f"{shown(y.mean())} and {shown(y.std())} in the benchmark"
    )
    if abs(close) >= OTHER:
        off = float(np.mean(~np.isclose(x, y, RTOL, ATOL)))
        words = (
            f"{name}: {off:.1%} of the values differ ({said}; {stats}); no single step was found "
            "that explains it"
        )
        return Difference(name, "values", words, worst)
    words = (
        f"{name}: nothing in common, place by place ({said}; {stats}): other samples, or random "
        "augmentation is on"
    )
    return Difference(name, "other-samples", words, worst)


def _other_rows(name: str, x: Floats, y: Floats) -> Difference:
    """Token ids that nothing explains."""
    n = min(x.shape[1], y.shape[1])
    off = float(np.mean(x[:, :n] != y[:, :n]))
    rows = float(np.mean([np.array_equal(p, q) for p, q in zip(x[:, :n], y[:, :n], strict=True)]))
    common = len(np.intersect1d(x, y)) / max(1, len(np.unique(y)))
    size = "" if x.shape == y.shape else f"; {x.shape[1]} ids per sample here, {y.shape[1]} in the benchmark"
    said = (
        f"{name}: {off:.0%} of the ids differ, {rows:.0%} of the rows are equal, {common:.0%} of the "
        f"benchmark's ids occur here{size}"
    )
    if off > 0.5 and not rows:
        return Difference(name, "other-samples", f"{said}: other samples or another tokenizer", off)
    return Difference(name, "values", said, off)


# ------------------------------------------------------------------------------ masks, segments, labels


def _mask(name: str, x: Floats, y: Floats, state: _State) -> list[Difference]:
    if x.shape == y.shape and np.array_equal(x, y):
        if state.ids is None or not state.ids_moved or state.ids[0].shape != x.shape:
            return []
    fits = _marks_padding(x, state, 0), _marks_padding(y, state, 1)
    if fits[0] and fits[1] is not None and fits[1] == fits[0]:
        return []  # both follow their ids: what differs is the ids'
    if x.shape != y.shape:
        if state.ids_moved and None in fits:
            return []
        here, there = ("x".join(map(str, s.shape[1:])) for s in (x, y))
        if state.ids is None or not state.ids_moved:
            return [Difference(name, "size", f"{name}: {here} per sample here, {there} in the benchmark")]
    if fits[0] is False and fits[1] and state.ids is not None and state.ids_moved:
        over = int(((x > 0) & (state.ids[0] == tokens.pad_of(state.ids[0]))).sum())
        words = (
            f"{name}: does not follow the padding of the ids here ({over} padded positions are "
            "attended), as it does in the benchmark"
        )
        return [Difference(name, "mask", words, float(over))]
    if x.shape != y.shape or state.ids_moved or state.inputs_other:
        return []
    found = tokens.masks(name, x, y, state.ids[0] if state.ids is not None else None)
    return found or [Difference(name, "mask", f"{name}: {np.mean(x != y):.1%} of the values differ")]


def _marks_padding(x: Floats, state: _State, side: int) -> bool | None:
    """Whether a mask is 1 where the ids are no padding; None where that cannot be told."""
    ids = state.ids[side] if state.ids is not None else None
    if ids is None or ids.shape != x.shape:
        return None
    pad = tokens.pad_of(ids)
    return (
        bool(np.array_equal(x, (ids != pad).astype(np.float64))) if pad is not None else bool((x == 1).all())
    )


def _beside(name: str, x: Floats, y: Floats, state: _State) -> list[Difference]:
    """Segment and position ids."""
    if x.shape != y.shape or state.ids_moved or state.inputs_other or np.array_equal(x, y):
        return []
    gaps = np.unique(x - y)
    if len(gaps) == 1:
        words = (
            f"{name}: every number is {gaps[0]:+g} against the benchmark's: they begin at "
            f"{x.min():g} here, at {y.min():g} there"
        )
        return [Difference(name, "mask", words, float(gaps[0]))]
    off = float(np.mean(x != y))
    held = [", ".join(f"{v:g}" for v in np.unique(s)[:4]) for s in (x, y)]
    said = f" ({held[0]} here, {held[1]} in the benchmark)" if _beside_ids(name) == "segment" else ""
    words = f"{name}: {off:.1%} of the {_beside_ids(name)} ids differ{said}"
    return [Difference(name, "mask", words, off)]


def _label(name: str, raw: Floats, x: Floats, y: Floats, state: _State) -> list[Difference]:
    """Labels; `x` stands in the order that the inputs tell, `raw` as it was."""
    if x.shape == y.shape and np.allclose(x, y, RTOL, ATOL, equal_nan=True):
        return _left_behind(name, x, state)
    if state.order is not None and raw.shape == y.shape and np.allclose(raw, y, RTOL, ATOL):
        words = (
            f"{name}: in the benchmark's order, though the inputs are in another: labels no longer "
            "belong to their samples"
        )
        return [Difference(name, "label-apart", words, order.moved(state.order) / len(x))]
    if state.inputs_other:
        return []
    if _per_position(x, y, state):
        return _token_labels(name, x, y, state)
    if x.ndim == 4 and 1 in x.shape[1:]:
        x, y = x.reshape(len(x), *_unit_free(x)), y.reshape(len(y), *_unit_free(y))
    turned = _turned_map(name, x, y) if x.ndim == 3 and x.shape == y.shape else []
    if turned:
        return turned
    found = labels.explain(name, *_flat(x, y))
    if any(
        d.kind in ("values", "label-shift") or (d.kind == "label-coding" and "other" in d.words)
        for d in found
    ):
        return [*(d for d in found if d.kind != "values"), *_apart(name, x, y, found, state)]
    return found


def _left_behind(name: str, x: Floats, state: _State) -> list[Difference]:
    """Maps and boxes that stand as in the benchmark, though the pictures are turned or moved."""
    moved = [d for d in state.found if d.kind in ("flip", "crop")]
    if not moved or not (x.ndim >= 3 or boxes.is_boxes(name, x.shape)):
        return []
    step = moved[0].words.removeprefix(f"{moved[0].field}: ")
    words = (
        f"{name}: as in the benchmark, though the inputs are not ({step}): labels no longer lie "
        "where the inputs show them"
    )
    return [Difference(name, "label-apart", words)]


def _turned_map(name: str, x: Floats, y: Floats) -> list[Difference]:
    """Maps of classes that are the benchmark's mirrored or turned."""
    for words, turned in pictures.turned(x[:, None]):
        if turned.shape[2:] == y.shape[1:] and np.array_equal(turned[:, 0], y):
            return [Difference(name, "flip", f"{name}: {words}")]
    return []


def _unit_free(x: Floats) -> list[int]:
    return [n for n in x.shape[1:] if n != 1]


def _flat(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Labels of one number each as [n, 1], whatever axes of one they have."""
    if x.shape != y.shape:
        return x, y
    sides = [s.reshape(len(s), 1) if s[0].size == 1 else s for s in (x, y)]
    return sides[0], sides[1]


def _apart(name: str, x: Floats, y: Floats, found: list[Difference], state: _State) -> list[Difference]:
    """The same labels elsewhere: apart from their inputs where those stand still, in another order else."""
    plain = [d for d in found if d.kind == "values"]
    if not plain or not order.same_rows(x, y):
        by = (
            order.turn(x.reshape(-1).tolist(), y.reshape(-1).tolist())
            if x[0].size == 1 and x.shape == y.shape
            else 0
        )
        if not plain or not by or not state.inputs_stay:
            return plain
    else:
        by = order.turn(x.reshape(-1).tolist(), y.reshape(-1).tolist()) if x[0].size == 1 else 0
    share = float(np.mean((x != y).reshape(len(x), -1).any(axis=1)))
    if not state.inputs_stay:
        words = f"{name}: the same labels in another order ({share:.0%} elsewhere): shuffling or seed"
        return [Difference(name, "order", words, share)]
    places = (
        f", {abs(by)} place{'s' * (abs(by) > 1)} {'further down' if by > 0 else 'further up'}" if by else ""
    )
    words = (
        f"{name}: the inputs stand in the same order and the labels do not ({share:.0%} "
        f"elsewhere{places}): labels no "
        "longer belong to their samples"
    )
    return [Difference(name, "label-apart", words, share)]


def _per_position(x: Floats, y: Floats, state: _State) -> bool:
    return state.ids is not None and x.shape == state.ids[0].shape and y.shape == state.ids[1].shape


def _token_labels(name: str, x: Floats, y: Floats, state: _State) -> list[Difference]:
    """Labels for each token: held against the ids of their own side where those differ between the sides."""
    assert state.ids is not None  # noqa: S101 - for the type checker: asked before
    if x.shape == y.shape and not state.ids_moved:
        return tokens.labels(name, x, y) or labels.explain(name, x, y)
    lags = [_lag(s, ids) for s, ids in zip((x, y), state.ids, strict=True)]
    if lags[0] is not None and lags[1] is not None and lags[0] != lags[1]:
        words = (
            f"{name}: labels stand {lags[0]} positions ahead of their ids here, {lags[1]} in the "
            "benchmark: shifted "
            "on one side alone, or twice where the model shifts by itself"
        )
        return [Difference(name, "label-shift", words, float(lags[0] - lags[1]))]
    shares = []
    for s, ids in zip((x, y), state.ids, strict=True):
        padded = ids == tokens.pad_of(ids)
        shares.append(float(np.isin(s[padded], tokens.IGNORED).mean()) if padded.any() else None)
    if None not in shares and abs((shares[0] or 0) - (shares[1] or 0)) > 0.5:
        words = (
            f"{name}: {shares[0]:.0%} of the padded positions are ignored here, {shares[1]:.0%} in "
            "the benchmark"
        )
        return [Difference(name, "ignored", words, shares[0])]
    return []


def _lag(x: Floats, ids: Floats) -> int | None:
    """By how many positions labels stand ahead of their ids; None where they are no ids at all."""
    for by in (0, 1, 2, -1):
        a, b = (x[:, : x.shape[1] - by], ids[:, by:]) if by >= 0 else (x[:, -by:], ids[:, :by])
        keep = ~np.isin(a, tokens.IGNORED)
        if keep.sum() >= 4 and float(np.mean(a[keep] == b[keep])) >= 0.95:
            return by
    return None
