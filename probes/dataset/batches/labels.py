"""Labels beside the benchmark's: offsets, other numbers for classes, one-hot rows, smoothing."""

from __future__ import annotations

import numpy as np

from ...run import Floats
from . import tokens
from .fitting import CLOSE, alike, function, line, scaled, shown
from .model import Difference


def explain(name: str, x: Floats, y: Floats) -> list[Difference]:
    """Explain labels that differ; [n, ...] each, whole or broken numbers."""
    if x.shape != y.shape and x.size == y.size and np.array_equal(x.reshape(-1), y.reshape(-1)):
        here, there = ("x".join(map(str, s.shape)) for s in (x, y))
        words = (
            f"{name}: the same labels with the shape {here} here, {there} in the benchmark: a loss "
            "may broadcast"
        )
        return [Difference(name, "layout", words)]
    coded = _coded(name, x, y)
    if coded is not None:
        return coded
    if x.shape != y.shape:
        here, there = ("x".join(map(str, s.shape[1:])) or "one" for s in (x, y))
        return [Difference(name, "size", f"{name}: {here} labels per sample here, {there} in the benchmark")]
    if not (_whole(x) and _whole(y)):
        return _numbers(name, x, y)
    gaps = np.unique(x - y)
    fit = line(x, y)
    if fit.residual <= 1e-6 and len(np.unique(y)) > 2 and not np.isclose(abs(fit.slope[0]), 1):
        return scaled(name, x, y, fit)
    if len(gaps) == 1:
        words = f"{name}: every label is {gaps[0]:+g} against the benchmark's: numbering begins elsewhere"
        return [Difference(name, "label-offset", words, float(gaps[0]))]
    found = tokens.ignored(name, x, y) if len(np.unique(x)) > 2 or len(np.unique(y)) > 2 else []
    if not found and x.ndim == 2 and x.shape[1] > 4:
        found = tokens.labels(name, x, y)
    return found or _numbered(name, x, y) or _share(name, x, y)


def _whole(x: Floats) -> bool:
    return bool((x == np.rint(x)).all())


def _numbered(name: str, x: Floats, y: Floats) -> list[Difference]:
    """Classes under other numbers, or several under one."""
    pairs = np.unique(np.stack([x.reshape(-1), y.reshape(-1)], 1), axis=0)
    mine, theirs = len(np.unique(pairs[:, 0])), len(np.unique(pairs[:, 1]))
    if x.size < 3 * len(pairs) or len(pairs) < 2:
        return []
    moved = ", ".join(f"{p:g} for {q:g}" for p, q in pairs[pairs[:, 0] != pairs[:, 1]][:4])
    if mine == theirs == len(pairs):
        return [Difference(name, "label-numbering", f"{name}: the classes are numbered otherwise ({moved})")]
    if min(mine, theirs) < 2:
        return []
    if len(pairs) == theirs > mine:
        words = (
            f"{name}: {theirs} classes of the benchmark's are {mine} here ({moved}): classes are put together"
        )
        return [Difference(name, "label-coding", words, float(mine))]
    if len(pairs) == mine > theirs:
        words = (
            f"{name}: {theirs} classes of the benchmark's are {mine} here ({moved}): classes are taken apart"
        )
        return [Difference(name, "label-coding", words, float(mine))]
    return []


def _share(name: str, x: Floats, y: Floats) -> list[Difference]:
    off = float(np.mean(x != y)) if x.ndim > 2 else float(np.mean((x != y).reshape(len(x), -1).any(axis=1)))
    what = "positions" if x.ndim > 2 else "labels"
    if len(np.unique(x)) == 1 and len(np.unique(y)) > 1:
        words = (
            f"{name}: every label is {x.reshape(-1)[0]:g} here, {len(np.unique(y))} classes in the benchmark"
        )
        return [Difference(name, "label-coding", words, off)]
    return [Difference(name, "values", f"{name}: {off:.0%} of the {what} differ", off)]


# --------------------------------------------------------------------------------------------- coding


def _rows(x: Floats) -> str:
    """What rows of scores are: one-hot, smoothed, or nothing of the kind."""
    if x.ndim != 2 or x.shape[1] < 2 or x.min() < 0 or not np.allclose(x.sum(axis=1), 1, atol=1e-3):
        return ""
    if bool(np.isin(x, (0.0, 1.0)).all()):
        return "one-hot"
    top = np.sort(x, axis=1)
    return "smoothed" if np.allclose(top[:, 0], top[:, -2], atol=1e-4) else "soft"


def _coded(name: str, x: Floats, y: Floats) -> list[Difference] | None:
    """One-hot or smoothed rows against class numbers or each other; None where neither side is coded so."""
    kinds = _rows(x), _rows(y)
    if not any(kinds) or (kinds[0] == kinds[1] == "soft"):
        return None
    if not all(kinds) and (y if kinds[0] else x).size != len(y if kinds[0] else x):
        return None
    here, there = (k or "class numbers" for k in kinds)
    a, b = (s.argmax(axis=1) if k else s.reshape(-1) for s, k in zip((x, y), kinds, strict=True))
    found = []
    if kinds[0] != kinds[1]:
        said = f"{name}: {here} labels here, {there} in the benchmark".replace("numbers labels", "numbers")
        if "smoothed" in kinds:
            side = x if kinds[0] == "smoothed" else y
            said += f" ({shown(1 - side.max())} is taken from the class and spread: label smoothing)"
        found.append(Difference(name, "label-coding", said))
    elif kinds[0] == "smoothed" and not np.isclose(x.max(), y.max(), atol=1e-4):
        words = f"{name}: smoothed by {shown(1 - x.max())} here, by {shown(1 - y.max())} in the benchmark"
        found.append(Difference(name, "label-coding", words))
    if not np.array_equal(a, b):
        found += explain(name, a[:, None].astype(np.float64), b[:, None].astype(np.float64))
    return found


def _numbers(name: str, x: Floats, y: Floats) -> list[Difference]:
    """Targets of a regression."""
    fit = line(x, y)
    if fit.residual <= CLOSE:
        return scaled(name, x, y, fit)
    found = function(name, x, y)
    if found:
        return found
    off = float(np.mean(~np.isclose(x, y, 1e-5, 1e-8).reshape(len(x), -1).all(axis=1)))
    words = f"{name}: {off:.0%} of the labels differ (correlation {alike(x, y):.3f})"
    return [Difference(name, "values", words, off)]
