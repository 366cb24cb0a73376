"""Rows of columns beside the benchmark's, [n, columns]: moved, lost, scaled, filled, transformed."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from ...run import Floats
from .fitting import CLOSE, clipped, function, line, scaled, shown
from .model import Difference, Kind

MOST_COLUMNS = 2000
SAME = 0.999  # correlation of two columns that are one up to scale


def shapes(name: str, said: str, x: Floats, y: Floats) -> Difference:
    """Explain another number of columns."""
    n = min(len(x), len(y))
    keys = [[_key(c) for c in side[:n].T[:MOST_COLUMNS]] for side in (x, y)]
    lost = [i for i, k in enumerate(keys[1]) if k not in set(keys[0])]
    more = [i for i, k in enumerate(keys[0]) if k not in set(keys[1])]
    if len(lost) + len(more) < min(len(k) for k in keys):
        parts = [f"column {_few(lost)} of the benchmark's missing here"] if lost else []
        parts += [f"column {_few(more)} here alone"] if more else []
        return Difference(name, "missing-field", f"{said}: {' and '.join(parts)}")
    return Difference(name, "size", f"{said}: another number of columns")


def explain(name: str, x: Floats, y: Floats) -> list[Difference]:
    """Explain [n, columns] of one shape, without missing values."""
    if x.ndim != 2 or not 1 <= x.shape[1] <= MOST_COLUMNS or len(x) < 3:
        return []
    found = _moved(name, x, y)
    if found:
        return found
    fit = line(x, y, keep=(1,))
    off = [i for i in range(x.shape[1]) if not np.allclose(x[:, i], y[:, i], 1e-5, 1e-7)]
    if fit.residual <= CLOSE:
        return _scaled(name, x, y, off)
    whole = clipped(name, x, y)
    if whole:
        return whole
    by_words: dict[tuple[Kind, str], list[int]] = defaultdict(list)
    kinds: dict[tuple[Kind, str], Difference] = {}
    for i in off:
        one = _column(x[:, i], y[:, i])
        if one is None:
            return []
        by_words[one.kind, one.words].append(i)
        kinds[one.kind, one.words] = one
    if all(one.kind == "values" and (one.value or 0) > 0.5 for one in kinds.values()):
        return []
    return [
        Difference(name, kinds[key].kind, f"{name}: column {_few(at)}{kinds[key].words}", kinds[key].value)
        for key, at in by_words.items()
    ][:6]


def _scaled(name: str, x: Floats, y: Floats, off: list[int]) -> list[Difference]:
    """Columns with another scale or offset; where it is a part of them, which."""
    if len(off) in (0, x.shape[1]):
        return scaled(name, x, y, line(x, y, keep=(1,)))
    fits = [line(x[:, i], y[:, i]) for i in off[:4]]
    said = ", ".join(
        f"column {i}: {shown(f.slope[0])} times this plus {shown(f.offset[0])} there"
        for i, f in zip(off, fits, strict=False)
    )
    words = f"{name}: {len(off)} of {x.shape[1]} columns are scaled otherwise ({said}); the others are equal"
    return [Difference(name, "normalisation", words, float(len(off)))]


def _moved(name: str, x: Floats, y: Floats) -> list[Difference]:
    keys = [[_key(c) for c in side.T] for side in (x, y)]
    if keys[0] != keys[1] and sorted(keys[0]) == sorted(keys[1]):
        if keys[0] == keys[1][::-1] and len(keys[0]) >= 8:
            return [Difference(name, "flip", f"{name}: every row runs backwards")]
        moved = sum(p != q for p, q in zip(*keys, strict=True))
        words = f"{name}: {moved} columns stand in another order"
        return [Difference(name, "column-order", words, float(moved))]
    if not 2 <= x.shape[1] <= 256 or len(x) < 20:
        return []
    unit = [(s - s.mean(axis=0)) / np.where(s.std(axis=0) > 0, s.std(axis=0), 1) for s in (x, y)]
    near = np.abs(unit[0].T @ unit[1]) / len(x)
    best = near.argmax(axis=1)
    fixed = np.arange(len(best))
    settled = near[fixed, best] >= SAME
    if (
        settled.all()
        and len(set(best)) == len(best)
        and (best != fixed).any()
        and (near.diagonal()[best != fixed] < SAME).all()
    ):
        moved = int((best != fixed).sum())
        found = [
            Difference(name, "column-order", f"{name}: {moved} columns stand in another order", float(moved))
        ]
        placed = np.empty_like(x)
        placed[:, best] = x
        return found + (scaled(name, placed, y, line(placed, y, keep=(1,))))
    return []


def _column(a: Floats, b: Floats) -> Difference | None:
    """What lies between two versions of a column; words without its name."""
    fit = line(a, b)
    if fit.residual <= CLOSE and a.std() > 0:
        said = f": {shown(fit.slope[0])} times this plus {shown(fit.offset[0])} in the benchmark"
        return Difference("", "normalisation", said)
    for find in (clipped, function):
        found = find("", a, b)
        if found:
            return found[0]
    off = ~np.isclose(a, b, 1e-5, 1e-7)
    share = float(off.mean())
    for p, q, side, other in ((a, b, "here", "in the benchmark"), (b, a, "in the benchmark", "here")):
        held = np.unique(p[off])
        if share <= 0.9 and len(held) == 1:
            values = np.unique(q[off])
            what = shown(values[0]) if len(values) == 1 else "other numbers"
            said = (
                f": {int(off.sum())} values are {shown(held[0])} {side} and {what} {other}: missing "
                "ones filled otherwise"
            )
            return Difference("", "fill", said, share)
        if p.std() == 0 and q.std() > 0:
            return Difference("", "values", f": every value is {shown(p[0])} {side}", share)
    return Difference("", "values", f": {share:.0%} of the values differ", share)


def _key(column: Floats) -> int:
    return hash(np.round(column, 6).tobytes())


def _few(at: list[int]) -> str:
    return ", ".join(map(str, at[:4])) + (f" and {len(at) - 4} more" if len(at) > 4 else "")
